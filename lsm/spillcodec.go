package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/klauspost/compress/zstd"

	"sluice/paimon/rowdata"
)

// spillCodec turns batches of records into blocks of bytes and back: the storage
// of each column as it is in memory, little-endian, then zstd. Blocks live no
// longer than the process that wrote them, so they carry no version.
type spillCodec struct {
	enc *zstd.Encoder // nil: uncompressed
	dec *zstd.Decoder
	raw []byte
}

var errSpillBlock = errors.New("spilled block is damaged")

func newSpillCodec(uncompressed bool) (*spillCodec, error) {
	c := &spillCodec{}
	if uncompressed {
		return c, nil
	}
	var err error
	if c.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)); err != nil {
		return nil, err
	}
	c.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	return c, err
}

func (c *spillCodec) close() {
	if c.enc != nil {
		c.enc.Close() // nothing is written through it, so nothing can fail
		c.dec.Close()
	}
}

// encode appends a block of the records to dst.
func (c *spillCodec) encode(dst []byte, kv *rowdata.KeyValues) []byte {
	raw := c.raw[:0]
	raw = binary.LittleEndian.AppendUint32(raw, uint32(kv.N))
	raw = appendFixed(raw, kv.Seq)
	raw = appendFixed(raw, kv.Kinds)
	for _, v := range kv.Cols {
		raw = appendVector(raw, v)
	}
	c.raw = raw
	if c.enc == nil {
		return append(dst, raw...)
	}
	return c.enc.EncodeAll(raw, dst)
}

// decode fills kv with the records of a block.
func (c *spillCodec) decode(kv *rowdata.KeyValues, block []byte) error {
	if c.dec != nil {
		raw, err := c.dec.DecodeAll(block, c.raw[:0])
		if err != nil {
			return fmt.Errorf("%w: %w", errSpillBlock, err)
		}
		c.raw, block = raw, raw
	}
	kv.Reset()
	if len(block) < 4 {
		return errSpillBlock
	}
	n := int(binary.LittleEndian.Uint32(block))
	d := &spillDecoder{rest: block[4:]}
	kv.Seq = readFixed(d, kv.Seq, n)
	kv.Kinds = readFixed(d, kv.Kinds, n)
	for _, v := range kv.Cols {
		d.vector(v, n)
	}
	if d.failed || len(d.rest) != 0 {
		return errSpillBlock
	}
	kv.N = n
	return nil
}

func appendVector(b []byte, v *rowdata.Vector) []byte {
	if v.Valid == nil {
		b = append(b, 0)
	} else {
		b = append(append(b, 1), v.Valid...)
	}
	switch v.Storage() {
	case rowdata.StoreI32:
		return appendFixed(b, v.I32)
	case rowdata.StoreI64:
		return appendFixed(b, v.I64)
	case rowdata.StoreF32:
		return appendFixed(b, v.F32)
	case rowdata.StoreF64:
		return appendFixed(b, v.F64)
	case rowdata.StoreI128:
		return appendFixed(b, v.I128)
	case rowdata.StoreNanos:
		return appendFixed(appendFixed(b, v.I64), v.I32)
	case rowdata.StoreBytes:
		return append(appendFixed(b, v.Offs[1:]), v.Data...)
	case rowdata.StoreList, rowdata.StoreMap:
		b = appendFixed(b, v.Offs[1:])
	}
	for _, child := range v.Children {
		b = appendVector(b, child)
	}
	return b
}

// spillDecoder takes values off a block. Once failed it takes no more.
type spillDecoder struct {
	rest   []byte
	failed bool
}

func (d *spillDecoder) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.failed, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *spillDecoder) vector(v *rowdata.Vector, n int) {
	if mark := d.take(1); mark != nil && mark[0] == 1 {
		v.Valid = append(make([]byte, 0, n), d.take(n)...)
	}
	children := n
	switch v.Storage() {
	case rowdata.StoreI32:
		v.I32 = readFixed(d, v.I32, n)
	case rowdata.StoreI64:
		v.I64 = readFixed(d, v.I64, n)
	case rowdata.StoreF32:
		v.F32 = readFixed(d, v.F32, n)
	case rowdata.StoreF64:
		v.F64 = readFixed(d, v.F64, n)
	case rowdata.StoreI128:
		v.I128 = readFixed(d, v.I128, n)
	case rowdata.StoreNanos:
		v.I64 = readFixed(d, v.I64, n)
		v.I32 = readFixed(d, v.I32, n)
	case rowdata.StoreBytes:
		v.Data = append(v.Data, d.take(d.offsets(v, n))...)
	case rowdata.StoreList, rowdata.StoreMap:
		children = d.offsets(v, n)
	}
	for _, child := range v.Children {
		d.vector(child, children)
	}
	if !d.failed {
		v.SetLen(n)
	}
}

// offsets reads the ends of n values and returns the last.
func (d *spillDecoder) offsets(v *rowdata.Vector, n int) int {
	v.Offs = append(v.Offs[:1], readFixed(d, v.Offs[1:], n)...)
	last := uint32(0)
	for _, o := range v.Offs {
		if o < last {
			d.failed, d.rest = true, nil
			return 0
		}
		last = o
	}
	return int(last)
}

// fixed is a value that has the same bytes in memory and in a block.
type fixed interface {
	~uint8 | int32 | int64 | uint32 | float32 | float64 | rowdata.Int128
}

// appendFixed appends the memory of the values. The machine that reads a block
// is the one that wrote it, so the order of bytes does not matter.
func appendFixed[T fixed](b []byte, values []T) []byte {
	if len(values) == 0 {
		return b
	}
	size := int(unsafe.Sizeof(values[0])) * len(values)
	return append(b, unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), size)...)
}

// readFixed replaces dst by the next n values of a block.
func readFixed[T fixed](d *spillDecoder, dst []T, n int) []T {
	var zero T
	width := int(unsafe.Sizeof(zero))
	if n > math.MaxInt/width || n*width > len(d.rest) {
		d.failed, d.rest = true, nil
		return dst[:0]
	}
	src := d.take(n * width)
	if n == 0 {
		return dst[:0]
	}
	if cap(dst) < n {
		dst = make([]T, n)
	}
	dst = dst[:n]
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), len(src)), src)
	return dst
}
