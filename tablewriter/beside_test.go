package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/lookup"
	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/rowdata"
)

// TestFaultsOfLookup lets each call of the store fail while a writer makes pairs,
// alone or with all that follow. One that goes on from the committed position
// leaves a changelog without a wrong pair.
func TestFaultsOfLookup(t *testing.T) {
	for way, rule := range map[string]func(call int) faultstore.Rule{
		"fails before":           func(n int) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.FailBefore} },
		"fails after":            func(n int) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.FailAfter} },
		"all fail from there on": func(n int) faultstore.Rule { return faultstore.Rule{Skip: n - 1, Mode: faultstore.FailBefore} },
	} {
		t.Run(way, func(t *testing.T) {
			cache, err := lookup.OpenCache(lookup.Options{Dir: t.TempDir()})
			require.NoError(t, err)
			defer func() { require.NoError(t, cache.Close()) }()
			calls := 0
			for call := 1; ; call++ {
				inner := memory()
				table := newTable(t, inner, usual("bucket", "1", "changelog-producer", "lookup"))
				store := faultstore.New(inner, rule(call))
				err := upsertNumbers(t.Context(), openFaulty(store), cache, 2, call%2 == 0)
				if call > len(store.Calls()) && call%2 == 0 {
					require.NoError(t, err)
					break
				}
				calls++
				open := func(context.Context) (*paimon.Table, error) { return table, nil }
				require.NoError(t, upsertNumbers(t.Context(), open, cache, 1, call%3 == 0), "call %d", call)
				checkUpserts(t, table)
			}
			require.Greater(t, calls, 10)
		})
	}
}

// upsertNumbers writes commits of a fixed history from the committed position on:
// each replaces some rows and deletes one.
func upsertNumbers(ctx context.Context, open func(context.Context) (*paimon.Table, error), cache *lookup.Cache, commits int, straightOff bool) (err error) {
	table, err := open(ctx)
	if err != nil {
		return err
	}
	noWait := func(context.Context, time.Duration) error { return nil }
	w, err := Open(ctx, table, Options{
		User: "numbers", CommitInterval: time.Hour, CommitTimeout: 5 * time.Millisecond, RetryWaitMin: 1, RetryWaitMax: 1,
		Commit: commit.Options{Wait: noWait}, Lookup: cache, StraightOff: straightOff, Shards: 1,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	point, err := w.Restore(ctx)
	if err != nil {
		return err
	}
	next := 0
	if pos, ok := point.Position("numbers"); ok {
		if next, err = strconv.Atoi(pos.Value); err != nil {
			return err
		}
	}
	for range commits {
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 0)}
		upserts(next, func(kind rowdata.RowKind, k int, v string) {
			c.Cols[0].AppendI32(int32(k))
			c.Cols[1].AppendString(v)
			c.CloseRow()
			c.Kinds = append(c.Kinds, kind)
		})
		next++
		if _, err := w.Write(ctx, c, Position{Source: "numbers", Value: strconv.Itoa(next)}); err != nil {
			return err
		}
		if _, err := w.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// upserts is what commit i of the history does.
func upserts(i int, row func(kind rowdata.RowKind, k int, v string)) {
	for k := range 4 {
		row(rowdata.UpdateAfter, (i+k)%6, fmt.Sprint("value ", i))
	}
	row(rowdata.Delete, (i+1)%6, "?")
}

// checkUpserts: the table and its changelog are those of as many commits as its
// position says.
func checkUpserts(t *testing.T, table *paimon.Table) {
	t.Helper()
	w := openWriter(t, table, Options{User: "numbers", CommitInterval: time.Hour})
	point, err := w.Restore(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	pos, _ := point.Position("numbers")
	n, err := strconv.Atoi(pos.Value)
	require.NoError(t, err)
	want := map[int]string{}
	for i := range n {
		upserts(i, func(kind rowdata.RowKind, k int, v string) {
			if delete(want, k); !kind.IsRetract() {
				want[k] = v
			}
		})
	}
	h := newHistory(table, 0)
	h.keyCols = 1
	for k, v := range want {
		h.rows[fmt.Sprint("[", k)] = fmt.Sprintf("[%d,%q]", k, v)
	}
	h.complete(t)
}

// TestJobBesideWriters: two jobs and a writer that compacts by itself work on a
// table at once, and write-only writers of two users fill it. No commit is lost and
// no pair is wrong.
func TestJobBesideWriters(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) {
			store := memory()
			newTable(t, store, spec([]string{"p STRING", "k STRING", "s INT", "v STRING"}, []string{"p", "k"}, []string{"p"}, "bucket", "2", "changelog-producer", producer, "write-only", "true"))
			h := newHistory(openTable(t, store), 5)
			var jobs []*Job
			var watching sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 2 {
				j, err := OpenJob(t.Context(), openTable(t, store), JobOptions{Full: producer == "full-compaction", Poll: time.Millisecond, Writer: Options{LookupDir: t.TempDir()}})
				require.NoError(t, err)
				jobs = append(jobs, j)
				watching.Go(func() {
					if err := j.Watch(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			// Each writer has keys of its own, so that their order is known.
			writers := []*Writer{
				openWriter(t, openTable(t, store), Options{User: "even", CommitInterval: time.Hour}),
				openWriter(t, openTable(t, store), Options{User: "odd", CommitInterval: time.Hour}),
			}
			for range 20 {
				for i, w := range writers {
					_, err := w.Write(t.Context(), h.batch(t, w.Type(), func(key string) bool { return int(key[len(key)-1])%2 == i }), Position{})
					require.NoError(t, err)
					_, err = w.Commit(t.Context())
					require.NoError(t, err)
				}
			}
			for _, w := range writers {
				require.NoError(t, w.Close(t.Context()))
			}
			cancel()
			watching.Wait()
			require.NoError(t, jobs[0].Close(t.Context()))
			_, err := jobs[1].Run(t.Context())
			require.NoError(t, err)
			require.NoError(t, jobs[1].Close(t.Context()))
			h.complete(t)
		})
	}
}

// TestTwoWritersTwoPartitions: writers that compact by themselves, each a partition
// of its own, do not get in each other's way.
func TestTwoWritersTwoPartitions(t *testing.T) {
	store := memory()
	newTable(t, store, spec([]string{"p STRING", "k STRING", "s INT", "v STRING"}, []string{"p", "k"}, []string{"p"}, "bucket", "1", "changelog-producer", "lookup"))
	parts := []*history{newHistory(openTable(t, store), 1), newHistory(openTable(t, store), 2)}
	var writing sync.WaitGroup
	for i, h := range parts {
		w := openWriter(t, h.table, Options{User: fmt.Sprint("writer ", i), CommitInterval: time.Hour, LookupDir: t.TempDir()})
		writing.Go(func() {
			for range 15 {
				_, err := w.Write(t.Context(), h.batch(t, w.Type(), func(key string) bool { return key[:2] == fmt.Sprint("p", i) }), Position{})
				if err == nil {
					_, err = w.Commit(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			if m := w.Metrics(); m.Conflicts > 0 {
				t.Errorf("%d conflicts", m.Conflicts)
			}
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	for k, v := range parts[1].rows {
		parts[0].rows[k] = v
	}
	parts[0].complete(t)
}

// TestStall: with compaction stopped, a bucket that has as many sorted runs as it
// may makes the writer wait; Write says so, and goes on when compaction does.
func TestStall(t *testing.T) {
	table := newTable(t, memory(), usual("bucket", "1", "num-sorted-run.compaction-trigger", "2", "num-sorted-run.stop-trigger", "2"))
	limit := NewCompactions(CompactionLimits{Running: 1})
	require.NoError(t, limit.enter(t.Context(), 0)) // nobody else compacts
	stalls := make(chan Stall, 100)
	w := openWriter(t, table, Options{
		CommitInterval: time.Millisecond, QueueBytesMax: 1, Compactions: limit, StallWait: 10 * time.Millisecond, Shards: 1,
		OnStall: func(s Stall) { stalls <- s },
	})
	var stalled *StalledError
	for err := error(nil); !errors.As(err, &stalled); {
		require.NoError(t, err)
		_, err = w.Write(t.Context(), changes(t, w.Type(), "", []any{1, "a"}), Position{})
	}
	require.Equal(t, "bucket-0", stalled.Bucket)
	require.Greater(t, stalled.Runs, 2)
	require.Positive(t, stalled.RetryAfter)
	s := <-stalls
	require.False(t, s.Over)
	require.Equal(t, int64(1), w.Metrics().Stalls)
	limit.leave(0)
	require.True(t, (<-stalls).Over)
	_, err := w.Commit(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, []string{`[1,"a"]`}, latestRows(t, table))
}

// A compaction beside writing that only moves a committed file, and fails when its
// changelog is made durable, leaves the file where the table has it.
func TestFailedCompactionKeepsWhatItMoved(t *testing.T) {
	inner := memory()
	newTable(t, inner, usual("bucket", "1", "changelog-producer", "lookup", "lookup-wait", "false"))
	store := faultstore.New(inner, faultstore.Rule{Ops: []faultstore.Op{faultstore.Finish}, Name: "changelog-*", Mode: faultstore.FailBefore})
	table, err := openFaulty(store)(t.Context())
	require.NoError(t, err)
	w, err := Open(t.Context(), table, Options{CommitInterval: time.Hour, LookupDir: t.TempDir()})
	require.NoError(t, err)
	write(t, w, "", []any{1, "a"})
	_, err = w.Commit(t.Context())
	require.NoError(t, err)
	_, err = w.CommitWith(t.Context(), CompactWait)
	require.ErrorIs(t, err, faultstore.ErrInjected)
	require.ErrorIs(t, w.Close(t.Context()), faultstore.ErrInjected)
	require.NotZero(t, store.Fired())
	require.Len(t, latestRows(t, openTable(t, inner)), 1)
}
