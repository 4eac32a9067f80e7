package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/interop/histories/invariant"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// Two compaction jobs at once beside a writer that only writes: whoever loses a
// bucket takes in what the other did. In the end the table is what was written,
// and the changelog folds to it at every snapshot, no change lost or doubled.
func TestCompactorsBesideAWriter(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) {
			ctx := t.Context()
			table := besideTable(t, producer)
			jobs := make([]*tablewriter.Job, 2)
			for i := range jobs {
				job, err := tablewriter.OpenJob(ctx, table, tablewriter.JobOptions{
					Full:   producer == "full-compaction",
					Writer: tablewriter.Options{User: fmt.Sprint("job", i), LookupDir: filepath.Join(t.TempDir(), "index"), StallWait: -1},
				})
				require.NoError(t, err)
				jobs[i] = job
			}
			written := make(chan struct{})
			errs := make([]error, len(jobs))
			var wg sync.WaitGroup
			for i, job := range jobs {
				wg.Go(func() {
					for over := false; errs[i] == nil && !over; {
						select {
						case <-written:
							over = true // once more, for what is left
						default:
						}
						_, err := job.Run(ctx)
						var lost *commit.ConflictError
						if errors.As(err, &lost) { // the other one was faster, again and again: it moves on, so do we
							over = false
							continue
						}
						errs[i] = err
					}
				})
			}
			want := besideWrite(t, table)
			close(written)
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
			_, err := jobs[0].Run(ctx) // the other may have been given the last bucket
			require.NoError(t, err)
			for _, job := range jobs {
				require.NoError(t, job.Close(ctx))
			}
			problems, err := invariant.Table(ctx, table)
			require.NoError(t, err)
			require.Empty(t, problems)
			levels := snapshotreader.ImageLevels(table.Schema().ChangelogProducer())
			require.Equal(t, want, besideRows(ctx, t, table, levels), "what the changelog has told")
			require.Equal(t, want, besideRows(ctx, t, table, snapshotreader.LevelsBatch))
		})
	}
}

func besideTable(t *testing.T, producer string) *paimon.Table {
	t.Helper()
	cat := paimon.NewCatalog(memstore.New(memstore.Options{}), "warehouse")
	require.NoError(t, cat.CreateDatabase(t.Context(), "db"))
	table, err := cat.CreateTable(t.Context(), "db.t", paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v INT"}, PK: []string{"k"}},
		Options: map[string]string{"bucket": "2", "write-only": "true", "changelog-producer": producer},
	})
	require.NoError(t, err)
	return table
}

// besideWrite makes commits of random changes and returns what must be there.
func besideWrite(t *testing.T, table *paimon.Table) map[int32]int32 {
	w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: "writer", CommitInterval: time.Hour})
	require.NoError(t, err)
	random, want := rand.New(rand.NewPCG(9, 9)), map[int32]int32{}
	for commit := range int32(40) {
		rows := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 0)}
		for range 1 + random.IntN(20) {
			k := int32(random.IntN(30))
			kind := rowdata.UpdateAfter
			if random.IntN(4) == 0 {
				kind = rowdata.Delete
				delete(want, k)
			} else {
				want[k] = commit
			}
			require.NoError(t, rowdata.AppendJSONRow(&rows.Batch, []any{jsonNumber(k), jsonNumber(commit)}))
			rows.Kinds = append(rows.Kinds, kind)
		}
		_, err := w.Write(t.Context(), rows, tablewriter.Position{})
		require.NoError(t, err)
		_, err = w.Commit(t.Context())
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
	return want
}

func besideRows(ctx context.Context, t *testing.T, table *paimon.Table, levels snapshotreader.Levels) map[int32]int32 {
	t.Helper()
	s, err := table.LatestSnapshot(ctx)
	require.NoError(t, err)
	scan, err := snapshotreader.Scan(ctx, table, s, snapshotreader.ScanSpec{Levels: levels})
	require.NoError(t, err)
	defer scan.Close()
	out := map[int32]int32{}
	for {
		b, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		for i := range b.Rows.N {
			out[b.Rows.Cols[0].I32[i]] = b.Rows.Cols[1].I32[i]
		}
	}
}
