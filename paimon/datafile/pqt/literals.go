package pqt

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
)

// literalCoder makes zstd frames of literals alone: no match is looked for, all
// bytes are Huffman-coded with one table. Texts in which next to nothing repeats get
// as small as with the search, which takes about half of the time to compress them.
type literalCoder struct {
	table huff0.Scratch
	codes [256]uint32 // code in the low half, its bits above
	count [4][256]uint32
	pairs []uint32 // the codes of two bytes, the second first: the bits from pairBits on
}

const (
	literalBlock = 128 << 10 // the most that a block of a frame may hold
	codeBitsMax  = 11
	pairBits     = 27 // where the length of the codes of a pair begins
	pairMask     = 1<<pairBits - 1
	blockRaw     = 0
	blockPacked  = 2
)

// append appends a frame that decodes to src, which has to be longer than some
// hundred bytes; false means that these bytes have no such form.
func (l *literalCoder) append(dst, src []byte) ([]byte, bool) {
	if !l.prepare(src) {
		return dst, false
	}
	dst = grow(dst, len(src)+1024)
	dst = append(dst, 0x28, 0xb5, 0x2f, 0xfd, 0x80, (17-10)<<3) // size in 4 bytes, window of 128 KiB
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	first := true
	for len(src) > 0 {
		block := src[:min(len(src), literalBlock)]
		src = src[len(block):]
		last := uint32(0)
		if len(src) == 0 {
			last = 1
		}
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0) // headers of block and literals
		body := len(dst)
		kind := uint64(3) // with the table of the block before
		if first {
			kind = 2
			var err error
			if dst, err = l.table.AppendTable(dst); err != nil {
				return dst, false
			}
		}
		streams, ok := l.appendStreams(dst, block)
		if size := len(streams) - body; !ok || size+1 >= len(block) {
			dst = append(dst[:at], byte(last|blockRaw<<1|uint32(len(block))<<3), byte(len(block)>>5), byte(len(block)>>13))
			dst = append(dst, block...)
			continue
		}
		dst, first = streams, false
		size := len(dst) - body
		h := kind | 3<<2 | uint64(len(block))<<4 | uint64(size)<<22 // four streams, sizes of 18 bits
		h = h<<24 | uint64(last|blockPacked<<1|uint32(5+size+1)<<3)
		binary.LittleEndian.PutUint64(dst[at:], h)
		dst = append(dst, 0) // no sequences
	}
	return dst, true
}

// prepare makes the codes for src.
func (l *literalCoder) prepare(src []byte) bool {
	hist := l.histogram(src)
	if l.table.BuildCTable(hist) != nil {
		return false
	}
	var lengths [256]uint8
	var counts [codeBitsMax + 2]uint16
	most := 0
	for i, n := range hist {
		if n == 0 {
			continue
		}
		var one [256]uint32
		one[i] = 8
		w := l.table.EstimateSize(&one)
		if w < 1 || w > codeBitsMax {
			return false
		}
		lengths[i] = uint8(w)
		counts[w]++
		most = max(most, w)
	}
	// Codes of a length are consecutive, in the order of their bytes; longer ones
	// come first.
	var next [codeBitsMax + 2]uint16
	low := uint16(0)
	for w := most; w > 0; w-- {
		next[w] = low
		low = (low + counts[w]) >> 1
	}
	clear(l.codes[:])
	for i, w := range lengths {
		if w > 0 {
			l.codes[i] = uint32(next[w]) | uint32(w)<<16
			next[w]++
		}
	}
	if l.pairs == nil {
		l.pairs = make([]uint32, 1<<16)
	}
	for i, c := range l.codes {
		if c == 0 {
			continue
		}
		for j, d := range l.codes {
			if d != 0 {
				l.pairs[j<<8|i] = d&0xffff | (c&0xffff)<<(d>>16&31) | (c>>16+d>>16)<<pairBits
			}
		}
	}
	return true
}

// histogram counts bytes in several tables: the processor then need not wait for
// the count of a byte that comes again.
func (l *literalCoder) histogram(src []byte) *[256]uint32 {
	clear(l.count[:])
	c0, c1, c2, c3 := &l.count[0], &l.count[1], &l.count[2], &l.count[3]
	for len(src) >= 8 {
		x := binary.LittleEndian.Uint64(src)
		src = src[8:]
		c0[byte(x)]++
		c1[byte(x>>8)]++
		c2[byte(x>>16)]++
		c3[byte(x>>24)]++
		c0[byte(x>>32)]++
		c1[byte(x>>40)]++
		c2[byte(x>>48)]++
		c3[byte(x>>56)]++
	}
	for _, b := range src {
		c0[b]++
	}
	for i := range c0 {
		c0[i] += c1[i] + c2[i] + c3[i]
	}
	return c0
}

// appendStreams appends the four streams of a block behind the table of their sizes.
func (l *literalCoder) appendStreams(dst, block []byte) ([]byte, bool) {
	part := (len(block) + 3) / 4
	if len(block) < 4*64 {
		return dst, false
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0)
	for i := range 4 {
		from := block[i*part : min((i+1)*part, len(block))]
		before := len(dst)
		dst = l.appendStream(dst, from)
		size := len(dst) - before
		if size > 1<<16-1 {
			return dst, false
		}
		if i < 3 {
			binary.LittleEndian.PutUint16(dst[at+2*i:], uint16(size))
		}
	}
	return dst, true
}

// appendStream appends codes from the last byte of src to the first, and the bit
// that marks their end.
func (l *literalCoder) appendStream(dst, src []byte) []byte {
	dst = grow(dst, (len(src)*codeBitsMax+7)/8+16)
	out := dst[len(dst):cap(dst)]
	codes := &l.codes
	var acc uint64
	var used uint32
	pos, n := 0, len(src)
	for ; n&3 != 0; n-- {
		c := codes[src[n-1]]
		acc |= uint64(c&0xffff) << (used & 63)
		used += c >> 16
	}
	pairs := (*[1 << 16]uint32)(l.pairs)
	for ; n >= 4; n -= 4 {
		binary.LittleEndian.PutUint64(out[pos:], acc)
		pos += int(used >> 3)
		acc >>= used & 56
		used &= 7
		x := binary.LittleEndian.Uint32(src[n-4:])
		a, b := pairs[x>>16], pairs[uint16(x)]
		acc |= uint64(a&pairMask) << (used & 63)
		used += a >> pairBits
		acc |= uint64(b&pairMask) << (used & 63)
		used += b >> pairBits
	}
	acc |= 1 << (used & 63)
	used++
	binary.LittleEndian.PutUint64(out[pos:], acc)
	return dst[:len(dst)+pos+int(used+7)>>3]
}
