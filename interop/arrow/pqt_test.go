package arrow

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"sluice/paimon/datafile/pqt"
	"sluice/paimon/rowdata"
)

// columns returns fields of every kind, in every kind of place.
func columns(t *testing.T) []rowdata.Field {
	t.Helper()
	var fields []rowdata.Field
	for i, s := range []string{
		"BIGINT NOT NULL", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(18, 0)",
		"DECIMAL(19, 5)", "DECIMAL(38, 18)", "CHAR(5)", "STRING", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
		"TIMESTAMP(6) WITH LOCAL TIME ZONE",
	} {
		typ, err := rowdata.ParseType(s)
		require.NoError(t, err)
		fields = append(fields, rowdata.Field{ID: i, Name: fmt.Sprint("c", i), Type: typ})
	}
	in, text := &rowdata.Type{Root: rowdata.Int}, &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	dec := &rowdata.Type{Root: rowdata.Decimal, Precision: 25, Scale: 3}
	row := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{ID: 50, Name: "x", Type: dec}, {ID: 51, Name: "y", Type: text}}}
	list := &rowdata.Type{Root: rowdata.Array, Elem: text}
	m := &rowdata.Type{Root: rowdata.Map, Key: text.AsNotNull(), Elem: &rowdata.Type{Root: rowdata.Array, Elem: row}}
	for i, typ := range []*rowdata.Type{
		row, list,
		{Root: rowdata.Array, Elem: list},
		m,
		{Root: rowdata.Multiset, Elem: in.AsNotNull()},
		{Root: rowdata.Row, Fields: []rowdata.Field{{ID: 60, Name: "m", Type: m}, {ID: 61, Name: "l", Type: &rowdata.Type{Root: rowdata.Array, Elem: in.AsNotNull()}}}},
	} {
		fields = append(fields, rowdata.Field{ID: 70 + i, Name: fmt.Sprint("n", i), Type: typ})
	}
	return fields
}

// fill appends a random value.
func fill(r *rand.Rand, v *rowdata.Vector) {
	if !v.Type.NotNull && r.IntN(9) == 0 {
		v.AppendNull()
		return
	}
	switch v.Storage() {
	case rowdata.StoreI32:
		x := int32(r.Uint32()) >> r.IntN(32)
		switch v.Type.Root {
		case rowdata.Boolean:
			x &= 1
		case rowdata.TinyInt:
			x = int32(int8(x))
		case rowdata.SmallInt:
			x = int32(int16(x))
		case rowdata.Time:
			x = r.Int32N(86_400_000)
		case rowdata.Date:
			x = r.Int32N(100_000) - 50_000
		}
		v.AppendI32(x)
	case rowdata.StoreI64:
		v.AppendI64(r.Int64N(1<<[]int{8, 24, 29}[r.IntN(3)]) - 1<<7)
	case rowdata.StoreF32:
		v.AppendF32(float32(r.NormFloat64()))
	case rowdata.StoreF64:
		v.AppendF64([]float64{r.NormFloat64(), math.Inf(-1), math.Copysign(0, -1), math.NaN()}[r.IntN(4)])
	case rowdata.StoreI128:
		x := rowdata.Int128{Hi: r.Int64N(1 << (v.Type.Precision - 18)), Lo: r.Uint64()}
		if v.Type.Precision == 19 {
			x = rowdata.Int128From(r.Int64())
		}
		if r.IntN(2) == 0 {
			x = x.Neg()
		}
		v.AppendI128(x)
	case rowdata.StoreNanos:
		v.AppendTimestamp(r.Int64N(1<<42)-1<<41, r.Int32N(1_000_000))
	case rowdata.StoreBytes:
		v.AppendString([]string{"", "PAID", "Ünïcödé", strings.Repeat("long ", 40)}[r.IntN(4)] + fmt.Sprint(r.IntN(1+r.IntN(30_000))))
	case rowdata.StoreList, rowdata.StoreMap:
		for range r.IntN(4) {
			for _, c := range v.Children {
				fill(r, c)
			}
		}
		v.CloseList()
	case rowdata.StoreStruct:
		for _, c := range v.Children {
			fill(r, c)
		}
		v.CloseStruct()
	}
}

const rows = 20_000

func randomRows(t *testing.T) ([]rowdata.Field, []*rowdata.Vector) {
	fields := columns(t)
	r := rand.New(rand.NewPCG(11, 12))
	cols := make([]*rowdata.Vector, len(fields))
	for i := range fields {
		cols[i] = rowdata.NewVector(fields[i].Type, rows)
		for range rows {
			fill(r, cols[i])
		}
	}
	return fields, cols
}

func write(t *testing.T, fields []rowdata.Field, cols []*rowdata.Vector, opts pqt.Options) ([]byte, []rowdata.ColumnStats) {
	t.Helper()
	var out bytes.Buffer
	w, err := pqt.NewWriter(&out, fields, opts)
	require.NoError(t, err)
	for at := 0; at < rows; at += 999 {
		require.NoError(t, w.Write(cols, at, min(rows, at+999)))
	}
	stats, err := w.Close()
	require.NoError(t, err)
	return out.Bytes(), stats
}

func TestArrowReadsOurFiles(t *testing.T) {
	fields, cols := randomRows(t)
	for name, opts := range map[string]pqt.Options{
		"defaults":         {},
		"small pages":      {PageRows: 300, RowGroupBytes: 1 << 20},
		"little room":      {PageRows: 700, DictionaryBytes: 3000, Compression: "snappy"},
		"no delta":         {NoDelta: true, PageBytes: 10_000, Compression: "gzip"},
		"plain, LZ4":       {NoDelta: true, NoDictionary: true, Compression: "lz4"},
		"none compression": {Compression: "none", RowGroupBytes: 3 << 20},
		"brotli":           {Compression: "brotli"},
	} {
		t.Run(name, func(t *testing.T) {
			data, stats := write(t, fields, cols, opts)
			f, err := file.NewParquetReader(bytes.NewReader(data))
			require.NoError(t, err)
			r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
			require.NoError(t, err)
			table, err := r.ReadTable(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, rows, table.NumRows())
			for c := range fields {
				at := 0
				for _, chunk := range table.Column(c).Data().Chunks() {
					for i := range chunk.Len() {
						if want, got := text(cols[c], at+i), arrowText(t, chunk, i); want != got {
							require.Equal(t, want, got, "%s %s row %d", fields[c].Name, fields[c].Type, at+i)
						}
					}
					at += chunk.Len()
				}
				require.Equal(t, rows, at)
			}
			requireStatistics(t, f, fields, stats)
		})
	}
}

// text renders a value of ours.
func text(v *rowdata.Vector, i int) string {
	if v.IsNull(i) {
		return "null"
	}
	switch v.Storage() {
	case rowdata.StoreI32:
		return fmt.Sprint(v.I32[i])
	case rowdata.StoreI64:
		return fmt.Sprint(v.I64[i])
	case rowdata.StoreF32:
		return fmt.Sprintf("%x", math.Float32bits(v.F32[i]))
	case rowdata.StoreF64:
		return fmt.Sprintf("%x", math.Float64bits(v.F64[i]))
	case rowdata.StoreI128:
		return v.I128[i].Big().String()
	case rowdata.StoreNanos:
		return fmt.Sprint(v.I64[i]*1_000_000 + int64(v.I32[i]))
	case rowdata.StoreBytes:
		return fmt.Sprintf("%q", v.Bytes(i))
	}
	var b strings.Builder
	from, to := i, i+1
	if v.Storage() != rowdata.StoreStruct {
		from, to = int(v.Offs[i]), int(v.Offs[i+1])
	}
	for e := from; e < to; e++ {
		b.WriteByte('(')
		for _, c := range v.Children {
			b.WriteString(text(c, e) + ";")
		}
		b.WriteByte(')')
	}
	return b.String()
}

// arrowText renders a value of Arrow's likewise.
func arrowText(t *testing.T, a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.Boolean:
		if a.Value(i) {
			return "1"
		}
		return "0"
	case *array.Int8:
		return fmt.Sprint(a.Value(i))
	case *array.Int16:
		return fmt.Sprint(a.Value(i))
	case *array.Int32:
		return fmt.Sprint(a.Value(i))
	case *array.Int64:
		return fmt.Sprint(a.Value(i))
	case *array.Date32:
		return fmt.Sprint(int32(a.Value(i)))
	case *array.Time32:
		return fmt.Sprint(int32(a.Value(i)))
	case *array.Timestamp:
		return fmt.Sprint(int64(a.Value(i)))
	case *array.Float32:
		return fmt.Sprintf("%x", math.Float32bits(a.Value(i)))
	case *array.Float64:
		return fmt.Sprintf("%x", math.Float64bits(a.Value(i)))
	case *array.Decimal128:
		return a.Value(i).BigInt().String()
	case *array.String:
		return fmt.Sprintf("%q", a.Value(i))
	case *array.Binary:
		return fmt.Sprintf("%q", a.Value(i))
	case *array.Struct:
		return arrowRow(t, a, i)
	case *array.Map:
		from, to := a.ValueOffsets(i)
		s := ""
		for e := from; e < to; e++ {
			s += "(" + arrowText(t, a.Keys(), int(e)) + ";" + arrowText(t, a.Items(), int(e)) + ";)"
		}
		return s
	case *array.List:
		from, to := a.ValueOffsets(i)
		s := ""
		for e := from; e < to; e++ {
			s += "(" + arrowText(t, a.ListValues(), int(e)) + ";)"
		}
		return s
	}
	require.Failf(t, "array", "%T", a)
	return ""
}

func arrowRow(t *testing.T, a *array.Struct, i int) string {
	s := "("
	for f := range a.NumField() {
		s += arrowText(t, a.Field(f), i) + ";"
	}
	return s + ")"
}

// requireStatistics compares the bounds in the footer, over all row groups, with
// those of the writer; for decimals among them, which have a sign.
func requireStatistics(t *testing.T, f *file.Reader, fields []rowdata.Field, stats []rowdata.ColumnStats) {
	t.Helper()
	checked := 0
	for leaf := range f.MetaData().Schema.NumColumns() {
		column := f.MetaData().Schema.Column(leaf)
		c := -1
		for i := range fields {
			if fields[i].Name == column.Path() {
				c = i
			}
		}
		if c < 0 || stats[c].Min == nil || column.PhysicalType() != parquet.Types.FixedLenByteArray && column.PhysicalType() != parquet.Types.Int64 {
			continue
		}
		var lo, hi decimal128.Num
		for g := range f.NumRowGroups() {
			chunk, err := f.MetaData().RowGroup(g).ColumnChunk(leaf)
			require.NoError(t, err)
			s, err := chunk.Statistics()
			require.NoError(t, err)
			require.True(t, s.HasMinMax())
			l, h := bound(t, s)
			if g == 0 || l.Less(lo) {
				lo = l
			}
			if g == 0 || hi.Less(h) {
				hi = h
			}
		}
		require.Equal(t, text(stats[c].Min, 0), lo.BigInt().String(), column.Path())
		require.Equal(t, text(stats[c].Max, 0), hi.BigInt().String(), column.Path())
		checked++
	}
	require.GreaterOrEqual(t, checked, 5)
}

func bound(t *testing.T, s metadata.TypedStatistics) (lo, hi decimal128.Num) {
	t.Helper()
	switch s := s.(type) {
	case *metadata.Int64Statistics:
		return decimal128.FromI64(s.Min()), decimal128.FromI64(s.Max())
	case *metadata.FixedLenByteArrayStatistics:
		return number(s.Min()), number(s.Max())
	}
	require.Failf(t, "statistics", "%T", s)
	return lo, hi
}

func number(b []byte) decimal128.Num {
	x, _ := rowdata.Int128FromBytes(b)
	return decimal128.FromBigInt(x.Big())
}
