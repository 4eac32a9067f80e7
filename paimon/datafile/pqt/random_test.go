package pqt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// typeMaker draws random types and values. Ids count up as in a schema.
type typeMaker struct {
	r  *rand.Rand
	id int
}

func (m *typeMaker) nextID() int { m.id++; return m.id - 1 }

func (m *typeMaker) field(name string, depth int) rowdata.Field {
	f := rowdata.Field{ID: m.nextID(), Name: name}
	f.Type = m.typ(depth)
	return f
}

func (m *typeMaker) typ(depth int) *rowdata.Type {
	t := m.atomic()
	if depth > 0 && m.r.IntN(2) == 0 {
		t = m.nested(depth - 1)
	}
	t.NotNull = m.r.IntN(3) == 0
	return t
}

func (m *typeMaker) atomic() *rowdata.Type {
	roots := []rowdata.TypeRoot{
		rowdata.Boolean, rowdata.TinyInt, rowdata.SmallInt, rowdata.Int, rowdata.BigInt, rowdata.Float, rowdata.Double,
		rowdata.Decimal, rowdata.Char, rowdata.Varchar, rowdata.Binary, rowdata.Varbinary, rowdata.Date, rowdata.Time, rowdata.Timestamp,
		rowdata.TimestampLTZ, rowdata.Variant, rowdata.Blob,
	}
	t := &rowdata.Type{Root: roots[m.r.IntN(len(roots))]}
	switch t.Root {
	case rowdata.Decimal:
		t.Precision = 1 + m.r.IntN(38)
		t.Scale = m.r.IntN(t.Precision + 1)
	case rowdata.Time, rowdata.Timestamp, rowdata.TimestampLTZ:
		t.Precision = m.r.IntN(10)
	case rowdata.Char, rowdata.Varchar, rowdata.Binary, rowdata.Varbinary:
		t.Length = 40
	}
	return t
}

func (m *typeMaker) nested(depth int) *rowdata.Type {
	switch m.r.IntN(5) {
	case 0:
		return &rowdata.Type{Root: rowdata.Map, Key: m.typ(0).AsNotNull(), Elem: m.typ(depth)}
	case 1:
		return &rowdata.Type{Root: rowdata.Multiset, Elem: m.typ(0).AsNotNull()}
	case 2:
		t := &rowdata.Type{Root: rowdata.Row}
		for i := range 1 + m.r.IntN(3) {
			t.Fields = append(t.Fields, m.field(string(rune('a'+i)), depth))
		}
		return t
	}
	return &rowdata.Type{Root: rowdata.Array, Elem: m.typ(depth)}
}

// fill appends a random value to v; null says how many of 16 are NULL.
func (m *typeMaker) fill(v *rowdata.Vector, nulls int) {
	t := v.Type
	if !t.NotNull && m.r.IntN(16) < nulls {
		v.AppendNull()
		return
	}
	switch v.Storage() {
	case rowdata.StoreI32:
		v.AppendI32(m.i32(t))
	case rowdata.StoreI64:
		v.AppendI64(m.i64(t))
	case rowdata.StoreF32:
		v.AppendF32([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1.5, -2.25e30, math.SmallestNonzeroFloat32}[m.r.IntN(8)])
	case rowdata.StoreF64:
		v.AppendF64([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), m.r.NormFloat64(), -1e300, math.SmallestNonzeroFloat64}[m.r.IntN(8)])
	case rowdata.StoreI128:
		v.AppendI128(m.decimal(t.Precision))
	case rowdata.StoreNanos:
		v.AppendTimestamp(m.r.Int64N(1<<45)-1<<44, m.r.Int32N(1_000_000))
	case rowdata.StoreBytes:
		v.AppendString(m.text())
	case rowdata.StoreList:
		for range m.length() {
			m.fill(v.Children[0], nulls)
		}
		v.CloseList()
	case rowdata.StoreMap:
		for range m.length() {
			m.fill(v.Children[0], nulls)
			m.fill(v.Children[1], nulls)
		}
		v.CloseList()
	case rowdata.StoreStruct:
		for _, c := range v.Children {
			m.fill(c, nulls)
		}
		v.CloseStruct()
	}
}

func (m *typeMaker) length() int {
	if m.r.IntN(3) == 0 {
		return 0
	}
	return m.r.IntN(5)
}

func (m *typeMaker) i32(t *rowdata.Type) int32 {
	switch t.Root {
	case rowdata.Boolean:
		return m.r.Int32N(2)
	case rowdata.TinyInt:
		return int32(int8(m.r.Uint32()))
	case rowdata.SmallInt:
		return int32(int16(m.r.Uint32()))
	case rowdata.Time:
		return m.r.Int32N(dayMillis)
	}
	return int32(m.r.Uint32()) >> m.r.IntN(32)
}

func (m *typeMaker) i64(t *rowdata.Type) int64 {
	if t.Root == rowdata.Decimal {
		return int64(m.decimal(t.Precision).Lo)
	}
	return int64(m.r.Uint64()) >> m.r.IntN(64)
}

// decimal draws an unscaled value of up to p digits, often the least or greatest.
func (m *typeMaker) decimal(p int) rowdata.Int128 {
	x := rowdata.Int128{}
	for range 1 + m.r.IntN(p) {
		d := uint64(m.r.IntN(10))
		if m.r.IntN(3) > 0 {
			d = 9
		}
		hi, lo := mul10(x)
		x = rowdata.Int128{Hi: hi, Lo: lo + d}
		if lo+d < lo {
			x.Hi++
		}
	}
	if m.r.IntN(2) == 0 {
		x = x.Neg()
	}
	return x
}

func mul10(x rowdata.Int128) (hi int64, lo uint64) {
	for range 10 {
		s := lo + x.Lo
		hi += x.Hi
		if s < lo {
			hi++
		}
		lo = s
	}
	return hi, lo
}

var texts = []string{
	"", "a", "PAID", "exactly8", "fifteen letters", "sixteen letters!", "seventeen letters", "Ünïcödé", "日本語", "emoji 🎉",
	"a string that is longer than the sixteen bytes that are compared at once", "\x00", "a\x00", "a\x00\x00",
}

func (m *typeMaker) text() string {
	s := texts[m.r.IntN(len(texts))]
	if m.r.IntN(8) == 0 {
		s += string(rune('!' + m.r.IntN(90)))
	}
	return s
}

func (m *typeMaker) vectors(fields []rowdata.Field, rows, nulls int) []*rowdata.Vector {
	cols := make([]*rowdata.Vector, len(fields))
	for i := range fields {
		cols[i] = rowdata.NewVector(fields[i].Type, rows)
		for range rows {
			m.fill(cols[i], nulls)
		}
	}
	return cols
}

// readAll reads all rows of a file.
func readAll(t testing.TB, file []byte, want []rowdata.Field, opts ReadOptions) []*rowdata.Vector {
	t.Helper()
	cols, err := tryReadAll(file, want, opts)
	require.NoError(t, err)
	return cols
}

func newVectors(fields []rowdata.Field) []*rowdata.Vector {
	cols := make([]*rowdata.Vector, len(fields))
	for i := range fields {
		cols[i] = rowdata.NewVector(fields[i].Type.Nullable(), 0)
	}
	return cols
}

func requireRows(t testing.TB, fields []rowdata.Field, want []*rowdata.Vector, from int, got []*rowdata.Vector) {
	t.Helper()
	for c := range fields {
		for i := range got[c].Len() {
			if !rowdata.Equal(want[c], from+i, got[c], i) {
				require.Failf(t, "another value", "column %s %s row %d: want %s, got %s", fields[c].Name, fields[c].Type, from+i,
					rowdata.AppendJSON(nil, want[c], from+i), rowdata.AppendJSON(nil, got[c], i))
			}
		}
	}
}
