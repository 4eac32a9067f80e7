package snapshotreader

import (
	"sluice/paimon"
	"sluice/paimon/predicate"
	"sluice/paimon/rowdata"
)

// ParseFilter compiles a condition, such as "amount > 10 AND status = 'NEW'",
// over the columns of a schema. The filter serves one scan. The error is a
// [*predicate.SyntaxError].
func ParseFilter(text string, s *paimon.Schema) (Filter, error) {
	row := s.RowType()
	p, err := predicate.Parse(text, row)
	if err != nil {
		return nil, err
	}
	cols := p.Columns()
	at := make(map[int]int, len(cols))
	f := &expression{}
	for i, c := range cols {
		at[c] = i
		f.names = append(f.names, row.Fields[c].Name)
	}
	f.p = p.Remap(func(col int) int { return at[col] })
	f.eval = f.p.NewEvaluator()
	f.batch = rowdata.Batch{Type: row.Project(cols)}
	return f, nil
}

// expression is a compiled condition as a scan's filter.
type expression struct {
	names []string
	p     *predicate.Predicate
	eval  *predicate.Evaluator
	batch rowdata.Batch
}

var _ Filter = (*expression)(nil)

// Columns implements [Filter].
func (f *expression) Columns() []string { return f.names }

// Select implements [Filter].
func (f *expression) Select(dst []int32, cols []*rowdata.Vector, n int) ([]int32, error) {
	f.batch.Cols, f.batch.N = cols, n
	return f.eval.Select(dst, &f.batch), nil
}

// Excludes implements [Filter].
func (f *expression) Excludes(stats []rowdata.ColumnStats, rows int64) bool {
	return !f.p.MayMatch(func(col int) rowdata.ColumnStats { return stats[col] }, rows)
}
