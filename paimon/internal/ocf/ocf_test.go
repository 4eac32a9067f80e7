package ocf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	avroocf "github.com/twmb/avro/ocf"
)

const pairSchema = `{"type":"record","name":"pair","fields":[{"name":"n","type":"long"},{"name":"s","type":"string"}]}`

func writePairs(t testing.TB, codec string, blocks, perBlock int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, pairSchema, WriterOptions{Codec: codec})
	require.NoError(t, err)
	n := 0
	for range blocks {
		var data []byte
		for range perBlock {
			data = AppendLong(data, int64(n))
			data = AppendString(data, fmt.Sprintf("value %d", n))
			n++
		}
		require.NoError(t, w.WriteBlock(perBlock, data))
	}
	require.EqualValues(t, out.Len(), w.Size())
	return out.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for _, codec := range []string{CodecNull, CodecDeflate, CodecSnappy, CodecZstd} {
		t.Run(codec, func(t *testing.T) {
			data := writePairs(t, codec, 5, 2000)
			fromFile, err := NewReader(bytes.NewReader(data), int64(len(data)))
			require.NoError(t, err)
			fromBytes, err := NewBytesReader(data)
			require.NoError(t, err)
			for _, r := range []*Reader{fromFile, fromBytes} {
				require.Equal(t, codec, r.Codec)
				require.Equal(t, pairSchema, string(r.SchemaText()))
				for range 2 {
					n := 0
					var owned [][]byte
					for {
						count, err := r.PeekCount()
						if err == io.EOF {
							break
						}
						require.NoError(t, err)
						require.EqualValues(t, 2000, count)
						b, err := r.NextOwned()
						require.NoError(t, err)
						require.Equal(t, 2000, b.Count)
						owned = append(owned, b.Data)
					}
					for _, block := range owned {
						var d Decoder
						d.Reset(block)
						for range 2000 {
							require.EqualValues(t, n, d.Long())
							require.Equal(t, fmt.Sprintf("value %d", n), string(d.Bytes()))
							n++
						}
						require.NoError(t, d.Err())
						require.Zero(t, d.Len())
					}
					require.Equal(t, 10_000, n)
					_, err = r.Next()
					require.Equal(t, io.EOF, err)
					r.Rewind()
				}
				for range 4 {
					skipped, err := r.SkipBlock()
					require.NoError(t, err)
					require.EqualValues(t, 2000, skipped)
				}
				b, err := r.Next()
				require.NoError(t, err)
				var d Decoder
				d.Reset(b.Data)
				require.EqualValues(t, 8000, d.Long())
				_, err = r.SkipBlock()
				require.Equal(t, io.EOF, err)
			}
			other, err := avroocf.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			var v any
			require.NoError(t, other.Decode(&v))
			require.Equal(t, map[string]any{"n": int64(0), "s": "value 0"}, v)
		})
	}
	_, err := NewWriter(io.Discard, pairSchema, WriterOptions{Codec: "lzma"})
	require.True(t, IsUnsupported(err))
}

func TestBzip2IsRead(t *testing.T) {
	// "hello" as a bzip2 stream.
	packed := []byte{0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x19, 0x31, 0x65, 0x3d, 0x00, 0x00, 0x00, 0x81, 0x00, 0x02, 0x44, 0xa0, 0x00, 0x21, 0x9a, 0x68, 0x33, 0x4d, 0x07, 0x33, 0x8b, 0xb9, 0x22, 0x9c, 0x28, 0x48, 0x0c, 0x98, 0xb2, 0x9e, 0x80}
	plain, err := decompress(nil, packed, CodecBzip2)
	require.NoError(t, err)
	require.Equal(t, "hello", string(plain))
}

func TestValues(t *testing.T) {
	longs := []int64{0, -1, 1, 63, -64, 64, 1 << 31, math.MaxInt64, math.MinInt64}
	var b []byte
	for _, v := range longs {
		b = AppendLong(b, v)
	}
	b = AppendBool(AppendBool(b, true), false)
	b = AppendFloat(b, 1.5)
	b = AppendDouble(b, -2.5)
	b = AppendBytes(b, []byte("bytes"))
	var d Decoder
	d.Reset(b)
	for _, v := range longs {
		require.Equal(t, v, d.Long())
	}
	require.True(t, d.Bool())
	require.False(t, d.Bool())
	require.EqualValues(t, 1.5, d.Float())
	require.Equal(t, -2.5, d.Double())
	require.Equal(t, "bytes", string(d.Bytes()))
	require.NoError(t, d.Err())
	d.Long()
	require.ErrorIs(t, d.Err(), ErrCorrupt)
	require.Zero(t, d.Double(), "zero values after an error")
}

func TestHostileValues(t *testing.T) {
	for name, test := range map[string]struct {
		data []byte
		take func(*Decoder)
	}{
		"endless integer":    {bytes.Repeat([]byte{0xff}, 11), func(d *Decoder) { d.Long() }},
		"int out of range":   {AppendLong(nil, 1<<31), func(d *Decoder) { d.Int() }},
		"length beyond data": {AppendLong(nil, 1<<60), func(d *Decoder) { d.Bytes() }},
		"negative length":    {AppendLong(nil, -1), func(d *Decoder) { d.Bytes() }},
		"count beyond data":  {AppendLong(nil, 1<<60), func(d *Decoder) { d.Count() }},
		"least count":        {AppendLong(AppendLong(nil, math.MinInt64), 1), func(d *Decoder) { d.Count() }},
		"branch":             {AppendLong(nil, 2), func(d *Decoder) { d.Branch(2) }},
		"negative branch":    {AppendLong(nil, -1), func(d *Decoder) { d.Branch(2) }},
		"block size":         {AppendLong(AppendLong(nil, -5), 1000), func(d *Decoder) { d.Skip(&Schema{Kind: Array, Elem: &Schema{Kind: Int}}) }},
		"array of nothing":   {AppendLong(nil, 1<<40), func(d *Decoder) { d.Skip(&Schema{Kind: Array, Elem: &Schema{Kind: Null}}) }},
	} {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			d.Reset(test.data)
			test.take(&d)
			require.ErrorIs(t, d.Err(), ErrCorrupt)
		})
	}
	recursive, err := ParseSchema([]byte(`{"type":"record","name":"node","fields":[{"name":"next","type":["null","node"]}]}`))
	require.NoError(t, err)
	var d Decoder
	d.Reset(bytes.Repeat([]byte{2}, 10_000))
	d.Skip(recursive)
	require.ErrorContains(t, d.Err(), "nested deeper")
}

func TestHostileFiles(t *testing.T) {
	good := writePairs(t, CodecNull, 1, 10)
	header := len(AppendHeader(nil, pairSchema, CodecNull, Sync{}))
	block := func(codec string, count, size int64, data []byte) []byte {
		b := AppendHeader(nil, pairSchema, codec, Sync{})
		b = append(AppendLong(AppendLong(b, count), size), data...)
		return append(b, make([]byte, 16)...)
	}
	bomb := binary.AppendUvarint(nil, 1<<31) // a snappy block that says it holds 2 GiB
	for name, data := range map[string][]byte{
		"empty":             {},
		"no magic":          []byte("Obj\x02" + string(good[4:])),
		"cut in the header": good[:30],
		"cut in a block":    good[:len(good)-20],
		"other sync marker": append(good[:len(good)-1:len(good)-1], good[len(good)-1]+1),
		"size beyond file":  block(CodecNull, 1, 1<<40, nil),
		"negative count":    block(CodecNull, -1, 2, []byte{0, 0}),
		"negative size":     block(CodecNull, 1, -2, nil),
		"too many records":  block(CodecNull, 1000, 2, []byte{0, 0}),
		"snappy checksum":   block(CodecSnappy, 1, 7, []byte{1, 0, 'x', 0, 0, 0, 0}),
		"snappy bomb":       block(CodecSnappy, 1, int64(len(bomb)+4), append(bomb, 0, 0, 0, 0)),
		"snappy short":      block(CodecSnappy, 1, 2, []byte{0, 0}),
		"zstd":              block(CodecZstd, 1, 4, []byte("zstd")),
		"zstd bomb":         block(CodecZstd, 1, 14, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0x10, 0, 0, 0, 0, 1}),
		"deflate":           block(CodecDeflate, 1, 3, []byte{0xff, 0xff, 0xff}),
		"bzip2":             block(CodecBzip2, 1, 3, []byte("BZh")),
		"cut after count":   append(bytes.Clone(good[:header]), 2),
	} {
		t.Run(name, func(t *testing.T) {
			for _, open := range []func() (*Reader, error){
				func() (*Reader, error) { return NewBytesReader(data) },
				func() (*Reader, error) { return NewReader(bytes.NewReader(data), int64(len(data))) },
			} {
				r, err := open()
				for err == nil {
					_, err = r.Next()
				}
				require.ErrorIs(t, err, ErrCorrupt)
			}
		})
	}
	r, err := NewBytesReader(block("xz", 1, 2, []byte{0, 0}))
	require.NoError(t, err)
	_, err = r.Next()
	require.True(t, IsUnsupported(err))
	require.ErrorContains(t, err, `avro codec "xz" is not supported`)
}

type failingReaderAt struct{ err error }

func (f failingReaderAt) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestReadErrorsAreNotCorruption(t *testing.T) {
	boom := errors.New("boom")
	_, err := NewReader(failingReaderAt{boom}, 100)
	require.ErrorIs(t, err, boom)
	require.NotErrorIs(t, err, ErrCorrupt)
}

func TestZstdLevelsAndBigBlocks(t *testing.T) {
	plain := bytes.Repeat([]byte("some text that repeats, "), 100_000)
	for level := range 23 {
		packed, err := compress(nil, plain, CodecZstd, level)
		require.NoError(t, err)
		got, err := decompress(nil, packed, CodecZstd)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, got))
	}
	streaming, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	got, err := decompress(nil, streaming.EncodeAll(plain, nil), CodecZstd)
	require.NoError(t, err)
	require.True(t, bytes.Equal(plain, got))
}

func TestSchemas(t *testing.T) {
	s, err := ParseSchema([]byte(`{"type":"record","name":"row","namespace":"a.b","fields":[
		{"name":"d","type":["null",{"type":"bytes","logicalType":"decimal","precision":20,"scale":3}],"default":null,"field-id":7},
		{"name":"m","type":{"type":"map","values":"double"}},
		{"name":"e","type":{"type":"enum","name":"suit","symbols":["A","B"]}},
		{"name":"f","type":{"type":"fixed","name":"other.id","size":16}},
		{"name":"again","type":"suit"},{"name":"full","type":["other.id","null"]},
		{"name":"wrapped","type":{"type":{"type":"array","items":"int","adjust":true}}},
		{"name":"self","type":["null","a.b.row"]}]}`))
	require.NoError(t, err)
	require.Equal(t, "a.b.row", s.Name)
	value, null := s.Field("d").Type.Optional()
	require.Zero(t, null)
	require.Equal(t, []any{Bytes, "decimal", 20, 3}, []any{value.Kind, value.LogicalType, value.Precision, value.Scale})
	require.Equal(t, "7", string(s.Field("d").Props["field-id"]))
	require.Equal(t, Double, s.Field("m").Type.Elem.Kind)
	require.Equal(t, []string{"A", "B"}, s.Field("again").Type.Symbols)
	value, null = s.Field("full").Type.Optional()
	require.Equal(t, 1, null)
	require.Equal(t, 16, value.Size)
	require.Equal(t, "true", string(s.Field("wrapped").Type.Props["adjust"]))
	require.Same(t, s, s.Field("self").Type.Branches[1])
	_, null = s.Field("m").Type.Optional()
	require.Equal(t, -1, null)
	require.Nil(t, s.Field("none"))

	deep := bytes.Repeat([]byte(`{"type":"array","items":`), 100)
	deep = append(append(deep, `"int"`...), bytes.Repeat([]byte("}"), 100)...)
	for name, text := range map[string]string{
		"empty": "", "number": "1", "unknown type": `"row"`, "empty union": `[]`, "no name": `{"type":"record","fields":[]}`,
		"twice": `[{"type":"fixed","name":"f","size":1},{"type":"fixed","name":"f","size":1}]`, "no fields": `{"type":"record","name":"r"}`,
		"field twice":    `{"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}`,
		"field unnamed":  `{"type":"record","name":"r","fields":[{"type":"int"}]}`,
		"negative fixed": `{"type":"fixed","name":"f","size":-1}`, "no items": `{"type":"array"}`, "bad json": `{"type":`, "bad size": `{"type":"fixed","name":"f","size":"x"}`,
		"too deep": string(deep),
	} {
		_, err := ParseSchema([]byte(text))
		require.ErrorIs(t, err, ErrCorrupt, name)
	}
}

func FuzzReader(f *testing.F) {
	for _, codec := range []string{CodecNull, CodecDeflate, CodecSnappy, CodecZstd} {
		f.Add(writePairs(f, codec, 2, 3))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		s, schemaErr := ParseSchema(r.SchemaText())
		for {
			b, err := r.Next()
			if err != nil {
				return
			}
			if schemaErr != nil {
				continue
			}
			var d Decoder
			d.Reset(b.Data)
			for range b.Count {
				d.Skip(s)
				if d.Err() != nil {
					break
				}
			}
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(pairSchema))
	f.Add([]byte(`["null",{"type":"array","items":["null","long"]}]`))
	f.Add([]byte(`{"type":"fixed","name":"x","size":3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSchema(text)
		if err != nil {
			return
		}
		var d Decoder
		d.Reset(text)
		d.Skip(s)
	})
}
