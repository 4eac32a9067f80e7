package avrofile

import (
	"fmt"
	"io"

	"sluice/paimon/internal/ocf"
	"sluice/paimon/rowdata"
)

// blockBytesDefault is the size of a block before compression, as the original
// has it.
const blockBytesDefault = 64000

// Options of a [Writer]. The zero value is ready for use.
type Options struct {
	Compression string // zstd or zstandard, snappy, deflate, none or null; "": zstd
	ZstdLevel   int    // 0: 1
	BlockBytes  int    // plain bytes of a block; 0: 64000
	NoStats     []bool // by field: nobody wants its statistics; nil: all are wanted
}

// codecs maps what tables say to what files say.
var codecs = map[string]string{
	"": ocf.CodecZstd, "zstd": ocf.CodecZstd, "zstandard": ocf.CodecZstd, "snappy": ocf.CodecSnappy,
	"deflate": ocf.CodecDeflate, "none": ocf.CodecNull, "null": ocf.CodecNull,
}

// Writer writes one file. It is for one goroutine.
type Writer struct {
	out    *ocf.Writer
	fields []rowdata.Field
	cols   []encoder
	stats  []collector
	block  int // bytes of a full block
	buf    []byte
	rows   int // in buf
	err    error
}

// NewWriter begins a file in w with the columns of fields. The errors are
// [*UnsupportedTypeError], one for an unknown compression, and those of w.
func NewWriter(w io.Writer, fields []rowdata.Field, opts Options) (*Writer, error) {
	schema, err := schemaJSON(fields)
	if err != nil {
		return nil, err
	}
	codec, ok := codecs[opts.Compression]
	if !ok {
		return nil, fmt.Errorf("avro compression %q: want zstd, snappy, deflate or none", opts.Compression)
	}
	out, err := ocf.NewWriter(w, schema, ocf.WriterOptions{Codec: codec, ZstdLevel: opts.ZstdLevel})
	if err != nil {
		return nil, err
	}
	a := &Writer{out: out, fields: fields, stats: newCollectors(fields, opts.NoStats), block: opts.BlockBytes}
	if a.block <= 0 {
		a.block = blockBytesDefault
	}
	for i := range fields {
		a.cols = append(a.cols, newEncoder(fields[i].Type, fields[i].Name))
	}
	return a, nil
}

// Write adds the rows from..to of cols, one vector a field, whose storage is
// that of the field. The caller may reuse them at once. After an error, such as
// [*NullError], the file is of no use.
func (w *Writer) Write(cols []*rowdata.Vector, from, to int) error {
	if w.err != nil {
		return w.err
	}
	if len(cols) != len(w.cols) {
		return w.fail(fmt.Errorf("avro row of %d columns, the file has %d", len(cols), len(w.cols)))
	}
	for i := from; i < to; i++ {
		for c := range w.cols {
			w.buf = w.cols[c].append(w.buf, cols[c], i, &w.err)
		}
		if w.err != nil {
			return w.err
		}
		if w.rows++; len(w.buf) >= w.block {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	for c := range w.stats {
		w.stats[c].add(cols[c], from, to)
	}
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = err
	return err
}

// flush writes the buffered rows as a block.
func (w *Writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	if err := w.out.WriteBlock(w.rows, w.buf); err != nil {
		return w.fail(err)
	}
	w.buf, w.rows = w.buf[:0], 0
	return nil
}

// Size returns the bytes written, and those of the block that is not full yet
// before compression.
func (w *Writer) Size() int64 { return w.out.Size() + int64(len(w.buf)) }

// Close writes the last block and returns the statistics of each field. It does
// not close the underlying writer.
func (w *Writer) Close() ([]rowdata.ColumnStats, error) {
	if w.err != nil {
		return nil, w.err
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	stats := make([]rowdata.ColumnStats, len(w.stats))
	for i := range w.stats {
		stats[i] = w.stats[i].stats()
	}
	w.err = errClosed
	return stats, nil
}
