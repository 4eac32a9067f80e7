package lookup

import (
	"encoding/binary"
	"math"

	"sluice/paimon/rowdata"
)

// formatVersion is the layout of keys, values and folders that this code writes;
// an index of another one is made anew.
const formatVersion = 3

// A value is a record without its key columns, which whoever looks it up has at
// hand:
//
//	kind        1 byte: row kind in bits 0 and 1; bit 2 set if any column is NULL
//	sequence    uvarint
//	nulls       only with bit 2: a bit a column, set for NULL
//	columns     those that are not NULL, one after the other
//
// Integers, dates, times, timestamps and small decimals are zigzag varints, but
// for a byte or two of BOOLEAN, TINYINT and SMALLINT; floats little-endian; large
// decimals a length and the shortest two's complement; text and bytes an uvarint
// length and the bytes; constructed values a length of four bytes and a binary
// row of one field (format section 6). With Spec.KeyOnly values are empty.
const (
	kindMask = 3
	hasNulls = 1 << 2
)

type valueColumn struct {
	col   int
	width int // bytes of a StoreI32 value
	store rowdata.Storage
}

// valueCodec makes values of records and records of values. It is immutable.
type valueCodec struct {
	cols    []valueColumn // all but the key's
	keys    []int
	nulls   int // bytes of the NULL bits
	keyOnly bool
}

func newValueCodec(s Spec) *valueCodec {
	c := &valueCodec{keys: s.Key, keyOnly: s.KeyOnly}
	isKey := make([]bool, len(s.Row.Fields))
	for _, k := range s.Key {
		isKey[k] = true
	}
	for i, f := range s.Row.Fields {
		if !isKey[i] {
			c.cols = append(c.cols, valueColumn{i, intWidth(f.Type), f.Type.Storage()})
		}
	}
	c.nulls = (len(c.cols) + 7) / 8
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

var zeroNulls [1 << 13]byte // more NULL bits than a row has columns, see maxColumns

// maxColumns bounds the columns of an indexed row.
const maxColumns = 8 * len(zeroNulls)

// append appends the value of record i.
func (c *valueCodec) append(dst []byte, kv *rowdata.KeyValues, i int) []byte {
	if c.keyOnly {
		return dst
	}
	at := len(dst)
	dst = append(dst, byte(kv.Kinds[i])&kindMask)
	dst = binary.AppendUvarint(dst, uint64(kv.Seq[i]))
	nulls := len(dst)
	for k := range c.cols {
		if kv.Cols[c.cols[k].col].IsNull(i) {
			if dst[at]&hasNulls == 0 {
				dst[at] |= hasNulls
				// The columns so far make way for the bits.
				dst = append(dst, zeroNulls[:c.nulls]...)
				copy(dst[nulls+c.nulls:], dst[nulls:len(dst)-c.nulls])
				clear(dst[nulls : nulls+c.nulls])
			}
			dst[nulls+k>>3] |= 1 << (k & 7)
			continue
		}
		dst = c.cols[k].append(dst, kv.Cols[c.cols[k].col], i)
	}
	return dst
}

func (vc *valueColumn) append(dst []byte, v *rowdata.Vector, i int) []byte {
	switch vc.store {
	case rowdata.StoreI64:
		return binary.AppendVarint(dst, v.I64[i])
	case rowdata.StoreI32:
		switch x := v.I32[i]; vc.width {
		case 1:
			return append(dst, byte(x))
		case 2:
			return binary.LittleEndian.AppendUint16(dst, uint16(x))
		default:
			return binary.AppendVarint(dst, int64(x))
		}
	case rowdata.StoreBytes:
		b := v.Bytes(i)
		dst = binary.AppendUvarint(dst, uint64(len(b)))
		return append(dst, b...)
	case rowdata.StoreF32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.F32[i]))
	case rowdata.StoreF64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.F64[i]))
	case rowdata.StoreI128:
		at := len(dst)
		dst = v.I128[i].AppendMinimal(append(dst, 0))
		dst[at] = byte(len(dst) - at - 1)
		return dst
	case rowdata.StoreNanos:
		dst = binary.AppendVarint(dst, v.I64[i])
		return binary.AppendUvarint(dst, uint64(uint32(v.I32[i])))
	}
	at := len(dst)
	one := [1]*rowdata.Vector{v}
	dst = rowdata.AppendBinaryRow(append(dst, 0, 0, 0, 0), one[:], i)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
