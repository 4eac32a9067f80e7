package merge

import (
	"cmp"

	"sluice/paimon/rowdata"
)

// Order is the order in which records of one key follow one another: by the
// sequence fields of the table, then by sequence number, then retracts before
// adds (format section 15.3). NULL is less than any value of a sequence field,
// whichever way the field is sorted.
type Order struct {
	// Fields are the positions of the sequence fields, the first being the
	// most significant.
	Fields []int
	// Descending reverses the order of the values of all fields.
	Descending bool
}

// Compare orders record i of a and record j of b, whose keys are equal. Records
// that are equal here are of equal sequence fields, number and kind group; the
// format does not say which of them comes first.
func (o *Order) Compare(a *rowdata.KeyValues, i int, b *rowdata.KeyValues, j int) int {
	if c := o.CompareFields(&a.Batch, i, &b.Batch, j); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Seq[i], b.Seq[j]); c != 0 {
		return c
	}
	x, y := a.Kinds[i], b.Kinds[j]
	switch {
	case x.IsAdd() == y.IsAdd():
		return 0
	case x.IsAdd():
		return 1
	}
	return -1
}

// CompareFields orders row i of a and row j of b by the sequence fields alone.
func (o *Order) CompareFields(a *rowdata.Batch, i int, b *rowdata.Batch, j int) int {
	for _, f := range o.Fields {
		x, y := a.Cols[f], b.Cols[f]
		c := rowdata.Compare(x, i, y, j)
		if c == 0 {
			continue
		}
		if o.Descending && !x.IsNull(i) && !y.IsNull(j) {
			return -c
		}
		return c
	}
	return 0
}
