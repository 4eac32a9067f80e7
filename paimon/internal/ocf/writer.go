package ocf

import (
	"crypto/rand"
	"io"
)

// Sync is the marker between the blocks of a file.
type Sync [syncBytes]byte

// NewSync returns a random marker.
func NewSync() Sync {
	var s Sync
	rand.Read(s[:]) // never fails
	return s
}

// AppendHeader appends the header of a file with the given schema text and codec,
// with the keys in the order that Paimon writes.
func AppendHeader(dst []byte, schema, codec string, sync Sync) []byte {
	dst = append(dst, magic...)
	dst = AppendLong(dst, 2)
	dst = AppendString(dst, "avro.schema")
	dst = AppendString(dst, schema)
	dst = AppendString(dst, "avro.codec")
	dst = AppendString(dst, codec)
	dst = AppendLong(dst, 0)
	return append(dst, sync[:]...)
}

// AppendBlock appends a block of count records whose plain bytes are data. level
// is that of zstd. scratch is memory to work in; it is returned grown.
func AppendBlock(dst []byte, count int, data []byte, codec string, level int, sync Sync, scratch []byte) (out, scratchOut []byte, err error) {
	packed := data
	if codec != CodecNull {
		if packed, err = compress(scratch[:0], data, codec, level); err != nil {
			return dst, scratch, err
		}
		scratch = packed
	}
	dst = AppendLong(dst, int64(count))
	dst = AppendLong(dst, int64(len(packed)))
	dst = append(dst, packed...)
	return append(dst, sync[:]...), scratch, nil
}

// WriterOptions of a [Writer].
type WriterOptions struct {
	Codec     string // "" is null
	ZstdLevel int    // 0 is 1
}

// Writer writes a container block by block. It does not buffer records: the
// caller collects the bytes of some and writes them as a block.
type Writer struct {
	w       io.Writer
	opts    WriterOptions
	sync    Sync
	buf     []byte
	scratch []byte
	written int64
}

// NewWriter writes the header. Errors are those of w, or an
// [*UnknownCodecError].
func NewWriter(w io.Writer, schema string, opts WriterOptions) (*Writer, error) {
	if opts.Codec == "" {
		opts.Codec = CodecNull
	}
	if opts.ZstdLevel == 0 {
		opts.ZstdLevel = 1
	}
	if err := CheckCodec(opts.Codec); err != nil {
		return nil, err
	}
	o := &Writer{w: w, opts: opts, sync: NewSync()}
	return o, o.flush(AppendHeader(nil, schema, opts.Codec, o.sync))
}

// WriteBlock writes a block of count records whose plain bytes are data.
func (o *Writer) WriteBlock(count int, data []byte) error {
	var err error
	o.buf, o.scratch, err = AppendBlock(o.buf[:0], count, data, o.opts.Codec, o.opts.ZstdLevel, o.sync, o.scratch)
	if err != nil {
		return err
	}
	return o.flush(o.buf)
}

func (o *Writer) flush(b []byte) error {
	n, err := o.w.Write(b)
	o.written += int64(n)
	return err
}

// Size returns how many bytes have been written.
func (o *Writer) Size() int64 { return o.written }
