package pqt

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// TestFirstPageTells: a column chunk is compressed, or has a dictionary, if that
// makes its first page smaller.
func TestFirstPageTells(t *testing.T) {
	const rows = 20_000
	r := rand.New(rand.NewPCG(11, 12))
	letters := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "etaoinshrdlu    "[r.IntN(16)]
		}
		return string(b)
	}
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	var few []string
	for range 3000 {
		few = append(few, noise(12))
	}
	for _, c := range []struct {
		name   string
		typ    rowdata.TypeRoot
		add    func(v *rowdata.Vector, i int)
		codec  codec
		encods []encoding
	}{
		{"random integers", rowdata.BigInt, func(v *rowdata.Vector, _ int) { v.AppendI64(int64(r.Uint64())) }, codecNone, []encoding{encRLE, encDeltaBinary}},
		{"one integer", rowdata.BigInt, func(v *rowdata.Vector, _ int) { v.AppendI64(7) }, codecZstd, []encoding{encRLE, encDeltaBinary}},
		{"random doubles", rowdata.Double, func(v *rowdata.Vector, _ int) { v.AppendF64(r.NormFloat64()) }, codecNone, []encoding{encRLE, encPlain}},
		{"prices", rowdata.Double, func(v *rowdata.Vector, _ int) { v.AppendF64(float64(r.IntN(5000)) / 100) }, codecZstd, []encoding{encRLE, encPlain, encRLEDictionary}},
		{"rising doubles", rowdata.Double, func(v *rowdata.Vector, i int) { v.AppendF64(float64(i)) }, codecZstd, []encoding{encRLE, encPlain}},
		{"text", rowdata.Varchar, func(v *rowdata.Vector, _ int) { v.AppendString(letters(30)) }, codecZstd, []encoding{encRLE, encPlain}},
		{"noise", rowdata.Varbinary, func(v *rowdata.Vector, _ int) { v.AppendString(noise(300)) }, codecNone, []encoding{encRLE, encPlain}},
		{"some names", rowdata.Varchar, func(v *rowdata.Vector, _ int) { v.AppendString(few[r.IntN(len(few))]) }, codecZstd, []encoding{encRLE, encPlain, encRLEDictionary}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields := []rowdata.Field{{Name: "c", Type: &rowdata.Type{Root: c.typ, Length: rowdata.MaxLength}}}
			v := rowdata.NewVector(fields[0].Type, rows)
			for i := range rows {
				c.add(v, i)
			}
			file, chunk := writeChunk(t, fields, v, Options{PageRows: 5000}, 700)
			require.Equal(t, c.codec, chunk.codec)
			require.Equal(t, c.encods, chunk.encodings)
			requireBits(t, file, fields, []*rowdata.Vector{v})
		})
	}
}

// TestDoublesDictionary: what a dictionary makes of doubles is told by bits, so that
// both zeros and every NaN stay, and it is given up where it grows too large.
func TestDoublesDictionary(t *testing.T) {
	fields := []rowdata.Field{{Name: "c", Type: &rowdata.Type{Root: rowdata.Double}}}
	odd := math.Float64frombits(0x7ff8_0000_dead_beef)
	for _, special := range [][]float64{nil, {0, math.Copysign(0, -1)}, {math.NaN(), odd}, {math.Inf(1), math.Inf(-1)}} {
		for _, limit := range []int{0, 600 * 8} {
			for _, nulls := range []int{0, 7} {
				t.Run(fmt.Sprintf("%v/limit=%d/nulls=%d", special, limit, nulls), func(t *testing.T) {
					r := rand.New(rand.NewPCG(3, 4))
					v := rowdata.NewVector(fields[0].Type, 0)
					for i := range 6000 {
						distinct := 100 + i/4 // more and more: the dictionary fills
						switch {
						case nulls > 0 && i%nulls == 0:
							v.AppendNull()
						case len(special) > 0 && i%5 == 0:
							v.AppendF64(special[r.IntN(len(special))])
						default:
							v.AppendF64(float64(r.IntN(distinct)-20) / 4)
						}
					}
					file, chunk := writeChunk(t, fields, v, Options{PageRows: 1000, DictionaryBytes: limit}, 333)
					require.Contains(t, chunk.encodings, encRLEDictionary)
					if limit > 0 {
						require.Len(t, chunk.encodingStats, 3, "pages after the one that fills the dictionary have none")
					}
					requireBits(t, file, fields, []*rowdata.Vector{v})
				})
			}
		}
	}
}

// writeChunk writes a file of one column, and returns what its footer says of the
// first row group.
func writeChunk(t *testing.T, fields []rowdata.Field, v *rowdata.Vector, opts Options, batch int) ([]byte, *columnChunk) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, fields, opts)
	require.NoError(t, err)
	cols := []*rowdata.Vector{v}
	for at := 0; at < v.Len(); at += batch {
		require.NoError(t, w.Write(cols, at, min(v.Len(), at+batch)))
	}
	stats, err := w.Close()
	require.NoError(t, err)
	requireStats(t, fields, cols, stats)
	chunk := &w.groups[0].columns[0]
	require.Equal(t, footerOf(t, out.Bytes()).rowGroups[0].columns[0].codec, chunk.codec)
	return out.Bytes(), chunk
}

// requireBits reads the file and compares bit by bit.
func requireBits(t *testing.T, file []byte, fields []rowdata.Field, cols []*rowdata.Vector) {
	t.Helper()
	got := readAll(t, file, fields, ReadOptions{})
	for i := range cols {
		require.Equal(t, cols[i].Len(), got[i].Len())
		for k := range cols[i].Len() {
			require.Equal(t, cols[i].IsNull(k), got[i].IsNull(k), "row %d", k)
			if cols[i].IsNull(k) {
				continue
			}
			switch cols[i].Storage() {
			case rowdata.StoreI64:
				require.Equal(t, cols[i].I64[k], got[i].I64[k], "row %d", k)
			case rowdata.StoreF64:
				require.Equal(t, math.Float64bits(cols[i].F64[k]), math.Float64bits(got[i].F64[k]), "row %d", k)
			default:
				require.True(t, bytes.Equal(cols[i].Bytes(k), got[i].Bytes(k)), "row %d", k)
			}
		}
	}
}
