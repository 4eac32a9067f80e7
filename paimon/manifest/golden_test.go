package manifest

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/internal/ocf"
	"sluice/paimon/rowdata"
)

const testdata = "../../testdata"

// goldenTables returns the folders of all tables that Java and Flink wrote.
func goldenTables(t testing.TB) []string {
	t.Helper()
	var tables []string
	for _, pattern := range []string{"golden/*/table", "golden-flink/*/default.db/*"} {
		found, err := filepath.Glob(filepath.Join(testdata, pattern))
		require.NoError(t, err)
		tables = append(tables, found...)
	}
	require.Greater(t, len(tables), 80)
	return tables
}

// goldenFiles returns the names of all manifests, lists and index manifests.
func goldenFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, table := range goldenTables(t) {
		found, err := filepath.Glob(filepath.Join(table, "manifest", "*"))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Greater(t, len(files), 1000)
	return files
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

func kindOf(path string) recordKind {
	switch base := filepath.Base(path); {
	case strings.HasPrefix(base, "manifest-list-"):
		return metaRecord
	case strings.HasPrefix(base, "index-manifest-"):
		return indexRecord
	}
	return entryRecord
}

// content returns the schema and the plain bytes of all blocks.
func content(t testing.TB, data []byte) (schema string, plain []byte) {
	t.Helper()
	r, err := ocf.NewBytesReader(data)
	require.NoError(t, err)
	for {
		b, err := r.Next()
		if err == io.EOF {
			return string(r.SchemaText()), plain
		}
		require.NoError(t, err)
		plain = append(plain, b.Data...)
	}
}

// reencode decodes a file and encodes what came out.
func reencode(t testing.TB, kind recordKind, data []byte, o Options) []byte {
	t.Helper()
	var out []byte
	var err error
	switch kind {
	case metaRecord:
		var metas []Meta
		metas, err = DecodeList(data)
		require.NoError(t, err)
		out, err = EncodeList(metas, o)
	case indexRecord:
		var entries []IndexEntry
		entries, err = DecodeIndex(data)
		require.NoError(t, err)
		out, err = EncodeIndex(entries, o)
	default:
		var entries []Entry
		entries, err = ReadEntries(data)
		require.NoError(t, err)
		out, err = EncodeEntries(entries, o)
	}
	require.NoError(t, err)
	return out
}

// TestGoldenFilesAreReproduced reads every file that Java wrote, writes what was
// read, and finds the same schema and the same bytes.
func TestGoldenFilesAreReproduced(t *testing.T) {
	compared := map[recordKind]int{}
	for _, path := range goldenFiles(t) {
		data := readFile(t, path)
		kind := kindOf(path)
		schema, plain := content(t, data)
		for _, compression := range []string{"zstd", "snappy", "deflate", "none"} {
			again := reencode(t, kind, data, Options{Compression: compression})
			gotSchema, gotPlain := content(t, again)
			if schema == gotSchema {
				require.Equal(t, plain, gotPlain, path)
				compared[kind]++
			}
			if compression != "zstd" && compared[kind] > 400 {
				break // enough of the other codecs
			}
		}
	}
	require.Greater(t, compared[entryRecord], 500)
	require.Greater(t, compared[metaRecord], 700)
	require.Greater(t, compared[indexRecord], 10)
}

type goldenSnapshot struct {
	ID                                                         int64
	BaseManifestList, DeltaManifestList, ChangelogManifestList string
	IndexManifest                                              string
}

func goldenSnapshots(t testing.TB, table string) []goldenSnapshot {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(table, "snapshot", "snapshot-*"))
	require.NoError(t, err)
	var snapshots []goldenSnapshot
	for _, path := range paths {
		var s goldenSnapshot
		require.NoError(t, json.Unmarshal(readFile(t, path), &s))
		snapshots = append(snapshots, s)
	}
	sort.Slice(snapshots, func(i, j int) bool { return snapshots[i].ID < snapshots[j].ID })
	return snapshots
}

func goldenMetas(t testing.TB, table, list string) []Meta {
	t.Helper()
	if list == "" {
		return nil
	}
	metas, err := DecodeList(readFile(t, filepath.Join(table, "manifest", list)))
	require.NoError(t, err)
	return metas
}

func goldenEntries(t testing.TB, table, manifest string) []Entry {
	t.Helper()
	entries, err := ReadEntries(readFile(t, filepath.Join(table, "manifest", manifest)))
	require.NoError(t, err)
	return entries
}

// goldenFile is an element of "files" in expected.json.
type goldenFile struct {
	Index          string
	File           string
	Bucket         int32
	TotalBuckets   int32
	Level          int32
	Size           int64
	RowCount       int64
	DeleteRowCount *int64
	MinSequence    int64
	MaxSequence    int64
	SchemaID       int64 `json:"schemaId"`
	Source         string
	ValueStatsCols []string
	ExtraFiles     []string
	FirstRowID     *int64 `json:"firstRowId"`
}

// TestGoldenLiveFiles compares the live files of each latest snapshot with those
// that Java finds.
func TestGoldenLiveFiles(t *testing.T) {
	files, indexes := 0, 0
	for _, table := range goldenTables(t) {
		if strings.Contains(table, "golden-flink") {
			continue // described otherwise
		}
		var want struct{ Files []goldenFile }
		require.NoError(t, json.Unmarshal(readFile(t, filepath.Join(table, "..", "expected.json")), &want))
		snapshots := goldenSnapshots(t, table)
		if len(snapshots) == 0 {
			require.Empty(t, want.Files)
			continue
		}
		last := snapshots[len(snapshots)-1]
		var lists [][]Entry
		for _, m := range append(goldenMetas(t, table, last.BaseManifestList), goldenMetas(t, table, last.DeltaManifestList)...) {
			lists = append(lists, goldenEntries(t, table, m.FileName))
		}
		got := map[string]goldenFile{}
		for _, e := range Live(lists...) {
			f := e.File
			g := goldenFile{
				File: f.FileName, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets, Level: f.Level, Size: f.FileSize, RowCount: f.RowCount,
				DeleteRowCount: f.DeleteRowCount, MinSequence: f.MinSeq, MaxSequence: f.MaxSeq, SchemaID: f.SchemaID, ExtraFiles: f.ExtraFiles,
				ValueStatsCols: f.ValueStatsCols, FirstRowID: f.FirstRowID,
			}
			if f.Source != nil {
				g.Source = f.Source.String()
			}
			require.NotContains(t, got, f.FileName, table)
			require.True(t, f.HasCreationTime)
			got[f.FileName] = g
			files++
		}
		if last.IndexManifest != "" {
			entries, err := DecodeIndex(readFile(t, filepath.Join(table, "manifest", last.IndexManifest)))
			require.NoError(t, err)
			for _, e := range entries {
				require.Equal(t, Add, e.Kind)
				got[e.FileName] = goldenFile{Index: e.Type, File: e.FileName, Bucket: e.Bucket, Size: e.FileSize, RowCount: e.RowCount}
				require.Len(t, e.DVRanges, map[string]int{IndexDeletionVectors: int(e.RowCount)}[e.Type])
				indexes++
			}
		}
		wanted := map[string]goldenFile{}
		for _, f := range want.Files {
			wanted[f.File] = f
		}
		require.Equal(t, wanted, got, table)
	}
	require.Greater(t, files, 150)
	require.Greater(t, indexes, 10)
}

// TestGoldenFlinkLiveFiles does the same for the tables of Flink.
func TestGoldenFlinkLiveFiles(t *testing.T) {
	files := 0
	for _, table := range goldenTables(t) {
		if !strings.Contains(table, "golden-flink") {
			continue
		}
		var want struct {
			Files []struct {
				FilePath string `json:"file_path"`
				Level    int32
				Count    int64 `json:"record_count"`
				Min      int64 `json:"min_sequence_number"`
				Max      int64 `json:"max_sequence_number"`
			}
		}
		require.NoError(t, json.Unmarshal(readFile(t, filepath.Join(table, "..", "..", "expected.json")), &want))
		snapshots := goldenSnapshots(t, table)
		last := snapshots[len(snapshots)-1]
		var lists [][]Entry
		for _, m := range append(goldenMetas(t, table, last.BaseManifestList), goldenMetas(t, table, last.DeltaManifestList)...) {
			lists = append(lists, goldenEntries(t, table, m.FileName))
		}
		live := map[string]DataFile{}
		for _, e := range Live(lists...) {
			live[e.File.FileName] = e.File
		}
		require.Len(t, live, len(want.Files), table)
		for _, w := range want.Files {
			f, ok := live[filepath.Base(w.FilePath)]
			require.True(t, ok, w.FilePath)
			require.Equal(t, []int64{int64(w.Level), w.Count, w.Min, w.Max}, []int64{int64(f.Level), f.RowCount, f.MinSeq, f.MaxSeq})
			files++
		}
	}
	require.Greater(t, files, 15)
}

// TestGoldenSummaries sums up every manifest that Java wrote and finds what Java
// put into its lists.
func TestGoldenSummaries(t *testing.T) {
	compared, partitioned := 0, 0
	for _, table := range goldenTables(t) {
		types := partitionTypes(t, table)
		lists, err := filepath.Glob(filepath.Join(table, "manifest", "manifest-list-*"))
		require.NoError(t, err)
		for _, list := range lists {
			for _, want := range goldenMetas(t, table, filepath.Base(list)) {
				if _, err := os.Stat(filepath.Join(table, "manifest", want.FileName)); err != nil {
					require.Contains(t, table, "expired", "only expiry removes manifests")
					continue
				}
				got, err := Summarize(want.FileName, want.FileSize, goldenEntries(t, table, want.FileName), types)
				require.NoError(t, err)
				if strings.Contains(table, "golden-flink") {
					got.MinRowID, got.MaxRowID = nil, nil
				}
				require.Equal(t, want, got, "%s %s", list, want.FileName)
				compared++
				if len(types) > 0 {
					partitioned++
				}
			}
		}
	}
	require.Greater(t, compared, 1000)
	require.Greater(t, partitioned, 50)
}

func partitionTypes(t testing.TB, table string) []*rowdata.Type {
	t.Helper()
	var schema struct {
		Fields        []rowdata.Field
		PartitionKeys []string
	}
	require.NoError(t, json.Unmarshal(readFile(t, filepath.Join(table, "schema", "schema-0")), &schema))
	row := rowdata.RowType{Fields: schema.Fields}
	var types []*rowdata.Type
	for _, key := range schema.PartitionKeys {
		types = append(types, row.Fields[row.Index(key)].Type)
	}
	return types
}
