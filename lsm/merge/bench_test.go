package merge

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

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
			for b.Loop() {
				var sources []Source
				for _, r := range runs {
					sources = append(sources, &sliceSource{kv: r, size: 4096})
				}
				it := NewIter(sources, rowdata.NewComparer([]int{0}), nil, false, Deduplicate{}, Options{UniqueKeys: true})
				for {
					if _, err := it.Next(dst); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(0, "ns/op")
		})
	}
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
