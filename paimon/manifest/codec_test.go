package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/internal/ocf"
	"sluice/paimon/rowdata"
)

func TestEncodeDefaults(t *testing.T) {
	data, err := EncodeEntries([]Entry{{}}, Options{})
	require.NoError(t, err)
	schema, _ := content(t, data)
	require.Equal(t, entrySchema, schema, "the newest field is left out unless it is used")
	entries, err := ReadEntries(data)
	require.NoError(t, err)
	empty := Stats{Min: []byte(emptyRow), Max: []byte(emptyRow), NullCounts: []int64{}}
	require.Equal(t, []Entry{{Partition: rowdata.EmptyManifestRow(), File: DataFile{
		MinKey: rowdata.EmptyManifestRow(), MaxKey: rowdata.EmptyManifestRow(), KeyStats: empty, ValueStats: empty, ExtraFiles: []string{},
	}}}, entries)

	data, err = EncodeList(nil, Options{})
	require.NoError(t, err)
	metas, err := DecodeList(data)
	require.NoError(t, err)
	require.Empty(t, metas)

	_, err = EncodeList(nil, Options{Compression: "lz4"})
	var unknown *ocf.UnknownCodecError
	require.ErrorAs(t, err, &unknown)
}

func TestManyBlocks(t *testing.T) {
	w, err := NewEntryWriter(Options{ColumnSequences: true})
	require.NoError(t, err)
	var want []Entry
	for i := range 3000 {
		e := sampleEntries()[i%3]
		e.File.FileName = fmt.Sprintf("data-%d", i)
		want = append(want, e)
		w.Add(&e)
		require.Equal(t, i+1, w.Len())
	}
	estimate := w.Size()
	data, err := w.Finish()
	require.NoError(t, err)
	require.InEpsilon(t, len(data), estimate, 0.5)
	got, err := ReadEntries(data)
	require.NoError(t, err)
	require.Equal(t, want, got)

	stop := errors.New("stop")
	n := 0
	require.ErrorIs(t, DecodeEntries(data, func(*Entry) error { n++; return stop }), stop)
	require.Equal(t, 1, n)
}

func TestCloneSharesNothing(t *testing.T) {
	data, err := EncodeEntries(sampleEntries(), Options{Compression: "none"})
	require.NoError(t, err)
	entries, err := ReadEntries(data)
	require.NoError(t, err)
	clone := entries[0].Clone()
	require.Equal(t, entries[0], clone)
	clear(data) // the decoded entries share it, the clone does not
	require.Equal(t, sampleEntries()[0], clone)
}

func TestIdentity(t *testing.T) {
	base := sampleEntries()[0]
	same := base
	same.Kind, same.File.RowCount, same.File.MinKey, same.TotalBuckets = Add, 9, nil, 3
	require.Equal(t, base.Identity(), same.Identity(), "these members do not count")
	path := "elsewhere"
	seen := map[string]int{base.Identity(): -1}
	for i, change := range []func(*Entry){
		func(e *Entry) { e.Partition = []byte("other") },
		func(e *Entry) { e.Bucket++ },
		func(e *Entry) { e.File.Level++ },
		func(e *Entry) { e.File.FileName += "x" },
		func(e *Entry) { e.File.ExtraFiles = nil },
		func(e *Entry) { e.File.ExtraFiles = []string{"data-1.parquet.index日本語"} },
		func(e *Entry) { e.File.EmbeddedIndex = nil },
		func(e *Entry) { e.File.EmbeddedIndex = []byte{} },
		func(e *Entry) { e.File.ExternalPath = nil },
		func(e *Entry) { e.File.ExternalPath = &path },
	} {
		e := base
		change(&e)
		before, clash := seen[e.Identity()]
		require.False(t, clash, "changes %d and %d", before, i)
		seen[e.Identity()] = i
	}
}

func TestLive(t *testing.T) {
	file := func(kind EntryKind, name string, level int32) Entry {
		return Entry{Kind: kind, File: DataFile{FileName: name, Level: level}}
	}
	base := []Entry{file(Add, "a", 0), file(Add, "b", 0), file(Delete, "c", 0)}
	delta := []Entry{file(Delete, "a", 0), file(Add, "a", 5), file(Add, "c", 0), file(Delete, "never", 0), file(Add, "d", 1)}
	want := []Entry{file(Add, "b", 0), file(Add, "a", 5), file(Add, "d", 1)}
	require.Equal(t, want, Live(base, delta), "an upgrade is live at its new level, a deletion counts wherever it is")
	require.ElementsMatch(t, want, Live(delta, base))
	require.Empty(t, Live())
	require.Len(t, base, 3)
	require.Equal(t, "a", base[0].File.FileName, "the input is not changed")
}

func TestSummaryOfNulls(t *testing.T) {
	types := []*rowdata.Type{{Root: rowdata.Int}, {Root: rowdata.Varchar, Length: rowdata.MaxLength, NotNull: true}}
	row := func(n any, s string) []byte {
		a, b := rowdata.NewVector(types[0], 1), rowdata.NewVector(types[1], 1)
		if n == nil {
			a.AppendNull()
		} else {
			a.AppendI32(int32(n.(int)))
		}
		b.AppendString(s)
		return rowdata.AppendManifestRow(nil, []*rowdata.Vector{a, b}, 0)
	}
	id := int64(10)
	entries := []Entry{
		{Partition: row(nil, "z"), Bucket: 3, File: DataFile{SchemaID: 1, FirstRowID: &id, RowCount: 5}},
		{Partition: row(nil, "z"), Kind: Delete, File: DataFile{SchemaID: 0, Level: 5, FirstRowID: &id, RowCount: 9}},
		{Partition: row(-5, "a longer text"), Bucket: 1, File: DataFile{FirstRowID: &id}},
		{Partition: row(7, "m"), File: DataFile{FirstRowID: &id}},
	}
	m, err := Summarize("manifest-1", 99, entries, types)
	require.NoError(t, err)
	zero, three, five, low, high := int32(0), int32(3), int32(5), int64(10), int64(18)
	want := Meta{
		FileName: "manifest-1", FileSize: 99, NumAdded: 3, NumDeleted: 1, SchemaID: 1,
		PartitionStats: Stats{Min: row(-5, "a longer text"), Max: row(7, "z"), NullCounts: []int64{2, 0}},
		MinBucket:      &zero, MaxBucket: &three, MinLevel: &zero, MaxLevel: &five, MinRowID: &low, MaxRowID: &high,
	}
	require.Equal(t, want, m)

	allNull, err := Summarize("m", 1, entries[:2], types)
	require.NoError(t, err)
	require.Equal(t, Stats{Min: row(nil, "z"), Max: row(nil, "z"), NullCounts: []int64{2, 0}}, allNull.PartitionStats)

	entries[3].File.FirstRowID = nil
	m, err = Summarize("manifest-1", 99, entries, types)
	require.NoError(t, err)
	require.Nil(t, m.MinRowID)
	require.Nil(t, m.MaxRowID)

	entries[0].Partition = []byte("damaged")
	_, err = Summarize("manifest-1", 99, entries, types)
	require.ErrorContains(t, err, "manifest-1")
}

// fuzzSeeds adds some small files of each kind.
func fuzzSeeds(f *testing.F) {
	for _, compression := range []string{"zstd", "snappy", "deflate", "none"} {
		o := Options{Compression: compression}
		entries, _ := EncodeEntries(sampleEntries(), o)
		metas, _ := EncodeList(sampleMetas(), o)
		index, _ := EncodeIndex(sampleIndex(), o)
		for kind, data := range [][]byte{entries, metas, index} {
			f.Add(uint8(kind), data)
		}
	}
	for _, path := range goldenFiles(f)[:20] {
		data, err := os.ReadFile(path)
		if err == nil {
			f.Add(uint8(kindOf(path)), data)
		}
	}
}

// FuzzDecode decodes anything. What decodes can be encoded and decoded again to
// the same.
func FuzzDecode(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		switch recordKind(kind % 3) {
		case entryRecord:
			entries, err := ReadEntries(data)
			if err != nil {
				return
			}
			again, err := EncodeEntries(entries, Options{Compression: "none"})
			require.NoError(t, err)
			got, err := ReadEntries(again)
			require.NoError(t, err)
			second, err := EncodeEntries(got, Options{Compression: "none"})
			require.NoError(t, err)
			require.True(t, bytes.Equal(blocks(t, again), blocks(t, second)))
		case metaRecord:
			if metas, err := DecodeList(data); err == nil {
				again, err := EncodeList(metas, Options{Compression: "none"})
				require.NoError(t, err)
				_, err = DecodeList(again)
				require.NoError(t, err)
			}
		case indexRecord:
			if entries, err := DecodeIndex(data); err == nil {
				again, err := EncodeIndex(entries, Options{Compression: "none"})
				require.NoError(t, err)
				_, err = DecodeIndex(again)
				require.NoError(t, err)
			}
		}
	})
}

func blocks(t *testing.T, data []byte) []byte {
	_, plain := content(t, data)
	return plain
}

func benchEntries(n int) []Entry {
	source, deletes := SourceAppend, int64(0)
	row := bytes.Repeat([]byte{0, 0, 0, 1, 0, 0, 0, 0}, 8)
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Partition: []byte(emptyRow), Bucket: int32(i % 4), TotalBuckets: 4, File: DataFile{
			FileName: fmt.Sprintf("data-6c16134e-d609-4488-b916-f388c2cb2576-%d.parquet", i), FileSize: 123456, RowCount: 1000, MinKey: row[:20], MaxKey: row[:20],
			KeyStats: Stats{row[:20], row[:20], []int64{0}}, ValueStats: Stats{row, row, []int64{0, 0, 1, 2, 3, 4, 0, 0}}, MaxSeq: int64(i) * 1000,
			HasCreationTime: true, CreationTime: 1_700_000_000_000, DeleteRowCount: &deletes, Source: &source,
		}}
	}
	return entries
}

func BenchmarkEncodeEntries(b *testing.B) {
	for _, n := range []int{1, 4, 1000} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			entries := benchEntries(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := EncodeEntries(entries, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeEntries(b *testing.B) {
	for _, n := range []int{1, 4, 1000} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			data, err := EncodeEntries(benchEntries(n), Options{})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := DecodeEntries(data, func(*Entry) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	metas := make([]Meta, 30)
	for i := range metas {
		metas[i] = sampleMetas()[0]
	}
	data, err := EncodeList(metas, Options{})
	require.NoError(b, err)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := EncodeList(metas, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeList(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkIdentity(b *testing.B) {
	e := benchEntries(1)[0]
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Identity()
	}
}
