package tablewriter

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// What a child process is told by its environment.
const (
	crashDir  = "SLUICE_CRASH_DIR"  // folder of the store; the process is a child if it is set
	crashCall = "SLUICE_CRASH_CALL" // number of the call of the store at which it kills itself
)

var crashKills = flag.Int("crash-kills", 12, "how often TestCrash kills the writer")

// TestCrash kills a process that writes numbered rows again and again with
// SIGKILL: before a call of the store that is chosen at random, or when it has
// acknowledged a number of rows. Each time the next process goes on from the
// position that it finds. At the end every row is there once: those that were
// acknowledged, and none twice.
func TestCrash(t *testing.T) {
	for name, s := range map[string]paimon.SchemaSpec{
		"append": spec([]string{"n BIGINT", "v STRING"}, nil, nil),
		"keyed":  spec([]string{"n BIGINT", "v STRING"}, []string{"n"}, nil, "bucket", "2", "changelog-producer", "input"),
		"lookup": spec([]string{"n BIGINT", "v STRING"}, []string{"n"}, nil, "bucket", "2", "changelog-producer", "lookup"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := local.New(dir, local.Options{NoSync: true})
			table := newTable(t, store, s)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 1))
			acked := int64(-1)
			for range *crashKills {
				call, lines := 0, 1+r.IntN(20)
				if r.IntN(3) > 0 {
					call, lines = 1+r.IntN(150), 1<<30
				}
				acked = max(acked, runCrashChild(t, dir, call, lines))
			}
			acked = max(acked, runCrashChild(t, dir, 0, 5))
			if table.Schema().ChangelogProducer() == paimon.ProducerLookup { // the last commit may owe its changelog
				_, err := Compact(t.Context(), table, CompactOptions{LookupDir: filepath.Join(dir, "lookup")})
				require.NoError(t, err)
			}
			checkNumbers(t, table, acked)
		})
	}
}

// runCrashChild runs a child until it dies of its own hand at a call of the
// store, or of ours after some lines, and returns the greatest number that it
// acknowledged.
func runCrashChild(t *testing.T, dir string, call, lines int) int64 {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashCall+"="+strconv.Itoa(call))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	acked := int64(-1)
	in := bufio.NewScanner(out)
	for in.Scan() {
		n, err := strconv.ParseInt(strings.TrimPrefix(in.Text(), "acked "), 10, 64)
		require.NoError(t, err, in.Text())
		acked = n
		if lines--; lines == 0 {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, stderr.String())
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "child failed: %s", stderr.String())
	return acked
}

// checkNumbers: the rows are 0..n once each, where n is at least what was
// acknowledged; no snapshot names a missing file.
func checkNumbers(t *testing.T, table *paimon.Table, acked int64) {
	t.Helper()
	latest, err := table.LatestSnapshot(t.Context())
	require.NoError(t, err)
	rows, err := readTable(t.Context(), table, latest)
	require.NoError(t, err)
	requireNumbers(t, rows, acked)
	if !table.Schema().HasPrimaryKey() {
		return
	}
	var log []string
	for id := int64(1); id <= latest.ID; id++ {
		for _, change := range changelog(t, table, id) {
			log = append(log, strings.TrimPrefix(change, "+I "))
		}
	}
	requireNumbers(t, log, acked)
}

func requireNumbers(t *testing.T, rows []string, acked int64) {
	t.Helper()
	numbers := make([]int64, len(rows))
	for i, row := range rows {
		_, err := fmt.Sscanf(row, "[%d,", &numbers[i])
		require.NoError(t, err)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		require.Equal(t, int64(i), n, "a row is missing or there twice")
	}
	require.Greater(t, int64(len(numbers)), acked, "an acknowledged row is missing")
}

// crashChild writes numbered rows from where its user's position is, and says
// which are acknowledged, until it is killed.
func crashChild(dir string) int {
	err := crashWrite(context.Background(), dir, os.Stdout)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func crashWrite(ctx context.Context, dir string, out io.Writer) error {
	call, err := strconv.Atoi(os.Getenv(crashCall))
	if err != nil {
		return err
	}
	store := objstore.Store(local.New(filepath.Clean(dir), local.Options{NoSync: true}))
	if call > 0 {
		store = faultstore.New(store, faultstore.Rule{Call: call, Mode: faultstore.Pass, Hook: func(faultstore.Call) {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				panic(err)
			}
			select {}
		}})
	}
	table, err := paimon.NewCatalog(store, "wh").OpenTable(ctx, "db.t")
	if err != nil {
		return err
	}
	w, err := Open(ctx, table, Options{
		User: "crash", CommitRows: 20, CommitInterval: 2 * time.Millisecond, LookupDir: filepath.Join(dir, "lookup"), StraightOff: os.Getpid()%2 == 0,
	})
	if err != nil {
		return err
	}
	point, err := w.Restore(ctx)
	if err != nil {
		return err
	}
	next := int64(0)
	if pos, ok := point.Position("numbers"); ok {
		if next, err = strconv.ParseInt(pos.Value, 10, 64); err != nil {
			return err
		}
	}
	r := rand.New(rand.NewPCG(uint64(next), uint64(os.Getpid())))
	for {
		var receipts []*Receipt
		for range 1 + r.IntN(10) {
			c := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 0)}
			for range r.IntN(8) {
				c.Cols[0].AppendI64(next)
				c.Cols[1].AppendString("some text")
				c.CloseRow()
				next++
			}
			receipt, err := w.Write(ctx, c, Position{Source: "numbers", Value: strconv.FormatInt(next, 10)})
			if err != nil {
				return err
			}
			receipts = append(receipts, receipt)
		}
		for _, receipt := range receipts {
			if _, err := receipt.Wait(ctx); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(out, "acked %d\n", next-1); err != nil {
			return errors.Join(err, w.Close(ctx))
		}
	}
}
