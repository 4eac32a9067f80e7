package lookup

import (
	"encoding/binary"
	"math"

	"sluice/paimon/rowdata"
)

// decoder makes records of values, column by column. It keeps memory between
// calls and serves one goroutine.
type decoder struct {
	codec *valueCodec
	pos   []uint32 // of each value, where the next column begins
	nulls [][]byte // of each value, its NULL bits
	any   bool     // some value has NULLs
}

// decode appends the records of the values to dst; the key columns are rows rows
// of b. A value that is none is errValue, after which dst must not be used.
func (d *decoder) decode(dst *rowdata.KeyValues, vals [][]byte, b *rowdata.Batch, rows []int32) error {
	c := d.codec
	for _, k := range c.keys {
		dst.Cols[k].Gather(b.Cols[k], rows)
	}
	if c.keyOnly {
		return d.keysOnly(dst, len(vals))
	}
	if err := d.heads(dst, vals); err != nil {
		return err
	}
	for k := range c.cols {
		vc := &c.cols[k]
		v := dst.Cols[vc.col]
		var ok bool
		if v.Valid != nil || d.any && d.anyNull(k) {
			ok = d.column(v, vc, k, vals)
		} else {
			ok = d.plain(v, vc, vals)
		}
		if !ok {
			return errValue
		}
	}
	for i, val := range vals {
		if int(d.pos[i]) != len(val) {
			return errValue
		}
	}
	dst.N += len(vals)
	return nil
}

func (d *decoder) keysOnly(dst *rowdata.KeyValues, n int) error {
	for range n {
		dst.Seq = append(dst.Seq, 0)
		dst.Kinds = append(dst.Kinds, rowdata.Insert)
	}
	for k := range d.codec.cols {
		v := dst.Cols[d.codec.cols[k].col]
		for range n {
			v.AppendNull()
		}
	}
	dst.N += n
	return nil
}

// heads reads what stands before the columns.
func (d *decoder) heads(dst *rowdata.KeyValues, vals [][]byte) error {
	d.pos, d.nulls, d.any = d.pos[:0], d.nulls[:0], false
	width := d.codec.nulls
	for _, val := range vals {
		if len(val) == 0 || val[0]&^(kindMask|hasNulls) != 0 {
			return errValue
		}
		seq, n := binary.Uvarint(val[1:])
		if n <= 0 {
			return errValue
		}
		pos := 1 + n
		nulls := zeroNulls[:width]
		if val[0]&hasNulls != 0 {
			if len(val) < pos+width {
				return errValue
			}
			nulls = val[pos : pos+width]
			pos += width
			d.any = true
		}
		dst.Seq = append(dst.Seq, int64(seq))
		dst.Kinds = append(dst.Kinds, rowdata.RowKind(val[0]&kindMask))
		d.pos = append(d.pos, uint32(pos))
		d.nulls = append(d.nulls, nulls)
	}
	return nil
}

func (d *decoder) anyNull(k int) bool {
	at, bit := k>>3, byte(1)<<(k&7)
	for _, nulls := range d.nulls {
		if nulls[at]&bit != 0 {
			return true
		}
	}
	return false
}

// uvarint reads an integer at pos; the next position is 0 if there is none.
func uvarint(b []byte, pos uint32) (uint64, uint32) {
	x, shift := uint64(0), uint(0)
	for i := int(pos); i < len(b); i++ {
		c := b[i]
		if c < 0x80 {
			if shift == 63 && c > 1 {
				return 0, 0
			}
			return x | uint64(c)<<shift, uint32(i + 1)
		}
		if shift == 63 {
			return 0, 0
		}
		x |= uint64(c&0x7f) << shift
		shift += 7
	}
	return 0, 0
}

func varint(b []byte, pos uint32) (int64, uint32) {
	x, next := uvarint(b, pos)
	return int64(x>>1) ^ -int64(x&1), next
}

// bytesAt reads the value of a StoreBytes column; the next position is 0 if
// there is none.
func bytesAt(b []byte, pos uint32) ([]byte, uint32) {
	n, next := uvarint(b, pos)
	if next == 0 || n > uint64(len(b))-uint64(next) {
		return nil, 0
	}
	return b[next : uint64(next)+n], next + uint32(n)
}

// plain reads a column without NULLs into a vector without NULLs.
func (d *decoder) plain(v *rowdata.Vector, vc *valueColumn, vals [][]byte) bool {
	pos := d.pos[:len(vals)]
	switch {
	case vc.store == rowdata.StoreI64:
		for i, val := range vals {
			x, next := varint(val, pos[i])
			if next == 0 {
				return false
			}
			v.I64, pos[i] = append(v.I64, x), next
		}
		v.SetLen(len(v.I64))
	case vc.store == rowdata.StoreI32 && vc.width == 4:
		for i, val := range vals {
			x, next := varint(val, pos[i])
			if next == 0 {
				return false
			}
			v.I32, pos[i] = append(v.I32, int32(x)), next
		}
		v.SetLen(len(v.I32))
	case vc.store == rowdata.StoreBytes:
		for i, val := range vals {
			x, next := bytesAt(val, pos[i])
			if next == 0 || len(v.Data)+len(x) > math.MaxUint32 {
				return false
			}
			v.Data = append(v.Data, x...)
			v.Offs, pos[i] = append(v.Offs, uint32(len(v.Data))), next
		}
		v.SetLen(len(v.Offs) - 1)
	case vc.store == rowdata.StoreF64:
		for i, val := range vals {
			p := int(pos[i])
			if len(val) < p+8 {
				return false
			}
			v.F64 = append(v.F64, math.Float64frombits(binary.LittleEndian.Uint64(val[p:])))
			pos[i] += 8
		}
		v.SetLen(len(v.F64))
	default:
		for i, val := range vals {
			if !vc.read(v, val, &pos[i]) {
				return false
			}
		}
	}
	return true
}

// column reads column k, some of whose values are NULL.
func (d *decoder) column(v *rowdata.Vector, vc *valueColumn, k int, vals [][]byte) bool {
	at, bit := k>>3, byte(1)<<(k&7)
	for i, val := range vals {
		if d.nulls[i][at]&bit != 0 {
			v.AppendNull()
		} else if !vc.read(v, val, &d.pos[i]) {
			return false
		}
	}
	return true
}

// read appends the value at pos, which it moves behind it.
func (vc *valueColumn) read(v *rowdata.Vector, val []byte, pos *uint32) bool {
	p := int(*pos)
	next := uint32(0)
	switch vc.store {
	case rowdata.StoreI64:
		x, n := varint(val, *pos)
		if n == 0 {
			return false
		}
		v.AppendI64(x)
		next = n
	case rowdata.StoreI32:
		if vc.width < 4 {
			return vc.readSmall(v, val, pos)
		}
		x, n := varint(val, *pos)
		if n == 0 {
			return false
		}
		v.AppendI32(int32(x))
		next = n
	case rowdata.StoreBytes:
		x, n := bytesAt(val, *pos)
		if n == 0 || len(v.Data)+len(x) > math.MaxUint32 {
			return false
		}
		v.AppendBytes(x)
		next = n
	case rowdata.StoreF32:
		if len(val) < p+4 {
			return false
		}
		v.AppendF32(math.Float32frombits(binary.LittleEndian.Uint32(val[p:])))
		next = *pos + 4
	case rowdata.StoreF64:
		if len(val) < p+8 {
			return false
		}
		v.AppendF64(math.Float64frombits(binary.LittleEndian.Uint64(val[p:])))
		next = *pos + 8
	default:
		return vc.readLarge(v, val, pos)
	}
	*pos = next
	return true
}

func (vc *valueColumn) readSmall(v *rowdata.Vector, val []byte, pos *uint32) bool {
	p := int(*pos)
	if len(val) < p+vc.width {
		return false
	}
	if vc.width == 1 {
		v.AppendI32(int32(int8(val[p])))
	} else {
		v.AppendI32(int32(int16(binary.LittleEndian.Uint16(val[p:]))))
	}
	*pos += uint32(vc.width)
	return true
}

func (vc *valueColumn) readLarge(v *rowdata.Vector, val []byte, pos *uint32) bool {
	p := int(*pos)
	switch vc.store {
	case rowdata.StoreI128:
		if p >= len(val) || len(val) < p+1+int(val[p]) {
			return false
		}
		n := int(val[p])
		x, ok := rowdata.Int128FromBytes(val[p+1 : p+1+n])
		if !ok {
			return false
		}
		v.AppendI128(x)
		*pos += uint32(1 + n)
	case rowdata.StoreNanos:
		millis, next := varint(val, *pos)
		if next == 0 {
			return false
		}
		nanos, next := uvarint(val, next)
		if next == 0 || nanos > 999_999 {
			return false
		}
		v.AppendTimestamp(millis, int32(nanos))
		*pos = next
	default:
		if len(val) < p+4 {
			return false
		}
		n := binary.LittleEndian.Uint32(val[p:])
		if uint64(n) > uint64(len(val)-p-4) {
			return false
		}
		one := [1]*rowdata.Vector{v}
		if rowdata.DecodeBinaryRow(val[p+4:p+4+int(n)], one[:]) != nil {
			return false
		}
		*pos += 4 + n
	}
	return true
}
