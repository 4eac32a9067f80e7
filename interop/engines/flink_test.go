//go:build engines

package engines

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// script makes a valid changelog of 20 keys in groups, a checkpoint each.
func script(seed uint64, groups, size int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	table := map[int]string{}
	row := func(k int) string {
		return fmt.Sprintf(`{"k":%d,"v":"v%d","n":%d,"d":"%d.25","at":"2026-11-30 12:%02d:00.%03d"}`, k, r.IntN(1000), r.Int64N(1<<40), r.IntN(900), r.IntN(60), r.IntN(1000))
	}
	var b strings.Builder
	for range groups {
		for range size {
			k := r.IntN(20)
			old, exists := table[k]
			switch {
			case !exists:
				table[k] = row(k)
				fmt.Fprintf(&b, "+I %s\n", table[k])
			case r.IntN(4) == 0:
				delete(table, k)
				fmt.Fprintf(&b, "-D %s\n", old)
			default:
				table[k] = row(k)
				fmt.Fprintf(&b, "-U %s\n+U %s\n", old, table[k])
			}
		}
		b.WriteString("---\n")
	}
	return b.String()
}

const columns = "k INT, v STRING, n BIGINT, d DECIMAL(10, 2), `at` TIMESTAMP(3)"

// A Flink job streams into a table with each producer while we tail it; both
// streams are equal, and so are the rows.
func TestWeTailWhatFlinkWrites(t *testing.T) {
	for _, producer := range []string{"none", "input", "lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) {
			dir := t.TempDir()
			warehouse := filepath.Join(dir, "wh")
			input := filepath.Join(dir, "input.changes")
			require.NoError(t, os.WriteFile(input, []byte(script(7, 8, 12)), 0o644))
			create := "CREATE TABLE t (" + columns + ", PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = '" + producer + "'"
			if producer == "full-compaction" {
				create += ", 'full-compaction.delta-commits' = '2'"
			}
			engine(t, "flink-sql/flink-sql", "--warehouse", warehouse, "-e", create+");")
			p, err := catalog(warehouse).OpenTable(t.Context(), "default.t")
			require.NoError(t, err)

			stop := make(chan struct{})
			type result struct {
				all []string
				err error
			}
			done := make(chan result, 1)
			go func() {
				all, err := tail(t.Context(), p, stop)
				done <- result{all, err}
			}()
			engine(t, "flink-sql/flink-sql", "--warehouse", warehouse, "--mode", "streaming", "--timeout", "60s", "-e",
				"CREATE TEMPORARY TABLE src ("+columns+", PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'script', 'path' = '"+input+"', 'changelog-mode' = 'all'); INSERT INTO t SELECT * FROM src;")
			close(stop)
			ours := <-done
			require.NoError(t, ours.err)

			theirs := changes(t, engine(t, "flink-sql/flink-sql", "--warehouse", warehouse, "--mode", "streaming", "--idle", "8s", "--timeout", "60s", "-e",
				"SELECT * FROM t /*+ OPTIONS('scan.mode' = 'from-snapshot', 'scan.snapshot-id' = '1', 'scan.remove-normalize' = 'true', 'continuous.discovery-interval' = '200ms') */;"))
			require.NotEmpty(t, theirs)
			require.Equal(t, theirs, ours.all)

			want := plain(changes(t, engine(t, "flink-sql/flink-sql", "--warehouse", warehouse, "-e", "SELECT * FROM t;")))
			got, err := rows(t.Context(), p)
			require.NoError(t, err)
			slices.Sort(got)
			require.Equal(t, want, got)
		})
	}
}

// plain drops the kinds and sorts.
func plain(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		_, out[i], _ = strings.Cut(s, " ")
	}
	slices.Sort(out)
	return out
}

// Flink reads a table while we write it, in batch and as a stream, and goes on
// with it.
func TestFlinkReadsWhatWeWrite(t *testing.T) {
	for _, producer := range []string{"none", "input"} {
		t.Run(producer, func(t *testing.T) {
			warehouse := filepath.Join(t.TempDir(), "wh")
			p, stopWriting := writer(t, warehouse, producer)
			var theirs []string
			if producer == "input" {
				theirs = changes(t, engine(t, "flink-sql/flink-sql", "--warehouse", warehouse, "--mode", "streaming", "--timeout", "25s", "-e",
					"SELECT * FROM t /*+ OPTIONS('scan.mode' = 'from-snapshot', 'scan.snapshot-id' = '1', 'continuous.discovery-interval' = '200ms') */;"))
				require.NotEmpty(t, theirs)
			}
			stopWriting()
			if producer == "input" {
				stop := make(chan struct{})
				close(stop)
				ours, err := tail(t.Context(), p, stop)
				require.NoError(t, err)
				require.LessOrEqual(t, len(theirs), len(ours))
				require.Equal(t, ours[:len(theirs)], theirs, "Flink saw a prefix of the stream")
			}
			agree(t, warehouse, p)
			engine(t, "flink-sql/flink-sql", "--warehouse", warehouse, "-e", "INSERT INTO t VALUES (1, 'flink', 1, 1.00, TIMESTAMP '2026-01-01 00:00:00'); CALL sys.compact('default.t');")
			agree(t, warehouse, p)
		})
	}
}

// agree compares the rows that Flink and we read.
func agree(t *testing.T, warehouse string, p *paimon.Table) {
	t.Helper()
	want := plain(changes(t, engine(t, "flink-sql/flink-sql", "--warehouse", warehouse, "-e", "SELECT * FROM t;")))
	got, err := rows(t.Context(), p)
	require.NoError(t, err)
	slices.Sort(got)
	require.NotEmpty(t, got)
	require.Equal(t, want, got)
}

// writer creates default.t and commits random changes ten times a second until
// the returned function is called.
func writer(t *testing.T, warehouse, producer string) (*paimon.Table, func()) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, os.MkdirAll(warehouse, 0o755))
	cat := catalog(warehouse)
	require.NoError(t, cat.CreateDatabase(ctx, "default"))
	p, err := cat.CreateTable(ctx, "default.t", paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v STRING", "n BIGINT", "d DECIMAL(10, 2)", "at TIMESTAMP(3)"}, PK: []string{"k"}},
		Options: map[string]string{"bucket": "1", "changelog-producer": producer},
	})
	require.NoError(t, err)
	w, err := tablewriter.Open(ctx, p, tablewriter.Options{User: "engines"})
	require.NoError(t, err)
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	first := make(chan struct{})
	go func() { done <- write(running, w, first) }()
	<-first
	return p, func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, w.Close(ctx))
	}
}

// write commits a group of changes every 100 ms until ctx ends. first is closed
// after the first commit.
func write(ctx context.Context, w *tablewriter.Writer, first chan<- struct{}) error {
	r := rand.New(rand.NewPCG(3, 3))
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 20)}
		for range 20 {
			c.Cols[0].AppendI32(int32(r.IntN(300)))
			c.Cols[1].AppendString(fmt.Sprintf("v%d", r.IntN(1000)))
			c.Cols[2].AppendI64(r.Int64N(1 << 40))
			c.Cols[3].AppendI64(r.Int64N(90_000))
			c.Cols[4].AppendI64(1_796_000_000_000 + r.Int64N(1_000_000))
			c.CloseRow()
			kind := rowdata.Insert
			if r.IntN(5) == 0 {
				kind = rowdata.Delete
			}
			c.Kinds = append(c.Kinds, kind)
		}
		if _, err := w.Write(ctx, c, tablewriter.Position{}); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		if _, err := w.Commit(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		if n == 0 {
			close(first)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
