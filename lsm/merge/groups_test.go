package merge

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/paimon/rowdata"
)

// leveledSlice is a run whose batches are of different levels, as those of
// different files are.
type leveledSlice struct {
	sliceSource
	levels []int32 // by batch
	batch  int
}

func (s *leveledSlice) Next(dst *rowdata.KeyValues) (int, error) {
	s.batch++
	return s.sliceSource.Next(dst)
}

func (s *leveledSlice) Level() int32 { return s.levels[s.batch-1] }

// TestGroupIterModel expects the keys of all records, with their levels, however
// the records are spread over runs and batches.
func TestGroupIterModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		keys := 1 + r.IntN(300)
		prefix := []string{"", "k", "commonprefix-"}[r.IntN(3)]
		fields, desc, blocks, unique := r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0
		less := order(desc, fields)
		levelOf := map[int64]int32{}
		var all []rec
		var runs []LeveledSource
		seq := int64(0)
		n := []int{0, 1, 2, 3, 5, 8, 17}[r.IntN(7)]
		for run := range n {
			var recs []rec
			for range r.IntN(200) {
				k := r.IntN(keys)
				if blocks {
					k = (k/n + run*keys/n) % keys
				}
				rc := rec{key: fmt.Sprintf("%s%d", prefix, k), seq: seq, kind: rowdata.RowKind(r.IntN(4)), val: fmt.Sprint(seq)}
				if r.IntN(4) > 0 {
					rc.f = new(int32(r.IntN(5)))
				}
				seq++
				recs = append(recs, rc)
			}
			slices.SortStableFunc(recs, less)
			if unique {
				recs = slices.CompactFunc(recs, func(a, b rec) bool { return a.key == b.key })
			}
			s := &leveledSlice{sliceSource: sliceSource{kv: batchOf(recs), size: 1 + r.IntN(40)}}
			for range len(recs) + 1 {
				s.levels = append(s.levels, int32(r.IntN(4)))
			}
			for i, rc := range recs {
				levelOf[rc.seq] = s.levels[i/s.size]
			}
			all, runs = append(all, recs...), append(runs, s)
		}
		slices.SortStableFunc(all, less)
		var want []string
		for i, rc := range all {
			if i == 0 || all[i-1].key != rc.key {
				want = append(want, "")
			}
			want[len(want)-1] += fmt.Sprint(rc, " level ", levelOf[rc.seq], "\n")
		}

		o := Order{Descending: desc}
		if fields {
			o.Fields = []int{1}
		}
		batch := 1 + r.IntN(50)
		it := NewGroupIter(runs, rowdata.NewComparer([]int{0}), o, Options{BatchRows: batch, UniqueKeys: unique})
		got, g := []string{}, NewGroups(testType, Plan{Output: 3})
		for {
			keys, err := it.Next(g)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			require.Equal(t, keys, g.Len())
			require.Equal(t, int32(3), g.Plan.Output)
			require.Len(t, g.Levels, g.Records.N)
			require.Equal(t, int(g.Ends[keys-1]), g.Records.N)
			if n > 1 {
				open := 0
				if keys > 1 {
					open = int(g.Ends[keys-2])
				}
				require.Less(t, open, batch, "the batch did not end with the key that filled it")
			}
			recs, from := recsOf(g.Records), int32(0)
			for _, to := range g.Ends {
				require.Less(t, from, to)
				text := ""
				for i := from; i < to; i++ {
					text += fmt.Sprint(recs[i], " level ", g.Levels[i], "\n")
				}
				got, from = append(got, text), to
			}
		}
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
		_, err := it.Next(g)
		require.Equal(t, io.EOF, err)
		require.NoError(t, it.Close())
		for _, s := range runs {
			require.Equal(t, 1, s.(*leveledSlice).closed)
		}
	})
}

func TestGroupIterSourceError(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, n := range []int{1, 2} {
		runs := []LeveledSource{OnLevel(&sliceSource{kv: batchOf([]rec{{key: "a"}, {key: "b"}}), size: 1, fail: broken}, 2)}
		for range n - 1 {
			runs = append(runs, OnLevel(&sliceSource{kv: batchOf([]rec{{key: "c"}}), size: 1}, 0))
		}
		it := NewGroupIter(runs, rowdata.NewComparer([]int{0}), Order{}, Options{BatchRows: 1, UniqueKeys: true})
		g := NewGroups(testType, Plan{})
		var err error
		for err == nil {
			_, err = it.Next(g)
		}
		require.ErrorIs(t, err, broken)
		_, err = it.Next(g)
		require.ErrorIs(t, err, broken)
		require.NoError(t, it.Close())
	}
}

func TestResultIndex(t *testing.T) {
	r := NewResult(testType)
	r.Put(0)
	r.Put(1)
	r.Delete(5)
	r.Delete(6)
	r.Put(2)
	r.Put(4)
	r.Delete(9)
	r.Delete(11)
	require.Equal(t, []IndexChange{
		{From: 0, To: 2},
		{From: 5, To: 7, Delete: true},
		{From: 2, To: 3},
		{From: 4, To: 5},
		{From: 9, To: 10, Delete: true},
		{From: 11, To: 12, Delete: true},
	}, r.Index)
	r.Reset()
	require.Empty(t, r.Index)
}
