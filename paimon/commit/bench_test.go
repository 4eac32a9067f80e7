package commit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// BenchmarkCommit measures a steady committer on a local disk with every file
// synced. Each commit takes turns with the naked I/O that it is measured against:
// seven small files, each written and synced, at once. p50-ms and p99-ms are of
// single commits, naked-p50-ms is of the naked I/O, ratio is of the medians.
func BenchmarkCommit(b *testing.B) {
	for _, snapshots := range []int{10, 1000, 5000} {
		for _, compact := range []bool{false, true} {
			b.Run(fmt.Sprintf("snapshots=%d/compact=%t", snapshots, compact), func(b *testing.B) {
				benchmarkCommit(b, snapshots, compact, local.Options{})
			})
		}
	}
	b.Run("no sync/snapshots=1000/compact=false", func(b *testing.B) { benchmarkCommit(b, 1000, false, local.Options{NoSync: true}) })
}

// nakedWrites writes seven small files at once and syncs each.
func nakedWrites(b *testing.B, dir string, round int) {
	content := make([]byte, 1500)
	var wg sync.WaitGroup
	for i := range 7 {
		wg.Go(func() {
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d-%d", round, i)))
			if err == nil {
				_, err = f.Write(content)
			}
			if err == nil {
				err = f.Sync()
			}
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

func benchmarkCommit(b *testing.B, snapshots int, compact bool, o local.Options) {
	root := b.TempDir()
	catalog := paimon.NewCatalog(local.New(root, local.Options{NoSync: true}), "wh")
	require.NoError(b, catalog.CreateDatabase(b.Context(), "db"))
	_, err := catalog.CreateTable(b.Context(), "db.t", spec(nil))
	require.NoError(b, err)
	request := func(n int) Request {
		req := Request{User: "bench", Identifier: int64(n), NewUser: true}
		file := namedFile(fmt.Sprintf("data-6c16134e-d609-4488-b916-f388c2cb2576-%d.parquet", n), 100)
		m := Message{NewFiles: []manifest.DataFile{file}}
		if compact {
			m.CompactBefore = []manifest.DataFile{file}
			m.CompactAfter = []manifest.DataFile{withKeys(withLevel(file, 5), int32(2*n), int32(2*n+1))}
		}
		req.Messages = []Message{m}
		return req
	}
	fill, err := paimon.Open(b.Context(), local.New(root, local.Options{NoSync: true}), "wh/db.db/t", "")
	require.NoError(b, err)
	c := New(fill, Options{})
	n := 0
	for n < snapshots {
		n++
		_, err := c.Commit(b.Context(), Request{User: "bench", Identifier: int64(n), NewUser: true, Messages: []Message{{NewFiles: []manifest.DataFile{withKeys(namedFile(fmt.Sprintf("data-%d", n), 1), 1, 2)}}}})
		require.NoError(b, err)
	}
	table, err := paimon.Open(b.Context(), local.New(root, o), "wh/db.db/t", "")
	require.NoError(b, err)
	c = New(table, Options{})
	naked := b.TempDir()
	var commits, nakeds []time.Duration
	for round := 0; b.Loop(); round++ {
		start := time.Now()
		nakedWrites(b, naked, round)
		between := time.Now()
		n++
		if _, err := c.Commit(b.Context(), request(n)); err != nil {
			b.Fatal(err)
		}
		if round > 0 { // the first one reads what the others know
			nakeds, commits = append(nakeds, between.Sub(start)), append(commits, time.Since(between))
		}
	}
	if len(commits) == 0 {
		return
	}
	ms := func(times []time.Duration, q float64) float64 {
		slices.Sort(times)
		return times[int(q*float64(len(times)-1))].Seconds() * 1e3
	}
	b.ReportMetric(ms(commits, 0.5), "p50-ms")
	b.ReportMetric(ms(commits, 0.99), "p99-ms")
	b.ReportMetric(ms(nakeds, 0.5), "naked-p50-ms")
	b.ReportMetric(ms(commits, 0.5)/ms(nakeds, 0.5), "ratio")
}
