package rowdata

import (
	"bytes"
	"cmp"
	"slices"
)

// Compare orders row i of a and row j of b, whose types are the same: the order
// of keys, statistics and merges (format section 9.7). NULL is less than any
// value, -0.0 less than 0.0, NaN greater than any number; text and bytes compare
// as unsigned bytes. Constructed values have no order in the format; here they
// compare element by element, so that results can be sorted.
func Compare(a *Vector, i int, b *Vector, j int) int {
	if an, bn := a.IsNull(i), b.IsNull(j); an || bn {
		switch {
		case an && bn:
			return 0
		case an:
			return -1
		}
		return 1
	}
	switch a.store {
	case StoreI32:
		return cmp.Compare(a.I32[i], b.I32[j])
	case StoreI64:
		return cmp.Compare(a.I64[i], b.I64[j])
	case StoreBytes:
		return bytes.Compare(a.Bytes(i), b.Bytes(j))
	case StoreF32:
		return cmp.Compare(orderF32(a.F32[i]), orderF32(b.F32[j]))
	case StoreF64:
		return cmp.Compare(orderF64(a.F64[i]), orderF64(b.F64[j]))
	case StoreI128:
		return a.I128[i].Cmp(b.I128[j])
	case StoreNanos:
		if c := cmp.Compare(a.I64[i], b.I64[j]); c != 0 {
			return c
		}
		return cmp.Compare(a.I32[i], b.I32[j])
	case StoreStruct:
		for c := range a.Children {
			if r := Compare(a.Children[c], i, b.Children[c], j); r != 0 {
				return r
			}
		}
		return 0
	}
	return compareLists(a, i, b, j)
}

func compareLists(a *Vector, i int, b *Vector, j int) int {
	af, at, bf, bt := int(a.Offs[i]), int(a.Offs[i+1]), int(b.Offs[j]), int(b.Offs[j+1])
	for k := range min(at-af, bt-bf) {
		for c := range a.Children {
			if r := Compare(a.Children[c], af+k, b.Children[c], bf+k); r != 0 {
				return r
			}
		}
	}
	return cmp.Compare(at-af, bt-bf)
}

// orderF32 maps a float to an integer of the same order: -0.0 before 0.0, NaN
// last and equal to itself.
func orderF32(x float32) uint32 {
	b := javaFloatBits(x)
	if b>>31 == 1 {
		return ^b
	}
	return b | 1<<31
}

func orderF64(x float64) uint64 {
	b := javaDoubleBits(x)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// Equal tells whether row i of a and row j of b, whose types are the same, are
// the same value: NULL equals NULL, NaN equals NaN, -0.0 differs from 0.0, and
// maps are equal if they have the same entries in whatever order.
func Equal(a *Vector, i int, b *Vector, j int) bool {
	if an, bn := a.IsNull(i), b.IsNull(j); an || bn {
		return an && bn
	}
	switch a.store {
	case StoreI32:
		return a.I32[i] == b.I32[j]
	case StoreI64:
		return a.I64[i] == b.I64[j]
	case StoreBytes:
		return bytes.Equal(a.Bytes(i), b.Bytes(j))
	case StoreF32:
		return javaFloatBits(a.F32[i]) == javaFloatBits(b.F32[j])
	case StoreF64:
		return javaDoubleBits(a.F64[i]) == javaDoubleBits(b.F64[j])
	case StoreI128:
		return a.I128[i] == b.I128[j]
	case StoreNanos:
		return a.I64[i] == b.I64[j] && a.I32[i] == b.I32[j]
	case StoreStruct:
		for c := range a.Children {
			if !Equal(a.Children[c], i, b.Children[c], j) {
				return false
			}
		}
		return true
	}
	from, to := int(a.Offs[i]), int(a.Offs[i+1])
	shift := int(b.Offs[j]) - from
	if int(b.Offs[j+1])-shift != to {
		return false
	}
	for k := from; k < to; k++ {
		for c := range a.Children {
			if !Equal(a.Children[c], k, b.Children[c], k+shift) {
				return a.store == StoreMap && equalMaps(a, i, b, j)
			}
		}
	}
	return true
}

// equalMaps compares maps of equal length in the order of their keys.
func equalMaps(a *Vector, i int, b *Vector, j int) bool {
	x, y := mapOrder(a, i), mapOrder(b, j)
	for k := range x {
		for c := range a.Children {
			if !Equal(a.Children[c], x[k], b.Children[c], y[k]) {
				return false
			}
		}
	}
	return true
}

// mapOrder returns the entries of a map sorted by key.
func mapOrder(v *Vector, i int) []int {
	order := make([]int, 0, v.Offs[i+1]-v.Offs[i])
	for k := v.Offs[i]; k < v.Offs[i+1]; k++ {
		order = append(order, int(k))
	}
	keys := v.Children[0]
	slices.SortStableFunc(order, func(x, y int) int { return Compare(keys, x, keys, y) })
	return order
}
