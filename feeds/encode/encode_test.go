package encode_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"sluice/feeds/encode"
	"sluice/paimon/rowdata"
	sluicev1 "sluice/proto/sluice/v1"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

// typeTexts are types of every storage class, nested ones included.
var typeTexts = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT NOT NULL", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(38, 10)",
	"CHAR(3)", "STRING", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE",
	"VARIANT", "ARRAY<STRING>", "ARRAY<ARRAY<INT>>", "MAP<STRING, BIGINT>", "MULTISET<STRING>", "ROW<a INT, b ROW<c STRING>>",
	"ARRAY<ROW<x DOUBLE, y MAP<INT, BYTES>>>",
}

func typesOf(t testing.TB) []*rowdata.Type {
	var types []*rowdata.Type
	for _, text := range typeTexts {
		typ, err := rowdata.ParseType(text)
		require.NoError(t, err, text)
		types = append(types, typ)
	}
	return types
}

// fill appends n random rows.
func fill(rt *rapid.T, v *rowdata.Vector, n int, nulls bool) {
	for range n {
		if nulls && rapid.IntRange(0, 3).Draw(rt, "null") == 0 {
			v.AppendNull()
			continue
		}
		switch v.Storage() {
		case rowdata.StoreI32:
			switch v.Type.Root {
			case rowdata.Boolean:
				v.AppendBool(rapid.Bool().Draw(rt, "bool"))
			case rowdata.TinyInt:
				v.AppendI32(int32(rapid.Int8().Draw(rt, "tiny")))
			case rowdata.SmallInt:
				v.AppendI32(int32(rapid.Int16().Draw(rt, "small")))
			default:
				v.AppendI32(rapid.Int32().Draw(rt, "int"))
			}
		case rowdata.StoreI64:
			v.AppendI64(rapid.Int64().Draw(rt, "long"))
		case rowdata.StoreF32:
			v.AppendF32(rapid.Float32().Draw(rt, "float"))
		case rowdata.StoreF64:
			v.AppendF64(rapid.Float64().Draw(rt, "double"))
		case rowdata.StoreI128:
			v.AppendI128(rowdata.Int128{Hi: rapid.Int64().Draw(rt, "hi"), Lo: rapid.Uint64().Draw(rt, "lo")})
		case rowdata.StoreNanos:
			v.AppendTimestamp(rapid.Int64().Draw(rt, "millis"), rapid.Int32Range(0, 999_999).Draw(rt, "nanos"))
		case rowdata.StoreBytes:
			v.AppendString(rapid.String().Draw(rt, "text"))
		case rowdata.StoreList, rowdata.StoreMap:
			k := rapid.IntRange(0, 3).Draw(rt, "elements")
			for i, c := range v.Children {
				fill(rt, c, k, nulls && !(i == 0 && v.Storage() == rowdata.StoreMap) && !c.Type.NotNull)
			}
			v.CloseList()
		case rowdata.StoreStruct:
			for _, c := range v.Children {
				fill(rt, c, 1, nulls && !c.Type.NotNull)
			}
			v.CloseStruct()
		}
	}
}

func equalVectors(t require.TestingT, want, got *rowdata.Vector, from, to int) {
	require.Equal(t, to-from, got.Len())
	for i := from; i < to; i++ {
		require.True(t, rowdata.Equal(want, i, got, i-from), "%s row %d", want.Type, i)
	}
}

func TestColumnsRoundTrip(t *testing.T) {
	types := typesOf(t)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(rt, "rows")
		nulls := rapid.Bool().Draw(rt, "nulls")
		var cols, got []*rowdata.Vector
		for _, typ := range types {
			v := rowdata.NewVector(typ, 0)
			fill(rt, v, n, nulls && !typ.NotNull)
			cols, got = append(cols, v), append(got, rowdata.NewVector(typ, 0))
		}
		from := rapid.IntRange(0, n).Draw(rt, "from")
		to := rapid.IntRange(from, n).Draw(rt, "to")
		b := encode.AppendColumns([]byte("head"), cols, from, to)[4:]
		require.Len(rt, b, encode.ColumnsSize(cols, from, to))

		// What the generated code makes of it is the same, so the bytes are those of
		// the message, in canonical form.
		var m sluicev1.Columns
		require.NoError(rt, proto.Unmarshal(b, &m))
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
		require.NoError(rt, err)
		require.Equal(rt, again, b)

		require.NoError(rt, encode.DecodeColumns(b, to-from, got))
		for c := range cols {
			equalVectors(rt, cols[c], got[c], from, to)
		}
		// Rows are appended to what is there.
		require.NoError(rt, encode.DecodeColumns(b, to-from, got))
		for c := range cols {
			require.Equal(rt, 2*(to-from), got[c].Len())
			for i := from; i < to; i++ {
				require.True(rt, rowdata.Equal(cols[c], i, got[c], to-from+i-from))
			}
		}
	})
}

func TestJSONRows(t *testing.T) {
	types := typesOf(t)
	row := &rowdata.RowType{}
	for i, typ := range types {
		row.Fields = append(row.Fields, rowdata.Field{ID: i, Name: fmt.Sprintf("c%d \"", i), Type: typ})
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(rt, "rows")
		b := rowdata.NewBatch(row, 0)
		for _, v := range b.Cols {
			if v.Type.Root == rowdata.Variant { // JSON of a VARIANT needs a valid one
				for range n {
					v.AppendNull()
				}
				continue
			}
			fill(rt, v, n, !v.Type.NotNull)
		}
		b.N = n
		from := rapid.IntRange(0, n).Draw(rt, "from")
		out := encode.AppendJSONRows([]byte("head"), rowdata.NewJSONEncoder(row.Fields), b.Cols, from, n)[4:]
		var m sluicev1.JsonRows
		require.NoError(rt, proto.Unmarshal(out, &m))
		require.Len(rt, m.Rows, n-from)
		for i, text := range m.Rows {
			require.Equal(rt, string(rowdata.AppendJSONObject(nil, b, from+i)), string(text))
			require.True(rt, json.Valid(text))
		}
	})
}

// Lengths of one, two and three bytes in any order are filled in right.
func TestFill(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 1 << 21} {
		for _, guess := range []int{1, 2, 3, 5} {
			body := bytes.Repeat([]byte{7}, n)
			b := append(encode.Reserve([]byte("abc"), guess), body...)
			b, size := encode.Fill(b, 3, guess)
			want := append([]byte("abc"), protoBytes(body)...)
			require.Equal(t, want, b)
			require.Equal(t, len(want)-3-n, size)
		}
	}
}

func protoBytes(b []byte) []byte {
	m, _ := proto.Marshal(&sluicev1.Column{Valid: b})
	if len(b) == 0 {
		return []byte{0}
	}
	return m[1:]
}

// golden is a few rows of each type, with NULLs.
func golden(t testing.TB) (*rowdata.RowType, *rowdata.Batch) {
	row := &rowdata.RowType{}
	for i, typ := range typesOf(t) {
		row.Fields = append(row.Fields, rowdata.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: typ})
	}
	b := rowdata.NewBatch(row, 0)
	for _, line := range strings.Split(strings.TrimSpace(string(must(os.ReadFile(filepath.Join("testdata", "rows.jsonl"))))), "\n") {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var x any
		require.NoError(t, d.Decode(&x))
		require.NoError(t, rowdata.AppendJSONRow(b, x), line)
	}
	return row, b
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// The bytes are a promise: testdata holds those of a few rows.
func TestGolden(t *testing.T) {
	row, b := golden(t)
	var out strings.Builder
	cols := encode.AppendColumns(nil, b.Cols, 0, b.N)
	var m sluicev1.Columns
	require.NoError(t, proto.Unmarshal(cols, &m))
	for i, c := range m.Columns {
		fmt.Fprintf(&out, "%s\n", row.Fields[i].Type)
		writeColumn(&out, c, "  ")
	}
	fmt.Fprintf(&out, "json\n%s", hex.Dump(encode.AppendJSONRows(nil, rowdata.NewJSONEncoder(row.Fields), b.Cols, 0, 1)))
	file := filepath.Join("testdata", "golden.txt")
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	require.Equal(t, string(must(os.ReadFile(file))), out.String())
}

func writeColumn(out *strings.Builder, c *sluicev1.Column, indent string) {
	for _, part := range []struct {
		name  string
		bytes []byte
	}{{"valid", c.Valid}, {"fixed", c.Fixed}, {"nanos", c.Nanos}, {"offsets", c.Offsets}, {"data", c.Data}} {
		if len(part.bytes) > 0 {
			fmt.Fprintf(out, "%s%s %x\n", indent, part.name, part.bytes)
		}
	}
	for _, child := range c.Children {
		fmt.Fprintf(out, "%schild\n", indent)
		writeColumn(out, child, indent+"  ")
	}
}

func TestDecodeColumnsRefuses(t *testing.T) {
	typ := &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	num := &rowdata.Type{Root: rowdata.Int}
	list := &rowdata.Type{Root: rowdata.Array, Elem: num}
	enc := func(c *sluicev1.Column) []byte {
		b, err := proto.Marshal(&sluicev1.Columns{Columns: []*sluicev1.Column{c}})
		require.NoError(t, err)
		return b
	}
	offs := func(x ...byte) (b []byte) {
		for _, o := range x {
			b = append(b, o, 0, 0, 0)
		}
		return b
	}
	for name, tc := range map[string]struct {
		typ *rowdata.Type
		n   int
		b   []byte
	}{
		"too few columns":      {num, 0, nil},
		"too many columns":     {num, 0, append(enc(&sluicev1.Column{}), enc(&sluicev1.Column{})...)},
		"short fixed":          {num, 2, enc(&sluicev1.Column{Fixed: []byte{1, 2, 3, 4}})},
		"short validity":       {num, 1, enc(&sluicev1.Column{Fixed: []byte{1, 2, 3, 4}, Valid: []byte{1, 1}})},
		"no offsets":           {typ, 1, enc(&sluicev1.Column{Data: []byte("x")})},
		"offsets fall":         {typ, 2, enc(&sluicev1.Column{Offsets: offs(0, 2, 1), Data: []byte("x")})},
		"offsets begin late":   {typ, 1, enc(&sluicev1.Column{Offsets: offs(1, 1), Data: []byte("x")})},
		"offsets end early":    {typ, 1, enc(&sluicev1.Column{Offsets: offs(0, 1), Data: []byte("xy")})},
		"data without rows":    {typ, 0, enc(&sluicev1.Column{Data: []byte("xy")})},
		"list without element": {list, 1, enc(&sluicev1.Column{Offsets: offs(0, 1)})},
		"short list":           {list, 1, enc(&sluicev1.Column{Offsets: offs(0, 9), Children: []*sluicev1.Column{{Fixed: []byte{1, 2, 3, 4}}}})},
		"no message":           {num, 1, []byte{0xff}},
		"cut off":              {num, 1, enc(&sluicev1.Column{Fixed: []byte{1, 2, 3, 4}})[:5]},
	} {
		err := encode.DecodeColumns(tc.b, tc.n, []*rowdata.Vector{rowdata.NewVector(tc.typ, 0)})
		require.ErrorIs(t, err, encode.ErrCorrupt, name)
	}
}

func FuzzDecodeColumns(f *testing.F) {
	_, b := golden(f)
	f.Add(encode.AppendColumns(nil, b.Cols, 0, b.N), uint16(b.N))
	f.Add(encode.AppendColumns(nil, b.Cols, 0, 1), uint16(1))
	types := typesOf(f)
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		var into []*rowdata.Vector
		for _, typ := range types {
			into = append(into, rowdata.NewVector(typ, 0))
		}
		if encode.DecodeColumns(data, int(n), into) != nil {
			return
		}
		again := encode.AppendColumns(nil, into, 0, int(n))
		var twice []*rowdata.Vector
		for _, typ := range types {
			twice = append(twice, rowdata.NewVector(typ, 0))
		}
		require.NoError(t, encode.DecodeColumns(again, int(n), twice))
		for c := range into {
			equalVectors(t, into[c], twice[c], 0, int(n))
		}
	})
}

func orders(n int) *rowdata.Batch {
	row := &rowdata.RowType{}
	for i, c := range []string{"order_id BIGINT NOT NULL", "user_id BIGINT", "status STRING", "amount DECIMAL(10, 2)", "ts TIMESTAMP(3)", "dt STRING"} {
		name, typ, _ := strings.Cut(c, " ")
		t, err := rowdata.ParseType(typ)
		if err != nil {
			panic(err)
		}
		row.Fields = append(row.Fields, rowdata.Field{ID: i, Name: name, Type: t})
	}
	b := rowdata.NewBatch(row, n)
	for i := range n {
		b.Cols[0].AppendI64(1_000_000 + int64(i)*3)
		b.Cols[1].AppendI64(int64(i) % 20_000)
		b.Cols[2].AppendString([]string{"CREATED", "PAID", "PACKED", "SHIPPED"}[i%4])
		b.Cols[3].AppendI64(100 + int64(i)*7919%9_999_900)
		b.Cols[4].AppendI64(1_764_000_000_000 + int64(i)*math.MaxInt8)
		b.Cols[5].AppendString("2026-11-28")
		b.CloseRow()
	}
	return b
}

func BenchmarkAppend(b *testing.B) {
	batch := orders(4096)
	enc := rowdata.NewJSONEncoder(batch.Type.Fields)
	for name, fn := range map[string]func(dst []byte, from, to int) []byte{
		"columns": func(dst []byte, from, to int) []byte { return encode.AppendColumns(dst, batch.Cols, from, to) },
		"json":    func(dst []byte, from, to int) []byte { return encode.AppendJSONRows(dst, enc, batch.Cols, from, to) },
	} {
		for _, rows := range []int{1, 100, 1024} {
			b.Run(fmt.Sprintf("form=%s/rows=%d", name, rows), func(b *testing.B) {
				b.ReportAllocs()
				var dst []byte
				n := 0
				for b.Loop() {
					dst = dst[:0]
					for at := 0; at+rows <= batch.N; at += rows {
						dst = fn(dst, at, at+rows)
						n += rows
					}
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
