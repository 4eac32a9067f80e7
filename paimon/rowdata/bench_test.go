package rowdata

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// benchRows are rows as an orders table has them.
func benchRows(n int) *KeyValues {
	r := &RowType{Fields: []Field{
		{Name: "id", Type: parsed("BIGINT NOT NULL")},
		{Name: "customer", Type: parsed("STRING")},
		{Name: "status", Type: parsed("STRING")},
		{Name: "amount", Type: parsed("DECIMAL(12,2)")},
		{Name: "quantity", Type: parsed("INT")},
		{Name: "price", Type: parsed("DOUBLE")},
		{Name: "created", Type: parsed("TIMESTAMP(3)")},
		{Name: "updated", Type: parsed("TIMESTAMP(6)")},
		{Name: "day", Type: parsed("DATE")},
	}}
	kv, rnd := NewKeyValues(r, n), rand.New(rand.NewPCG(1, 2))
	for i := range n {
		kv.Cols[0].AppendI64(rnd.Int64N(int64(n)))
		kv.Cols[1].AppendString(fmt.Sprintf("customer-%07d", rnd.IntN(n)))
		kv.Cols[2].AppendString([]string{"new", "paid", "shipped", "returned"}[rnd.IntN(4)])
		kv.Cols[3].AppendI64(rnd.Int64N(1_000_000))
		kv.Cols[4].AppendI32(int32(rnd.IntN(100)))
		kv.Cols[5].AppendF64(float64(rnd.IntN(100_000)) / 100)
		kv.Cols[6].AppendTimestamp(1_700_000_000_000+int64(i), 0)
		kv.Cols[7].AppendTimestamp(1_700_000_000_000+int64(i), 123_000)
		kv.Cols[8].AppendI32(19_700 + int32(i&255))
		kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, Insert)
		kv.CloseRow()
	}
	return kv
}

// cpuRate returns a function that reports rows per second of processor time,
// which other work on the machine disturbs less than the time of the clock.
func cpuRate(b *testing.B, rows int) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	return func() {
		b.ReportMetric(float64(rows)*float64(b.N)/(used()-start).Seconds()/1e6, "Mrows/cpu-s")
	}
}

func BenchmarkBinaryRow(b *testing.B) {
	kv := benchRows(4096)
	cols := kv.Cols[:2]
	b.Run("append/BIGINT,STRING", func(b *testing.B) {
		var buf []byte
		b.ReportAllocs()
		report := cpuRate(b, kv.N)
		for b.Loop() {
			for i := range kv.N {
				buf = AppendBinaryRow(buf[:0], cols, i)
			}
		}
		report()
	})
	b.Run("decode/BIGINT,STRING", func(b *testing.B) {
		row := AppendBinaryRow(nil, cols, 0)
		into := emptyLike(cols)
		b.ReportAllocs()
		report := cpuRate(b, kv.N)
		for b.Loop() {
			for _, v := range into {
				v.Reset()
			}
			for range kv.N {
				if err := DecodeBinaryRow(row, into); err != nil {
					b.Fatal(err)
				}
			}
		}
		report()
	})
	b.Run("hash/BIGINT,STRING", func(b *testing.B) {
		b.ReportAllocs()
		report := cpuRate(b, kv.N)
		for b.Loop() {
			for i := range kv.N {
				HashRow(cols, i)
			}
		}
		report()
	})
}

func BenchmarkBuckets(b *testing.B) {
	kv := benchRows(4096)
	for _, c := range []struct {
		name string
		cols []*Vector
	}{{"BIGINT", kv.Cols[:1]}, {"STRING", kv.Cols[1:2]}, {"BIGINT,STRING", kv.Cols[:2]}} {
		b.Run(c.name, func(b *testing.B) {
			var types []*Type
			for _, v := range c.cols {
				types = append(types, v.Type)
			}
			f, err := NewBucketer("default", types, 8)
			if err != nil {
				b.Fatal(err)
			}
			var dst []int32
			b.ReportAllocs()
			report := cpuRate(b, kv.N)
			for b.Loop() {
				dst = f.Buckets(dst[:0], c.cols, kv.N)
			}
			report()
		})
	}
}

func BenchmarkSorterOrder(b *testing.B) {
	for _, n := range []int{4096, 1 << 20} {
		kv := benchRows(n)
		for _, c := range []struct {
			name string
			key  []int
			seq  []int
		}{{"BIGINT", []int{0}, nil}, {"STRING", []int{1}, nil}, {"DATE,BIGINT", []int{8, 0}, nil}, {"BIGINT/sequence=TIMESTAMP", []int{0}, []int{6}}} {
			b.Run(fmt.Sprintf("%s/rows=%d", c.name, n), func(b *testing.B) {
				s := NewSorter(NewComparer(c.key), c.seq, false)
				b.ReportAllocs()
				report := cpuRate(b, kv.N)
				for b.Loop() {
					s.Order(kv)
				}
				report()
			})
		}
	}
}

func BenchmarkAppendJSONObject(b *testing.B) {
	kv := benchRows(4096)
	encode := func(f func(dst []byte, i int) []byte) func(b *testing.B) {
		return func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			report := cpuRate(b, kv.N)
			for b.Loop() {
				buf = buf[:0]
				for i := range kv.N {
					buf = f(buf, i)
				}
			}
			b.SetBytes(int64(len(buf)))
			report()
		}
	}
	b.Run("plain", encode(func(dst []byte, i int) []byte { return AppendJSONObject(dst, &kv.Batch, i) }))
	e := NewJSONEncoder(kv.Type.Fields)
	b.Run("encoder", encode(func(dst []byte, i int) []byte { return e.AppendObject(dst, kv.Cols, i) }))
}

func BenchmarkCast(b *testing.B) {
	kv := benchRows(4096)
	for _, c := range []struct {
		col int
		to  string
	}{{4, "BIGINT"}, {3, "DECIMAL(20,4)"}, {0, "STRING"}} {
		b.Run(fmt.Sprintf("%s to %s", kv.Cols[c.col].Type, c.to), func(b *testing.B) {
			dst := NewVector(parsed(c.to), kv.N)
			b.ReportAllocs()
			report := cpuRate(b, kv.N)
			for b.Loop() {
				dst.Reset()
				if err := Cast(dst, kv.Cols[c.col]); err != nil {
					b.Fatal(err)
				}
			}
			report()
		})
	}
}
