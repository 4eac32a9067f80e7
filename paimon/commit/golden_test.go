package commit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// goldenTables returns the folders of tables that Java wrote, with all of their
// snapshots.
func goldenTables(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../testdata/golden/*/table/snapshot/snapshot-1")
	require.NoError(t, err)
	var tables []string
	for _, f := range found {
		if table := filepath.Dir(filepath.Dir(f)); !strings.Contains(table, "rollback") { // snapshots are missing in between
			tables = append(tables, table)
		}
	}
	require.Greater(t, len(tables), 60)
	return tables
}

// replay commits to the table in root/t what each
// snapshot of another table did, and returns both.
func replay(t *testing.T, golden, root string, o Options) (source, copied *paimon.Table) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, os.CopyFS(filepath.Join(root, "t"), os.DirFS(golden)))
	for _, dir := range []string{"snapshot", "manifest", "tag", "branch", "consumer", "changelog"} {
		require.NoError(t, os.RemoveAll(filepath.Join(root, "t", dir)))
	}
	source, err := paimon.Open(ctx, local.New(filepath.Dir(golden), local.Options{NoSync: true}), filepath.Base(golden), "")
	require.NoError(t, err)
	copied, err = paimon.Open(ctx, local.New(root, local.Options{NoSync: true}), "t", "")
	require.NoError(t, err)
	c := New(copied, o)
	last, err := source.LatestID(ctx)
	require.NoError(t, err)
	var before []manifest.IndexEntry
	for id := int64(1); id <= last; id++ {
		s, err := source.Snapshot(ctx, id)
		require.NoError(t, err)
		var messages []Message
		messages, before = messagesOf(t, source, s, before)
		req := Request{
			User: s.CommitUser, Identifier: id, Messages: messages, Watermark: s.Watermark, Properties: s.Properties,
			IgnoreEmpty: s.CommitKind == paimon.CommitCompact,
		}
		want := 1
		if id < last && s.CommitKind == paimon.CommitAppend { // both parts of one commit at once
			next, err := source.Snapshot(ctx, id+1)
			require.NoError(t, err)
			if next.CommitKind == paimon.CommitCompact {
				messages, before = messagesOf(t, source, next, before)
				req.Messages = append(req.Messages, messages...)
				id++
				want++
			}
		}
		result, err := c.Commit(ctx, req)
		require.NoError(t, err, "snapshot %d of %s", id, golden)
		require.Len(t, result.Snapshots, want)
	}
	return source, copied
}

// messagesOf turns a snapshot back into the messages it was made of.
func messagesOf(t *testing.T, table *paimon.Table, s *paimon.Snapshot, indexBefore []manifest.IndexEntry) ([]Message, []manifest.IndexEntry) {
	t.Helper()
	ctx := t.Context()
	delta, err := table.DeltaEntries(ctx, s)
	require.NoError(t, err)
	changelog, err := table.ChangelogEntries(ctx, s)
	require.NoError(t, err)
	index, err := table.IndexEntries(ctx, s)
	require.NoError(t, err)
	compact := s.CommitKind == paimon.CommitCompact
	var messages []Message
	add := func(e *manifest.Entry, to func(*Message) *[]manifest.DataFile) {
		e.File.FirstRowID = nil // given by the commit
		m := Message{Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets}
		*to(&m) = []manifest.DataFile{e.File}
		messages = append(messages, m)
	}
	for i := range delta {
		e := new(delta[i])
		add(e, func(m *Message) *[]manifest.DataFile {
			switch {
			case compact && e.Kind == manifest.Delete:
				return &m.CompactBefore
			case compact:
				return &m.CompactAfter
			case e.Kind == manifest.Delete:
				return &m.DeletedFiles
			}
			return &m.NewFiles
		})
	}
	for i := range changelog {
		add(new(changelog[i]), func(m *Message) *[]manifest.DataFile {
			if compact {
				return &m.CompactChangelog
			}
			return &m.Changelog
		})
	}
	var m Message
	newIndex, deletedIndex := &m.NewIndex, &m.DeletedIndex
	if compact {
		newIndex, deletedIndex = &m.CompactNewIndex, &m.CompactDeletedIndex
	}
	is := func(e manifest.IndexEntry) func(manifest.IndexEntry) bool {
		return func(o manifest.IndexEntry) bool { return o.FileName == e.FileName }
	}
	for _, e := range index {
		if !slices.ContainsFunc(indexBefore, is(e)) {
			*newIndex = append(*newIndex, e)
		}
	}
	for _, e := range indexBefore {
		if !slices.ContainsFunc(index, is(e)) {
			*deletedIndex = append(*deletedIndex, e)
		}
	}
	return append(messages, m), index
}

// TestReplayOfGoldenTables commits again what Java committed and compares every
// snapshot with that of Java.
func TestReplayOfGoldenTables(t *testing.T) {
	compared := 0
	for _, golden := range goldenTables(t) {
		t.Run(filepath.Base(filepath.Dir(golden)), func(t *testing.T) {
			source, copied := replay(t, golden, t.TempDir(), quick())
			last, err := source.LatestID(t.Context())
			require.NoError(t, err)
			for id := int64(1); id <= last; id++ {
				want, err := source.Snapshot(t.Context(), id)
				require.NoError(t, err)
				got, err := copied.Snapshot(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, liveOf(t, source, want), liveOf(t, copied, got), "live files of snapshot %d", id)
				if want.CommitKind == paimon.CommitAnalyze {
					continue
				}
				require.Equal(t, want.CommitKind, got.CommitKind, id)
				require.Equal(t, want.TotalRecordCount, got.TotalRecordCount, id)
				require.Equal(t, want.DeltaRecordCount, got.DeltaRecordCount, id)
				require.Equal(t, want.ChangelogRecordCount, got.ChangelogRecordCount, id)
				require.Equal(t, want.NextRowID, got.NextRowID, id)
				wantIndex, err := source.IndexEntries(t.Context(), want)
				require.NoError(t, err)
				gotIndex, err := copied.IndexEntries(t.Context(), got)
				require.NoError(t, err)
				require.ElementsMatch(t, wantIndex, gotIndex, id)
				compared++
			}
		})
	}
	require.Greater(t, compared, 200)
}
