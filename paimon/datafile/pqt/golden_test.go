package pqt

import (
	"encoding/json"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

const goldenDir = "../../../testdata/"

// goldenTable is what expected.json says of a table.
type goldenTable struct {
	PrimaryKey []string `json:"primaryKey"`
	Snapshots  []struct {
		Rows []json.RawMessage `json:"rows"`
	} `json:"snapshots"`
	Files []struct {
		File           string          `json:"file"`
		RowCount       int64           `json:"rowCount"`
		SchemaID       int             `json:"schemaId"`
		Level          int             `json:"level"`
		DeletionVector json.RawMessage `json:"deletionVector"`
		ValueStats     map[string]struct {
			Min, Max json.RawMessage
			Nulls    *int64
		} `json:"valueStats"`
	} `json:"files"`
}

type tableSchema struct {
	Fields      []rowdata.Field `json:"fields"`
	PrimaryKeys []string        `json:"primaryKeys"`
	Partitions  []string        `json:"partitionKeys"`
}

// parquetFiles returns all Parquet files below a folder of golden tables.
func parquetFiles(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") && !strings.HasPrefix(filepath.Base(path), "cc-") {
			files = append(files, path)
		}
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

// fileFields returns the columns of a data file: those of the newest schema of
// its table that the file has all columns of.
func fileFields(t *testing.T, path string, file []byte) []rowdata.Field {
	t.Helper()
	dir := filepath.Dir(path)
	for {
		if _, err := os.Stat(filepath.Join(dir, "schema")); err == nil {
			break
		}
		require.Greater(t, len(dir), len(goldenDir), "no schema above %s", path)
		dir = filepath.Dir(dir)
	}
	names := fileColumns(t, file)
	schemas, err := filepath.Glob(filepath.Join(dir, "schema", "schema-*"))
	require.NoError(t, err)
	branches, err := filepath.Glob(filepath.Join(dir, "branch", "*", "schema", "schema-*"))
	require.NoError(t, err)
	schemas = append(schemas, branches...)
	sort.Slice(schemas, func(i, j int) bool { return schemaNumber(schemas[i]) > schemaNumber(schemas[j]) })
	for _, path := range schemas {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		var s tableSchema
		require.NoError(t, json.Unmarshal(b, &s))
		fields := withSystemColumns(s, names)
		if len(fields) != len(names) {
			continue
		}
		if _, err := tryReadAll(file, fields, ReadOptions{}); err == nil && sameMembers(t, file, fields) {
			return fields
		}
	}
	require.Failf(t, "no schema fits", "%s has %v", path, names)
	return nil
}

func schemaNumber(path string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), "schema-"))
	return n
}

func fileColumns(t *testing.T, file []byte) map[string]bool {
	t.Helper()
	r := Reader{src: strings.NewReader(string(file)), size: int64(len(file))}
	_, err := r.readFooter()
	require.NoError(t, err)
	root, _, err := parseSchema(r.meta.schema)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, c := range root.children {
		names[c.elem.name] = true
	}
	return names
}

// withSystemColumns returns the fields of a schema that the file has, with the
// columns that only files have.
func withSystemColumns(s tableSchema, names map[string]bool) []rowdata.Field {
	bigint, tiny := &rowdata.Type{Root: rowdata.BigInt, NotNull: true}, &rowdata.Type{Root: rowdata.TinyInt, NotNull: true}
	var fields []rowdata.Field
	add := func(f rowdata.Field) {
		if names[f.Name] {
			fields = append(fields, f)
		}
	}
	for _, f := range s.Fields {
		add(rowdata.Field{ID: 1073741823 + f.ID, Name: "_KEY_" + f.Name, Type: f.Type})
	}
	add(rowdata.Field{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: bigint})
	add(rowdata.Field{ID: 2147483645, Name: "_VALUE_KIND", Type: tiny})
	add(rowdata.Field{ID: 2147483642, Name: "_ROW_ID", Type: bigint})
	for _, f := range s.Fields {
		add(f)
	}
	return fields
}

// sameMembers tells whether a file has just the nested members of the fields.
func sameMembers(t *testing.T, file []byte, fields []rowdata.Field) bool {
	t.Helper()
	r := Reader{src: strings.NewReader(string(file)), size: int64(len(file))}
	_, err := r.readFooter()
	require.NoError(t, err)
	_, leaves, err := parseSchema(r.meta.schema)
	require.NoError(t, err)
	var b schemaBuilder
	for i := range fields {
		_, err := b.field(&fields[i], 0, 0)
		require.NoError(t, err)
	}
	return len(b.leaves) == leaves
}

// TestGoldenFiles reads every file that Java and Flink wrote with this package
// and with parquet-go, and again after it has been written by this package.
func TestGoldenFiles(t *testing.T) {
	for _, path := range append(parquetFiles(t, goldenDir+"golden"), parquetFiles(t, goldenDir+"golden-flink")...) {
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		if skipLibrary(t, file) {
			continue // parquet-go does not read LZ4 as Hadoop frames it: TestGoldenAppendTables and others cover it
		}
		fields := fileFields(t, path, file)
		t.Run(strings.TrimPrefix(path, goldenDir), func(t *testing.T) {
			requireSameAsLibrary(t, file, fields)
			cols := readAll(t, file, fields, ReadOptions{})
			again, stats := writeAll(t, fields, cols, Options{PageRows: 7}, 10)
			requireRows(t, fields, cols, 0, readAll(t, again, fields, ReadOptions{BatchRows: 11}))
			requireStats(t, fields, cols, stats)
		})
	}
}

func skipLibrary(t *testing.T, file []byte) bool {
	t.Helper()
	r := Reader{src: strings.NewReader(string(file)), size: int64(len(file))}
	_, err := r.readFooter()
	require.NoError(t, err)
	return r.meta.rowGroups[0].columns[0].codec == codecLZ4
}

// TestGoldenRows compares the rows of append tables, and the statistics of all
// tables, with what Java found.
func TestGoldenRows(t *testing.T) {
	dirs, err := filepath.Glob(goldenDir + "golden/*/expected.json")
	require.NoError(t, err)
	tables := 0
	for _, path := range dirs {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		var table goldenTable
		require.NoError(t, json.Unmarshal(b, &table))
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var rows []string
			whole := len(table.PrimaryKey) == 0
			for _, f := range table.Files {
				whole = whole && f.DeletionVector == nil && strings.HasSuffix(f.File, ".parquet")
				if !strings.HasSuffix(f.File, ".parquet") {
					continue
				}
				file := findFile(t, dir, f.File)
				fields := fileFields(t, file.path, file.data)
				cols := readAll(t, file.data, fields, ReadOptions{BatchRows: 13})
				require.EqualValues(t, f.RowCount, cols[0].Len())
				for c := range fields {
					want, ok := f.ValueStats[fields[c].Name]
					if !ok || want.Nulls == nil {
						continue
					}
					require.EqualValues(t, *want.Nulls, cols[c].NullCount(), fields[c].Name)
					requireBounds(t, fields[c], cols[c], want.Min, want.Max)
				}
				if whole && fields[len(fields)-1].Name != "_ROW_ID" {
					batch := rowdata.NewBatch(&rowdata.RowType{Fields: fields}, 0)
					batch.Cols, batch.N = cols, cols[0].Len()
					for i := range batch.N {
						rows = append(rows, canonical(t, rowdata.AppendJSONArray(nil, batch, i)))
					}
				}
			}
			if !whole || len(rows) == 0 {
				return
			}
			tables++
			var want []string
			for _, r := range table.Snapshots[len(table.Snapshots)-1].Rows {
				want = append(want, canonical(t, r))
			}
			sort.Strings(rows)
			sort.Strings(want)
			require.Equal(t, want, rows)
		})
	}
	require.GreaterOrEqual(t, tables, 5)
}

type goldenFile struct {
	path string
	data []byte
}

func findFile(t *testing.T, dir, name string) goldenFile {
	t.Helper()
	for _, p := range parquetFiles(t, dir) {
		if filepath.Base(p) == name {
			b, err := os.ReadFile(p)
			require.NoError(t, err)
			return goldenFile{p, b}
		}
	}
	require.Failf(t, "no such file", "%s below %s", name, dir)
	return goldenFile{}
}

// requireBounds compares the minimum and maximum that Java keeps in a manifest.
// Those of strings may be cut.
func requireBounds(t *testing.T, f rowdata.Field, v *rowdata.Vector, min, max json.RawMessage) {
	t.Helper()
	if string(min) == "null" || min == nil || f.Type.IsString() || f.Type.IsBinary() {
		return
	}
	file, stats := writeAll(t, []rowdata.Field{f}, []*rowdata.Vector{v}, Options{}, 1000)
	require.NotEmpty(t, file)
	require.Equal(t, canonical(t, min), canonical(t, rowdata.AppendJSON(nil, stats[0].Min, 0)), f.Name)
	require.Equal(t, canonical(t, max), canonical(t, rowdata.AppendJSON(nil, stats[0].Max, 0)), f.Name)
}

// canonical returns JSON with keys sorted and numbers in one form.
func canonical(t *testing.T, b []byte) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var x any
	require.NoError(t, d.Decode(&x), string(b))
	out, err := json.Marshal(canonicalValue(x))
	require.NoError(t, err)
	return string(out)
}

func canonicalValue(x any) any {
	switch x := x.(type) {
	case json.Number:
		if i, ok := new(big.Int).SetString(x.String(), 10); ok {
			return i.String()
		}
		f, _ := strconv.ParseFloat(x.String(), 64)
		if f == float64(int64(f)) {
			return strconv.FormatInt(int64(f), 10)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	case []any:
		for i := range x {
			x[i] = canonicalValue(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = canonicalValue(x[k])
		}
	}
	return x
}
