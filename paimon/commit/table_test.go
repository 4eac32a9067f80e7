package commit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// fixture is a table to commit to.
type fixture struct {
	t     *testing.T
	store objstore.Store
	table *paimon.Table
	files int
}

func spec(options map[string]string) paimon.SchemaSpec {
	return paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v STRING"}, PK: []string{"k"}},
		Options: withBuckets(options),
	}
}

func partitionedSpec(options map[string]string) paimon.SchemaSpec {
	return paimon.SchemaSpec{Schema: paimon.ColumnsSpec{
		Fields: []string{"k INT NOT NULL", "p STRING NOT NULL", "v STRING"}, PK: []string{"k", "p"},
		Partition: []string{"p"},
	}, Options: withBuckets(options)}
}

func appendSpec(options map[string]string) paimon.SchemaSpec {
	o := maps.Clone(options)
	if o == nil {
		o = map[string]string{}
	}
	if o["bucket"] == "" {
		o["bucket"] = "-1"
	}
	return paimon.SchemaSpec{Schema: paimon.ColumnsSpec{Fields: []string{"k INT", "v STRING"}}, Options: o}
}

func withBuckets(options map[string]string) map[string]string {
	o := maps.Clone(options)
	if o == nil {
		o = map[string]string{}
	}
	if o["bucket"] == "" {
		o["bucket"] = "1"
	}
	return o
}

func newFixture(t *testing.T, s paimon.SchemaSpec) *fixture {
	t.Helper()
	return newFixtureOn(t, memstore.New(memstore.Options{}), s)
}

func newFixtureOn(t *testing.T, store objstore.Store, s paimon.SchemaSpec) *fixture {
	t.Helper()
	catalog := paimon.NewCatalog(store, "wh")
	require.NoError(t, catalog.CreateDatabase(t.Context(), "db"))
	table, err := catalog.CreateTable(t.Context(), "db.t", s)
	require.NoError(t, err)
	return &fixture{t: t, store: store, table: table}
}

// reopen returns the table as another process sees it through a store.
func (f *fixture) reopen(store objstore.Store) *paimon.Table {
	f.t.Helper()
	table, err := paimon.Open(f.t.Context(), store, f.table.Path, f.table.Branch)
	require.NoError(f.t, err)
	return table
}

// quick are options without waiting.
func quick() Options {
	return Options{
		Wait:   func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Jitter: func(time.Duration) time.Duration { return 0 },
	}
}

func intRow(n int32) []byte {
	v := rowdata.NewVector(&rowdata.Type{Root: rowdata.Int}, 1)
	v.AppendI32(n)
	return rowdata.AppendManifestRow(nil, []*rowdata.Vector{v}, 0)
}

func stringRow(s string) []byte {
	v := rowdata.NewVector(&rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}, 1)
	v.AppendString(s)
	return rowdata.AppendManifestRow(nil, []*rowdata.Vector{v}, 0)
}

// dataFile returns the description of a file with a fresh name.
func (f *fixture) dataFile(rows int64) manifest.DataFile {
	f.files++
	return namedFile(fmt.Sprintf("data-%d.parquet", f.files), rows)
}

func namedFile(name string, rows int64) manifest.DataFile {
	source, deletes := manifest.SourceAppend, int64(0)
	return manifest.DataFile{
		FileName: name, FileSize: 100 * rows, RowCount: rows, MinKey: intRow(1), MaxKey: intRow(9), MaxSeq: rows,
		DeleteRowCount: &deletes, Source: &source, HasCreationTime: true,
	}
}

func withLevel(f manifest.DataFile, level int32) manifest.DataFile {
	f.Level = level
	return f
}

func withKeys(f manifest.DataFile, from, to int32) manifest.DataFile {
	f.MinKey, f.MaxKey = intRow(from), intRow(to)
	return f
}

func (f *fixture) commit(c *Committer, req Request) *Result {
	f.t.Helper()
	if req.User == "" {
		req.User = "user"
	}
	result, err := c.Commit(f.t.Context(), req)
	require.NoError(f.t, err)
	return result
}

// live returns the live files of the newest snapshot as "partition/bucket/level
// name", read by a reader that knows nothing.
func (f *fixture) live() []string {
	f.t.Helper()
	table := f.reopen(f.store)
	s, err := table.LatestSnapshot(f.t.Context())
	require.NoError(f.t, err)
	return liveOf(f.t, table, s)
}

func liveOf(t testing.TB, table *paimon.Table, s *paimon.Snapshot) []string {
	t.Helper()
	entries, err := table.LiveEntries(t.Context(), s, paimon.Filter{})
	require.NoError(t, err)
	list := []string{}
	for i := range entries {
		e := &entries[i]
		list = append(list, fmt.Sprintf("%s%d/%d %s", table.PartitionText(e.Partition), e.Bucket, e.File.Level, e.File.FileName))
	}
	slices.Sort(list)
	return list
}

// checkTable reads every snapshot completely and compares its numbers with its
// files: no snapshot names a file that is missing.
func checkTable(t testing.TB, store objstore.Store, path string) []*paimon.Snapshot {
	t.Helper()
	ctx := t.Context()
	table, err := paimon.OpenWith(ctx, store, path, "", paimon.OpenOptions{ManifestCacheBytes: -1})
	require.NoError(t, err)
	ids, err := table.SnapshotIDs(ctx)
	require.NoError(t, err)
	var snapshots []*paimon.Snapshot
	total, before := int64(0), map[string]bool{}
	for i, id := range ids {
		require.EqualValues(t, i+1, id, "ids are contiguous")
		s, err := table.Snapshot(ctx, id)
		require.NoError(t, err)
		snapshots = append(snapshots, s)
		live := map[string]bool{}
		for _, f := range liveOf(t, table, s) {
			require.False(t, live[f], "%s is live twice in snapshot %d", f, id)
			live[f] = true
		}
		delta, err := table.DeltaEntries(ctx, s)
		require.NoError(t, err)
		rows := int64(0)
		after := maps.Clone(before)
		for j := range delta {
			e := &delta[j]
			name := fmt.Sprintf("%s%d/%d %s", table.PartitionText(e.Partition), e.Bucket, e.File.Level, e.File.FileName)
			if e.Kind == manifest.Add {
				rows += e.File.RowCount
				require.False(t, after[name])
				after[name] = true
			} else {
				rows -= e.File.RowCount
				require.True(t, after[name])
				delete(after, name)
			}
		}
		require.Equal(t, after, live, "snapshot %d is the one before and its delta", id)
		before = after
		total += rows
		require.Equal(t, rows, *s.DeltaRecordCount)
		require.Equal(t, total, *s.TotalRecordCount)
		changelog, err := table.ChangelogEntries(ctx, s)
		require.NoError(t, err)
		require.Equal(t, len(changelog) > 0, s.HasChangelog())
		_, err = table.IndexEntries(ctx, s)
		require.NoError(t, err)
		for name, size := range map[string]*int64{s.BaseManifestList: s.BaseManifestListSize, s.DeltaManifestList: s.DeltaManifestListSize} {
			info, err := store.Stat(ctx, table.ManifestPath(name))
			require.NoError(t, err)
			require.Equal(t, info.Size, *size)
			metas, err := table.ManifestList(ctx, name)
			require.NoError(t, err)
			for _, m := range metas {
				info, err := store.Stat(ctx, table.ManifestPath(m.FileName))
				require.NoError(t, err)
				require.Equal(t, info.Size, m.FileSize)
			}
		}
	}
	return snapshots
}

// metadataFiles returns the names in the manifest folder, and which of them are
// reached from a snapshot.
func metadataFiles(t testing.TB, store objstore.Store, path string) (all, used []string) {
	t.Helper()
	ctx := t.Context()
	table, err := paimon.OpenWith(ctx, store, path, "", paimon.OpenOptions{ManifestCacheBytes: -1})
	require.NoError(t, err)
	objects, _, err := store.ListDir(ctx, path+"/manifest")
	require.NoError(t, err)
	for _, o := range objects {
		_, base := objstore.SplitName(o.Name)
		all = append(all, base)
	}
	ids, err := table.SnapshotIDs(ctx)
	require.NoError(t, err)
	reached := map[string]bool{}
	for _, id := range ids {
		s, err := table.Snapshot(ctx, id)
		require.NoError(t, err)
		lists := []string{s.BaseManifestList, s.DeltaManifestList}
		if s.HasChangelog() {
			lists = append(lists, *s.ChangelogManifestList)
		}
		if s.IndexManifest != nil {
			reached[*s.IndexManifest] = true
		}
		for _, list := range lists {
			reached[list] = true
			metas, err := table.ManifestList(ctx, list)
			require.NoError(t, err)
			for _, m := range metas {
				reached[m.FileName] = true
			}
		}
	}
	return all, slices.Sorted(maps.Keys(reached))
}

func kinds(snapshots []*paimon.Snapshot) string {
	var list []string
	for _, s := range snapshots {
		list = append(list, fmt.Sprintf("%d %s", s.ID, s.CommitKind))
	}
	return strings.Join(list, ", ")
}
