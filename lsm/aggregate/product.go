package aggregate

import (
	"math/big"

	"sluice/paimon/rowdata"
)

// product multiplies numbers exactly; a retract divides.
type product struct {
	sum    sum // for the bounds of the type
	scale  int
	fits   *big.Int // greatest unscaled value of a decimal
	x, y   big.Int
	factor *big.Int // 10^scale
}

func newProduct(s Spec) (*product, error) {
	bounds, err := newSum(s)
	if err != nil {
		return nil, err
	}
	p := &product{sum: *bounds}
	if s.Type.Root == rowdata.Decimal {
		p.scale, p.fits = s.Type.Scale, greatest(s.Type.Precision)
		p.factor = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p.scale)), nil)
	}
	return p, nil
}

func (*product) Reset() {}

func (p *product) Add(acc, in *rowdata.Vector, i int) error {
	if passNull(acc, in, i) {
		return nil
	}
	if p.fits != nil {
		return p.multiply(acc, in, i)
	}
	switch acc.Storage() {
	case rowdata.StoreI32:
		z := int64(acc.I32[0]) * int64(in.I32[i])
		if z < p.sum.low || z > p.sum.high {
			return p.overflow(acc, in, i, "*")
		}
		acc.I32[0] = int32(z)
	case rowdata.StoreI64:
		z := p.x.Mul(p.x.SetInt64(acc.I64[0]), p.y.SetInt64(in.I64[i]))
		if !z.IsInt64() {
			return p.overflow(acc, in, i, "*")
		}
		acc.I64[0] = z.Int64()
	case rowdata.StoreF32:
		acc.F32[0] *= in.F32[i]
	case rowdata.StoreF64:
		acc.F64[0] *= in.F64[i]
	}
	return nil
}

func (p *product) AddOlder(acc, in *rowdata.Vector, i int) error { return p.Add(acc, in, i) }

func (p *product) Retract(acc, in *rowdata.Vector, i int) error {
	if in.IsNull(i) || acc.IsNull(0) {
		return nil
	}
	if p.fits != nil {
		return p.divide(acc, in, i)
	}
	switch acc.Storage() {
	case rowdata.StoreI32:
		if in.I32[i] == 0 {
			return ErrDivision
		}
		z := int64(acc.I32[0]) / int64(in.I32[i])
		if z > p.sum.high {
			return p.overflow(acc, in, i, "/")
		}
		acc.I32[0] = int32(z)
	case rowdata.StoreI64:
		switch {
		case in.I64[i] == 0:
			return ErrDivision
		case in.I64[i] == -1 && acc.I64[0] == p.sum.low:
			return p.overflow(acc, in, i, "/")
		}
		acc.I64[0] /= in.I64[i]
	case rowdata.StoreF32:
		acc.F32[0] /= in.F32[i]
	case rowdata.StoreF64:
		acc.F64[0] /= in.F64[i]
	}
	return nil
}

func (p *product) overflow(acc, in *rowdata.Vector, i int, operand string) error {
	return &OverflowError{Type: p.sum.typ, A: number(acc, 0), B: number(in, i), Operand: operand}
}

// multiply rounds the product of two decimals half up to the scale of the type.
func (p *product) multiply(acc, in *rowdata.Vector, i int) error {
	unscaled(&p.x, acc, 0)
	z := p.x.Mul(&p.x, unscaled(&p.y, in, i))
	return p.fit(roundHalfUp(z, p.factor), acc, in, i, "*")
}

// divide wants an exact quotient, which is then rounded to the scale of the type.
func (p *product) divide(acc, in *rowdata.Vector, i int) error {
	unscaled(&p.x, acc, 0)
	unscaled(&p.y, in, i)
	if p.y.Sign() == 0 {
		return ErrDivision
	}
	if !endsAsDecimal(&p.x, &p.y) {
		return ErrEndless
	}
	// Both have the same scale: the quotient is x/y, and x/y * 10^scale unscaled.
	p.x.Mul(&p.x, p.factor)
	if p.y.Sign() < 0 {
		p.x.Neg(&p.x)
		p.y.Neg(&p.y)
	}
	return p.fit(roundHalfUp(&p.x, &p.y), acc, in, i, "/")
}

func (p *product) fit(z *big.Int, acc, in *rowdata.Vector, i int, operand string) error {
	if z.CmpAbs(p.fits) > 0 {
		if !p.sum.lenient {
			return p.overflow(acc, in, i, operand)
		}
		SetNull(acc)
		return nil
	}
	acc.Truncate(0)
	if acc.Storage() == rowdata.StoreI64 {
		acc.AppendI64(z.Int64())
		return nil
	}
	wide, _ := rowdata.Int128FromBig(z)
	acc.AppendI128(wide)
	return nil
}

// unscaled puts the unscaled value of a decimal into x.
func unscaled(x *big.Int, v *rowdata.Vector, i int) *big.Int {
	if v.Storage() == rowdata.StoreI64 {
		return x.SetInt64(v.I64[i])
	}
	return x.Set(v.I128[i].Big())
}

// roundHalfUp divides z by d > 0 and rounds half away from zero.
func roundHalfUp(z, d *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(z, d, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(d) >= 0 {
		q.Add(q, big.NewInt(int64(z.Sign())))
	}
	return q
}

// endsAsDecimal tells whether x/y is a finite decimal fraction: the reduced
// denominator has no prime factor but 2 and 5.
func endsAsDecimal(x, y *big.Int) bool {
	d := new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))
	if d.Sign() == 0 {
		return true
	}
	d.Quo(new(big.Int).Abs(y), d)
	for _, prime := range []int64{2, 5} {
		f, r := big.NewInt(prime), new(big.Int)
		for q := new(big.Int); ; d.Set(q) {
			if q.QuoRem(d, f, r); r.Sign() != 0 {
				break
			}
		}
	}
	return d.IsInt64() && d.Int64() == 1
}
