package ocf

import (
	"encoding/binary"
	"math"
)

const valueMaxDepth = 64

// Decoder takes primitive values from the bytes of a block. After the first
// error every call returns a zero value; ask Err at the end of each record, or
// at least of each block. The zero value is a Decoder of nothing.
type Decoder struct {
	buf []byte
	pos int
	err error
}

// Reset starts with other bytes.
func (d *Decoder) Reset(block []byte) { *d = Decoder{buf: block} }

// Err returns the first error. It wraps [ErrCorrupt].
func (d *Decoder) Err() error { return d.err }

// Len returns how many bytes are left.
func (d *Decoder) Len() int { return len(d.buf) - d.pos }

// Pos returns how many bytes have been taken.
func (d *Decoder) Pos() int { return d.pos }

// Since returns the bytes taken since Pos was pos. They belong to the block.
func (d *Decoder) Since(pos int) []byte { return d.buf[pos:d.pos:d.pos] }

// Fail sets the error, unless there is one, and ends the data.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = corrupt(format, args...)
	}
	d.pos = len(d.buf)
}

// Long takes an int or a long.
func (d *Decoder) Long() int64 {
	buf := d.buf[d.pos:]
	if len(buf) > 0 && buf[0] < 0x80 {
		d.pos++
		return int64(buf[0]>>1) ^ -int64(buf[0]&1)
	}
	u, n := binary.Uvarint(buf)
	if n <= 0 {
		d.Fail("avro integer at byte %d has no end", d.pos)
		return 0
	}
	d.pos += n
	return int64(u>>1) ^ -int64(u&1)
}

// Int takes an int.
func (d *Decoder) Int() int32 {
	v := d.Long()
	if v != int64(int32(v)) {
		d.Fail("avro int %d is out of range", v)
		return 0
	}
	return int32(v)
}

// Bool takes a boolean.
func (d *Decoder) Bool() bool {
	b := d.Fixed(1)
	return len(b) == 1 && b[0] != 0
}

// Float takes a float.
func (d *Decoder) Float() float32 {
	if b := d.Fixed(4); b != nil {
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// Double takes a double.
func (d *Decoder) Double() float64 {
	if b := d.Fixed(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Fixed takes n bytes. They belong to the block. It is nil after an error.
func (d *Decoder) Fixed(n int) []byte {
	if n < 0 || n > d.Len() {
		d.Fail("avro value of %d bytes at byte %d, %d are left", n, d.pos, d.Len())
		return nil
	}
	b := d.buf[d.pos : d.pos+n : d.pos+n]
	d.pos += n
	return b
}

// Bytes takes bytes or a string. They belong to the block.
func (d *Decoder) Bytes() []byte {
	n := d.Long()
	if n < 0 || n > int64(d.Len()) {
		d.Fail("avro value of %d bytes at byte %d, %d are left", n, d.pos, d.Len())
		return nil
	}
	return d.Fixed(int(n))
}

// Span takes bytes or a string and returns where they are in the block.
func (d *Decoder) Span() (from, to int) {
	b := d.Bytes()
	return d.pos - len(b), d.pos
}

// Branch takes the index of a branch of a union.
func (d *Decoder) Branch(branches int) int {
	i := d.Long()
	if i < 0 || i >= int64(branches) {
		d.Fail("avro union has no branch %d", i)
		return 0
	}
	return int(i)
}

// Count takes the number of elements in the next block of an array or map; 0 is
// the end. Elements take at least one byte each, so the count is bounded by what
// is left.
func (d *Decoder) Count() int {
	n := d.Long()
	if n < 0 {
		d.Long() // size of the block in bytes
		n = -n
	}
	if n < 0 || n > int64(d.Len()) {
		d.Fail("avro array of %d elements at byte %d, %d bytes are left", n, d.pos, d.Len())
		return 0
	}
	return int(n)
}

// Skip steps over a value of the given type.
func (d *Decoder) Skip(s *Schema) { d.skip(s, 0) }

func (d *Decoder) skip(s *Schema, depth int) {
	if depth > valueMaxDepth {
		d.Fail("avro value is nested deeper than %d", valueMaxDepth)
		return
	}
	switch s.Kind {
	case Null:
	case Boolean:
		d.Fixed(1)
	case Int, Long, Enum:
		d.Long()
	case Float:
		d.Fixed(4)
	case Double:
		d.Fixed(8)
	case Bytes, String:
		d.Bytes()
	case Fixed:
		d.Fixed(s.Size)
	case Union:
		d.skip(s.Branches[d.Branch(len(s.Branches))], depth+1)
	case Record:
		for i := range s.Fields {
			d.skip(s.Fields[i].Type, depth+1)
		}
	case Array, Map:
		d.skipElements(s, depth)
	}
}

func (d *Decoder) skipElements(s *Schema, depth int) {
	for d.err == nil {
		n := d.Long()
		if n == 0 {
			return
		}
		if n < 0 { // the writer tells the size of the block
			if size := d.Long(); size >= 0 && size <= int64(d.Len()) {
				d.pos += int(size)
			} else {
				d.Fail("avro array block of %d bytes, %d are left", size, d.Len())
			}
			continue
		}
		if n > int64(d.Len()) {
			d.Fail("avro array of %d elements at byte %d, %d bytes are left", n, d.pos, d.Len())
			return
		}
		for range n {
			if s.Kind == Map {
				d.Bytes()
			}
			d.skip(s.Elem, depth+1)
			if d.err != nil {
				return
			}
		}
	}
}
