package pqt

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func tryReadAll(file []byte, want []rowdata.Field, opts ReadOptions) ([]*rowdata.Vector, error) {
	r, err := Open(bytes.NewReader(file), int64(len(file)), want, opts)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all, batch := newVectors(want), newVectors(want)
	for {
		n, err := r.Next(batch)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range all {
			all[i].AppendRange(batch[i], 0, n)
		}
	}
}

func TestRoundTripOrders(t *testing.T) {
	cols := makeOrders(50_000)
	for _, codec := range []string{"none", "snappy", "gzip", "lz4", "zstd", "brotli"} {
		for _, opts := range []Options{{}, {NoDelta: true}, {NoDelta: true, NoDictionary: true}, {RowGroupBytes: 100_000, PageRows: 700}} {
			opts.Compression = codec
			file, _ := writeAll(t, ordersFields(), cols, opts, 3000)
			got := readAll(t, file, ordersFields(), ReadOptions{BatchRows: 1000})
			require.Equal(t, 50_000, got[0].Len())
			requireRows(t, ordersFields(), cols, 0, got)
		}
	}
}

func TestRoundTripRandom(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := &typeMaker{r: r}
		var fields []rowdata.Field
		for i := range 1 + r.IntN(4) {
			fields = append(fields, m.field(string(rune('a'+i)), r.IntN(5)))
		}
		rows := r.IntN(3000)
		cols := m.vectors(fields, rows, r.IntN(14))
		opts := Options{
			PageRows: 1 + r.IntN(500), PageBytes: 100 + r.IntN(20_000), RowGroupBytes: 1000 + r.Int64N(100_000),
			DictionaryBytes: 10 + r.IntN(2000), NoDelta: r.IntN(3) == 0, NoDictionary: r.IntN(3) == 0,
			Compression: []string{"none", "zstd", "snappy"}[r.IntN(3)],
		}
		file, stats := writeAll(t, fields, cols, opts, 1+r.IntN(700))
		got := readAll(t, file, fields, ReadOptions{BatchRows: 1 + r.IntN(600), WindowBytes: 1 + r.IntN(5000)})
		require.Equal(t, rows, got[0].Len(), "seed %d", seed)
		requireRows(t, fields, cols, 0, got)
		requireStats(t, fields, cols, stats)
	}
}

// requireStats compares statistics with what a look at every value says.
func requireStats(t testing.TB, fields []rowdata.Field, cols []*rowdata.Vector, stats []rowdata.ColumnStats) {
	t.Helper()
	require.Len(t, stats, len(fields))
	for c, v := range cols {
		require.EqualValues(t, v.NullCount(), stats[c].Nulls)
		lo, hi := -1, -1
		for i := range v.Len() {
			if v.IsNull(i) {
				continue
			}
			if lo < 0 || rowdata.Compare(v, i, v, lo) < 0 {
				lo = i
			}
			if hi < 0 || rowdata.Compare(v, i, v, hi) > 0 {
				hi = i
			}
		}
		if lo < 0 || fields[c].Type.IsNested() || v.Storage() == rowdata.StoreNanos {
			require.Nil(t, stats[c].Min)
			require.Nil(t, stats[c].Max)
			continue
		}
		require.True(t, rowdata.Equal(v, lo, stats[c].Min, 0), "minimum of %s", fields[c].Type)
		require.True(t, rowdata.Equal(v, hi, stats[c].Max, 0), "maximum of %s", fields[c].Type)
	}
}

// TestSkip passes over random numbers of rows, within pages, over pages and over
// row groups, with and without an offset index.
func TestSkip(t *testing.T) {
	for seed := range uint64(40) {
		m := &typeMaker{r: rand.New(rand.NewPCG(seed, 8))}
		fields := []rowdata.Field{
			{ID: 0, Name: "id", Type: &rowdata.Type{Root: rowdata.BigInt, NotNull: true}},
			m.field("b", 0), m.field("c", 3), m.field("d", 2),
			{ID: 90, Name: "s", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}},
		}
		rows := 1 + m.r.IntN(4000)
		cols := m.vectors(fields, rows, m.r.IntN(10))
		file, _ := writeAll(t, fields, cols, Options{PageRows: 1 + m.r.IntN(100), RowGroupBytes: 1000 + m.r.Int64N(300_000), DictionaryBytes: 10 + m.r.IntN(1000)}, 500)
		r, err := Open(bytes.NewReader(file), int64(len(file)), fields, ReadOptions{BatchRows: 1 + m.r.IntN(200), WindowBytes: 1 + m.r.IntN(3000)})
		require.NoError(t, err)
		for i := range r.leaves {
			r.leaves[i].src.whole = nil // read small files as large ones
		}
		batch := newVectors(fields)
		for at := 0; at < rows; {
			if m.r.IntN(2) == 0 {
				skip := m.r.IntN(1 + rows/3)
				require.NoError(t, r.Skip(int64(skip)))
				at = min(at+skip, rows)
			}
			n, err := r.Next(batch)
			if at == rows {
				require.ErrorIs(t, err, io.EOF)
				break
			}
			require.NoError(t, err, "seed %d row %d", seed, at)
			require.EqualValues(t, at, r.RowIndex())
			requireRows(t, fields, cols, at, batch)
			at += n
		}
	}
}

// countingReader counts what is read.
type countingReader struct {
	*bytes.Reader
	bytes int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(b, off)
	c.bytes += int64(n)
	return n, err
}

// TestSkipReadsLittle: pages that are passed over are not even read.
func TestSkipReadsLittle(t *testing.T) {
	m := &typeMaker{r: rand.New(rand.NewPCG(1, 8))}
	fields := []rowdata.Field{
		{ID: 0, Name: "id", Type: &rowdata.Type{Root: rowdata.BigInt}},
		{ID: 1, Name: "l", Type: &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Varchar, Length: 50}}},
	}
	cols := m.vectors(fields, 60_000, 1)
	file, _ := writeAll(t, fields, cols, Options{PageRows: 500, Compression: "none"}, 1000)
	src := &countingReader{Reader: bytes.NewReader(file)}
	r, err := Open(src, int64(len(file)), fields, ReadOptions{WindowBytes: 4096})
	require.NoError(t, err)
	src.bytes = 0
	require.NoError(t, r.Skip(59_321))
	batch := newVectors(fields)
	n, err := r.Next(batch)
	require.NoError(t, err)
	require.Equal(t, 679, n)
	requireRows(t, fields, cols, 59_321, batch)
	require.Less(t, src.bytes, int64(len(file)/10))
}

// failingReader fails from the n-th read on.
type failingReader struct {
	*bytes.Reader
	left int
}

var errNetwork = errors.New("connection reset")

func (f *failingReader) ReadAt(b []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errNetwork
	}
	return f.Reader.ReadAt(b, off)
}

// TestSourceFails: an error of the store is not taken for a corrupt file.
func TestSourceFails(t *testing.T) {
	file, _ := writeAll(t, ordersFields(), makeOrders(60_000), Options{}, 5000)
	require.Greater(t, len(file), tailBytes)
	for n := 0; ; n++ {
		src := &failingReader{bytes.NewReader(file), n}
		r, err := Open(src, int64(len(file)), ordersFields(), ReadOptions{WindowBytes: 5000})
		batch := newVectors(ordersFields())
		if err == nil {
			err = r.Skip(20_000 * int64(n%3))
		}
		for err == nil {
			_, err = r.Next(batch)
		}
		if err == io.EOF {
			require.GreaterOrEqual(t, src.left, 0)
			require.Greater(t, n, 20)
			return
		}
		require.ErrorIs(t, err, errNetwork)
		var c *CorruptFileError
		require.False(t, errors.As(err, &c))
	}
}

func TestShorterThanItShouldBe(t *testing.T) {
	file, _ := writeAll(t, ordersFields(), makeOrders(10), Options{}, 10)
	_, err := Open(bytes.NewReader(file), int64(len(file))+100, ordersFields(), ReadOptions{})
	var c *CorruptFileError
	require.ErrorAs(t, err, &c)
}

func TestKeep(t *testing.T) {
	cols := makeOrders(50_000)
	file, _ := writeAll(t, ordersFields(), cols, Options{RowGroupBytes: 50_000, PageRows: 1000}, 1000)
	fields := []rowdata.Field{
		ordersFields()[3], ordersFields()[5],
		{Name: "new", Type: &rowdata.Type{Root: rowdata.Int}},
		{Name: "list", Type: &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Int}}},
	}
	key := cols[3].I64[33_333]
	var groups []RowGroup
	r, err := Open(bytes.NewReader(file), int64(len(file)), fields, ReadOptions{Keep: func(g RowGroup) bool {
		groups = append(groups, g)
		return g.Stats[0].Min.I64[0] <= key && key <= g.Stats[0].Max.I64[0]
	}})
	require.NoError(t, err)
	require.EqualValues(t, 50_000, r.Rows())
	batch := newVectors(fields)
	found, read := -1, 0
	for {
		n, err := r.Next(batch)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		read += n
		for i := range n {
			if batch[0].I64[i] == key {
				found = int(r.RowIndex()) + i
			}
		}
	}
	require.Equal(t, 33_333, found)
	require.Greater(t, len(groups), 5)
	require.Less(t, read, 50_000/3)
	var rows int64
	for _, g := range groups {
		require.Equal(t, rows, g.FirstRow)
		rows += g.Rows
		require.Equal(t, "CANCELLED", string(g.Stats[1].Min.Bytes(0)))
		require.EqualValues(t, 0, g.Stats[1].Nulls)
		require.Equal(t, rowdata.ColumnStats{Nulls: g.Rows}, g.Stats[2])
		require.Equal(t, rowdata.ColumnStats{Nulls: g.Rows}, g.Stats[3])
	}
	require.EqualValues(t, 50_000, rows)
}

// TestMembersByName reads nested columns as types that have other members than
// the file, in another order.
func TestMembersByName(t *testing.T) {
	in := &rowdata.Type{Root: rowdata.Int}
	text := &rowdata.Type{Root: rowdata.Varchar, Length: 99}
	file := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{ID: 2, Name: "a", Type: in}, {ID: 3, Name: "b", Type: text}, {ID: 4, Name: "c", Type: in.AsNotNull()}}}
	want := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{
		{ID: 9, Name: "z", Type: text},
		{ID: 3, Name: "b", Type: text},
		{ID: 10, Name: "y", Type: &rowdata.Type{Root: rowdata.Array, Elem: in}},
		{ID: 2, Name: "a", Type: in},
	}}
	none := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{ID: 9, Name: "z", Type: text}}}
	array := func(t *rowdata.Type) *rowdata.Type { return &rowdata.Type{Root: rowdata.Array, Elem: t} }
	mapOf := func(t *rowdata.Type) *rowdata.Type {
		return &rowdata.Type{Root: rowdata.Map, Key: in.AsNotNull(), Elem: t}
	}
	fields := []rowdata.Field{{Name: "r", Type: file}, {Name: "l", Type: array(file)}, {Name: "m", Type: mapOf(array(file))}}

	batch := rowdata.NewBatch(&rowdata.RowType{Fields: fields}, 0)
	for _, row := range []string{
		`{"r":{"a":1,"b":"x","c":2},"l":[{"a":1,"b":"x","c":2},null,{"a":null,"b":null,"c":3}],"m":[[1,[{"a":1,"b":"x","c":2}]],[2,[]],[3,null]]}`,
		`{"r":null,"l":[],"m":[]}`,
		`{"r":{"a":null,"b":null,"c":3},"l":null,"m":null}`,
	} {
		require.NoError(t, rowdata.AppendJSONRow(batch, decodeJSON(t, row)))
	}
	data, _ := writeAll(t, fields, batch.Cols, Options{}, 2)
	for _, c := range []struct {
		typ  *rowdata.Type
		want [3][]string
	}{
		{want, [3][]string{
			{`{"z":null,"b":"x","y":null,"a":1}`, `null`, `{"z":null,"b":null,"y":null,"a":null}`},
			{`[{"z":null,"b":"x","y":null,"a":1},null,{"z":null,"b":null,"y":null,"a":null}]`, `[]`, `null`},
			{`[[1,[{"z":null,"b":"x","y":null,"a":1}]],[2,[]],[3,null]]`, `[]`, `null`},
		}},
		{none, [3][]string{
			{`{"z":null}`, `null`, `{"z":null}`},
			{`[{"z":null},null,{"z":null}]`, `[]`, `null`},
			{`[[1,[{"z":null}]],[2,[]],[3,null]]`, `[]`, `null`},
		}},
	} {
		ask := []rowdata.Field{{Name: "m", Type: mapOf(array(c.typ))}, {Name: "gone", Type: array(c.typ)}, {Name: "l", Type: array(c.typ)}, {Name: "r", Type: c.typ}}
		got := readAll(t, data, ask, ReadOptions{BatchRows: 2})
		require.Equal(t, c.want[2], jsonOf(got[0]))
		require.Equal(t, []string{"null", "null", "null"}, jsonOf(got[1]))
		require.Equal(t, c.want[1], jsonOf(got[2]))
		require.Equal(t, c.want[0], jsonOf(got[3]))
		// Skipping goes by the same leaves, also the one that is there for its levels.
		r, err := Open(bytes.NewReader(data), int64(len(data)), ask, ReadOptions{})
		require.NoError(t, err)
		require.NoError(t, r.Skip(2))
		last := newVectors(ask)
		n, err := r.Next(last)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, c.want[0][2], jsonOf(last[3])[0])
	}
}

func decodeJSON(t *testing.T, s string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var x any
	require.NoError(t, d.Decode(&x))
	return x
}

func TestReaderMisuse(t *testing.T) {
	file, _ := writeAll(t, ordersFields(), makeOrders(10), Options{}, 10)
	r, err := Open(bytes.NewReader(file), int64(len(file)), ordersFields(), ReadOptions{})
	require.NoError(t, err)
	require.Error(t, r.Skip(-1))
	_, err = r.Next(newVectors(ordersFields()[:2]))
	require.Error(t, err)
	_, again := r.Next(newVectors(ordersFields()))
	require.Equal(t, err, again)

	r, err = Open(bytes.NewReader(file), int64(len(file)), ordersFields(), ReadOptions{})
	require.NoError(t, err)
	wrong := newVectors(ordersFields())
	wrong[0] = rowdata.NewVector(&rowdata.Type{Root: rowdata.Int}, 0)
	_, err = r.Next(wrong)
	require.ErrorContains(t, err, "_KEY_order_id")
	require.NoError(t, r.Close())
	_, err = r.Next(newVectors(ordersFields()))
	require.ErrorContains(t, err, "closed")

	// No columns at all: the rows are still counted.
	r, err = Open(bytes.NewReader(file), int64(len(file)), nil, ReadOptions{BatchRows: 7})
	require.NoError(t, err)
	n, err := r.Next(nil)
	require.NoError(t, err)
	require.Equal(t, 7, n)

	_, err = Open(bytes.NewReader(file), int64(len(file)), nil, ReadOptions{BatchRows: -1})
	require.Error(t, err)
}
