package crash

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/tablewriter"
)

// faults are the ways in which the n-th call of the store goes wrong.
var faults = []struct {
	name   string
	silent bool // no call returns an error, so the writer should not either
	rule   func(n int, rival func()) faultstore.Rule
}{
	{"fails before", false, func(n int, _ func()) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.FailBefore} }},
	{"fails after", false, func(n int, _ func()) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.FailAfter} }},
	{"torn", false, func(n int, _ func()) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.Torn} }},
	{"stale list", true, func(n int, _ func()) faultstore.Rule {
		return faultstore.Rule{Call: n, Mode: faultstore.StaleList, HideNewest: 2}
	}},
	{"list of the deleted", true, func(n int, _ func()) faultstore.Rule { return faultstore.Rule{Call: n, Mode: faultstore.DeletedList} }},
	{"all fail from there on", false, func(n int, _ func()) faultstore.Rule {
		return faultstore.Rule{Skip: n - 1, Mode: faultstore.FailBefore}
	}},
	{"all answers are lost from there on", false, func(n int, _ func()) faultstore.Rule {
		return faultstore.Rule{Skip: n - 1, Mode: faultstore.FailAfter}
	}},
	// So slow that somebody else commits meanwhile.
	{"slow", true, func(n int, rival func()) faultstore.Rule {
		return faultstore.Rule{Call: n, Mode: faultstore.Pass, Hook: func(faultstore.Call) { rival() }}
	}},
}

// TestCrashAtEveryStoreCall lets each call of the store go wrong, in each way, while
// a writer is opened and commits. Whatever becomes of that writer, one that goes on
// from the stored positions ends with every operation once. An ordinary run takes
// some of the calls, one with SLUICE_KILLS=200 all.
func TestCrashAtEveryStoreCall(t *testing.T) {
	t.Parallel()
	r := chance(t)
	step := max(1, 360/kills(t, 6))
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			calls, failed := 0, 0
			for n := 1 + r.IntN(step); ; n += step {
				fired, err := faultOnce(t, n, f.rule)
				if !fired {
					require.NoError(t, err, "nothing went wrong")
					break
				}
				calls++
				if err != nil {
					failed++
					if f.silent {
						t.Logf("call %d: %v", n, err)
					}
				}
			}
			require.Greater(t, calls, 100/step)
			t.Logf("%d calls, %d of them ended the writer", calls, failed)
		})
	}
}

// faultOnce lets the n-th call go wrong; fired is false if there are fewer.
func faultOnce(t *testing.T, n int, rule func(int, func()) faultstore.Rule) (fired bool, failure error) {
	t.Helper()
	dir := t.TempDir()
	table := createTable(t, dir)
	var acked [sources]int64
	require.NoError(t, writeSome(t.Context(), table.Store, dir, &acked, 2))
	faulty := faultstore.New(table.Store, rule(n, func() { rival(t, table) }))
	failure = writeSome(t.Context(), faulty, dir, &acked, 2)
	fired = len(faulty.Calls()) >= n
	what := "no call"
	if fired {
		what = faulty.Calls()[n-1].String()
	}
	requireWhole(t, table)
	before := acked
	require.NoError(t, writeSome(t.Context(), table.Store, dir, &acked, 1), "after %s went wrong", what)
	for s := range sources {
		require.Greater(t, acked[s], before[s], what)
	}
	requireWhole(t, table)
	requireOps(t, table, acked)
	if failure != nil {
		sweep(t, table)
		requireOps(t, table, acked)
	}
	return fired, failure
}

// writeSome opens the table and writes commits of operations of all sources, from
// their stored positions on. It notes what was acknowledged.
func writeSome(ctx context.Context, store objstore.Store, dir string, acked *[sources]int64, commits int) (err error) {
	noWait := func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	path, err := catalogOf(store, dir).TablePath(tableName)
	if err != nil {
		return err
	}
	table, err := paimon.OpenWith(ctx, store, path, "", paimon.OpenOptions{Wait: noWait})
	if err != nil {
		return err
	}
	w, err := tablewriter.Open(ctx, table, tablewriter.Options{
		User: user, CommitInterval: time.Hour, Shards: 1, CommitTimeout: 5 * time.Millisecond, RetryWaitMin: 1, RetryWaitMax: 1,
		Commit: commit.Options{Wait: noWait},
	})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := w.Close(ctx); err == nil {
			err = closeErr
		}
	}()
	point, err := w.Restore(ctx)
	if err != nil {
		return err
	}
	var at [sources]int64
	for s := range sources {
		if at[s], err = next(&point, s); err != nil {
			return err
		}
		if at[s] < acked[s] {
			panic(fmt.Sprintf("%d operations of source %d were acknowledged, %d are there", acked[s], s, at[s]))
		}
	}
	for range commits {
		var receipts [sources]*tablewriter.Receipt
		for s := range sources {
			rows, pos := batch(w.Type(), s, at[s], at[s]+25)
			if receipts[s], err = w.Write(ctx, rows, pos); err != nil {
				return err
			}
			at[s] += 25
		}
		if _, err := w.Commit(ctx); err != nil {
			return err
		}
		for s := range sources {
			if _, err := receipts[s].Wait(ctx); err != nil {
				return err
			}
			acked[s] = at[s]
		}
	}
	return nil
}

// rival commits something of its own: a position, as another user.
func rival(t *testing.T, table *paimon.Table) {
	w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: "rival"})
	if err != nil {
		t.Error(err)
		return
	}
	rows, _ := batch(w.Type(), 0, 0, 0)
	if _, err := w.Write(t.Context(), rows, tablewriter.Position{Source: "rival", Value: "1"}); err != nil {
		t.Error(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
