package lsm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

func lookupTree(t *testing.T, engine merge.Engine) *tree {
	pick := DefaultPickOptions()
	pick.Force = ForceRadical
	return newTree(t.Context(), t, treeSpec{producer: "lookup", engine: engine, levels: 6, pick: pick, opts: CompactionOptions{SmallBytes: 1 << 20}})
}

func dedup() merge.Engine {
	return merge.Engine{Name: "deduplicate", Keep: merge.Deduplicate{}}
}

// TestCompactManyRuns compacts 2,000 files of one key, far more than are merged
// at once: they pass through local disk, and are folded once, in one order.
func TestCompactManyRuns(t *testing.T) {
	const updates = 2000
	f := lookupTree(t, adding())
	f.job.RunsMax, f.job.Spill = 16, SpillOptions{Dir: t.TempDir()}
	f.flush(f.folded([]write{{key: 1, f: 100}, {key: 2, f: 7}}))
	pick, ok := f.picker.Pick(f.levels.Runs(), f.levels.Top(), f.now)
	f.compact(pick, ok, nil)
	for i := range int64(updates) {
		f.flush(f.folded([]write{{key: 1, f: 1, seq: i + 1}}))
	}
	require.Equal(t, updates+1, f.levels.NumRuns())
	pick, ok = f.picker.Pick(f.levels.Runs(), f.levels.Top(), f.now)
	r := f.compact(pick, ok, nil)
	require.Equal(t, image{1: `[1,2100,"2000"]`, 2: `[2,7,"0"]`}, f.state(f.levels.Top()))
	require.Len(t, r.Changelog, 1)
	changes := f.rows(&r.Changelog[0])
	require.Equal(t, 2, changes.N)
	require.Equal(t, []int32{100, 2100}, changes.Cols[1].I32)
	require.Positive(t, r.Stats.SpilledBytes)
	require.Equal(t, int64(updates+2), r.Stats.RowsIn)
	left, err := os.ReadDir(f.job.Spill.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestCompactFaults fails each creation of a file, each opening and each batch of
// reading in turn: what was finished is named, and the same compaction then works.
func TestCompactFaults(t *testing.T) {
	t.Run("at once", func(t *testing.T) { compactWithFaults(t, 64) })
	t.Run("in passes", func(t *testing.T) { compactWithFaults(t, 2) })
}

func compactWithFaults(t *testing.T, runsMax int) {
	broken := errors.New("disk on fire")
	f := lookupTree(t, dedup())
	f.job.RunsMax, f.job.Spill.Dir = runsMax, t.TempDir()
	f.opts.SmallBytes = 0
	for i := range int32(6) {
		f.flush(f.folded([]write{{key: 10 * i, seq: f.seq}, {key: 10*i + 1, seq: f.seq + 1}, {key: 10*i + 5, seq: f.seq + 2}}))
		if i%2 == 0 {
			f.flush(f.folded([]write{{key: 10*i + 1, seq: f.seq + 3}}))
			f.flush(f.folded([]write{{key: 10*i + 1, seq: f.seq + 4}}))
		}
		f.seq += 5
	}
	pick, ok := f.picker.Pick(f.levels.Runs(), f.levels.Top(), f.now)
	require.True(t, ok)
	create, open := f.job.Create, f.job.Open
	before := len(f.files)
	failures := 0
	for n := 1; ; n++ {
		calls := 0
		fail := func() bool { calls++; return calls == n }
		f.job.Create = func(ctx context.Context, name string) (datafile.Sink, error) {
			if fail() {
				return nil, broken
			}
			return create(ctx, name)
		}
		f.job.Open = func(ctx context.Context, file *File) (merge.Source, error) {
			if fail() {
				return nil, broken
			}
			src, err := open(ctx, file)
			return &failingSource{src, fail, broken}, err
		}
		c := NewCompaction(f.levels.Runs(), f.levels.Top(), pick, f.producer, f.opts)
		result, err := c.Run(t.Context(), f.job)
		if err == nil {
			require.Greater(t, failures, 20)
			require.NoError(t, f.levels.Update(result.Before, result.After))
			f.index.commit()
			f.check(&result)
			require.Len(t, f.state(1), 18)
			return
		}
		require.ErrorIs(t, err, broken)
		failures++
		f.index.stage, f.index.last = nil, nil
		require.Empty(t, result.Before)
		for _, orphan := range append(result.After, result.Changelog...) {
			require.Contains(t, f.files, orphan.FileName)
			delete(f.files, orphan.FileName)
		}
		require.Len(t, f.files, before, "files are left that nobody names")
	}
}

type failingSource struct {
	merge.Source
	fail func() bool
	err  error
}

func (s *failingSource) Next(dst *rowdata.KeyValues) (int, error) {
	if s.fail() {
		return 0, s.err
	}
	return s.Source.Next(dst)
}

func TestCompactCancelled(t *testing.T) {
	f := lookupTree(t, dedup())
	f.flush(f.folded([]write{{key: 1}}))
	f.flush(f.folded([]write{{key: 1, seq: 1}}))
	pick, _ := f.picker.Pick(f.levels.Runs(), f.levels.Top(), f.now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewCompaction(f.levels.Runs(), f.levels.Top(), pick, f.producer, f.opts).Run(ctx, f.job)
	require.ErrorIs(t, err, context.Canceled)
}

// TestCompactProgress expects the progress to count what the statistics say.
func TestCompactProgress(t *testing.T) {
	f := lookupTree(t, dedup())
	f.flush(f.folded([]write{{key: 1}, {key: 2}, {key: 3}}))
	f.flush(f.folded([]write{{key: 1, seq: 1}}))
	pick, ok := f.picker.Pick(f.levels.Runs(), f.levels.Top(), f.now)
	r := f.compact(pick, ok, nil)
	require.Equal(t, CompactStats{
		RowsIn: 4, BytesIn: r.Stats.BytesIn, RowsOut: 3, BytesOut: r.After[0].FileSize, ChangelogRows: 3, ChangelogBytes: r.Changelog[0].FileSize,
	}, r.Stats)
	require.Equal(t, []int64{4, 3, 3}, []int64{f.job.Progress.RowsIn.Load(), f.job.Progress.RowsOut.Load(), f.job.Progress.ChangelogRows.Load()})
}

// TestCompactExpired leaves out records that are too old, of all levels.
func TestCompactExpired(t *testing.T) {
	f := newTree(t.Context(), t, treeSpec{producer: "none", engine: dedup(), levels: 3, pick: DefaultPickOptions()})
	f.opts.Expired = func(*File) bool { return true }
	f.job.Expired = func(kv *rowdata.KeyValues, i int) bool { return kv.Cols[1].I32[i] < 5 }
	f.flush(f.folded([]write{{key: 1, f: 1}, {key: 2, f: 9}, {key: 3, f: 9}}))
	pick, ok := PickFull(f.levels.Runs(), 2, nil)
	f.compact(pick, ok, nil)
	require.Equal(t, image{2: `[2,9,"0"]`, 3: `[3,9,"0"]`}, f.state(2))
	f.flush(f.folded([]write{{key: 2, f: 3, seq: 1}}))
	pick, ok = PickFull(f.levels.Runs(), 2, nil)
	f.compact(pick, ok, nil)
	require.Equal(t, image{2: `[2,9,"0"]`, 3: `[3,9,"0"]`}, f.state(2))
}

// TestDetach compares what a detached buffer holds with what a flush of the same
// rows writes, while the writer goes on.
func TestDetach(t *testing.T) {
	for _, engine := range []merge.Engine{dedup(), adding()} {
		r := rand.New(rand.NewPCG(3, 3))
		s := &writerScript{t: t}
		s.newTable(nil)
		defer s.close()
		s.table.Engine = engine
		var lines []string
		for range 3000 {
			lines = append(lines, fmt.Sprintf("%s %d %d %d", []string{"+I", "+U"}[r.IntN(2)], r.IntN(900), r.IntN(10), r.IntN(10)))
		}
		twin := NewWriter(s.table, s.pool, s.w.(*Writer).create, 0)
		rows := s.rows(lines)
		require.NoError(t, s.w.Append(t.Context(), rows, nil))
		require.NoError(t, twin.Append(t.Context(), rows, nil))
		inc, err := twin.Prepare(t.Context())
		require.NoError(t, err)
		require.NoError(t, twin.Close())
		used := s.pool.Used()

		w := s.w.(*Writer)
		b, err := w.Detach(t.Context())
		require.NoError(t, err)
		require.NotNil(t, b)
		require.Equal(t, int64(3000), b.Rows)
		require.Equal(t, used, s.pool.Used())
		require.Equal(t, used, s.pool.Lent())
		none, err := w.Detach(t.Context())
		require.NoError(t, err)
		require.Nil(t, none, "nothing is left in the writer")
		require.NoError(t, w.Append(t.Context(), rows, nil))
		require.Equal(t, int64(6000), w.NextSequence())
		require.NoError(t, w.shrink(t.Context()))
		none, err = w.Detach(t.Context())
		require.NoError(t, err)
		require.Nil(t, none, "a part of the buffer is on disk")

		for range 2 { // it can be read again
			src, err := b.Open()
			require.NoError(t, err)
			kv := drainSource(t, src)
			require.Equal(t, inc.NewFiles[0].RowCount, int64(kv.N))
			require.Equal(t, rowdata.AppendOrderedKey(nil, kv.Cols[:1], 0), b.Min)
			require.Equal(t, rowdata.AppendOrderedKey(nil, kv.Cols[:1], kv.N-1), b.Max)
			out := ""
			for i := range kv.N {
				out += "  " + recordText(kv, i) + "\n"
			}
			require.Contains(t, s.show("", inc.NewFiles), out)
		}
		b.Release()
		b.Release()
		require.Zero(t, s.pool.Lent())
	}
}

// TestDetachSize compares the guessed size of a buffer with that of its file: picks
// hang on it.
func TestDetachSize(t *testing.T) {
	for _, format := range []string{datafile.FormatParquet, datafile.FormatAvro} {
		s := &writerScript{t: t}
		s.newTable(nil)
		defer s.close()
		s.table.Data.Options.Format = format
		for _, n := range []int{1, 2, 10, 500} {
			var lines []string
			for i := range n {
				lines = append(lines, fmt.Sprintf("+I %d %d text-%d", i, i*7919%1000, i*7907%1000))
			}
			w := NewWriter(s.table, s.pool, s.w.(*Writer).create, 0)
			require.NoError(t, w.Append(t.Context(), s.rows(lines), nil))
			b, err := w.Detach(t.Context())
			require.NoError(t, err)
			require.NoError(t, w.Append(t.Context(), s.rows(lines), nil))
			inc, err := w.Prepare(t.Context())
			require.NoError(t, err)
			require.InEpsilon(t, inc.NewFiles[0].FileSize, b.Bytes, 0.6, "%s, %d rows", format, n)
			if n == 1 {
				require.InEpsilon(t, inc.NewFiles[0].FileSize, b.Bytes, 0.02)
			}
			b.Release()
			require.NoError(t, w.Close())
		}
	}
}

// TestDetachBeside reads a detached buffer in another goroutine while its writer
// takes rows, flushes, and detaches again.
func TestDetachBeside(t *testing.T) {
	s := &writerScript{t: t}
	s.newTable(nil)
	defer s.close()
	w := s.w.(*Writer)
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("+I %d 1 %d", i%500, i))
	}
	rows := s.rows(lines)
	require.NoError(t, w.Append(t.Context(), rows, nil))
	first, err := w.Detach(t.Context())
	require.NoError(t, err)
	read := make(chan *rowdata.KeyValues)
	go func() {
		src, err := first.Open()
		if err != nil {
			read <- nil
			return
		}
		read <- drainSource(t, src)
	}()
	require.NoError(t, w.Append(t.Context(), rows, nil))
	second, err := w.Detach(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Append(t.Context(), rows, nil))
	_, err = w.Prepare(t.Context())
	require.NoError(t, err)
	got := <-read
	require.NotNil(t, got)
	require.Equal(t, 500, got.N)
	require.Equal(t, int64(1500), got.Seq[0])
	first.Release()
	src, err := second.Open()
	require.NoError(t, err)
	require.Equal(t, int64(3500), drainSource(t, src).Seq[0])
	second.Release()
}

// TestDetachOverLimit expects a pool whose memory is lent to take rows all the
// same.
func TestDetachOverLimit(t *testing.T) {
	s := &writerScript{t: t}
	s.newTable([]string{"buffer=2000", "nospill"})
	defer s.close()
	w := s.w.(*Writer)
	rows := s.rows([]string{"+I 1 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
	for s.pool.Used() < 1800 {
		require.NoError(t, w.Append(t.Context(), rows, nil))
	}
	b, err := w.Detach(t.Context())
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, w.Append(t.Context(), rows, nil))
	}
	b.Release()
	require.LessOrEqual(t, s.pool.Used(), int64(2000))
}

func drainSource(t *testing.T, src merge.Source) *rowdata.KeyValues {
	all, kv := rowdata.NewKeyValues(scriptType, 0), rowdata.NewKeyValues(scriptType, 0)
	for {
		n, err := src.Next(kv)
		if err != nil {
			return all
		}
		require.NotZero(t, n)
		all.AppendRange(kv, 0, kv.N)
	}
}

func TestLevelsBadKey(t *testing.T) {
	_, err := NewLevels(scriptType.Project([]int{0}), 3, []manifest.DataFile{{FileName: "f", MinKey: []byte{1, 2}}})
	require.ErrorContains(t, err, "least key of file f")
}

func TestLevelsLastFull(t *testing.T) {
	s := &treeScript{t: t}
	s.newBucket([]string{"levels=3"})
	l := s.tree.levels
	require.True(t, l.LastFull().IsZero())
	require.Equal(t, int32(-1), l.HighestNonEmpty())
	for _, f := range []string{"1 a 1 1..2 made=9000", "2 b 1 1..2 made=5000", "2 c 1 3..4 made=7000", "2 d 1 5..6"} {
		s.run([]string{"file"}, []string{f})
	}
	require.Equal(t, int64(7000), l.LastFull().UnixMilli())
	n := 0
	for range l.Files() {
		n++
	}
	require.Equal(t, 4, n)
}
