package rowdata

import (
	"math"
	"math/big"
	"strconv"
)

// castToInteger casts to BOOLEAN and the integer types.
func castToInteger(dst, src *Vector) error {
	if !CanCast(src.Type, dst.Type, true) {
		return &CastError{src.Type, dst.Type}
	}
	at := len(dst.I32)
	switch dst.Type.Root {
	case BigInt:
		dst.I64 = appendIntegers(dst.I64, src, dst.Type)
	default:
		for _, x := range appendIntegers(make([]int64, 0, src.n), src, dst.Type) {
			dst.I32 = append(dst.I32, int32(x))
		}
	}
	for i, x := range dst.I32[at:] {
		switch dst.Type.Root {
		case Boolean:
			dst.I32[at+i] = int32(b2i(x != 0))
		case TinyInt:
			dst.I32[at+i] = int32(int8(x))
		case SmallInt:
			dst.I32[at+i] = int32(int16(x))
		}
	}
	zeroNulls(dst, src)
	appendValid(dst, src)
	return nil
}

// zeroNulls keeps zero in the places of NULLs that a conversion may have
// changed.
func zeroNulls(dst, src *Vector) {
	for i, ok := range src.Valid {
		if ok == 0 {
			switch dst.store {
			case StoreI32:
				dst.I32[dst.n+i] = 0
			case StoreI64:
				dst.I64[dst.n+i] = 0
			}
		}
	}
}

// appendIntegers appends each value cut to an integer of 64 bits whose lowest
// bits are the value as an integer of the type.
func appendIntegers(out []int64, src *Vector, to *Type) []int64 {
	switch src.store {
	case StoreI32:
		for _, x := range src.I32 {
			out = append(out, int64(x))
		}
	case StoreF32:
		for _, x := range src.F32 {
			out = append(out, floatToInt(float64(x), to))
		}
	case StoreF64:
		for _, x := range src.F64 {
			out = append(out, floatToInt(x, to))
		}
	case StoreI128:
		unit := pow10Big(src.Type.Scale)
		for _, x := range src.I128 {
			if src.Type.Scale <= 18 && x.IsInt64() {
				out = append(out, int64(x.Lo)/pow10[src.Type.Scale])
				continue
			}
			y, _ := Int128FromBig(new(big.Int).Quo(x.Big(), unit))
			out = append(out, int64(y.Lo))
		}
	default:
		unit := int64(1)
		switch {
		case src.Type.Root == Decimal:
			unit = pow10[src.Type.Scale]
		case isStamp(src.Type):
			for i := range src.n {
				ms, _ := src.TimestampAt(i)
				out = append(out, ms/1000)
			}
			return out
		case to.Root == Boolean: // which must not look at the lowest bits only
			for _, x := range src.I64 {
				out = append(out, int64(b2i(x != 0)))
			}
			return out
		}
		for _, x := range src.I64 {
			out = append(out, x/unit)
		}
	}
	return out
}

func pow10Big(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// floatToInt cuts towards zero to the nearest BIGINT, or INT for narrower types.
func floatToInt(x float64, to *Type) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if to.Root != BigInt {
		low, high = math.MinInt32, math.MaxInt32
	}
	switch {
	case x != x:
		return 0
	case x <= float64(low):
		return low
	case x >= float64(high):
		return high
	}
	return int64(x)
}

func castToFloat(dst, src *Vector) error {
	if !CanCast(src.Type, dst.Type, true) {
		return &CastError{src.Type, dst.Type}
	}
	single := dst.Type.Root == Float
	put := func(x float64) {
		if single {
			dst.F32 = append(dst.F32, float32(x))
		} else {
			dst.F64 = append(dst.F64, x)
		}
	}
	switch {
	case src.Type.Root == Decimal && src.store == StoreI64: // rounded twice, as the original does
		unit := math.Pow10(src.Type.Scale)
		for _, x := range src.I64 {
			put(float64(x) / unit)
		}
	case src.Type.Root == Decimal:
		var buf [64]byte
		for i := range src.n {
			x, _ := strconv.ParseFloat(string(appendDecimal(buf[:0], src, i)), 64)
			put(x)
		}
	case src.store == StoreI32:
		for _, x := range src.I32 {
			put(float64(x))
		}
	case src.store == StoreI64 && single: // rounded once
		for _, x := range src.I64 {
			dst.F32 = append(dst.F32, float32(x))
		}
	case src.store == StoreI64:
		for _, x := range src.I64 {
			put(float64(x))
		}
	case src.store == StoreF32:
		for _, x := range src.F32 {
			put(float64(x))
		}
	default:
		for _, x := range src.F64 {
			put(x)
		}
	}
	appendValid(dst, src)
	return nil
}

func castToDecimal(dst, src *Vector) error {
	if !CanCast(src.Type, dst.Type, true) {
		return &CastError{src.Type, dst.Type}
	}
	to := dst.Type
	var buf [64]byte
	for i := range src.n {
		if src.IsNull(i) {
			dst.AppendNull()
			continue
		}
		var x Int128
		var ok bool
		switch {
		case src.Type.Root == Decimal:
			x, ok = decimalAt(src, i).rescale(src.Type.Scale, to.Scale, to.Precision)
		case src.store == StoreI32:
			x, ok = Int128From(int64(src.I32[i])).rescale(0, to.Scale, to.Precision)
		case src.store == StoreI64:
			x, ok = Int128From(src.I64[i]).rescale(0, to.Scale, to.Precision)
		default: // by the shortest text of the double
			f := 0.0
			if src.store == StoreF32 {
				f = float64(src.F32[i])
			} else {
				f = src.F64[i]
			}
			x, ok, _ = parseDecimal(string(appendFloat(buf[:0], f, 64)), to.Precision, to.Scale)
		}
		if ok {
			appendDecimalValue(dst, x)
		} else {
			dst.AppendNull()
		}
	}
	return nil
}
