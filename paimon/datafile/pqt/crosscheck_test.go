package pqt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// entry is a value of a leaf column with its levels, as text that can be compared.
type entry struct {
	rep, def int
	value    string
}

// shredded takes rows apart into the entries of each leaf.
func shredded(t testing.TB, fields []rowdata.Field, cols []*rowdata.Vector) map[string][]entry {
	t.Helper()
	w, err := NewWriter(io.Discard, fields, Options{NoDelta: true, NoDictionary: true, PageRows: math.MaxInt32, PageBytes: pageBytesMax / 4})
	require.NoError(t, err)
	require.NoError(t, w.Write(cols, 0, cols[0].Len()))
	leaves := map[string][]entry{}
	for _, c := range w.columns {
		next := c.texts()
		entries := make([]entry, c.entries)
		for i := range entries {
			e := &entries[i]
			e.def = int(c.maxDef)
			if c.maxRep > 0 {
				e.rep = int(c.rep[i])
			}
			if c.hasDef {
				e.def = int(c.def[i])
			}
			if e.def == int(c.maxDef) {
				e.value = next()
			}
		}
		leaves[c.node.path] = entries
	}
	return leaves
}

// texts returns a function that gives the values of the open page one by one.
func (c *column) texts() func() string {
	i := -1
	raw := c.data[c.headBytes():]
	return func() string {
		i++
		switch c.class {
		case classBool:
			return fmt.Sprint(c.i32[i] != 0)
		case classI32, classDecimal32:
			return fmt.Sprint(c.i32[i])
		case classI64:
			return fmt.Sprint(c.i64[i])
		case classF32:
			return fmt.Sprintf("%#x", math.Float32bits(c.f32[i]))
		case classF64:
			return fmt.Sprintf("%#x", math.Float64bits(c.f64[i]))
		case classI128:
			return fmt.Sprintf("%x", c.i128[i].AppendBytes(nil, int(c.elem.typeLength)))
		case classNanos:
			b := c.data[12*i : 12*i+12]
			return int96Text(int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint32(b[8:]))
		}
		n := binary.LittleEndian.Uint32(raw)
		s := string(raw[4 : 4+n])
		raw = raw[4+n:]
		return s
	}
}

// int96Text is the same for all forms of a timestamp: nanoseconds since 1970.
func int96Text(nanos int64, day uint32) string {
	days := int64(int32(day)) - julianEpoch
	secs := floorDiv(nanos, 1_000_000_000)
	return fmt.Sprintf("%d.%09d", days*86400+secs, nanos-secs*1_000_000_000)
}

// libraryEntries reads the entries of all leaves with parquet-go.
func libraryEntries(t testing.TB, file []byte) map[string][]entry {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	leaves := map[string][]entry{}
	values := make([]parquet.Value, 1000)
	for _, path := range f.Schema().Columns() {
		leaf, _ := f.Schema().Lookup(path...)
		name := dotted(path)
		for _, g := range f.RowGroups() {
			pages := g.ColumnChunks()[leaf.ColumnIndex].Pages()
			for {
				page, err := pages.ReadPage()
				if err == io.EOF {
					break
				}
				require.NoError(t, err, name)
				r := page.Values()
				for {
					n, err := r.ReadValues(values)
					for _, v := range values[:n] {
						leaves[name] = append(leaves[name], entry{v.RepetitionLevel(), v.DefinitionLevel(), libraryText(v)})
					}
					if err == io.EOF {
						break
					}
					require.NoError(t, err, name)
				}
				parquet.Release(page)
			}
			require.NoError(t, pages.Close())
		}
	}
	return leaves
}

func libraryText(v parquet.Value) string {
	if v.IsNull() {
		return ""
	}
	switch v.Kind() {
	case parquet.Boolean:
		return fmt.Sprint(v.Boolean())
	case parquet.Int32:
		return fmt.Sprint(v.Int32())
	case parquet.Int64:
		return fmt.Sprint(v.Int64())
	case parquet.Float:
		return fmt.Sprintf("%#x", math.Float32bits(v.Float()))
	case parquet.Double:
		return fmt.Sprintf("%#x", math.Float64bits(v.Double()))
	case parquet.FixedLenByteArray:
		return fmt.Sprintf("%x", v.ByteArray())
	case parquet.Int96:
		x := v.Int96()
		return int96Text(int64(x[0])|int64(x[1])<<32, x[2])
	}
	return string(v.ByteArray())
}

// requireSameAsLibrary reads a file with this package and with parquet-go and
// compares every level and value.
func requireSameAsLibrary(t testing.TB, file []byte, fields []rowdata.Field) {
	t.Helper()
	ours := shredded(t, fields, readAll(t, file, fields, ReadOptions{BatchRows: 777}))
	theirs := libraryEntries(t, file)
	for path, want := range theirs {
		require.Contains(t, ours, path)
		got := ours[path]
		require.Equal(t, len(want), len(got), path)
		for i := range want {
			if want[i] != got[i] {
				require.Equal(t, want[i], got[i], "%s entry %d", path, i)
			}
		}
	}
	require.Len(t, ours, len(theirs))
}

func TestLibraryReadsOurFiles(t *testing.T) {
	requireSameAsLibrary(t, func() []byte {
		file, _ := writeAll(t, ordersFields(), makeOrders(60_000), Options{RowGroupBytes: 200_000}, 4096)
		return file
	}(), ordersFields())
	for seed := range uint64(40) {
		m := &typeMaker{r: rand.New(rand.NewPCG(seed, 2))}
		var fields []rowdata.Field
		for i := range 1 + m.r.IntN(5) {
			fields = append(fields, m.field(string(rune('a'+i)), m.r.IntN(5)))
		}
		cols := m.vectors(fields, 1+m.r.IntN(6000), m.r.IntN(14))
		file, _ := writeAll(t, fields, cols, Options{
			PageRows: 1 + m.r.IntN(900), RowGroupBytes: 2000 + m.r.Int64N(500_000),
			DictionaryBytes: 10 + m.r.IntN(5000), NoDelta: m.r.IntN(3) == 0,
		}, 1000)
		requireSameAsLibrary(t, file, fields)
	}
}
