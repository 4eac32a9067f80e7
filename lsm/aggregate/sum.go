package aggregate

import (
	"math"
	"math/big"
	"math/bits"

	"sluice/paimon/rowdata"
)

// sum adds numbers exactly.
type sum struct {
	typ     *rowdata.Type
	lenient bool
	low     int64 // bounds of the type, if held in 64 bits
	high    int64
	wide    rowdata.Int128 // greatest of a DECIMAL(p>18)
}

func newSum(s Spec) (*sum, error) {
	f := &sum{typ: s.Type, lenient: s.Lenient}
	switch s.Type.Root {
	case rowdata.TinyInt:
		f.low, f.high = math.MinInt8, math.MaxInt8
	case rowdata.SmallInt:
		f.low, f.high = math.MinInt16, math.MaxInt16
	case rowdata.Int:
		f.low, f.high = math.MinInt32, math.MaxInt32
	case rowdata.BigInt:
		f.low, f.high = math.MinInt64, math.MaxInt64
	case rowdata.Float, rowdata.Double:
	case rowdata.Decimal:
		if s.Type.Precision <= 18 {
			f.high = pow10(s.Type.Precision) - 1
			f.low = -f.high
			if f.lenient {
				f.low, f.high = math.MinInt64, math.MaxInt64
			}
			break
		}
		f.wide, _ = rowdata.Int128FromBig(greatest(s.Type.Precision))
	default:
		return nil, wrongType(s, "a numeric type")
	}
	return f, nil
}

func pow10(n int) int64 {
	x := int64(1)
	for range n {
		x *= 10
	}
	return x
}

// greatest returns the unscaled value of so many nines.
func greatest(digits int) *big.Int {
	x := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return x.Sub(x, big.NewInt(1))
}

func (*sum) Reset() {}

func (f *sum) Add(acc, in *rowdata.Vector, i int) error { return f.fold(acc, in, i, false) }

func (f *sum) AddOlder(acc, in *rowdata.Vector, i int) error { return f.fold(acc, in, i, false) }

func (f *sum) Retract(acc, in *rowdata.Vector, i int) error { return f.fold(acc, in, i, true) }

// fold adds or takes away. NULL counts as nothing, but of two NULLs the sum is
// NULL.
func (f *sum) fold(acc, in *rowdata.Vector, i int, minus bool) error {
	if in.IsNull(i) {
		return nil
	}
	if acc.IsNull(0) {
		if !minus {
			Set(acc, in, i)
			return nil
		}
		setZero(acc)
	}
	switch acc.Storage() {
	case rowdata.StoreI32:
		x := int64(acc.I32[0])
		y := x + signed(int64(in.I32[i]), minus)
		if y < f.low || y > f.high {
			return overflow(f.typ, acc, in, i, minus)
		}
		acc.I32[0] = int32(y)
	case rowdata.StoreI64:
		return f.fold64(acc, in, i, minus)
	case rowdata.StoreF32:
		if minus {
			acc.F32[0] -= in.F32[i]
		} else {
			acc.F32[0] += in.F32[i]
		}
	case rowdata.StoreF64:
		if minus {
			acc.F64[0] -= in.F64[i]
		} else {
			acc.F64[0] += in.F64[i]
		}
	case rowdata.StoreI128:
		return f.fold128(acc, in, i, minus)
	}
	return nil
}

func signed(x int64, minus bool) int64 {
	if minus {
		return -x
	}
	return x
}

func (f *sum) fold64(acc, in *rowdata.Vector, i int, minus bool) error {
	x, y := acc.I64[0], in.I64[i]
	z, fits := x+y, false
	if minus {
		z = x - y
		fits = (x^y)&(x^z) >= 0
	} else {
		fits = (x^z)&(y^z) >= 0
	}
	wraps := f.lenient && f.typ.Root == rowdata.Decimal
	if !wraps && (!fits || z < f.low || z > f.high) {
		return overflow(f.typ, acc, in, i, minus)
	}
	acc.I64[0] = z
	return nil
}

func (f *sum) fold128(acc, in *rowdata.Vector, i int, minus bool) error {
	x, y := acc.I128[0], in.I128[i]
	if minus {
		y = y.Neg()
	}
	lo, carry := bits.Add64(x.Lo, y.Lo, 0)
	hi, _ := bits.Add64(uint64(x.Hi), uint64(y.Hi), carry)
	z := rowdata.Int128{Hi: int64(hi), Lo: lo}
	// Values of 38 digits leave room for one more bit, so that nothing wraps.
	if z.Cmp(f.wide) > 0 || z.Cmp(f.wide.Neg()) < 0 {
		if f.lenient {
			SetNull(acc)
			return nil
		}
		return overflow(f.typ, acc, in, i, minus)
	}
	acc.I128[0] = z
	return nil
}

// setZero makes acc the number 0.
func setZero(acc *rowdata.Vector) {
	acc.Truncate(0)
	switch acc.Storage() {
	case rowdata.StoreI32:
		acc.AppendI32(0)
	case rowdata.StoreI64:
		acc.AppendI64(0)
	case rowdata.StoreF32:
		// Minus zero, so that the sum with any number is that number.
		acc.AppendF32(float32(math.Copysign(0, -1)))
	case rowdata.StoreF64:
		acc.AppendF64(math.Copysign(0, -1))
	case rowdata.StoreI128:
		acc.AppendI128(rowdata.Int128{})
	}
}

func overflow(t *rowdata.Type, acc, in *rowdata.Vector, i int, minus bool) error {
	sign := "+"
	if minus {
		sign = "-"
	}
	return &OverflowError{Type: t, A: number(acc, 0), B: number(in, i), Operand: sign}
}

func number(v *rowdata.Vector, i int) string { return string(rowdata.AppendText(nil, v, i)) }
