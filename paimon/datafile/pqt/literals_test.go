package pqt

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// literalTexts are bytes of which some have a Huffman code and others none.
func literalTexts(r *rand.Rand) map[string][]byte {
	random := func(n, symbols int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(1+r.IntN(symbols))) + 'A'
		}
		return b
	}
	return map[string][]byte{
		"a block":           random(literalBlock, 40),
		"a byte more":       random(literalBlock+1, 40),
		"few bytes more":    random(literalBlock+100, 40),
		"several":           random(5*literalBlock+777, 50),
		"two symbols":       random(300_000, 2),
		"all symbols":       random(200_000, 256),
		"a short one":       random(300, 9),
		"flat in the end":   append(random(literalBlock, 30), random(literalBlock, 1)...),
		"noise in the end":  append(random(literalBlock, 30), noise(r, literalBlock)...),
		"noise at the head": append(noise(r, literalBlock), random(2*literalBlock, 30)...),
	}
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestLiterals(t *testing.T) {
	var l literalCoder
	var d decompressor
	for name, text := range literalTexts(rand.New(rand.NewPCG(7, 7))) {
		packed, ok := l.append([]byte("before"), text)
		require.True(t, ok, name)
		require.Equal(t, "before", string(packed[:6]), name)
		got := make([]byte, len(text))
		require.NoError(t, d.decode(got, packed[6:], codecZstd), name)
		require.True(t, bytes.Equal(text, got), name)
	}
	_, ok := l.append(nil, bytes.Repeat([]byte{'x'}, 100_000))
	require.False(t, ok, "a single symbol has no code")
}

// The reference implementation reads the frames too, where it is installed.
func TestLiteralsReference(t *testing.T) {
	zstd, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("no zstd in the path")
	}
	var l literalCoder
	for name, text := range literalTexts(rand.New(rand.NewPCG(8, 8))) {
		packed, ok := l.append(nil, text)
		require.True(t, ok, name)
		cmd := exec.Command(zstd, "-dc")
		cmd.Stdin = bytes.NewReader(packed)
		got, err := cmd.Output()
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(text, got), name)
	}
}

// Pages of short texts become literals while nothing repeats in them, and no longer.
func TestLiteralPages(t *testing.T) {
	fields := []rowdata.Field{{ID: 1, Name: "s", Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}}}
	r := rand.New(rand.NewPCG(5, 6))
	letters := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(min(r.IntN(26), r.IntN(26)))
		}
		return string(b)
	}
	phrase := letters(60)
	const pageRows = 2000
	v := rowdata.NewVector(fields[0].Type, 0)
	page := func(value func() string) {
		for range pageRows {
			v.AppendString(value())
		}
	}
	text := func() string { return letters(40 + r.IntN(30)) }
	page(text)
	page(text)
	page(func() string { return letters(5) + phrase + letters(5) })
	page(text) // not tried again yet
	var out bytes.Buffer
	w, err := NewWriter(&out, fields, Options{PageRows: pageRows})
	require.NoError(t, err)
	var literals []bool
	for from := 0; from < v.Len(); from += pageRows {
		require.NoError(t, w.Write([]*rowdata.Vector{v}, from, from+pageRows))
		literals = append(literals, w.columns[0].literals)
	}
	require.Equal(t, []bool{true, true, false, false}, literals)
	_, err = w.Close()
	require.NoError(t, err)
	got := readAll(t, out.Bytes(), fields, ReadOptions{})[0]
	require.True(t, bytes.Equal(v.Data, got.Data))
	require.Equal(t, v.Offs, got.Offs)

	// Long values are too few to tell, other levels search.
	for _, o := range []struct {
		opts   Options
		length int
	}{{Options{ZstdLevel: 5}, 60}, {Options{Compression: "lz4"}, 60}, {Options{PageBytes: 1 << 20}, 2000}} {
		w, err := NewWriter(&out, fields, o.opts)
		require.NoError(t, err)
		v.Reset()
		for range 200_000 / o.length {
			v.AppendString(letters(o.length))
		}
		require.NoError(t, w.Write([]*rowdata.Vector{v}, 0, v.Len()))
		require.NoError(t, w.coder.endPage(w.columns[0]))
		require.False(t, w.columns[0].literals)
	}
}
