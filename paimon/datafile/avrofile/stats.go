package avrofile

import (
	"bytes"
	"math"

	"sluice/paimon/rowdata"
)

// collector keeps the least and the greatest value of a column, and how many
// NULLs there were. Avro files carry no statistics; the original collects them
// while it writes. Nested columns and binaries have a NULL count only, as there.
type collector struct {
	field      *rowdata.Field
	off        bool // nobody wants them
	seen       bool
	nulls      int64
	minI, maxI int64 // integers, and floats by their order
	min128     rowdata.Int128
	max128     rowdata.Int128
	minB, maxB []byte
}

func newCollectors(fields []rowdata.Field, off []bool) []collector {
	cs := make([]collector, len(fields))
	for i := range fields {
		cs[i] = collector{field: &fields[i], off: off != nil && off[i]}
	}
	return cs
}

// add takes rows from..to of the column into account.
func (c *collector) add(v *rowdata.Vector, from, to int) {
	if c.off {
		return
	}
	if v.Valid != nil {
		for _, ok := range v.Valid[from:to] {
			c.nulls += int64(1 - ok)
		}
	}
	switch v.Storage() {
	case rowdata.StoreI32:
		for i := from; i < to; i++ {
			if !v.IsNull(i) {
				c.int(int64(v.I32[i]))
			}
		}
	case rowdata.StoreI64:
		for i := from; i < to; i++ {
			if !v.IsNull(i) {
				c.int(v.I64[i])
			}
		}
	case rowdata.StoreF32:
		for i := from; i < to; i++ {
			if !v.IsNull(i) {
				c.int(floatOrder(float64(v.F32[i])))
			}
		}
	case rowdata.StoreF64:
		for i := from; i < to; i++ {
			if !v.IsNull(i) {
				c.int(floatOrder(v.F64[i]))
			}
		}
	case rowdata.StoreI128:
		for i := from; i < to; i++ {
			if !v.IsNull(i) {
				c.int128(v.I128[i])
			}
		}
	case rowdata.StoreBytes:
		if !c.field.Type.IsString() {
			return
		}
		for i := from; i < to; i++ {
			if !v.IsNull(i) {
				c.bytes(v.Bytes(i))
			}
		}
	}
}

func (c *collector) int(x int64) {
	if !c.seen {
		c.seen, c.minI, c.maxI = true, x, x
		return
	}
	c.minI, c.maxI = min(c.minI, x), max(c.maxI, x)
}

func (c *collector) int128(x rowdata.Int128) {
	if !c.seen {
		c.seen, c.min128, c.max128 = true, x, x
		return
	}
	if x.Cmp(c.min128) < 0 {
		c.min128 = x
	}
	if x.Cmp(c.max128) > 0 {
		c.max128 = x
	}
}

func (c *collector) bytes(b []byte) {
	if !c.seen {
		c.seen, c.minB, c.maxB = true, append(c.minB, b...), append(c.maxB, b...)
		return
	}
	if bytes.Compare(b, c.minB) < 0 {
		c.minB = append(c.minB[:0], b...)
	}
	if bytes.Compare(b, c.maxB) > 0 {
		c.maxB = append(c.maxB[:0], b...)
	}
}

// stats returns what was found.
func (c *collector) stats() rowdata.ColumnStats {
	if c.off {
		return rowdata.ColumnStats{Nulls: -1}
	}
	s := rowdata.ColumnStats{Nulls: c.nulls}
	if c.seen {
		s.Min, s.Max = rowdata.NewVector(c.field.Type, 1), rowdata.NewVector(c.field.Type, 1)
		c.put(s.Min, c.minI, c.min128, c.minB)
		c.put(s.Max, c.maxI, c.max128, c.maxB)
	}
	return s
}

func (c *collector) put(v *rowdata.Vector, i int64, x rowdata.Int128, b []byte) {
	switch v.Storage() {
	case rowdata.StoreI32:
		v.AppendI32(int32(i))
	case rowdata.StoreI64:
		v.AppendI64(i)
	case rowdata.StoreF32:
		v.AppendF32(float32(floatOf(i)))
	case rowdata.StoreF64:
		v.AppendF64(floatOf(i))
	case rowdata.StoreI128:
		v.AppendI128(x)
	case rowdata.StoreBytes:
		v.AppendBytes(b)
	}
}

// floatOrder maps floats to integers of the same order: -0.0 before 0.0, NaN
// last (format section 9.7).
func floatOrder(x float64) int64 {
	if x != x {
		return math.MaxInt64
	}
	b := int64(math.Float64bits(x))
	return b ^ int64(uint64(b>>63)>>1)
}

// floatOf is the inverse of floatOrder.
func floatOf(i int64) float64 {
	if i == math.MaxInt64 {
		return math.Float64frombits(0x7ff8 << 48) // as Java writes it
	}
	return math.Float64frombits(uint64(i ^ int64(uint64(i>>63)>>1)))
}
