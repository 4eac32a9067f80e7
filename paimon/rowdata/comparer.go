package rowdata

import "math"

// Comparer orders the rows of batches by some of their columns, the first being
// the most significant. It is immutable and may be shared.
type Comparer struct {
	cols []int
}

// NewComparer returns the order of the columns at these positions of a batch.
func NewComparer(cols []int) *Comparer { return &Comparer{cols: cols} }

// Cols returns the positions of the columns; the caller does not change them.
func (c *Comparer) Cols() []int { return c.cols }

// Compare orders row i of a and row j of b.
func (c *Comparer) Compare(a *Batch, i int, b *Batch, j int) int {
	for _, col := range c.cols {
		if r := Compare(a.Cols[col], i, b.Cols[col], j); r != 0 {
			return r
		}
	}
	return 0
}

// Equal tells whether row i of a and row j of b have equal values.
func (c *Comparer) Equal(a *Batch, i int, b *Batch, j int) bool {
	for _, col := range c.cols {
		if !Equal(a.Cols[col], i, b.Cols[col], j) {
			return false
		}
	}
	return true
}

// Prefixes appends 8 bytes for each row of the batch that order as the rows do:
// a smaller prefix means a smaller row; equal prefixes mean equal keys if exact,
// else they leave it open. Prefixes of different batches of one type compare
// with each other, and are exact together if they are exact in both.
func (c *Comparer) Prefixes(dst []uint64, b *Batch) (out []uint64, exact bool) {
	at := len(dst)
	if n := at + b.N; n <= cap(dst) {
		dst = dst[:n]
		clear(dst[at:])
	} else {
		dst = append(dst, make([]uint64, b.N)...)
	}
	out = dst[at:]
	room := uint(64)
	exact = true
	for k, col := range c.cols {
		v := b.Cols[col]
		width, fixed := prefixBits(v)
		if !fixed || width > room {
			addPartial(out, v, room)
			maskNulls(out, v, room)
			exact = false
			c.maskAll(out, b, k)
			return dst, false
		}
		addFixed(out, v, room-width)
		if maskNulls(out, v, room) {
			exact = false
		}
		room -= width
	}
	if !exact {
		c.maskAll(out, b, len(c.cols))
	}
	return dst, exact
}

// maskAll clears, for each NULL in the first k columns, what later columns have
// added: a NULL has the bits of the least value, so that only zeros behind it
// keep it from overtaking that value.
func (c *Comparer) maskAll(out []uint64, b *Batch, k int) {
	room := uint(64)
	for _, col := range c.cols[:k] {
		v := b.Cols[col]
		maskNulls(out, v, room)
		width, _ := prefixBits(v)
		room -= width
	}
}

// maskNulls clears the lowest room bits of the rows that are NULL.
func maskNulls(out []uint64, v *Vector, room uint) (any bool) {
	for i, ok := range v.Valid {
		if ok == 0 {
			any = true
			out[i] = out[i] >> room << room
		}
	}
	return any
}

// prefixBits returns how many bits hold the values of the column in their order,
// if it is a fixed number up to 64.
func prefixBits(v *Vector) (bits uint, fixed bool) {
	switch v.store {
	case StoreI32:
		switch v.Type.Root {
		case Boolean, TinyInt:
			return 8, true
		case SmallInt:
			return 16, true
		}
		return 32, true
	case StoreF32:
		return 32, true
	case StoreI64, StoreF64:
		return 64, true
	}
	return 0, false
}

// addFixed puts the values, as unsigned integers of the same order, at the bits
// from shift on.
func addFixed(out []uint64, v *Vector, shift uint) {
	switch v.store {
	case StoreI32:
		switch v.Type.Root {
		case Boolean, TinyInt:
			for i, x := range v.I32 {
				out[i] |= uint64(uint8(x)^1<<7) << shift
			}
		case SmallInt:
			for i, x := range v.I32 {
				out[i] |= uint64(uint16(x)^1<<15) << shift
			}
		default:
			for i, x := range v.I32 {
				out[i] |= uint64(uint32(x)^1<<31) << shift
			}
		}
	case StoreF32:
		for i, x := range v.F32 {
			out[i] |= uint64(orderF32(x)) << shift
		}
	case StoreI64:
		for i, x := range v.I64 {
			out[i] |= (uint64(x) ^ 1<<63) << shift
		}
	case StoreF64:
		for i, x := range v.F64 {
			out[i] |= orderF64(x) << shift
		}
	}
}

// addPartial puts the most significant part of values that do not fit into the
// lowest room bits.
func addPartial(out []uint64, v *Vector, room uint) {
	shift := 64 - room
	switch v.store {
	case StoreI32:
		for i, x := range v.I32 {
			out[i] |= uint64(uint32(x)^1<<31) << 32 >> shift
		}
	case StoreF32:
		for i, x := range v.F32 {
			out[i] |= uint64(orderF32(x)) << 32 >> shift
		}
	case StoreI64, StoreNanos:
		for i, x := range v.I64 {
			out[i] |= (uint64(x) ^ 1<<63) >> shift
		}
	case StoreF64:
		for i, x := range v.F64 {
			out[i] |= orderF64(x) >> shift
		}
	case StoreI128:
		for i, x := range v.I128 {
			out[i] |= (uint64(x.saturate()) ^ 1<<63) >> shift
		}
	case StoreBytes:
		from := v.Offs[0]
		for i, to := range v.Offs[1:] {
			out[i] |= head8(v.Data[from:to]) >> shift
			from = to
		}
	}
}

// head8 returns the first 8 bytes as a big-endian integer, zeros for those that
// are missing.
func head8(b []byte) uint64 {
	if len(b) >= 8 {
		return uint64(b[0])<<56 | uint64(b[1])<<48 | uint64(b[2])<<40 | uint64(b[3])<<32 |
			uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
	}
	x := uint64(0)
	for i, c := range b {
		x |= uint64(c) << (56 - 8*i)
	}
	return x
}

// saturate returns the 64-bit integer that is nearest to x.
func (x Int128) saturate() int64 {
	switch {
	case x.IsInt64():
		return int64(x.Lo)
	case x.Hi < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}
