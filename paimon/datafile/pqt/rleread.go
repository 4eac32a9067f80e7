package pqt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/bitpack"
)

var errRLE = errors.New("malformed run of the hybrid encoding")

// rleReader decodes the hybrid of runs and bit packing, a piece at a time.
type rleReader struct {
	b      []byte // with slack behind it
	pos    int
	width  uint
	run    int // values left in the run
	packed bool
	value  uint32   // of a run that is not packed
	group  [8]int32 // the rest of a group of 8 that was asked for in part
	used   int      // values of group that are gone; 8: all
}

func (r *rleReader) init(b []byte, width int) {
	r.b, r.pos, r.width, r.run, r.used = b, 0, uint(width), 0, 8
}

// next reads the header of a run.
func (r *rleReader) next() error {
	for r.run == 0 {
		h, n := binary.Uvarint(r.b[r.pos:])
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		if n < 0 || h > math.MaxUint32 {
			return errRLE
		}
		r.pos += n
		r.packed = h&1 != 0
		r.run = int(h >> 1)
		if r.packed {
			r.run *= 8
			if left := (len(r.b) - r.pos) * 8; r.width > 0 && r.run > left/int(r.width) {
				r.run = left / int(r.width) // some writers leave out the padding of the last group
			}
			if r.run == 0 {
				return io.ErrUnexpectedEOF
			}
			continue
		}
		size := int(r.width+7) / 8
		if size > len(r.b)-r.pos {
			return io.ErrUnexpectedEOF
		}
		var v [4]byte
		copy(v[:], r.b[r.pos:r.pos+size])
		r.value = binary.LittleEndian.Uint32(v[:])
		r.pos += size
	}
	return nil
}

// repeats returns the value of the current run and how many of it there are, up
// to n; 0 if they are packed.
func (r *rleReader) repeats(n int) (value uint32, count int, err error) {
	if r.run == 0 {
		if err := r.next(); err != nil {
			return 0, 0, err
		}
	}
	if r.packed {
		return 0, 0, nil
	}
	return r.value, min(n, r.run), nil
}

// take passes over n values of a run that is not packed.
func (r *rleReader) take(n int) { r.run -= n }

// literals unpacks up to len(dst) values of the current run, which is packed,
// and returns how many.
func (r *rleReader) literals(dst []int32) int {
	n := 0
	for n < len(dst) && r.used < 8 && r.run > 0 {
		dst[n] = r.group[r.used]
		n++
		r.used++
		r.run--
	}
	if k := min(len(dst)-n, r.run) &^ 7; k > 0 {
		r.unpack(dst[n : n+k])
		n += k
		r.run -= k
	}
	if n < len(dst) && r.run > 0 {
		r.unpack(r.group[:])
		r.used = 0
		k := copy(dst[n:], r.group[:min(8, r.run)])
		n, r.used, r.run = n+k, k, r.run-k
	}
	if r.run == 0 {
		r.used = 8
	}
	return n
}

// unpack decodes whole groups of 8. The last one may reach into the slack.
func (r *rleReader) unpack(dst []int32) {
	if r.width == 0 {
		clear(dst)
		return
	}
	size := len(dst) / 8 * int(r.width)
	bitpack.Unpack(dst, r.b[r.pos:min(r.pos+size, len(r.b))], r.width)
	r.pos = min(r.pos+size, len(r.b))
}

// read decodes len(dst) values.
func (r *rleReader) read(dst []int32) error {
	for len(dst) > 0 {
		value, n, err := r.repeats(len(dst))
		if err != nil {
			return err
		}
		if n > 0 {
			fill(dst[:n], int32(value))
			r.take(n)
		} else {
			n = r.literals(dst)
		}
		dst = dst[n:]
	}
	return nil
}

// skip passes over n values.
func (r *rleReader) skip(n int) error {
	var drop [256]int32
	for n > 0 {
		_, k, err := r.repeats(n)
		if err != nil {
			return err
		}
		if k > 0 {
			r.take(k)
		} else {
			k = r.literals(drop[:min(n, len(drop))])
		}
		n -= k
	}
	return nil
}

func fill[T any](dst []T, x T) {
	for i := range dst {
		dst[i] = x
	}
}

// levelReader decodes repetition or definition levels.
type levelReader struct {
	rle  rleReader
	most byte // 0: no levels are stored, all are 0
	buf  [64]int32
}

func (l *levelReader) init(b []byte, most byte) {
	l.most = most
	l.rle.init(b, bitWidth(most))
}

func bitWidth(most byte) int {
	n := 0
	for ; most > 0; most >>= 1 {
		n++
	}
	return n
}

// all tells whether the next n levels are one run of the greatest level, and
// passes over them if so.
func (l *levelReader) all(n int) bool {
	if l.most == 0 {
		return true
	}
	value, k, err := l.rle.repeats(n)
	if err != nil || k < n || byte(value) != l.most {
		return false
	}
	l.rle.take(n)
	return true
}

// read decodes len(dst) levels.
func (l *levelReader) read(dst []byte) error {
	if l.most == 0 {
		clear(dst)
		return nil
	}
	r := &l.rle
	for len(dst) > 0 {
		value, n, err := r.repeats(len(dst))
		if err != nil {
			return err
		}
		switch {
		case n > 0:
			if value > uint32(l.most) {
				return fmt.Errorf("level %d above %d", value, l.most)
			}
			fill(dst[:n], byte(value))
			r.take(n)
		case r.width == 1 && r.used == 8 && len(dst) >= 8 && r.run >= 8:
			n = l.bits(dst)
		default:
			n = r.literals(l.buf[:min(len(dst), len(l.buf))])
			for i, x := range l.buf[:n] {
				if uint32(x) > uint32(l.most) {
					return fmt.Errorf("level %d above %d", x, l.most)
				}
				dst[i] = byte(x)
			}
		}
		dst = dst[n:]
	}
	return nil
}

// bits unpacks levels of one bit, 8 at a time.
func (l *levelReader) bits(dst []byte) int {
	r := &l.rle
	n := min(len(dst), r.run) &^ 7
	for i, b := range r.b[r.pos : r.pos+n/8] {
		// Bit k of b goes to byte k: keep it there, then move any bit to the lowest.
		x := uint64(b) * 0x0101010101010101 & 0x8040201008040201
		x = (x + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101
		binary.LittleEndian.PutUint64(dst[8*i:], x)
	}
	r.pos += n / 8
	r.run -= n
	return n
}
