package predicate

import (
	"encoding/hex"
	"encoding/json"
	"math/big"
	"strings"

	"sluice/paimon/rowdata"
)

type literalKind uint8

const (
	literalNull literalKind = iota
	literalBool
	literalNumber
	literalText
	literalBytes
	literalDate
	literalTime
	literalTimestamp
)

var literalNames = [...]string{"NULL", "a boolean", "a number", "a text", "bytes", "a date", "a time", "a timestamp"}

type literal struct {
	kind   literalKind
	text   string
	offset int
}

// bound is a literal among the values of a column type: the greatest value that
// is not greater than it. exact: it is that value. side -1 or 1: there is no
// such value, as the literal is below or above all values of the type.
type bound struct {
	value *rowdata.Vector // one row
	exact bool
	side  int
}

// boundOf places a literal among the values of a column. What is "" if the two
// do not go together.
func boundOf(l literal, t *rowdata.Type) (b bound, ok bool) {
	switch t.Root {
	case rowdata.Boolean:
		if l.kind != literalBool {
			return b, false
		}
		return exactly(t, l.text == "true"), true
	case rowdata.TinyInt, rowdata.SmallInt, rowdata.Int, rowdata.BigInt, rowdata.Decimal:
		if l.kind != literalNumber {
			return b, false
		}
		return boundNumber(l.text, t)
	case rowdata.Float, rowdata.Double:
		if l.kind != literalNumber && l.kind != literalText {
			return b, false
		}
		return boundFloat(l, t)
	case rowdata.Char, rowdata.Varchar:
		if l.kind != literalText {
			return b, false
		}
		return exactly(t, l.text), true
	case rowdata.Binary, rowdata.Varbinary, rowdata.Blob:
		if l.kind != literalText && l.kind != literalBytes {
			return b, false
		}
		v := rowdata.NewVector(t, 1)
		v.AppendString(l.text)
		return bound{value: v, exact: true}, true
	case rowdata.Time:
		if l.kind != literalTime && l.kind != literalText {
			return b, false
		}
		v := rowdata.NewVector(t, 1)
		return bound{value: v, exact: true}, rowdata.AppendFromJSON(v, l.text) == nil
	case rowdata.Date, rowdata.Timestamp, rowdata.TimestampLTZ:
		return boundInstant(l, t)
	}
	return b, false
}

// exactly is a value that the type has.
func exactly(t *rowdata.Type, x any) bound {
	v := rowdata.NewVector(t, 1)
	if err := rowdata.AppendFromJSON(v, x); err != nil {
		panic(err) // texts and booleans always fit
	}
	return bound{value: v, exact: true}
}

// numberMax bounds the digits and the exponent of numbers.
const numberMax = 400

func boundNumber(text string, t *rowdata.Type) (b bound, ok bool) {
	x, scale, ok := parseNumber(text)
	if !ok {
		return b, false
	}
	want := 0
	if t.Root == rowdata.Decimal {
		want = t.Scale
	}
	ten := big.NewInt(10)
	b.exact = true
	if want >= scale {
		x.Mul(x, ten.Exp(ten, big.NewInt(int64(want-scale)), nil))
	} else {
		rest := new(big.Int)
		x.DivMod(x, ten.Exp(ten, big.NewInt(int64(scale-want)), nil), rest) // rest >= 0: rounds down
		b.exact = rest.Sign() == 0
	}
	low, high := numberRange(t)
	switch {
	case x.Cmp(high) > 0:
		return bound{side: 1}, true
	case x.Cmp(low) < 0:
		return bound{side: -1}, true
	}
	b.value = rowdata.NewVector(t, 1)
	switch b.value.Storage() {
	case rowdata.StoreI32:
		b.value.AppendI32(int32(x.Int64()))
	case rowdata.StoreI64:
		b.value.AppendI64(x.Int64())
	default:
		wide, _ := rowdata.Int128FromBig(x)
		b.value.AppendI128(wide)
	}
	return b, true
}

// numberRange returns the least and the greatest unscaled value of a type.
func numberRange(t *rowdata.Type) (low, high *big.Int) {
	if t.Root == rowdata.Decimal {
		high = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		high.Sub(high, big.NewInt(1))
		return new(big.Int).Neg(high), high
	}
	bits := map[rowdata.TypeRoot]uint{rowdata.TinyInt: 7, rowdata.SmallInt: 15, rowdata.Int: 31, rowdata.BigInt: 63}[t.Root]
	low = new(big.Int).Lsh(big.NewInt(-1), bits)
	return low, new(big.Int).Not(low)
}

// parseNumber reads a number as an integer and the count of its digits behind
// the point, which is negative for powers of ten.
func parseNumber(text string) (x *big.Int, scale int, ok bool) {
	text = strings.ToLower(text)
	mantissa, exponent, _ := strings.Cut(text, "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	if len(whole)+len(frac) > numberMax || len(exponent) > 5 {
		return nil, 0, false
	}
	x, ok = new(big.Int).SetString(whole+frac, 10)
	if !ok {
		return nil, 0, false
	}
	scale = len(frac)
	if exponent != "" {
		e, ok := new(big.Int).SetString(exponent, 10)
		if !ok || e.CmpAbs(big.NewInt(numberMax)) > 0 {
			return nil, 0, false
		}
		scale -= int(e.Int64())
	}
	return x, scale, true
}

// boundFloat rounds a number to the nearest value; NaN and the infinities are
// texts.
func boundFloat(l literal, t *rowdata.Type) (b bound, ok bool) {
	var x any = json.Number(l.text)
	if l.kind == literalText {
		if x = l.text; !strings.HasSuffix(l.text, "NaN") && !strings.HasSuffix(l.text, "Infinity") {
			return b, false
		}
	}
	v := rowdata.NewVector(t, 1)
	if rowdata.AppendFromJSON(v, x) == nil {
		return bound{value: v, exact: true}, true
	}
	if l.kind == literalText {
		return b, false
	}
	// Too large: between the greatest number and infinity.
	wide := rowdata.NewVector(&rowdata.Type{Root: rowdata.Double}, 1)
	text := "Infinity"
	if strings.HasPrefix(l.text, "-") {
		text = "-Infinity"
	}
	if rowdata.AppendFromJSON(wide, text) != nil {
		return b, false
	}
	return bound{value: castOne(wide, t), exact: true}, true
}

func castOne(v *rowdata.Vector, t *rowdata.Type) *rowdata.Vector {
	out := rowdata.NewVector(t, 1)
	if err := rowdata.Cast(out, v); err != nil {
		panic(err)
	}
	return out
}

const millisPerDay = 86_400_000

// boundInstant places dates and timestamps among dates or timestamps: a date is
// its midnight, and timestamps have as many digits as the column stores.
func boundInstant(l literal, t *rowdata.Type) (b bound, ok bool) {
	v := rowdata.NewVector(&rowdata.Type{Root: rowdata.Date}, 1)
	switch {
	case l.kind != literalDate && l.kind != literalTimestamp && l.kind != literalText:
		return b, false
	case l.kind == literalTimestamp || rowdata.AppendFromJSON(v, l.text) != nil:
		if l.kind == literalDate {
			return b, false
		}
		v = rowdata.NewVector(&rowdata.Type{Root: rowdata.Timestamp, Precision: 9}, 1)
		if rowdata.AppendFromJSON(v, l.text) != nil {
			return b, false
		}
	}
	var millis int64
	var nanos int32
	if v.Type.Root == rowdata.Date {
		millis = int64(v.I32[0]) * millisPerDay
	} else {
		millis, nanos = v.TimestampAt(0)
	}
	b = bound{value: rowdata.NewVector(t, 1), exact: true}
	switch {
	case t.Root == rowdata.Date:
		days := floorDiv(millis, millisPerDay)
		b.exact = days*millisPerDay == millis && nanos == 0
		b.value.AppendI32(int32(days))
	case t.Precision <= 3:
		b.exact = nanos == 0
		b.value.AppendI64(millis)
	case t.Precision <= 6:
		const limit = 1<<63/1000 - 1
		if millis > limit || millis < -limit {
			return bound{side: 1 - 2*b2i(millis < 0)}, true
		}
		b.exact = nanos%1000 == 0
		b.value.AppendI64(millis*1000 + int64(nanos/1000))
	default:
		b.value.AppendTimestamp(millis, nanos)
	}
	return b, true
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// unhex reads the bytes of a literal X'0aff'.
func unhex(s string) (string, bool) {
	b, err := hex.DecodeString(s)
	return string(b), err == nil
}
