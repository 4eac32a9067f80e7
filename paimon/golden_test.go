package paimon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/objstore"
	"sluice/objstore/local"
	"sluice/paimon/manifest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testdata = "../testdata"

// goldenStore is the folder of tables written by the original.
func goldenStore(t *testing.T) objstore.Store {
	t.Helper()
	root, err := filepath.Abs(testdata)
	require.NoError(t, err)
	return local.New(root, local.Options{NoSync: true})
}

// goldenTable is what expected.json tells of a table or a branch.
type goldenTable struct {
	SchemaID   int64
	Fields     []goldenField
	PrimaryKey []string
	Partition  []string
	BucketMode string
	Snapshots  []goldenSnapshot
	Tags       map[string]struct{ Snapshot int64 }
	Consumers  map[string]int64
	Statistics json.RawMessage
	Decoupled  []struct{ Snapshot, ID int64 } `json:"decoupledChangelogs"`
	Files      []goldenFile
	Branches   map[string]*goldenTable
}

type goldenField struct {
	ID          int
	Name        string
	Type        string // display form
	Description string `json:"comment"`
	Default     *string
}

type goldenSnapshot struct {
	ID                   int64
	Kind                 CommitKind
	SchemaID             int64
	User                 string
	Identifier           int64
	TotalRecordCount     *int64
	DeltaRecordCount     *int64
	ChangelogRecordCount *int64
}

type goldenFile struct {
	Index                string // type of an index file; "" for a data file
	Partition            string
	Bucket, TotalBuckets int32
	Level                int32
	File                 string
	Size, RowCount       int64
	MinSequence          int64
	MaxSequence          int64
	SchemaID             int64
	Source               string
}

func TestGoldenTables(t *testing.T) {
	store := goldenStore(t)
	dirs, err := filepath.Glob(testdata + "/golden/*/expected.json")
	require.NoError(t, err)
	require.Greater(t, len(dirs), 70)
	for _, d := range dirs {
		name := filepath.Base(filepath.Dir(d))
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(d)
			require.NoError(t, err)
			var want goldenTable
			require.NoError(t, json.Unmarshal(data, &want))
			table, err := Open(t.Context(), store, "golden/"+name+"/table", "")
			require.NoError(t, err)
			checkGolden(t, table, &want)
			names, err := table.Branches(t.Context())
			require.NoError(t, err)
			require.Equal(t, sortedKeys(want.Branches), orEmpty(names))
			for _, b := range names {
				branch, err := table.OpenBranch(t.Context(), b)
				require.NoError(t, err)
				require.Equal(t, table.Identity(), branch.Identity())
				checkGolden(t, branch, want.Branches[b])
			}
		})
	}
}

func checkGolden(t *testing.T, table *Table, want *goldenTable) {
	t.Helper()
	ctx := t.Context()
	s := table.Schema()
	require.Equal(t, want.SchemaID, s.ID)
	fields := make([]goldenField, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = goldenField{f.ID, f.Name, f.Type.String(), f.Description, f.Default}
	}
	require.Equal(t, want.Fields, fields)
	require.Equal(t, want.PrimaryKey, orEmpty(s.PrimaryKeys))
	require.Equal(t, want.Partition, orEmpty(s.PartitionKeys))
	require.Equal(t, want.BucketMode, s.BucketMode().String())
	checkGoldenSchemaFiles(t, table)

	ids, err := table.SnapshotIDs(ctx)
	require.NoError(t, err)
	require.Len(t, ids, len(want.Snapshots))
	for i, w := range want.Snapshots {
		require.Equal(t, w.ID, ids[i])
		sn, err := table.Snapshot(ctx, w.ID)
		require.NoError(t, err)
		require.Equal(t, w, goldenSnapshot{sn.ID, sn.CommitKind, sn.SchemaID, sn.CommitUser, sn.CommitIdentifier, sn.TotalRecordCount, sn.DeltaRecordCount, sn.ChangelogRecordCount})
		checkSnapshotFile(t, table, sn)
		checkRecordCounts(t, table, sn)
	}
	checkGoldenEnds(t, table, ids)

	tags, err := table.Tags(ctx)
	require.NoError(t, err)
	got := map[string]int64{}
	for _, tag := range tags {
		got[tag.Name] = tag.Snapshot.ID
		data, err := tag.Marshal()
		require.NoError(t, err)
		requireSameFile(t, table, table.TagPath(tag.Name), data)
	}
	require.Len(t, got, len(want.Tags))
	for name, w := range want.Tags {
		require.Equal(t, w.Snapshot, got[name])
	}
	consumers, err := table.Consumers(ctx)
	require.NoError(t, err)
	require.Len(t, consumers, len(want.Consumers))
	for _, c := range consumers {
		require.Equal(t, want.Consumers[c.ID], c.NextSnapshot)
	}
	if want.Files == nil {
		return
	}
	latest, err := table.LatestSnapshot(ctx)
	require.NoError(t, err)
	require.ElementsMatch(t, want.Files, liveFiles(t, table, latest, Filter{}))
	st, err := table.Statistics(ctx, latest)
	require.NoError(t, err)
	if want.Statistics == nil {
		require.Nil(t, st)
		return
	}
	text, err := st.Marshal()
	require.NoError(t, err)
	require.JSONEq(t, string(want.Statistics), string(text))
}

func orEmpty(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// checkGoldenEnds: the hints and the listing agree.
func checkGoldenEnds(t *testing.T, table *Table, ids []int64) {
	t.Helper()
	latest, lerr := table.LatestID(t.Context())
	earliest, eerr := table.EarliestID(t.Context())
	if len(ids) == 0 {
		require.ErrorIs(t, lerr, ErrNoSnapshot)
		require.ErrorIs(t, eerr, ErrNoSnapshot)
		return
	}
	require.NoError(t, lerr)
	require.NoError(t, eerr)
	require.Equal(t, ids[len(ids)-1], latest)
	require.Equal(t, ids[0], earliest)
}

// checkGoldenSchemaFiles: every schema file is what we would write, but for the
// order of options.
func checkGoldenSchemaFiles(t *testing.T, table *Table) {
	t.Helper()
	ids, err := table.SchemaIDs(t.Context())
	require.NoError(t, err)
	for i, id := range ids {
		require.EqualValues(t, i, id)
		s, err := table.SchemaByID(t.Context(), id)
		require.NoError(t, err)
		data, err := s.Marshal()
		require.NoError(t, err)
		file, err := objstore.ReadAll(t.Context(), table.Store, table.SchemaPath(id))
		require.NoError(t, err)
		require.JSONEq(t, string(file), string(data))
		require.Equal(t, sortedLines(file), sortedLines(data), "the layout is the same")
		require.NoError(t, s.Validate(), "what the original accepted")
	}
}

// sortedLines ignores the order of lines and the commas at their ends.
func sortedLines(b []byte) []string {
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], ",")
	}
	slices.Sort(lines)
	return lines
}

// checkSnapshotFile: the file is byte for byte what we would write.
func checkSnapshotFile(t *testing.T, table *Table, s *Snapshot) {
	t.Helper()
	data, err := s.Marshal()
	require.NoError(t, err)
	requireSameFile(t, table, table.SnapshotPath(s.ID), data)
}

func requireSameFile(t *testing.T, table *Table, name string, data []byte) {
	t.Helper()
	file, err := objstore.ReadAll(t.Context(), table.Store, name)
	require.NoError(t, err)
	require.Equal(t, string(file), string(data))
}

// checkRecordCounts: the manifests of a snapshot have the rows that it counts.
func checkRecordCounts(t *testing.T, table *Table, s *Snapshot) {
	t.Helper()
	live, err := table.LiveEntries(t.Context(), s, Filter{})
	require.NoError(t, err)
	var total, delta, changelog int64
	for i := range live {
		total += live[i].File.RowCount
	}
	require.Equal(t, *s.TotalRecordCount, total)
	entries, err := table.DeltaEntries(t.Context(), s)
	require.NoError(t, err)
	for i := range entries {
		if entries[i].Kind == manifest.Add {
			delta += entries[i].File.RowCount
		} else {
			delta -= entries[i].File.RowCount
		}
	}
	require.Equal(t, *s.DeltaRecordCount, delta)
	entries, err = table.ChangelogEntries(t.Context(), s)
	require.NoError(t, err)
	for i := range entries {
		changelog += entries[i].File.RowCount
	}
	if s.ChangelogRecordCount != nil {
		require.Equal(t, *s.ChangelogRecordCount, changelog)
	} else {
		require.Zero(t, changelog)
	}
}

// liveFiles lists the files of a snapshot as expected.json does and checks that
// each is where its path says.
func liveFiles(t *testing.T, table *Table, s *Snapshot, filter Filter) []goldenFile {
	t.Helper()
	live, err := table.LiveEntries(t.Context(), s, filter)
	require.NoError(t, err)
	files := make([]goldenFile, 0, len(live))
	for i := range live {
		e := &live[i]
		files = append(files, goldenFile{
			Partition: goldenPartition(table, e.Partition), Bucket: e.Bucket, TotalBuckets: e.TotalBuckets, Level: e.File.Level,
			File: e.File.FileName, Size: e.File.FileSize, RowCount: e.File.RowCount, MinSequence: e.File.MinSeq, MaxSequence: e.File.MaxSeq,
			SchemaID: e.File.SchemaID, Source: e.File.Source.String(),
		})
		info, err := table.Store.Stat(t.Context(), table.DataFilePath(e))
		require.NoError(t, err)
		require.Equal(t, e.File.FileSize, info.Size)
		for _, x := range e.File.ExtraFiles {
			_, err := table.Store.Stat(t.Context(), table.SidecarPath(e, x))
			require.NoError(t, err)
		}
	}
	index, err := table.IndexEntries(t.Context(), s)
	require.NoError(t, err)
	for i := range index {
		info, err := table.Store.Stat(t.Context(), table.IndexPath(&index[i]))
		require.NoError(t, err)
		require.Equal(t, index[i].FileSize, info.Size)
		files = append(files, goldenFile{
			Index: index[i].Type, Partition: goldenPartition(table, index[i].Partition), Bucket: index[i].Bucket,
			File: index[i].FileName, Size: index[i].FileSize, RowCount: index[i].RowCount,
		})
	}
	return files
}

func goldenPartition(table *Table, row []byte) string {
	return strings.TrimSuffix(table.PartitionText(row), "/")
}

func TestGoldenDecoupledChangelogs(t *testing.T) {
	for _, path := range []string{"golden/expired-decoupled/table", "golden-flink/changelog_decoupled/default.db/changelog_decoupled"} {
		table, err := Open(t.Context(), goldenStore(t), path, "")
		require.NoError(t, err)
		ids, err := table.ChangelogIDs(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, ids)
		earliest, err := table.EarliestChangelogID(t.Context())
		require.NoError(t, err)
		require.Equal(t, ids[0], earliest)
		latest, err := table.LatestChangelogID(t.Context())
		require.NoError(t, err)
		require.Equal(t, ids[len(ids)-1], latest)
		for _, id := range ids {
			_, err := table.Snapshot(t.Context(), id)
			require.ErrorIs(t, err, ErrSnapshotNotFound)
			s, long, err := table.SnapshotOrChangelog(t.Context(), id)
			require.NoError(t, err)
			require.True(t, long)
			require.Equal(t, id, s.ID)
			entries, err := table.ChangelogEntries(t.Context(), s)
			require.NoError(t, err)
			for i := range entries {
				_, err := table.Store.Stat(t.Context(), table.DataFilePath(&entries[i]))
				require.NoError(t, err)
			}
		}
		decoupled, err := table.Options().ChangelogDecoupled()
		require.NoError(t, err)
		require.True(t, decoupled)
	}
}

func TestGoldenFlinkTables(t *testing.T) {
	store := goldenStore(t)
	dirs, err := filepath.Glob(testdata + "/golden-flink/*/expected.json")
	require.NoError(t, err)
	require.Greater(t, len(dirs), 10)
	for _, d := range dirs {
		name := filepath.Base(filepath.Dir(d))
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(d)
			require.NoError(t, err)
			var want struct {
				Snapshots []struct {
					ID         int64      `json:"snapshot_id"`
					SchemaID   int64      `json:"schema_id"`
					User       string     `json:"commit_user"`
					Identifier int64      `json:"commit_identifier"`
					Kind       CommitKind `json:"commit_kind"`
					Base       string     `json:"base_manifest_list"`
					Delta      string     `json:"delta_manifest_list"`
					Changelog  *string    `json:"changelog_manifest_list"`
					Watermark  *int64
				}
				Files []struct {
					Bucket      int32
					FilePath    string `json:"file_path"`
					Level       int32
					RecordCount int64 `json:"record_count"`
				}
			}
			require.NoError(t, json.Unmarshal(data, &want))
			catalog := NewCatalog(store, "golden-flink/"+name)
			dbs, err := catalog.ListDatabases(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"default"}, dbs)
			tables, err := catalog.ListTables(t.Context(), "default")
			require.NoError(t, err)
			require.Equal(t, []string{name}, tables)
			table, err := catalog.OpenTable(t.Context(), "default."+name)
			require.NoError(t, err)
			checkGoldenSchemaFiles(t, table)
			ids, err := table.SnapshotIDs(t.Context())
			require.NoError(t, err)
			require.Len(t, ids, len(want.Snapshots))
			for i, w := range want.Snapshots {
				s, err := table.Snapshot(t.Context(), ids[i])
				require.NoError(t, err)
				require.Equal(t, w.ID, s.ID)
				require.Equal(t, w.SchemaID, s.SchemaID)
				require.Equal(t, w.User, s.CommitUser)
				require.Equal(t, w.Identifier, s.CommitIdentifier)
				require.Equal(t, w.Kind, s.CommitKind)
				require.Equal(t, w.Base, s.BaseManifestList)
				require.Equal(t, w.Delta, s.DeltaManifestList)
				require.Equal(t, w.Changelog, s.ChangelogManifestList)
				require.Equal(t, w.Watermark, s.Watermark)
				checkRecordCounts(t, table, s)
			}
			checkGoldenEnds(t, table, ids)
			latest, err := table.LatestSnapshot(t.Context())
			require.NoError(t, err)
			var got, files []string
			for _, f := range liveFiles(t, table, latest, Filter{}) {
				if f.Index != "" {
					continue
				}
				dir := f.Partition
				if dir != "" {
					dir += "/"
				}
				got = append(got, fmt.Sprintf("%s%s/%s level %d rows %d", dir, BucketName(int(f.Bucket)), f.File, f.Level, f.RowCount))
			}
			for _, f := range want.Files {
				files = append(files, fmt.Sprintf("%s level %d rows %d", f.FilePath, f.Level, f.RecordCount))
			}
			require.ElementsMatch(t, files, got)
		})
	}
}
