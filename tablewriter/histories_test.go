package tablewriter

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// history is random rows for a table, what the table must hold, and what its
// changelog tells.
type history struct {
	table *paimon.Table
	r     *rand.Rand
	rows  map[string]string // what must be there, by partition and key
	told  map[string]string // what the changelog makes
	seen  int64             // snapshots in told

	keyCols int // columns of the key, the first ones
}

func pairsTable(t *testing.T, options ...string) *paimon.Table {
	return newTable(t, memory(), spec([]string{"p STRING", "k STRING", "s INT", "v STRING"}, []string{"p", "k"}, []string{"p"}, append([]string{"bucket", "2"}, options...)...))
}

func newHistory(table *paimon.Table, seed uint64) *history {
	return &history{table: table, r: rand.New(rand.NewPCG(seed, 7)), rows: map[string]string{}, told: map[string]string{}, keyCols: 2}
}

// batch makes random rows; those of partitions outside of the list are left out.
func (h *history) batch(t *testing.T, typ *rowdata.RowType, keep func(key string) bool) *rowdata.Changes {
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, 0)}
	for range h.r.IntN(60) {
		p, k := fmt.Sprint("p", h.r.IntN(2)), fmt.Sprintf("key-of-table-%d", h.r.IntN(80))
		if keep != nil && !keep(p+k) {
			continue
		}
		row := fmt.Sprintf(`[%q,%q,1,%q]`, p, k, strings.Repeat(fmt.Sprint(h.r.IntN(1000)), 1+h.r.IntN(5)))
		require.NoError(t, appendJSON(&c.Batch, row))
		kind := []rowdata.RowKind{rowdata.Insert, rowdata.UpdateAfter, rowdata.Insert, rowdata.Delete}[h.r.IntN(4)]
		c.Kinds = append(c.Kinds, kind)
		if id := h.keyOf(row); kind.IsRetract() {
			delete(h.rows, id)
		} else {
			h.rows[id] = row
		}
	}
	return c
}

func (h *history) keyOf(row string) string {
	return strings.Join(strings.SplitN(row, ",", h.keyCols+1)[:h.keyCols], ",")
}

// follow applies the changelog of new snapshots: each -U and -D must be the last
// image of its key, each -U directly before its +U, and +I only where there is
// none.
func (h *history) follow(t *testing.T) {
	t.Helper()
	latest, err := h.table.LatestID(t.Context())
	require.NoError(t, err)
	for ; h.seen < latest; h.seen++ {
		open := map[string]bool{} // by bucket file order: one -U awaits its +U
		for _, change := range changelog(t, h.table, h.seen+1) {
			kind, row, _ := strings.Cut(change, " ")
			id := h.keyOf(row)
			have, there := h.told[id]
			at := fmt.Sprintf("snapshot %d, %s", h.seen+1, change)
			switch kind {
			case "+I":
				require.False(t, there, "%s: the key is there", at)
				h.told[id] = row
			case "-U":
				require.Equal(t, have, row, at)
				open[id] = true
			case "+U":
				require.True(t, open[id], "%s: no -U before it", at)
				delete(open, id)
				h.told[id] = row
			case "-D":
				require.True(t, there, "%s: the key is not there", at)
				require.Equal(t, have, row, at)
				delete(h.told, id)
			}
			require.LessOrEqual(t, len(open), 1, "%s: pairs are adjacent", at)
		}
		require.Empty(t, open, "snapshot %d", h.seen+1)
	}
}

// complete compares table, changelog and model after a commit that waited.
func (h *history) complete(t *testing.T) {
	t.Helper()
	h.follow(t)
	want := slices.Sorted(maps.Values(h.rows))
	require.Equal(t, len(want), len(h.told))
	require.Equal(t, want, slices.Sorted(maps.Values(h.told)), "changelog")
	require.Equal(t, want, append([]string(nil), latestRows(t, h.table)...), "table")
	h.levels(t)
}

// levels: above level 0 the files of a level do not overlap, which Health would
// refuse.
func (h *history) levels(t *testing.T) {
	t.Helper()
	_, err := Health(t.Context(), h.table, time.Now())
	require.NoError(t, err)
}

var pairTables = []struct {
	name    string
	options []string
}{
	{"lookup", []string{"changelog-producer", "lookup"}},
	{"lookup, small files", []string{"changelog-producer", "lookup", "target-file-size", "3 kb", "num-sorted-run.compaction-trigger", "3"}},
	{"lookup, small buffers", []string{"changelog-producer", "lookup", "write-buffer-size", "16 kb"}},
	{"lookup, avro above", []string{"changelog-producer", "lookup", "file.format", "avro"}},
	{"full-compaction", []string{"changelog-producer", "full-compaction"}},
	{"full-compaction, eager", []string{"changelog-producer", "full-compaction", "full-compaction.delta-commits", "3", "num-sorted-run.compaction-trigger", "2"}},
}

// TestHistories runs random histories with writers that are closed and opened and
// indexes that are lost or damaged between, straight and not.
func TestHistories(t *testing.T) {
	for _, tc := range pairTables {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range uint64(2) {
				h, dir := newHistory(pairsTable(t, tc.options...), seed), t.TempDir()
				var w *Writer
				for range 16 {
					if w == nil || h.r.IntN(5) == 0 {
						if w != nil {
							require.NoError(t, w.Close(t.Context()))
							damage(t, h.r, dir)
						}
						w = openWriter(t, h.table, Options{User: "me", CommitInterval: time.Hour, LookupDir: dir, Shards: 1 + h.r.IntN(2), StraightOff: h.r.IntN(2) == 0})
					}
					for range 1 + h.r.IntN(2) {
						_, err := w.Write(t.Context(), h.batch(t, w.Type(), nil), Position{})
						require.NoError(t, err)
					}
					mode := CompactMode(h.r.IntN(4))
					_, err := w.CommitWith(t.Context(), mode)
					require.NoError(t, err)
					h.follow(t)
				}
				_, err := w.CommitWith(t.Context(), CompactFull)
				require.NoError(t, err)
				_, err = w.CommitWith(t.Context(), CompactFull) // also what had no rows
				require.NoError(t, err)
				require.NoError(t, w.Close(t.Context()))
				h.complete(t)
			}
		})
	}
}

// damage deletes, cuts or flips files of the indexes, or leaves them.
func damage(t *testing.T, r *rand.Rand, dir string) {
	t.Helper()
	how := r.IntN(4)
	if how == 0 {
		require.NoError(t, os.RemoveAll(dir))
	}
	if how == 3 {
		return
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || r.IntN(3) > 0 {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			return err
		}
		at := r.IntN(len(data))
		if how == 1 {
			data = data[:at]
		} else {
			data[at] ^= 1 << r.IntN(8)
		}
		return os.WriteFile(path, data, 0o600)
	}))
}

// TestStraightIsTheSame writes the same rows both ways: the changelog and the rows
// are equal, and the straight way makes one snapshot for each commit.
func TestStraightIsTheSame(t *testing.T) {
	for _, options := range [][]string{
		{"changelog-producer", "lookup"},
		{"changelog-producer", "lookup", "sequence.field", "s"},
		{"changelog-producer", "lookup", "changelog-producer.row-deduplicate", "true", "target-file-size", "2 kb"},
	} {
		var logs, rows [][]string
		for _, off := range []bool{false, true} {
			table := pairsTable(t, options...)
			h := newHistory(table, 11)
			w := openWriter(t, table, Options{User: "me", CommitInterval: time.Hour, LookupDir: t.TempDir(), StraightOff: off, Shards: 1})
			for range 12 {
				_, err := w.Write(t.Context(), h.batch(t, w.Type(), nil), Position{})
				require.NoError(t, err)
				_, err = w.Commit(t.Context())
				require.NoError(t, err)
			}
			require.NoError(t, w.Close(t.Context()))
			latest, err := table.LatestID(t.Context())
			require.NoError(t, err)
			if off {
				require.Equal(t, int64(24), latest)
			} else {
				require.Equal(t, int64(12), latest)
			}
			var log []string
			for id := range latest {
				log = append(log, changelog(t, table, id+1)...)
			}
			logs, rows = append(logs, log), append(rows, latestRows(t, table))
		}
		require.Equal(t, logs[1], logs[0], options)
		require.Equal(t, rows[1], rows[0], options)
	}
}

// TestStraightAppends: a commit that replaces nothing is an APPEND snapshot, with
// its files above level 0 and its changelog.
func TestStraightAppends(t *testing.T) {
	table := newTable(t, memory(), usual("changelog-producer", "lookup"))
	w := openWriter(t, table, Options{CommitInterval: time.Hour, LookupDir: t.TempDir()})
	for i, kind := range []paimon.CommitKind{paimon.CommitAppend, paimon.CommitCompact} {
		write(t, w, "", []any{1, "a"}, []any{2, "b"}, []any{3, "c"})
		id, err := w.CommitWith(t.Context(), []CompactMode{CompactAuto, CompactFull}[i])
		require.NoError(t, err)
		require.Equal(t, int64(i+1), id)
		snap, err := table.Snapshot(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, kind, snap.CommitKind)
		require.True(t, snap.HasChangelog())
		entries, err := table.DeltaEntries(t.Context(), snap)
		require.NoError(t, err)
		for _, e := range entries {
			require.Positive(t, e.File.Level)
		}
	}
}

// TestIndexIsBehind: a process that dies between its snapshot and the batch of the
// index leaves an index that knows less than the table. The next one finds that
// out and tells the truth.
func TestIndexIsBehind(t *testing.T) {
	for _, tc := range []struct {
		options  []string
		catchUps int64
		rebuilds int64
	}{
		{[]string{"changelog-producer", "lookup"}, 1, 0},
		{[]string{"changelog-producer", "lookup", "changelog-producer.row-deduplicate", "true"}, 0, 1},
	} {
		for _, straightOff := range []bool{false, true} {
			table := newTable(t, memory(), usual(append([]string{"bucket", "1"}, tc.options...)...))
			s := &script{table: table, options: Options{User: "me", CommitInterval: time.Hour, LookupDir: t.TempDir(), StraightOff: straightOff}}
			s.run(t, []step{{rows: "+I 1 a, +I 2 b, +I 3 c", kinds: anyKinds, log: "+I 1 a, +I 2 b, +I 3 c"}})

			s.options.beforeIndex = func() bool { return false }
			s.w = nil
			s.run(t, []step{{rows: "+I 1 x, -D 2 b, +I 4 d", kinds: anyKinds, log: "-U 1 a, +U 1 x, -D 2 b, +I 4 d"}})

			s.options.beforeIndex, s.w = nil, openWriter(t, table, s.options)
			s.write(t, "+I 1 y, +I 2 n, -D 3 c, +I 4 e")
			_, err := s.w.Commit(t.Context())
			require.NoError(t, err)
			_, log := s.made(t)
			require.Equal(t, "-U 1 x, +U 1 y, +I 2 n, -D 3 c, -U 4 d, +U 4 e", log)
			m := s.w.Metrics()
			require.Equal(t, tc.catchUps, m.IndexCatchUps)
			require.Equal(t, tc.rebuilds, m.IndexRebuilds)
			require.NoError(t, s.w.Close(t.Context()))
		}
	}
}

// TestOwedAtOpen: what a writer leaves on level 0 is compacted by the next one,
// though nobody writes.
func TestOwedAtOpen(t *testing.T) {
	table := newTable(t, memory(), usual("bucket", "1", "changelog-producer", "lookup", "lookup-wait", "false", "lookup-compact", "gentle"))
	s := &script{table: table, options: Options{User: "me", CommitInterval: time.Hour, LookupDir: t.TempDir()}}
	s.run(t, []step{{rows: "+I 1 a, +I 2 b", mode: CompactNone, kinds: "APPEND"}})
	change, err := paimon.ParseChange("set option lookup-compact=radical")
	require.NoError(t, err)
	_, err = table.Alter(t.Context(), []paimon.Change{change})
	require.NoError(t, err)
	made := make(chan *paimon.Snapshot, 10)
	o := s.options
	o.CommitInterval, o.OnCommit = time.Millisecond, func(snap *paimon.Snapshot) { made <- snap }
	w := openWriter(t, openTable(t, table.Store), o)
	snap := <-made
	require.Equal(t, paimon.CommitCompact, snap.CommitKind)
	require.NoError(t, w.Close(t.Context()))
	_, log := s.made(t)
	require.Equal(t, "+I 1 a, +I 2 b", log)
}

// TestConflicts: another process compacts a bucket between a writer's look at it
// and its commit. The rows are committed, the changelog is that of the table as
// the other left it.
func TestConflicts(t *testing.T) {
	for _, straightOff := range []bool{false, true} {
		table := pairsTable(t, "changelog-producer", "lookup")
		h := newHistory(table, 3)
		meddle, sevens := false, func(key string) bool { return strings.HasSuffix(key, "7") }
		other := openWriter(t, openTable(t, table.Store), Options{User: "other", CommitInterval: time.Hour, LookupDir: t.TempDir(), StraightOff: true})
		w := openWriter(t, table, Options{User: "me", CommitInterval: time.Hour, LookupDir: t.TempDir(), StraightOff: straightOff, beforeCommit: func() {
			if meddle {
				meddle = false
				_, err := other.Write(t.Context(), h.batch(t, other.Type(), sevens), Position{})
				require.NoError(t, err)
				_, err = other.CommitWith(t.Context(), CompactFull)
				require.NoError(t, err)
			}
		}})
		for range 8 {
			_, err := w.Write(t.Context(), h.batch(t, w.Type(), func(key string) bool { return !sevens(key) }), Position{})
			require.NoError(t, err)
			meddle = true
			_, err = w.Commit(t.Context())
			require.NoError(t, err)
			h.follow(t)
		}
		require.Positive(t, w.Metrics().Conflicts)
		require.NoError(t, w.Close(t.Context()))
		require.NoError(t, other.Close(t.Context()))
		h.complete(t)
	}
}
