package tablewriter

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// TestModel: random upserts and deletes by several goroutines through several
// writers, over partitions and buckets, with writers closed and opened between.
// After each round the merged table equals a map, and so does the changelog
// applied from the first snapshot on.
func TestModel(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options []string
		desc    bool // the least sequence value wins
		seq     bool
		inserts bool // no row is deleted: a compaction forgets how old a deleted row was
	}{
		{name: "plain"},
		{name: "small buffers", options: []string{"write-buffer-size", "16 kb"}},
		{name: "small buffers, no spill", options: []string{"write-buffer-size", "16 kb", "write-buffer-spillable", "false"}},
		{name: "avro", options: []string{"file.format", "avro"}},
		{name: "eager compaction", options: []string{"num-sorted-run.compaction-trigger", "2"}},
		{name: "eager compaction, small files", options: []string{"num-sorted-run.compaction-trigger", "2", "target-file-size", "2 kb", "num-levels", "4"}},
		{name: "waiting for compaction", options: []string{"num-sorted-run.compaction-trigger", "2", "commit.force-compact", "true"}},
		{name: "full compaction now and then", options: []string{"full-compaction.delta-commits", "2"}},
		{name: "sequence field", options: []string{"sequence.field", "s"}, seq: true, inserts: true},
		{name: "sequence field, write-only", options: []string{"sequence.field", "s", "write-only", "true"}, seq: true},
		{name: "sequence field descending", options: []string{"sequence.field", "s", "sequence.field.sort-order", "descending"}, seq: true, desc: true, inserts: true},
		{name: "small buffers, sequence field", options: []string{"write-buffer-size", "16 kb", "sequence.field", "s", "write-only", "true"}, seq: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range uint64(2) {
				m := &model{desc: tc.desc, seq: tc.seq, inserts: tc.inserts, rows: map[string]versioned{}, state: map[string]string{}}
				o := append([]string{"bucket", "3", "changelog-producer", "input"}, tc.options...)
				table := newTable(t, memory(), spec([]string{"p STRING", "k STRING", "s INT", "v STRING"}, []string{"p", "k"}, []string{"p"}, o...))
				m.run(t, table, seed)
			}
		})
	}
}

type versioned struct {
	seq  int // 0 is NULL
	row  string
	gone bool
}

type model struct {
	desc, seq, inserts bool

	mu   sync.Mutex
	rows map[string]versioned // by partition and key

	state   map[string]string // what the changelog makes
	applied int64             // snapshots in it
}

const modelGoroutines = 4

func (m *model) run(t *testing.T, table *paimon.Table, seed uint64) {
	dir := t.TempDir()
	writers := make([]*Writer, 2)
	for round := range 3 {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		for i := range writers {
			if writers[i] == nil || r.IntN(2) == 0 {
				if writers[i] != nil {
					require.NoError(t, writers[i].Close(t.Context()))
				}
				writers[i] = openWriter(t, table, Options{User: fmt.Sprint("user", i), CommitRows: int64(1 + r.IntN(2000)), CommitInterval: 5 * time.Millisecond, SpillDir: dir})
			}
		}
		var wg sync.WaitGroup
		for g := range modelGoroutines {
			wg.Go(func() {
				m.write(t, writers[g%len(writers)], g, rand.New(rand.NewPCG(seed*100+uint64(round), uint64(g))))
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		for _, w := range writers {
			_, err := w.Commit(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, m.table(), latestRows(t, table), "seed %d round %d", seed, round)
		if !m.seq {
			require.Equal(t, m.table(), m.applyChangelog(t, table), "seed %d round %d", seed, round)
		}
	}
	for _, w := range writers {
		require.NoError(t, w.Close(t.Context()))
	}
}

// write writes random batches to keys that are this goroutine's own, so that it
// alone decides on their order.
func (m *model) write(t *testing.T, w *Writer, g int, r *rand.Rand) {
	for range 20 {
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 0)}
		for range r.IntN(60) {
			p, k, s := fmt.Sprint("p", r.IntN(3)), fmt.Sprintf("key-of-%d-%d", g, r.IntN(100)), r.IntN(4)
			row := fmt.Sprintf(`[%q,%q,%s,%q]`, p, k, []string{"null", "1", "2", "3"}[s], strings.Repeat(fmt.Sprint(r.IntN(1000)), 1+r.IntN(5)))
			if err := appendJSON(&c.Batch, row); err != nil {
				t.Error(err)
				return
			}
			kind := []rowdata.RowKind{rowdata.Insert, rowdata.UpdateAfter, rowdata.Insert, rowdata.Delete, rowdata.UpdateBefore}[r.IntN(5)]
			if m.inserts {
				kind = rowdata.Insert
			}
			c.Kinds = append(c.Kinds, kind)
			m.put(p+"/"+k, versioned{seq: s, row: row, gone: kind.IsRetract()})
		}
		receipt, err := w.Write(t.Context(), c, Position{})
		if err == nil && r.IntN(4) == 0 {
			_, err = receipt.Wait(t.Context())
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// put is what the merge engine must do with a newer version.
func (m *model) put(key string, v versioned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.rows[key]; ok && m.seq && old.seq != v.seq {
		switch {
		case v.seq == 0:
			return
		case old.seq == 0:
		case m.desc == (v.seq > old.seq):
			return
		}
	}
	m.rows[key] = v
}

func (m *model) table() []string {
	rows := []string{}
	for _, v := range m.rows {
		if !v.gone {
			rows = append(rows, v.row)
		}
	}
	slices.Sort(rows)
	return rows
}

// applyChangelog applies the changelog of the snapshots since the last call and
// returns the rows that there are then.
func (m *model) applyChangelog(t *testing.T, table *paimon.Table) []string {
	latest, err := table.LatestID(t.Context())
	require.NoError(t, err)
	for ; m.applied < latest; m.applied++ {
		for _, change := range changelog(t, table, m.applied+1) {
			kind, row, _ := strings.Cut(change, " ")
			key := strings.Join(strings.SplitN(row, ",", 3)[:2], ",")
			if kind[0] == '+' {
				m.state[key] = row
			} else {
				delete(m.state, key)
			}
		}
	}
	rows := slices.Collect(maps.Values(m.state))
	slices.Sort(rows)
	return rows
}
