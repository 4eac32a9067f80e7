package tablewriter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/lsm"
	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
)

// TestCompactionMemory: what does not fit waits for those before it, in turn, and
// what fits nowhere runs alone.
func TestCompactionMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCompactions(CompactionLimits{Running: 3, MemoryBytes: 100})
		require.NoError(t, c.enter(t.Context(), 1000)) // alone, as large as it is
		entered := make(chan int64, 2)
		for _, bytes := range []int64{60, 50} {
			go func() {
				if err := c.enter(t.Context(), bytes); err != nil {
					t.Error(err)
				}
				entered <- bytes
			}()
			synctest.Wait()
		}
		require.Empty(t, entered)
		require.Equal(t, CompactionUse{Running: 3, MemoryBytes: 1000}, c.Use())
		time.Sleep(time.Second) // of the bubble's clock
		c.leave(1000)
		synctest.Wait()
		require.Equal(t, int64(60), <-entered)
		require.Empty(t, entered)
		time.Sleep(time.Second)
		c.leave(60)
		require.Equal(t, int64(50), <-entered)
		require.Equal(t, CompactionUse{Running: 1, MemoryBytes: 50, MemoryWait: 3 * time.Second}, c.Use())
		c.leave(50)
		require.Equal(t, CompactionUse{MemoryWait: 3 * time.Second}, c.Use())
	})
}

// TestCompactionGivesUpWaiting: a compaction that is cancelled while it waits
// leaves nothing taken.
func TestCompactionGivesUpWaiting(t *testing.T) {
	cause := errors.New("enough")
	for name, first := range map[string]int64{"memory": 100, "slot": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewCompactions(CompactionLimits{Running: map[string]int{"memory": 2, "slot": 1}[name], MemoryBytes: 100})
				require.NoError(t, c.enter(t.Context(), first))
				ctx, cancel := context.WithCancelCause(t.Context())
				failed := make(chan error, 1)
				go func() { failed <- c.enter(ctx, 1) }()
				synctest.Wait()
				time.Sleep(time.Minute)
				cancel(cause)
				require.ErrorIs(t, <-failed, cause)
				u := c.Use()
				require.Equal(t, time.Minute, u.SlotWait+u.MemoryWait)
				require.Equal(t, name == "slot", u.SlotWait > 0)
				c.leave(first)
				require.Zero(t, c.Use().Running)
				require.Zero(t, c.Use().MemoryBytes)
			})
		})
	}
}

// TestCompactionRate: what is written at a bounded rate takes as long as it must,
// however many write and however large their writes are.
func TestCompactionRate(t *testing.T) {
	for _, tc := range []struct {
		name    string
		writers int
		sizes   []int // of the writes of each
		want    time.Duration
	}{
		{"the burst", 1, []int{100_000}, 0},
		{"one large write", 1, []int{2_100_000}, 2 * time.Second},
		{"many small ones", 1, []int{50_000, 60_000, 90_000, 900_000}, time.Second},
		{"several files", 4, []int{500_000, 25_000}, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewCompactions(CompactionLimits{WriteBytesPerSecond: 1_000_000})
				begin, done := time.Now(), make(chan int64)
				for range tc.writers {
					var file countedSink
					sink, err := c.limited(func(context.Context, string) (datafile.Sink, error) { return &file, nil })(t.Context(), "f")
					require.NoError(t, err)
					go func() {
						for _, n := range tc.sizes {
							if m, err := sink.Write(make([]byte, n)); err != nil || m != n {
								t.Errorf("%d of %d bytes: %v", m, n, err)
							}
						}
						done <- file.bytes
					}()
				}
				total := int64(0)
				for range tc.writers {
					total += <-done
				}
				require.InDelta(t, tc.want.Seconds(), time.Since(begin).Seconds(), 1e-6)
				u := c.Use()
				require.Equal(t, total, u.WrittenBytes)
				require.GreaterOrEqual(t, u.RateWait, time.Since(begin))
				if tc.writers == 1 {
					require.Equal(t, time.Since(begin), u.RateWait)
				}
			})
		})
	}
}

// TestCompactionRateGivesBack: bytes that are given up while they wait are not
// owed by those who come after.
func TestCompactionRateGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRate(1000)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- r.take(ctx, 1_000_000) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		begin := time.Now()
		require.NoError(t, r.take(t.Context(), 1100))
		require.InDelta(t, 1, time.Since(begin).Seconds(), 1e-6)
	})
}

type countedSink struct {
	datafile.Sink
	bytes int64
}

func (s *countedSink) Write(b []byte) (int, error) {
	s.bytes += int64(len(b))
	return len(b), nil
}

func TestCompactionLimitsValidate(t *testing.T) {
	require.NoError(t, CompactionLimits{}.Validate())
	for _, l := range []CompactionLimits{{Running: -1}, {MemoryBytes: -1}, {WriteBytesPerSecond: -1}} {
		require.ErrorContains(t, l.Validate(), "is negative")
		require.ErrorContains(t, Options{CompactionLimits: l}.Validate(), "is negative")
	}
}

// TestCompactionBytes: a plan reserves what its widest step holds at once.
func TestCompactionBytes(t *testing.T) {
	file := func(rows, bytes int64) *lsm.File {
		return &lsm.File{DataFile: manifest.DataFile{RowCount: rows, FileSize: bytes}}
	}
	run := func(files ...*lsm.File) lsm.SortedRun { return lsm.SortedRun{Files: files} }
	const mib = 1 << 20
	small, large := file(10, 100), file(4096*1000, 1000*mib) // 400 and 8 MiB of 2 columns at a time
	largeRun := int64(4*mib + 2*mib)
	for _, tc := range []struct {
		name   string
		runs   int
		silent bool
		steps  []lsm.Step
		want   int64
	}{
		{"moved as it stands", 0, true, []lsm.Step{{File: large}}, 0},
		{"moved and reported", 0, true, []lsm.Step{{File: small, Report: true}}, 800 + 500},
		{"two runs", 0, true, []lsm.Step{{Sections: []lsm.Section{{run(small), run(small)}}}}, 1600 + 1000},
		{"with changelog", 0, false, []lsm.Step{{Sections: []lsm.Section{{run(small), run(small)}}}}, 1600 + 2000},
		{"a run has one file open", 0, true, []lsm.Step{{Sections: []lsm.Section{{run(small, small, large)}}}}, largeRun + 8*mib + 128*mib},
		{"sections follow one another", 0, true, []lsm.Step{{Sections: []lsm.Section{{run(small)}, {run(large), run(small)}}}}, largeRun + 800 + 8*mib + 128*mib},
		{"the widest step", 0, true, []lsm.Step{{Sections: []lsm.Section{{run(small)}}}, {Sections: []lsm.Section{{run(large)}}}}, largeRun + 8*mib + 128*mib},
		{"passes", 2, true, []lsm.Step{{Sections: []lsm.Section{{run(small), run(small), run(small)}}}}, 1600 + 1500},
		{"a buffer counts as output alone", 0, true, []lsm.Step{{Sections: []lsm.Section{{{Buffer: &lsm.Buffer{Bytes: 100}}}}}}, 500},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := &shape{cols: []int{0, 1}, silent: tc.silent, mergeRuns: tc.runs}
			require.Equal(t, tc.want, h.compactionBytes(&lsm.Compaction{Plan: merge.Plan{}, Steps: tc.steps}))
		})
	}
}

// TestCompactionsKeepLimits: a writer whose compactions have hardly any memory
// still compacts, one at a time, and says what it used.
func TestCompactionsKeepLimits(t *testing.T) {
	table := newTable(t, memory(), usual("bucket", "2", "changelog-producer", "lookup"))
	w := openWriter(t, table, Options{
		CommitInterval: time.Hour, LookupDir: t.TempDir(), StraightOff: true,
		CompactionLimits: CompactionLimits{MemoryBytes: 1, WriteBytesPerSecond: 1 << 40},
	})
	for k := range 8 {
		write(t, w, "", []any{k % 4, "a"}, []any{k, "b"})
		_, err := w.Commit(t.Context())
		require.NoError(t, err)
	}
	m := w.Metrics()
	require.Positive(t, m.Compactions)
	require.Equal(t, m.CompactedBytesOut, m.CompactionUse.WrittenBytes)
	require.Zero(t, m.CompactionUse.Running)
	require.Zero(t, m.CompactionUse.MemoryBytes)
	require.NoError(t, w.Close(t.Context()))
	require.Len(t, latestRows(t, table), 8)
}
