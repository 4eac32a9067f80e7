package merge

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"sluice/paimon/rowdata"
)

// BenchmarkIterNext merges 8 runs of a million rows of 8 columns. Interleaved
// runs are the worst case; apart means that one source is ahead for long.
func BenchmarkIterNext(b *testing.B) {
	for _, shape := range []string{"interleaved", "updates", "apart", "strings"} {
		b.Run("runs=8/"+shape, func(b *testing.B) {
			runs := benchRuns(shape, 8, 500_000)
			rows := 0
			for _, r := range runs {
				rows += r.N
			}
			dst := rowdata.NewKeyValues(runs[0].Type, 0)
			b.ReportAllocs()
			begin := cpuTime()
			for b.Loop() {
				var sources []Source
				for _, r := range runs {
					sources = append(sources, &sliceSource{kv: r, size: 4096})
				}
				it := NewIter(sources, rowdata.NewComparer([]int{0}), Order{}, Engine{Keep: Deduplicate{}}, Options{UniqueKeys: true})
				for {
					if _, err := it.Next(dst); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/(cpuTime()-begin).Seconds(), "rows/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkGathererAppend copies rows in random order out of chunks that together
// are larger than a processor's caches: the copy of a flush.
func BenchmarkGathererAppend(b *testing.B) {
	const chunks, chunkRows, batch = 13, 16384, 4096
	text := &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	for _, tc := range []struct {
		name  string
		typ   *rowdata.Type
		bytes int
	}{
		{"bigint", &rowdata.Type{Root: rowdata.BigInt}, 0}, {"string=8", text, 8}, {"string=20..60", text, 60},
	} {
		b.Run(tc.name, func(b *testing.B) {
			typ := &rowdata.RowType{Fields: []rowdata.Field{{Name: "c", Type: tc.typ}}}
			r := rand.New(rand.NewPCG(1, 1))
			batches := make([]*rowdata.KeyValues, chunks)
			var all []Stretch
			for c := range batches {
				kv := rowdata.NewKeyValues(typ, chunkRows)
				for i := range int32(chunkRows) {
					kv.Seq, kv.Kinds = append(kv.Seq, 0), append(kv.Kinds, 0)
					if tc.bytes == 0 {
						kv.Cols[0].AppendI64(r.Int64())
					} else {
						n := tc.bytes
						if n > 8 {
							n = 20 + r.IntN(41)
						}
						kv.Cols[0].AppendBytes(make([]byte, n))
					}
					kv.CloseRow()
					all = append(all, Stretch{Batch: int32(c), From: i, To: i + 1})
				}
				batches[c] = kv
			}
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			dst := rowdata.NewBatch(typ, batch)
			var g Gatherer
			begin := cpuTime()
			for b.Loop() {
				for at := 0; at < len(all); at += batch {
					dst.Reset()
					g.AppendValues(dst, batches, all[at:at+batch])
				}
			}
			b.ReportMetric(float64((cpuTime()-begin).Nanoseconds())/float64(len(all))/float64(b.N), "cpu-ns/row")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func benchRuns(shape string, k, n int) []*rowdata.KeyValues {
	big := &rowdata.Type{Root: rowdata.BigInt}
	text := &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	t := &rowdata.RowType{}
	for i, typ := range []*rowdata.Type{big, big, text, big, big, text, big, big} {
		t.Fields = append(t.Fields, rowdata.Field{ID: i, Name: fmt.Sprint("c", i), Type: typ})
	}
	if shape == "strings" {
		t.Fields[0].Type = text
	}
	r := rand.New(rand.NewPCG(1, 1))
	keys := make([][]int, k)
	for i := range n {
		switch shape {
		case "apart":
			keys[i*k/n] = append(keys[i*k/n], i)
		case "updates":
			keys[r.IntN(k)] = append(keys[r.IntN(k)], i*2/3)
		default:
			run := r.IntN(k)
			keys[run] = append(keys[run], i)
		}
	}
	runs := make([]*rowdata.KeyValues, k)
	for i := range runs {
		runs[i] = rowdata.NewKeyValues(t, n/k)
		slices.Sort(keys[i])
		for _, key := range slices.Compact(keys[i]) {
			kv := runs[i]
			kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, rowdata.Insert)
			for c, v := range kv.Cols {
				switch {
				case c == 0 && shape == "strings":
					v.AppendString(fmt.Sprintf("customer-%010d", key))
				case v.Storage() == rowdata.StoreI64:
					v.AppendI64(int64(key))
				default:
					v.AppendString("DELIVERED")
				}
			}
			kv.CloseRow()
		}
	}
	return runs
}
