package tablewriter

import (
	"sort"

	"sluice/paimon/rowdata"
)

// nullCheck is a column in which a NULL may be forbidden: it is NOT NULL itself,
// or something inside of it is.
type nullCheck struct {
	col  int
	name string
}

func appendNullChecks(checks []nullCheck, col int, f rowdata.Field) []nullCheck {
	if forbidsNull(f.Type) {
		checks = append(checks, nullCheck{col: col, name: f.Name})
	}
	return checks
}

func forbidsNull(t *rowdata.Type) bool {
	if t.NotNull || t.Root == rowdata.Map || t.Root == rowdata.Multiset {
		return true
	}
	for _, f := range t.Fields {
		if forbidsNull(f.Type) {
			return true
		}
	}
	return t.Elem != nil && forbidsNull(t.Elem)
}

// firstNull returns the first row of v that has a NULL where type t, which the
// table gives the column, forbids one, and the name of that place. Members of a
// row that is NULL itself do not count. Keys of maps and elements of multisets
// are never NULL in files, whatever their type says.
func firstNull(v *rowdata.Vector, t *rowdata.Type, name string, parent *rowdata.Vector) (row int, place string) {
	row = -1
	found := func(r int, at string) {
		if r >= 0 && (row < 0 || r < row) {
			row, place = r, at
		}
	}
	if t.NotNull {
		found(nullRow(v, parent), name)
	}
	element := func(k int, t *rowdata.Type, name string) {
		r, inside := firstNull(v.Children[k], t, name, nil)
		found(ownerOf(v, r), inside)
	}
	switch t.Root {
	case rowdata.Array, rowdata.Vec:
		element(0, t.Elem, name+".element")
	case rowdata.Multiset:
		element(0, t.Elem.AsNotNull(), name+".key")
	case rowdata.Map:
		element(0, t.Key.AsNotNull(), name+".key")
		element(1, t.Elem, name+".value")
	case rowdata.Row:
		for k, f := range t.Fields {
			found(firstNull(v.Children[k], f.Type, name+"."+f.Name, v))
		}
	}
	return row, place
}

// nullRow returns the first row of v that is NULL though its parent is not, or
// -1.
func nullRow(v, parent *rowdata.Vector) int {
	for i, ok := range v.Valid {
		if ok == 0 && (parent == nil || !parent.IsNull(i)) {
			return i
		}
	}
	return -1
}

// ownerOf returns the row of a list or map that has the element, or -1 for -1.
func ownerOf(v *rowdata.Vector, element int) int {
	if element < 0 {
		return -1
	}
	return sort.Search(v.Len(), func(i int) bool { return int(v.Offs[i+1]) > element })
}
