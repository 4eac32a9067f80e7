package rowdata

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
)

// AppendText appends row i, which is not NULL, as CAST(x AS STRING) renders it.
// TIMESTAMP_LTZ is rendered in UTC.
func AppendText(dst []byte, v *Vector, i int) []byte {
	switch t := v.Type; t.Root {
	case Boolean:
		return strconv.AppendBool(dst, v.I32[i] != 0)
	case TinyInt, SmallInt, Int:
		return strconv.AppendInt(dst, int64(v.I32[i]), 10)
	case BigInt:
		return strconv.AppendInt(dst, v.I64[i], 10)
	case Float:
		return appendFloat(dst, float64(v.F32[i]), 32)
	case Double:
		return appendFloat(dst, v.F64[i], 64)
	case Decimal:
		return appendDecimal(dst, v, i)
	case Date:
		return appendDate(dst, int64(v.I32[i]))
	case Time:
		return appendShortTime(dst, v.I32[i], t.Precision)
	case Timestamp, TimestampLTZ:
		millis, nanos := v.TimestampAt(i)
		return appendStamp(dst, millis, nanos, ' ', t.Precision, false)
	case Variant:
		return appendVariantJSON(dst, v, i)
	case Array, Vec, Map, Multiset, Row:
		return appendNestedText(dst, v, i)
	}
	return append(dst, v.Bytes(i)...)
}

// appendFloat appends the shortest text that reads back, laid out as Java does:
// plain from 0.001 to 10 million, else with an exponent; always a digit behind
// the point.
func appendFloat(dst []byte, x float64, size int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case math.IsInf(x, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(x, -1):
		return append(dst, "-Infinity"...)
	case x == 0:
		if math.Signbit(x) {
			return append(dst, "-0.0"...)
		}
		return append(dst, "0.0"...)
	}
	if a := math.Abs(x); a >= 1e-3 && a < 1e7 {
		at := len(dst)
		dst = strconv.AppendFloat(dst, x, 'f', -1, size)
		for _, c := range dst[at:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, ".0"...)
	}
	var buf [32]byte
	b := strconv.AppendFloat(buf[:0], x, 'e', -1, size) // -d.ddde-dd, or -de-dd
	e := bytes.IndexByte(b, 'e')
	if e <= 2 { // a single digit: the best two digits are as short
		b = strconv.AppendFloat(buf[:0], x, 'e', 1, size)
		e = bytes.IndexByte(b, 'e')
	}
	dst = append(dst, b[:e]...)
	dst = append(dst, 'E')
	exp := b[e+1:]
	if exp[0] == '-' {
		dst = append(dst, '-')
	}
	exp = exp[1:]
	if exp[0] == '0' {
		exp = exp[1:]
	}
	return append(dst, exp...)
}

// appendDecimal appends a plain number with all digits of the scale.
func appendDecimal(dst []byte, v *Vector, i int) []byte {
	if v.store == StoreI128 {
		return appendUnscaled(dst, v.I128[i], v.Type.Scale)
	}
	x := uint64(v.I64[i])
	if v.I64[i] < 0 {
		dst = append(dst, '-')
		x = -x
	}
	unit := uint64(pow10[v.Type.Scale])
	dst = strconv.AppendUint(dst, x/unit, 10)
	if v.Type.Scale == 0 {
		return dst
	}
	return appendDigits(append(dst, '.'), int64(x%unit), v.Type.Scale)
}

func appendUnscaled(dst []byte, x Int128, scale int) []byte {
	if x.Hi < 0 {
		dst = append(dst, '-')
		x = x.Neg()
	}
	var buf [40]byte
	at, hi, lo := len(buf), uint64(x.Hi), x.Lo
	for hi != 0 {
		var rest uint64
		hi, rest = bits.Div64(0, hi, 1e18)
		lo, rest = bits.Div64(rest, lo, 1e18)
		for range 18 {
			at--
			buf[at] = byte('0' + rest%10)
			rest /= 10
		}
	}
	for lo != 0 {
		at--
		buf[at] = byte('0' + lo%10)
		lo /= 10
	}
	for at < len(buf) && buf[at] == '0' { // a chunk of 18 digits may begin with zeros
		at++
	}
	for len(buf)-at <= scale {
		at--
		buf[at] = '0'
	}
	point := len(buf) - scale
	dst = append(dst, buf[at:point]...)
	if scale > 0 {
		dst = append(append(dst, '.'), buf[point:]...)
	}
	return dst
}

// appendTime appends a time of day in milliseconds with min(digits, 3) digits
// of fraction. With lossless it appends nine if there are more than the type
// allows, so that nothing is hidden.
func appendTime(dst []byte, millis int32, digits int, lossless bool) []byte {
	m := floorMod(int64(millis), millisPerDay)
	digits = min(digits, 3)
	if lossless && m%pow10[3-digits] != 0 {
		digits = 9
	}
	dst = appendClock(dst, int(m/1000))
	return appendFraction(dst, m%1000*1_000_000, digits)
}

// appendShortTime is appendTime without trailing zeros but for one digit.
func appendShortTime(dst []byte, millis int32, digits int) []byte {
	dst = appendTime(dst, millis, digits, false)
	for n := min(digits, 3); n > 1 && dst[len(dst)-1] == '0'; n-- {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendNestedText appends a constructed value as CAST does: [a, b] for lists,
// {k -> v} for maps, {a, b} for rows, null for NULL.
func appendNestedText(dst []byte, v *Vector, i int) []byte {
	elem := func(dst []byte, c *Vector, k int, first bool) []byte {
		if !first {
			dst = append(dst, ", "...)
		}
		if c.IsNull(k) {
			return append(dst, "null"...)
		}
		return AppendText(dst, c, k)
	}
	switch v.store {
	case StoreStruct:
		dst = append(dst, '{')
		for c, child := range v.Children {
			dst = elem(dst, child, i, c == 0)
		}
		return append(dst, '}')
	case StoreMap:
		dst = append(dst, '{')
		for k := v.Offs[i]; k < v.Offs[i+1]; k++ {
			dst = elem(dst, v.Children[0], int(k), k == v.Offs[i])
			dst = append(dst, " -> "...)
			dst = elem(dst, v.Children[1], int(k), true)
		}
		return append(dst, '}')
	}
	dst = append(dst, '[')
	for k := v.Offs[i]; k < v.Offs[i+1]; k++ {
		dst = elem(dst, v.Children[0], int(k), k == v.Offs[i])
	}
	return append(dst, ']')
}
