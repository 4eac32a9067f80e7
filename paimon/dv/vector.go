package dv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"github.com/RoaringBitmap/roaring/v2"

	"sluice/paimon/manifest"
)

// ErrCorrupt says that bytes are no index file, or a damaged one.
var ErrCorrupt = errors.New("corrupt index file")

func corrupt(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrCorrupt)...)
}

const (
	fileVersion = 1          // the first byte of a file
	magicV1     = 1581511376 // big endian: one bitmap of 32 bits
	magicV2     = 1681511377 // little endian: bitmaps by the upper 32 bits

	sizeBytes  = 4
	magicBytes = 4
	crcBytes   = 4

	vectorMaxBytes = 256 << 20 // of one vector; a billion scattered rows
	bitmapsMax     = 1 << 20   // of one 64-bit vector
)

// Vector is a set of row positions of a data file, counted from 0. It is
// immutable and may be shared.
type Vector struct {
	parts []part // ascending by high, none empty
}

// part is the positions with equal upper 32 bits.
type part struct {
	high uint32
	low  *roaring.Bitmap
}

// Decode returns the vector at the given range of a deletion vector file. Both
// formats are told apart by their magic number. The error wraps [ErrCorrupt].
func Decode(file []byte, r manifest.DVRange) (*Vector, error) {
	return Read(bytes.NewReader(file), int64(len(file)), r)
}

// Read is [Decode] from a file of the given size, of which it reads the range
// only. Errors of src are returned as they are, wrapped.
func Read(src io.ReaderAt, size int64, r manifest.DVRange) (*Vector, error) {
	v, err := read(src, size, r)
	if err != nil {
		return nil, fmt.Errorf("deletion vector of %s at %d, length %d: %w", r.DataFile, r.Offset, r.Length, err)
	}
	if r.Cardinality != nil && *r.Cardinality != v.Cardinality() {
		return nil, fmt.Errorf("deletion vector of %s at %d: %w", r.DataFile, r.Offset,
			corrupt("it holds %d rows, the index manifest says %d", v.Cardinality(), *r.Cardinality))
	}
	return v, nil
}

func read(src io.ReaderAt, size int64, r manifest.DVRange) (*Vector, error) {
	head := make([]byte, sizeBytes+magicBytes)
	if err := readAt(src, size, head, int64(r.Offset)); err != nil {
		return nil, err
	}
	bodySize := int64(int32(binary.BigEndian.Uint32(head))) // magic and bitmaps
	// What the manifest calls length differs between the formats.
	length := bodySize
	v1 := binary.BigEndian.Uint32(head[sizeBytes:]) == magicV1
	switch {
	case v1:
	case binary.LittleEndian.Uint32(head[sizeBytes:]) == magicV2:
		length += sizeBytes + crcBytes
	default:
		return nil, corrupt("magic number %x is unknown", head[sizeBytes:])
	}
	if length != int64(r.Length) || bodySize < magicBytes || bodySize > vectorMaxBytes {
		return nil, corrupt("its size field is %d", bodySize)
	}
	if int64(r.Offset)+sizeBytes+bodySize+crcBytes > size {
		return nil, corrupt("the file ends at %d", size)
	}
	body := make([]byte, bodySize+crcBytes)
	if err := readAt(src, size, body, int64(r.Offset)+sizeBytes); err != nil {
		return nil, err
	}
	body, sum := body[:bodySize], binary.BigEndian.Uint32(body[bodySize:])
	if got := crc32.ChecksumIEEE(body); got != sum {
		return nil, corrupt("checksum is %08x, want %08x", got, sum)
	}
	if v1 {
		return decodeV1(body[magicBytes:])
	}
	return decodeV2(body[magicBytes:])
}

func readAt(src io.ReaderAt, size int64, p []byte, off int64) error {
	if off < 1 || off+int64(len(p)) > size {
		return corrupt("bytes %d to %d are outside of the %d bytes of the file", off, off+int64(len(p)), size)
	}
	if n, err := src.ReadAt(p, off); err != nil && (err != io.EOF || n < len(p)) {
		return err
	}
	return nil
}

func decodeV1(b []byte) (*Vector, error) {
	low, n, err := decodeBitmap(b)
	if err != nil {
		return nil, err
	}
	if n != len(b) {
		return nil, corrupt("%d bytes follow the bitmap", len(b)-n)
	}
	v := &Vector{}
	v.add(0, low)
	return v, nil
}

func decodeV2(b []byte) (*Vector, error) {
	if len(b) < 8 {
		return nil, corrupt("the number of bitmaps is cut off")
	}
	count := binary.LittleEndian.Uint64(b)
	b = b[8:]
	// A bitmap takes at least its key and its cookie with the container count.
	if count > bitmapsMax || count*12 > uint64(len(b)) {
		return nil, corrupt("%d bitmaps in %d bytes", count, len(b))
	}
	v := &Vector{}
	last := int64(-1)
	for range count {
		if len(b) < 4 {
			return nil, corrupt("the key of a bitmap is cut off")
		}
		high := binary.LittleEndian.Uint32(b)
		if int64(high) <= last || high > 1<<31-1 {
			return nil, corrupt("bitmap keys are not ascending: %d follows %d", high, last)
		}
		last = int64(high)
		low, n, err := decodeBitmap(b[4:])
		if err != nil {
			return nil, err
		}
		v.add(high, low)
		b = b[4+n:]
	}
	if len(b) != 0 {
		return nil, corrupt("%d bytes follow the bitmaps", len(b))
	}
	return v, nil
}

func (v *Vector) add(high uint32, low *roaring.Bitmap) {
	if !low.IsEmpty() {
		v.parts = append(v.parts, part{high, low})
	}
}

// decodeBitmap reads a 32-bit bitmap in the portable format and returns how many
// bytes it takes.
func decodeBitmap(b []byte) (*roaring.Bitmap, int, error) {
	n, err := checkBitmap(b)
	if err != nil {
		return nil, 0, err
	}
	bitmap := roaring.New()
	read, err := bitmap.ReadFrom(bytes.NewReader(b[:n]))
	if err == nil {
		err = bitmap.Validate()
	}
	if err != nil || read != int64(n) {
		return nil, 0, corrupt("bitmap of %d bytes: %v", n, err)
	}
	return bitmap, n, nil
}

// Contains tells whether the row at a position is deleted.
func (v *Vector) Contains(pos int64) bool {
	if pos < 0 {
		return false
	}
	high := uint32(pos >> 32)
	for i := range v.parts {
		if p := &v.parts[i]; p.high >= high {
			return p.high == high && p.low.Contains(uint32(pos))
		}
	}
	return false
}

// Cardinality returns the number of deleted rows.
func (v *Vector) Cardinality() int64 {
	n := int64(0)
	for i := range v.parts {
		n += int64(v.parts[i].low.GetCardinality())
	}
	return n
}

// All iterates over the deleted positions in ascending order.
func (v *Vector) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range v.parts {
			p := &v.parts[i]
			for it := p.low.Iterator(); it.HasNext(); {
				if !yield(int64(p.high)<<32 | int64(it.Next())) {
					return
				}
			}
		}
	}
}

// Iterate calls fn for each deleted position in ascending order until it returns
// false.
func (v *Vector) Iterate(fn func(pos int64) bool) { v.All()(fn) }

// AppendKept appends, for the n rows from position from on, the offsets 0..n-1
// of those that are not deleted: what is left of a batch.
func (v *Vector) AppendKept(dst []int32, from int64, n int) []int32 {
	next := from // the first position that is neither kept nor deleted yet
	end := from + int64(n)
	keepTo := func(pos int64) {
		for ; next < pos; next++ {
			dst = append(dst, int32(next-from))
		}
	}
	for i := range v.parts {
		p := &v.parts[i]
		low, high := int64(p.high)<<32, int64(p.high+1)<<32
		if high <= from || low >= end {
			continue
		}
		it := p.low.Iterator()
		if from > low {
			it.AdvanceIfNeeded(uint32(from - low))
		}
		for it.HasNext() {
			pos := low + int64(it.Next())
			if pos >= end {
				break
			}
			keepTo(pos)
			next = pos + 1
		}
	}
	keepTo(end)
	return dst
}
