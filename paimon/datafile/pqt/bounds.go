package pqt

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"sluice/paimon/rowdata"
)

// bounds are the least and the greatest non-NULL value of a page, a column chunk
// or a file, in the order of format section 9.7.
type bounds struct {
	known    bool // there is a value
	nan      bool // one of them is NaN
	lo, hi   int64
	dlo, dhi rowdata.Int128
	blo, bhi []byte
}

// Floating point values are compared as integers that have the same order, which
// is that of Java's Double.compare: -0.0 before 0.0, NaN after everything.
func orderF64(x float64) int64 {
	if x != x {
		return math.MaxInt64
	}
	b := int64(math.Float64bits(x))
	return b ^ int64(uint64(b>>63)>>1)
}

func f64Ordered(k int64) float64 {
	if k == math.MaxInt64 {
		return math.NaN()
	}
	return math.Float64frombits(uint64(k ^ int64(uint64(k>>63)>>1)))
}

func orderF32(x float32) int32 {
	if x != x {
		return math.MaxInt32
	}
	b := int32(math.Float32bits(x))
	return b ^ int32(uint32(b>>31)>>1)
}

func f32Ordered(k int32) float32 {
	if k == math.MaxInt32 {
		return float32(math.NaN())
	}
	return math.Float32frombits(uint32(k ^ int32(uint32(k>>31)>>1)))
}

// minMax returns the least and the greatest of at least one value.
func minMax[T int32 | int64](v []T) (lo, hi T) {
	lo, hi = v[0], v[0]
	lo2, hi2 := lo, hi
	for len(v) >= 4 {
		q := v[:4:4]
		lo, hi = min(lo, q[0], q[1]), max(hi, q[0], q[1])
		lo2, hi2 = min(lo2, q[2], q[3]), max(hi2, q[2], q[3])
		v = v[4:]
	}
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	return min(lo, lo2), max(hi, hi2)
}

// reset empties b and keeps its memory.
func (b *bounds) reset() {
	*b = bounds{blo: b.blo[:0], bhi: b.bhi[:0]}
}

// merge widens b to hold o, which is of the same class.
func (b *bounds) merge(o *bounds, class valueClass) {
	switch {
	case !o.known:
		return
	case !b.known:
		*b = bounds{
			known: true, nan: o.nan, lo: o.lo, hi: o.hi, dlo: o.dlo, dhi: o.dhi,
			blo: append(b.blo[:0], o.blo...), bhi: append(b.bhi[:0], o.bhi...),
		}
		return
	}
	b.nan = b.nan || o.nan
	switch class {
	case classBytes:
		if bytes.Compare(o.blo, b.blo) < 0 {
			b.blo = append(b.blo[:0], o.blo...)
		}
		if bytes.Compare(o.bhi, b.bhi) > 0 {
			b.bhi = append(b.bhi[:0], o.bhi...)
		}
	case classI128:
		if o.dlo.Cmp(b.dlo) < 0 {
			b.dlo = o.dlo
		}
		if o.dhi.Cmp(b.dhi) > 0 {
			b.dhi = o.dhi
		}
	default:
		b.lo, b.hi = min(b.lo, o.lo), max(b.hi, o.hi)
	}
}

// plain appends one end of b in PLAIN encoding without a length, as statistics
// have it. A zero is made the zero that covers both, for readers that do not
// know -0.0 from 0.0.
func (b *bounds) plain(dst []byte, class valueClass, width int, upper bool) []byte {
	x, d, s := b.lo, b.dlo, b.blo
	if upper {
		x, d, s = b.hi, b.dhi, b.bhi
	}
	switch class {
	case classBool:
		return append(dst, byte(x))
	case classI32, classDecimal32:
		return binary.LittleEndian.AppendUint32(dst, uint32(x))
	case classI64:
		return binary.LittleEndian.AppendUint64(dst, uint64(x))
	case classF32:
		f := f32Ordered(int32(x))
		if f == 0 {
			f = float32(zeroBound(upper))
		}
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	case classF64:
		f := f64Ordered(x)
		if f == 0 {
			f = zeroBound(upper)
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	case classI128:
		return d.AppendBytes(dst, width)
	}
	return append(dst, s...)
}

func zeroBound(upper bool) float64 {
	if upper {
		return 0
	}
	return math.Copysign(0, -1)
}

// vector returns one end of b as a vector of one row.
func (b *bounds) vector(t *rowdata.Type, class valueClass, upper bool) *rowdata.Vector {
	x, d, s := b.lo, b.dlo, b.blo
	if upper {
		x, d, s = b.hi, b.dhi, b.bhi
	}
	v := rowdata.NewVector(t.Nullable(), 1)
	switch class {
	case classBool, classI32:
		v.AppendI32(int32(x))
	case classI64, classDecimal32:
		v.AppendI64(x)
	case classF32:
		v.AppendF32(f32Ordered(int32(x)))
	case classF64:
		v.AppendF64(f64Ordered(x))
	case classI128:
		v.AppendI128(d)
	default:
		v.AppendBytes(s)
	}
	return v
}

// cutLow returns a prefix of s of at most n bytes. As a lower bound it holds for
// whatever s bounds. Text is not cut within a character.
func cutLow(s []byte, n int, text bool) []byte {
	if len(s) <= n {
		return s
	}
	if text {
		n = charStart(s, n)
	}
	return s[:n]
}

// cutHigh appends to dst a short upper bound for s: a prefix of at most n bytes
// whose last unit is increased. If there is none, it is s itself.
func cutHigh(dst, s []byte, n int, text bool) []byte {
	if len(s) <= n {
		return append(dst, s...)
	}
	if !text {
		for ; n > 0; n-- {
			if s[n-1] != 0xff {
				dst = append(dst, s[:n]...)
				dst[len(dst)-1]++
				return dst
			}
		}
		return append(dst, s...)
	}
	for n = charStart(s, n); n > 0; {
		start := charStart(s, n-1)
		if next := nextChar(s[start:n]); next != nil {
			dst = append(dst, s[:start]...)
			return append(dst, next...)
		}
		n = start
	}
	return append(dst, s...)
}

// charStart returns the greatest position up to n where a UTF-8 character begins.
func charStart(s []byte, n int) int {
	for n > 0 && n < len(s) && s[n]&0xc0 == 0x80 {
		n--
	}
	return n
}

// nextChar returns the character after c in the order of bytes, in as many
// bytes, or nil if that is the last one or c is not valid.
func nextChar(c []byte) []byte {
	r, n := utf8.DecodeRune(c)
	if n != len(c) || r == utf8.RuneError && n == 1 {
		return nil
	}
	r++
	if r == 0xd800 {
		r = 0xe000 // the surrogates are no characters
	}
	if utf8.RuneLen(r) != n {
		return nil
	}
	return utf8.AppendRune(nil, r)
}
