package datafile

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"sluice/paimon/rowdata"
)

// orders is a table as many are: a key, some numbers, a time, two texts.
func orders(t testing.TB) Layout {
	typ := rowType()
	for i, s := range []string{"BIGINT NOT NULL", "INT", "STRING", "DECIMAL(12,2)", "TIMESTAMP(3)", "STRING", "DOUBLE"} {
		p, err := rowdata.ParseType(s)
		if err != nil {
			t.Fatal(err)
		}
		typ.Fields = append(typ.Fields, field(i, []string{"id", "customer", "status", "amount", "at", "note", "rate"}[i], p))
	}
	return Layout{Schema: typ, Key: []int{0}}
}

func orderRows(l Layout, n int) *rowdata.KeyValues {
	r := rand.New(rand.NewPCG(1, 1))
	kv := rowdata.NewKeyValues(l.Schema, n)
	for i := range n {
		kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, rowdata.Insert)
		kv.Cols[0].AppendI64(int64(i) * 3)
		kv.Cols[1].AppendI32(r.Int32N(100_000))
		kv.Cols[2].AppendString([]string{"new", "paid", "shipped", "returned"}[r.IntN(4)])
		kv.Cols[3].AppendI64(r.Int64N(1_000_000))
		kv.Cols[4].AppendI64(1_700_000_000_000 + int64(i)*17)
		if r.IntN(10) == 0 {
			kv.Cols[5].AppendNull()
		} else {
			kv.Cols[5].AppendString(fmt.Sprintf("note %d of the order", r.IntN(1_000_000)))
		}
		kv.Cols[6].AppendF64(float64(r.IntN(1000)) / 8)
		kv.CloseRow()
	}
	return kv
}

type discard struct{}

func (discard) Write(b []byte) (int, error)  { return len(b), nil }
func (discard) Finish(context.Context) error { return nil }
func (discard) Abort() error                 { return nil }

func BenchmarkRollingWriter(b *testing.B) {
	l := orders(b)
	for _, rows := range []int{1000, 100_000} {
		kv := orderRows(l, rows)
		for _, format := range formats() {
			for _, stats := range []string{"truncate(16)", "none"} {
				b.Run(fmt.Sprintf("format=%s/rows=%d/stats=%s", format, rows, stats), func(b *testing.B) {
					mode, err := ParseStatsMode(stats)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					size := int64(0)
					for b.Loop() {
						w := NewRollingWriter(func(context.Context, string) (Sink, error) { return discard{}, nil }, func() string { return "data-" }, l,
							Options{Format: format, Stats: StatsModes{Default: mode}})
						for from := 0; from < rows; from += 4096 {
							if err := w.Write(b.Context(), kv, from, min(rows, from+4096)); err != nil {
								b.Fatal(err)
							}
						}
						files, err := w.Close(b.Context())
						if err != nil {
							b.Fatal(err)
						}
						size = files[0].FileSize
					}
					report(b, rows)
					b.ReportMetric(float64(size)/float64(rows), "B/row")
				})
			}
		}
	}
}

func report(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkReader(b *testing.B) {
	const rows = 100_000
	l := orders(b)
	kv := orderRows(l, rows)
	some := positions{}
	for i := int64(7); i < rows; i += 10 {
		some[i] = true
	}
	wider := &rowdata.RowType{Fields: append([]rowdata.Field(nil), l.Schema.Fields...)}
	wider.Fields[1].Type = bigType
	for _, format := range formats() {
		file, name := writeOne(b, l, format, kv)
		for _, batch := range []int{256, 1024, 4096} {
			for _, c := range []struct {
				name string
				spec ReadSpec
			}{
				{"all", ReadSpec{Want: l.Schema}},
				{"key", ReadSpec{Want: l.Schema.Project([]int{0})}},
				{"deleted", ReadSpec{Want: l.Schema, DV: kept{some}}},
				{"cast", ReadSpec{Want: wider}},
			} {
				if batch != 1024 && c.name != "all" {
					continue
				}
				b.Run(fmt.Sprintf("format=%s/batch=%d/read=%s", format, batch, c.name), func(b *testing.B) {
					spec := c.spec
					spec.File, spec.System, spec.BatchRows = l.Schema, true, batch
					dst := rowdata.NewKeyValues(spec.Want, batch)
					b.ReportAllocs()
					for b.Loop() {
						r, err := Open(bytesAt(file), int64(len(file)), name, spec)
						if err != nil {
							b.Fatal(err)
						}
						for {
							if _, err := r.Next(dst); err == io.EOF {
								break
							} else if err != nil {
								b.Fatal(err)
							}
						}
					}
					report(b, rows)
				})
			}
		}
	}
}

// bytesAt is a file in memory.
type bytesAt []byte

func (b bytesAt) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, b[min(off, int64(len(b))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
