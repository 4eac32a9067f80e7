package rowdata

import (
	"math/big"
	"math/bits"
)

// pow10I128 returns 10^n for n up to 38.
func pow10I128(n int) Int128 {
	if n <= 18 {
		return Int128From(pow10[n])
	}
	hi, lo := bits.Mul64(uint64(pow10[18]), uint64(pow10[min(n-18, 18)]))
	if n > 36 {
		k := uint64(pow10[n-36])
		carry, l := bits.Mul64(lo, k)
		hi, lo = hi*k+carry, l
	}
	return Int128{int64(hi), lo}
}

// fitsPrecision tells whether x has at most that many digits.
func (x Int128) fitsPrecision(digits int) bool {
	if x.Hi < 0 {
		if x = x.Neg(); x.Hi < 0 {
			return false
		}
	}
	return x.Cmp(pow10I128(digits)) < 0
}

// rescale changes the scale of an unscaled value, rounding half away from zero.
// ok is false if it does not fit that many digits.
func (x Int128) rescale(from, to, digits int) (y Int128, ok bool) {
	if to == from {
		return x, x.fitsPrecision(digits)
	}
	if x.IsInt64() && to > from && to-from <= 18 {
		neg, a := x.Hi < 0, x.Lo
		if neg {
			a = -a
		}
		hi, lo := bits.Mul64(a, uint64(pow10[to-from]))
		y = Int128{int64(hi), lo}
		if neg {
			y = y.Neg()
		}
		return y, y.fitsPrecision(digits)
	}
	return rescaleBig(x.Big(), from, to, digits)
}

func rescaleBig(b *big.Int, from, to, digits int) (y Int128, ok bool) {
	ten := big.NewInt(10)
	if to > from {
		// Nothing of 39 digits more fits, so that the power stays small.
		if b.Sign() == 0 {
			return Int128{}, true
		}
		if to-from > 38 {
			return Int128{}, false
		}
		b = new(big.Int).Mul(b, ten.Exp(ten, big.NewInt(int64(to-from)), nil))
	} else if to < from {
		drop := from - to
		if drop > len(b.Text(10))+1 {
			return Int128{}, true
		}
		b = roundQuo(b, ten.Exp(ten, big.NewInt(int64(drop)), nil))
	}
	y, ok = Int128FromBig(b)
	return y, ok && y.fitsPrecision(digits)
}

// roundQuo returns a / b rounded half away from zero, for positive b.
func roundQuo(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(b) >= 0 {
		q.Add(q, big.NewInt(int64(a.Sign())))
	}
	return q
}

// appendDecimalValue appends an unscaled value that fits the type of v.
func appendDecimalValue(v *Vector, x Int128) {
	if v.store == StoreI64 {
		v.AppendI64(int64(x.Lo))
	} else {
		v.AppendI128(x)
	}
}

// decimalAt returns the unscaled value of row i.
func decimalAt(v *Vector, i int) Int128 {
	if v.store == StoreI64 {
		return Int128From(v.I64[i])
	}
	return v.I128[i]
}

// decimalDigitsMax bounds the digits of a number in text, zeros included.
const decimalDigitsMax = 4096

// parseDecimal reads a decimal number with optional sign, point and exponent,
// rounded half away from zero to the scale. valid is false if it is no number,
// fits is false if it has more digits than the precision.
func parseDecimal(s string, precision, scale int) (x Int128, fits, valid bool) {
	neg := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		neg, s = s[0] == '-', s[1:]
	}
	var digits [decimalDigitsMax]byte
	n, frac, point, seen, i := 0, 0, false, false, 0
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		seen = true
		if point {
			frac++
		}
		if n == 0 && c == '0' {
			continue
		}
		if n == len(digits) {
			return x, false, false
		}
		digits[n] = c
		n++
	}
	exp := 0
	if i < len(s) {
		var ok bool
		if s[i] != 'e' && s[i] != 'E' {
			return x, false, false
		}
		if exp, ok = parseExponent(s[i+1:]); !ok {
			return x, false, false
		}
	}
	if !seen {
		return x, false, false
	}
	if n <= 18 && frac-exp >= 0 && frac-exp <= scale && scale-(frac-exp) <= 18 {
		m := int64(0)
		for _, c := range digits[:n] {
			m = 10*m + int64(c-'0')
		}
		if neg {
			m = -m
		}
		x, fits = Int128From(m).rescale(frac-exp, scale, precision)
		return x, fits, true
	}
	b := new(big.Int)
	if n > 0 {
		b.SetString(string(digits[:n]), 10)
	}
	if neg {
		b.Neg(b)
	}
	x, fits = rescaleBig(b, frac-exp, scale, precision)
	return x, fits, true
}

// parseExponent reads a whole number; beyond a million it stays at a million.
func parseExponent(s string) (n int, ok bool) {
	neg := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		neg, s = s[0] == '-', s[1:]
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(10*n+int(c-'0'), 1_000_000)
	}
	if neg {
		n = -n
	}
	return n, s != ""
}
