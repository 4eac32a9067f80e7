package rowdata

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSetLenPanics(t *testing.T) {
	for _, s := range append(append([]string{}, keyTypes...), nestedTypes...) {
		v := NewVector(mustType(t, s), 2)
		v.AppendNull()
		v.AppendNull()
		v.SetLen(2)
		require.Panics(t, func() { v.SetLen(1) }, s)
		require.Panics(t, func() { v.SetLen(3) }, s)
		require.Equal(t, 2, v.NullCount())
		require.True(t, v.HasNulls())
		require.Positive(t, v.MemSize())
	}
	v := NewVector(mustType(t, "INT"), 0)
	v.I32 = append(v.I32, 1, 2)
	v.Valid = []byte{1}
	require.Panics(t, func() { v.SetLen(2) })
}

func TestKeyValues(t *testing.T) {
	r := &RowType{Fields: []Field{{Name: "k", Type: mustType(t, "INT")}, {Name: "v", Type: mustType(t, "STRING")}}}
	a, b := NewKeyValues(r, 4), NewKeyValues(r, 4)
	for i := range 4 {
		a.Cols[0].AppendI32(int32(i))
		a.Cols[1].AppendString(string(rune('a' + i)))
		a.Seq, a.Kinds = append(a.Seq, int64(10+i)), append(a.Kinds, RowKind(i))
		a.CloseRow()
	}
	b.AppendFrom(a, 3)
	b.AppendRange(a, 0, 2)
	b.Gather(a, []int32{2, 2})
	require.Equal(t, 5, b.N)
	require.Equal(t, []int64{13, 10, 11, 12, 12}, b.Seq)
	require.Equal(t, []RowKind{Delete, Insert, UpdateBefore, UpdateAfter, UpdateAfter}, b.Kinds)
	require.Equal(t, []string{`"d"`, `"a"`, `"b"`, `"c"`, `"c"`}, texts(b.Cols[1]))
	require.Positive(t, b.MemSize())
	b.Reset()
	require.Zero(t, b.N)
	b.AppendRange(a, 1, 1)
	require.Zero(t, b.Cols[0].Len())

	c := Changes{Batch: a.Batch}
	require.Equal(t, Insert, c.Kind(3))
	c.Kinds = a.Kinds
	require.Equal(t, Delete, c.Kind(3))
}

func TestRowKind(t *testing.T) {
	for _, c := range []struct {
		kind RowKind
		text string
		add  bool
	}{{Insert, "+I", true}, {UpdateBefore, "-U", false}, {UpdateAfter, "+U", true}, {Delete, "-D", false}} {
		k, err := ParseRowKind(c.text)
		require.NoError(t, err)
		require.Equal(t, c.kind, k)
		require.Equal(t, c.text, k.String())
		require.Equal(t, c.add, k.IsAdd())
		require.Equal(t, !c.add, k.IsRetract())
	}
	_, err := ParseRowKind("I")
	require.Error(t, err)
	require.Equal(t, "RowKind(9)", RowKind(9).String())
}
