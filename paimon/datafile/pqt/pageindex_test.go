package pqt

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// footerOf decodes the metadata of a file.
func footerOf(t testing.TB, file []byte) *fileMeta {
	t.Helper()
	r := Reader{src: bytes.NewReader(file), size: int64(len(file))}
	_, err := r.readFooter()
	require.NoError(t, err)
	return r.meta
}

// pageIndexes decodes the page indexes of a column chunk.
func pageIndexes(t testing.TB, file []byte, c *columnChunk) (*columnIndex, []pageLocation) {
	t.Helper()
	pages, err := decodeOffsetIndex(file[c.offsetIndexOffset : c.offsetIndexOffset+int64(c.offsetIndexLength)])
	require.NoError(t, err)
	if c.columnIndexOffset == 0 {
		return nil, pages
	}
	x, err := decodeColumnIndex(file[c.columnIndexOffset : c.columnIndexOffset+int64(c.columnIndexLength)])
	require.NoError(t, err)
	require.Len(t, x.mins, len(pages))
	require.Len(t, x.maxs, len(pages))
	require.Len(t, x.nullPages, len(pages))
	require.Len(t, x.nulls, len(pages))
	return x, pages
}

// TestPageIndexes compares the bounds of every page and chunk with its values.
func TestPageIndexes(t *testing.T) {
	for seed := range uint64(60) {
		m := &typeMaker{r: rand.New(rand.NewPCG(seed, 5))}
		f := rowdata.Field{ID: 0, Name: "c", Type: m.atomic()}
		if f.Type.IsNested() {
			continue
		}
		fields, rows := []rowdata.Field{f}, 2000
		cols := m.vectors(fields, rows, m.r.IntN(17))
		if m.r.IntN(3) == 0 {
			cols[0] = sorted(cols[0], m.r.IntN(2) == 0)
		}
		file, _ := writeAll(t, fields, cols, Options{PageRows: 50 + m.r.IntN(200), RowGroupBytes: 2000}, 100)
		meta := footerOf(t, file)
		require.Greater(t, len(meta.rowGroups), 0)
		leaf := planOf(t, meta, f)
		at := 0
		for i := range meta.rowGroups {
			g := &meta.rowGroups[i]
			c := &g.columns[0]
			v := cols[0]
			requireBounded(t, leaf, v, at, at+int(g.numRows), c.stats.min, c.stats.max)
			require.EqualValues(t, nullsIn(v, at, at+int(g.numRows)), c.stats.nulls)
			x, pages := pageIndexes(t, file, c)
			nan := hasNaN(v, at, at+int(g.numRows))
			require.Equal(t, v.Storage() == rowdata.StoreNanos || nan, x == nil, f.Type.String())
			for p := range pages {
				from, to := int(pages[p].firstRow), int(g.numRows)
				if p+1 < len(pages) {
					to = int(pages[p+1].firstRow)
				}
				if x == nil {
					continue
				}
				nulls := nullsIn(v, at+from, at+to)
				require.Equal(t, nulls, x.nulls[p])
				require.Equal(t, nulls == int64(to-from), x.nullPages[p])
				if !x.nullPages[p] {
					requireBounded(t, leaf, v, at+from, at+to, x.mins[p], x.maxs[p])
				}
			}
			if x != nil {
				requireOrder(t, leaf, x)
			}
			at += int(g.numRows)
		}
		require.Equal(t, rows, at)
	}
}

func planOf(t testing.TB, meta *fileMeta, f rowdata.Field) *readNode {
	t.Helper()
	root, _, err := parseSchema(meta.schema)
	require.NoError(t, err)
	var p planner
	n, err := p.field(f.Name, f.Type, root.child(f.Name), 0, 0)
	require.NoError(t, err)
	return n
}

func sorted(v *rowdata.Vector, down bool) *rowdata.Vector {
	idx := make([]int32, v.Len())
	for i := range idx {
		idx[i] = int32(i)
	}
	for i := range idx { // insertion sort: few rows
		for j := i; j > 0; j-- {
			c := rowdata.Compare(v, int(idx[j-1]), v, int(idx[j]))
			if c == 0 || c < 0 != down {
				break
			}
			idx[j-1], idx[j] = idx[j], idx[j-1]
		}
	}
	out := rowdata.NewVector(v.Type, v.Len())
	out.Gather(v, idx)
	return out
}

func hasNaN(v *rowdata.Vector, from, to int) bool {
	for i := from; i < to; i++ {
		if len(v.F32) > 0 && v.F32[i] != v.F32[i] || len(v.F64) > 0 && v.F64[i] != v.F64[i] {
			return true
		}
	}
	return false
}

// requireBounded checks that every value lies between the bounds of a page or
// chunk as a reader decodes them.
func requireBounded(t testing.TB, n *readNode, v *rowdata.Vector, from, to int, lo, hi []byte) {
	t.Helper()
	if lo == nil && hi == nil {
		return
	}
	low, high := n.leaf.scalar(n.typ, lo), n.leaf.scalar(n.typ, hi)
	require.NotNil(t, low)
	require.NotNil(t, high)
	for i := from; i < to; i++ {
		if v.IsNull(i) {
			continue
		}
		require.LessOrEqual(t, rowdata.Compare(low, 0, v, i), 0)
		require.GreaterOrEqual(t, rowdata.Compare(high, 0, v, i), 0)
	}
}

func requireOrder(t testing.TB, n *readNode, x *columnIndex) {
	t.Helper()
	up, down := true, true
	last := -1
	for p := range x.mins {
		if x.nullPages[p] {
			continue
		}
		if last >= 0 {
			for _, b := range [][2][]byte{{x.mins[last], x.mins[p]}, {x.maxs[last], x.maxs[p]}} {
				c := rowdata.Compare(n.leaf.scalar(n.typ, b[0]), 0, n.leaf.scalar(n.typ, b[1]), 0)
				up, down = up && c <= 0, down && c >= 0
			}
		}
		last = p
	}
	switch x.order {
	case boundsAscending:
		require.True(t, up)
	case boundsDescending:
		require.True(t, down)
	default:
		require.False(t, up || down)
	}
}

func TestCutBounds(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		text bool
		low  string
		high string
	}{
		{"short", 10, true, "short", "short"},
		{"abcdef", 3, true, "abc", "abd"},
		{"ab\u007fdef", 3, true, "ab\u007f", "ac"}, // the next character has more bytes
		{"日本語", 4, true, "日", "旦"},
		{"日本語", 2, true, "", "日本語"},
		{"\ud7ff\ud7ffx", 3, true, "\ud7ff", "\ue000"},
		{"a\U0010ffff\U0010ffff", 5, true, "a\U0010ffff", "b"},
		{"\U0010ffff\U0010ffff", 4, true, "\U0010ffff", "\U0010ffff\U0010ffff"},
		{"\x01\xff\x03", 2, false, "\x01\xff", "\x02"},
		{"\xff\xff\xff", 2, false, "\xff\xff", "\xff\xff\xff"},
	} {
		require.Equal(t, c.low, string(cutLow([]byte(c.s), c.n, c.text)), "%q", c.s)
		require.Equal(t, c.high, string(cutHigh(nil, []byte(c.s), c.n, c.text)), "%q", c.s)
	}
}

// TestDecimalBounds: the unscaled bytes have a sign.
func TestDecimalBounds(t *testing.T) {
	for p := 1; p <= 38; p++ {
		f := rowdata.Field{Name: "d", Type: &rowdata.Type{Root: rowdata.Decimal, Precision: p}}
		v := rowdata.NewVector(f.Type, 0)
		for _, x := range []int64{1, -1, 0, 5, -7} {
			if v.Storage() == rowdata.StoreI64 {
				v.AppendI64(x)
			} else {
				v.AppendI128(rowdata.Int128From(x))
			}
		}
		file, stats := writeAll(t, []rowdata.Field{f}, []*rowdata.Vector{v}, Options{PageRows: 1}, 10)
		requireStats(t, []rowdata.Field{f}, []*rowdata.Vector{v}, stats)
		meta := footerOf(t, file)
		n := planOf(t, meta, f)
		s := meta.rowGroups[0].columns[0].stats
		require.Equal(t, "-7", string(rowdata.AppendText(nil, n.leaf.scalar(f.Type, s.min), 0)))
		require.Equal(t, "5", string(rowdata.AppendText(nil, n.leaf.scalar(f.Type, s.max), 0)))
	}
}

func TestLongStringsHaveNoChunkBounds(t *testing.T) {
	f := []rowdata.Field{{Name: "s", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}}}
	v := rowdata.NewVector(f[0].Type, 0)
	v.AppendString(strings.Repeat("a", 3000))
	v.AppendString(strings.Repeat("b", 3000))
	file, stats := writeAll(t, f, []*rowdata.Vector{v}, Options{}, 10)
	c := &footerOf(t, file).rowGroups[0].columns[0]
	require.Nil(t, c.stats.min)
	x, _ := pageIndexes(t, file, c)
	require.Equal(t, strings.Repeat("a", indexBoundBytes), string(x.mins[0]))
	require.Equal(t, strings.Repeat("b", indexBoundBytes-1)+"c", string(x.maxs[0]))
	require.Equal(t, strings.Repeat("b", 3000), string(stats[0].Max.Bytes(0)))
}

func TestFloatBounds(t *testing.T) {
	f := []rowdata.Field{{Name: "x", Type: &rowdata.Type{Root: rowdata.Double}}}
	neg := math.Copysign(0, -1)
	for _, c := range []struct {
		name     string
		values   []float64
		min, max float64
		bounds   bool
	}{
		{"plain", []float64{1, -2, 3}, -2, 3, true},
		{"zeros", []float64{0, neg}, neg, 0, true},
		{"only +0", []float64{0}, 0, 0, true},
		{"only -0", []float64{neg}, neg, neg, true},
		{"NaN", []float64{1, math.NaN()}, 1, math.NaN(), false},
		{"only NaN", []float64{math.NaN()}, math.NaN(), math.NaN(), false},
	} {
		v := rowdata.NewVector(f[0].Type, 0)
		for _, x := range c.values {
			v.AppendF64(x)
		}
		file, stats := writeAll(t, f, []*rowdata.Vector{v}, Options{}, 10)
		require.Equal(t, math.Float64bits(c.min), math.Float64bits(stats[0].Min.F64[0]), c.name)
		require.Equal(t, math.Float64bits(c.max), math.Float64bits(stats[0].Max.F64[0]), c.name)
		chunk := &footerOf(t, file).rowGroups[0].columns[0]
		x, _ := pageIndexes(t, file, chunk)
		require.Equal(t, c.bounds, chunk.stats.min != nil, c.name)
		require.Equal(t, c.bounds, x != nil, c.name)
		if c.bounds && c.min == 0 { // as the format wants it: the zeros that cover both
			require.True(t, math.Signbit(planOf(t, footerOf(t, file), f[0]).leaf.scalar(f[0].Type, chunk.stats.min).F64[0]))
		}
		if c.bounds && c.max == 0 {
			require.False(t, math.Signbit(planOf(t, footerOf(t, file), f[0]).leaf.scalar(f[0].Type, chunk.stats.max).F64[0]))
		}
	}
}
