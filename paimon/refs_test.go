package paimon

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/faultstore"
)

func TestTags(t *testing.T) {
	c := newClock()
	catalog, table := newTestTable(t, c, kvSpec())
	ctx := t.Context()
	_, err := table.CreateTag(ctx, "t", TagOptions{})
	require.ErrorIs(t, err, ErrNoSnapshot)
	for id := int64(1); id <= 3; id++ {
		putSnapshot(t, table, id, id*10)
	}
	for _, name := range []string{"", " ", "a/b", "x\x00"} {
		_, err := table.CreateTag(ctx, name, TagOptions{})
		require.ErrorIs(t, err, ErrName, name)
		require.ErrorIs(t, table.DeleteTag(ctx, name), ErrName)
		_, err = table.Tag(ctx, name)
		require.ErrorIs(t, err, ErrName)
	}
	plain, err := table.CreateTag(ctx, "z", TagOptions{Snapshot: 2})
	require.NoError(t, err)
	require.EqualValues(t, 2, plain.Snapshot.ID)
	_, ok := plain.ExpiresAt()
	require.False(t, ok)
	same, err := objstore.ReadAll(ctx, table.Store, table.SnapshotPath(2))
	require.NoError(t, err)
	requireSameFile(t, table, table.TagPath("z"), same)

	_, err = table.CreateTag(ctx, "z", TagOptions{})
	require.ErrorIs(t, err, ErrTagExists)
	_, err = table.CreateTag(ctx, "z", TagOptions{Replace: true})
	require.NoError(t, err)
	_, err = table.CreateTag(ctx, "x", TagOptions{Snapshot: 9})
	require.ErrorIs(t, err, ErrSnapshotNotFound)

	c.now = time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC)
	_, err = table.CreateTag(ctx, "20", TagOptions{Snapshot: 1, Retained: 90*time.Minute + 5})
	require.NoError(t, err)
	tag, err := table.Tag(ctx, "20")
	require.NoError(t, err)
	require.True(t, c.now.Equal(tag.CreateTime))
	at, ok := tag.ExpiresAt()
	require.True(t, ok)
	require.Equal(t, c.now.Add(90*time.Minute+5), at)
	file, err := objstore.ReadAll(ctx, table.Store, table.TagPath("20"))
	require.NoError(t, err)
	require.Contains(t, string(file), `"tagCreateTime" : [ 2024, 2, 29, 12, 30 ],`)
	require.Contains(t, string(file), `"tagTimeRetained" : 5400.000000005`)

	// The option gives tags a time to live.
	_, err = catalog.AlterTable(ctx, "db.t", []Change{SetOption{OptTagDefaultTimeRetained, "1 d"}})
	require.NoError(t, err)
	table, err = catalog.OpenTable(ctx, "db.t")
	require.NoError(t, err)
	tag, err = table.CreateTag(ctx, "daily", TagOptions{Snapshot: 1})
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, tag.Retained)

	// A tag keeps an expired snapshot alive for another tag.
	require.NoError(t, table.Store.Delete(ctx, table.SnapshotPath(1)))
	_, err = table.CreateTag(ctx, "again", TagOptions{Snapshot: 1})
	require.NoError(t, err)

	require.NoError(t, table.Store.Put(ctx, table.branchDir()+"/tag/tag-success-file/20_SUCCESS", nil))
	tags, err := table.Tags(ctx)
	require.NoError(t, err)
	var names []string
	for _, tag := range tags {
		names = append(names, tag.Name)
	}
	require.Equal(t, []string{"20", "again", "daily", "z"}, names, "by snapshot, then by name")
	require.NoError(t, table.DeleteTag(ctx, "20"))
	_, err = table.Tag(ctx, "20")
	require.ErrorIs(t, err, ErrTagNotFound)
	require.ErrorIs(t, table.DeleteTag(ctx, "20"), ErrTagNotFound)
}

func TestTagOfASnapshotThatExpiresMeanwhile(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	putSnapshot(t, table, 1, 1)
	putSnapshot(t, table, 2, 2)
	store := table.Store
	table.Store = faultstore.New(store, faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Mode: faultstore.Pass, Hook: func(faultstore.Call) {
		require.NoError(t, store.Delete(t.Context(), table.SnapshotPath(1)))
	}})
	_, err := table.CreateTag(t.Context(), "t", TagOptions{Snapshot: 1})
	require.ErrorIs(t, err, ErrSnapshotNotFound)
	_, err = table.Tag(t.Context(), "t")
	require.ErrorIs(t, err, ErrTagNotFound)
}

func TestTagFiles(t *testing.T) {
	head := `{"version":3,"id":2,"schemaId":0,"baseManifestList":"b","deltaManifestList":"d","commitUser":"u","commitIdentifier":1,"commitKind":"APPEND","timeMillis":5,"totalRecordCount":1,"deltaRecordCount":1`
	for _, c := range []struct {
		text     string
		create   string
		retained time.Duration
		fault    string
	}{
		{`}`, "", 0, ""},
		{`,"tagCreateTime":[2024,1,2,3,4],"tagTimeRetained":60.0}`, "2024-01-02T03:04:00Z", time.Minute, ""},
		{`,"tagCreateTime":[2024,1,2,3,4,5],"tagTimeRetained":60}`, "2024-01-02T03:04:05Z", time.Minute, ""},
		{`,"tagCreateTime":[2024,1,2,3,4,5,6],"tagTimeRetained":0.000000001}`, "2024-01-02T03:04:05.000000006Z", 1, ""},
		{`,"tagCreateTime":[2024,1,2,3,4],"tagTimeRetained":8.64E+4}`, "2024-01-02T03:04:00Z", 24 * time.Hour, ""},
		{`,"tagCreateTime":[2024,1,2,3,4],"tagTimeRetained":99999999999}`, "2024-01-02T03:04:00Z", 1<<63 - 1, ""},
		{`,"tagCreateTime":null,"tagTimeRetained":null}`, "", 0, ""},
		{`,"tagCreateTime":[2024,1,2,3]}`, "", 0, "4 elements"},
		{`,"tagCreateTime":[2024,13,2,3,4]}`, "", 0, "element 2"},
		{`,"tagCreateTime":"2024-01-02"}`, "", 0, "corrupt"},
		{`,"tagTimeRetained":-1}`, "", 0, "out of range"},
		{`,"tagTimeRetained":1e300}`, "", 0, "out of range"},
	} {
		tag, err := ParseTag("t", []byte(head+c.text), time.UTC)
		if c.fault != "" {
			require.ErrorIs(t, err, ErrCorrupt, c.text)
			require.ErrorContains(t, err, c.fault)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.retained, tag.Retained, c.text)
		if c.create != "" {
			require.Equal(t, c.create, tag.CreateTime.Format(time.RFC3339Nano))
		}
		require.EqualValues(t, 2, tag.Snapshot.ID)
	}
}

func TestConsumers(t *testing.T) {
	c := newClock()
	_, table := newTestTable(t, c, kvSpec())
	ctx := t.Context()
	_, err := table.Consumer(ctx, "a")
	require.ErrorIs(t, err, ErrConsumerNotFound)
	_, ok, err := table.MinNextSnapshot(ctx)
	require.NoError(t, err)
	require.False(t, ok)
	require.ErrorIs(t, table.ResetConsumer(ctx, "a", 1), ErrConsumerNotFound)
	require.ErrorIs(t, table.SetConsumer(ctx, "a/b", 1), ErrName)
	require.Error(t, table.SetConsumer(ctx, "a", 0))
	require.NoError(t, table.SetConsumer(ctx, "a", 5))
	require.NoError(t, table.SetConsumer(ctx, "b", 3))
	requireSameFile(t, table, table.ConsumerPath("b"), []byte("{\n  \"nextSnapshot\" : 3\n}"))
	got, err := table.Consumer(ctx, "a")
	require.NoError(t, err)
	require.EqualValues(t, 5, got.NextSnapshot)
	require.True(t, c.now.Equal(got.ModTime))
	next, ok, err := table.MinNextSnapshot(ctx)
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 3, next)

	require.ErrorIs(t, table.ResetConsumer(ctx, "a", 2), ErrSnapshotNotFound, "a table without snapshots begins with 1")
	require.NoError(t, table.ResetConsumer(ctx, "a", 1))
	for id := int64(4); id <= 6; id++ {
		putSnapshot(t, table, id, id)
	}
	require.ErrorIs(t, table.ResetConsumer(ctx, "a", 3), ErrSnapshotNotFound)
	require.NoError(t, table.ResetConsumer(ctx, "a", 4))
	require.NoError(t, table.ResetConsumer(ctx, "a", 7))
	require.ErrorIs(t, table.ResetConsumer(ctx, "a", 8), ErrSnapshotNotFound)
	data, err := objstore.ReadAll(ctx, table.Store, table.SnapshotPath(4))
	require.NoError(t, err)
	require.NoError(t, table.Store.Put(ctx, table.ChangelogPath(2), data))
	require.NoError(t, table.ResetConsumer(ctx, "a", 2), "a long-lived changelog can be read")

	all, err := table.Consumers(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.NoError(t, table.DeleteConsumer(ctx, "a"))
	require.NoError(t, table.DeleteConsumer(ctx, "a"))
	_, err = table.Consumer(ctx, "a")
	require.ErrorIs(t, err, ErrConsumerNotFound)
}

func TestTornConsumerIsReadAgain(t *testing.T) {
	c := newClock()
	_, table := newTestTable(t, c, kvSpec())
	require.NoError(t, table.SetConsumer(t.Context(), "a", 5))
	table.Store = &blinkStore{Store: table.Store, name: table.ConsumerPath("a"), torn: []byte(`{"nextSna`), times: 3}
	got, err := table.Consumer(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 5, got.NextSnapshot)
	require.Len(t, c.waits, 3)
	table.Store = &blinkStore{Store: table.Store, name: table.ConsumerPath("a"), torn: []byte(`{}`), times: parseTries}
	_, err = table.Consumer(t.Context(), "a")
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestBranches(t *testing.T) {
	catalog, table := newTestTable(t, newClock(), kvSpec())
	ctx := t.Context()
	for id := int64(1); id <= 3; id++ {
		putSnapshot(t, table, id, id, entryOf(t, table, string(rune('a'+id)), 0, 0))
	}
	_, err := table.CreateTag(ctx, "v2", TagOptions{Snapshot: 2})
	require.NoError(t, err)
	_, err = table.CreateTag(ctx, "v3", TagOptions{Snapshot: 3})
	require.NoError(t, err)
	_, err = catalog.AlterTable(ctx, "db.t", []Change{SetOption{"num-levels", "3"}})
	require.NoError(t, err)

	for _, name := range []string{"", " ", "main", "42", "a/b"} {
		require.ErrorIs(t, table.CreateBranch(ctx, name, ""), ErrName, name)
		require.ErrorIs(t, table.DeleteBranch(ctx, name), ErrName, name)
	}
	require.ErrorIs(t, table.CreateBranch(ctx, "b", "none"), ErrTagNotFound)
	require.ErrorIs(t, table.FastForward(ctx, "b"), ErrBranchNotFound)
	require.ErrorIs(t, table.DeleteBranch(ctx, "b"), ErrBranchNotFound)
	require.NoError(t, table.CreateBranch(ctx, "b", "v2"))
	require.ErrorIs(t, table.CreateBranch(ctx, "b", ""), ErrBranchExists)
	require.NoError(t, table.CreateBranch(ctx, "empty", ""))
	names, err := table.Branches(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "empty"}, names)

	empty, err := catalog.OpenTable(ctx, "db.t$branch_empty")
	require.NoError(t, err)
	require.EqualValues(t, 1, empty.Schema().ID)
	_, err = empty.LatestID(ctx)
	require.ErrorIs(t, err, ErrNoSnapshot)
	require.ErrorIs(t, table.FastForward(ctx, "empty"), ErrNoSnapshot)

	b, err := catalog.OpenBranch(ctx, "db.t", "b")
	require.NoError(t, err)
	require.EqualValues(t, 0, b.Schema().ID, "the tag's schema")
	tags, err := b.TagNames(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"v2"}, tags)
	s, err := b.LatestSnapshot(ctx)
	require.NoError(t, err)
	live, err := b.LiveEntries(ctx, s, Filter{})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, fileNames(live), "manifests are shared")

	// The branch goes its own way.
	_, err = b.Alter(ctx, []Change{SetOption{"num-levels", "7"}})
	require.NoError(t, err)
	putSnapshot(t, b, 3, 33, entryOf(t, b, "branch", 0, 0))
	putSnapshot(t, b, 4, 34)
	require.NoError(t, b.SetConsumer(ctx, "c", 3))
	consumers, err := table.Consumers(ctx)
	require.NoError(t, err)
	require.Empty(t, consumers)

	for id := int64(1); id <= 3; id++ { // as if main had expired some of its own
		require.NoError(t, table.copyMetadata(ctx, table.SnapshotPath(id), table.ChangelogPath(id)))
	}
	putHint(t, table, hintLatest, "3")
	putHint(t, table, hintEarliest, "3")
	require.NoError(t, table.FastForward(ctx, "b"))
	requireSameFile(t, table, table.snapshotFiles().dir+"/"+hintLatest, []byte("4"))
	requireSameFile(t, table, table.snapshotFiles().dir+"/"+hintEarliest, []byte("1"))
	require.Equal(t, "7", table.Schema().Options["num-levels"])
	ids, err := table.SnapshotIDs(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 3, 4}, ids)
	ids, err = table.ChangelogIDs(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{1}, ids, "later ones are of another history")
	requireSameFile(t, table, table.changelogFiles().dir+"/"+hintLatest, []byte("1"))
	s, err = table.LatestSnapshot(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 34, s.TimeMillis)
	live, err = table.LiveEntries(ctx, s, Filter{})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c", "branch"}, fileNames(live))
	tags, err = table.TagNames(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"v2"}, tags, "tags of what was replaced are gone")
	now, err := table.CurrentIdentity(ctx)
	require.NoError(t, err)
	require.Equal(t, table.Identity(), now)

	_, err = table.Alter(ctx, []Change{SetOption{OptScanFallbackBranch, "b"}})
	require.NoError(t, err)
	require.ErrorAs(t, table.DeleteBranch(ctx, "b"), new(*ValidationError))
	_, err = table.Alter(ctx, []Change{SetOption{OptScanFallbackBranch, "none"}})
	require.ErrorContains(t, err, "Cannot set 'scan.fallback-branch' = 'none' because the branch 'none' does not exist.")
	_, err = table.Alter(ctx, []Change{ResetOption{OptScanFallbackBranch}})
	require.NoError(t, err)
	require.NoError(t, table.DeleteBranch(ctx, "b"))
	names, err = table.Branches(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"empty"}, names)
	_, err = catalog.OpenBranch(ctx, "db.t", "b")
	require.ErrorIs(t, err, ErrBranchNotFound)
}

// TestBranchIsWholeOrNotThere fails each call of CreateBranch in turn: either
// there is no branch and it can be made again, or it is complete.
func TestBranchIsWholeOrNotThere(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	ctx := t.Context()
	putSnapshot(t, table, 1, 1)
	_, err := table.CreateTag(ctx, "v", TagOptions{})
	require.NoError(t, err)
	_, err = table.Alter(ctx, []Change{SetOption{"num-levels", "3"}})
	require.NoError(t, err)
	store := table.Store
	for _, mode := range []faultstore.Mode{faultstore.FailBefore, faultstore.FailAfter} {
		for n := 1; ; n++ {
			faulty := faultstore.New(store, faultstore.Rule{Call: n, Mode: mode})
			table.Store = faulty
			err := table.CreateBranch(ctx, "b", "")
			table.Store = store
			names, lerr := table.Branches(ctx)
			require.NoError(t, lerr)
			if len(names) == 1 {
				b, err := table.OpenBranch(ctx, "b")
				require.NoError(t, err)
				require.EqualValues(t, 1, b.Schema().ID)
				_, err = b.SchemaByID(ctx, 0)
				require.NoError(t, err)
			} else {
				require.Error(t, err)
				require.NoError(t, table.CreateBranch(ctx, "b", "v"))
			}
			require.NoError(t, table.DeleteBranch(ctx, "b"))
			if faulty.Fired() == 0 {
				require.NoError(t, err)
				require.Greater(t, n, 8, "every call was failed")
				break
			}
		}
	}
}

func TestBranchPathsAreApart(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	require.NoError(t, table.CreateBranch(t.Context(), "b", ""))
	b, err := table.OpenBranch(t.Context(), "b")
	require.NoError(t, err)
	for _, path := range []string{b.SchemaPath(1), b.SnapshotPath(1), b.ChangelogPath(1), b.TagPath("t"), b.ConsumerPath("c")} {
		require.True(t, strings.HasPrefix(path, "wh/db.db/t/branch/branch-b/"), path)
	}
	e := entryOf(t, b, "f", 0, 0)
	for _, path := range []string{b.ManifestPath("m"), b.StatisticsPath("s"), b.DataFilePath(&e)} {
		require.False(t, strings.Contains(path, "branch"), path)
	}
}
