package lookup

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// A page holds the keys of a range, ascending, and where their values are:
//
//	count        uvarint
//	prefix       uvarint and bytes: what all keys begin with
//	width        uvarint: 1 + the bytes of what follows the prefix in each key;
//	             0 if these differ
//	ends         only with width 0: 4 bytes a key, where the rest of it ends
//	rests        of the keys, end to end
//	base         uvarint: the smallest address
//	widths       2 bytes: of an address less the base, and of a size
//	addresses    less the base, little-endian
//	sizes        little-endian
//
// Pages are records of the log. Where each of them is stands in the database at the
// upper bound of its range, which is a key; the last one stands at lastFence.
var lastFence = []byte{dataPrefix + 1}

const (
	// pageKeysMax is when a page is cut in two. A lookup reads a page a
	// neighbourhood of keys, a push writes one.
	pageKeysMax = 128
	pageKeys    = 96 // of pages that are written one after the other
	// pageBytesMax cuts pages of long keys.
	pageBytesMax = 16 << 10
)

// page is a decoded page; it refers to the bytes that it was decoded from.
type page struct {
	n      int
	prefix []byte
	width  int    // of the rests, or -1
	ends   []byte // 4 bytes each, with width -1
	rests  []byte
	base   uint64
	aw, sw int
	addrs  []byte
	sizes  []byte
}

// decodePage checks the lengths, so that no access to the page goes beyond it.
func decodePage(b []byte, p *page) bool {
	n, b, ok := cutUvarint(b)
	if !ok || n > uint64(len(b)) && n > 0 {
		return false
	}
	size, b, ok := cutUvarint(b)
	if !ok || size > uint64(len(b)) {
		return false
	}
	p.n, p.prefix = int(n), b[:size]
	width, b, ok := cutUvarint(b[size:])
	if !ok || width > changeBytesMax {
		return false
	}
	p.width, p.ends = int(width)-1, nil
	rests := uint64(0)
	if width > 0 {
		rests = n * (width - 1)
	} else if n > 0 {
		if uint64(len(b)) < 4*n {
			return false
		}
		p.ends, b = b[:4*n], b[4*n:]
		last := uint32(0)
		for i := range p.n {
			end := binary.LittleEndian.Uint32(p.ends[4*i:])
			if end < last {
				return false
			}
			last = end
		}
		rests = uint64(last)
	}
	if rests > uint64(len(b)) {
		return false
	}
	p.rests, b = b[:rests], b[rests:]
	if p.base, b, ok = cutUvarint(b); !ok || len(b) < 2 {
		return false
	}
	p.aw, p.sw = int(b[0]), int(b[1])
	b = b[2:]
	if p.aw > 8 || p.sw > 4 || len(b) != p.n*(p.aw+p.sw) {
		return false
	}
	p.addrs, p.sizes = b[:p.n*p.aw], b[p.n*p.aw:]
	return true
}

func cutUvarint(b []byte) (uint64, []byte, bool) {
	x, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return x, b[n:], true
}

// rest returns what follows the prefix in key i.
func (p *page) rest(i int) []byte {
	if p.width >= 0 {
		return p.rests[i*p.width : (i+1)*p.width]
	}
	from := uint32(0)
	if i > 0 {
		from = binary.LittleEndian.Uint32(p.ends[4*i-4:])
	}
	return p.rests[from:binary.LittleEndian.Uint32(p.ends[4*i:])]
}

func (p *page) appendKey(dst []byte, i int) []byte {
	return append(append(dst, p.prefix...), p.rest(i)...)
}

// keyBytes returns the length of key i.
func (p *page) keyBytes(i int) int { return len(p.prefix) + len(p.rest(i)) }

func (p *page) loc(i int) loc {
	l := loc{size: uint32(narrow(p.sizes, i, p.sw))}
	if l.size > 0 {
		l.addr = p.base + narrow(p.addrs, i, p.aw)
	}
	return l
}

// narrow returns number i of those that take width bytes each.
func narrow(b []byte, i, width int) uint64 {
	at := i * width
	if at+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[at:]) & (1<<(8*width) - 1)
	}
	x := uint64(0)
	for k := range width {
		x |= uint64(b[at+k]) << (8 * k)
	}
	return x
}

// seek returns the first entry at or after from whose key is not less than the
// given one, looking nearby first, and whether it is that key.
func (p *page) seek(from int, key []byte) (i int, found bool) {
	if !bytes.HasPrefix(key, p.prefix) {
		if bytes.Compare(key, p.prefix) < 0 {
			return from, false
		}
		return p.n, false
	}
	rest := key[len(p.prefix):]
	if p.width == len(rest) && p.width > 0 && p.width <= wordBytes {
		return p.seekWord(from, word(rest))
	}
	lo, step, hi := from, 1, from
	for hi < p.n && bytes.Compare(p.rest(hi), rest) < 0 {
		lo = hi + 1
		hi += step
		step *= 2
	}
	hi = min(hi, p.n)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); bytes.Compare(p.rest(mid), rest) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < p.n && bytes.Equal(p.rest(lo), rest)
}

// wordBytes is the longest rest that is compared as a number.
const wordBytes = 8

// word returns a rest of at most wordBytes as a number; those of one width order as
// their bytes do.
func word(rest []byte) uint64 {
	x := uint64(0)
	for _, b := range rest {
		x = x<<8 | uint64(b)
	}
	return x
}

// restWord returns the rest of key i as a number.
func (p *page) restWord(i int) uint64 {
	at := i * p.width
	if at+wordBytes <= len(p.rests) {
		return binary.BigEndian.Uint64(p.rests[at:]) >> (8 * (wordBytes - p.width))
	}
	return word(p.rests[at : at+p.width])
}

// seekWord is seek for a rest of the page's width.
func (p *page) seekWord(from int, rest uint64) (i int, found bool) {
	lo, step, hi := from, 1, from
	for hi < p.n && p.restWord(hi) < rest {
		lo = hi + 1
		hi += step
		step *= 2
	}
	hi = min(hi, p.n)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); p.restWord(mid) < rest {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < p.n && p.restWord(lo) == rest
}

// pageBuilder collects the entries of a page, ascending.
type pageBuilder struct {
	keys  []byte // end to end
	ends  []uint32
	locs  []loc
	width int // of all keys, or mixedWidth if they differ
}

const mixedWidth = -1

func (b *pageBuilder) len() int { return len(b.ends) }

func (b *pageBuilder) add(key []byte, l loc) {
	if b.len() == 0 {
		b.width = len(key)
	} else if b.width != len(key) {
		b.width = mixedWidth
	}
	b.keys = append(b.keys, key...)
	b.ends, b.locs = append(b.ends, uint32(len(b.keys))), append(b.locs, l)
}

// addRange adds entries from..to (exclusive) of a page.
func (b *pageBuilder) addRange(p *page, from, to int) {
	if p.width < 0 {
		for i := from; i < to; i++ {
			at := len(b.keys)
			b.keys = p.appendKey(b.keys, i)
			if n := len(b.keys) - at; b.len() == 0 {
				b.width = n
			} else if b.width != n {
				b.width = mixedWidth
			}
			b.ends = append(b.ends, uint32(len(b.keys)))
		}
	} else {
		n := len(p.prefix) + p.width
		if b.len() == 0 {
			b.width = n
		} else if b.width != n {
			b.width = mixedWidth
		}
		end := uint32(len(b.keys))
		for i := from; i < to; i++ {
			b.keys = append(append(b.keys, p.prefix...), p.rests[i*p.width:(i+1)*p.width]...)
			end += uint32(n)
			b.ends = append(b.ends, end)
		}
	}
	for i := from; i < to; i++ {
		b.locs = append(b.locs, p.loc(i))
	}
}

func (b *pageBuilder) begin(i int) uint32 {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

func (b *pageBuilder) key(i int) []byte { return b.keys[b.begin(i):b.ends[i]] }

// encode appends a page of the first n entries.
func (b *pageBuilder) encode(dst []byte, n int) []byte {
	dst = binary.AppendUvarint(dst, uint64(n))
	if n == 0 {
		return b.encodeLocs(append(dst, 0, 1), 0) // no prefix, keys of no width
	}
	prefix := commonPrefix(b.key(0), b.key(n-1))
	dst = binary.AppendUvarint(dst, uint64(prefix))
	dst = append(dst, b.keys[:prefix]...)
	if w := b.width; w >= 0 {
		dst = binary.AppendUvarint(dst, uint64(1+w-prefix))
		for at := 0; at < n*w; at += w {
			dst = append(dst, b.keys[at+prefix:at+w]...)
		}
		return b.encodeLocs(dst, n)
	}
	dst = append(dst, 0)
	end := uint32(0)
	for i := range n {
		end += uint32(len(b.key(i)) - prefix)
		dst = binary.LittleEndian.AppendUint32(dst, end)
	}
	for i := range n {
		dst = append(dst, b.key(i)[prefix:]...)
	}
	return b.encodeLocs(dst, n)
}

func (b *pageBuilder) encodeLocs(dst []byte, n int) []byte {
	base, top, size := ^uint64(0), uint64(0), uint32(0)
	for _, l := range b.locs[:n] {
		if l.size > 0 {
			base, top, size = min(base, l.addr), max(top, l.addr), max(size, l.size)
		}
	}
	if size == 0 {
		base, top = 0, 0
	}
	aw, sw := bytesOf(top-base), bytesOf(uint64(size))
	dst = binary.AppendUvarint(dst, base)
	dst = append(dst, byte(aw), byte(sw))
	at := len(dst)
	// Each number is written with eight bytes, of which the next one takes back
	// what it does not need.
	dst = slices.Grow(dst, n*(aw+sw)+8)[:at+n*(aw+sw)+8]
	for _, l := range b.locs[:n] {
		if l.size > 0 {
			binary.LittleEndian.PutUint64(dst[at:], l.addr-base)
		} else {
			binary.LittleEndian.PutUint64(dst[at:], 0)
		}
		at += aw
	}
	for _, l := range b.locs[:n] {
		binary.LittleEndian.PutUint64(dst[at:], uint64(l.size))
		at += sw
	}
	return dst[:at]
}

func bytesOf(x uint64) int { return (bits.Len64(x) + 7) / 8 }

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// full returns how many of the first entries fill a page; 0 if they do not.
func (b *pageBuilder) full() int {
	for i, end := range b.ends {
		if i+1 == pageKeys || end >= pageBytesMax {
			return i + 1
		}
	}
	return 0
}

// cut removes the first n entries.
func (b *pageBuilder) cut(n int) {
	at := b.begin(n)
	b.keys = append(b.keys[:0], b.keys[at:]...)
	b.ends = append(b.ends[:0], b.ends[n:]...)
	for i := range b.ends {
		b.ends[i] -= at
	}
	b.locs = append(b.locs[:0], b.locs[n:]...)
}
