package rowdata

import (
	"encoding/binary"
	"fmt"
	"math"
)

// DecodeBinaryRow appends the fields of a raw binary row to the vectors, one row
// to each. NULL is accepted whatever the types say, as statistics hold NULL for
// what is not known. The row may come from anywhere: a length or offset beyond
// its bytes is a [*RowError], and the values never take more than a small
// multiple of the row's size. After an error the vectors are as they were.
func DecodeBinaryRow(row []byte, into []*Vector) error {
	done, err := decodeFields(row, into)
	if err != nil {
		for f, v := range into {
			v.Truncate(v.n - b2i(f < done))
		}
	}
	return err
}

// decodeFields returns how many fields it has appended before an error.
func decodeFields(row []byte, into []*Vector) (done int, err error) {
	width := nullPart(len(into))
	if len(row) < width+8*len(into) {
		return 0, rowErrorf(0, "row of %d bytes is too short for %d fields", len(row), len(into))
	}
	s := section{b: row, left: len(row)}
	for f, v := range into {
		if row[(f+8)>>3]>>((f+8)&7)&1 == 1 {
			v.AppendNull()
			continue
		}
		if err := s.decodeSlot(width+8*f, v); err != nil {
			return f, err
		}
	}
	return len(into), nil
}

// DecodeManifestRow appends the fields of a row in manifest form. It must have
// as many fields as there are vectors.
func DecodeManifestRow(b []byte, into []*Vector) error {
	if len(b) < 4 {
		return rowErrorf(0, "manifest row of %d bytes has no field count", len(b))
	}
	if n := binary.BigEndian.Uint32(b); int64(n) != int64(len(into)) {
		return rowErrorf(0, "manifest row has %d fields, want %d", n, len(into))
	}
	return DecodeBinaryRow(b[4:], into)
}

// A RowError tells what is wrong with a binary row and at which byte of it, or
// of the nested row or array.
type RowError struct {
	Offset int
	What   string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("binary row: byte %d: %s", e.Offset, e.What)
}

func rowErrorf(offset int, format string, args ...any) error {
	return &RowError{Offset: offset, What: fmt.Sprintf(format, args...)}
}

// section is a row or array that offsets count from. Its payloads together may
// not be longer than itself: slots that share bytes would let a small row stand
// for a huge one.
type section struct {
	b    []byte
	left int
}

func (s *section) payload(slot, offset, length int) ([]byte, error) {
	if offset < 0 || length < 0 || offset > len(s.b) || length > len(s.b)-offset {
		return nil, rowErrorf(slot, "%d bytes at offset %d are outside of %d bytes", length, offset, len(s.b))
	}
	if s.left -= length; s.left < 0 {
		return nil, rowErrorf(slot, "values overlap")
	}
	return s.b[offset : offset+length], nil
}

// decodeSlot appends the value of the slot of 8 bytes at s.b[slot:].
func (s *section) decodeSlot(slot int, v *Vector) error {
	raw := binary.LittleEndian.Uint64(s.b[slot:])
	switch v.store {
	case StoreI32:
		switch v.Type.Root {
		case Boolean:
			v.AppendBool(byte(raw) != 0)
		case TinyInt:
			v.AppendI32(int32(int8(raw)))
		case SmallInt:
			v.AppendI32(int32(int16(raw)))
		default:
			v.AppendI32(int32(raw))
		}
		return nil
	case StoreF32:
		v.AppendF32(math.Float32frombits(uint32(raw)))
		return nil
	case StoreF64:
		v.AppendF64(math.Float64frombits(raw))
		return nil
	case StoreI64:
		if !isWideTimestamp(v.Type) {
			v.AppendI64(int64(raw))
			return nil
		}
	case StoreBytes:
		if n := int(raw>>56) & 0x7f; raw>>63 == 1 {
			if n > inlineMax {
				return rowErrorf(slot, "inline value of %d bytes", n)
			}
			v.AppendBytes(s.b[slot : slot+n])
			return nil
		}
	}
	length, offset := int(int32(raw)), int(int32(raw>>32))
	if isWideTimestamp(v.Type) {
		return s.decodeTimestamp(slot, offset, length, v)
	}
	p, err := s.payload(slot, offset, length)
	if err != nil {
		return err
	}
	switch v.store {
	case StoreBytes:
		v.AppendBytes(p)
		return nil
	case StoreI128:
		x, ok := Int128FromBytes(p)
		if !ok {
			return rowErrorf(slot, "decimal of %d bytes", len(p))
		}
		v.AppendI128(x)
		return nil
	}
	return decodeNested(p, v)
}

func (s *section) decodeTimestamp(slot, offset, nanos int, v *Vector) error {
	p, err := s.payload(slot, offset, 8)
	if err != nil {
		return err
	}
	millis := int64(binary.LittleEndian.Uint64(p))
	if nanos < 0 || nanos > 999_999 {
		return rowErrorf(slot, "%d nanoseconds in a millisecond", nanos)
	}
	if v.store == StoreI64 && (millis > math.MaxInt64/1000-1 || millis < math.MinInt64/1000+1) {
		return rowErrorf(slot, "timestamp of %d milliseconds is out of range", millis)
	}
	v.AppendTimestamp(millis, int32(nanos))
	return nil
}

func decodeNested(p []byte, v *Vector) error {
	switch v.Type.Root {
	case Row:
		if _, err := decodeFields(p, v.Children); err != nil {
			return err
		}
		v.CloseStruct()
		return nil
	case Variant:
		value, metadata, ok := cut32(p)
		if !ok {
			return rowErrorf(0, "variant of %d bytes", len(p))
		}
		v.Children[0].AppendBytes(value)
		v.Children[1].AppendBytes(metadata)
		v.CloseStruct()
		return nil
	case Map, Multiset:
		keys, values, ok := cut32(p)
		if !ok {
			return rowErrorf(0, "map of %d bytes", len(p))
		}
		if err := decodeArray(keys, v.Children[0]); err != nil {
			return err
		}
		if err := decodeArray(values, v.Children[1]); err != nil {
			return err
		}
		if k, x := v.Children[0].n, v.Children[1].n; k != x {
			return rowErrorf(0, "map has %d more values than keys", x-k)
		}
	case Vec:
		if err := decodePacked(p, v.Children[0]); err != nil {
			return err
		}
	default:
		if err := decodeArray(p, v.Children[0]); err != nil {
			return err
		}
	}
	v.CloseList()
	return nil
}

// cut32 splits off what a length of 4 bytes in front announces.
func cut32(p []byte) (head, tail []byte, ok bool) {
	if len(p) < 4 {
		return nil, nil, false
	}
	n := int64(binary.LittleEndian.Uint32(p))
	if n > int64(len(p)-4) {
		return nil, nil, false
	}
	return p[4 : 4+n], p[4+n:], true
}

// decodePacked appends the elements of a VECTOR.
func decodePacked(p []byte, v *Vector) error {
	if len(p) < 4 {
		return rowErrorf(0, "vector of %d bytes", len(p))
	}
	n, width := int64(binary.LittleEndian.Uint32(p)), int64(elemWidth(v.Type))
	if n > int64(len(p)-4)/width {
		return rowErrorf(0, "vector of %d elements in %d bytes", n, len(p))
	}
	if !appendElems(v, p[4:], nil, int(n)) {
		return rowErrorf(0, "vector of %s", v.Type)
	}
	return nil
}

func decodeArray(p []byte, v *Vector) error {
	if len(p) < 4 {
		return rowErrorf(0, "array of %d bytes", len(p))
	}
	n, width := int64(binary.LittleEndian.Uint32(p)), int64(elemWidth(v.Type))
	if n > int64(len(p)-4)/width { // also keeps the next line from overflowing
		return rowErrorf(0, "array of %d elements in %d bytes", n, len(p))
	}
	header := arrayHeader(int(n))
	if header > len(p) || n*width > int64(len(p)-header) {
		return rowErrorf(0, "array of %d elements in %d bytes", n, len(p))
	}
	nulls := p[4:header]
	if appendElems(v, p[header:], nulls, int(n)) {
		return nil
	}
	s := section{b: p, left: len(p)}
	for k := range int(n) {
		if nulls[k>>3]>>(k&7)&1 == 1 {
			v.AppendNull()
			continue
		}
		if err := s.decodeSlot(header+8*k, v); err != nil {
			return err
		}
	}
	return nil
}

// appendElems appends n elements of a fixed width; nulls may be nil. It returns
// false for types whose elements are slots.
func appendElems(v *Vector, p, nulls []byte, n int) bool {
	width := elemWidth(v.Type)
	switch v.store {
	case StoreI32, StoreF32, StoreF64:
	case StoreI64:
		if isWideTimestamp(v.Type) {
			return false
		}
	default:
		return false
	}
	for k := range n {
		if nulls != nil && nulls[k>>3]>>(k&7)&1 == 1 {
			v.AppendNull()
			continue
		}
		e := p[k*width:]
		switch v.store {
		case StoreF32:
			v.AppendF32(math.Float32frombits(binary.LittleEndian.Uint32(e)))
		case StoreF64:
			v.AppendF64(math.Float64frombits(binary.LittleEndian.Uint64(e)))
		case StoreI64:
			v.AppendI64(int64(binary.LittleEndian.Uint64(e)))
		default:
			switch {
			case v.Type.Root == Boolean:
				v.AppendBool(e[0] != 0)
			case width == 1:
				v.AppendI32(int32(int8(e[0])))
			case width == 2:
				v.AppendI32(int32(int16(binary.LittleEndian.Uint16(e))))
			default:
				v.AppendI32(int32(binary.LittleEndian.Uint32(e)))
			}
		}
	}
	return true
}
