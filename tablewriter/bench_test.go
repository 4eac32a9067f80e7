package tablewriter

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"sluice/objstore"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// BenchmarkWriterWrite writes batches of 1,000 rows in commits of 200,000 and
// waits for each commit: everything from the check of a row to the snapshot. The
// rate is per second of the processor.
func BenchmarkWriterWrite(b *testing.B) {
	fields := []string{"id BIGINT", "customer BIGINT", "status STRING", "amount DECIMAL(12,2)", "note STRING", "updated_at TIMESTAMP(3)", "weight DOUBLE", "score DOUBLE"}
	for _, tc := range []struct {
		name string
		spec paimon.SchemaSpec
	}{
		{"none/buckets=1", spec(fields, []string{"id"}, nil, "bucket", "1")},
		{"input/buckets=1", spec(fields, []string{"id"}, nil, "bucket", "1", "changelog-producer", "input")},
		{"none/buckets=8", spec(fields, []string{"id"}, nil, "bucket", "8")},
		{"none/partitions=8,buckets=4", spec(fields, []string{"id", "status"}, []string{"status"}, "bucket", "4")},
		{"append", spec(fields, nil, nil)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			table := newTable(b, memory(), tc.spec)
			w := openWriter(b, table, Options{CommitInterval: time.Hour})
			const rows = 200_000
			commits := make([][]*rowdata.Changes, 5)
			for i := range commits {
				commits[i] = benchRows(w.Type(), i*rows, rows)
			}
			b.ReportAllocs()
			begin, n := cpuTime(), 0
			for b.Loop() {
				for _, batch := range commits[n%len(commits)] {
					if _, err := w.Write(b.Context(), batch, Position{}); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Commit(b.Context()); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(rows*float64(n)/(cpuTime()-begin).Seconds(), "rows/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkWriterLookup writes a million rows of as many keys, half of them updates
// of what is there, on local disk with producer lookup: level files, changelog,
// index and commits. One iteration is all of it.
func BenchmarkWriterLookup(b *testing.B) {
	const rows, keys = 1_000_000, 500_000
	fields := []string{"id BIGINT", "customer BIGINT", "status STRING", "amount DECIMAL(12,2)", "note STRING", "updated_at TIMESTAMP(3)", "weight DOUBLE", "score DOUBLE"}
	for _, tc := range []struct {
		name string
		off  bool
		size int
	}{{"straight/commit=50000", false, 50_000}, {"level0/commit=50000", true, 50_000}, {"straight/commit=1000", false, 1000}} {
		b.Run(tc.name, func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				b.StopTimer()
				table := newTable(b, local.New(b.TempDir(), local.Options{}), spec(fields, []string{"id"}, nil, "bucket", "1", "changelog-producer", "lookup"))
				w := openWriter(b, table, Options{CommitInterval: time.Hour, LookupDir: b.TempDir(), StraightOff: tc.off})
				batches := append(benchRows(w.Type(), 0, keys), benchRows(w.Type(), 0, rows-keys)...)
				b.StartTimer()
				begin := cpuTime()
				written := 0
				for _, batch := range batches {
					if _, err := w.Write(b.Context(), batch, Position{}); err != nil {
						b.Fatal(err)
					}
					if written += batch.N; written%tc.size == 0 {
						if _, err := w.Commit(b.Context()); err != nil {
							b.Fatal(err)
						}
					}
				}
				if err := w.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				took += cpuTime() - begin
			}
			b.ReportMetric(rows*float64(b.N)/took.Seconds(), "rows/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkWriterCommit writes 10 rows and waits until they are committed.
func BenchmarkWriterCommit(b *testing.B) {
	for name, store := range map[string]func(*testing.B) objstore.Store{
		"memory":       func(*testing.B) objstore.Store { return memory() },
		"local":        func(b *testing.B) objstore.Store { return local.New(b.TempDir(), local.Options{}) },
		"local,nosync": func(b *testing.B) objstore.Store { return local.New(b.TempDir(), local.Options{NoSync: true}) },
	} {
		for _, producer := range []string{"none", "input"} {
			b.Run(name+"/"+producer, func(b *testing.B) {
				table := newTable(b, store(b), usual("bucket", "1", "changelog-producer", producer))
				w := openWriter(b, table, Options{CommitInterval: time.Hour})
				var took []time.Duration
				begin, i := cpuTime(), 0
				for b.Loop() {
					var rows [][]any
					for range 10 {
						rows = append(rows, []any{i * 7919 % 100_003, "some text"})
						i++
					}
					batch := changes(b, w.Type(), "", rows...)
					t0 := time.Now()
					if _, err := w.Write(b.Context(), batch, Position{}); err != nil {
						b.Fatal(err)
					}
					if _, err := w.Commit(b.Context()); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(t0))
				}
				b.ReportMetric(float64((cpuTime()-begin).Microseconds())/float64(len(took))/1000, "cpu-ms/commit")
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			})
		}
	}
}

// benchRows makes rows of random keys with a text that hardly compresses.
func benchRows(typ *rowdata.RowType, first, n int) (batches []*rowdata.Changes) {
	statuses := []string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "RETURNED", "CANCELLED", "LOST"}
	const letters = "eeeeeetttttaaaaooooiiiinnnnsssshhhrrrddllcumwfgypbvk           ."
	const gamma = 0x9E3779B97F4A7C15
	mix := func(z uint64) uint64 {
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return z ^ z>>31
	}
	var note [64]byte
	for at := first; at < first+n; at += 1000 {
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, 1000)}
		for i := uint64(at); i < uint64(at+1000); i++ {
			key := mix(42 + (i+1)*gamma)
			state := mix(mix(i^42) ^ key)
			next := func() uint64 { state += gamma; return mix(state) }
			c.Cols[0].AppendI64(int64(key))
			c.Cols[1].AppendI64(int64(next() % 1_000_000))
			c.Cols[2].AppendString(statuses[next()%8])
			c.Cols[3].AppendI64(int64(next() % 100_000_000))
			text := note[:20+next()%41]
			for k := range text {
				text[k] = letters[next()&63]
			}
			c.Cols[4].AppendBytes(text)
			c.Cols[5].AppendI64(1_764_000_000_000 + int64(i))
			c.Cols[6].AppendF64(float64(next()>>11) / (1 << 53))
			c.Cols[7].AppendF64(float64(next()%10_000) / 100)
			c.CloseRow()
		}
		batches = append(batches, c)
	}
	return batches
}
