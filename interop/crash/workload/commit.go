package workload

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

const (
	keysMax = 60
	rowsMax = 400 // of a commit; 40 times what a small one has
)

// row is a row that is written; a nil column is NULL.
type row struct {
	key    int32
	a, b   *int32
	text   string
	delete bool
}

// commit returns what the commit of that number writes.
func (k *Kind) commit(seed uint64, number int64) []row {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	n := 1 + r.IntN(rowsMax/40)
	if r.IntN(6) == 0 { // does not fit the buffer, or nearly so
		n = rowsMax/4 + r.IntN(rowsMax*3/4)
	}
	rows := make([]row, n)
	gone := map[int32]bool{}
	for i := range rows {
		rows[i] = row{
			key: r.Int32N(keysMax), a: perhaps(r, k.Engine), b: perhaps(r, k.Engine),
			text: strings.Repeat(fmt.Sprintf("commit %d ", number), r.IntN(4)), delete: k.Deletes && r.IntN(5) == 0,
		}
		if row := &rows[i]; k.Engine == paimon.PartialUpdate {
			// A write buffer folds a deletion and a part of a row after it to that part,
			// which forgets the deletion: no row after it. And the row goes on from the
			// values of the deletion, as long as that is not forgotten: it has none.
			if row.delete = row.delete || gone[row.key]; row.delete {
				row.a, row.b, gone[row.key] = nil, nil, true
			}
		}
	}
	return rows
}

// perhaps returns a number, or NULL where the engine treats it in its own way.
func perhaps(r *rand.Rand, engine paimon.MergeEngine) *int32 {
	if n := r.Int32N(1000); engine == paimon.Deduplicate || n%3 > 0 {
		return &n
	}
	return nil
}

// Changes returns the rows of a commit.
func (k *Kind) Changes(t *rowdata.RowType, seed uint64, number int64) *rowdata.Changes {
	rows := k.commit(seed, number)
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(t, len(rows))}
	for i := range rows {
		r := &rows[i]
		c.Cols[0].AppendI32(r.key)
		for col, n := range []*int32{r.a, r.b} {
			if n == nil {
				c.Cols[1+col].AppendNull()
			} else {
				c.Cols[1+col].AppendI32(*n)
			}
		}
		c.Cols[3].AppendString(r.text)
		c.CloseRow()
		kind := rowdata.Insert
		if r.delete {
			kind = rowdata.Delete
		}
		c.Kinds = append(c.Kinds, kind)
	}
	return c
}

// State is what a table must hold.
type State struct {
	kind *Kind
	seed uint64
	at   int64 // the next commit
	rows map[int32]row
}

// NewState returns that of an empty table.
func NewState(k *Kind, seed uint64) *State { return &State{kind: k, seed: seed, rows: map[int32]row{}} }

// Through applies the commits before that number. It never goes back.
func (s *State) Through(number int64) {
	for ; s.at < number; s.at++ {
		for _, r := range s.kind.commit(s.seed, s.at) {
			s.apply(r)
		}
	}
}

func (s *State) apply(r row) {
	old, there := s.rows[r.key]
	switch {
	case r.delete:
		delete(s.rows, r.key)
		return
	case !there || s.kind.Engine == paimon.Deduplicate:
		s.rows[r.key] = r
		return
	case s.kind.Engine == paimon.FirstRow:
		return
	case s.kind.Engine == paimon.Aggregation && r.a != nil && old.a != nil:
		sum := *r.a + *old.a
		r.a = &sum
	}
	if r.a == nil {
		r.a = old.a
	}
	if r.b == nil {
		r.b = old.b
	}
	s.rows[r.key] = r
}

// Rows returns the rows as JSON objects, in order of keys.
func (s *State) Rows() []string {
	out := make([]string, 0, len(s.rows))
	for _, k := range slices.Sorted(maps.Keys(s.rows)) {
		r := s.rows[k]
		out = append(out, fmt.Sprintf(`{"k":%d,"a":%s,"b":%s,"text":%q}`, r.key, text(r.a), text(r.b), r.text))
	}
	return out
}

func text(n *int32) string {
	if n == nil {
		return "null"
	}
	return fmt.Sprint(*n)
}
