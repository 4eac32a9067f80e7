package pqt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func textField(name string) rowdata.Field {
	return rowdata.Field{Name: name, Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}}
}

// encodingsOf lists the encodings of the data pages of a chunk, and whether it
// has a dictionary.
func encodingsOf(t testing.TB, file []byte, c *columnChunk) (pages []encoding, dict bool) {
	t.Helper()
	pos := c.dataPageOffset
	if c.dictPageOffset > 0 {
		pos = c.dictPageOffset
	}
	for end := pos + c.totalCompressed; pos < end; {
		var h pageHeader
		n, err := decodePageHeader(file[pos:], &h)
		require.NoError(t, err)
		pos += int64(n) + int64(h.compressed)
		if h.kind == pageDictionary {
			require.Empty(t, pages, "the dictionary comes first")
			dict = true
		} else {
			require.Equal(t, pageData, h.kind)
			pages = append(pages, h.encoding)
		}
	}
	return pages, dict
}

func TestDictionaryFallback(t *testing.T) {
	fields := []rowdata.Field{textField("s")}
	write := func(opts Options, text func(i int) string) ([]encoding, bool, []byte) {
		v := rowdata.NewVector(fields[0].Type, 0)
		for i := range 5000 {
			if i%11 == 0 {
				v.AppendNull()
			} else {
				v.AppendString(text(i))
			}
		}
		opts.PageRows = 500
		file, stats := writeAll(t, fields, []*rowdata.Vector{v}, opts, 300)
		got := readAll(t, file, fields, ReadOptions{})
		requireRows(t, fields, []*rowdata.Vector{v}, 0, got)
		requireStats(t, fields, []*rowdata.Vector{v}, stats)
		requireSameAsLibrary(t, file, fields)
		pages, dict := encodingsOf(t, file, &footerOf(t, file).rowGroups[0].columns[0])
		require.Len(t, pages, 10)
		return pages, dict, file
	}
	few, dict, _ := write(Options{}, func(i int) string { return fmt.Sprint("value ", i%7) })
	require.True(t, dict)
	require.NotContains(t, few, encPlain)

	all, dict, _ := write(Options{}, func(i int) string { return fmt.Sprint("value ", i) })
	require.False(t, dict)
	require.NotContains(t, all, encRLEDictionary)

	// Few at first, then more than the dictionary may hold.
	mixed, dict, file := write(Options{DictionaryBytes: 1000}, func(i int) string { return fmt.Sprint("value ", i%7, strings.Repeat("x", i/1500*30), i/1500*(i%1000)) })
	require.True(t, dict)
	require.Equal(t, encRLEDictionary, mixed[0])
	require.Equal(t, encPlain, mixed[9])
	c := &footerOf(t, file).rowGroups[0].columns[0]
	require.Positive(t, c.dictPageOffset)

	none, dict, _ := write(Options{NoDictionary: true}, func(i int) string { return "same" })
	require.False(t, dict)
	require.NotContains(t, none, encRLEDictionary)
}

func TestIntegerEncodings(t *testing.T) {
	for _, c := range []struct {
		opts Options
		want map[string]encoding
	}{
		{Options{}, map[string]encoding{"_KEY_order_id": encDeltaBinary, "_VALUE_KIND": encRLEDictionary, "amount": encDeltaBinary, "status": encRLEDictionary}},
		{Options{NoDelta: true}, map[string]encoding{"_KEY_order_id": encPlain, "_VALUE_KIND": encRLEDictionary, "amount": encPlain, "status": encRLEDictionary}},
		{Options{NoDelta: true, NoDictionary: true}, map[string]encoding{"_KEY_order_id": encPlain, "_VALUE_KIND": encPlain, "status": encPlain}},
		{Options{NoDictionary: true}, map[string]encoding{"_KEY_order_id": encDeltaBinary, "_VALUE_KIND": encDeltaBinary, "status": encPlain}},
	} {
		file, _ := writeAll(t, ordersFields(), makeOrders(3000), c.opts, 3000)
		meta := footerOf(t, file)
		for i, f := range ordersFields() {
			if want, ok := c.want[f.Name]; ok {
				pages, _ := encodingsOf(t, file, &meta.rowGroups[0].columns[i])
				require.Equal(t, []encoding{want}, pages, f.Name)
			}
		}
	}
}

// TestSameBytes: a file depends on the rows, the fields and the options, on
// nothing else.
func TestSameBytes(t *testing.T) {
	cols := makeOrders(30_000)
	first, _ := writeAll(t, ordersFields(), cols, Options{RowGroupBytes: 100_000}, 20_000)
	again, _ := writeAll(t, ordersFields(), cols, Options{RowGroupBytes: 100_000}, 20_000)
	require.Equal(t, first, again)
	cut, _ := writeAll(t, ordersFields(), cols, Options{}, 777)
	whole, _ := writeAll(t, ordersFields(), cols, Options{}, 30_000)
	require.Equal(t, whole, cut)

	var a, b bytes.Buffer
	w, err := NewWriter(io.Discard, ordersFields(), Options{})
	require.NoError(t, err)
	require.NoError(t, w.Write(cols, 5, 500)) // dropped by Reset
	w.Reset(io.MultiWriter(&a, &b))
	require.NoError(t, w.Write(cols, 0, 30_000))
	_, err = w.Close()
	require.NoError(t, err)
	require.Equal(t, whole, a.Bytes())
	require.Equal(t, whole, b.Bytes())
	require.NotContains(t, string(whole), "data-")
}

// TestConcurrentWriters: writers share compressors, and nothing else.
func TestConcurrentWriters(t *testing.T) {
	cols := makeOrders(5000)
	want, _ := writeAll(t, ordersFields(), cols, Options{}, 500)
	var group sync.WaitGroup
	files := make([]bytes.Buffer, 8)
	for i := range files {
		group.Go(func() {
			w, err := NewWriter(&files[i], ordersFields(), Options{})
			for at := 0; at < 5000 && err == nil; at += 500 {
				err = w.Write(cols, at, at+500)
			}
			if err == nil {
				_, err = w.Close()
			}
			got, err2 := tryReadAll(files[i].Bytes(), ordersFields(), ReadOptions{})
			if err != nil || err2 != nil || got[0].Len() != 5000 {
				t.Error(err, err2)
			}
		})
	}
	group.Wait()
	for i := range files {
		require.Equal(t, want, files[i].Bytes())
	}
}

// TestHugeValue: one value of far more than a page, compressed to next to nothing.
func TestHugeValue(t *testing.T) {
	fields := []rowdata.Field{{Name: "b", Type: &rowdata.Type{Root: rowdata.Varbinary, Length: rowdata.MaxLength}}}
	v := rowdata.NewVector(fields[0].Type, 0)
	v.AppendString("small")
	v.AppendBytes(make([]byte, 70<<20))
	v.AppendString("after")
	file, stats := writeAll(t, fields, []*rowdata.Vector{v}, Options{}, 3)
	require.Less(t, len(file), 1<<20)
	got := readAll(t, file, fields, ReadOptions{})
	requireRows(t, fields, []*rowdata.Vector{v}, 0, got)
	requireStats(t, fields, []*rowdata.Vector{v}, stats)
}

func TestEmptyFile(t *testing.T) {
	file, stats := writeAll(t, ordersFields(), makeOrders(0), Options{}, 1)
	require.Len(t, stats, len(ordersFields()))
	require.Equal(t, rowdata.ColumnStats{}, stats[0])
	require.Zero(t, readAll(t, file, ordersFields(), ReadOptions{})[0].Len())
	require.Empty(t, libraryEntries(t, file))
}

func TestNullInRequired(t *testing.T) {
	in := &rowdata.Type{Root: rowdata.Int}
	for _, c := range []struct {
		typ  *rowdata.Type
		row  string
		path string
	}{
		{in.AsNotNull(), `null`, "c"},
		{&rowdata.Type{Root: rowdata.Row, NotNull: true, Fields: []rowdata.Field{{Name: "a", Type: in}}}, `null`, "c"},
		{&rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{Name: "a", Type: in.AsNotNull()}}}, `{"a":null}`, "c.a"},
		{&rowdata.Type{Root: rowdata.Array, Elem: in.AsNotNull()}, `[1,null]`, "c.list.element"},
		{&rowdata.Type{Root: rowdata.Map, Key: in, Elem: in}, `[[null,1]]`, "c.key_value.key"},
	} {
		nullable := []rowdata.Field{{Name: "c", Type: nullableAll(c.typ)}}
		b := rowdata.NewBatch(&rowdata.RowType{Fields: nullable}, 0)
		require.NoError(t, rowdata.AppendJSONRow(b, decodeJSON(t, `[`+c.row+`]`)))
		w, err := NewWriter(io.Discard, []rowdata.Field{{Name: "c", Type: c.typ}}, Options{})
		require.NoError(t, err)
		err = w.Write(b.Cols, 0, 1)
		require.ErrorIs(t, err, ErrNull)
		require.ErrorContains(t, err, fmt.Sprintf("%q", c.path))
		require.Equal(t, err, w.Write(b.Cols, 0, 1), "the error sticks")
		_, again := w.Close()
		require.Equal(t, err, again)
	}
	// A NULL row has NULL members, also where they are NOT NULL.
	typ := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{Name: "a", Type: in.AsNotNull()}}}
	v := rowdata.NewVector(typ, 0)
	v.AppendNull()
	fields := []rowdata.Field{{Name: "c", Type: typ}}
	file, _ := writeAll(t, fields, []*rowdata.Vector{v}, Options{}, 1)
	require.Equal(t, []string{"null"}, jsonOf(readAll(t, file, fields, ReadOptions{})[0]))
}

// nullableAll returns t with every position nullable.
func nullableAll(t *rowdata.Type) *rowdata.Type {
	if t == nil {
		return nil
	}
	c := *t
	c.NotNull = false
	c.Key, c.Elem = nullableAll(t.Key), nullableAll(t.Elem)
	c.Fields = nil
	for _, f := range t.Fields {
		f.Type = nullableAll(f.Type)
		c.Fields = append(c.Fields, f)
	}
	return &c
}

// failingWriter fails from a number of bytes on.
type failingWriter struct{ left int }

var errFull = errors.New("no space left")

func (w *failingWriter) Write(b []byte) (int, error) {
	n := min(len(b), w.left)
	w.left -= n
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func TestDestinationFails(t *testing.T) {
	cols := makeOrders(20_000)
	file, _ := writeAll(t, ordersFields(), cols, Options{RowGroupBytes: 30_000}, 1000)
	for left := 0; left < len(file); left += 1 + len(file)/50 {
		w, err := NewWriter(&failingWriter{left}, ordersFields(), Options{RowGroupBytes: 30_000})
		require.NoError(t, err)
		for at := 0; at < 20_000 && err == nil; at += 1000 {
			err = w.Write(cols, at, at+1000)
		}
		if err == nil {
			_, err = w.Close()
		}
		require.ErrorIs(t, err, errFull)
		_, err = w.Close()
		require.ErrorIs(t, err, errFull)
	}
}

func TestWriterMisuse(t *testing.T) {
	cols := makeOrders(10)
	for _, opts := range []Options{{Compression: "lzo"}, {ZstdLevel: 23}, {PageRows: -1}} {
		_, err := NewWriter(io.Discard, ordersFields(), opts)
		require.Error(t, err)
	}
	_, err := NewWriter(io.Discard, []rowdata.Field{{Name: "r", Type: &rowdata.Type{Root: rowdata.Row}}}, Options{})
	require.ErrorContains(t, err, `"r"`)
	open := func() *Writer {
		w, err := NewWriter(io.Discard, ordersFields(), Options{})
		require.NoError(t, err)
		return w
	}
	require.Error(t, open().Write(cols[:3], 0, 10))
	require.Error(t, open().Write(cols, 0, 11))
	require.Error(t, open().Write(cols, 4, 3))
	swapped := append([]*rowdata.Vector{}, cols...)
	swapped[0], swapped[5] = swapped[5], swapped[0]
	require.ErrorContains(t, open().Write(swapped, 0, 10), "_KEY_order_id")
	for _, typ := range []rowdata.Type{{Root: rowdata.Timestamp, Precision: 6}, {Root: rowdata.BigInt}} {
		unit := append([]*rowdata.Vector{}, cols...)
		unit[7] = rowdata.NewVector(&typ, 0)
		unit[7].AppendRange(cols[7], 0, 10)
		require.ErrorContains(t, open().Write(unit, 0, 10), `"ts"`)
	}
	w := open()
	_, err = w.Close()
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(cols, 0, 1), errClosed)
	_, err = w.Close()
	require.ErrorIs(t, err, errClosed)

	dec := []rowdata.Field{{Name: "d", Type: &rowdata.Type{Root: rowdata.Decimal, Precision: 9}}}
	v := rowdata.NewVector(dec[0].Type, 0)
	v.AppendI64(1 << 40)
	w, err = NewWriter(io.Discard, dec, Options{})
	require.NoError(t, err)
	require.ErrorContains(t, w.Write([]*rowdata.Vector{v}, 0, 1), "DECIMAL(9, 0)")
}

// TestSize: the estimate that files are rolled by is near the truth.
func TestSize(t *testing.T) {
	cols := makeOrders(200_000)
	for _, opts := range []Options{{}, {RowGroupBytes: 300_000}} {
		var out bytes.Buffer
		w, err := NewWriter(&out, ordersFields(), opts)
		require.NoError(t, err)
		last := int64(0)
		for at := 0; at < 200_000; at += 1000 {
			require.NoError(t, w.Write(cols, at, at+1000))
			if at > 20_000 { // before the first page is full, it is a guess
				require.GreaterOrEqual(t, w.Size(), last*9/10)
			}
			last = w.Size()
			require.EqualValues(t, at+1000, w.Rows())
		}
		_, err = w.Close()
		require.NoError(t, err)
		require.InEpsilon(t, out.Len(), last, 0.1)
		require.EqualValues(t, out.Len(), w.Size())
	}
}

// TestPageLimits: pages end where the options say, at the latest after one row,
// and those of all columns at the same rows.
func TestPageLimits(t *testing.T) {
	list := &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.BigInt}}
	fields := []rowdata.Field{textField("s"), {Name: "l", Type: list}, {Name: "i", Type: &rowdata.Type{Root: rowdata.BigInt}}}
	m := &typeMaker{r: rand.New(rand.NewPCG(3, 3))}
	cols := newVectors(fields)
	for i := range 3000 {
		cols[0].AppendString(strings.Repeat(string(rune('a'+i%26)), m.r.IntN(300)))
		for range m.r.IntN(100) {
			cols[1].Children[0].AppendI64(int64(m.r.Uint64()))
		}
		cols[1].CloseList()
		cols[2].AppendI64(int64(m.r.Uint64()))
	}
	file, _ := writeAll(t, fields, cols, Options{PageBytes: 10_000, PageRows: 700, NoDictionary: true, Compression: "none"}, 3000)
	g := &footerOf(t, file).rowGroups[0]
	first := must(pageIndexes(t, file, &g.columns[0]))
	for i := range fields {
		_, pages := pageIndexes(t, file, &g.columns[i])
		require.Len(t, pages, len(first))
		for p := range pages {
			require.Equal(t, first[p].firstRow, pages[p].firstRow, "page %d of %s", p, fields[i].Name)
			rows := g.numRows - pages[p].firstRow
			if p+1 < len(pages) {
				rows = pages[p+1].firstRow - pages[p].firstRow
			}
			require.LessOrEqual(t, rows, int64(700))
			require.Less(t, pages[p].size, int32(16_000), fields[i].Name)
		}
		require.Less(t, len(pages), 400)
	}
	requireRows(t, fields, cols, 0, readAll(t, file, fields, ReadOptions{}))
}

func must(_ *columnIndex, p []pageLocation) []pageLocation { return p }

// TestFieldIDs: the ids of positions that the schema has none for.
func TestFieldIDs(t *testing.T) {
	in := &rowdata.Type{Root: rowdata.Int}
	deep := &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Map, Key: in.AsNotNull(), Elem: &rowdata.Type{Root: rowdata.Array, Elem: in}}}
	row := &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{
		{ID: 23, Name: "k", Type: in}, {ID: 24, Name: "v", Type: &rowdata.Type{Root: rowdata.Map, Key: in.AsNotNull(), Elem: in}},
	}}}
	fields := []rowdata.Field{
		{ID: 10, Name: "d", Type: deep},
		{ID: 22, Name: "ar", Type: row},
		{ID: 35, Name: "ms", Type: &rowdata.Type{Root: rowdata.Multiset, Elem: in}},
		{ID: 0, Name: "v", Type: &rowdata.Type{Root: rowdata.Variant}},
	}
	file, _ := writeAll(t, fields, newVectors(fields), Options{}, 1)
	var got []string
	for _, e := range footerOf(t, file).schema {
		if e.hasFieldID {
			got = append(got, fmt.Sprintf("%s %d", e.name, e.fieldID))
		}
	}
	require.Equal(t, []string{
		"d 10", "element 536881152", "key 536860669", "value 536881153", "element 536881154",
		"ar 22", "element 536893440", "k 23", "v 24", "key 536846334", "value 536895488",
		"ms 35", "key 536835070", "value 536906752", "v 0", "value 0", "metadata 1",
	}, got)
}

// TestSchemaAsJava compares the schema in the footers of Java's files with the
// one that this package writes for the same columns.
func TestSchemaAsJava(t *testing.T) {
	for _, name := range []string{"nested-parquet", "types-append-parquet", "variant-parquet", "dedup-none"} {
		for _, p := range parquetFiles(t, goldenDir+"golden/"+name)[:1] {
			data := findFile(t, goldenDir+"golden/"+name, p[strings.LastIndex(p, "/")+1:]).data
			fields := fileFields(t, p, data)
			ours, _ := writeAll(t, fields, readAll(t, data, fields, ReadOptions{}), Options{}, 10)
			want, got := footerOf(t, data).schema, footerOf(t, ours).schema
			require.Equal(t, len(want), len(got))
			for i := range want {
				w := want[i]
				if w.name == "key_value" {
					w.converted, w.logical = convertedNone, logicalType{} // Java calls this group a map, too
				}
				require.Equal(t, w, got[i], "%s: %s", name, w.name)
			}
		}
	}
}
