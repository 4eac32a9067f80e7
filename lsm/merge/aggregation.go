package merge

import (
	"sluice/lsm/aggregate"
	"sluice/paimon/rowdata"
)

// Aggregation says how the columns of a table are aggregated (semantics section
// 3.5).
type Aggregation struct {
	Type *rowdata.RowType
	// Columns has the function of each column, those of the primary key
	// included.
	Columns []*aggregate.Spec
	// RemoveOnDelete is the option aggregation.remove-record-on-delete.
	RemoveOnDelete bool
}

// Engine returns the engine. The error is a [*ColumnError].
func (a Aggregation) Engine() (Engine, error) {
	if _, err := newColumns(a.Type, a.Columns); err != nil {
		return Engine{}, err
	}
	return Engine{Name: "aggregation", Build: func() Folder {
		return &aggregation{columns: mustColumns(a.Type, a.Columns), remove: a.RemoveOnDelete, row: newRowState(a.Type)}
	}}, nil
}

// aggregation folds all columns with a function each. Only a final delete that
// removes the record makes a result that is one; what follows it goes on from its
// values.
type aggregation struct {
	columns []column
	remove  bool
	row     rowState
}

func (a *aggregation) Begin() {
	a.row.clear()
	for c := range a.columns {
		a.columns[c].fn.Reset()
	}
}

func (a *aggregation) Add(kv *rowdata.KeyValues, i int) error {
	kind := kv.Kinds[i]
	a.row.seq, a.row.kind = kv.Seq[i], rowdata.Insert
	if a.remove && kind == rowdata.Delete {
		a.row.kind = rowdata.Delete
		a.row.take(kv, i)
		return nil
	}
	retract := kind.IsRetract()
	for c := range a.columns {
		col := &a.columns[c]
		var err error
		if retract {
			err = col.fn.Retract(a.row.cells[c], kv.Cols[c], i)
		} else {
			err = col.fn.Add(a.row.cells[c], kv.Cols[c], i)
		}
		if err != nil {
			return col.failed(err)
		}
	}
	return nil
}

func (a *aggregation) Result(dst *rowdata.KeyValues) (bool, error) {
	a.row.appendTo(dst)
	return true, nil
}
