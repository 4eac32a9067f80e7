package rowdata

import (
	"fmt"
	"math"
	"strings"

	"pgregory.net/rapid"
)

// keyTypes are types of every storage that keys can have.
var keyTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(38,5)",
	"CHAR(3)", "STRING", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(6)",
}

var nestedTypes = []string{
	"ARRAY<INT>", "ARRAY<STRING>", "ARRAY<DECIMAL(38,2)>", "ARRAY<TIMESTAMP(6)>", "ARRAY<ARRAY<BOOLEAN>>", "MAP<STRING, INT>",
	"MAP<INT, ARRAY<STRING>>", "MULTISET<STRING>", "ROW<a INT, b STRING, c ROW<d DOUBLE, e DECIMAL(30,0)>>", "VECTOR<FLOAT, 3>", "VARIANT",
}

func parsed(s string) *Type {
	t, err := ParseType(s)
	if err != nil {
		panic(err)
	}
	return t
}

// appendRandom appends a value that is likely to collide with others and to be
// an extreme one.
func appendRandom(t *rapid.T, v *Vector, nulls bool) {
	if nulls && rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		v.AppendNull()
		return
	}
	small := func(limit int64) int64 {
		return rapid.OneOf(rapid.Int64Range(-2, 2), rapid.SampledFrom([]int64{-limit, limit - 1}), rapid.Int64Range(-limit, limit-1)).Draw(t, "int")
	}
	switch v.Type.Root {
	case Boolean:
		v.AppendBool(rapid.Bool().Draw(t, "bool"))
	case TinyInt:
		v.AppendI32(int32(small(1 << 7)))
	case SmallInt:
		v.AppendI32(int32(small(1 << 15)))
	case Int:
		v.AppendI32(int32(small(1 << 31)))
	case Date:
		v.AppendI32(int32(small(1 << 20)))
	case Time:
		v.AppendI32(int32(rapid.IntRange(0, millisPerDay-1).Draw(t, "time")))
	case BigInt:
		v.AppendI64(small(1 << 62))
	case Float:
		v.AppendF32(float32(randomFloat(t)))
	case Double:
		v.AppendF64(randomFloat(t))
	case Decimal:
		x := Int128From(small(pow10[min(v.Type.Precision, 18)] - 1))
		if v.store == StoreI128 && rapid.Bool().Draw(t, "wide") {
			x, _ = x.rescale(0, v.Type.Precision-18, v.Type.Precision)
		}
		appendDecimalValue(v, x)
	case Timestamp, TimestampLTZ:
		ms, ns := cutStamp(small(1<<43), int32(rapid.IntRange(0, 999_999).Draw(t, "ns")), v.Type.Precision)
		v.AppendTimestamp(ms, ns)
	case Array, Vec:
		n := rapid.IntRange(0, 3).Draw(t, "n")
		if v.Type.Root == Vec {
			n = v.Type.Length
		}
		for range n {
			appendRandom(t, v.Children[0], v.Type.Root == Array)
		}
		v.CloseList()
	case Map, Multiset:
		keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 3, rapid.ID[int]).Draw(t, "keys")
		for _, k := range keys {
			if c := v.Children[0]; c.store == StoreI32 {
				c.AppendI32(int32(k))
			} else {
				c.AppendString(strings.Repeat(fmt.Sprint(k), k))
			}
			appendRandom(t, v.Children[1], v.Type.Root == Map)
		}
		v.CloseList()
	case Row:
		for _, c := range v.Children {
			appendRandom(t, c, true)
		}
		v.CloseStruct()
	case Variant:
		s := rapid.SampledFrom([]string{"1", `{"a":[1,2.5,null]}`, `"x"`, `{"a":-70000,"b":{"a":true}}`}).Draw(t, "variant")
		if err := appendVariantFromText(v, s); err != nil {
			panic(err)
		}
	default:
		v.AppendString(rapid.OneOf(rapid.SampledFrom([]string{"", "a", "a\x00", "a\x00\x00b", "abcdefgh", "abcdefghi", "abcdefgh\x00", "\U0001F389", "\uffff"}),
			rapid.StringN(0, 20, 40)).Draw(t, "text"))
	}
}

func randomFloat(t *rapid.T) float64 {
	return rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1, -1, 1e10, 0.001}),
		rapid.Float64()).Draw(t, "float")
}

// randomBatch returns rows of columns of the given types.
func randomBatch(t *rapid.T, types []string, rows int, nulls bool) *Batch {
	r := &RowType{}
	for i, s := range types {
		r.Fields = append(r.Fields, Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: parsed(s)})
	}
	b := NewBatch(r, rows)
	for range rows {
		for _, c := range b.Cols {
			appendRandom(t, c, nulls)
		}
		b.CloseRow()
	}
	for _, c := range b.Cols {
		c.SetLen(rows)
	}
	return b
}
