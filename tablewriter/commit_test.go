package tablewriter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/commit"
)

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
