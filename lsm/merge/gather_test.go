package merge

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// allStores has a column of each storage class, with and without NULLs.
func allStores() *rowdata.RowType {
	types := []*rowdata.Type{
		{Root: rowdata.Int},
		{Root: rowdata.BigInt},
		{Root: rowdata.Float},
		{Root: rowdata.Double},
		{Root: rowdata.Decimal, Precision: 30, Scale: 2},
		{Root: rowdata.Timestamp, Precision: 9},
		{Root: rowdata.Varchar, Length: rowdata.MaxLength},
		{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.Int}},
		{Root: rowdata.Map, Key: &rowdata.Type{Root: rowdata.Int, NotNull: true}, Elem: &rowdata.Type{Root: rowdata.Int}},
		{Root: rowdata.Row, Fields: []rowdata.Field{{Name: "a", Type: &rowdata.Type{Root: rowdata.Int}}}},
	}
	t := &rowdata.RowType{}
	for i, typ := range types {
		t.Fields = append(t.Fields, rowdata.Field{ID: i, Name: typ.String(), Type: typ})
	}
	return t
}

func appendRandom(kv *rowdata.KeyValues, r *rand.Rand, nulls bool) {
	kv.Seq, kv.Kinds = append(kv.Seq, r.Int64()), append(kv.Kinds, rowdata.RowKind(r.IntN(4)))
	for _, v := range kv.Cols {
		if nulls && r.IntN(3) == 0 {
			v.AppendNull()
			continue
		}
		x := r.Int32N(1000)
		switch v.Storage() {
		case rowdata.StoreI32:
			v.AppendI32(x)
		case rowdata.StoreI64:
			v.AppendI64(int64(x))
		case rowdata.StoreF32:
			v.AppendF32(float32(x))
		case rowdata.StoreF64:
			v.AppendF64(float64(x))
		case rowdata.StoreI128:
			v.AppendI128(rowdata.Int128From(int64(x)))
		case rowdata.StoreNanos:
			v.AppendTimestamp(int64(x), x)
		case rowdata.StoreBytes:
			v.AppendString("0123456789"[:x%10])
		case rowdata.StoreList, rowdata.StoreMap:
			for range x % 3 {
				for _, c := range v.Children {
					c.AppendI32(x)
				}
			}
			v.CloseList()
		case rowdata.StoreStruct:
			v.Children[0].AppendI32(x)
			v.CloseStruct()
		}
	}
	kv.CloseRow()
}

func TestGathererAllStores(t *testing.T) {
	typ := allStores()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		batches := make([]*rowdata.KeyValues, 4)
		for b := range 3 { // the last stays nil
			batches[b] = rowdata.NewKeyValues(typ, 0)
			for range 20 {
				appendRandom(batches[b], r, (uint64(b)+seed)%2 == 0)
			}
		}
		var g Gatherer
		got, want := rowdata.NewKeyValues(typ, 0), rowdata.NewKeyValues(typ, 0)
		for range 3 {
			var st []Stretch
			for range r.IntN(20) {
				from := r.Int32N(20)
				s := Stretch{Batch: r.Int32N(3), From: from, To: from + 1 + r.Int32N(20-from)}
				if r.IntN(2) == 0 {
					s.To = from + 1
				}
				st = append(st, s)
				want.AppendRange(batches[s.Batch], int(s.From), int(s.To))
			}
			g.Append(got, batches, st)
		}
		require.Equal(t, want.N, got.N)
		if want.N == 0 {
			continue
		}
		require.Equal(t, want.Seq, got.Seq)
		require.Equal(t, want.Kinds, got.Kinds)
		for c, v := range want.Cols {
			require.Equal(t, want.N, got.Cols[c].Len())
			for i := range want.N {
				require.Truef(t, rowdata.Equal(v, i, got.Cols[c], i), "seed %d column %s row %d", seed, v.Type, i)
			}
		}
	}
}
