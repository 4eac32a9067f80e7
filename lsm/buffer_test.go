package lsm

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

var (
	intType    = &rowdata.Type{Root: rowdata.Int}
	bigintType = &rowdata.Type{Root: rowdata.BigInt, NotNull: true}
	textType   = &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
)

func rowType(types ...*rowdata.Type) *rowdata.RowType {
	t := &rowdata.RowType{}
	for i, typ := range types {
		t.Fields = append(t.Fields, rowdata.Field{ID: i, Name: fmt.Sprint("c", i), Type: typ})
	}
	return t
}

// TestSortAndFoldModel compares the sorted and folded buffer with a stable sort
// of plain records.
func TestSortAndFoldModel(t *testing.T) {
	type rec struct {
		key  string
		f    int32 // 0 is NULL
		seq  int64
		kind rowdata.RowKind
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		n := []int{0, 1, 2, 100, 600, 3000, 600, 100, 50, chunkRows + 700}[r.IntN(10)]
		keys := 1 + r.IntN(2*n+1)
		numeric, fields, desc, ignore := r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(3) == 0
		ascending := r.IntN(4) == 0
		keyType := textType
		if numeric {
			keyType = bigintType
		}
		typ := rowType(keyType, intType)
		pool := NewPool(1<<40, SpillOptions{})
		buf := &buffer{typ: typ, pool: pool, keyed: true}
		var model []rec
		for at := 0; at < n; {
			in := rowdata.Changes{Batch: *rowdata.NewBatch(typ, 0)}
			idx := []int32{}
			for range min(n-at, 1+r.IntN(300)) {
				k := r.IntN(keys)
				if ascending {
					k = at / 2
				}
				text := fmt.Sprintf("%06d", k)
				if !numeric {
					text = []string{"", "customer-"}[k%2] + text
				}
				x := rec{key: text, f: r.Int32N(4), seq: int64(at) + 10, kind: rowdata.RowKind(r.IntN(4))}
				if numeric {
					in.Cols[0].AppendI64(int64(k))
				} else {
					in.Cols[0].AppendString(text)
				}
				if x.f == 0 {
					in.Cols[1].AppendNull()
				} else {
					in.Cols[1].AppendI32(x.f)
				}
				in.Kinds = append(in.Kinds, x.kind)
				in.CloseRow()
				if r.IntN(10) == 0 {
					continue // not asked for
				}
				idx = append(idx, int32(in.N-1))
				model = append(model, x)
				at++
			}
			picked := len(idx)
			if picked == in.N && r.IntN(2) == 0 {
				idx = nil
			}
			buf.append(&in, idx, int64(at-picked)+10)
		}
		require.Equal(t, n, buf.rows)
		o := &ordering{key: rowdata.NewComparer([]int{0}), order: merge.Order{Descending: desc}}
		if fields {
			o.order.Fields = []int{1}
		}
		slices.SortStableFunc(model, func(a, b rec) int {
			if c := cmp.Compare(a.key, b.key); c != 0 {
				return c
			}
			if fields && a.f != b.f {
				if desc && a.f != 0 && b.f != 0 {
					return cmp.Compare(b.f, a.f)
				}
				return cmp.Compare(a.f, b.f)
			}
			return 0
		})
		entries, exact := pool.sorter.sort(buf.chunks, o)
		require.Equal(t, numeric || n == 0, exact)
		seqs := func(all bool) []int64 {
			out := []int64{}
			for _, e := range entries {
				if all || !e.dropped {
					out = append(out, buf.chunks[e.ref.chunk()].Seq[e.ref.row()])
				}
			}
			return out
		}
		want, folded := []int64{}, []int64{}
		for from := 0; from < n; {
			to := from
			stands := -1
			for to < n && model[to].key == model[from].key {
				want = append(want, model[to].seq)
				if !ignore || model[to].kind.IsAdd() {
					stands = to
				}
				to++
			}
			if to-from == 1 {
				stands = from
			}
			if stands >= 0 {
				folded = append(folded, model[stands].seq)
			}
			from = to
		}
		require.Equal(t, want, seqs(true))
		left, err := fold(entries, buf.chunks, o, exact, merge.Engine{Keep: merge.Deduplicate{IgnoreDelete: ignore}})
		require.NoError(t, err)
		require.Equal(t, folded, seqs(false))
		require.Equal(t, len(folded), left)
		if n > 0 {
			require.Positive(t, pool.Used())
		}
		buf.reset()
		require.Zero(t, pool.Used())
	})
}

// TestChunksAreUsedAgain: a full chunk comes back, a small one does not.
func TestChunksAreUsedAgain(t *testing.T) {
	typ := rowType(bigintType)
	pool := NewPool(1<<30, SpillOptions{})
	buf := &buffer{typ: typ, pool: pool, keyed: true}
	in := rowdata.Changes{Batch: *rowdata.NewBatch(typ, 0)}
	for i := range chunkRows + 1 {
		in.Cols[0].AppendI64(int64(i))
		in.CloseRow()
	}
	buf.append(&in, nil, 0)
	require.Len(t, buf.chunks, 2)
	full := buf.chunks[0]
	buf.reset()
	require.Len(t, pool.free, 1)
	buf.append(&in, nil, 0)
	require.NotSame(t, full, buf.chunks[0], "the first chunk of a buffer is small")
	require.Same(t, full, buf.chunks[1])
	require.Empty(t, pool.free)
	require.Zero(t, pool.freeRes)
	require.Equal(t, 1, full.N)
}

func spillTypes() *rowdata.RowType {
	return rowType(
		&rowdata.Type{Root: rowdata.Int}, &rowdata.Type{Root: rowdata.BigInt}, &rowdata.Type{Root: rowdata.Float}, &rowdata.Type{Root: rowdata.Double},
		&rowdata.Type{Root: rowdata.Decimal, Precision: 30}, &rowdata.Type{Root: rowdata.Timestamp, Precision: 9}, textType,
		&rowdata.Type{Root: rowdata.Array, Elem: textType},
		&rowdata.Type{Root: rowdata.Map, Key: textType.AsNotNull(), Elem: intType},
		&rowdata.Type{Root: rowdata.Multiset, Elem: intType},
		&rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{Name: "a", Type: intType}, {Name: "b", Type: textType}}},
		&rowdata.Type{Root: rowdata.Variant},
	)
}

func appendRandom(v *rowdata.Vector, r *rand.Rand, nulls bool) {
	if nulls && r.IntN(4) == 0 {
		v.AppendNull()
		return
	}
	x := r.Int32N(1000)
	switch v.Storage() {
	case rowdata.StoreI32:
		v.AppendI32(x)
	case rowdata.StoreI64:
		v.AppendI64(int64(x) << 33)
	case rowdata.StoreF32:
		v.AppendF32(float32(x))
	case rowdata.StoreF64:
		v.AppendF64(float64(x))
	case rowdata.StoreI128:
		v.AppendI128(rowdata.Int128{Hi: int64(x), Lo: uint64(x)})
	case rowdata.StoreNanos:
		v.AppendTimestamp(int64(x), x)
	case rowdata.StoreBytes:
		v.AppendString(fmt.Sprintf("%0*d", x%20, x))
	case rowdata.StoreList, rowdata.StoreMap:
		for range x % 4 {
			for c, child := range v.Children {
				appendRandom(child, r, nulls && c > 0 && v.Type.Root != rowdata.Multiset)
			}
		}
		v.CloseList()
	case rowdata.StoreStruct:
		for _, child := range v.Children {
			appendRandom(child, r, nulls && v.Type.Root != rowdata.Variant)
		}
		v.CloseStruct()
	}
}

func randomRecords(typ *rowdata.RowType, r *rand.Rand, n int, nulls bool) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(typ, 0)
	for range n {
		kv.Seq, kv.Kinds = append(kv.Seq, r.Int64()), append(kv.Kinds, rowdata.RowKind(r.IntN(4)))
		for _, v := range kv.Cols {
			appendRandom(v, r, nulls)
		}
		kv.CloseRow()
	}
	return kv
}

func requireSame(t *testing.T, want, got *rowdata.KeyValues) {
	t.Helper()
	require.Equal(t, want.N, got.N)
	require.Equal(t, append([]int64{}, want.Seq...), append([]int64{}, got.Seq...))
	require.Equal(t, append([]rowdata.RowKind{}, want.Kinds...), append([]rowdata.RowKind{}, got.Kinds...))
	for c, v := range want.Cols {
		require.Equal(t, want.N, got.Cols[c].Len())
		for i := range want.N {
			require.Truef(t, rowdata.Equal(v, i, got.Cols[c], i), "column %s row %d", v.Type, i)
		}
	}
}

func TestSpillCodecAllTypes(t *testing.T) {
	typ := spillTypes()
	for _, uncompressed := range []bool{false, true} {
		codec, err := newSpillCodec(uncompressed)
		require.NoError(t, err)
		got := rowdata.NewKeyValues(typ, 0)
		for seed := range uint64(20) {
			want := randomRecords(typ, rand.New(rand.NewPCG(seed, 3)), int(seed*7), seed%2 == 0)
			block := codec.encode(nil, want)
			require.NoError(t, codec.decode(got, block))
			requireSame(t, want, got)
			for _, cut := range []int{0, 1, len(block) / 2, len(block) - 1} {
				require.ErrorIs(t, codec.decode(got, block[:cut]), errSpillBlock, "cut at %d of %d", cut, len(block))
			}
			require.ErrorIs(t, codec.decode(got, append(block, block...)), errSpillBlock)
		}
		codec.close()
	}
}

func TestSpillRunRoundTrip(t *testing.T) {
	typ := rowType(bigintType, textType)
	dir := t.TempDir()
	pool := NewPool(1<<30, SpillOptions{Dir: dir})
	defer pool.Close()
	r := rand.New(rand.NewPCG(1, 1))
	in := randomRecords(typ, r, chunkRows+2000, true)
	buf := &buffer{typ: typ, pool: pool, keyed: true}
	buf.append(&rowdata.Changes{Kinds: in.Kinds, Batch: in.Batch}, nil, 5)
	o := &ordering{key: rowdata.NewComparer([]int{0})}
	entries, _ := pool.sorter.sort(buf.chunks, o)
	want := rowdata.NewKeyValues(typ, 0)
	for _, e := range entries {
		want.AppendFrom(buf.chunks[e.ref.chunk()], int(e.ref.row()))
	}
	run, err := pool.spillRun(buf.run(entries), typ)
	require.NoError(t, err)
	require.Equal(t, in.N, run.rows)
	require.Equal(t, run.size, pool.spilled)
	require.Empty(t, dirNames(t, dir), "nothing is left behind by a crash")

	got, batch := rowdata.NewKeyValues(typ, 0), rowdata.NewKeyValues(typ, 0)
	for src := (&runReader{codec: pool.codec, run: run}); ; {
		_, err := src.Next(batch)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		got.AppendRange(batch, 0, batch.N)
	}
	requireSame(t, want, got)
	require.NoError(t, pool.drop(run))
	require.Zero(t, pool.spilled)
}

func TestSpillLimit(t *testing.T) {
	typ := rowType(bigintType)
	pool := NewPool(1<<30, SpillOptions{Dir: t.TempDir(), BytesMax: 1000, Uncompressed: true})
	defer pool.Close()
	buf := &buffer{typ: typ, pool: pool, keyed: true}
	in := randomRecords(typ, rand.New(rand.NewPCG(1, 1)), 3000, false)
	buf.append(&rowdata.Changes{Kinds: in.Kinds, Batch: in.Batch}, nil, 0)
	entries, _ := pool.sorter.sort(buf.chunks, &ordering{key: rowdata.NewComparer([]int{0})})
	_, err := pool.spillRun(buf.run(entries), typ)
	require.ErrorIs(t, err, errSpillFull)
	require.Zero(t, pool.spilled, "what was written is dropped")
}
