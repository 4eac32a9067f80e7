package tablewriter

import (
	"errors"
	"fmt"
	"math"

	"sluice/lsm"
	"sluice/paimon/rowdata"
)

var errKindNull = errors.New("Row kind cannot be null.")

// checked is a batch that may be written: its rows with their kinds, defaults
// put in, and which of them are kept.
type checked struct {
	rows  *rowdata.Changes
	keep  []int32 // nil: all
	bytes int64   // in memory, about
}

// check does to a batch what semantics section 1.1 lists, in that order, and
// does not change it. limit is the memory that a single row must fit. The error
// is about the first row that has one, or a [*BatchError].
func (h *shape) check(in *rowdata.Changes, limit int64) (checked, error) {
	if err := h.fits(in); err != nil {
		return checked{}, err
	}
	f := finding{row: math.MaxInt}
	h.checkNulls(in, &f)
	out := h.withDefaults(in)
	if h.kindColumn >= 0 {
		out = h.withKinds(out, &f)
	}
	c := checked{rows: out, bytes: int64(out.MemSize()) + int64(out.N)*rowBytes}
	c.keep = h.filter(out)
	if !h.keyed {
		h.checkAppend(out, c.keep, &f)
	}
	if c.bytes > limit {
		checkSizes(out, limit, &f)
	}
	if f.err != nil {
		return checked{}, &RowError{Row: f.row, Column: f.column, Err: f.err}
	}
	return c, nil
}

// rowBytes is what a row counts for beside its values.
const rowBytes = 48

// finding is what is wrong with the first row that has something wrong.
type finding struct {
	row    int
	column string
	err    error
}

// at tells whether a fault of that row counts: it comes before the one known.
func (f *finding) at(row int) bool { return row >= 0 && row < f.row }

// fits checks the columns and lengths of a batch.
func (h *shape) fits(in *rowdata.Changes) error {
	if len(in.Cols) != len(h.typ.Fields) {
		return &BatchError{Reason: fmt.Sprintf("it has %d columns, the table has %d", len(in.Cols), len(h.typ.Fields))}
	}
	if in.Kinds != nil && len(in.Kinds) != in.N {
		return &BatchError{Reason: fmt.Sprintf("it has %d kinds for %d rows", len(in.Kinds), in.N)}
	}
	for i, v := range in.Cols {
		want := &h.typ.Fields[i]
		if v.Type != want.Type && !sameValues(v.Type, want.Type) {
			return &BatchError{Reason: fmt.Sprintf("column %s is %s, want %s", want.Name, v.Type, want.Type)}
		}
		if v.Len() != in.N {
			return &BatchError{Reason: fmt.Sprintf("column %s has %d values for %d rows", want.Name, v.Len(), in.N)}
		}
	}
	for _, k := range in.Kinds {
		if k > rowdata.Delete {
			return &BatchError{Reason: fmt.Sprintf("row kind %d does not exist", k)}
		}
	}
	return nil
}

// sameValues tells whether values of one type are values of the other: names
// and ids of members, lengths of texts and NOT NULL do not matter.
func sameValues(a, b *rowdata.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Root != b.Root || a.Precision != b.Precision || a.Scale != b.Scale || len(a.Fields) != len(b.Fields) ||
		!sameValues(a.Key, b.Key) || !sameValues(a.Elem, b.Elem) || a.Root == rowdata.Vec && a.Length != b.Length {
		return false
	}
	for i := range a.Fields {
		if !sameValues(a.Fields[i].Type, b.Fields[i].Type) {
			return false
		}
	}
	return true
}

func (h *shape) checkNulls(in *rowdata.Changes, f *finding) {
	for _, c := range h.notNull {
		row, place := firstNull(in.Cols[c.col], h.typ.Fields[c.col].Type, c.name, nil)
		if f.at(row) {
			*f = finding{row: row, column: place, err: &NullError{Column: place}}
		}
	}
	for i, v := range in.Cols {
		if v.Type.Root != rowdata.Vec {
			continue
		}
		for row := range v.Len() {
			if n := int(v.Offs[row+1] - v.Offs[row]); n != v.Type.Length && !v.IsNull(row) && f.at(row) {
				*f = finding{
					row: row, column: h.typ.Fields[i].Name,
					err: fmt.Errorf("column %s has %d elements, want %d", h.typ.Fields[i].Name, n, v.Type.Length),
				}
			}
		}
	}
}

// withDefaults puts default values for NULLs.
func (h *shape) withDefaults(in *rowdata.Changes) *rowdata.Changes {
	out := in
	for i, def := range h.defaults {
		v := in.Cols[i]
		if def == nil || !v.HasNulls() {
			continue
		}
		if out == in {
			c := *in
			c.Cols = append([]*rowdata.Vector(nil), in.Cols...)
			out = &c
		}
		filled := rowdata.NewVector(v.Type, v.Len())
		for row := range v.Len() {
			if v.IsNull(row) {
				filled.AppendFrom(def, 0)
			} else {
				filled.AppendFrom(v, row)
			}
		}
		out.Cols[i] = filled
	}
	return out
}

// withKinds takes the kinds from the column rowkind.field.
func (h *shape) withKinds(in *rowdata.Changes, f *finding) *rowdata.Changes {
	v, name := in.Cols[h.kindColumn], h.typ.Fields[h.kindColumn].Name
	c := *in
	c.Kinds = make([]rowdata.RowKind, in.N)
	for row := range in.N {
		err := errKindNull
		if !v.IsNull(row) {
			c.Kinds[row], err = rowdata.ParseRowKind(string(v.Bytes(row)))
		}
		if err != nil {
			if f.at(row) {
				*f = finding{row: row, column: name, err: fmt.Errorf("column %s: %w", name, err)}
			}
			break
		}
	}
	return &c
}

// filter returns the rows that are not ignored, nil if none is.
func (h *shape) filter(in *rowdata.Changes) []int32 {
	if in.Kinds == nil || !h.ignoreDelete && !h.ignoreUpdateBefore {
		return nil
	}
	dropped := 0
	for _, k := range in.Kinds {
		if h.ignores(k) {
			dropped++
		}
	}
	if dropped == 0 {
		return nil
	}
	keep := make([]int32, 0, in.N-dropped)
	for i, k := range in.Kinds {
		if !h.ignores(k) {
			keep = append(keep, int32(i))
		}
	}
	return keep
}

func (h *shape) ignores(k rowdata.RowKind) bool {
	return h.ignoreDelete && k.IsRetract() || h.ignoreUpdateBefore && k == rowdata.UpdateBefore
}

// checkAppend refuses retracts, which a table without a key cannot take.
func (h *shape) checkAppend(in *rowdata.Changes, keep []int32, f *finding) {
	refuse := func(row int) {
		if k := in.Kind(row); k.IsRetract() && f.at(row) {
			*f = finding{row: row, err: fmt.Errorf("Append only writer can not accept row with RowKind %s", k)}
		}
	}
	switch {
	case in.Kinds == nil:
	case keep == nil:
		for row := range in.N {
			refuse(row)
		}
	default:
		for _, row := range keep {
			refuse(int(row))
		}
	}
}

// checkSizes looks for a row that does not fit the write buffer by itself.
func checkSizes(in *rowdata.Changes, limit int64, f *finding) {
	one := rowdata.NewBatch(in.Type, 1)
	for row := range in.N {
		if !f.at(row) {
			return
		}
		one.Reset()
		one.AppendFrom(&in.Batch, row)
		if size := int64(one.MemSize()) + 2*rowBytes; size > limit {
			*f = finding{row: row, err: &lsm.TooLargeError{Bytes: size, Limit: limit}}
		}
	}
}
