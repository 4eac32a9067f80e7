package avrofile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/internal/ocf"
	"sluice/paimon/rowdata"
)

func write(t testing.TB, fields []rowdata.Field, b *rowdata.Batch, opts Options) ([]byte, []rowdata.ColumnStats) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, fields, opts)
	require.NoError(t, err)
	for at := 0; at < b.N; {
		to := min(b.N, at+137)
		require.NoError(t, w.Write(b.Cols, at, to))
		at = to
	}
	size := w.Size()
	stats, err := w.Close()
	require.NoError(t, err)
	if opts.Compression == "none" {
		require.LessOrEqual(t, size, int64(out.Len()))
	}
	return out.Bytes(), stats
}

func read(t testing.TB, file []byte, want []rowdata.Field, opts ReadOptions) *rowdata.Batch {
	t.Helper()
	r, err := Open(bytes.NewReader(file), int64(len(file)), want, opts)
	require.NoError(t, err)
	defer r.Close()
	all, b := rowdata.NewBatch(&rowdata.RowType{Fields: want}, 0), rowdata.NewBatch(&rowdata.RowType{Fields: want}, 0)
	for {
		n, err := r.Next(b.Cols)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		require.Positive(t, n)
		b.N = n
		for _, c := range b.Cols {
			require.Equal(t, n, c.Len())
		}
		all.AppendRange(b, 0, n)
	}
}

func requireEqual(t testing.TB, want, got *rowdata.Batch) {
	t.Helper()
	require.Equal(t, want.N, got.N)
	for c := range want.Cols {
		for i := range want.N {
			if !rowdata.Equal(want.Cols[c], i, got.Cols[c], i) {
				t.Fatalf("row %d of %s %s: want %s, got %s", i, want.Type.Fields[c].Name, want.Cols[c].Type,
					rowdata.AppendJSON(nil, want.Cols[c], i), rowdata.AppendJSON(nil, got.Cols[c], i))
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	fields := everyType()
	for _, codec := range []string{"", "zstd", "zstandard", "snappy", "deflate", "none", "null"} {
		for _, rows := range []int{0, 1, 700} {
			t.Run(fmt.Sprintf("%s/%d", codec, rows), func(t *testing.T) {
				b := randomBatch(rand.New(rand.NewPCG(1, uint64(rows))), fields, rows)
				file, _ := write(t, fields, b, Options{Compression: codec, BlockBytes: 5000})
				requireEqual(t, b, read(t, file, fields, ReadOptions{BatchRows: 100}))
				r, err := Open(bytes.NewReader(file), int64(len(file)), nil, ReadOptions{})
				require.NoError(t, err)
				require.Equal(t, int64(rows), r.Rows())
			})
		}
	}
}

// TestSchemaOfGolden compares the schema of each Avro data file of the original
// with ours for the same columns: they are the same text.
func TestSchemaOfGolden(t *testing.T) {
	tables := map[string]bool{}
	for _, name := range goldenFiles(t) {
		table := filepath.Dir(filepath.Dir(name))
		if filepath.Base(filepath.Dir(table)) == "evolution-append-orc" {
			continue // several schemas
		}
		tables[table] = true
		var schema struct {
			Fields      []rowdata.Field
			PrimaryKeys []string
		}
		text, err := os.ReadFile(filepath.Join(table, "schema", "schema-0"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &schema))
		fields := physical(schema.Fields, schema.PrimaryKeys)
		want, err := schemaJSON(fields)
		require.NoError(t, err)

		data, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := ocf.NewBytesReader(data)
		require.NoError(t, err)
		require.Equal(t, string(file.SchemaText()), want, name)

		// What we write of what we read is read the same.
		b := read(t, data, fields, ReadOptions{})
		require.Positive(t, b.N)
		again, _ := write(t, fields, b, Options{})
		requireEqual(t, b, read(t, again, fields, ReadOptions{}))
	}
	require.GreaterOrEqual(t, len(tables), 5)
}

func goldenFiles(t testing.TB) []string {
	names, err := filepath.Glob("../../../testdata/golden/*/table/bucket-*/*.avro")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

// physical returns the columns of a data file of a primary-key or append table.
func physical(fields []rowdata.Field, key []string) []rowdata.Field {
	var out []rowdata.Field
	for _, k := range key {
		for _, f := range fields {
			if f.Name == k {
				f.Name = "_KEY_" + k
				out = append(out, f)
			}
		}
	}
	if len(key) > 0 {
		out = append(out, rowdata.Field{Name: "_SEQUENCE_NUMBER", Type: &rowdata.Type{Root: rowdata.BigInt, NotNull: true}},
			rowdata.Field{Name: "_VALUE_KIND", Type: &rowdata.Type{Root: rowdata.TinyInt, NotNull: true}})
	}
	return append(out, fields...)
}

// TestRecordNames has nested types whose records the original names like this.
func TestRecordNames(t *testing.T) {
	num := &rowdata.Type{Root: rowdata.Int}
	row := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{Name: "p", Type: num}}}
	for _, c := range []struct {
		typ  *rowdata.Type
		want string
	}{
		{
			&rowdata.Type{Root: rowdata.Map, Key: num, Elem: &rowdata.Type{Root: rowdata.Map, Key: num, Elem: num}},
			`["null",{"type":"array","items":{"type":"record","name":"record_m1","fields":[{"name":"key","type":["null","int"]},{"name":"value","type":["null",{"type":"array","items":{"type":"record","name":"record_m1_value","fields":[{"name":"key","type":["null","int"]},{"name":"value","type":["null","int"],"default":null}]},"logicalType":"map"}],"default":null}]},"logicalType":"map"}]`,
		},
		{
			&rowdata.Type{Root: rowdata.Map, Key: row, Elem: num},
			`["null",{"type":"array","items":{"type":"record","name":"record_m1","fields":[{"name":"key","type":["null",{"type":"record","name":"record_m1_key","fields":[{"name":"p","type":["null","int"],"default":null}]}]},{"name":"value","type":["null","int"],"default":null}]},"logicalType":"map"}]`,
		},
		{
			&rowdata.Type{Root: rowdata.Map, Key: &rowdata.Type{Root: rowdata.Char, Length: 3}, Elem: row},
			`["null",{"type":"map","values":["null",{"type":"record","name":"record_m1","fields":[{"name":"p","type":["null","int"],"default":null}]}]}]`,
		},
		{
			&rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Array, Elem: row}},
			`["null",{"type":"array","items":["null",{"type":"array","items":["null",{"type":"record","name":"record_m1","fields":[{"name":"p","type":["null","int"],"default":null}]}]}]}]`,
		},
		{
			&rowdata.Type{Root: rowdata.Map, NotNull: true, Key: num.AsNotNull(), Elem: num.AsNotNull()},
			`{"type":"array","items":{"type":"record","name":"record_m1","fields":[{"name":"key","type":"int"},{"name":"value","type":"int"}]},"logicalType":"map"}`,
		},
	} {
		got, err := schemaJSON([]rowdata.Field{{Name: "m1", Type: c.typ}})
		require.NoError(t, err)
		def := `,"default":null`
		if c.typ.NotNull {
			def = ""
		}
		require.Equal(t, `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[{"name":"m1","type":`+c.want+def+`}]}`, got)
	}
}

// TestRefusedTypes are those that the original refuses too.
func TestRefusedTypes(t *testing.T) {
	num := &rowdata.Type{Root: rowdata.Int}
	row := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{Name: "b", Type: num}}}
	for _, fields := range [][]rowdata.Field{
		{{Name: "c", Type: &rowdata.Type{Root: rowdata.Timestamp, Precision: 9}}},
		{{Name: "c", Type: &rowdata.Type{Root: rowdata.TimestampLTZ, Precision: 7}}},
		{{Name: "c", Type: &rowdata.Type{Root: rowdata.Time, Precision: 6}}},
		{{Name: "c", Type: &rowdata.Type{Root: rowdata.Variant}}},
		{{Name: "c", Type: &rowdata.Type{Root: rowdata.Multiset, Elem: num}}},
		{{Name: "c", Type: &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Timestamp, Precision: 9}}}},
		{{Name: "a-b", Type: num}},
		{{Name: "1a", Type: num}},
		{{Name: "", Type: num}},
		{{Name: "m", Type: &rowdata.Type{Root: rowdata.Map, Key: num, Elem: row}}, {Name: "m_value", Type: row}}, // both record_m_value
	} {
		_, err := NewWriter(io.Discard, fields, Options{})
		var unsupported *UnsupportedTypeError
		require.ErrorAs(t, err, &unsupported, "%v", fields)
	}
	_, err := NewWriter(io.Discard, []rowdata.Field{{Name: "名é_1", Type: num}}, Options{})
	require.NoError(t, err)
	_, err = NewWriter(io.Discard, []rowdata.Field{{Name: "a", Type: num}}, Options{Compression: "lzo"})
	require.ErrorContains(t, err, `"lzo"`)
}

func TestWriteNullRefused(t *testing.T) {
	num := &rowdata.Type{Root: rowdata.Int, NotNull: true}
	row := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{Name: "x", Type: num}}}
	fields := []rowdata.Field{{Name: "r", Type: row}}
	b := rowdata.NewBatch(&rowdata.RowType{Fields: fields}, 1)
	b.Cols[0].Children[0].AppendNull()
	b.Cols[0].CloseStruct()
	w, err := NewWriter(io.Discard, fields, Options{})
	require.NoError(t, err)
	var null *NullError
	require.ErrorAs(t, w.Write(b.Cols, 0, 1), &null)
	require.Equal(t, "r.x", null.Column)
	_, err = w.Close()
	require.ErrorAs(t, err, &null)
}

// TestProjection reads some columns, in another order, one that the file does
// not have, and nested members of a subset.
func TestProjection(t *testing.T) {
	fields := everyType()
	b := randomBatch(rand.New(rand.NewPCG(3, 3)), fields, 300)
	file, _ := write(t, fields, b, Options{BlockBytes: 2000})
	row := fields[len(fields)-2]
	part := *row.Type
	part.Fields = []rowdata.Field{part.Fields[2], {Name: "new", Type: &rowdata.Type{Root: rowdata.Double}}, part.Fields[0]}
	want := []rowdata.Field{fields[12], {Name: "none", Type: &rowdata.Type{Root: rowdata.Int}}, {Name: row.Name, Type: &part}, fields[3]}
	got := read(t, file, want, ReadOptions{BatchRows: 64})
	require.Equal(t, 300, got.N)
	src := b.Cols[len(fields)-2]
	for i := range got.N {
		require.True(t, rowdata.Equal(b.Cols[12], i, got.Cols[0], i))
		require.True(t, got.Cols[1].IsNull(i))
		require.True(t, rowdata.Equal(b.Cols[3], i, got.Cols[3], i))
		require.Equal(t, src.IsNull(i), got.Cols[2].IsNull(i))
		require.True(t, rowdata.Equal(src.Children[2], i, got.Cols[2].Children[0], i))
		require.True(t, got.Cols[2].Children[1].IsNull(i))
		require.True(t, rowdata.Equal(src.Children[0], i, got.Cols[2].Children[2], i))
	}
}

func TestSkip(t *testing.T) {
	fields := everyType()
	b := randomBatch(rand.New(rand.NewPCG(4, 4)), fields, 500)
	file, _ := write(t, fields, b, Options{BlockBytes: 3000})
	for _, skip := range []int64{0, 1, 50, 333, 499, 500, 501} {
		r, err := Open(bytes.NewReader(file), int64(len(file)), fields[:5], ReadOptions{BatchRows: 1000})
		require.NoError(t, err)
		require.NoError(t, r.Skip(skip/2))
		require.NoError(t, r.Skip(skip-skip/2))
		got := rowdata.NewBatch(&rowdata.RowType{Fields: fields[:5]}, 0)
		n, err := r.Next(got.Cols)
		if skip >= 500 {
			require.ErrorIs(t, err, io.EOF)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, 500-int(skip), n)
		for i := range n {
			require.True(t, rowdata.Equal(b.Cols[4], i+int(skip), got.Cols[4], i))
		}
	}
}

// file makes a container of one block.
func container(t testing.TB, schema string, rows int, body []byte) []byte {
	var out bytes.Buffer
	w, err := ocf.NewWriter(&out, schema, ocf.WriterOptions{})
	require.NoError(t, err)
	require.NoError(t, w.WriteBlock(rows, body))
	return out.Bytes()
}

// TestForeignSchemas reads what others than the original may write.
func TestForeignSchemas(t *testing.T) {
	record := func(typ string) string {
		return `{"type":"record","name":"r","fields":[{"name":"c","type":` + typ + `}]}`
	}
	for _, c := range []struct{ name, schema, body, typ, want string }{
		{"int as BIGINT", record(`"int"`), "\x03", "BIGINT", "-2"},
		{"long as INT", record(`"long"`), "\x03", "INT", "-2"},
		{"float as DOUBLE", record(`"float"`), "\x00\x00\xc0\x3f", "DOUBLE", "1.5"},
		{"null last", record(`["string","null"]`), "\x00\x02a", "STRING", `"a"`},
		{"null last, null", record(`["string","null"]`), "\x02", "STRING", `null`},
		{"always null", record(`"null"`), "x", "STRING", `null`},
		{"bytes as STRING", record(`"bytes"`), "\x02a", "STRING", `"a"`},
		{"row in a union", `["null",` + record(`"int"`) + `]`, "\x02\x06", "INT", "3"},
		{"fixed decimal", record(`{"type":"fixed","name":"f","size":3,"logicalType":"decimal","precision":6,"scale":2}`), "\xff\xff\x9c", "DECIMAL(6,2)", `"-1.00"`},
		{"wide decimal", record(`{"type":"fixed","name":"f","size":20,"logicalType":"decimal","precision":20,"scale":2}`), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x9c", "DECIMAL(20,2)", `"-1.00"`},
		{"fixed as BINARY", record(`{"type":"fixed","name":"f","size":2}`), "ab", "BINARY(2)", `"YWI="`},
		{"micros as millis", record(`{"type":"long","logicalType":"timestamp-micros"}`), "\x01", "TIMESTAMP(3)", `"1969-12-31T23:59:59.999"`},
		{"millis as micros", record(`{"type":"long","logicalType":"timestamp-millis"}`), "\x01", "TIMESTAMP(6)", `"1969-12-31T23:59:59.999000"`},
		{"nanos", record(`{"type":"long","logicalType":"timestamp-nanos"}`), "\x01", "TIMESTAMP(9)", `"1969-12-31T23:59:59.999999999"`},
		{"array blocks with sizes", record(`{"type":"array","items":"int"}`), "\x03\x04\x02\x04\x02\x06\x00", "ARRAY<INT>", "[1,2,3]"},
		{
			"multiset of pairs", record(`{"type":"array","items":{"type":"record","name":"p","fields":[{"name":"value","type":"int"},{"name":"extra","type":"string"},{"name":"key","type":"int"}]}}`),
			"\x02\x04\x02x\x0e\x00", "MULTISET<INT>", "[[7,2]]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var typ *rowdata.Type
			switch c.typ {
			case "ARRAY<INT>":
				typ = &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Int}}
			case "MULTISET<INT>":
				typ = &rowdata.Type{Root: rowdata.Multiset, Elem: &rowdata.Type{Root: rowdata.Int}}
			default:
				var err error
				typ, err = rowdata.ParseType(c.typ)
				require.NoError(t, err)
			}
			file := container(t, c.schema, 1, []byte(c.body))
			b := read(t, file, []rowdata.Field{{Name: "c", Type: typ}}, ReadOptions{})
			require.Equal(t, 1, b.N)
			require.Equal(t, c.want, string(rowdata.AppendJSON(nil, b.Cols[0], 0)))
		})
	}
}

func TestMismatch(t *testing.T) {
	num, str := &rowdata.Type{Root: rowdata.Int}, &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	for _, c := range []struct {
		schema string
		typ    *rowdata.Type
	}{
		{`"string"`, num},
		{`"int"`, str},
		{`["null","int","string"]`, num},
		{`"boolean"`, num},
		{`"int"`, &rowdata.Type{Root: rowdata.Boolean}},
		{`{"type":"array","items":"int"}`, num},
		{`{"type":"array","items":"string"}`, &rowdata.Type{Root: rowdata.Array, Elem: num}},
		{`{"type":"bytes","logicalType":"decimal","precision":9,"scale":3}`, &rowdata.Type{Root: rowdata.Decimal, Precision: 9, Scale: 2}},
		{`{"type":"map","values":"int"}`, &rowdata.Type{Root: rowdata.Map, Key: num, Elem: num}},
		{`"long"`, &rowdata.Type{Root: rowdata.Timestamp, Precision: 9}},
	} {
		file := container(t, `{"type":"record","name":"r","fields":[{"name":"c","type":`+c.schema+`}]}`, 1, []byte("\x00"))
		_, err := Open(bytes.NewReader(file), int64(len(file)), []rowdata.Field{{Name: "c", Type: c.typ}}, ReadOptions{})
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch, c.schema)
	}
}

func TestCorrupt(t *testing.T) {
	num := &rowdata.Type{Root: rowdata.Int}
	str := &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	list := &rowdata.Type{Root: rowdata.Array, Elem: num}
	for name, c := range map[string]struct {
		schema, body string
		typ          *rowdata.Type
	}{
		"integer without end":   {`"int"`, "\xff", num},
		"int of 64 bits":        {`"int"`, "\xff\xff\xff\xff\xff\x01", num},
		"string beyond the end": {`"string"`, "\x10ab", str},
		"negative length":       {`"string"`, "\x01ab", str},
		"no such branch":        {`["null","int"]`, "\x04\x02", num},
		"list beyond the end":   {`{"type":"array","items":"int"}`, "\xfe\xff\xff\xff\x0f", list},
		"decimal of no bytes":   {`{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`, "\x00", &rowdata.Type{Root: rowdata.Decimal, Precision: 9, Scale: 2}},
		"decimal of 9 bytes":    {`{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`, "\x12\x01\x02\x03\x04\x05\x06\x07\x08\x09", &rowdata.Type{Root: rowdata.Decimal, Precision: 9, Scale: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			file := container(t, `{"type":"record","name":"r","fields":[{"name":"c","type":`+c.schema+`}]}`, 1, []byte(c.body))
			r, err := Open(bytes.NewReader(file), int64(len(file)), []rowdata.Field{{Name: "c", Type: c.typ}}, ReadOptions{})
			require.NoError(t, err)
			_, err = r.Next([]*rowdata.Vector{rowdata.NewVector(c.typ, 0)})
			require.ErrorIs(t, err, ErrCorrupt)
			_, again := r.Next([]*rowdata.Vector{rowdata.NewVector(c.typ, 0)})
			require.Equal(t, err, again)
		})
	}
	for _, schema := range []string{
		`{"type":"array","items":"null"}`,
		`{"type":"array","items":{"type":"fixed","name":"f","size":0}}`,
		`{"type":"record","name":"x","fields":[]}`,
		`{"type":"record","name":"x","fields":[{"name":"x","type":"x"}]}`,
	} {
		file := container(t, `{"type":"record","name":"r","fields":[{"name":"c","type":`+schema+`}]}`, 1, []byte("\x00"))
		_, err := Open(bytes.NewReader(file), int64(len(file)), nil, ReadOptions{})
		require.ErrorIs(t, err, ErrCorrupt, schema)
	}
	_, err := Open(bytes.NewReader([]byte("PAR1")), 4, nil, ReadOptions{})
	require.ErrorIs(t, err, ErrCorrupt)
}

// TestStats has what the original collects: no bounds of binaries and nested
// columns, NaN as the greatest number.
func TestStats(t *testing.T) {
	fields := everyType()
	b := randomBatch(rand.New(rand.NewPCG(5, 5)), fields, 400)
	off := make([]bool, len(fields))
	off[3] = true
	_, stats := write(t, fields, b, Options{NoStats: off})
	require.Len(t, stats, len(fields))
	for c, v := range b.Cols {
		s, typ := stats[c], fields[c].Type
		if c == 3 {
			require.Equal(t, rowdata.ColumnStats{Nulls: -1}, s)
			continue
		}
		require.Equal(t, int64(v.NullCount()), s.Nulls)
		if typ.IsNested() || typ.IsBinary() {
			require.Nil(t, s.Min)
			require.Nil(t, s.Max)
			continue
		}
		least, most := -1, -1
		for i := range b.N {
			if v.IsNull(i) {
				continue
			}
			if least < 0 || rowdata.Compare(v, i, v, least) < 0 {
				least = i
			}
			if most < 0 || rowdata.Compare(v, i, v, most) > 0 {
				most = i
			}
		}
		require.True(t, rowdata.Equal(v, least, s.Min, 0), "minimum of %s", typ)
		require.True(t, rowdata.Equal(v, most, s.Max, 0), "maximum of %s", typ)
	}
	for _, x := range []float64{math.Inf(-1), -1, math.Copysign(0, -1), 0, 1e-300, math.MaxFloat64, math.Inf(1)} {
		require.Equal(t, math.Float64bits(x), math.Float64bits(floatOf(floatOrder(x))))
	}
	require.Equal(t, uint64(0x7ff8000000000000), math.Float64bits(floatOf(floatOrder(math.NaN()))))

	all := rowdata.NewBatch(&rowdata.RowType{Fields: fields[:1]}, 1)
	all.Cols[0].AppendNull()
	all.N = 1
	_, stats = write(t, fields[:1], all, Options{})
	require.Equal(t, []rowdata.ColumnStats{{Nulls: 1}}, stats)
}

func TestWriterErrors(t *testing.T) {
	fields := []rowdata.Field{{Name: "c", Type: &rowdata.Type{Root: rowdata.Int}}}
	broken := &failAfter{left: 200}
	w, err := NewWriter(broken, fields, Options{Compression: "none", BlockBytes: 50})
	require.NoError(t, err)
	b := randomBatch(rand.New(rand.NewPCG(6, 6)), fields, 1000)
	err = w.Write(b.Cols, 0, b.N)
	require.ErrorIs(t, err, io.ErrShortWrite)
	_, err = w.Close()
	require.ErrorIs(t, err, io.ErrShortWrite)
}

type failAfter struct{ left int }

func (f *failAfter) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func FuzzReader(f *testing.F) {
	all := everyType()
	fields := []rowdata.Field{all[4], all[12], all[len(all)-2]}
	b := randomBatch(rand.New(rand.NewPCG(7, 7)), fields, 20)
	for _, codec := range []string{"none", "snappy", "zstd"} {
		file, _ := write(f, fields, b, Options{Compression: codec, BlockBytes: 1000})
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Open(bytes.NewReader(file), int64(len(file)), fields, ReadOptions{BatchRows: 16})
		if err != nil {
			return
		}
		got := rowdata.NewBatch(&rowdata.RowType{Fields: fields}, 0)
		for rows := 0; rows < 1000; {
			n, err := r.Next(got.Cols)
			if err != nil {
				break
			}
			for _, c := range got.Cols {
				if c.SetLen(n); c.Len() != n {
					t.Fatal("vector of another length")
				}
			}
			rows += n
		}
		if r, err = Open(bytes.NewReader(file), int64(len(file)), fields, ReadOptions{}); err == nil {
			r.Skip(10)
			r.Rows()
		}
	})
}

// FuzzRows fuzzes the bodies of blocks alone: the container around them costs
// more than they do.
func FuzzRows(f *testing.F) {
	fields := everyType()
	text, err := schemaJSON(fields)
	require.NoError(f, err)
	schema, err := ocf.ParseSchema([]byte(text))
	require.NoError(f, err)
	var row decoder
	require.NoError(f, row.members(schema, fields, ""))
	t := (&rowdata.RowType{Fields: fields}).AsType().AsNotNull()
	r := rand.New(rand.NewPCG(8, 8))
	enc := newEncoder(t, "")
	for range 5 {
		v := rowdata.NewVector(t, 1)
		appendRandom(r, v, 0)
		var bad error
		f.Add(enc.append(nil, v, 0, &bad))
		require.NoError(f, bad)
	}
	f.Fuzz(func(t2 *testing.T, body []byte) {
		decode := func(body []byte) (*rowdata.Vector, error) {
			v := rowdata.NewVector(t, 1)
			var c ocf.Decoder
			c.Reset(body)
			if row.record(&c, v) {
				v.CloseStruct()
			}
			return v, c.Err()
		}
		v, err := decode(body)
		if err != nil {
			return
		}
		v.SetLen(1) // panics if a child is of another length
		var bad error
		again := enc.append(nil, v, 0, &bad)
		require.NoError(t2, bad)
		w, err := decode(again)
		require.NoError(t2, err)
		require.True(t2, rowdata.Equal(v, 0, w, 0))
		var c ocf.Decoder
		c.Reset(body)
		c.Skip(schema)
		require.NoError(t2, c.Err())
	})
}
