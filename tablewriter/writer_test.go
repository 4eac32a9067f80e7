package tablewriter

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/commit"
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

func TestOptionsValidate(t *testing.T) {
	table := newTable(t, memory(), usual())
	_, err := Open(t.Context(), table, Options{CommitRows: -1})
	require.ErrorContains(t, err, "CommitRows")
}

func TestUserByPrefix(t *testing.T) {
	w := openWriter(t, newTable(t, memory(), usual("commit.user-prefix", "gw")), Options{})
	require.Regexp(t, `^gw_[0-9a-f-]{36}$`, w.User())
}
