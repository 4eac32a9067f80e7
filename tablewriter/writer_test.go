package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

func TestWriteCommitRead(t *testing.T) {
	for _, format := range []string{"parquet", "avro"} {
		t.Run(format, func(t *testing.T) {
			table := newTable(t, memory(), usual("changelog-producer", "input", "file.format", format))
			w := openWriter(t, table, Options{})
			write(t, w, "", []any{1, "a"}, []any{2, "b"}, []any{3, nil})
			write(t, w, "+U -D", []any{1, "A"}, []any{2, "b"})
			id, err := w.Commit(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(1), id)
			require.Equal(t, []string{`[1,"A"]`, `[3,null]`}, latestRows(t, table))
			log := changelog(t, table, 1)
			slices.Sort(log)
			require.Equal(t, []string{`+I [1,"a"]`, `+I [2,"b"]`, `+I [3,null]`, `+U [1,"A"]`, `-D [2,"b"]`}, log)

			r := write(t, w, "-D", []any{1, "x"})
			_, err = w.Commit(t.Context())
			require.NoError(t, err)
			id, err = r.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(2), id)
			require.Equal(t, []string{`[3,null]`}, latestRows(t, table))
			require.Equal(t, []string{`-D [1,"x"]`}, changelog(t, table, 2))
			require.NoError(t, w.Close(t.Context()))
		})
	}
}

// TestChangelogTwins: data and changelog files of a flush without repeated keys
// have the same bytes, else each has its own.
func TestChangelogTwins(t *testing.T) {
	table := newTable(t, memory(), usual("changelog-producer", "input", "bucket", "1"))
	w := openWriter(t, table, Options{})
	for i, tc := range []struct {
		rows [][]any
		same bool
	}{
		{[][]any{{1, "a"}, {2, "b"}}, true},
		{[][]any{{1, "a"}, {1, "b"}}, false},
	} {
		write(t, w, "", tc.rows...)
		id, err := w.Commit(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(i+1), id)
		s, err := table.Snapshot(t.Context(), id)
		require.NoError(t, err)
		data, err := table.DeltaEntries(t.Context(), s)
		require.NoError(t, err)
		log, err := table.ChangelogEntries(t.Context(), s)
		require.NoError(t, err)
		require.Len(t, data, 1)
		require.Len(t, log, 1)
		require.Regexp(t, `^data-[0-9a-f-]+-\d+\.parquet$`, data[0].File.FileName)
		require.Regexp(t, `^changelog-[0-9a-f-]+-\d+\.parquet$`, log[0].File.FileName)
		require.Equal(t, int32(0), log[0].File.Level)
		require.Equal(t, tc.same, data[0].File.FileSize == log[0].File.FileSize)
		require.Equal(t, int64(len(tc.rows)), log[0].File.RowCount)
	}
}

// TestGroupCommit: what many write within the interval is one snapshot.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t, memory(), uncompressed(usual()))
		var seen []int64
		w, err := Open(t.Context(), table, Options{CommitInterval: time.Second, OnCommit: func(s *paimon.Snapshot) { seen = append(seen, s.ID) }})
		require.NoError(t, err)
		begin := time.Now()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond) // the bubble's clock
				r, err := w.Write(t.Context(), changes(t, w.Type(), "", []any{i, "x"}), Position{})
				require.NoError(t, err)
				id, err := r.Wait(t.Context())
				require.NoError(t, err)
				require.Equal(t, int64(1), id)
			})
		}
		wg.Wait()
		require.Equal(t, time.Second, time.Since(begin), "the first batch waited for the interval, no longer")
		require.Equal(t, []int64{1}, seen)
		require.Len(t, latestRows(t, table), 20)
		m := w.Metrics()
		require.Equal(t, int64(1), m.Commits)
		require.Equal(t, int64(20), m.Rows)
		require.Equal(t, int64(20), m.Batches)
		require.Equal(t, int64(20), m.RowsIn)
		require.Equal(t, int64(20), m.RowsOut)
		require.Zero(t, m.QueueBytes)
		require.NoError(t, w.Close(t.Context()))
	})
}

// TestCommitBounds: rows or bytes cut a commit before the interval.
func TestCommitBounds(t *testing.T) {
	for _, o := range []Options{{CommitRows: 10}, {CommitBytes: 500}} {
		synctest.Test(t, func(t *testing.T) {
			table := newTable(t, memory(), uncompressed(usual()))
			o.CommitInterval = time.Hour
			w, err := Open(t.Context(), table, o)
			require.NoError(t, err)
			begin := time.Now()
			var last *Receipt
			for i := range 100 {
				last = write(t, w, "", []any{i, "x"})
			}
			require.NoError(t, w.Close(t.Context()))
			id, err := last.Wait(t.Context())
			require.NoError(t, err)
			require.GreaterOrEqual(t, id, int64(10))
			require.Zero(t, time.Since(begin))
			require.Len(t, latestRows(t, table), 100)
		})
	}
}

func TestErrorAnswersItsBatchOnly(t *testing.T) {
	table := newTable(t, memory(), usual())
	w := openWriter(t, table, Options{})
	good := write(t, w, "", []any{1, "a"})
	_, err := w.Write(t.Context(), changes(t, w.Type(), "", []any{2, "b"}, []any{nil, "c"}), Position{Source: "s", Value: "1"})
	var row *RowError
	require.ErrorAs(t, err, &row)
	require.Equal(t, 1, row.Row)
	require.Equal(t, "k", row.Column)
	require.EqualError(t, err, "row 1: Cannot write null to non-null column(k)")
	_, err = w.Commit(t.Context())
	require.NoError(t, err)
	_, err = good.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{`[1,"a"]`}, latestRows(t, table), "nothing of the bad batch")
	r, err := w.Restore(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.Positions)
	require.Equal(t, int64(1), w.Metrics().RejectedBatches)
}

// TestPositions: they are committed with their batch, each source's newest, and
// are there after a restart; so are identifiers.
func TestPositions(t *testing.T) {
	table := newTable(t, memory(), usual())
	o := Options{User: "me"}
	w := openWriter(t, table, o)
	r, err := w.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, RestorePoint{Positions: map[string]string{}}, r)
	put := func(w *Writer, pos Position, rows ...[]any) {
		t.Helper()
		_, err := w.Write(t.Context(), changes(t, w.Type(), "", rows...), pos)
		require.NoError(t, err)
	}
	put(w, Position{"a", "1"}, []any{1, "x"})
	put(w, Position{"b", "7"}, []any{2, "x"})
	put(w, Position{"a", "2"}, []any{3, "x"})
	_, err = w.Commit(t.Context())
	require.NoError(t, err)
	put(w, Position{"b", "8"}) // a position without rows is committed too
	_, err = w.Commit(t.Context())
	require.NoError(t, err)
	write(t, w, "", []any{4, "x"})
	_, err = w.Commit(t.Context())
	require.NoError(t, err)
	put(w, Position{"a", "lost"}, []any{5, "x"})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, w.Close(ended), "something was dropped")

	other := openWriter(t, table, Options{User: "you"})
	write(t, other, "", []any{6, "x"})
	require.NoError(t, other.Close(t.Context()))

	w = openWriter(t, table, o)
	r, err = w.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, RestorePoint{Snapshot: 3, Identifier: 3, Positions: map[string]string{"a": "2", "b": "8"}}, r)
	pos, ok := r.Position("b")
	require.True(t, ok)
	require.Equal(t, Position{"b", "8"}, pos)
	put(w, Position{"b", "9"}, []any{7, "x"})
	id, err := w.Commit(t.Context())
	require.NoError(t, err)
	s, err := table.Snapshot(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "me", s.CommitUser)
	require.Equal(t, int64(4), s.CommitIdentifier)
	require.Equal(t, "2", s.Properties["sluice.position.a"])
	require.Equal(t, "9", s.Properties["sluice.position.b"])
	require.Len(t, latestRows(t, table), 6)
}

func TestPositionBounds(t *testing.T) {
	table := newTable(t, memory(), usual())
	w := openWriter(t, table, Options{})
	empty := changes(t, w.Type(), "")
	var bad *BatchError
	_, err := w.Write(t.Context(), empty, Position{Source: string(make([]byte, SourceBytesMax+1)), Value: "1"})
	require.ErrorAs(t, err, &bad)
	_, err = w.Write(t.Context(), empty, Position{Source: "s", Value: string(make([]byte, PositionBytesMax+1))})
	require.ErrorAs(t, err, &bad)
	for i := range SourcesMax {
		_, err = w.Write(t.Context(), empty, Position{Source: fmt.Sprint(i), Value: "1"})
		require.NoError(t, err)
	}
	_, err = w.Write(t.Context(), empty, Position{Source: "one more", Value: "1"})
	require.ErrorAs(t, err, &bad)
	_, err = w.Write(t.Context(), empty, Position{Source: "7", Value: "2"})
	require.NoError(t, err)
}

func TestIdentifiersUsedUp(t *testing.T) {
	table := newTable(t, memory(), usual())
	c := commit.New(table, commit.Options{})
	_, err := c.Commit(t.Context(), commit.Request{User: "me", Identifier: paimon.BatchCommitIdentifier})
	require.NoError(t, err)
	_, err = Open(t.Context(), table, Options{User: "me"})
	require.ErrorIs(t, err, ErrIdentifiers)
}

// TestSecondWriterIsFenced: the commit of another writer of the same user is not
// taken for one's own.
func TestSecondWriterIsFenced(t *testing.T) {
	table := newTable(t, memory(), usual())
	a := openWriter(t, table, Options{User: "me"})
	b := openWriter(t, table, Options{User: "me"})
	write(t, a, "", []any{1, "a"})
	_, err := a.Commit(t.Context())
	require.NoError(t, err)
	r := write(t, b, "", []any{2, "b"})
	_, err = b.Commit(t.Context())
	var fenced *FencedError
	require.ErrorAs(t, err, &fenced)
	require.Equal(t, "me", fenced.User)
	_, err = r.Wait(t.Context())
	require.ErrorAs(t, err, &fenced)
	_, err = b.Write(t.Context(), changes(t, b.Type(), "", []any{3, "c"}), Position{})
	var failed *FailedError
	require.ErrorAs(t, err, &failed)
	require.ErrorAs(t, b.Close(t.Context()), &failed)
	require.Equal(t, []string{`[1,"a"]`}, latestRows(t, table))
}

// TestOlderWriterIsFenced: the same if the other writer is several commits ahead.
func TestOlderWriterIsFenced(t *testing.T) {
	table := newTable(t, memory(), usual())
	a := openWriter(t, table, Options{User: "me"})
	b := openWriter(t, table, Options{User: "me"})
	for i := range 3 {
		write(t, a, "", []any{i, "a"})
		_, err := a.Commit(t.Context())
		require.NoError(t, err)
	}
	write(t, b, "", []any{7, "b"})
	_, err := b.Commit(t.Context())
	var fenced *FencedError
	require.ErrorAs(t, err, &fenced)
	require.Len(t, latestRows(t, table), 3)
}

// TestSequenceNumbersGoOn: across restarts, and over what others have committed
// in the meantime; else an old row would win.
func TestSequenceNumbersGoOn(t *testing.T) {
	for _, mode := range []string{"scan", "snapshot"} {
		t.Run(mode, func(t *testing.T) {
			table := newTable(t, memory(), usual("bucket", "1", "write.sequence-number-init-mode", mode))
			a := openWriter(t, table, Options{User: "a"})
			b := openWriter(t, table, Options{User: "b"})
			commitTo := func(w *Writer, v string) {
				t.Helper()
				write(t, w, "", []any{1, "-"}, []any{2, "-"}, []any{1, v})
				_, err := w.Commit(t.Context())
				require.NoError(t, err)
				require.Equal(t, []string{`[1,"` + v + `"]`, `[2,"-"]`}, latestRows(t, table))
			}
			commitTo(a, "1")
			commitTo(a, "2")
			commitTo(b, "3")
			commitTo(a, "4")
			commitTo(a, "5")
			commitTo(b, "6")
			require.NoError(t, a.Close(t.Context()))
			commitTo(openWriter(t, table, Options{User: "a"}), "7")
			s, err := table.LatestSnapshot(t.Context())
			require.NoError(t, err)
			entries, err := table.DeltaEntries(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, int64(20), entries[0].File.MaxSeq)
			if mode == "snapshot" {
				require.Equal(t, "20", s.Properties[commit.MaxSequenceProperty])
			}
		})
	}
}

func TestBucketCountMismatch(t *testing.T) {
	store := memory()
	table := newTable(t, store, spec([]string{"p INT", "k INT"}, []string{"p", "k"}, []string{"p"}, "bucket", "2"))
	w := openWriter(t, table, Options{})
	write(t, w, "", []any{1, 1})
	require.NoError(t, w.Close(t.Context()))
	change, err := paimon.ParseChange("set option bucket=3")
	require.NoError(t, err)
	_, err = paimon.NewCatalog(store, "wh").AlterTable(t.Context(), "db.t", []paimon.Change{change})
	require.NoError(t, err)
	table = openTable(t, store)
	w = openWriter(t, table, Options{})
	_, err = w.Write(t.Context(), changes(t, w.Type(), "", []any{2, 5}, []any{1, 2}), Position{})
	var mismatch *BucketCountError
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, BucketCountError{Partition: "p=1/", Have: 2, Want: 3}, *mismatch)
	write(t, w, "", []any{2, 5}) // another partition is free to have three
	_, err = w.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{`[1,1]`, `[2,5]`}, latestRows(t, table))
}

func TestOverwrite(t *testing.T) {
	parts := spec([]string{"p INT", "k INT", "v STRING"}, []string{"p", "k"}, []string{"p"}, "bucket", "2", "changelog-producer", "input")
	for _, tc := range []struct {
		name      string
		overwrite commit.Overwrite
		rows      [][]any
		want      []string
		snapshot  int64 // 1: nothing happened
	}{
		{"all", commit.Overwrite{}, [][]any{{1, 9, "new"}, {4, 4, "new"}}, []string{`[1,9,"new"]`, `[4,4,"new"]`}, 2},
		{"all by nothing", commit.Overwrite{}, nil, nil, 2},
		{"dynamic", commit.Overwrite{Dynamic: true}, [][]any{{1, 9, "new"}, {4, 4, "new"}}, []string{`[1,9,"new"]`, `[2,2,"old"]`, `[4,4,"new"]`}, 2},
		{"dynamic by nothing", commit.Overwrite{Dynamic: true}, nil, []string{`[1,1,"old"]`, `[2,2,"old"]`}, 1},
		{"one partition", commit.Overwrite{Partitions: []map[string]string{{"p": "2"}}}, [][]any{{2, 5, "new"}}, []string{`[1,1,"old"]`, `[2,5,"new"]`}, 2},
		{"one partition by nothing", commit.Overwrite{Partitions: []map[string]string{{"p": "2"}}}, nil, []string{`[1,1,"old"]`}, 2},
	} {
		for _, byClose := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,close=%v", tc.name, byClose), func(t *testing.T) {
				table := newTable(t, memory(), parts)
				w := openWriter(t, table, Options{User: "me"})
				write(t, w, "", []any{1, 1, "old"}, []any{2, 2, "old"})
				require.NoError(t, w.Close(t.Context()))

				w = openWriter(t, table, Options{User: "me", CommitRows: 1, CommitInterval: 1, Overwrite: &tc.overwrite})
				for _, row := range tc.rows {
					write(t, w, "", row) // more than a commit would take else
				}
				if !byClose {
					id, err := w.Commit(t.Context())
					require.NoError(t, err)
					require.Equal(t, tc.snapshot, id)
				}
				require.NoError(t, w.Close(t.Context()))
				_, err := w.Write(t.Context(), changes(t, w.Type(), ""), Position{})
				require.ErrorIs(t, err, ErrClosed)
				require.Equal(t, tc.want, latestRows(t, table))
				s, err := table.LatestSnapshot(t.Context())
				require.NoError(t, err)
				require.Equal(t, tc.snapshot, s.ID)
				if s.ID > 1 {
					require.Equal(t, paimon.CommitOverwrite, s.CommitKind)
					require.False(t, s.HasChangelog())
				}
			})
		}
	}
}

// TestOverwriteRescales: what is replaced may have another number of buckets.
func TestOverwriteRescales(t *testing.T) {
	store := memory()
	table := newTable(t, store, usual())
	w := openWriter(t, table, Options{})
	write(t, w, "", []any{1, "a"}, []any{2, "b"})
	require.NoError(t, w.Close(t.Context()))
	change, err := paimon.ParseChange("set option bucket=5")
	require.NoError(t, err)
	_, err = paimon.NewCatalog(store, "wh").AlterTable(t.Context(), "db.t", []paimon.Change{change})
	require.NoError(t, err)
	table = openTable(t, store)
	w = openWriter(t, table, Options{Overwrite: &commit.Overwrite{}})
	write(t, w, "", []any{1, "A"}, []any{3, "C"})
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, []string{`[1,"A"]`, `[3,"C"]`}, latestRows(t, table))
	w = openWriter(t, table, Options{})
	write(t, w, "", []any{3, "c"})
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, []string{`[1,"A"]`, `[3,"c"]`}, latestRows(t, table))
}

// TestTableReplaced: a writer does not write to another table that has taken the
// place of its own, nor to none.
func TestTableReplaced(t *testing.T) {
	for _, fields := range [][]string{{"k INT", "v STRING"}, nil} {
		store := memory()
		s := usual()
		if fields != nil {
			s = spec(fields, nil, nil)
		}
		w := openWriter(t, newTable(t, store, s), Options{})
		write(t, w, "", []any{1, "a"})
		require.NoError(t, w.Flush(t.Context()))
		c := paimon.NewCatalog(store, "wh")
		require.NoError(t, c.DropTable(t.Context(), "db.t"))
		_, err := w.Write(t.Context(), changes(t, w.Type(), "", []any{2, "b"}), Position{})
		require.ErrorIs(t, err, paimon.ErrTableNotFound)
		s.Schema.Comment = new(string)
		require.NoError(t, createTable(t.Context(), c, s))
		_, err = w.Write(t.Context(), changes(t, w.Type(), "", []any{2, "b"}), Position{})
		require.ErrorIs(t, err, ErrTableReplaced)
	}
}

func TestAppendTables(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options []string
		files   string // bucket of total, sequence numbers, of each file
	}{
		{"unaware", nil, "0/-1 0..2, 0/-1 0..0"},
		{"bucketed", []string{"bucket", "1", "bucket-key", "k"}, "0/1 0..2, 0/1 3..3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := newTable(t, memory(), spec([]string{"k INT", "v STRING"}, nil, nil, tc.options...))
			w := openWriter(t, table, Options{})
			write(t, w, "", []any{3, "c"}, []any{1, "a"})
			write(t, w, "+U", []any{1, "a"})
			_, err := w.Commit(t.Context())
			require.NoError(t, err)
			require.NoError(t, w.Close(t.Context()))
			w = openWriter(t, table, Options{})
			write(t, w, "", []any{2, "b"})
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, []string{`[1,"a"]`, `[1,"a"]`, `[2,"b"]`, `[3,"c"]`}, latestRows(t, table))
			s, err := table.LatestSnapshot(t.Context())
			require.NoError(t, err)
			entries, err := table.LiveEntries(t.Context(), s, paimon.Filter{})
			require.NoError(t, err)
			files := ""
			for i, e := range entries {
				if i > 0 {
					files += ", "
				}
				files += fmt.Sprintf("%d/%d %d..%d", e.Bucket, e.TotalBuckets, e.File.MinSeq, e.File.MaxSeq)
			}
			require.Equal(t, tc.files, files)
		})
	}
}

// TestAppendKeepsOrder: rows of a bucket are in the file as they came.
func TestAppendKeepsOrder(t *testing.T) {
	table := newTable(t, memory(), spec([]string{"k INT"}, nil, nil))
	w := openWriter(t, table, Options{})
	var want []string
	for i := range 50 {
		write(t, w, "", []any{i * 7 % 50}, []any{i})
		want = append(want, fmt.Sprintf("[%d]", i*7%50), fmt.Sprintf("[%d]", i))
	}
	require.NoError(t, w.Close(t.Context()))
	s, err := table.LatestSnapshot(t.Context())
	require.NoError(t, err)
	entries, err := table.DeltaEntries(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	got, _, err := readFile(t.Context(), table, &entries[0])
	require.NoError(t, err)
	require.Equal(t, want, got)
}

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

// TestCommitRetries: a commit that fails in the store is tried again with the
// same identifier, and rows are there once.
func TestCommitRetries(t *testing.T) {
	for _, mode := range []faultstore.Mode{faultstore.FailBefore, faultstore.FailAfter} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := faultstore.New(memory())
				table := newTable(t, store, uncompressed(spec([]string{"k INT"}, nil, nil)))
				w, err := Open(t.Context(), table, Options{User: "me", Commit: commit.Options{}})
				require.NoError(t, err)
				store.SetRules(faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Name: "snapshot-*", Times: 1, Mode: mode})
				r := write(t, w, "", []any{1})
				id, err := r.Wait(t.Context())
				require.NoError(t, err)
				require.Equal(t, int64(1), id)
				require.Equal(t, 1, store.Fired())
				r = write(t, w, "", []any{2})
				id, err = r.Wait(t.Context())
				require.NoError(t, err)
				require.Equal(t, int64(2), id)
				require.NoError(t, w.Close(t.Context()))
				require.Equal(t, []string{"[1]", "[2]"}, latestRows(t, table))
			})
		})
	}
}

// TestCommitFailureAnswersAll: all receipts of the commit and of those behind it
// get the error, nothing hangs, and the writer takes no more.
func TestCommitFailureAnswersAll(t *testing.T) {
	for _, op := range []faultstore.Op{faultstore.PutIfAbsent, faultstore.Create, faultstore.Finish} {
		t.Run(op.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := faultstore.New(memory())
				table := newTable(t, store, uncompressed(usual()))
				w, err := Open(t.Context(), table, Options{CommitTimeout: 5 * time.Second})
				require.NoError(t, err)
				store.SetRules(faultstore.Rule{Ops: []faultstore.Op{op}})
				a, b := write(t, w, "", []any{1, "a"}), write(t, w, "", []any{2, "b"})
				var failed *FailedError
				for _, r := range []*Receipt{a, b} {
					_, err := r.Wait(t.Context())
					require.ErrorAs(t, err, &failed)
					require.ErrorIs(t, err, faultstore.ErrInjected)
				}
				_, err = w.Write(t.Context(), changes(t, w.Type(), "", []any{3, "c"}), Position{})
				require.ErrorAs(t, err, &failed)
				_, err = w.Commit(t.Context())
				require.ErrorAs(t, err, &failed)
				require.ErrorAs(t, w.Close(t.Context()), &failed)
				require.ErrorAs(t, w.Close(t.Context()), &failed, "a second Close says the same")
				store.SetRules()
				_, err = table.LatestSnapshot(t.Context())
				require.ErrorIs(t, err, paimon.ErrNoSnapshot)

				w, err = Open(t.Context(), table, Options{})
				require.NoError(t, err)
				write(t, w, "", []any{1, "again"})
				require.NoError(t, w.Close(t.Context()))
				require.Equal(t, []string{`[1,"again"]`}, latestRows(t, table))
			})
		})
	}
}

// TestBackPressure: while a commit hangs, Write waits as soon as the next commit
// is full, and an ended context frees it.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		store := faultstore.New(memory())
		table := newTable(t, store, uncompressed(usual()))
		w, err := Open(t.Context(), table, Options{CommitRows: 10, CommitInterval: time.Hour})
		require.NoError(t, err)
		store.SetRules(faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Times: 1, Mode: faultstore.Pass, Hook: func(faultstore.Call) { <-release }})
		taken := 0
		stuck := make(chan struct{})
		go func() {
			for i := range 25 {
				write(t, w, "", []any{i, "x"})
				taken++
			}
			close(stuck)
		}()
		synctest.Wait()
		require.Equal(t, 20, taken, "one commit under way and one full")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = w.Write(ctx, changes(t, w.Type(), "", []any{99, "x"}), Position{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
		<-stuck
		require.NoError(t, w.Close(t.Context()))
		require.Len(t, latestRows(t, table), 25, "and not the row that gave up")
		require.Zero(t, w.Metrics().QueueBytes)
	})
}

func TestCloseAndAfter(t *testing.T) {
	table := newTable(t, memory(), usual())
	w := openWriter(t, table, Options{CommitInterval: time.Hour})
	r := write(t, w, "", []any{1, "a"})
	require.NoError(t, w.Close(t.Context()))
	_, err := r.Wait(t.Context())
	require.NoError(t, err, "Close commits what was written")
	_, err = w.Write(t.Context(), changes(t, w.Type(), "", []any{1, "a"}), Position{})
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, w.Close(t.Context()))
}

func TestCommitWithNothing(t *testing.T) {
	table := newTable(t, memory(), usual("ignore-delete", "true"))
	w := openWriter(t, table, Options{CommitInterval: time.Hour})
	id, err := w.Commit(t.Context())
	require.NoError(t, err)
	require.Zero(t, id)
	r := write(t, w, "-D", []any{1, "a"}) // ignored
	id, err = w.Commit(t.Context())
	require.NoError(t, err)
	require.Zero(t, id)
	_, err = r.Wait(t.Context())
	require.NoError(t, err)
	_, err = table.LatestSnapshot(t.Context())
	require.ErrorIs(t, err, paimon.ErrNoSnapshot, "no empty snapshot")
	write(t, w, "", []any{1, "a"})
	require.NoError(t, w.Flush(t.Context()))
	id, err = w.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), id)
}

func TestReceiptWaitEnds(t *testing.T) {
	table := newTable(t, memory(), usual())
	w := openWriter(t, table, Options{CommitInterval: time.Hour})
	r := write(t, w, "", []any{1, "a"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	select {
	case <-r.Done():
		require.Fail(t, "done before it was committed")
	default:
	}
	require.NoError(t, w.Flush(t.Context()))
	<-r.Done()
}

func TestOptionsValidate(t *testing.T) {
	table := newTable(t, memory(), usual())
	_, err := Open(t.Context(), table, Options{CommitRows: -1})
	require.ErrorContains(t, err, "CommitRows")
}

func TestUserByPrefix(t *testing.T) {
	w := openWriter(t, newTable(t, memory(), usual("commit.user-prefix", "gw")), Options{})
	require.Regexp(t, `^gw_[0-9a-f-]{36}$`, w.User())
}

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{max: 100}
		require.NoError(t, g.enter(t.Context(), 70))
		in := make(chan int, 3)
		entered := func() (who []int) {
			synctest.Wait()
			for len(in) > 0 {
				who = append(who, <-in)
			}
			slices.Sort(who)
			return who
		}
		for i, bytes := range []int64{40, 20, 500} {
			go func() {
				require.NoError(t, g.enter(t.Context(), bytes))
				in <- i
			}()
			require.Empty(t, entered(), "nobody overtakes who waits")
		}
		gone, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- g.enter(gone, 1) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-errs, context.Canceled)
		g.leave(70)
		require.Equal(t, []int{0, 1}, entered())
		require.Equal(t, int64(60), g.inside())
		g.leave(60)
		require.Equal(t, []int{2}, entered(), "more than fits comes in alone")
		boom := errors.New("boom")
		go func() { errs <- g.enter(t.Context(), 1) }()
		synctest.Wait()
		g.close(boom)
		require.ErrorIs(t, <-errs, boom)
		require.ErrorIs(t, g.enter(t.Context(), 1), boom)
	})
}
