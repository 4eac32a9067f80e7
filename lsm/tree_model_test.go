package lsm

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// adder is an engine that adds up the column f of all records.
type adder struct {
	sum int32
	kv  *rowdata.KeyValues
}

func adding() merge.Engine {
	return merge.Engine{Name: "sum", Build: func() merge.Folder { return &adder{kv: rowdata.NewKeyValues(scriptType, 1)} }}
}

func (a *adder) Begin() { a.sum = 0 }

func (a *adder) Add(kv *rowdata.KeyValues, i int) error {
	a.kv.Reset()
	a.kv.AppendFrom(kv, i)
	if kv.Kinds[i].IsAdd() {
		a.sum += kv.Cols[1].I32[i]
	} else {
		a.sum -= kv.Cols[1].I32[i]
	}
	return nil
}

func (a *adder) Result(dst *rowdata.KeyValues) (bool, error) {
	a.kv.Kinds[0], a.kv.Cols[1].I32[0] = rowdata.Insert, a.sum
	dst.AppendFrom(a.kv, 0)
	return true, nil
}

// write is one row of a model's input.
type write struct {
	key, f int32
	seq    int64
	kind   rowdata.RowKind
}

func (w write) row() string { return fmt.Sprintf(`[%d,%d,"%d"]`, w.key, w.f, w.seq) }

// model is a table as it must be: a row for each key.
type model struct {
	engine string // deduplicate, sequence, sum, first-row
	rows   map[int32]write
}

func (m *model) apply(w write) {
	old, ok := m.rows[w.key]
	switch m.engine {
	case "sequence":
		if ok && old.f > w.f {
			return
		}
	case "first-row":
		if ok {
			return
		}
	case "sum":
		if w.kind.IsRetract() {
			w.f, w.kind = -w.f, rowdata.Insert
		}
		if ok {
			w.f += old.f
		}
	}
	if w.kind.IsRetract() {
		delete(m.rows, w.key)
		return
	}
	m.rows[w.key] = w
}

// image is what a reader of the changelog has.
type image map[int32]string

// follow applies the changelog of a compaction and checks each row of it.
func (im image) follow(f *tree, r *CompactResult, firstRow bool) {
	for i := range r.Changelog {
		kv := f.rows(&r.Changelog[i])
		for k := 0; k < kv.N; k++ {
			key, row := kv.Cols[0].I32[k], string(rowdata.AppendJSONArray(nil, &kv.Batch, k))
			have, ok := im[key]
			kind := kv.Kinds[k]
			if firstRow {
				kind = rowdata.Insert // told with the kind it was written with
			}
			switch kind {
			case rowdata.Insert:
				require.False(f.t, ok, "+I of key %d, which is there", key)
				im[key] = row
			case rowdata.UpdateBefore:
				require.Equal(f.t, have, row, "-U")
				require.Less(f.t, k+1, kv.N, "a -U ends the changelog")
				require.Equal(f.t, rowdata.UpdateAfter, kv.Kinds[k+1])
				require.Equal(f.t, key, kv.Cols[0].I32[k+1])
			case rowdata.UpdateAfter:
				require.Greater(f.t, k, 0)
				require.Equal(f.t, rowdata.UpdateBefore, kv.Kinds[k-1])
				im[key] = row
			case rowdata.Delete:
				require.True(f.t, ok)
				require.Equal(f.t, have, row, "-D")
				delete(im, key)
			}
		}
	}
}

// state returns the rows that files of these levels make up. The lowest level
// counts, as it does with producer lookup.
func (f *tree) state(from int32) image {
	out, seen := image{}, map[int32]bool{}
	for level := from; level <= f.levels.Top(); level++ {
		for _, file := range f.levels.Level(level) {
			kv := f.rows(&file.DataFile)
			for i := range kv.N {
				if key := kv.Cols[0].I32[i]; !seen[key] {
					seen[key] = true
					if kv.Kinds[i].IsAdd() {
						out[key] = string(rowdata.AppendJSONArray(nil, &kv.Batch, i))
					}
				}
			}
		}
	}
	return out
}

// folded returns writes in the form of a flush.
func (f *tree) folded(writes []write) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(scriptType, 0)
	sorted := slices.Clone(writes)
	slices.SortStableFunc(sorted, func(a, b write) int {
		if a.key != b.key {
			return int(a.key - b.key)
		}
		if len(f.job.Order.Fields) > 0 {
			return int(a.f - b.f)
		}
		return 0
	})
	for _, w := range sorted {
		kv.Seq, kv.Kinds = append(kv.Seq, w.seq), append(kv.Kinds, w.kind)
		kv.Cols[0].AppendI32(w.key)
		kv.Cols[1].AppendI32(w.f)
		kv.Cols[2].AppendString(fmt.Sprint(w.seq))
		kv.CloseRow()
	}
	it := merge.NewIter([]merge.Source{&kvSource{kv: kv}}, rowdata.NewComparer([]int{0}), merge.Order{Fields: f.job.Order.Fields}, f.job.Engine, merge.Options{BatchRows: 1 << 20})
	out := rowdata.NewKeyValues(scriptType, 0)
	_, err := it.Next(out)
	require.NoError(f.t, err)
	return out
}

type kvSource struct {
	kv   *rowdata.KeyValues
	done bool
}

func (s *kvSource) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	if s.done {
		return 0, io.EOF
	}
	s.done = true
	dst.AppendRange(s.kv, 0, s.kv.N)
	return dst.N, nil
}

func bufferOf(kv *rowdata.KeyValues) *Buffer {
	return &Buffer{
		Rows: int64(kv.N), Bytes: int64(kv.MemSize()) + 1000,
		Min: rowdata.AppendOrderedKey(nil, kv.Cols[:1], 0), Max: rowdata.AppendOrderedKey(nil, kv.Cols[:1], kv.N-1),
		Open: func() (merge.Source, error) { return &kvSource{kv: kv}, nil },
	}
}

// TestTreeModel writes, flushes and compacts at random, with every producer and
// kind of engine, and compares the table with a map, the changelog with what a
// reader has, and (in tree.check) the index with the files.
func TestTreeModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
		engine := []string{"deduplicate", "deduplicate", "sequence", "sum", "first-row"}[r.IntN(5)]
		spec := treeSpec{
			producer: []string{"none", "lookup", "full"}[r.IntN(3)], levels: 2 + r.IntN(5), pick: DefaultPickOptions(),
			engine: merge.Engine{Name: "deduplicate", Keep: merge.Deduplicate{}},
			opts:   CompactionOptions{SmallBytes: []int64{0, 1500, 1 << 30}[r.IntN(3)], ForceRewrite: r.IntN(10) == 0},
			dedup:  r.IntN(3) == 0, batch: 1 + r.IntN(30),
		}
		switch engine {
		case "sequence":
			spec.order.Fields = []int{1}
		case "sum":
			spec.engine = adding()
		case "first-row":
			spec.engine, spec.producer = merge.Engine{Name: "first-row", Keep: merge.FirstRow{}}, "first-row"
		}
		spec.pick.Trigger = 1 + r.IntN(5)
		lookup := spec.producer == "lookup" || spec.producer == "first-row"
		if lookup {
			spec.pick.Force = []ForceLevel0{ForceRadical, ForceRadical, ForceGently}[r.IntN(3)]
			spec.pick.GentleInterval = 1 + r.IntN(4)
		}
		if r.IntN(3) == 0 {
			spec.runsMax, spec.spillDir = 2, dir
		}
		t.Logf("%s, engine %s, %d levels, trigger %d, small %d, force %t", spec.producer, engine, spec.levels, spec.pick.Trigger, spec.opts.SmallBytes, spec.opts.ForceRewrite)
		f := newTree(t.Context(), t, spec)
		m := &model{engine: engine, rows: map[int32]write{}}
		reader := image{}
		keys, width := int32(1+r.IntN(60)), 1+r.IntN(20)

		check := func(result *CompactResult) {
			if result == nil {
				return
			}
			if spec.producer == "none" {
				require.Empty(t, result.Changelog)
			}
			reader.follow(f, result, engine == "first-row")
			switch spec.producer {
			case "lookup", "first-row":
				require.Equal(t, f.state(1), reader)
			case "full":
				require.Equal(t, f.state(f.levels.Top()), reader)
			}
		}
		table := func() image {
			want := image{}
			for key, w := range m.rows {
				want[key] = w.row()
			}
			return want
		}
		for range 1 + r.IntN(25) {
			base := r.Int32N(keys)
			var writes []write
			for range 1 + r.IntN(width) {
				w := write{key: min(keys-1, base+r.Int32N(int32(width))), f: int32(r.IntN(9)), seq: f.seq, kind: rowdata.RowKind(2 * r.IntN(2))}
				if (engine == "deduplicate" || engine == "sum" && spec.producer == "lookup") && r.IntN(4) == 0 {
					w.kind = rowdata.RowKind(1 + 2*r.IntN(2))
				}
				f.seq++
				writes = append(writes, w)
				m.apply(w)
			}
			kv := f.folded(writes)
			straight := lookup && r.IntN(2) == 0
			var buffer *Buffer
			if straight {
				buffer = bufferOf(kv)
			} else {
				f.flush(kv)
			}
			f.now = f.now.Add(time.Second)
			switch {
			case r.IntN(6) == 0:
				pick, ok := PickFull(f.runs(buffer), f.levels.Top(), nil)
				check(f.compact(pick, ok, buffer))
				require.Equal(t, table(), f.state(f.levels.Top()))
			case straight || r.IntN(3) > 0:
				pick, ok := f.picker.Pick(f.runs(buffer), f.levels.Top(), f.now)
				if straight && !ok {
					f.flush(kv)
				}
				check(f.compact(pick, ok, buffer))
				if spec.pick.Force == ForceRadical {
					require.Empty(t, f.levels.Level(0))
				}
				if lookup && len(f.levels.Level(0)) == 0 {
					require.Equal(t, table(), f.state(1))
				}
			}
		}
		pick, ok := PickFull(f.levels.Runs(), f.levels.Top(), nil)
		check(f.compact(pick, ok, nil))
		require.Equal(t, table(), f.state(f.levels.Top()))
	})
}
