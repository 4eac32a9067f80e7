package tablewriter

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// TestSmallBuffers: spilling and early flushes change nothing but files.
func TestSmallBuffers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options []string
		spills  bool
		early   bool
	}{
		{"spill", nil, true, false},
		{"spill without compression", []string{"spill-compression", "none"}, true, false},
		{"spill with few runs", []string{"local-sort.max-num-file-handles", "2"}, true, false},
		{"spill until the disk is full", []string{"write-buffer-spill.max-disk-size", "20 kb"}, true, true},
		{"flush", []string{"write-buffer-spillable", "false"}, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := append([]string{"write-buffer-size", "64 kb", "changelog-producer", "input"}, tc.options...)
			table := newTable(t, memory(), usual(o...))
			dir := t.TempDir()
			w := openWriter(t, table, Options{Shards: 1, SpillDir: dir, CommitInterval: time.Hour})
			var want, log []string
			for i := range 300 {
				c := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 0)}
				for j := range 20 {
					k, v := (i*20+j)*7919%3000, fmt.Sprintf("%d-%d", i, j)
					require.NoError(t, appendJSON(&c.Batch, fmt.Sprintf(`[%d,%q]`, k, v)))
					log = append(log, fmt.Sprintf(`+I [%d,%q]`, k, v))
					if i >= 150 {
						want = append(want, fmt.Sprintf(`[%d,%q]`, k, v))
					}
				}
				_, err := w.Write(t.Context(), c, Position{})
				require.NoError(t, err)
			}
			id, err := w.Commit(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(1), id)
			slices.Sort(want)
			require.Equal(t, want, latestRows(t, table))
			got := changelog(t, table, 1)
			slices.Sort(got)
			slices.Sort(log)
			require.Equal(t, log, got)
			m := w.Metrics()
			require.Equal(t, tc.spills, m.Spills > 0)
			require.Equal(t, tc.early, m.EarlyFlushes > 0)
			require.Zero(t, m.SpillErrors)
			s, err := table.Snapshot(t.Context(), 1)
			require.NoError(t, err)
			entries, err := table.DeltaEntries(t.Context(), s)
			require.NoError(t, err)
			if !tc.early {
				require.Len(t, entries, 2, "a spilled buffer is one buffer still")
			} else {
				require.Greater(t, len(entries), 2)
			}
			checkKeysUnique(t, table, entries)
		})
	}
}

// checkKeysUnique: a level-0 file has a key once.
func checkKeysUnique(t *testing.T, table *paimon.Table, entries []manifest.Entry) {
	t.Helper()
	for i := range entries {
		rows, _, err := readFile(t.Context(), table, &entries[i])
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, r := range rows {
			key, _, _ := cutComma(r)
			require.False(t, seen[key], key)
			seen[key] = true
		}
	}
}

func cutComma(s string) (before, after string, ok bool) {
	for i := range s {
		if s[i] == ',' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func TestSpillFolderMissing(t *testing.T) {
	table := newTable(t, memory(), usual("write-buffer-size", "8 kb"))
	w := openWriter(t, table, Options{Shards: 1, SpillDir: t.TempDir() + "/missing", CommitInterval: time.Hour})
	for i := range 100 {
		write(t, w, "", []any{i, fmt.Sprintf("%0100d", i)})
	}
	require.NoError(t, w.Close(t.Context()))
	require.Len(t, latestRows(t, table), 100)
	m := w.Metrics()
	require.Positive(t, m.SpillErrors)
	require.Positive(t, m.EarlyFlushes)
}

// TestRowLargerThanBuffer is refused with its index, and nothing breaks.
func TestRowLargerThanBuffer(t *testing.T) {
	table := newTable(t, memory(), usual("write-buffer-size", "8 kb"))
	w := openWriter(t, table, Options{Shards: 1})
	_, err := w.Write(t.Context(), changes(t, w.Type(), "", []any{1, "a"}, []any{2, string(make([]byte, 10_000))}), Position{})
	var row *RowError
	require.ErrorAs(t, err, &row)
	require.Equal(t, 1, row.Row)
	write(t, w, "", []any{1, "a"})
	require.NoError(t, w.Close(t.Context()))
	require.Len(t, latestRows(t, table), 1)
}

// TestWideBatch: a batch larger than the buffer is taken in pieces, in one
// commit.
func TestWideBatch(t *testing.T) {
	table := newTable(t, memory(), usual("write-buffer-size", "32 kb"))
	w := openWriter(t, table, Options{SpillDir: t.TempDir()})
	var rows [][]any
	for i := range 3000 {
		rows = append(rows, []any{i, fmt.Sprintf("%050d", i)})
	}
	r := write(t, w, "", rows...)
	require.NoError(t, w.Close(t.Context()))
	id, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), id)
	require.Len(t, latestRows(t, table), 3000)
}

// TestManyBuckets: a commit of more files than are put aside to be finished
// together, and what happens if one of them cannot be.
func TestManyBuckets(t *testing.T) {
	store := faultstore.New(memory())
	table := newTable(t, store, usual("bucket", "200", "changelog-producer", "input"))
	w := openWriter(t, table, Options{Shards: 1})
	var rows [][]any
	for i := range 1000 {
		rows = append(rows, []any{i, "x"})
	}
	write(t, w, "", rows...)
	require.NoError(t, w.Flush(t.Context()))
	require.Len(t, latestRows(t, table), 1000)
	require.Len(t, changelog(t, table, 1), 1000)
	require.Greater(t, w.Metrics().FilesOut, int64(4*unfinishedMax))

	store.SetRules(faultstore.Rule{Ops: []faultstore.Op{faultstore.Finish}, Skip: 230, Times: 1})
	write(t, w, "", rows...)
	require.ErrorIs(t, w.Flush(t.Context()), faultstore.ErrInjected)
	s, err := table.LatestSnapshot(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), s.ID)
}
