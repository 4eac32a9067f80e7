package pqt

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func BenchmarkRead(b *testing.B) {
	for _, bb := range []struct {
		name string
		opts Options
		cols []int // nil: all
	}{
		{"codec=zstd/ints=delta", Options{}, nil},
		{"codec=none/ints=delta", Options{Compression: "none"}, nil},
		{"codec=zstd/ints=plain", Options{NoDelta: true, NoDictionary: true}, nil},
		{"codec=zstd/ints=dictionary", Options{NoDelta: true}, nil},
		{"codec=zstd/ints=delta/cols=key,seq,kind", Options{}, []int{0, 1, 2}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			file, _ := writeAll(b, ordersFields(), orders(), bb.opts, 4096)
			fields := ordersFields()
			if bb.cols != nil {
				fields = (&rowdata.RowType{Fields: fields}).Project(bb.cols).Fields
			}
			batch := newVectors(fields)
			b.ReportAllocs()
			b.ResetTimer()
			m := startMeter()
			for b.Loop() {
				r, err := Open(bytes.NewReader(file), int64(len(file)), fields, ReadOptions{})
				require.NoError(b, err)
				rows := 0
				for {
					n, err := r.Next(batch)
					if err == io.EOF {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					rows += n
				}
				if rows != ordersRows {
					b.Fatal("rows", rows)
				}
				r.Close()
			}
			m.report(b, b.N*ordersRows)
		})
	}
}

// BenchmarkSmallFile is a commit of a few rows: a writer, a file, a reader.
func BenchmarkSmallFile(b *testing.B) {
	for _, rows := range []int{10, 1000} {
		cols := makeOrders(rows)
		file, _ := writeAll(b, ordersFields(), cols, Options{}, rows)
		b.Run(fmt.Sprintf("op=write/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				w, err := NewWriter(&out, ordersFields(), Options{})
				require.NoError(b, err)
				if err := w.Write(cols, 0, rows); err != nil {
					b.Fatal(err)
				}
				if _, err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("op=read/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			fields := ordersFields()
			batch := newVectors(fields)
			for b.Loop() {
				r, err := Open(bytes.NewReader(file), int64(len(file)), fields, ReadOptions{})
				require.NoError(b, err)
				if n, err := r.Next(batch); err != nil || n != rows {
					b.Fatal(n, err)
				}
				r.Close()
			}
		})
	}
}
