package dv

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"

	"sluice/paimon/manifest"
)

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

// The vector {2, 3} in both formats, from real tables.
const (
	exampleV1 = "01 00000018 5e43f2d0 3a300000 01000000 0000 0100 10000000 0200 0300 c898f63d"
	exampleV2 = "01 00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0200 0300 7a813847"
)

func TestExamples(t *testing.T) {
	two, three := int64(2), int64(3)
	for name, test := range map[string]struct {
		file   string
		length int32
	}{"V1": {exampleV1, 24}, "V2": {exampleV2, 44}} {
		t.Run(name, func(t *testing.T) {
			file := fromHex(t, test.file)
			r := manifest.DVRange{DataFile: "data-1", Offset: 1, Length: test.length, Cardinality: &two}
			v, err := Decode(file, r)
			require.NoError(t, err)
			require.Equal(t, []int64{2, 3}, slices.Collect(v.All()))
			require.EqualValues(t, 2, v.Cardinality())
			for pos, want := range map[int64]bool{-1: false, 0: false, 2: true, 3: true, 4: false, 1<<32 + 2: false} {
				require.Equal(t, want, v.Contains(pos), pos)
			}
			r.Cardinality = &three
			_, err = Decode(file, r)
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, "it holds 2 rows, the index manifest says 3")

			for i := range file[1:] {
				broken := bytes.Clone(file)
				broken[i+1] ^= 0x40
				_, err = Decode(broken, manifest.DVRange{Offset: 1, Length: test.length})
				require.ErrorIs(t, err, ErrCorrupt, "byte %d", i+1)
				_, err = Decode(file[:i+1], manifest.DVRange{Offset: 1, Length: test.length})
				require.ErrorIs(t, err, ErrCorrupt, "cut at %d", i+1)
			}
			for _, r := range []manifest.DVRange{
				{Offset: 0, Length: test.length},
				{Offset: -5, Length: test.length},
				{Offset: 1, Length: test.length + 8},
				{Offset: 1, Length: -1},
				{Offset: 1 << 30, Length: test.length},
				{Offset: 2, Length: test.length},
			} {
				_, err = Decode(file, r)
				require.ErrorIs(t, err, ErrCorrupt)
			}
		})
	}
}

type brokenReader struct{}

var errBroken = errors.New("broken disk")

func (brokenReader) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

func TestReadErrorIsNotCorruption(t *testing.T) {
	_, err := Read(brokenReader{}, 100, manifest.DVRange{Offset: 1, Length: 24})
	require.ErrorIs(t, err, errBroken)
	require.NotErrorIs(t, err, ErrCorrupt)
}

// encode writes a vector as the formats say.
func encode(t testing.TB, positions []int64, v2 bool) ([]byte, manifest.DVRange) {
	t.Helper()
	bitmaps := map[uint32]*roaring.Bitmap{0: roaring.New()}
	var highs []uint32
	for _, pos := range positions {
		high := uint32(pos >> 32)
		if bitmaps[high] == nil {
			bitmaps[high] = roaring.New()
		}
		bitmaps[high].Add(uint32(pos))
	}
	for high, b := range bitmaps {
		if v2 && b.IsEmpty() {
			continue
		}
		b.RunOptimize()
		highs = append(highs, high)
	}
	slices.Sort(highs)
	var body []byte
	if v2 {
		body = binary.LittleEndian.AppendUint32(body, magicV2)
		body = binary.LittleEndian.AppendUint64(body, uint64(len(highs)))
	} else {
		body = binary.BigEndian.AppendUint32(body, magicV1)
	}
	for _, high := range highs {
		if v2 {
			body = binary.LittleEndian.AppendUint32(body, high)
		}
		b, err := bitmaps[high].ToBytes()
		require.NoError(t, err)
		body = append(body, b...)
	}
	file := []byte{1, 9, 9} // something else before
	r := manifest.DVRange{DataFile: "x", Offset: int32(len(file)), Length: int32(len(body))}
	if v2 {
		r.Length += 8
	}
	file = binary.BigEndian.AppendUint32(file, uint32(len(body)))
	file = append(file, body...)
	file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(body))
	return append(file, 7, 7), r
}

func TestSetsOfAllShapes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	shapes := map[string][]int64{"empty": {}, "one": {0}}
	var dense, sparse, runs, wide []int64
	for i := range int64(200_000) {
		if rnd.IntN(3) == 0 {
			dense = append(dense, i)
		}
		if i%100 < 60 {
			runs = append(runs, i)
		}
		if i%1000 == 7 {
			sparse = append(sparse, i*31)
		}
	}
	for i := range int64(50) {
		wide = append(wide, i<<33+i, i<<33+i+1)
	}
	shapes["dense"], shapes["sparse"], shapes["runs"], shapes["wide"] = dense, sparse, runs, wide
	for name, positions := range shapes {
		for _, v2 := range []bool{false, true} {
			if name == "wide" && !v2 {
				continue
			}
			file, r := encode(t, positions, v2)
			v, err := Decode(file, r)
			require.NoError(t, err, name)
			require.EqualValues(t, len(positions), v.Cardinality())
			got := []int64{}
			v.Iterate(func(pos int64) bool { got = append(got, pos); return true })
			require.Equal(t, positions, got)
			set := make(map[int64]bool, len(positions))
			for _, pos := range positions {
				set[pos] = true
			}
			last := int64(100)
			if len(positions) > 0 {
				last = positions[len(positions)-1]
			}
			for range 2000 {
				pos := rnd.Int64N(last + 10)
				require.Equal(t, set[pos], v.Contains(pos))
			}
			for range 50 {
				from, n := rnd.Int64N(last+10), rnd.IntN(300)
				want := []int32{}
				for i := range n {
					if !set[from+int64(i)] {
						want = append(want, int32(i))
					}
				}
				require.Equal(t, want, v.AppendKept([]int32{}, from, n), "%s from %d", name, from)
			}
		}
	}
	stopped := 0
	file, r := encode(t, dense, false)
	v, err := Decode(file, r)
	require.NoError(t, err)
	v.Iterate(func(int64) bool { stopped++; return stopped < 3 })
	require.Equal(t, 3, stopped)
}

// goldenFile is an element of "files" in expected.json.
type goldenFile struct {
	File, Index    string
	DeletionVector *struct {
		File           string
		Offset, Length int32
		Cardinality    int64
		Positions      []int64
	}
	Hashes []int32
}

// TestGolden reads all vectors and hash files of the tables that Java wrote.
func TestGolden(t *testing.T) {
	vectors, hashFiles := 0, 0
	paths, err := filepath.Glob("../../testdata/golden/*/expected.json")
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var want struct{ Files []goldenFile }
		require.NoError(t, json.Unmarshal(data, &want))
		for _, f := range want.Files {
			index := func(name string) []byte {
				// Index files are in their own folder, or in that of the data files.
				for _, pattern := range []string{"index", "bucket-*", "*/bucket-*", "*/*/bucket-*"} {
					found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "table", pattern, name))
					require.NoError(t, err)
					if len(found) == 1 {
						file, err := os.ReadFile(found[0])
						require.NoError(t, err)
						return file
					}
				}
				t.Fatalf("%s: index file %s is not there", path, name)
				return nil
			}
			if d := f.DeletionVector; d != nil {
				v, err := Decode(index(d.File), manifest.DVRange{DataFile: f.File, Offset: d.Offset, Length: d.Length, Cardinality: &d.Cardinality})
				require.NoError(t, err, path)
				require.Equal(t, d.Positions, slices.Collect(v.All()))
				vectors++
			}
			if f.Index == manifest.IndexHash {
				hashes, err := DecodeHashIndex(index(f.File))
				require.NoError(t, err)
				require.Equal(t, index(f.File), AppendHashIndex(nil, hashes))
				require.ElementsMatch(t, f.Hashes, hashes, path)
				hashFiles++
			}
		}
	}
	require.Greater(t, vectors, 6)
	require.Greater(t, hashFiles, 2)
	_, err = DecodeHashIndex([]byte{1, 2, 3})
	require.ErrorIs(t, err, ErrCorrupt)
}

// FuzzDecode gives bitmaps with a right frame, so that the checksum does not keep
// the fuzzer out.
func FuzzDecode(f *testing.F) {
	for _, positions := range [][]int64{{}, {2, 3}, {0, 1, 2, 3, 4, 5, 6, 100000}, {1 << 33}} {
		for _, v2 := range []bool{false, true} {
			file, r := encode(f, positions, v2)
			start := int(r.Offset) + 8
			end := len(file) - 6
			f.Add(file[start:end], v2)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte, v2 bool) {
		var body []byte
		if v2 {
			body = binary.LittleEndian.AppendUint32(body, magicV2)
		} else {
			body = binary.BigEndian.AppendUint32(body, magicV1)
		}
		body = append(body, payload...)
		file := append([]byte{1}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...)
		file = append(file, body...)
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(body))
		r := manifest.DVRange{Offset: 1, Length: int32(len(body))}
		if v2 {
			r.Length += 8
		}
		v, err := Decode(file, r)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		n := int64(0)
		last := int64(-1)
		for pos := range v.All() {
			require.Greater(t, pos, last)
			last = pos
			n++
			if n < 100 {
				require.True(t, v.Contains(pos))
			}
		}
		require.Equal(t, v.Cardinality(), n)
	})
}

func BenchmarkContains(b *testing.B) {
	var positions []int64
	for i := range int64(100_000) {
		if i%10 == 0 {
			positions = append(positions, i)
		}
	}
	file, r := encode(b, positions, false)
	v, err := Decode(file, r)
	require.NoError(b, err)
	b.Run("one by one", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for pos := range int64(1024) {
				if v.Contains(50_000 + pos) {
					n++
				}
			}
		}
	})
	b.Run("batch", func(b *testing.B) {
		kept := make([]int32, 0, 1024)
		for b.Loop() {
			kept = v.AppendKept(kept[:0], 50_000, 1024)
		}
	})
}
