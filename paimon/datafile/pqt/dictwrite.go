package pqt

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// probeMax bounds the search for a place in a hash table. Tables are at most half
// full, so that only values made for it need more; the dictionary then counts as
// full.
const probeMax = 128

// dictionary numbers the distinct byte strings of a column chunk in the order of
// their first occurrence.
type dictionary struct {
	data  []byte
	ends  []uint32 // of entry i in data
	slots []dictSlot
	shift uint8
}

// dictSlot has all of a value of up to 16 bytes, so that most lookups touch
// nothing else.
type dictSlot struct {
	head, tail uint64 // first and last 8 bytes; of shorter values all bytes, twice
	hash       uint32
	len        uint32
	entry      int32 // plus one; 0: free
}

func (d *dictionary) len() int { return len(d.ends) }

func (d *dictionary) at(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = d.ends[i-1]
	}
	return d.data[start:d.ends[i]]
}

// reset empties the dictionary and keeps its memory.
func (d *dictionary) reset() {
	d.data, d.ends = d.data[:0], d.ends[:0]
	clear(d.slots)
}

// appendIndexes appends the numbers of the values that lie end to end in data,
// adding those that are new. It stops where that would take more than maxBytes;
// done is how many values have their number.
func (d *dictionary) appendIndexes(dst []int32, data []byte, offs []uint32, maxBytes int) (out []int32, done int) {
	if d.slots == nil {
		d.resize(64)
	}
	for i := 1; i < len(offs); i++ {
		from, to := offs[i-1], offs[i]
		key := dictSlot{len: to - from}
		if int(from)+8 <= len(data) {
			// No branch on the length: it is as random as the values.
			mask := lowBytes[min(key.len, 8)]
			last := max(int(to)-8, int(from))
			key.head = binary.LittleEndian.Uint64(data[from:]) & mask
			key.tail = binary.LittleEndian.Uint64(data[last:]) & mask
		} else {
			key.head, key.tail = endOf(data[from:to])
		}
		hash := (key.head ^ uint64(key.len)) * 0x9e3779b97f4a7c15
		hash ^= bits.RotateLeft64(key.tail*0xd6e8feb86659fd93, 32)
		if key.len > 16 {
			hash = hashMiddle(hash, data[from+8:to-8])
		}
		hash = (hash ^ hash>>32) * 0xbf58476d1ce4e5b9
		key.hash = uint32(hash >> 32)
		s := &d.slots[key.hash>>d.shift]
		entry := s.entry
		if s.head != key.head || s.tail != key.tail || s.len != key.len || key.len > 16 || entry == 0 {
			if entry = d.find(key, data[from:to], maxBytes); entry == 0 {
				return dst, i - 1
			}
		}
		dst = append(dst, entry-1)
	}
	return dst, len(offs) - 1
}

// find returns the number plus one of a value, which is added if it is new, or 0
// if the dictionary is full.
func (d *dictionary) find(key dictSlot, value []byte, maxBytes int) int32 {
	mask := len(d.slots) - 1
	for i, probes := int(key.hash>>d.shift), 0; probes < probeMax; i, probes = (i+1)&mask, probes+1 {
		s := &d.slots[i]
		if s.entry == 0 {
			return d.add(s, key, value, maxBytes)
		}
		if s.hash == key.hash && s.head == key.head && s.tail == key.tail && s.len == key.len &&
			(key.len <= 16 || bytes.Equal(d.at(int(s.entry-1)), value)) {
			return s.entry
		}
	}
	return 0
}

func (d *dictionary) add(s *dictSlot, key dictSlot, value []byte, maxBytes int) int32 {
	// A value takes 4 bytes more in the dictionary page.
	if len(d.data)+4*len(d.ends)+len(value)+4 > maxBytes {
		return 0
	}
	d.data = append(d.data, value...)
	d.ends = append(d.ends, uint32(len(d.data)))
	key.entry = int32(len(d.ends))
	*s = key
	if 2*len(d.ends) > len(d.slots) && !d.resize(4*len(d.slots)) {
		return 0
	}
	return key.entry
}

// resize makes the table larger; false means that too many values collide.
func (d *dictionary) resize(n int) bool {
	old := d.slots
	d.slots = make([]dictSlot, n)
	d.shift = uint8(32 - bits.TrailingZeros(uint(n)))
next:
	for _, s := range old {
		if s.entry == 0 {
			continue
		}
		for i, probes := int(s.hash>>d.shift), 0; probes < probeMax; i, probes = (i+1)&(n-1), probes+1 {
			if d.slots[i].entry == 0 {
				d.slots[i] = s
				continue next
			}
		}
		return false
	}
	return true
}

var lowBytes = [9]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// endOf is head and tail of a value that ends less than 8 bytes before its buffer
// does, or is longer than that.
func endOf(value []byte) (head, tail uint64) {
	if n := len(value); n >= 8 {
		return binary.LittleEndian.Uint64(value), binary.LittleEndian.Uint64(value[n-8:])
	}
	for i := len(value) - 1; i >= 0; i-- {
		head = head<<8 | uint64(value[i])
	}
	return head, head
}

// hashMiddle mixes in what lies between head and tail of a long value.
func hashMiddle(hash uint64, middle []byte) uint64 {
	for ; len(middle) >= 8; middle = middle[8:] {
		hash = (hash ^ binary.LittleEndian.Uint64(middle)) * 0x94d049bb133111eb
		hash ^= hash >> 29
	}
	head, _ := endOf(middle)
	return (hash ^ head) * 0x94d049bb133111eb
}

// intDictionary numbers the distinct integers of a column chunk. Its table has the
// numbers alone, so that it stays in the caches.
type intDictionary struct {
	values []int64
	slots  []int32 // entry plus one; 0: free
	shift  uint8
	tiny   [256]int32 // plus one: the entries of values -128 to 127
}

func (d *intDictionary) reset() {
	d.values = d.values[:0]
	clear(d.slots)
	d.tiny = [256]int32{}
}

// index returns the number of x, which is added if it is new, or -1 if there are
// more than maxValues.
func (d *intDictionary) index(x int64, maxValues int) int32 {
	if int64(int8(x)) == x {
		if e := d.tiny[uint8(x)]; e != 0 {
			return e - 1
		}
		if len(d.values) >= maxValues {
			return -1
		}
		d.values = append(d.values, x)
		d.tiny[uint8(x)] = int32(len(d.values))
		return int32(len(d.values) - 1)
	}
	if d.slots == nil {
		d.resize(64)
	}
	mask := len(d.slots) - 1
	for i, probes := d.place(x), 0; probes < probeMax; i, probes = (i+1)&mask, probes+1 {
		e := d.slots[i]
		if e == 0 {
			if len(d.values) >= maxValues {
				return -1
			}
			d.values = append(d.values, x)
			d.slots[i] = int32(len(d.values))
			if 2*len(d.values) > len(d.slots) && !d.resize(2*len(d.slots)) {
				return -1
			}
			return int32(len(d.values) - 1)
		}
		if d.values[e-1] == x {
			return e - 1
		}
	}
	return -1
}

// appendIndexes appends the numbers of values, until there are more than maxValues
// distinct ones. A value that comes again at once is not looked up.
func appendIndexes[T int32 | int64](d *intDictionary, dst []int32, values []T, maxValues int) ([]int32, bool) {
	at := len(dst)
	dst = slices.Grow(dst, len(values))[:at+len(values)]
	out := dst[at:]
	entry := int32(-1)
	for i, x := range values {
		if i == 0 || x != values[i-1] {
			if entry = d.index(int64(x), maxValues); entry < 0 {
				return dst[:at+i], false
			}
		}
		out[i] = entry
	}
	return dst, true
}

// appendDoubleIndexes is appendIndexes for the bits of doubles.
func appendDoubleIndexes(d *intDictionary, dst []int32, values []float64, maxValues int) ([]int32, bool) {
	at := len(dst)
	dst = slices.Grow(dst, len(values))[:at+len(values)]
	out := dst[at:]
	for i, x := range values {
		key := int64(math.Float64bits(x))
		if d.slots != nil {
			if e := d.slots[d.place(key)&(len(d.slots)-1)]; e != 0 && d.values[e-1] == key {
				out[i] = e - 1
				continue
			}
		}
		e := d.index(key, maxValues)
		if e < 0 {
			return dst[:at+i], false
		}
		out[i] = e
	}
	return dst, true
}

func (d *intDictionary) place(x int64) int {
	hi, lo := bits.Mul64(uint64(x)^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return int((hi ^ lo) >> d.shift)
}

func (d *intDictionary) resize(n int) bool {
	d.slots = make([]int32, n)
	d.shift = uint8(64 - bits.TrailingZeros(uint(n)))
next:
	for e, x := range d.values {
		if int64(int8(x)) == x {
			continue
		}
		for i, probes := d.place(x), 0; probes < probeMax; i, probes = (i+1)&(n-1), probes+1 {
			if d.slots[i] == 0 {
				d.slots[i] = int32(e + 1)
				continue next
			}
		}
		return false
	}
	return true
}
