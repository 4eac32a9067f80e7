package sketch

import (
	"encoding/binary"

	"github.com/RoaringBitmap/roaring/v2"
)

// bitmap64 joins roaring bitmaps of 64 bits. Their Java form is not the portable one
// but the radix tree of the keys and the table of containers as they lie in memory:
// a union is made as Java makes it, so that the bytes are the same.
type bitmap64 struct{}

func (bitmap64) Union(dst, a, b []byte) (out []byte, err error) {
	defer guard("rbm64", &err)
	x, err := readBitmap64(a)
	if err != nil {
		return nil, err
	}
	y, err := readBitmap64(b)
	if err != nil {
		return nil, err
	}
	y.root.each(func(key radixKey, at int) {
		if have := x.root.find(key, 0); have >= 0 {
			x.containers[have].Or(y.containers[at])
			return
		}
		x.root = x.root.insert(key, 0, len(x.containers))
		x.containers = append(x.containers, y.containers[at])
		for x.room < len(x.containers) {
			x.room += max(1, x.room/2)
		}
	})
	if len(x.containers) > containersMax {
		return nil, ErrUnsupported
	}
	return x.append(dst)
}

// containersMax is how many containers a table has before it gets a second part,
// which is not built.
const containersMax = 1 << 15

// values64 is a bitmap of 64 bits.
type values64 struct {
	root       *node
	containers []*roaring.Bitmap // of the last 16 bits, by number
	room       int               // of the table of containers
}

const (
	filled  = 1    // of a bitmap or a place of the table: there is something
	trimmed = 0xfe // of a part of the table: its room follows
)

// Kinds of containers.
const (
	runs = iota
	bitset
	array
)

func (v *values64) append(dst []byte) ([]byte, error) {
	if v.root == nil {
		return append(dst, 0), nil
	}
	dst = append(dst, filled)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(v.containers)))
	dst = v.root.append(dst)
	dst = binary.LittleEndian.AppendUint32(dst, 1)
	dst = append(dst, trimmed)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(v.room))
	for _, c := range v.containers {
		var err error
		if dst, err = appendContainer(append(dst, filled), c); err != nil {
			return nil, err
		}
	}
	dst = append(dst, make([]byte, v.room-len(v.containers))...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(v.containers)))
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, uint32(len(v.containers)-1)), nil
}

// appendContainer appends the only container of a bitmap, which it takes from the
// portable form.
func appendContainer(dst []byte, c *roaring.Bitmap) ([]byte, error) {
	c.RunOptimize()
	b, err := c.ToBytes()
	if err != nil {
		return nil, err
	}
	const (
		cookieRuns  = 12347
		headerRuns  = 4 + 1 + 4 // cookie, marks of runs, key and cardinality
		headerPlain = 4 + 4 + 4 + 4
		arrayMax    = 4096
	)
	card := uint32(c.GetCardinality())
	kind, body := byte(array), headerPlain
	switch {
	case binary.LittleEndian.Uint16(b) == cookieRuns:
		kind, body = runs, headerRuns
	case card > arrayMax:
		kind = bitset
	}
	dst = append(dst, kind)
	dst = binary.LittleEndian.AppendUint32(dst, card)
	return append(dst, b[body:]...), nil
}

func readBitmap64(b []byte) (*values64, error) {
	v := &values64{}
	if len(b) == 1 && b[0] == 0 {
		return v, nil
	}
	r := &reader{rest: b}
	if r.byte() != filled {
		return nil, corrupt("rbm64", errSize)
	}
	count := r.uint64()
	v.root = r.readNode(0)
	parts, mark, room := r.uint32(), r.byte(), r.uint32()
	if parts > 1 {
		return nil, ErrUnsupported
	}
	if r.failed || parts != 1 || mark != trimmed || uint64(room) > uint64(len(r.rest)) || count > uint64(room) {
		return nil, corrupt("rbm64", errSize)
	}
	v.room = int(room)
	for i := range v.room {
		if r.byte() != filled {
			if uint64(i) < count {
				return nil, corrupt("rbm64", errSize)
			}
			continue
		}
		v.containers = append(v.containers, r.container())
	}
	leaves := 0
	v.root.each(func(_ radixKey, at int) {
		leaves++
		r.failed = r.failed || at >= len(v.containers)
	})
	if r.take(16); r.failed || len(r.rest) > 0 || uint64(len(v.containers)) != count || uint64(leaves) != count {
		return nil, corrupt("rbm64", errSize)
	}
	return v, nil
}

// reader takes values off bytes. Once failed it gives zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if r.failed || n > len(r.rest) {
		r.failed = true
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte     { return r.take(1)[0] }
func (r *reader) uint16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) uint64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// words reads words as appendWords writes them.
func (r *reader) words(n int) []byte {
	var b []byte
	for range n {
		b = binary.BigEndian.AppendUint64(b, r.uint64())
	}
	return b
}

// container reads a container of values of 16 bits.
func (r *reader) container() *roaring.Bitmap {
	kind, card := r.byte(), r.uint32()
	c := roaring.New()
	switch {
	case card == 0 || card > 1<<16:
		r.failed = true
	case kind == runs:
		for n := r.uint16(); n > 0 && !r.failed; n-- {
			from, more := uint64(r.uint16()), uint64(r.uint16())
			r.failed = r.failed || from+more > 1<<16-1
			c.AddRange(from, from+more+1)
		}
	case kind == bitset:
		for w := range uint32(1024) {
			for m, bit := r.uint64(), uint32(0); m != 0; m, bit = m>>1, bit+1 {
				if m&1 != 0 {
					c.Add(w<<6 + bit)
				}
			}
		}
	case kind == array:
		for range card {
			if r.failed {
				break
			}
			c.Add(uint32(r.uint16()))
		}
	default:
		r.failed = true
	}
	r.failed = r.failed || c.GetCardinality() != uint64(card)
	return c
}
