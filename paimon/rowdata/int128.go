package rowdata

import (
	"math/big"
	"math/bits"
)

// Int128 is a signed integer of 128 bits in two's complement: the unscaled
// value of a DECIMAL(p>18).
type Int128 struct {
	Hi int64
	Lo uint64
}

// Int128From extends a 64-bit integer.
func Int128From(x int64) Int128 { return Int128{Hi: x >> 63, Lo: uint64(x)} }

// Sign returns -1, 0 or 1.
func (x Int128) Sign() int {
	switch {
	case x.Hi < 0:
		return -1
	case x.Hi == 0 && x.Lo == 0:
		return 0
	}
	return 1
}

// Cmp returns -1, 0 or 1 as x is less than, equal to or greater than y.
func (x Int128) Cmp(y Int128) int {
	switch {
	case x.Hi < y.Hi || x.Hi == y.Hi && x.Lo < y.Lo:
		return -1
	case x == y:
		return 0
	}
	return 1
}

// Neg returns -x.
func (x Int128) Neg() Int128 {
	lo, borrow := bits.Sub64(0, x.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(x.Hi), borrow)
	return Int128{Hi: int64(hi), Lo: lo}
}

// IsInt64 tells whether x fits 64 bits.
func (x Int128) IsInt64() bool { return x.Hi == int64(x.Lo)>>63 }

// Big returns x as a big integer.
func (x Int128) Big() *big.Int {
	neg := x.Hi < 0
	if neg {
		x = x.Neg()
	}
	b := new(big.Int).SetUint64(uint64(x.Hi))
	b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(x.Lo))
	if neg {
		b.Neg(b)
	}
	return b
}

// Int128FromBig converts a big integer; ok is false if it does not fit.
func Int128FromBig(b *big.Int) (x Int128, ok bool) {
	if b.BitLen() > 127 {
		return Int128{}, false
	}
	var buf [16]byte
	new(big.Int).Abs(b).FillBytes(buf[:])
	x = int128Of(buf[:])
	if b.Sign() < 0 {
		x = x.Neg()
	}
	return x, true
}

// Int128FromBytes reads a big-endian two's complement integer of 1 to 16
// bytes; ok is false for another length.
func Int128FromBytes(b []byte) (x Int128, ok bool) {
	if len(b) == 0 || len(b) > 16 {
		return Int128{}, false
	}
	return int128Of(b), true
}

func int128Of(b []byte) Int128 {
	x := Int128From(int64(int8(b[0])))
	for _, c := range b[1:] {
		x.Hi = x.Hi<<8 | int64(x.Lo>>56)
		x.Lo = x.Lo<<8 | uint64(c)
	}
	return x
}

// AppendBytes appends the n lowest bytes of x, big-endian: with n from the
// precision this is the FIXED_LEN_BYTE_ARRAY of Parquet.
func (x Int128) AppendBytes(dst []byte, n int) []byte {
	for i := n - 1; i >= 0; i-- {
		if i >= 8 {
			dst = append(dst, byte(x.Hi>>(8*(i-8))))
		} else {
			dst = append(dst, byte(x.Lo>>(8*i)))
		}
	}
	return dst
}

// AppendMinimal appends the shortest big-endian two's complement form of x, as
// Java's BigInteger does.
func (x Int128) AppendMinimal(dst []byte) []byte {
	n := 16
	for n > 1 {
		var top, next byte
		if n > 8 {
			top = byte(x.Hi >> (8 * (n - 9)))
		} else {
			top = byte(x.Lo >> (8 * (n - 1)))
		}
		if n-1 > 8 {
			next = byte(x.Hi >> (8 * (n - 10)))
		} else {
			next = byte(x.Lo >> (8 * (n - 2)))
		}
		if !(top == 0 && next < 0x80) && !(top == 0xff && next >= 0x80) {
			break
		}
		n--
	}
	return x.AppendBytes(dst, n)
}
