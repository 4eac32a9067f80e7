package merge_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// A folder makes the same of records that it may refer to as of those it must copy.
func TestAddLent(t *testing.T) {
	typ := &rowdata.RowType{Fields: []rowdata.Field{
		{ID: 0, Name: "k", Type: &rowdata.Type{Root: rowdata.BigInt, NotNull: true}},
		{ID: 1, Name: "a", Type: &rowdata.Type{Root: rowdata.BigInt}},
		{ID: 2, Name: "b", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}},
		{ID: 3, Name: "c", Type: &rowdata.Type{Root: rowdata.Double}},
	}}
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range []merge.PartialUpdate{
		{Type: typ},
		{Type: typ, IgnoreDelete: true},
		{Type: typ, RemoveOnDelete: true},
		{Type: typ, Groups: []merge.SequenceGroup{{By: []int{1}, Columns: []int{2}}}},
	} {
		engine, err := p.Engine()
		require.NoError(t, err)
		copies, lends := engine.Build(), engine.Build()
		_, ok := lends.(merge.Lender)
		require.True(t, ok)
		outcomes := map[string]int{}
		for range 3000 {
			kv := rowdata.NewKeyValues(typ, 0)
			for i := range 1 + r.IntN(5) {
				kv.Cols[0].AppendI64(7)
				if r.IntN(50) == 0 {
					kv.Cols[0].Truncate(i)
					kv.Cols[0].AppendNull()
				}
				maybe(r, kv.Cols[1], func(v *rowdata.Vector) { v.AppendI64(r.Int64N(9)) })
				maybe(r, kv.Cols[2], func(v *rowdata.Vector) { v.AppendString(fmt.Sprint("text ", r.IntN(99))) })
				maybe(r, kv.Cols[3], func(v *rowdata.Vector) { v.AppendF64(r.Float64()) })
				kind := rowdata.Insert
				if r.IntN(4) == 0 {
					kind = rowdata.RowKind(r.IntN(4))
				}
				kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, kind)
				kv.CloseRow()
			}
			want, wantErr := foldAll(copies, kv, copies.Add)
			got, gotErr := foldAll(lends, kv, func(kv *rowdata.KeyValues, i int) error { return merge.AddLent(lends, kv, i) })
			require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(gotErr))
			require.Equal(t, want, got)
			outcomes[fmt.Sprint(wantErr != nil)]++
		}
		if p.Groups == nil { // groups take everything
			require.Len(t, outcomes, 2, "rows and errors")
		}
	}
}

func maybe(r *rand.Rand, v *rowdata.Vector, add func(*rowdata.Vector)) {
	if r.IntN(3) == 0 {
		v.AppendNull()
		return
	}
	add(v)
}

func foldAll(f merge.Folder, kv *rowdata.KeyValues, add func(*rowdata.KeyValues, int) error) (string, error) {
	f.Begin()
	for i := range kv.N {
		if err := add(kv, i); err != nil {
			return "", err
		}
	}
	out := rowdata.NewKeyValues(kv.Type, 0)
	ok, err := f.Result(out)
	row := fmt.Sprint(ok, out.N, out.Seq, out.Kinds)
	for _, v := range out.Cols {
		row += fmt.Sprint(v.Valid, v.I64, v.F64, string(v.Data))
	}
	return row, err
}
