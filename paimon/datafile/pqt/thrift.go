package pqt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The types of the compact thrift protocol that Parquet metadata uses.
const (
	tStop   = 0
	tTrue   = 1
	tFalse  = 2
	tByte   = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tDouble = 7
	tBinary = 8
	tList   = 9
	tSet    = 10
	tMap    = 11
	tStruct = 12
	tUUID   = 13
)

// thriftDepthMax bounds how deep unknown fields may nest.
const thriftDepthMax = 32

// thriftWriter appends structs in the compact protocol.
type thriftWriter struct {
	buf   []byte
	last  int16 // id of the field before, in the open struct
	stack []int16
}

func (w *thriftWriter) header(id int16, typ byte) {
	if d := id - w.last; d > 0 && d <= 15 {
		w.buf = append(w.buf, byte(d)<<4|typ)
	} else {
		w.buf = append(w.buf, typ)
		w.buf = binary.AppendVarint(w.buf, int64(id))
	}
	w.last = id
}

func (w *thriftWriter) i32(id int16, v int32) { w.header(id, tI32); w.varint(int64(v)) }
func (w *thriftWriter) i64(id int16, v int64) { w.header(id, tI64); w.varint(v) }
func (w *thriftWriter) i8(id int16, v int8)   { w.header(id, tByte); w.buf = append(w.buf, byte(v)) }
func (w *thriftWriter) i16(id int16, v int16) { w.header(id, tI16); w.varint(int64(v)) }
func (w *thriftWriter) bool(id int16, v bool) {
	if v {
		w.header(id, tTrue)
	} else {
		w.header(id, tFalse)
	}
}
func (w *thriftWriter) bytes(id int16, v []byte)  { w.header(id, tBinary); w.item(v) }
func (w *thriftWriter) string(id int16, v string) { w.header(id, tBinary); w.text(v) }

// list begins a list of n elements, which follow as bare items.
func (w *thriftWriter) list(id int16, elem byte, n int) {
	w.header(id, tList)
	if n < 15 {
		w.buf = append(w.buf, byte(n)<<4|elem)
		return
	}
	w.buf = append(w.buf, 0xf0|elem)
	w.buf = binary.AppendUvarint(w.buf, uint64(n))
}

// begin opens a struct that is a field; open opens one that is a list element
// or the outermost.
func (w *thriftWriter) begin(id int16) { w.header(id, tStruct); w.open() }
func (w *thriftWriter) open()          { w.stack = append(w.stack, w.last); w.last = 0 }
func (w *thriftWriter) end() {
	w.buf = append(w.buf, tStop)
	w.last = w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
}

// Items are elements of lists: values without a field header.
func (w *thriftWriter) varint(v int64) { w.buf = binary.AppendVarint(w.buf, v) }

func (w *thriftWriter) item(v []byte) {
	w.buf = binary.AppendUvarint(w.buf, uint64(len(v)))
	w.buf = append(w.buf, v...)
}

func (w *thriftWriter) text(v string) {
	w.buf = binary.AppendUvarint(w.buf, uint64(len(v)))
	w.buf = append(w.buf, v...)
}

var errThrift = errors.New("malformed thrift")

// thriftReader reads structs in the compact protocol. The first error sticks,
// and everything read after it is zero. Byte slices share the input.
type thriftReader struct {
	b   []byte
	pos int
	err error
}

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
		r.pos = len(r.b)
	}
}

// field reads the next field header of a struct; typ is tStop at the end. last
// is the id of the field before and is moved on.
func (r *thriftReader) field(last *int16) (id int16, typ byte) {
	c := r.byte()
	typ = c & 15
	if r.err != nil || typ == tStop {
		return 0, tStop
	}
	if d := c >> 4; d != 0 {
		*last += int16(d)
	} else {
		*last = int16(r.varint())
	}
	if r.err != nil {
		return 0, tStop
	}
	return *last, typ
}

func (r *thriftReader) byte() byte {
	if r.pos >= len(r.b) {
		r.fail(io.ErrUnexpectedEOF)
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

func (r *thriftReader) varint() int64 {
	v, n := binary.Varint(r.b[r.pos:])
	return r.advance(v, n)
}

func (r *thriftReader) advance(v int64, n int) int64 {
	switch {
	case n == 0:
		r.fail(io.ErrUnexpectedEOF)
		return 0
	case n < 0:
		r.fail(errThrift)
		return 0
	}
	r.pos += n
	return v
}

// is tells whether a field has the type that the definition says.
func (r *thriftReader) is(typ, want byte) bool {
	if typ != want {
		r.fail(fmt.Errorf("thrift type %d where %d belongs: %w", typ, want, errThrift))
	}
	return r.err == nil
}

func (r *thriftReader) i32(typ byte) int32 {
	if !r.is(typ, tI32) {
		return 0
	}
	return r.i32Item()
}

func (r *thriftReader) i32Item() int32 {
	v := r.varint()
	if int64(int32(v)) != v {
		r.fail(fmt.Errorf("%d does not fit 32 bits: %w", v, errThrift))
		return 0
	}
	return int32(v)
}

func (r *thriftReader) i64(typ byte) int64 {
	if !r.is(typ, tI64) {
		return 0
	}
	return r.varint()
}

func (r *thriftReader) i8(typ byte) int8 {
	if !r.is(typ, tByte) {
		return 0
	}
	return int8(r.byte())
}

func (r *thriftReader) bool(typ byte) bool {
	if typ != tTrue && typ != tFalse {
		r.is(typ, tTrue)
	}
	return typ == tTrue
}

func (r *thriftReader) bytes(typ byte) []byte {
	if !r.is(typ, tBinary) {
		return nil
	}
	return r.item()
}

func (r *thriftReader) item() []byte {
	n := r.length()
	if r.err != nil {
		return nil
	}
	b := r.b[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return b
}

// length reads a count of bytes or of elements, of which each takes a byte at
// least: more than there are bytes left cannot be.
func (r *thriftReader) length() int {
	v, n := binary.Uvarint(r.b[r.pos:])
	r.advance(0, n)
	if v > uint64(len(r.b)-r.pos) {
		r.fail(fmt.Errorf("length %d with %d bytes left: %w", v, len(r.b)-r.pos, io.ErrUnexpectedEOF))
		return 0
	}
	return int(v)
}

// list reads the header of a list of elements of one type. An empty list may
// claim any type.
func (r *thriftReader) list(typ, elem byte) int {
	if !r.is(typ, tList) {
		return 0
	}
	n, got := r.listHeader()
	if n > 0 && got != elem && !(elem == tTrue && got == tFalse) {
		r.fail(fmt.Errorf("thrift list of type %d where %d belongs: %w", got, elem, errThrift))
		return 0
	}
	return n
}

func (r *thriftReader) listHeader() (n int, elem byte) {
	c := r.byte()
	n, elem = int(c>>4), c&15
	if n == 15 {
		n = r.length()
	}
	if n > len(r.b)-r.pos {
		r.fail(fmt.Errorf("list of %d with %d bytes left: %w", n, len(r.b)-r.pos, io.ErrUnexpectedEOF))
		return 0, elem
	}
	return n, elem
}

// skip passes over a field of a type that is not wanted.
func (r *thriftReader) skip(typ byte) { r.skipItem(typ, false, 0) }

func (r *thriftReader) skipItem(typ byte, inList bool, depth int) {
	if depth > thriftDepthMax {
		r.fail(fmt.Errorf("nested deeper than %d: %w", thriftDepthMax, errThrift))
	}
	if r.err != nil {
		return
	}
	switch typ {
	case tTrue, tFalse:
		if inList {
			r.byte()
		}
	case tByte:
		r.byte()
	case tI16, tI32, tI64:
		r.varint()
	case tDouble:
		r.skipBytes(8)
	case tUUID:
		r.skipBytes(16)
	case tBinary:
		r.item()
	case tList, tSet:
		n, elem := r.listHeader()
		for range n {
			r.skipItem(elem, true, depth+1)
		}
	case tMap:
		n := r.length()
		if n == 0 {
			return
		}
		kv := r.byte()
		for range n {
			r.skipItem(kv>>4, true, depth+1)
			r.skipItem(kv&15, true, depth+1)
		}
	case tStruct:
		var last int16
		for {
			_, t := r.field(&last)
			if t == tStop {
				return
			}
			r.skipItem(t, false, depth+1)
		}
	default:
		r.fail(fmt.Errorf("thrift type %d: %w", typ, errThrift))
	}
}

func (r *thriftReader) skipBytes(n int) {
	if n > len(r.b)-r.pos {
		r.fail(io.ErrUnexpectedEOF)
		return
	}
	r.pos += n
}
