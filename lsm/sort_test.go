package lsm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// TestSortLongKeys sorts keys of several columns that begin alike, with zero
// bytes and NULLs in them, and compares with a plain stable sort.
func TestSortLongKeys(t *testing.T) {
	typ := rowType(textType, intType, textType, bigintType)
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 9))
		alphabet := []string{"", "a", "ab", "\x00", "\x00\xff", "common beginning of many keys", "common beginning of many keys\x00", "b"}
		n := 1000 + r.IntN(4000)
		kv := rowdata.NewKeyValues(typ, n)
		for i := range n {
			kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, rowdata.Insert)
			for _, c := range []int{0, 2} {
				if r.IntN(20) == 0 {
					kv.Cols[c].AppendNull()
					continue
				}
				text := "the same first part "
				for range r.IntN(4) {
					text += alphabet[r.IntN(len(alphabet))]
				}
				kv.Cols[c].AppendString(text)
			}
			if r.IntN(5) == 0 {
				kv.Cols[1].AppendNull()
			} else {
				kv.Cols[1].AppendI32(r.Int32N(3) - 1)
			}
			kv.Cols[3].AppendI64(r.Int64N(3))
			kv.CloseRow()
		}
		o := &ordering{key: rowdata.NewComparer([]int{0, 1, 2})}
		if seed%2 == 0 {
			o.order = merge.Order{Fields: []int{3}, Descending: seed%4 == 0}
		}
		pool := NewPool(1<<30, SpillOptions{})
		buf := &buffer{typ: typ, pool: pool, keyed: true}
		buf.append(&rowdata.Changes{Kinds: kv.Kinds, Batch: kv.Batch}, nil, 0)
		want := make([]int, n)
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(i, j int) int {
			if c := o.key.Compare(&kv.Batch, i, &kv.Batch, j); c != 0 {
				return c
			}
			return o.order.CompareFields(&kv.Batch, i, &kv.Batch, j)
		})
		entries, exact := pool.sorter.sort(buf.chunks, o)
		require.False(t, exact)
		got := make([]int, n)
		for i, e := range entries {
			got[i] = int(e.ref.row()) + int(e.ref.chunk())*chunkRows
		}
		require.Equal(t, want, got, "seed %d", seed)
		keys := 1
		for i := 1; i < n; i++ {
			if o.key.Compare(&kv.Batch, want[i-1], &kv.Batch, want[i]) != 0 {
				keys++
			}
		}
		left, err := fold(entries, buf.chunks, o, exact, merge.Engine{Keep: merge.Deduplicate{}})
		require.NoError(t, err)
		require.Equal(t, keys, left)
	}
}
