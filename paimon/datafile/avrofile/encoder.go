package avrofile

import (
	"encoding/binary"
	"math"

	"sluice/paimon/rowdata"
)

// encOp says how the value of a place is written.
type encOp uint8

const (
	encBool encOp = iota
	encInt
	encLong
	encFloat
	encDouble
	encBytes
	encDecimal64
	encDecimal128
	encList
	encMap   // native map with string keys
	encPairs // array of key-value records
	encRecord
)

// encoder writes the values of one place of the schema: a column, a member, an
// element.
type encoder struct {
	op       encOp
	nullable bool   // a union whose first branch is null
	path     string // for errors
	kids     []encoder
}

func newEncoder(t *rowdata.Type, path string) encoder {
	e := encoder{nullable: !t.NotNull, path: path}
	switch t.Root {
	case rowdata.Boolean:
		e.op = encBool
	case rowdata.Float:
		e.op = encFloat
	case rowdata.Double:
		e.op = encDouble
	case rowdata.Decimal:
		e.op = encDecimal64
		if t.Storage() == rowdata.StoreI128 {
			e.op = encDecimal128
		}
	case rowdata.Array, rowdata.Vec:
		e.op = encList
		e.kids = []encoder{newEncoder(t.Elem, join(path, "element"))}
	case rowdata.Map:
		e.op = encPairs
		if t.Key.IsString() {
			e.op = encMap
		}
		e.kids = []encoder{newEncoder(t.Key, join(path, "key")), newEncoder(t.Elem, join(path, "value"))}
		if e.op == encMap {
			e.kids[0].nullable = false
		}
	case rowdata.Multiset:
		e.op = encMap
		e.kids = []encoder{{op: encBytes, path: join(path, "element")}, {op: encInt, nullable: true, path: join(path, "count")}}
	case rowdata.Row:
		e.op = encRecord
		for i := range t.Fields {
			e.kids = append(e.kids, newEncoder(t.Fields[i].Type, join(path, t.Fields[i].Name)))
		}
	default:
		switch t.Storage() {
		case rowdata.StoreI32:
			e.op = encInt
		case rowdata.StoreI64:
			e.op = encLong
		default:
			e.op = encBytes
		}
	}
	return e
}

// append adds row i of v to dst. A NULL that the schema doesn't allow is told
// through bad, which keeps the first one.
func (e *encoder) append(dst []byte, v *rowdata.Vector, i int, bad *error) []byte {
	if v.Valid != nil && v.Valid[i] == 0 {
		if !e.nullable && *bad == nil {
			*bad = &NullError{Column: e.path}
		}
		return append(dst, 0)
	}
	if e.nullable {
		dst = append(dst, 2) // branch 1
	}
	switch e.op {
	case encBool:
		return append(dst, byte(v.I32[i]))
	case encInt:
		return binary.AppendVarint(dst, int64(v.I32[i]))
	case encLong:
		return binary.AppendVarint(dst, v.I64[i])
	case encFloat:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v.F32[i]))
	case encDouble:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.F64[i]))
	case encBytes:
		return appendBytes(dst, v.Bytes(i))
	case encDecimal64:
		return appendDecimal(dst, rowdata.Int128From(v.I64[i]))
	case encDecimal128:
		return appendDecimal(dst, v.I128[i])
	case encRecord:
		for k := range e.kids {
			dst = e.kids[k].append(dst, v.Children[k], i, bad)
		}
		return dst
	}
	return e.appendItems(dst, v, int(v.Offs[i]), int(v.Offs[i+1]), bad)
}

// appendItems adds the elements from..to of a list or map: one block with its
// count, and the empty block that ends it.
func (e *encoder) appendItems(dst []byte, v *rowdata.Vector, from, to int, bad *error) []byte {
	if from < to {
		dst = binary.AppendVarint(dst, int64(to-from))
	}
	for i := from; i < to; i++ {
		for k := range e.kids {
			dst = e.kids[k].append(dst, v.Children[k], i, bad)
		}
	}
	return append(dst, 0)
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func appendDecimal(dst []byte, x rowdata.Int128) []byte {
	at := len(dst)
	dst = x.AppendMinimal(append(dst, 0))
	dst[at] = byte(len(dst)-at-1) << 1 // at most 16: one byte of zigzag
	return dst
}
