package merge

import (
	"errors"
	"fmt"

	"sluice/lsm/aggregate"
	"sluice/paimon/rowdata"
)

// ColumnError says in which column the records of a key could not be merged.
type ColumnError struct {
	Column   string
	Function string // the aggregate function; "" for none
	Err      error
}

func (e *ColumnError) Error() string {
	if e.Function == "" {
		return fmt.Sprintf("column %s: %v", e.Column, e.Err)
	}
	return fmt.Sprintf("column %s, function %s: %v", e.Column, e.Function, e.Err)
}

// Unwrap returns what went wrong.
func (e *ColumnError) Unwrap() error { return e.Err }

// rowState is a row that is being built: a vector of one row for each column.
type rowState struct {
	cells []*rowdata.Vector
	seq   int64
	kind  rowdata.RowKind
}

func newRowState(t *rowdata.RowType) rowState {
	r := rowState{cells: make([]*rowdata.Vector, len(t.Fields))}
	for c, f := range t.Fields {
		r.cells[c] = rowdata.NewVector(f.Type, 1)
	}
	return r
}

// clear makes all columns NULL.
func (r *rowState) clear() {
	for _, v := range r.cells {
		aggregate.SetNull(v)
	}
}

// take makes the row that of a record.
func (r *rowState) take(kv *rowdata.KeyValues, i int) {
	for c, v := range r.cells {
		aggregate.Set(v, kv.Cols[c], i)
	}
}

// appendTo appends the row.
func (r *rowState) appendTo(dst *rowdata.KeyValues) {
	for c, v := range r.cells {
		dst.Cols[c].AppendFrom(v, 0)
	}
	r.close(dst)
}

// close ends a row whose columns have been appended.
func (r *rowState) close(dst *rowdata.KeyValues) {
	dst.Seq, dst.Kinds = append(dst.Seq, r.seq), append(dst.Kinds, r.kind)
	dst.CloseRow()
}

// column is a column with the function that folds it.
type column struct {
	name     string
	function string
	fn       aggregate.Function
}

func (c *column) failed(err error) error {
	var retract *aggregate.RetractError
	if errors.As(err, &retract) {
		retract.Column = c.name
	}
	return &ColumnError{Column: c.name, Function: c.function, Err: err}
}

// newColumns makes the functions of the columns; those without a spec have none.
func newColumns(t *rowdata.RowType, specs []*aggregate.Spec) ([]column, error) {
	out := make([]column, len(t.Fields))
	for c, s := range specs {
		out[c].name = t.Fields[c].Name
		if s == nil {
			continue
		}
		fn, err := aggregate.New(*s)
		if err != nil {
			return nil, &ColumnError{Column: out[c].name, Function: s.Function, Err: err}
		}
		out[c].function, out[c].fn = s.Function, fn
	}
	return out, nil
}

// mustColumns is newColumns for specs that have been tried before.
func mustColumns(t *rowdata.RowType, specs []*aggregate.Spec) []column {
	out, err := newColumns(t, specs)
	if err != nil {
		panic(err)
	}
	return out
}
