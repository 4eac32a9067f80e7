package merge

import (
	"cmp"
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

// sliceSource delivers records in batches of a fixed size.
type sliceSource struct {
	kv     *rowdata.KeyValues
	size   int
	at     int
	fail   error // instead of the end
	closed int
}

func (s *sliceSource) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	if s.at == s.kv.N {
		if s.fail != nil {
			return 0, s.fail
		}
		return 0, io.EOF
	}
	to := min(s.kv.N, s.at+s.size)
	dst.AppendRange(s.kv, s.at, to)
	n := to - s.at
	s.at = to
	return n, nil
}

func (s *sliceSource) Close() error { s.closed++; return nil }

// rec is a record of the test table (k STRING, s INT, v STRING).
type rec struct {
	key  string
	f    *int32 // sequence field
	seq  int64
	kind rowdata.RowKind
	val  string
}

func (r rec) String() string {
	f := "-"
	if r.f != nil {
		f = fmt.Sprint(*r.f)
	}
	return fmt.Sprintf("%s %s f=%s seq=%d %s", r.kind, r.key, f, r.seq, r.val)
}

var testType = &rowdata.RowType{Fields: []rowdata.Field{
	{ID: 0, Name: "k", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength, NotNull: true}},
	{ID: 1, Name: "f", Type: &rowdata.Type{Root: rowdata.Int}},
	{ID: 2, Name: "v", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}},
	{ID: 3, Name: "l", Type: &rowdata.Type{Root: rowdata.Array, Elem: &rowdata.Type{Root: rowdata.BigInt}}},
}}

func batchOf(recs []rec) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(testType, len(recs))
	for _, r := range recs {
		kv.Seq, kv.Kinds = append(kv.Seq, r.seq), append(kv.Kinds, r.kind)
		kv.Cols[0].AppendString(r.key)
		if r.f == nil {
			kv.Cols[1].AppendNull()
		} else {
			kv.Cols[1].AppendI32(*r.f)
		}
		kv.Cols[2].AppendString(r.val)
		kv.Cols[3].Children[0].AppendI64(r.seq)
		kv.Cols[3].CloseList()
		kv.CloseRow()
	}
	return kv
}

func recsOf(kv *rowdata.KeyValues) []rec {
	var out []rec
	for i := range kv.N {
		r := rec{key: string(kv.Cols[0].Bytes(i)), seq: kv.Seq[i], kind: kv.Kinds[i], val: string(kv.Cols[2].Bytes(i))}
		if !kv.Cols[1].IsNull(i) {
			f := kv.Cols[1].I32[i]
			r.f = &f
		}
		if l := kv.Cols[3]; l.Offs[i+1]-l.Offs[i] != 1 || l.Children[0].I64[l.Offs[i]] != r.seq {
			panic("list column out of step")
		}
		out = append(out, r)
	}
	return out
}

// order is the order of the format, written down again in the plainest way.
func order(desc, fields bool) func(a, b rec) int {
	return func(a, b rec) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		if fields {
			switch {
			case a.f == nil && b.f == nil:
			case a.f == nil:
				return -1
			case b.f == nil:
				return 1
			case *a.f != *b.f && desc:
				return cmp.Compare(*b.f, *a.f)
			case *a.f != *b.f:
				return cmp.Compare(*a.f, *b.f)
			}
		}
		if c := cmp.Compare(a.seq, b.seq); c != 0 {
			return c
		}
		return cmp.Compare(b2i(a.kind.IsAdd()), b2i(b.kind.IsAdd()))
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fold is what a reducer with deduplicate does, record by record.
func fold(all []rec, ignoreDelete, drop bool) []rec {
	var out []rec
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].key == all[from].key {
			to++
		}
		group := all[from:to]
		from = to
		if len(group) > 1 && ignoreDelete {
			group = slices.DeleteFunc(slices.Clone(group), func(r rec) bool { return r.kind.IsRetract() })
			if len(group) == 0 {
				continue
			}
		}
		if last := group[len(group)-1]; !drop || last.kind.IsAdd() {
			out = append(out, last)
		}
	}
	return out
}

func drain(t require.TestingT, it *Iter, batch int) []rec {
	var out []rec
	dst := rowdata.NewKeyValues(testType, 0)
	for {
		n, err := it.Next(dst)
		if err == io.EOF {
			require.Zero(t, n)
			_, err = it.Next(dst)
			require.Equal(t, io.EOF, err)
			return out
		}
		require.NoError(t, err)
		require.Equal(t, n, dst.N)
		require.Positive(t, n)
		require.LessOrEqual(t, n, batch)
		out = append(out, recsOf(dst)...)
	}
}

// TestIterModel merges random runs and compares with a sort of everything.
func TestIterModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 1))
		runs := []int{0, 1, 2, 3, 5, 8, 17, 40}[r.IntN(8)]
		keys := 1 + r.IntN(300)
		prefix := []string{"", "k", "commonprefix-", "\x00\x00"}[r.IntN(4)]
		fields, desc, unique := r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0
		ignore, drop, nofn := r.IntN(3) == 0, r.IntN(2) == 0, r.IntN(4) == 0
		blocks := r.IntN(2) == 0 // runs of near keys: one source is ahead for long
		batch := 1 + r.IntN(50)
		less := order(desc, fields)

		var all []rec
		var sources []Source
		seq := int64(0)
		for run := range runs {
			var recs []rec
			for range r.IntN(200) {
				k := r.IntN(keys)
				if blocks {
					k = (k/runs + run*keys/runs) % keys
				}
				rc := rec{key: fmt.Sprintf("%s%d", prefix, k), seq: seq, kind: rowdata.RowKind(r.IntN(4)), val: fmt.Sprint(seq)}
				if r.IntN(4) > 0 {
					f := int32(r.IntN(5))
					rc.f = &f
				}
				seq++
				if r.IntN(20) == 0 {
					seq-- // the next one has the same number
				}
				recs = append(recs, rc)
			}
			slices.SortStableFunc(recs, less)
			if unique {
				recs = slices.CompactFunc(recs, func(a, b rec) bool { return a.key == b.key })
			}
			all = append(all, recs...)
			sources = append(sources, &sliceSource{kv: batchOf(recs), size: 1 + r.IntN(40)})
		}
		slices.SortStableFunc(all, less)

		o := Options{BatchRows: batch, DropDeletes: drop, UniqueKeys: unique}
		if runs == 1 {
			o.BatchRows = 40 // a single run is handed on in batches of the source
			batch = 40
		}
		engine := Engine{Keep: Deduplicate{IgnoreDelete: ignore}}
		want := fold(all, ignore, drop)
		if nofn {
			engine, want = Engine{}, all
			if drop {
				want = slices.DeleteFunc(slices.Clone(all), func(r rec) bool { return r.kind.IsRetract() })
			}
		}
		var seqFields []int
		if fields {
			seqFields = []int{1}
		}
		it := NewIter(sources, rowdata.NewComparer([]int{0}), Order{Fields: seqFields, Descending: desc}, engine, o)
		got := drain(t, it, batch)
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
		require.NoError(t, it.Close())
		for _, s := range sources {
			require.Equal(t, 1, s.(*sliceSource).closed)
		}
	})
}

func TestIterOrderWithinKey(t *testing.T) {
	one, two := int32(1), int32(2)
	for _, tc := range []struct {
		name   string
		desc   bool
		a, b   rec
		winner string
	}{
		{"greater sequence number", false, rec{seq: 7, val: "a"}, rec{seq: 3, val: "b"}, "a"},
		{"field before number", false, rec{f: &one, seq: 7, val: "a"}, rec{f: &two, seq: 3, val: "b"}, "b"},
		{"field descending", true, rec{f: &one, seq: 3, val: "a"}, rec{f: &two, seq: 7, val: "b"}, "a"},
		{"NULL loses", false, rec{seq: 7, val: "a"}, rec{f: &one, seq: 3, val: "b"}, "b"},
		{"NULL loses descending too", true, rec{seq: 7, val: "a"}, rec{f: &one, seq: 3, val: "b"}, "b"},
		{"equal field, number decides", false, rec{f: &one, seq: 7, val: "a"}, rec{f: &one, seq: 3, val: "b"}, "a"},
		{"equal number, add after retract", false, rec{seq: 3, kind: rowdata.UpdateAfter, val: "a"}, rec{seq: 3, kind: rowdata.Delete, val: "b"}, "a"},
		{"all equal, later source", false, rec{seq: 3, val: "a"}, rec{seq: 3, val: "b"}, "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.a.key, tc.b.key = "k", "k"
			sources := []Source{
				&sliceSource{kv: batchOf([]rec{tc.a}), size: 1}, &sliceSource{kv: batchOf([]rec{tc.b}), size: 1},
			}
			it := NewIter(sources, rowdata.NewComparer([]int{0}), Order{Fields: []int{1}, Descending: tc.desc}, Engine{Keep: Deduplicate{}}, Options{})
			got := drain(t, it, 10)
			require.Len(t, got, 1)
			require.Equal(t, tc.winner, got[0].val)
		})
	}
}

func TestIterLoneRecordBypassesFunction(t *testing.T) {
	lone := rec{key: "a", kind: rowdata.Delete, seq: 1}
	pair := []rec{{key: "b", kind: rowdata.Delete, seq: 2}, {key: "b", kind: rowdata.UpdateBefore, seq: 3}}
	run := &sliceSource{kv: batchOf(append([]rec{lone}, pair...)), size: 2}
	it := NewIter([]Source{run}, rowdata.NewComparer([]int{0}), Order{}, Engine{Keep: Deduplicate{IgnoreDelete: true}}, Options{})
	got := drain(t, it, 10)
	require.Equal(t, "[-D a f=- seq=1 ]", fmt.Sprint(got), "a lone delete stays, two of a key leave nothing")
}

// TestIterOfNothing: sources without a record end at once.
func TestIterOfNothing(t *testing.T) {
	for runs := range 4 {
		var sources []Source
		for range runs {
			sources = append(sources, &sliceSource{kv: batchOf(nil), size: 1})
		}
		for _, e := range []Engine{{}, {Keep: Deduplicate{}}} {
			require.Empty(t, drain(t, NewIter(sources, rowdata.NewComparer([]int{0}), Order{}, e, Options{}), 1))
		}
	}
}

// TestIterBatchBytes: large records make small batches.
func TestIterBatchBytes(t *testing.T) {
	var a, b []rec
	for i := range 40 {
		a = append(a, rec{key: fmt.Sprintf("%03d", 2*i), val: string(make([]byte, 10_000))})
		b = append(b, rec{key: fmt.Sprintf("%03d", 2*i+1), val: "small"})
	}
	sources := []Source{&sliceSource{kv: batchOf(a), size: 10}, &sliceSource{kv: batchOf(b), size: 10}}
	it := NewIter(sources, rowdata.NewComparer([]int{0}), Order{}, Engine{Keep: Deduplicate{}}, Options{BatchBytes: 50_000})
	require.Len(t, drain(t, it, 5), 80)
	it = NewIter([]Source{&sliceSource{kv: batchOf(a), size: 10}}, rowdata.NewComparer([]int{0}), Order{}, Engine{Keep: Deduplicate{}}, Options{BatchBytes: 5})
	require.Len(t, drain(t, it, 1), 40)
}

func TestIterSourceError(t *testing.T) {
	boom := errors.New("boom")
	for _, n := range []int{1, 2, 3} {
		sources := []Source{&sliceSource{kv: batchOf([]rec{{key: "a"}}), size: 1, fail: boom}}
		for range n - 1 {
			sources = append(sources, &sliceSource{kv: batchOf([]rec{{key: "b"}}), size: 1})
		}
		it := NewIter(sources, rowdata.NewComparer([]int{0}), Order{}, Engine{Keep: Deduplicate{}}, Options{})
		dst := rowdata.NewKeyValues(testType, 0)
		for range 2 {
			rows, err := it.Next(dst)
			require.ErrorIs(t, err, boom)
			require.Zero(t, rows)
		}
		require.NoError(t, it.Close())
		_, err := it.Next(dst)
		require.ErrorIs(t, err, boom)
	}
}

func TestChain(t *testing.T) {
	a := &sliceSource{kv: batchOf([]rec{{key: "a"}, {key: "b"}}), size: 1}
	b := &sliceSource{kv: batchOf([]rec{{key: "c"}}), size: 8}
	boom := errors.New("boom")
	opened := 0
	open := func(s *sliceSource) func() (Source, error) {
		return func() (Source, error) { opened++; return s, nil }
	}
	c := NewChain(open(a), open(b))
	it := NewIter([]Source{c}, rowdata.NewComparer([]int{0}), Order{}, Engine{Keep: Deduplicate{}}, Options{})
	got := drain(t, it, 10)
	require.Len(t, got, 3)
	require.Equal(t, []int{1, 1}, []int{a.closed, b.closed})

	c = NewChain(open(&sliceSource{kv: batchOf(nil), size: 1}), func() (Source, error) { return nil, boom })
	_, err := c.Next(rowdata.NewKeyValues(testType, 0))
	require.ErrorIs(t, err, boom)

	a.at, a.closed, opened = 0, 0, 0
	c = NewChain(open(a), open(b))
	_, err = c.Next(rowdata.NewKeyValues(testType, 0))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, []int{1, 1}, []int{a.closed, opened}, "what follows is not opened")
	_, err = c.Next(rowdata.NewKeyValues(testType, 0))
	require.Equal(t, io.EOF, err)
}

func TestSections(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files [][2]int32
		want  string
	}{
		{"none", nil, "[]"},
		{"one", [][2]int32{{1, 5}}, "[{[[0]]}]"},
		{"apart", [][2]int32{{6, 9}, {1, 5}}, "[{[[1]]} {[[0]]}]"},
		{"touching keys overlap", [][2]int32{{1, 5}, {5, 9}}, "[{[[0] [1]]}]"},
		{"chained into two runs", [][2]int32{{1, 9}, {0, 2}, {3, 4}, {5, 6}}, "[{[[1 2 3] [0]]}]"},
		{"contained and then apart", [][2]int32{{1, 9}, {2, 3}, {10, 11}}, "[{[[0] [1]]} {[[2]]}]"},
		{"equal ranges keep their order", [][2]int32{{1, 2}, {1, 2}, {1, 2}}, "[{[[0] [1] [2]]}]"},
		{"first run to end takes the next file", [][2]int32{{0, 5}, {1, 3}, {4, 9}, {6, 7}}, "[{[[0 3] [1 2]]}]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lo, hi := keyBatch(tc.files, 0), keyBatch(tc.files, 1)
			require.Equal(t, tc.want, fmt.Sprint(Sections(lo, hi, rowdata.NewComparer([]int{0}))))
		})
	}
}

func keyBatch(files [][2]int32, side int) *rowdata.Batch {
	b := rowdata.NewBatch(&rowdata.RowType{Fields: []rowdata.Field{{Name: "k", Type: &rowdata.Type{Root: rowdata.Int}}}}, 0)
	for _, f := range files {
		b.Cols[0].AppendI32(f[side])
		b.CloseRow()
	}
	return b
}

// TestSectionsProperties: sections do not overlap, runs inside do not either,
// every file is there once, and no section could be cut further.
func TestSectionsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "files")
		files := make([][2]int32, n)
		for i := range files {
			lo := rapid.Int32Range(0, 200).Draw(t, "lo")
			files[i] = [2]int32{lo, lo + rapid.Int32Range(0, 30).Draw(t, "len")}
		}
		sections := Sections(keyBatch(files, 0), keyBatch(files, 1), rowdata.NewComparer([]int{0}))
		seen := map[int]bool{}
		end := int32(-1)
		for _, s := range sections {
			last, count := end, 0
			var in [][2]int32
			for _, run := range s.Runs {
				to := end
				for _, f := range run {
					require.False(t, seen[f])
					seen[f] = true
					require.Greater(t, files[f][0], to, "files of a run overlap, or a section the one before")
					to = files[f][1]
					last = max(last, to)
					in = append(in, files[f])
					count++
				}
			}
			slices.SortFunc(in, func(a, b [2]int32) int { return cmp.Compare(a[0], b[0]) })
			reach := in[0][1]
			for _, f := range in[1:] {
				require.LessOrEqual(t, f[0], reach, "the section could be cut")
				reach = max(reach, f[1])
			}
			end = last
		}
		require.Len(t, seen, n)
	})
}
