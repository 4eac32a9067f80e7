//go:build interop

package paimonjava

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// TestAuditFinds breaks copies of a sound table in all the ways that the other
// tests trust the audit to find.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	f := ours(t, paimon.SchemaSpec{
		Schema: paimon.ColumnsSpec{
			Fields: []string{"k INT NOT NULL", "p STRING NOT NULL", "d DECIMAL(30,2)", "v STRING", "n INT"}, PK: []string{"p", "k"}, Partition: []string{"p"},
		},
		Options: map[string]string{"bucket": "2", "changelog-producer": "input"},
	})
	row := func(kind string, k int) change {
		return change{kind, []any{k, []string{"a", "b"}[k%2], "-1.50", strings.Repeat("x", k), k}}
	}
	for from := range 3 {
		var rows []change
		for k := range 20 {
			rows = append(rows, row("+U", from*5+k))
		}
		f.write(append(rows, row("-D", from*5+3))...)
	}
	f.verify()

	entries := func(change func([]manifest.Entry) []manifest.Entry) func(*table) {
		return func(f *table) { f.rewrite(change, nil, nil) }
	}
	first := func(change func(*manifest.Entry)) func(*table) {
		return entries(func(e []manifest.Entry) []manifest.Entry {
			change(&e[0])
			return e
		})
	}
	list := func(change func(*manifest.Meta)) func(*table) {
		return func(f *table) { f.rewrite(nil, change, nil) }
	}
	snapshot := func(change func(*paimon.Snapshot)) func(*table) {
		return func(f *table) { f.rewrite(nil, nil, change) }
	}
	for _, c := range []struct {
		name   string
		damage func(f *table)
		want   string
	}{
		{"data file missing", func(f *table) { require.NoError(f, os.Remove(f.anyFile("data-*.parquet"))) }, "is missing"},
		{"changelog file missing", func(f *table) { require.NoError(f, os.Remove(f.anyFile("changelog-*.parquet"))) }, "is missing"},
		{"data file longer", func(f *table) { f.edit("data-*.parquet", func(b []byte) []byte { return append(b, 0) }) }, "bytes, stated"},
		{"data file damaged", func(f *table) { f.edit("data-*.parquet", scramble) }, "cannot be read"},
		{"manifest damaged", func(f *table) { f.edit("manifest-????????-*", scramble) }, "cannot be read"},
		{"row count", first(func(e *manifest.Entry) { e.File.RowCount++ }), "rowCount"},
		{"delete count", first(func(e *manifest.Entry) { *e.File.DeleteRowCount = 7 }), "deleteRowCount"},
		{"sequence", first(func(e *manifest.Entry) { e.File.MaxSeq++ }), "sequence"},
		{"key", first(func(e *manifest.Entry) { e.File.MaxKey = rowOf(f, "k", 1000) }), "maxKey"},
		{"least value", first(func(e *manifest.Entry) { e.File.ValueStats.Min = replaceStat(f, e.File.ValueStats.Min, "d", "-1.49") }), "value statistics of d: min"},
		{"greatest value", first(func(e *manifest.Entry) { e.File.ValueStats.Max = replaceStat(f, e.File.ValueStats.Max, "d", "-1.51") }), "value statistics of d: max"},
		{"greatest text", first(func(e *manifest.Entry) { e.File.ValueStats.Max = replaceStat(f, e.File.ValueStats.Max, "v", "x") }), "value statistics of v: max"},
		{"NULL count", first(func(e *manifest.Entry) { e.File.ValueStats.NullCounts[2] = 1 }), "value statistics of d: 1 nulls"},
		{"key statistics", first(func(e *manifest.Entry) { e.File.KeyStats.Min = rowOf(f, "k", -5) }), "key statistics of k: min"},
		{"level", first(func(e *manifest.Entry) { e.File.Level = 9 }), "is on level 9"},
		{"levels overlap", func(f *table) {
			f.rewrite(func(e []manifest.Entry) []manifest.Entry {
				e[0].File.Level = 1
				other := e[0]
				other.File.FileName = "other.parquet"
				path := f.anyFile(e[0].File.FileName)
				b, err := os.ReadFile(path)
				require.NoError(f, err)
				require.NoError(f, os.WriteFile(filepath.Join(filepath.Dir(path), "other.parquet"), b, 0o600))
				return append(e, other)
			}, nil, nil)
		}, "overlap"},
		{"a file twice", entries(func(e []manifest.Entry) []manifest.Entry { return append(e, e[0]) }), "added twice"},
		{"count of files", list(func(m *manifest.Meta) { m.NumAdded++ }), "numAddedFiles"},
		{"bounds of buckets", list(func(m *manifest.Meta) { *m.MaxBucket = 5 }), "bucket bounds"},
		{"bounds of partitions", list(func(m *manifest.Meta) { m.PartitionStats.Min = rowOf(f, "p", "b") }), "partition statistics of p"},
		{"total rows", snapshot(func(s *paimon.Snapshot) { *s.TotalRecordCount++ }), "totalRecordCount"},
		{"rows of the delta", snapshot(func(s *paimon.Snapshot) { *s.DeltaRecordCount-- }), "deltaRecordCount"},
		{"rows of the changelog", snapshot(func(s *paimon.Snapshot) { *s.ChangelogRecordCount++ }), "changelogRecordCount"},
		{"no changelog", snapshot(func(s *paimon.Snapshot) { s.ChangelogManifestList, s.ChangelogRecordCount = nil, nil }), "changelog folds to"},
		{"size of a list", snapshot(func(s *paimon.Snapshot) { *s.DeltaManifestListSize++ }), "bytes, stated"},
		{"number of a snapshot", snapshot(func(s *paimon.Snapshot) { s.ID = 9 }), "has id 9"},
		{"schema of a snapshot", snapshot(func(s *paimon.Snapshot) { s.SchemaID = 4 }), "schema-4 is missing"},
		{"hint", func(f *table) { f.edit("LATEST", func([]byte) []byte { return []byte("17") }) }, "names snapshot 17"},
		{"gap of snapshots", func(f *table) { require.NoError(f, os.Remove(filepath.Join(f.dir, "snapshot", "snapshot-2"))) }, "follows snapshot-1"},
		{"highest field id", func(f *table) {
			f.edit("schema-0", func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"highestFieldId" : 4`), []byte(`"highestFieldId" : 3`), 1)
			})
		}, "highestFieldId 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := newFolder(t)
			require.NoError(t, os.CopyFS(broken.dir, os.DirFS(f.dir)))
			c.damage(broken)
			problems := broken.problems()
			require.Contains(t, strings.Join(problems, "\n"), c.want)
		})
	}
}

func scramble(b []byte) []byte {
	for i := len(b) / 4; i < len(b)*3/4; i++ {
		b[i] ^= 0x55
	}
	return b
}

// anyFile returns a file of the table that matches a pattern.
func (f *table) anyFile(pattern string) string {
	f.Helper()
	found := ""
	require.NoError(f, filepath.WalkDir(f.dir, func(path string, d os.DirEntry, err error) error {
		if ok, _ := filepath.Match(pattern, filepath.Base(path)); ok && found == "" {
			found = path
		}
		return err
	}))
	require.NotEmpty(f, found, pattern)
	return found
}

// edit changes the content of a file.
func (f *table) edit(pattern string, change func([]byte) []byte) {
	f.Helper()
	path := f.anyFile(pattern)
	b, err := os.ReadFile(path)
	require.NoError(f, err)
	edited := change(bytes.Clone(b))
	require.NotEqual(f, b, edited)
	require.NoError(f, os.WriteFile(path, edited, 0o600))
}

// rewrite changes what the newest snapshot adds: entries, the manifest that has
// them, or the snapshot itself. All else is made to fit.
func (f *table) rewrite(change func([]manifest.Entry) []manifest.Entry, meta func(*manifest.Meta), snapshot func(*paimon.Snapshot)) {
	f.Helper()
	ctx, t := f.Context(), f.open("")
	s, err := t.LatestSnapshot(ctx)
	require.NoError(f, err)
	id := s.ID
	cached, err := t.ManifestList(ctx, s.DeltaManifestList)
	require.NoError(f, err)
	require.Len(f, cached, 1)
	metas := []manifest.Meta{cached[0]}
	if change != nil {
		entries, err := t.DeltaEntries(ctx, s)
		require.NoError(f, err)
		entries = change(slices.Clone(entries))
		data, err := manifest.EncodeEntries(entries, manifest.Options{})
		require.NoError(f, err)
		require.NoError(f, t.Store.Put(ctx, t.ManifestPath(metas[0].FileName), data))
		metas[0], err = manifest.Summarize(metas[0].FileName, int64(len(data)), entries, t.Schema().PartitionTypes())
		require.NoError(f, err)
	}
	if meta != nil {
		meta(&metas[0])
	}
	data, err := manifest.EncodeList(metas, manifest.Options{})
	require.NoError(f, err)
	require.NoError(f, t.Store.Put(ctx, t.ManifestPath(s.DeltaManifestList), data))
	size := int64(len(data))
	s.DeltaManifestListSize = &size
	if snapshot != nil {
		snapshot(s)
	}
	text, err := s.Marshal()
	require.NoError(f, err)
	require.NoError(f, t.Store.Put(ctx, t.SnapshotPath(id), text))
}

// rowOf is a row in manifest form of one column of the table.
func rowOf(f *table, column string, value any) []byte {
	f.Helper()
	s := f.open("").Schema()
	v := rowdata.NewVector(s.Fields[s.Index(column)].Type, 1)
	require.NoError(f, rowdata.AppendFromJSON(v, value))
	return rowdata.AppendManifestRow(nil, []*rowdata.Vector{v}, 0)
}

// replaceStat returns a row of bounds of all columns with another value of one.
func replaceStat(f *table, row []byte, column string, value any) []byte {
	f.Helper()
	s := f.open("").Schema()
	cols := make([]*rowdata.Vector, len(s.Fields))
	for i, field := range s.Fields {
		cols[i] = rowdata.NewVector(field.Type.Nullable(), 1)
	}
	require.NoError(f, rowdata.DecodeManifestRow(row, cols))
	at := s.Index(column)
	cols[at].Reset()
	require.NoError(f, rowdata.AppendFromJSON(cols[at], value))
	return rowdata.AppendManifestRow(nil, cols, 0)
}
