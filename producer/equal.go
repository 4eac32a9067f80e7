package producer

import (
	"slices"

	"sluice/paimon/rowdata"
)

// same tells whether row i of a and row j of b are one value for row-deduplicate.
// NULL equals NULL. Floating-point numbers are compared as numbers, also inside of
// other values: NaN differs from itself, and -0.0 equals 0.0. Maps are equal if
// they have the same entries, in whatever order.
func same(a *rowdata.Vector, i int, b *rowdata.Vector, j int) bool {
	if an, bn := a.IsNull(i), b.IsNull(j); an || bn {
		return an && bn
	}
	switch a.Storage() {
	case rowdata.StoreF32:
		return a.F32[i] == b.F32[j]
	case rowdata.StoreF64:
		return a.F64[i] == b.F64[j]
	case rowdata.StoreStruct:
		for c := range a.Children {
			if !same(a.Children[c], i, b.Children[c], j) {
				return false
			}
		}
		return true
	case rowdata.StoreList:
		return sameList(a, i, b, j)
	case rowdata.StoreMap:
		return sameMap(a, i, b, j)
	}
	return rowdata.Equal(a, i, b, j)
}

func sameList(a *rowdata.Vector, i int, b *rowdata.Vector, j int) bool {
	from, to, other := int(a.Offs[i]), int(a.Offs[i+1]), int(b.Offs[j])
	if int(b.Offs[j+1])-other != to-from {
		return false
	}
	for k := from; k < to; k++ {
		if !same(a.Children[0], k, b.Children[0], other+k-from) {
			return false
		}
	}
	return true
}

func sameMap(a *rowdata.Vector, i int, b *rowdata.Vector, j int) bool {
	x, y := entries(a, i), entries(b, j)
	if len(x) != len(y) {
		return false
	}
	for k := range x {
		if !rowdata.Equal(a.Children[0], x[k], b.Children[0], y[k]) || !same(a.Children[1], x[k], b.Children[1], y[k]) {
			return false
		}
	}
	return true
}

// entries returns the entries of a map in the order of their keys.
func entries(v *rowdata.Vector, i int) []int {
	order := make([]int, 0, v.Offs[i+1]-v.Offs[i])
	for k := v.Offs[i]; k < v.Offs[i+1]; k++ {
		order = append(order, int(k))
	}
	keys := v.Children[0]
	slices.SortStableFunc(order, func(x, y int) int { return rowdata.Compare(keys, x, keys, y) })
	return order
}
