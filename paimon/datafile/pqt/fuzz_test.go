package pqt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// hostileFields are columns of every class, flat and nested.
func hostileFields() []rowdata.Field {
	in := &rowdata.Type{Root: rowdata.Int}
	text := &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	return []rowdata.Field{
		{ID: 0, Name: "i", Type: &rowdata.Type{Root: rowdata.BigInt}},
		{ID: 1, Name: "t", Type: &rowdata.Type{Root: rowdata.TinyInt, NotNull: true}},
		{ID: 2, Name: "s", Type: text},
		{ID: 3, Name: "d", Type: &rowdata.Type{Root: rowdata.Decimal, Precision: 30, Scale: 2}},
		{ID: 4, Name: "n", Type: &rowdata.Type{Root: rowdata.Timestamp, Precision: 9}},
		{ID: 5, Name: "f", Type: &rowdata.Type{Root: rowdata.Double}},
		{ID: 6, Name: "b", Type: &rowdata.Type{Root: rowdata.Boolean}},
		{ID: 7, Name: "l", Type: &rowdata.Type{Root: rowdata.Array, Elem: text}},
		{ID: 8, Name: "m", Type: &rowdata.Type{Root: rowdata.Map, Key: in.AsNotNull(), Elem: &rowdata.Type{
			Root:   rowdata.Row,
			Fields: []rowdata.Field{{ID: 9, Name: "a", Type: in}, {ID: 10, Name: "b", Type: &rowdata.Type{Root: rowdata.Array, Elem: in}}},
		}}},
	}
}

func hostileFile(t testing.TB, codec string) []byte {
	m := &typeMaker{r: rand.New(rand.NewPCG(6, 6))}
	fields := hostileFields()
	file, _ := writeAll(t, fields, m.vectors(fields, 300, 3), Options{Compression: codec, PageRows: 64, RowGroupBytes: 20_000}, 100)
	return file
}

// hostileRead reads whatever b is, with all that a caller may do.
func hostileRead(b []byte, rowsMax int, trust bool) error {
	fields := hostileFields()
	for _, skip := range []int64{0, 150} {
		r, err := Open(bytes.NewReader(b), int64(len(b)), fields, ReadOptions{BatchRows: 100, NoChecksums: trust, Keep: func(RowGroup) bool { return true }})
		if err != nil {
			return err
		}
		for _, l := range r.leaves {
			l.src.whole = nil
			l.src.window = 64
		}
		if err := r.Skip(skip); err != nil {
			return err
		}
		batch := newVectors(fields)
		for rows := 0; rows < rowsMax; {
			n, err := r.Next(batch)
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			rows += n
		}
	}
	return nil
}

// requireDeclared fails for an error that a hostile file must not lead to.
func requireDeclared(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var c *CorruptFileError
	var m *MismatchError
	var u *UnsupportedError
	if !errors.As(err, &c) && !errors.As(err, &m) && !errors.As(err, &u) && !errors.Is(err, errBatchBytes) && !errors.Is(err, errOpenBytes) && !errors.Is(err, errElements) {
		t.Fatalf("undeclared error %T: %v", err, err)
	}
	if c != nil && bytes.Contains([]byte(c.Error()), []byte("panic:")) {
		t.Fatal(c)
	}
}

func FuzzFile(f *testing.F) {
	for _, codec := range []string{"none", "zstd", "snappy", "gzip", "lz4"} {
		f.Add(hostileFile(f, codec))
	}
	for _, path := range []string{"golden/nested-parquet", "golden/types-append-parquet", "golden/compression-lz4"} {
		for _, p := range parquetFiles(f, goldenDir+path)[:1] {
			b, err := os.ReadFile(p)
			require.NoError(f, err)
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		requireDeclared(t, hostileRead(b, 10_000, true))
	})
}

// TestFlippedBytes changes single bytes all over files.
func TestFlippedBytes(t *testing.T) {
	for _, codec := range []string{"none", "zstd"} {
		good := hostileFile(t, codec)
		require.NoError(t, hostileRead(good, math.MaxInt, false))
		bad := make([]byte, len(good))
		for at := 0; at < len(good); at += 11 {
			copy(bad, good)
			bad[at] ^= []byte{0x01, 0x80, 0xff}[at%3]
			requireDeclared(t, hostileRead(bad, 1_000, true))
		}
		for n := 0; n < len(good); n += 101 {
			require.Error(t, hostileRead(good[:n], 1_000, false))
		}
	}
}

// TestDamageIsFound: a page whose bytes were changed is not read.
func TestDamageIsFound(t *testing.T) {
	file := hostileFile(t, "none")
	c := &footerOf(t, file).rowGroups[0].columns[0]
	file[c.dataPageOffset+c.totalCompressed-1] ^= 1
	err := hostileRead(file, math.MaxInt, false)
	require.ErrorIs(t, err, errCRC)
	var corrupt *CorruptFileError
	require.ErrorAs(t, err, &corrupt)
	require.Equal(t, "i", corrupt.Column)
	require.Equal(t, "data page", corrupt.Place)
	require.Positive(t, corrupt.Offset)
}

// FuzzPage feeds the decoder of one page with any bytes, past the checksum.
func FuzzPage(f *testing.F) {
	f.Add(byte(0), byte(0), uint16(3), []byte{2, 0, 0, 0, 6, 1, 1, 2, 3, 4})
	f.Add(byte(2), byte(5), uint16(300), appendDelta([]byte{4, 0, 0, 0, 0xd8, 4, 1, 0}, []int64{1, 2, 3}))
	f.Add(byte(6), byte(7), uint16(10), []byte{2, 0, 0, 0, 20, 1, 128, 1, 4, 3, 2, 2, 0, 0, 0, 0, 1, 2, 3})
	f.Add(byte(6), byte(8), uint16(10), []byte{2, 0, 0, 0, 20, 1, 2, 20, 1})
	f.Fuzz(func(t *testing.T, phys, enc byte, n uint16, page []byte) {
		requireDeclared(t, readRawPage(physicalType(phys%8), encoding(enc%10), int(n), page))
	})
}

// readRawPage decodes a data page of version 1 of an optional column.
func readRawPage(phys physicalType, enc encoding, n int, page []byte) (err error) {
	types := [...]*rowdata.Type{
		{Root: rowdata.Boolean},
		{Root: rowdata.Int},
		{Root: rowdata.BigInt},
		{Root: rowdata.Timestamp, Precision: 9},
		{Root: rowdata.Float},
		{Root: rowdata.Double},
		{Root: rowdata.Varbinary, Length: rowdata.MaxLength},
		{Root: rowdata.Binary, Length: 5},
	}
	e := &schemaElement{phys: phys, typeLength: 5}
	l := (&planner{}).leaf("c", &fileNode{elem: e, def: 1})
	l.conv, l.flat = conversionTo(types[phys], e), true
	dict := newBuffer(64)
	for i := range dict {
		dict[i] = byte(i % 4)
	}
	count := 2
	if phys == physByteArray {
		dict = binary.LittleEndian.AppendUint32(dict[:0], 0)
		dict = append(binary.LittleEndian.AppendUint32(dict, 3), "abc"...)
	}
	if phys != physBoolean {
		if err := l.values.setDictionary(dict, count); err != nil {
			return err
		}
	}
	h := pageHeader{kind: pageData, numValues: int32(n), encoding: enc, defEnc: encRLE, compressed: int32(len(page)), uncompressed: int32(len(page))}
	l.src = source{whole: page, end: int64(len(page))}
	l.chunk = &columnChunk{}
	if err := l.openPage(&h); err != nil {
		return l.corrupt("data page", err)
	}
	v := rowdata.NewVector(types[phys], 0)
	for n > 0 {
		k := min(n, 13)
		n -= k
		if n%3 == 0 {
			l.skips = int64(k)
			if err := l.settle(); err != nil {
				return err
			}
			continue
		}
		v.Reset()
		if err := l.readFlat(v, k); err != nil {
			return err
		}
	}
	return nil
}

func FuzzFooter(f *testing.F) {
	for _, codec := range []string{"none", "zstd"} {
		file := hostileFile(f, codec)
		n := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
		f.Add(file[len(file)-8-n : len(file)-8])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeFileMeta(b)
		if err != nil {
			return
		}
		_, _, _ = parseSchema(m.schema)
		_, _ = decodeOffsetIndex(b)
		_, _ = decodeColumnIndex(b)
	})
}

// TestBombs: small files that claim to be large take little memory.
func TestBombs(t *testing.T) {
	bomb := func(change func(h *pageHeader, c *columnChunk, g *rowGroup)) []byte {
		const values = math.MaxInt32
		h := pageHeader{kind: pageData, numValues: values, encoding: encPlain}
		body := appendRun(nil, values, 0) // all NULL
		h.compressed, h.uncompressed = int32(len(body)), int32(len(body))
		c := columnChunk{phys: physInt64, path: []string{"i"}, numValues: values, dataPageOffset: 4, stats: statistics{nulls: -1}}
		g := rowGroup{numRows: values}
		change(&h, &c, &g)
		var w thriftWriter
		w.buf = append(w.buf, magic...)
		h.crc = 0
		at := len(w.buf)
		w.pageHeader(&h)
		w.buf = bytes.Replace(w.buf, []byte{0x15, 0x00, 0x1c}, []byte{0x2c}, 1) // no checksum
		w.buf = append(w.buf, body...)
		c.totalCompressed = int64(len(w.buf) - at)
		g.columns = []columnChunk{c}
		foot := len(w.buf)
		w.fileMeta(&fileMeta{schema: []schemaElement{
			{name: "s", phys: noPhysical, converted: convertedNone, numChildren: 1},
			{name: "i", phys: c.phys, converted: convertedNone, repetition: optional},
		}, numRows: g.numRows, rowGroups: []rowGroup{g}}, 1)
		w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(w.buf)-foot))
		return append(w.buf, magic...)
	}
	for name, file := range map[string][]byte{
		"two billion NULLs": bomb(func(*pageHeader, *columnChunk, *rowGroup) {}),
		"a page of a gigabyte": bomb(func(h *pageHeader, c *columnChunk, _ *rowGroup) {
			h.uncompressed, c.codec = math.MaxInt32, codecSnappy
		}),
		"deltas without end": bomb(func(h *pageHeader, c *columnChunk, _ *rowGroup) { h.encoding = encDeltaBinary }),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Open(bytes.NewReader(file), int64(len(file)), []rowdata.Field{{Name: "i", Type: &rowdata.Type{Root: rowdata.BigInt}}}, ReadOptions{})
		require.NoError(t, err, name)
		batch := newVectors([]rowdata.Field{{Name: "i", Type: &rowdata.Type{Root: rowdata.BigInt}}})
		for range 100 {
			if _, err := r.Next(batch); err != nil {
				requireDeclared(t, err)
				break
			}
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), name)
	}
}

// appendRun appends n levels of one value as a page of version 1 has them.
func appendRun(dst []byte, n int, level byte) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(binary.AppendUvarint(dst, uint64(n)<<1), level)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
