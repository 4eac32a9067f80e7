package avrofile

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sluice/paimon/rowdata"
)

// everyType holds each type that Avro files can have, alone and nested.
func everyType() []rowdata.Field {
	texts := []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT NOT NULL", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(18, 0)", "DECIMAL(38, 18)",
		"CHAR(5)", "VARCHAR(40)", "STRING", "STRING NOT NULL", "BINARY(4)", "BYTES", "DATE", "TIME(0)", "TIME(3)", "TIMESTAMP(0)",
		"TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(4) WITH LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE",
	}
	var fields []rowdata.Field
	add := func(t *rowdata.Type) {
		fields = append(fields, rowdata.Field{ID: len(fields), Name: fmt.Sprintf("f%d", len(fields)), Type: t})
	}
	for _, s := range texts {
		t, err := rowdata.ParseType(s)
		if err != nil {
			panic(err)
		}
		add(t)
	}
	str := &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	num := &rowdata.Type{Root: rowdata.Int}
	dec := &rowdata.Type{Root: rowdata.Decimal, Precision: 30, Scale: 4}
	row := &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{
		{ID: 101, Name: "x", Type: num.AsNotNull()},
		{ID: 102, Name: "y", Type: str},
		{ID: 103, Name: "l", Type: &rowdata.Type{Root: rowdata.Array, Elem: dec}},
	}}
	add(&rowdata.Type{Root: rowdata.Array, Elem: num})
	add(&rowdata.Type{Root: rowdata.Array, NotNull: true, Elem: str.AsNotNull()})
	add(&rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Array, Elem: row}})
	add(&rowdata.Type{Root: rowdata.Vec, Length: 3, Elem: &rowdata.Type{Root: rowdata.Float}})
	add(&rowdata.Type{Root: rowdata.Map, Key: str.AsNotNull(), Elem: num})
	add(&rowdata.Type{Root: rowdata.Map, Key: num, Elem: row})
	add(&rowdata.Type{Root: rowdata.Map, Key: row, Elem: &rowdata.Type{Root: rowdata.Map, Key: dec.AsNotNull(), Elem: str}})
	add(&rowdata.Type{Root: rowdata.Multiset, Elem: str.AsNotNull()})
	add(row)
	add(&rowdata.Type{Root: rowdata.Row, NotNull: true, Fields: []rowdata.Field{{ID: 111, Name: "in", Type: row.AsNotNull()}}})
	return fields
}

var extremes = []int64{0, 1, -1, 63, 64, -64, -65, math.MaxInt8, math.MinInt8, math.MaxInt16, math.MinInt16, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}

// appendRandom appends a value of the vector's type, NULL now and then.
func appendRandom(r *rand.Rand, v *rowdata.Vector, depth int) {
	t := v.Type
	if !t.NotNull && r.IntN(5) == 0 {
		v.AppendNull()
		return
	}
	x := extremes[r.IntN(len(extremes))]
	if r.IntN(2) == 0 {
		x = int64(r.Uint64() >> r.IntN(64))
	}
	some := func() int { return r.IntN(4) * min(1, max(0, 4-depth)) }
	switch v.Storage() {
	case rowdata.StoreI32:
		switch t.Root {
		case rowdata.Boolean:
			x &= 1
		case rowdata.TinyInt:
			x = int64(int8(x))
		case rowdata.SmallInt:
			x = int64(int16(x))
		}
		v.AppendI32(int32(x))
	case rowdata.StoreI64:
		if t.Root == rowdata.Decimal {
			x %= 1_000_000_000
		}
		v.AppendI64(x)
	case rowdata.StoreF32:
		v.AppendF32([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(-1)), float32(x) / 3}[r.IntN(5)])
	case rowdata.StoreF64:
		v.AppendF64([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), float64(x) / 7}[r.IntN(5)])
	case rowdata.StoreI128:
		v.AppendI128(rowdata.Int128{Hi: int64(r.Uint64()>>1) >> r.IntN(63) * int64(1-2*r.IntN(2)), Lo: r.Uint64()})
	case rowdata.StoreBytes:
		b := make([]byte, r.IntN(1+r.IntN(40)))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		v.AppendBytes(b)
	case rowdata.StoreList:
		n := some()
		if t.Root == rowdata.Vec {
			n = t.Length
		}
		for range n {
			appendRandom(r, v.Children[0], depth+1)
		}
		v.CloseList()
	case rowdata.StoreMap:
		for i := range some() {
			if t.Root == rowdata.Multiset {
				v.Children[0].AppendString(fmt.Sprint("e", i))
				v.Children[1].AppendI32(int32(1 + i))
				continue
			}
			appendRandom(r, v.Children[0], depth+1)
			appendRandom(r, v.Children[1], depth+1)
		}
		v.CloseList()
	case rowdata.StoreStruct:
		for _, c := range v.Children {
			appendRandom(r, c, depth+1)
		}
		v.CloseStruct()
	}
}

func randomBatch(r *rand.Rand, fields []rowdata.Field, rows int) *rowdata.Batch {
	b := rowdata.NewBatch(&rowdata.RowType{Fields: fields}, rows)
	for range rows {
		for _, c := range b.Cols {
			appendRandom(r, c, 0)
		}
		b.CloseRow()
	}
	return b
}
