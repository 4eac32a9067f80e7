package pqt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/bitpack"
)

var errDelta = errors.New("malformed DELTA_BINARY_PACKED")

// deltaBlockMax bounds the block that a header may ask for, in values.
const deltaBlockValuesMax = 1 << 16

// deltaReader decodes DELTA_BINARY_PACKED, a piece at a time.
type deltaReader[T int32 | int64] struct {
	b       []byte // with slack behind it
	pos     int
	miniLen int // values of a miniblock
	minis   int // miniblocks of a block
	left    int // values that are not decoded yet
	first   bool
	last    T
	least   T
	widths  []byte
	mini    int // next miniblock in the block
	buf     []T // the rest of a miniblock that was asked for in part
	scratch []T
	padded  []byte
}

// init reads the header. A page cannot have more than maxValues.
func (d *deltaReader[T]) init(b []byte, maxValues int) error {
	d.b, d.pos, d.buf = b, 0, nil
	block, n := d.uvarint()
	minis, n2 := d.uvarint()
	total, n3 := d.uvarint()
	first, n4 := binary.Varint(d.b[d.pos:])
	if n <= 0 || n2 <= 0 || n3 <= 0 || n4 <= 0 {
		return errDelta
	}
	d.pos += n4
	if block == 0 || block > deltaBlockValuesMax || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return fmt.Errorf("blocks of %d values in %d parts: %w", block, minis, errDelta)
	}
	if total > uint64(maxValues) {
		return fmt.Errorf("%d values in a page of %d: %w", total, maxValues, errDelta)
	}
	d.miniLen, d.minis, d.left = int(block/minis), int(minis), int(total)
	d.first, d.last, d.mini = total > 0, T(first), int(minis)
	return nil
}

func (d *deltaReader[T]) uvarint() (uint64, int) {
	v, n := binary.Uvarint(d.b[d.pos:])
	d.pos += max(n, 0)
	return v, n
}

// read decodes len(dst) values.
func (d *deltaReader[T]) read(dst []T) error {
	if d.first && len(dst) > 0 {
		dst[0] = d.last
		dst = dst[1:]
		d.first = false
		d.left--
	}
	for len(dst) > 0 {
		if len(d.buf) > 0 {
			n := copy(dst, d.buf)
			dst, d.buf = dst[n:], d.buf[n:]
			continue
		}
		if d.left <= 0 {
			return io.ErrUnexpectedEOF
		}
		if d.mini == d.minis {
			if err := d.block(); err != nil {
				return err
			}
		}
		n := min(d.miniLen, d.left)
		if n <= len(dst) {
			// Miniblocks of one width, one after the other, are unpacked together.
			count := 1
			for d.mini+count < d.minis && d.widths[d.mini+count] == d.widths[d.mini] &&
				(count+1)*d.miniLen <= min(len(dst), d.left) {
				count++
			}
			n = max(n, min(count*d.miniLen, d.left))
			if err := d.minisOf(dst[:n], count); err != nil {
				return err
			}
			dst = dst[n:]
			continue
		}
		if cap(d.scratch) < d.miniLen {
			d.scratch = make([]T, d.miniLen)
		}
		d.buf = d.scratch[:n]
		if err := d.minisOf(d.buf, 1); err != nil {
			return err
		}
	}
	return nil
}

// block reads the header of a block.
func (d *deltaReader[T]) block() error {
	least, n := binary.Varint(d.b[d.pos:])
	if n <= 0 {
		return io.ErrUnexpectedEOF
	}
	d.pos += n
	if len(d.b)-d.pos < d.minis {
		return io.ErrUnexpectedEOF
	}
	d.least, d.widths, d.mini = T(least), d.b[d.pos:d.pos+d.minis], 0
	d.pos += d.minis
	return nil
}

// minisOf decodes count miniblocks of the same width, the last perhaps in part.
func (d *deltaReader[T]) minisOf(dst []T, count int) error {
	w := int(d.widths[d.mini])
	d.mini += count
	d.left -= len(dst)
	last, least := d.last, d.least
	if w == 0 {
		for i := range dst {
			last += least
			dst[i] = last
		}
		d.last = last
		return nil
	}
	if most := bitsOf[T](); w > most {
		return fmt.Errorf("deltas of %d bits for values of %d: %w", w, most, errDelta)
	}
	size := count * d.miniLen / 8 * w
	src := d.b[d.pos:]
	if len(src) < size {
		if len(src)*8 < len(dst)*w {
			return io.ErrUnexpectedEOF
		}
		size = len(src) // the padding of the last miniblock was left out
	}
	d.pos += size
	src = src[:size]
	if cap(src)-size < slack/2 { // never for buffers of this package
		d.padded = append(append(d.padded[:0], src...), make([]byte, slack)...)
		src = d.padded[:size]
	}
	bitpack.Unpack(dst, src, uint(w))
	for i, x := range dst {
		last += x + least
		dst[i] = last
	}
	d.last = last
	return nil
}

func bitsOf[T int32 | int64]() int {
	if T(1)<<31<<1 == 0 {
		return 32
	}
	return 64
}

// skip passes over n values.
func (d *deltaReader[T]) skip(n int) error {
	var drop [256]T
	for n > 0 {
		k := min(n, len(drop))
		if err := d.read(drop[:k]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}
