package encode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/paimon/rowdata"
)

// ErrCorrupt is returned by decoders for bytes that no encoder made.
var ErrCorrupt = errors.New("columns are corrupt")

// depthMax bounds how deep types may be nested.
const depthMax = 64

// emptyRowsMax bounds the rows of a ROW without members, which take no bytes.
const emptyRowsMax = 1 << 20

// column is a decoded Column message; it refers to the input.
type column struct {
	valid, fixed, nanos, offsets, data []byte
	children                           [][]byte
}

// DecodeColumns reads the content of a Columns message with n rows and appends
// them to the vectors, which have the types of the schema. It returns
// [ErrCorrupt] with what is wrong; the vectors then have rows that mean nothing.
func DecodeColumns(b []byte, n int, into []*rowdata.Vector) error {
	i := 0
	err := fields(b, func(field protowire.Number, v []byte) error {
		if field != columnsColumns {
			return nil
		}
		if i == len(into) {
			return corrupt("more columns than the schema has, which are %d", len(into))
		}
		if err := decodeColumn(v, n, into[i], 0); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
		i++
		return nil
	})
	if err == nil && i < len(into) {
		err = corrupt("%d columns, but the schema has %d", i, len(into))
	}
	return err
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

// fields calls fn with each field of bytes and passes over others.
func fields(b []byte, fn func(protowire.Number, []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return corrupt("tag")
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, b); n < 0 {
				return corrupt("field %d", field)
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return corrupt("length of field %d", field)
		}
		if err := fn(field, v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func decodeColumn(b []byte, n int, v *rowdata.Vector, depth int) error {
	if depth > depthMax {
		return corrupt("nested deeper than %d", depthMax)
	}
	var c column
	err := fields(b, func(field protowire.Number, x []byte) error {
		switch field {
		case columnValid:
			c.valid = x
		case columnFixed:
			c.fixed = x
		case columnNanos:
			c.nanos = x
		case columnOffsets:
			c.offsets = x
		case columnData:
			c.data = x
		case columnChildren:
			if len(c.children) == len(v.Children) {
				return corrupt("more children than %s has", v.Type)
			}
			c.children = append(c.children, x)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.check(n, v); err != nil {
		return err
	}
	from := v.Len()
	if err := c.values(n, v, depth); err != nil {
		return err
	}
	c.nulls(n, v, from)
	v.SetLen(from + n)
	return nil
}

// check compares the lengths of all parts with the type.
func (c *column) check(n int, v *rowdata.Vector) error {
	s := v.Storage()
	w := width(v.Type, s)
	offsets := s == rowdata.StoreBytes || s == rowdata.StoreList || s == rowdata.StoreMap
	switch {
	case len(c.fixed) != n*w:
		return corrupt("%d bytes for %d values of %s, want %d", len(c.fixed), n, v.Type, n*w)
	case s == rowdata.StoreNanos && len(c.nanos) != 4*n:
		return corrupt("%d bytes of nanoseconds for %d values", len(c.nanos), n)
	case len(c.valid) != 0 && len(c.valid) != (n+7)/8:
		return corrupt("%d bytes of validity for %d values", len(c.valid), n)
	case offsets && n > 0 && len(c.offsets) != 4*(n+1):
		return corrupt("%d bytes of offsets for %d values", len(c.offsets), n)
	case len(c.children) != len(v.Children):
		return corrupt("%d children of %s, want %d", len(c.children), v.Type, len(v.Children))
	case len(v.Children) == 0 && s == rowdata.StoreStruct && n > emptyRowsMax:
		return corrupt("%d rows without members", n)
	}
	return nil
}

// values appends all values, those of NULLs included.
func (c *column) values(n int, v *rowdata.Vector, depth int) (err error) {
	switch s := v.Storage(); s {
	case rowdata.StoreI32:
		v.I32 = c.int32s(v.I32, width(v.Type, s))
	case rowdata.StoreI64:
		v.I64 = appendNumbers(v.I64, c.fixed)
	case rowdata.StoreF32:
		v.F32 = appendNumbers(v.F32, c.fixed)
	case rowdata.StoreF64:
		v.F64 = appendNumbers(v.F64, c.fixed)
	case rowdata.StoreI128:
		for b := c.fixed; len(b) > 0; b = b[16:] {
			v.I128 = append(v.I128, rowdata.Int128{Lo: binary.LittleEndian.Uint64(b), Hi: int64(binary.LittleEndian.Uint64(b[8:]))})
		}
	case rowdata.StoreNanos:
		v.I64, v.I32 = appendNumbers(v.I64, c.fixed), appendNumbers(v.I32, c.nanos)
	case rowdata.StoreBytes:
		if err := c.shifted(n, v, len(c.data)); err != nil {
			return err
		}
		v.Data = append(v.Data, c.data...)
	case rowdata.StoreList, rowdata.StoreMap:
		elements := 0
		if n > 0 {
			elements = int(binary.LittleEndian.Uint32(c.offsets[4*n:]))
		}
		if err := c.shifted(n, v, elements); err != nil {
			return err
		}
		for i, child := range v.Children {
			if err := decodeColumn(c.children[i], elements, child, depth+1); err != nil {
				return fmt.Errorf("child %d: %w", i, err)
			}
		}
	case rowdata.StoreStruct:
		for i, child := range v.Children {
			if err := decodeColumn(c.children[i], n, child, depth+1); err != nil {
				return fmt.Errorf("member %d: %w", i, err)
			}
		}
	}
	return nil
}

func (c *column) int32s(dst []int32, w int) []int32 {
	switch w {
	case 1:
		for _, x := range c.fixed {
			dst = append(dst, int32(int8(x)))
		}
	case 2:
		for b := c.fixed; len(b) > 0; b = b[2:] {
			dst = append(dst, int32(int16(binary.LittleEndian.Uint16(b))))
		}
	default:
		dst = appendNumbers(dst, c.fixed)
	}
	return dst
}

// shifted appends offsets behind those of the vector, and checks that they grow
// from 0 to end.
func (c *column) shifted(n int, v *rowdata.Vector, end int) error {
	if n == 0 {
		if end != 0 {
			return corrupt("%d bytes for no values", end)
		}
		return nil
	}
	base, last := v.Offs[len(v.Offs)-1], uint32(0)
	if binary.LittleEndian.Uint32(c.offsets) != 0 || uint64(base)+uint64(end) > 1<<32-1 {
		return corrupt("offsets begin with %d", binary.LittleEndian.Uint32(c.offsets))
	}
	for b := c.offsets[4:]; len(b) > 0; b = b[4:] {
		o := binary.LittleEndian.Uint32(b)
		if o < last || int64(o) > int64(end) {
			return corrupt("offset %d after %d, with %d in all", o, last, end)
		}
		v.Offs = append(v.Offs, base+o)
		last = o
	}
	if int(last) != end {
		return corrupt("offsets end with %d, want %d", last, end)
	}
	return nil
}

// nulls gives the vector the validity of the new rows.
func (c *column) nulls(n int, v *rowdata.Vector, from int) {
	if len(c.valid) == 0 && v.Valid == nil {
		return
	}
	if v.Valid == nil {
		v.Valid = make([]byte, from, from+n)
		for i := range v.Valid {
			v.Valid[i] = 1
		}
	}
	for i := range n {
		bit := byte(1)
		if len(c.valid) > 0 {
			bit = c.valid[i/8] >> (i % 8) & 1
		}
		v.Valid = append(v.Valid, bit)
	}
}

// appendNumbers appends numbers in little-endian order.
func appendNumbers[T int32 | int64 | float32 | float64](dst []T, b []byte) []T {
	var zero T
	w := int(unsafe.Sizeof(zero))
	n := len(b) / w
	if n == 0 {
		return dst
	}
	at := len(dst)
	dst = append(dst, make([]T, n)...)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&dst[at])), n*w)
	copy(raw, b)
	if !littleEndian() {
		swap(raw, w)
	}
	return dst
}
