package lookup

import (
	"bytes"
	"encoding/binary"
	"math"

	"sluice/paimon/rowdata"
)

// Keys are byte strings that compare as the rows they were made of, so that the
// database keeps rows in the order of rowdata.Comparer. After the byte that sets
// them apart from the records about the index itself stand the key columns in
// their order:
//
//   - a column that may be NULL begins with a mark, 0 NULL, 1 a value; the
//     columns of primary keys are NOT NULL and have none;
//   - numbers are big-endian with the sign bit turned over, floats turned over
//     whole if negative, with one NaN;
//   - text and bytes have 00 escaped as 00 ff and end with 00 00, but for the
//     last column, which stands as it is to the end.
const (
	metaPrefix = 0 // records about the index
	dataPrefix = 1 // keys
)

var stateKey = []byte{metaPrefix, 's'}

type keyColumn struct {
	col      int
	name     string
	width    int // bytes of a StoreI32 value: 1, 2 or 4
	nullable bool
	last     bool
}

// keyCodec makes keys. It is immutable.
type keyCodec struct {
	cols []keyColumn
}

func newKeyCodec(s Spec) *keyCodec {
	c := &keyCodec{cols: make([]keyColumn, len(s.Key))}
	for i, col := range s.Key {
		f := s.Row.Fields[col]
		c.cols[i] = keyColumn{col: col, name: f.Name, width: intWidth(f.Type), nullable: !f.Type.NotNull, last: i == len(s.Key)-1}
	}
	return c
}

// intWidth returns how many bytes hold any value of a StoreI32 type.
func intWidth(t *rowdata.Type) int {
	switch t.Root {
	case rowdata.Boolean, rowdata.TinyInt:
		return 1
	case rowdata.SmallInt:
		return 2
	}
	return 4
}

// append appends the key of row i.
func (c *keyCodec) append(dst []byte, cols []*rowdata.Vector, i int) ([]byte, error) {
	dst = append(dst, dataPrefix)
	for k := range c.cols {
		kc := &c.cols[k]
		v := cols[kc.col]
		null := v.IsNull(i)
		switch {
		case kc.nullable && null:
			dst = append(dst, 0)
			continue
		case kc.nullable:
			dst = append(dst, 1)
		case null:
			return dst, &KeyError{Column: kc.name, Row: i}
		}
		switch v.Storage() {
		case rowdata.StoreI64:
			dst = binary.BigEndian.AppendUint64(dst, uint64(v.I64[i])^1<<63)
		case rowdata.StoreI32:
			dst = appendKeyInt(dst, v.I32[i], kc.width)
		case rowdata.StoreBytes:
			if b := v.Bytes(i); kc.last {
				dst = append(dst, b...)
			} else {
				dst = appendKeyBytes(dst, b)
			}
		case rowdata.StoreF32:
			dst = binary.BigEndian.AppendUint32(dst, orderF32(v.F32[i]))
		case rowdata.StoreF64:
			dst = binary.BigEndian.AppendUint64(dst, orderF64(v.F64[i]))
		case rowdata.StoreI128:
			x := v.I128[i]
			dst = binary.BigEndian.AppendUint64(dst, uint64(x.Hi)^1<<63)
			dst = binary.BigEndian.AppendUint64(dst, x.Lo)
		case rowdata.StoreNanos:
			dst = binary.BigEndian.AppendUint64(dst, uint64(v.I64[i])^1<<63)
			dst = binary.BigEndian.AppendUint32(dst, uint32(v.I32[i])^1<<31)
		}
	}
	return dst, nil
}

func appendKeyInt(dst []byte, x int32, width int) []byte {
	switch width {
	case 1:
		return append(dst, byte(x)^1<<7)
	case 2:
		return binary.BigEndian.AppendUint16(dst, uint16(x)^1<<15)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(x)^1<<31)
}

func appendKeyBytes(dst, b []byte) []byte {
	for {
		n := bytes.IndexByte(b, 0)
		if n < 0 {
			dst = append(dst, b...)
			return append(dst, 0, 0)
		}
		dst = append(dst, b[:n]...)
		dst = append(dst, 0, 0xff)
		b = b[n+1:]
	}
}

// orderF32 maps a float to an integer of the same order (format section 9.7):
// -0.0 before 0.0, NaN last and equal to itself.
func orderF32(x float32) uint32 {
	b := math.Float32bits(x)
	switch {
	case x != x:
		b = 0x7fc00000
	case b>>31 == 1:
		return ^b
	}
	return b | 1<<31
}

func orderF64(x float64) uint64 {
	b := math.Float64bits(x)
	switch {
	case x != x:
		b = 0x7ff8000000000000
	case b>>63 == 1:
		return ^b
	}
	return b | 1<<63
}

// keyHead returns bytes 1 to 8 of a key as an integer that orders as they do:
// most comparisons end with it.
func keyHead(key []byte) uint64 {
	if len(key) >= 9 {
		return binary.BigEndian.Uint64(key[1:9])
	}
	x := uint64(0)
	for i, b := range key[1:] {
		x |= uint64(b) << (56 - 8*i)
	}
	return x
}
