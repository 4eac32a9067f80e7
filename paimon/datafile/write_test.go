package datafile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

var (
	intType  = &rowdata.Type{Root: rowdata.Int}
	textType = &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	bigType  = &rowdata.Type{Root: rowdata.BigInt}
)

// keyedLayout is a table (k STRING, v STRING, n INT, id BIGINT) with key (id, k).
func keyedLayout() Layout {
	return Layout{Schema: &rowdata.RowType{Fields: []rowdata.Field{
		{ID: 0, Name: "k", Type: textType.AsNotNull()},
		{ID: 1, Name: "v", Type: textType},
		{ID: 3, Name: "n", Type: intType},
		{ID: 7, Name: "id", Type: bigType.AsNotNull()},
	}}, SchemaID: 5, Key: []int{3, 0}}
}

// keyedRows are n rows in key order whose sequence numbers go down from 1000+n.
func keyedRows(n int) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(keyedLayout().Schema, n)
	for i := range n {
		kv.Seq, kv.Kinds = append(kv.Seq, int64(1000+n-i)), append(kv.Kinds, rowdata.RowKind(i%4))
		kv.Cols[0].AppendString(fmt.Sprintf("key-%06d", i))
		if i%3 == 0 {
			kv.Cols[1].AppendNull()
		} else {
			kv.Cols[1].AppendString(strings.Repeat("v", i%40))
		}
		kv.Cols[2].AppendI32(int32(i))
		kv.Cols[3].AppendI64(int64(i / 2))
		kv.CloseRow()
	}
	return kv
}

func formats() []string { return []string{FormatAvro, FormatParquet} }

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func TestKeyedFile(t *testing.T) {
	zone := time.FixedZone("east", 2*3600)
	for _, format := range formats() {
		for _, thin := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/thin=%t", format, thin), func(t *testing.T) {
				dir, l := newFolder(), keyedLayout()
				l.Thin = thin
				w := NewRollingWriter(dir.create, dir.names("data-u-"), l, Options{
					Format: format, Level: 3, Source: manifest.SourceCompact, Now: at(time.Date(2024, 2, 29, 12, 0, 0, 5e6, zone)),
				})
				rows := keyedRows(100)
				require.NoError(t, w.Write(t.Context(), rows, 10, 10))
				for from := 10; from < 90; from += 20 {
					require.NoError(t, w.Write(t.Context(), rows, from, from+20))
				}
				require.Empty(t, w.Finished())
				files, err := w.Close(t.Context())
				require.NoError(t, err)
				f := one(t, files)
				require.Equal(t, w.Finished(), files)
				require.Equal(t, "data-u-0."+format, f.FileName)
				require.Equal(t, int64(len(dir.files[f.FileName])), f.FileSize)
				require.Equal(t, int64(80), f.RowCount)
				require.Equal(t, int64(40), *f.DeleteRowCount)
				require.Equal(t, int64(1000+100-89), f.MinSeq)
				require.Equal(t, int64(1000+100-10), f.MaxSeq)
				require.Equal(t, int64(5), f.SchemaID)
				require.Equal(t, int32(3), f.Level)
				require.Equal(t, manifest.SourceCompact, *f.Source)
				require.True(t, f.HasCreationTime)
				require.Equal(t, time.Date(2024, 2, 29, 12, 0, 0, 5e6, time.UTC).UnixMilli(), f.CreationTime)
				require.Empty(t, f.ExtraFiles)
				require.False(t, f.HasWriteCols)
				require.Equal(t, `[5,"key-000010"]`, manifestRow(t, f.MinKey, bigType, textType))
				require.Equal(t, `[44,"key-000089"]`, manifestRow(t, f.MaxKey, bigType, textType))
				require.Equal(t, `[5,"key-000010"]`, manifestRow(t, f.KeyStats.Min, bigType, textType))
				require.Equal(t, []int64{0, 0}, f.KeyStats.NullCounts)
				require.Equal(t, `["key-000010","",10,5]`, manifestRow(t, f.ValueStats.Min, textType, textType, intType, bigType))
				require.Equal(t, `["key-000089","vvvvvvvvvvvvvvvw",89,44]`, manifestRow(t, f.ValueStats.Max, textType, textType, intType, bigType))
				require.Equal(t, []int64{0, 26, 0, 0}, f.ValueStats.NullCounts)
				require.False(t, f.HasValueStatsCols)
				require.Zero(t, dir.open)

				got := readAll(t, dir.files[f.FileName], f.FileName, ReadSpec{Want: l.Schema, File: l.Schema, System: true, BatchRows: 7})
				want := rowdata.NewKeyValues(l.Schema, 0)
				want.AppendRange(rows, 10, 90)
				requireSameRows(t, &want.Batch, &got.Batch)
				require.Equal(t, want.Seq, got.Seq)
				require.Equal(t, want.Kinds, got.Kinds)

				key := ReadSpec{Want: &rowdata.RowType{Fields: []rowdata.Field{{ID: keyIDBase + 7, Name: "_KEY_id", Type: bigType}}}}
				key.File = key.Want
				ids := readAll(t, dir.files[f.FileName], f.FileName, key)
				require.Equal(t, thin, ids.Cols[0].IsNull(0), "key columns stand in front unless thin")
			})
		}
	}
}

func TestPhysicalColumns(t *testing.T) {
	l := keyedLayout()
	list := func(l Layout) (out []string) {
		for _, f := range l.Physical() {
			out = append(out, fmt.Sprintf("%d %s %s", f.ID, f.Name, f.Type))
		}
		return out
	}
	system := []string{"2147483646 _SEQUENCE_NUMBER BIGINT NOT NULL", "2147483645 _VALUE_KIND TINYINT NOT NULL"}
	values := []string{"0 k STRING NOT NULL", "1 v STRING", "3 n INT", "7 id BIGINT NOT NULL"}
	require.Equal(t, append(append([]string{"1073741830 _KEY_id BIGINT NOT NULL", "1073741823 _KEY_k STRING NOT NULL"}, system...), values...), list(l))
	l.Thin = true
	require.Equal(t, append(system, values...), list(l))
	l.Key = nil
	require.Equal(t, values, list(l))
}

func TestAppendFiles(t *testing.T) {
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			dir, l := newFolder(), keyedLayout()
			l.Key = nil
			rows := keyedRows(100)
			rows.Seq, rows.Kinds = nil, nil
			w := NewRollingWriter(dir.create, dir.names("data-"), l, Options{Format: format, TargetRows: 30, FirstSequence: 500})
			require.NoError(t, w.Write(t.Context(), rows, 0, 40))
			require.Equal(t, int64(540), w.NextSequence())
			require.Len(t, w.Finished(), 1)
			require.NoError(t, w.Write(t.Context(), rows, 40, 100))
			files, err := w.Close(t.Context())
			require.NoError(t, err)
			require.Len(t, files, 4)
			require.Equal(t, int64(600), w.NextSequence())
			next, got := int64(500), rowdata.NewKeyValues(l.Schema, 0)
			for i, f := range files {
				require.Equal(t, []int64{30, 30, 30, 10}[i], f.RowCount)
				require.Equal(t, next, f.MinSeq)
				next += f.RowCount
				require.Equal(t, next-1, f.MaxSeq)
				require.Equal(t, rowdata.EmptyManifestRow(), f.MinKey)
				require.Equal(t, rowdata.EmptyManifestRow(), f.MaxKey)
				require.Equal(t, manifest.Stats{Min: rowdata.EmptyManifestRow(), Max: rowdata.EmptyManifestRow(), NullCounts: []int64{}}, f.KeyStats)
				require.Zero(t, *f.DeleteRowCount)
				require.Equal(t, manifest.SourceAppend, *f.Source)
				part := readAll(t, dir.files[f.FileName], f.FileName, ReadSpec{Want: l.Schema, File: l.Schema})
				got.Batch.AppendRange(&part.Batch, 0, part.N)
			}
			requireSameRows(t, &rows.Batch, &got.Batch)
		})
	}
}

func TestAppendRefusesRetracts(t *testing.T) {
	dir, l := newFolder(), keyedLayout()
	l.Key = nil
	rows := keyedRows(4)
	w := NewRollingWriter(dir.create, dir.names("data-"), l, Options{Format: FormatAvro})
	require.NoError(t, w.Write(t.Context(), rows, 0, 1))
	require.ErrorContains(t, w.Write(t.Context(), rows, 1, 2), "-U")
	require.Zero(t, dir.open)
}

// TestRollBySize looks at the size every 1,000 rows only, counted over all files.
func TestRollBySize(t *testing.T) {
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			dir, l := newFolder(), keyedLayout()
			w := NewRollingWriter(dir.create, dir.names("data-"), l, Options{Format: format, Compression: "none", TargetSize: 1})
			rows := keyedRows(3500)
			for from := 0; from < rows.N; from += 700 {
				require.NoError(t, w.Write(t.Context(), rows, from, from+700))
			}
			files, err := w.Close(t.Context())
			require.NoError(t, err)
			var counts []int64
			for _, f := range files {
				counts = append(counts, f.RowCount)
			}
			require.Equal(t, []int64{1000, 1000, 1000, 500}, counts)
			require.Equal(t, `[500,"key-001000"]`, manifestRow(t, files[1].MinKey, bigType, textType))
			require.Equal(t, `[999,"key-001999"]`, manifestRow(t, files[1].MaxKey, bigType, textType))
		})
	}
	dir := newFolder()
	w := NewRollingWriter(dir.create, dir.names("data-"), keyedLayout(), Options{Format: FormatAvro, Compression: "none", TargetSize: 150_000})
	rows := keyedRows(10_000)
	require.NoError(t, w.Write(t.Context(), rows, 0, rows.N))
	files, err := w.Close(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(files), 2)
	for _, f := range files[:len(files)-1] {
		require.GreaterOrEqual(t, f.FileSize, int64(150_000))
		require.Less(t, f.FileSize, int64(300_000))
		require.Zero(t, f.RowCount%1000)
	}
}

func TestNoRowsNoFile(t *testing.T) {
	dir := newFolder()
	w := NewRollingWriter(dir.create, dir.names("data-"), keyedLayout(), Options{})
	files, err := w.Close(t.Context())
	require.NoError(t, err)
	require.Empty(t, files)
	require.Empty(t, dir.files)
	require.ErrorIs(t, w.Write(t.Context(), keyedRows(1), 0, 1), errClosed)
}

func TestFileNames(t *testing.T) {
	for compression, want := range map[string]string{"snappy": "p-0.snappy.avro", "": "p-0.zst.avro", "ZSTD": "p-0.zst.avro", "none": "p-0.avro", "deflate": "p-0.deflate.avro"} {
		dir := newFolder()
		w := NewRollingWriter(dir.create, dir.names("p-"), keyedLayout(), Options{Format: FormatAvro, Compression: compression, NameCompression: true})
		require.NoError(t, w.Write(t.Context(), keyedRows(1), 0, 1))
		files, err := w.Close(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, one(t, files).FileName)
		require.Equal(t, FormatAvro, FormatOf(want))
	}
	gzip := Options{Format: FormatParquet, Compression: "gzip", NameCompression: true}
	require.Equal(t, ".gz.parquet", gzip.extension())
	require.Equal(t, FormatParquet, FormatOf("data-1-0.gz.parquet"))
}

func TestUnsupportedFormat(t *testing.T) {
	dir := newFolder()
	w := NewRollingWriter(dir.create, dir.names("data-"), keyedLayout(), Options{Format: "orc"})
	var format *UnsupportedFormatError
	require.ErrorAs(t, w.Write(t.Context(), keyedRows(1), 0, 1), &format)
	require.Equal(t, "orc", format.Format)
	require.Zero(t, dir.open)

	_, err := Open(strings.NewReader(""), 0, "data-1-0.orc", ReadSpec{Want: &rowdata.RowType{}, File: &rowdata.RowType{}})
	require.ErrorAs(t, err, &format)
	require.Equal(t, UnsupportedFormatError{File: "data-1-0.orc", Format: "orc"}, *format)
}

func TestTee(t *testing.T) {
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			dir, l := newFolder(), keyedLayout()
			w := NewTeeWriter(dir.target("data-"), dir.target("changelog-"), l, Options{Format: format, TargetRows: 60, Now: at(time.UnixMilli(9))})
			rows := keyedRows(100)
			require.NoError(t, w.Write(t.Context(), rows, 0, 100))
			data, changelog, err := w.Close(t.Context())
			require.NoError(t, err)
			require.Len(t, data, 2)
			for i := range data {
				require.Equal(t, fmt.Sprintf("data-%d.%s", i, format), data[i].FileName)
				require.Equal(t, fmt.Sprintf("changelog-%d.%s", i, format), changelog[i].FileName)
				require.Equal(t, dir.files[data[i].FileName], dir.files[changelog[i].FileName])
				twin := changelog[i]
				twin.FileName = data[i].FileName
				require.Equal(t, data[i], twin)
				require.NotSame(t, data[i].DeleteRowCount, twin.DeleteRowCount)
			}
			require.Len(t, dir.files, 4)
		})
	}
}

// TestFailures lets each step of each sink fail, and finds every sink ended once
// and no meta returned.
func TestFailures(t *testing.T) {
	for _, step := range []string{"create", "write", "finish", "abort"} {
		for _, bad := range []string{"data-0.avro", "changelog-0.avro", "data-1.avro", "changelog-1.avro"} {
			t.Run(step+"/"+bad, func(t *testing.T) {
				dir := newFolder()
				dir.fail = func(s, name string) error {
					if s == step && name == bad {
						return errTest
					}
					return nil
				}
				w := NewTeeWriter(dir.target("data-"), dir.target("changelog-"), keyedLayout(), Options{Format: FormatAvro, TargetRows: 50})
				err := w.Write(t.Context(), keyedRows(80), 0, 80)
				if err == nil && step == "abort" {
					err = w.Abort()
					if strings.Contains(bad, "-1") {
						require.ErrorIs(t, err, errTest)
					}
				} else if err == nil {
					_, _, err = w.Close(t.Context())
					require.ErrorIs(t, err, errTest)
				} else {
					require.ErrorIs(t, err, errTest)
				}
				require.Zero(t, dir.open)
				data, changelog := w.Finished()
				require.Equal(t, len(data), len(changelog))
				require.Error(t, w.Write(t.Context(), keyedRows(1), 0, 1))
				_, _, err = w.Close(t.Context())
				require.Error(t, err)
				require.NoError(t, w.Abort())
			})
		}
	}
}

func TestWriteCancelled(t *testing.T) {
	dir := newFolder()
	ctx, cancel := context.WithCancel(t.Context())
	w := NewRollingWriter(dir.create, dir.names("data-"), keyedLayout(), Options{Format: FormatAvro})
	require.NoError(t, w.Write(ctx, keyedRows(5), 0, 5))
	cancel()
	require.ErrorIs(t, w.Write(ctx, keyedRows(5), 0, 5), context.Canceled)
	require.Equal(t, 1, dir.aborted)
	require.Zero(t, dir.open)
}

func TestNullInNotNull(t *testing.T) {
	for _, format := range formats() {
		dir := newFolder()
		w := NewRollingWriter(dir.create, dir.names("data-"), keyedLayout(), Options{Format: format})
		rows := rowdata.NewKeyValues(keyedLayout().Schema, 1)
		rows.Seq, rows.Kinds, rows.N = []int64{1}, []rowdata.RowKind{rowdata.Delete}, 1
		rows.Cols[0].AppendString("k")
		for _, c := range rows.Cols[1:] {
			c.AppendNull()
		}
		err := w.Write(t.Context(), rows, 0, 1)
		require.ErrorContains(t, err, "id")
		require.ErrorContains(t, err, "data-0")
		require.Zero(t, dir.open)
	}
}
