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
// synced. ns/op is the mean; p50-ms and p99-ms are of single commits. "naked" is
// the same I/O by hand: seven small files, each written and synced at once with
// the others, without a folder sync.
func BenchmarkCommit(b *testing.B) {
	b.Run("naked", func(b *testing.B) {
		dir := b.TempDir()
		content := make([]byte, 1500)
		n := 0
		measure(b, func(int) {
			var wg sync.WaitGroup
			for range 7 {
				n++
				path := filepath.Join(dir, fmt.Sprint(n))
				wg.Go(func() {
					f, err := os.Create(path)
					require.NoError(b, err)
					f.Write(content)
					require.NoError(b, f.Sync())
					f.Close()
				})
			}
			wg.Wait()
		})
	})
	for _, snapshots := range []int{10, 1000, 5000} {
		for _, compact := range []bool{false, true} {
			b.Run(fmt.Sprintf("snapshots=%d/compact=%t", snapshots, compact), func(b *testing.B) {
				benchmarkCommit(b, snapshots, compact, local.Options{})
			})
		}
	}
	b.Run("no sync/snapshots=1000/compact=false", func(b *testing.B) { benchmarkCommit(b, 1000, false, local.Options{NoSync: true}) })
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
	measure(b, func(int) {
		n++
		if _, err := c.Commit(b.Context(), request(n)); err != nil {
			b.Fatal(err)
		}
	})
}

func measure(b *testing.B, fn func(i int)) {
	fn(-1)
	var times []time.Duration
	i := 0
	for b.Loop() {
		start := time.Now()
		fn(i)
		times = append(times, time.Since(start))
		i++
	}
	slices.Sort(times)
	ms := func(q float64) float64 { return times[int(q*float64(len(times)-1))].Seconds() * 1e3 }
	b.ReportMetric(ms(0.5), "p50-ms")
	b.ReportMetric(ms(0.99), "p99-ms")
}
