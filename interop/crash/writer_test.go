package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/interop/subscriber"
	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// user is the commit user of all writers.
const user = "crash"

// What a writer is told by its environment.
const (
	dirEnv  = "SLUICE_CRASH_DIR"  // folder of the warehouse
	callEnv = "SLUICE_CRASH_CALL" // number of the call of the store at which it kills itself; 0: never
)

// writeForEver is the writer process: it goes on where the table says that each
// source is, writes, and says on standard output what was acknowledged.
func writeForEver(ctx context.Context) error {
	call, err := strconv.Atoi(os.Getenv(callEnv))
	if err != nil {
		return err
	}
	store := objstore.Store(local.New("/", local.Options{NoSync: true}))
	if call > 0 {
		store = faultstore.New(store, faultstore.Rule{Call: call, Mode: faultstore.Pass, Hook: func(faultstore.Call) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it is dead before it sees this
		}})
	}
	table, err := catalogOf(store, os.Getenv(dirEnv)).OpenTable(ctx, tableName)
	if err != nil {
		return err
	}
	w, err := tablewriter.Open(ctx, table, tablewriter.Options{User: user, CommitInterval: 3 * time.Millisecond, CommitRows: 60})
	if err != nil {
		return err
	}
	point, err := w.Restore(ctx)
	if err != nil {
		return err
	}
	fmt.Println("writing")
	failed := make(chan error, sources)
	for s := range sources {
		from, err := next(&point, s)
		if err != nil {
			return err
		}
		go func() { failed <- writeSource(ctx, w, s, from) }()
	}
	return errors.Join(<-failed, w.Close(ctx))
}

// writeSource writes the operations of a source, several batches at a time.
func writeSource(ctx context.Context, w *tablewriter.Writer, source int, n int64) error {
	for {
		var receipts []*tablewriter.Receipt
		for range 1 + rand.IntN(5) {
			to := n + 1 + rand.Int64N(8)
			rows, pos := batch(w.Type(), source, n, to)
			r, err := w.Write(ctx, rows, pos)
			if err != nil {
				return err
			}
			receipts, n = append(receipts, r), to
		}
		for _, r := range receipts {
			if _, err := r.Wait(ctx); err != nil {
				return err
			}
		}
		fmt.Printf("acked %d %d\n", source, n)
	}
}

// ackedOf takes note of what a writer said was acknowledged.
func ackedOf(t *testing.T, acked *[sources]int64, lines []string) {
	t.Helper()
	for _, line := range lines {
		var s int
		var n int64
		if _, err := fmt.Sscanf(line, "acked %d %d", &s, &n); err == nil {
			require.Greater(t, n, acked[s], "a writer goes on where the last one was")
			acked[s] = n
		}
	}
}

// TestCrashWriter kills a writer at random moments, by the clock and before random
// calls of its store. The next one goes on at the positions it finds. A reader in
// another process, this one, follows the table all the time.
func TestCrashWriter(t *testing.T) {
	t.Parallel()
	r := chance(t)
	dir := t.TempDir()
	table := createTable(t, dir)
	read := follow(t, table)
	var acked [sources]int64
	for range kills(t, 6) {
		call := 0
		if r.IntN(2) == 0 {
			call = 1 + r.IntN(400)
		}
		p := startChild(t, "writer", dirEnv+"="+dir, callEnv+"="+strconv.Itoa(call))
		if call > 0 {
			ackedOf(t, &acked, p.died())
			continue
		}
		if r.IntN(8) > 0 { // else it is killed while it starts
			p.line("writing")
		}
		pause(r, 120*time.Millisecond)
		ackedOf(t, &acked, p.kill())
	}
	p := startChild(t, "writer", dirEnv+"="+dir, callEnv+"=0")
	for range 20 {
		ackedOf(t, &acked, []string{p.line("acked")})
	}
	ackedOf(t, &acked, p.kill())

	requireWhole(t, table)
	requireHint(t, table)
	changes := requireOps(t, table, acked)
	require.Equal(t, changes, read(changes[len(changes)-1].Snapshot), "what the reader saw")
	left := sweep(t, table)
	require.Equal(t, changes, requireOps(t, table, acked), "after the dead writers' files were removed")
	t.Logf("acknowledged %v operations in %d snapshots; %d files of dead writers removed", acked, changes[len(changes)-1].Snapshot, left)
}

// follow reads a table's changes as they come. The returned function waits until
// those of a snapshot have come, and returns all.
func follow(t *testing.T, table *paimon.Table) func(snapshot int64) []subscriber.Change {
	t.Helper()
	tl, err := snapshotreader.Open(t.Context(), table, snapshotreader.Start{}, snapshotreader.Options{})
	require.NoError(t, err)
	var mu sync.Mutex
	var all []subscriber.Change
	var whole int64 // snapshot that was read to its end
	moved := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for {
			b, err := tl.Next(ctx)
			if err != nil {
				ended <- err
				return
			}
			mu.Lock()
			all = appendChanges(all, table, b)
			if b.Last {
				whole = b.Snapshot.ID
			}
			mu.Unlock()
			select {
			case moved <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		err := <-ended
		require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, io.EOF), err)
		require.NoError(t, tl.Close())
	})
	return func(snapshot int64) []subscriber.Change {
		late := time.After(patience)
		for {
			mu.Lock()
			out, done := all, whole >= snapshot
			mu.Unlock()
			if done {
				return out
			}
			select {
			case <-moved:
			case <-late:
				require.Fail(t, "the reader does not come on")
			}
		}
	}
}
