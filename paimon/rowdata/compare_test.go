package rowdata

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCompareOrder(t *testing.T) {
	for _, c := range []struct {
		typ    string
		values []string // ascending
	}{
		{"BOOLEAN", []string{"null", "false", "true"}},
		{"TINYINT", []string{"null", "-128", "-1", "0", "127"}},
		{"BIGINT", []string{"null", "-9223372036854775808", "0", "9223372036854775807"}},
		{"FLOAT", []string{"null", `"-Infinity"`, "-1", "-0.0", "0.0", "1e-45", "1", `"Infinity"`, `"NaN"`}},
		{"DOUBLE", []string{"null", `"-Infinity"`, "-1", "-0.0", "0.0", "1e-300", "1", `"Infinity"`, `"NaN"`}},
		{"DECIMAL(38,2)", []string{"null", "-999999999999999999999999999999999999.99", "-1", "0", "0.01", "99999999999999999999999.00"}},
		{"STRING", []string{"null", `""`, `"a"`, `"a\u0000"`, `"aa"`, `"b"`, `"é"`, `"\uffff"`, `"🎉"`}},
		{"BYTES", []string{"null", `""`, `"AA=="`, `"fw=="`, `"gA=="`, `"/w=="`}},
		{"TIMESTAMP(9)", []string{"null", `"1969-12-31T23:59:59.999999999"`, `"1970-01-01T00:00:00.000000000"`, `"1970-01-01T00:00:00.000000001"`}},
		{"ARRAY<INT>", []string{"null", "[]", "[null]", "[1]", "[1,null]", "[1,2]", "[2]"}},
		{"ROW<a INT, b STRING>", []string{"null", "[null,null]", `[1,null]`, `[1,"a"]`, `[2,""]`}},
	} {
		v := column(t, c.typ, c.values...)
		for i := range c.values {
			for j := range c.values {
				require.Equal(t, cmp.Compare(i, j), Compare(v, i, v, j), "%s: %s, %s", c.typ, c.values[i], c.values[j])
				require.Equal(t, i == j, Equal(v, i, v, j), "%s: %s, %s", c.typ, c.values[i], c.values[j])
			}
		}
	}
}

func TestEqualMaps(t *testing.T) {
	v := column(t, "MAP<STRING, INT>", `[["a",1],["b",null]]`, `[["b",null],["a",1]]`, `[["a",1]]`, `[["a",1],["b",2]]`, "{}", "null")
	for i := range v.Len() {
		for j := range v.Len() {
			require.Equal(t, i == j || i+j == 1, Equal(v, i, v, j), "%d %d", i, j)
		}
	}
}

// TestOrderedKeys expects keys to order as rows do and to decode to them.
func TestOrderedKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(rapid.SampledFrom(keyTypes), 1, 3).Draw(t, "types")
		b := randomBatch(t, types, 6, true)
		var keys [][]byte
		back := NewBatch(b.Type, 0)
		for i := range b.N {
			keys = append(keys, AppendOrderedKey(nil, b.Cols, i))
			require.NoError(t, DecodeOrderedKey(keys[i], back.Cols))
		}
		c := NewComparer(allColumns(b))
		for i := range b.N {
			require.True(t, c.Equal(b, i, back, i))
			for j := range b.N {
				require.Equal(t, c.Compare(b, i, b, j), bytes.Compare(keys[i], keys[j]))
			}
			for n := range keys[i] {
				if v := randomBatch(t, types, 0, false); DecodeOrderedKey(keys[i][:n], v.Cols) == nil {
					t.Fatalf("%x is a key, and %x too", keys[i], keys[i][:n])
				}
			}
		}
	})
}

func allColumns(b *Batch) []int {
	cols := make([]int, len(b.Cols))
	for i := range cols {
		cols[i] = i
	}
	return cols
}

// TestPrefixes expects prefixes to agree with comparison, between batches with
// and without NULLs too.
func TestPrefixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(rapid.SampledFrom(keyTypes), 1, 4).Draw(t, "types")
		a, b := randomBatch(t, types, 5, true), randomBatch(t, types, 5, false)
		c := NewComparer(allColumns(a))
		pa, exactA := c.Prefixes(nil, a)
		pb, exactB := c.Prefixes([]uint64{7}, b)
		require.Equal(t, uint64(7), pb[0])
		pb = pb[1:]
		for i := range a.N {
			for j := range b.N {
				checkPrefix(t, c, a, i, b, j, pa[i], pb[j], exactA && exactB)
			}
			for j := range a.N {
				checkPrefix(t, c, a, i, a, j, pa[i], pa[j], exactA)
			}
		}
	})
}

func checkPrefix(t *rapid.T, c *Comparer, a *Batch, i int, b *Batch, j int, p, q uint64, exact bool) {
	order := c.Compare(a, i, b, j)
	if p != q && cmp.Compare(p, q) != order || exact && p == q && order != 0 {
		t.Fatalf("%s is %d to %s, prefixes %x %x exact %v", AppendJSONArray(nil, a, i), order, AppendJSONArray(nil, b, j), p, q, exact)
	}
}

func TestPrefixesExact(t *testing.T) {
	for _, c := range []struct {
		types []string
		exact bool
	}{
		{[]string{"BIGINT"}, true},
		{[]string{"INT", "INT"}, true},
		{[]string{"DATE", "SMALLINT", "BOOLEAN", "TINYINT"}, true},
		{[]string{"DOUBLE"}, true},
		{[]string{"TIMESTAMP(6)"}, true},
		{[]string{"DECIMAL(18,2)"}, true},
		{[]string{"BIGINT", "INT"}, false},
		{[]string{"STRING"}, false},
		{[]string{"TIMESTAMP(9)"}, false},
		{[]string{"DECIMAL(19,2)"}, false},
	} {
		r := &RowType{}
		for _, s := range c.types {
			r.Fields = append(r.Fields, Field{Name: "c", Type: mustType(t, s)})
		}
		b := NewBatch(r, 0)
		_, exact := NewComparer(allColumns(b)).Prefixes(nil, b)
		require.Equal(t, c.exact, exact, c.types)
	}
}

// TestSorter compares with a plain stable sort.
func TestSorter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(rapid.SampledFrom(keyTypes), 1, 3).Draw(t, "types")
		rows := rapid.SampledFrom([]int{0, 1, 5, 60, 200}).Draw(t, "rows")
		nulls := rapid.Bool().Draw(t, "nulls")
		// Few distinct rows, so that keys collide; one more column for the sequence.
		pool := randomBatch(t, append(types, "INT"), min(rows, 12), nulls)
		kv := NewKeyValues(pool.Type, rows)
		for i := range rows {
			kv.Batch.AppendFrom(pool, rapid.IntRange(0, pool.N-1).Draw(t, "row"))
			kv.Seq = append(kv.Seq, rapid.SampledFrom([]int64{int64(i), 3}).Draw(t, "seq"))
			kv.Kinds = append(kv.Kinds, Insert)
		}
		cols := allColumns(pool)
		key, seq := NewComparer(cols[:len(types)]), cols[len(types):]
		if rapid.Bool().Draw(t, "plain") {
			seq = nil
		}
		desc := rapid.Bool().Draw(t, "desc")
		want := make([]int32, rows)
		for i := range want {
			want[i] = int32(i)
		}
		slices.SortStableFunc(want, func(i, j int32) int {
			if c := key.Compare(&kv.Batch, int(i), &kv.Batch, int(j)); c != 0 {
				return c
			}
			if c := CompareSequence(&kv.Batch, int(i), &kv.Batch, int(j), seq, desc); c != 0 {
				return c
			}
			return cmp.Compare(kv.Seq[i], kv.Seq[j])
		})
		s := NewSorter(key, seq, desc)
		require.Equal(t, want, append([]int32{}, s.Order(kv)...))
		require.Equal(t, want, append([]int32{}, s.Order(kv)...), "the second time")
	})
}

// TestSorterLongStrings sorts many strings that begin alike.
func TestSorterLongStrings(t *testing.T) {
	r := &RowType{Fields: []Field{{Name: "k", Type: mustType(t, "STRING")}}}
	kv := NewKeyValues(r, 0)
	rapid.Check(t, func(t *rapid.T) {
		kv.Reset()
		words := rapid.SliceOfN(rapid.StringMatching(`(order-2024-){0,9}[ab]{0,3}\x00{0,2}`), 100, 300).Draw(t, "words")
		for i, w := range words {
			kv.Cols[0].AppendString(w)
			kv.CloseRow()
			kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, Insert)
		}
		order := NewSorter(NewComparer([]int{0}), nil, false).Order(kv)
		got := make([]string, len(order))
		for i, row := range order {
			got[i] = words[row]
			if i > 0 && got[i] == got[i-1] && row < order[i-1] {
				t.Fatalf("rows %d and %d of %q", order[i-1], row, got[i])
			}
		}
		slices.Sort(words)
		require.Equal(t, words, got)
	})
}

func TestCompareSequence(t *testing.T) {
	b := &Batch{Cols: []*Vector{column(t, "INT", "null", "1", "2")}, N: 3}
	for _, c := range []struct {
		i, j, asc, desc int
	}{{0, 1, -1, -1}, {1, 0, 1, 1}, {1, 2, -1, 1}, {2, 1, 1, -1}, {1, 1, 0, 0}, {0, 0, 0, 0}} {
		require.Equal(t, c.asc, CompareSequence(b, c.i, b, c.j, []int{0}, false))
		require.Equal(t, c.desc, CompareSequence(b, c.i, b, c.j, []int{0}, true))
	}
}
