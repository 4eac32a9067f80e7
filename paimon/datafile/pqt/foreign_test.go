package pqt

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	pqenc "github.com/parquet-go/parquet-go/encoding"
	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// libraryFile writes values with parquet-go, in a schema of one column.
func libraryFile(t testing.TB, node parquet.Node, rows []parquet.Row, opts ...parquet.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	opts = append(opts, parquet.NewSchema("s", parquet.Group{"c": node}))
	w := parquet.NewGenericWriter[any](&out, opts...)
	_, err := w.WriteRows(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestForeignEncodings reads what writers other than Java and this package make:
// every encoding of every physical type, in pages of both versions.
func TestForeignEncodings(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	text := func() []byte { return []byte(texts[r.IntN(len(texts))] + fmt.Sprint(r.IntN(300))) }
	columns := []struct {
		name      string
		node      parquet.Node
		typ       rowdata.Type
		value     func() parquet.Value
		encodings []pqenc.Encoding
	}{
		{
			"boolean", parquet.Leaf(parquet.BooleanType),
			rowdata.Type{Root: rowdata.Boolean},
			func() parquet.Value { return parquet.BooleanValue(r.IntN(3) == 0) },
			[]pqenc.Encoding{&parquet.Plain, &parquet.RLE},
		},
		{
			"int32", parquet.Leaf(parquet.Int32Type),
			rowdata.Type{Root: rowdata.Int},
			func() parquet.Value { return parquet.Int32Value(int32(r.Uint32()) >> r.IntN(32)) },
			[]pqenc.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaBinaryPacked},
		},
		{
			"int64", parquet.Leaf(parquet.Int64Type),
			rowdata.Type{Root: rowdata.BigInt},
			func() parquet.Value { return parquet.Int64Value(int64(r.Uint64()) >> r.IntN(64)) },
			[]pqenc.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaBinaryPacked},
		},
		{
			"float", parquet.Leaf(parquet.FloatType),
			rowdata.Type{Root: rowdata.Float},
			func() parquet.Value { return parquet.FloatValue(float32(r.IntN(1000)) / 8) },
			[]pqenc.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.ByteStreamSplit},
		},
		{
			"double", parquet.Leaf(parquet.DoubleType),
			rowdata.Type{Root: rowdata.Double},
			func() parquet.Value { return parquet.DoubleValue(r.NormFloat64()) },
			[]pqenc.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.ByteStreamSplit},
		},
		{
			"string", parquet.String(),
			rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength},
			func() parquet.Value { return parquet.ByteArrayValue(text()) },
			[]pqenc.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaLengthByteArray, &parquet.DeltaByteArray},
		},
		{
			"fixed", parquet.Leaf(parquet.FixedLenByteArrayType(5)),
			rowdata.Type{Root: rowdata.Binary, Length: 5},
			func() parquet.Value {
				return parquet.FixedLenByteArrayValue([]byte(fmt.Sprintf("%05d", r.IntN(500))))
			},
			[]pqenc.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaByteArray},
		},
		{
			"int96", parquet.Leaf(parquet.Int96Type),
			rowdata.Type{Root: rowdata.Timestamp, Precision: 9},
			func() parquet.Value {
				return parquet.Int96Value(deprecated.Int96{r.Uint32(), r.Uint32N(10_000), 2440588 - 500 + r.Uint32N(1000)})
			},
			[]pqenc.Encoding{&parquet.Plain, &parquet.RLEDictionary},
		},
	}
	for _, c := range columns {
		for _, enc := range c.encodings {
			for version := 1; version <= 2; version++ {
				for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd, &parquet.Lz4Raw, &parquet.Gzip} {
					name := fmt.Sprintf("%s/%s/v%d/%s", c.name, enc, version, codec)
					node := parquet.Optional(parquet.Compressed(parquet.Encoded(c.node, enc), codec))
					fields := []rowdata.Field{{Name: "c", Type: &c.typ}}
					rows := make([]parquet.Row, 5000)
					for i := range rows {
						if r.IntN(10) == 0 {
							rows[i] = parquet.Row{parquet.NullValue().Level(0, 0, 0)}
						} else {
							rows[i] = parquet.Row{c.value().Level(0, 1, 0)}
						}
					}
					file := libraryFile(t, node, rows, parquet.DataPageVersion(version), parquet.PageBufferSize(3000))
					require.NotPanics(t, func() { requireSameValues(t, name, file, fields, rows) }, name)
				}
			}
		}
	}
}

func requireSameValues(t *testing.T, name string, file []byte, fields []rowdata.Field, rows []parquet.Row) {
	t.Helper()
	cols, err := tryReadAll(file, fields, ReadOptions{BatchRows: 333})
	require.NoError(t, err, name)
	v := cols[0]
	require.Equal(t, len(rows), v.Len(), name)
	for i, row := range rows {
		x := row[0]
		require.Equal(t, x.IsNull(), v.IsNull(i), "%s row %d", name, i)
		if x.IsNull() {
			continue
		}
		var same bool
		switch x.Kind() {
		case parquet.Boolean:
			same = x.Boolean() == (v.I32[i] == 1)
		case parquet.Int32:
			same = x.Int32() == v.I32[i]
		case parquet.Int64:
			same = x.Int64() == v.I64[i]
		case parquet.Float:
			same = x.Float() == v.F32[i]
		case parquet.Double:
			same = x.Double() == v.F64[i]
		case parquet.Int96:
			millis, nanos := v.TimestampAt(i)
			b := x.Int96()
			same = int96Text(int64(b[0])|int64(b[1])<<32, b[2]) == fmt.Sprintf("%d.%09d", floorDiv(millis, 1000), (millis-floorDiv(millis, 1000)*1000)*1_000_000+int64(nanos))
		default:
			same = string(x.ByteArray()) == string(v.Bytes(i))
		}
		require.True(t, same, "%s row %d", name, i)
	}
	// Skipping must come out at the same place whatever the encoding.
	r, err := Open(bytes.NewReader(file), int64(len(file)), fields, ReadOptions{BatchRows: 100})
	require.NoError(t, err)
	batch := newVectors(fields)
	for at := 0; ; {
		skip := min(17+at%611, len(rows)-at)
		require.NoError(t, r.Skip(int64(skip)))
		at += skip
		n, err := r.Next(batch)
		if at == len(rows) {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.EqualValues(t, at, r.RowIndex())
		for i := range n {
			require.True(t, rowdata.Equal(v, at+i, batch[0], i), "%s row %d after skipping", name, at+i)
		}
		at += n
	}
}

// TestForeignTypes reads other forms of decimals, times and timestamps.
func TestForeignTypes(t *testing.T) {
	dec := func(p, s int) *rowdata.Type { return &rowdata.Type{Root: rowdata.Decimal, Precision: p, Scale: s} }
	ts := func(p int) *rowdata.Type { return &rowdata.Type{Root: rowdata.Timestamp, Precision: p} }
	fixed := func(b ...byte) parquet.Value { return parquet.FixedLenByteArrayValue(b) }
	for _, c := range []struct {
		name string
		node parquet.Node
		in   parquet.Value
		typ  *rowdata.Type
		want string
	}{
		{"decimal in INT32", parquet.Decimal(2, 9, parquet.Int32Type), parquet.Int32Value(-150), dec(9, 2), "-1.50"},
		{"decimal in INT32, read wide", parquet.Decimal(2, 9, parquet.Int32Type), parquet.Int32Value(-150), dec(30, 2), "-1.50"},
		{"decimal in INT64", parquet.Decimal(3, 18, parquet.Int64Type), parquet.Int64Value(-1), dec(9, 3), "-0.001"},
		{"decimal in INT64, read wide", parquet.Decimal(3, 18, parquet.Int64Type), parquet.Int64Value(math.MinInt64), dec(38, 3), "-9223372036854775.808"},
		{"decimal in fixed bytes", parquet.Decimal(0, 9, parquet.FixedLenByteArrayType(5)), fixed(0xff, 0xff, 0xff, 0xff, 0x85), dec(9, 0), "-123"},
		{
			"decimal in many fixed bytes", parquet.Decimal(0, 38, parquet.FixedLenByteArrayType(20)),
			fixed(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe), dec(38, 0), "-2",
		},
		{"decimal in bytes", parquet.Decimal(1, 20, parquet.ByteArrayType), parquet.ByteArrayValue([]byte{0x80}), dec(20, 1), "-12.8"},
		{"decimal in bytes, narrow", parquet.Decimal(1, 10, parquet.ByteArrayType), parquet.ByteArrayValue([]byte{0, 0xff}), dec(10, 1), "25.5"},
		{"TIMESTAMP(3) in micros", parquet.Timestamp(parquet.Microsecond), parquet.Int64Value(-1), ts(3), "1969-12-31 23:59:59.999"},
		{"TIMESTAMP(6) in millis", parquet.Timestamp(parquet.Millisecond), parquet.Int64Value(-1), ts(6), "1969-12-31 23:59:59.999000"},
		{"TIMESTAMP(6) in nanos", parquet.Timestamp(parquet.Nanosecond), parquet.Int64Value(-1), ts(6), "1969-12-31 23:59:59.999999"},
		{"TIMESTAMP(9) in nanos", parquet.Timestamp(parquet.Nanosecond), parquet.Int64Value(-1), ts(9), "1969-12-31 23:59:59.999999999"},
		{"TIMESTAMP(9) in micros", parquet.Timestamp(parquet.Microsecond), parquet.Int64Value(1_000_001), ts(9), "1970-01-01 00:00:01.000001000"},
		{"TIMESTAMP(3) in INT96", parquet.Leaf(parquet.Int96Type), parquet.Int96Value(int96(-1, 2440588)), ts(3), "1969-12-31 23:59:59.999"},
		{"TIMESTAMP(6) in INT96", parquet.Leaf(parquet.Int96Type), parquet.Int96Value(int96(-1, 2440588)), ts(6), "1969-12-31 23:59:59.999999"},
		{"TIMESTAMP(9) in INT96 of negative nanoseconds", parquet.Leaf(parquet.Int96Type), parquet.Int96Value(int96(-86_399_999_999_999, 2440588)), ts(9), "1969-12-31 00:00:00.000000001"},
		{"TIME in micros", parquet.Time(parquet.Microsecond), parquet.Int64Value(3_600_123_999), &rowdata.Type{Root: rowdata.Time, Precision: 3}, "01:00:00.123"},
		{"BIGINT in INT32", parquet.Leaf(parquet.Int32Type), parquet.Int32Value(-5), &rowdata.Type{Root: rowdata.BigInt}, "-5"},
		{"DOUBLE in FLOAT", parquet.Leaf(parquet.FloatType), parquet.FloatValue(-1.5), &rowdata.Type{Root: rowdata.Double}, "-1.5"},
	} {
		file := libraryFile(t, parquet.Required(c.node), []parquet.Row{{c.in.Level(0, 0, 0)}})
		cols, err := tryReadAll(file, []rowdata.Field{{Name: "c", Type: c.typ}}, ReadOptions{})
		require.NoError(t, err, c.name)
		require.Equal(t, 1, cols[0].Len())
		require.Equal(t, c.want, string(rowdata.AppendText(nil, cols[0], 0)), c.name)
	}
}

func int96(nanos int64, day uint32) deprecated.Int96 {
	return deprecated.Int96{uint32(nanos), uint32(nanos >> 32), day}
}

func TestMismatch(t *testing.T) {
	for _, c := range []struct {
		node parquet.Node
		in   parquet.Value
		typ  rowdata.Type
		want string
	}{
		{parquet.String(), parquet.ByteArrayValue([]byte("x")), rowdata.Type{Root: rowdata.Int}, `parquet column "c": want INT, the file has BINARY`},
		{parquet.Leaf(parquet.Int32Type), parquet.Int32Value(1), rowdata.Type{Root: rowdata.Varchar, Length: 3}, `parquet column "c": want VARCHAR(3), the file has INT32`},
		{
			parquet.Decimal(2, 9, parquet.Int32Type), parquet.Int32Value(1),
			rowdata.Type{Root: rowdata.Decimal, Precision: 9, Scale: 1},
			`parquet column "c": want DECIMAL(9, 1), the file has INT32 DECIMAL(9, 2)`,
		},
		{parquet.Leaf(parquet.Int64Type), parquet.Int64Value(1), rowdata.Type{Root: rowdata.Timestamp, Precision: 3}, `parquet column "c": want TIMESTAMP(3), the file has INT64`},
		{
			parquet.Leaf(parquet.Int64Type), parquet.Int64Value(1),
			rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.BigInt}},
			`parquet column "c": want ARRAY<BIGINT>, the file has INT64`,
		},
	} {
		file := libraryFile(t, parquet.Required(c.node), []parquet.Row{{c.in.Level(0, 0, 0)}})
		_, err := tryReadAll(file, []rowdata.Field{{Name: "c", Type: &c.typ}}, ReadOptions{})
		var m *MismatchError
		require.ErrorAs(t, err, &m)
		require.Equal(t, c.want, err.Error())
	}
}

// TestForeignLists reads the lists of older writers, in two levels and in one.
func TestForeignLists(t *testing.T) {
	row := func(levels ...[2]int) parquet.Row {
		var r parquet.Row
		for i, l := range levels {
			v := parquet.NullValue()
			if l[1] > 0 {
				v = parquet.Int32Value(int32(10 + i))
			}
			r = append(r, v.Level(l[0], l[1], 0))
		}
		return r
	}
	array := []rowdata.Field{{Name: "c", Type: &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Int}}}}
	two := parquet.Optional(parquet.Group{"array": parquet.Repeated(parquet.Leaf(parquet.Int32Type))})
	rows := []parquet.Row{row([2]int{0, 2}, [2]int{1, 2}), row([2]int{0, 1}), row([2]int{0, 0}), row([2]int{0, 2})}
	rows[1][0], rows[2][0] = parquet.NullValue().Level(0, 1, 0), parquet.NullValue().Level(0, 0, 0)
	cols := readAll(t, libraryFile(t, two, rows), array, ReadOptions{})
	require.Equal(t, []string{"[10,11]", "[]", "null", "[10]"}, jsonOf(cols[0]))

	one := parquet.Repeated(parquet.Leaf(parquet.Int32Type))
	cols = readAll(t, libraryFile(t, one, []parquet.Row{row([2]int{0, 1}, [2]int{1, 1}), row([2]int{0, 0})}), array, ReadOptions{})
	require.Equal(t, []string{"[10,11]", "[]"}, jsonOf(cols[0]))

	nested := []rowdata.Field{{Name: "c", Type: &rowdata.Type{Root: rowdata.Array, Elem: array[0].Type}}}
	_, err := tryReadAll(libraryFile(t, one, []parquet.Row{row([2]int{0, 1})}), nested, ReadOptions{})
	require.Error(t, err)
}

func jsonOf(v *rowdata.Vector) []string {
	var out []string
	for i := range v.Len() {
		out = append(out, string(rowdata.AppendJSON(nil, v, i)))
	}
	return out
}
