package maintenance

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/race"
	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// tagged has snapshots 1 to 4 of a file each, all compacted by 5; then 1 to 4
// expire but for what the tags keep.
func tagged(t *testing.T, tags map[string]int64) (*world, []manifest.Entry) {
	t.Helper()
	w := testWorld(t, nil)
	history(w, 4)
	files := w.live(w.table)
	for name, id := range tags {
		_, err := w.table.CreateTag(w.ctx, name, paimon.TagOptions{Snapshot: id})
		require.NoError(t, err)
	}
	c := change{kind: paimon.CommitCompact, delta: []manifest.Entry{w.file("data-", 0, 5, manifest.SourceCompact)}}
	for _, f := range files {
		c.delta = append(c.delta, deleted(f))
	}
	w.commit(w.table, c)
	w.commit(w.table, change{kind: paimon.CommitAppend, merge: true})
	w.expireAll(w.table, 1)
	w.check()
	return w, files
}

func (w *world) there(files []manifest.Entry) (n int) {
	for i := range files {
		if ok, err := objstore.Exists(w.ctx, w.store, w.table.DataFilePath(&files[i])); err == nil && ok {
			n++
		}
	}
	return n
}

func TestDeleteTagDeletesWhatOnlyTheTagKept(t *testing.T) {
	w, files := tagged(t, map[string]int64{"a": 2, "b": 3, "twin": 3})
	require.Equal(t, 3, w.there(files))
	require.NoError(t, DeleteTag(w.ctx, w.table, "b"))
	require.Equal(t, 3, w.there(files), "its twin keeps them")
	require.NoError(t, DeleteTag(w.ctx, w.table, "twin"))
	require.Equal(t, 2, w.there(files))
	w.check()
	require.NoError(t, DeleteTag(w.ctx, w.table, "a"))
	require.Zero(t, w.there(files))
	w.check()
	require.ErrorIs(t, DeleteTag(w.ctx, w.table, "a"), paimon.ErrTagNotFound)
	found, err := CleanOrphans(w.ctx, w.table, OrphanOptions{OlderThan: w.now.Add(time.Hour), Unsafe: true, DryRun: true, Now: w.clock})
	require.NoError(t, err)
	require.Empty(t, found.Files)
}

func TestDeleteTagOfALivingSnapshot(t *testing.T) {
	w := testWorld(t, nil)
	history(w, 2)
	_, err := w.table.CreateTag(w.ctx, "t", paimon.TagOptions{})
	require.NoError(t, err)
	before := w.all()
	require.NoError(t, DeleteTag(w.ctx, w.table, "t"))
	require.Equal(t, before, w.all())
	w.check()
}

// TestDeleteTagCanFail fails each call in turn: the tag is whole or gone.
func TestDeleteTagCanFail(t *testing.T) {
	for n := 1; ; n += race.Stride {
		w, _ := tagged(t, map[string]int64{"a": 2, "b": 3})
		faulty := faultstore.New(w.store, faultstore.Rule{Call: n, Mode: faultstore.FailAfter})
		table, err := paimon.OpenWith(w.ctx, faulty, w.table.Path, "", w.options())
		if err == nil {
			_ = DeleteTag(w.ctx, table, "b")
		}
		w.check()
		if faulty.Fired() == 0 {
			require.Greater(t, n, 20)
			break
		}
	}
}

func TestBranchKeepsWhatATagKept(t *testing.T) {
	w, files := tagged(t, map[string]int64{"a": 2})
	require.NoError(t, w.table.CreateBranch(w.ctx, "b", "a"))
	require.NoError(t, DeleteTag(w.ctx, w.table, "a"))
	require.Equal(t, 2, w.there(files))
	w.check()
	require.NoError(t, w.table.DeleteBranch(w.ctx, "b"))
	found, err := CleanOrphans(w.ctx, w.table, OrphanOptions{OlderThan: w.now.Add(time.Hour), Unsafe: true, Now: w.clock})
	require.NoError(t, err)
	require.NotEmpty(t, found.Files)
	require.Zero(t, w.there(files))
	w.check()
}

func TestExpireTags(t *testing.T) {
	w := testWorld(t, nil)
	history(w, 1)
	for name, d := range map[string]time.Duration{"short": time.Minute, "long": time.Hour, "forever": 0} {
		_, err := w.table.CreateTag(w.ctx, name, paimon.TagOptions{Retained: d})
		require.NoError(t, err)
	}
	gone, err := ExpireTags(w.ctx, w.table, w.now.Add(time.Minute))
	require.NoError(t, err)
	require.Empty(t, gone, "not before the time is over")
	gone, err = ExpireTags(w.ctx, w.table, w.now.Add(2*time.Minute))
	require.NoError(t, err)
	require.Equal(t, []string{"short"}, gone)
	gone, err = ExpireTags(w.ctx, w.table, w.now.Add(1000*time.Hour))
	require.NoError(t, err)
	require.Equal(t, []string{"long"}, gone)
}

func TestExpireConsumers(t *testing.T) {
	w := testWorld(t, map[string]string{"consumer.expiration-time": "1 h"})
	require.NoError(t, w.table.SetConsumer(w.ctx, "old", 1))
	w.now = w.now.Add(30 * time.Minute)
	require.NoError(t, w.table.SetConsumer(w.ctx, "new", 1))
	gone, err := ExpireConsumers(w.ctx, w.table, w.now.Add(30*time.Minute))
	require.NoError(t, err)
	require.Empty(t, gone)
	gone, err = ExpireConsumers(w.ctx, w.table, w.now.Add(31*time.Minute))
	require.NoError(t, err)
	require.Equal(t, []string{"old"}, gone)
	never := testWorld(t, nil)
	require.NoError(t, never.table.SetConsumer(w.ctx, "c", 1))
	gone, err = ExpireConsumers(w.ctx, never.table, w.now.Add(1e6*time.Hour))
	require.NoError(t, err)
	require.Empty(t, gone)
}

func TestRollback(t *testing.T) {
	w := testWorld(t, map[string]string{"changelog-producer": "input"})
	history(w, 3)
	at3 := w.all()
	_, err := w.table.CreateTag(w.ctx, "before", paimon.TagOptions{Snapshot: 2})
	require.NoError(t, err)
	live := w.live(w.table)
	w.commit(w.table, change{kind: paimon.CommitCompact, delta: []manifest.Entry{deleted(live[0]), w.file("data-", 0, 5, manifest.SourceCompact)}, merge: true, index: true, stats: true})
	_, err = w.table.CreateTag(w.ctx, "after", paimon.TagOptions{Snapshot: 4})
	require.NoError(t, err)
	w.commit(w.table, change{kind: paimon.CommitAppend, delta: []manifest.Entry{w.file("data-", 0, 0, manifest.SourceAppend)}, changelog: []manifest.Entry{w.file("changelog-", 0, 0, manifest.SourceAppend)}})
	require.ErrorIs(t, RollbackToSnapshot(w.ctx, w.table, 9), paimon.ErrSnapshotNotFound)
	require.ErrorIs(t, RollbackToTag(w.ctx, w.table, "none"), paimon.ErrTagNotFound)
	require.NoError(t, RollbackToSnapshot(w.ctx, w.table, 5), "the newest: nothing to do")
	require.NoError(t, RollbackToSnapshot(w.ctx, w.table, 3))
	require.Equal(t, at3, w.all(), "as if the rest had never been")
	tags, err := w.table.TagNames(w.ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"before"}, tags)
	w.check()
	history(w, 1)
	require.NoError(t, RollbackToTag(w.ctx, w.table, "before"))
	id, err := w.table.LatestID(w.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, id)
	w.check()
	history(w, 2)
	w.check()
}

func TestRollbackToAnExpiredSnapshot(t *testing.T) {
	w, files := tagged(t, map[string]int64{"a": 2})
	require.NoError(t, RollbackToTag(w.ctx, w.table, "a"))
	w.check()
	ids, err := w.table.SnapshotIDs(w.ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{2}, ids)
	require.Len(t, w.live(w.table), 2)
	require.Equal(t, 2, w.there(files))
	history(w, 2)
	w.expireAll(w.table, 1)
	w.check()
}

func TestRollbackDropsLongLivedChangelogs(t *testing.T) {
	w := testWorld(t, map[string]string{"changelog.num-retained.min": "11"})
	history(w, 3)
	_, err := w.table.CreateTag(w.ctx, "t", paimon.TagOptions{Snapshot: 2})
	require.NoError(t, err)
	history(w, 3)
	w.expireAll(w.table, 1)
	require.NoError(t, RollbackToTag(w.ctx, w.table, "t"))
	ids, err := w.table.ChangelogIDs(w.ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, ids)
	_, long, err := w.table.SnapshotOrChangelog(w.ctx, 2)
	require.NoError(t, err)
	require.False(t, long)
}

// TestRollbackCanFail fails each call in turn: the table is whole after each, and
// the second try ends where it should.
func TestRollbackCanFail(t *testing.T) {
	for _, mode := range []faultstore.Mode{faultstore.FailBefore, faultstore.FailAfter} {
		for n := 1; ; n += race.Stride {
			w := testWorld(t, nil)
			history(w, 5)
			faulty := faultstore.New(w.store, faultstore.Rule{Call: n, Mode: mode})
			table, err := paimon.OpenWith(w.ctx, faulty, w.table.Path, "", w.options())
			if err == nil {
				_ = RollbackToSnapshot(w.ctx, table, 2)
			}
			w.check()
			require.NoError(t, RollbackToSnapshot(w.ctx, w.table, 2))
			w.check()
			require.Len(t, w.live(w.table), 2)
			if faulty.Fired() == 0 {
				require.Greater(t, n, 20)
				break
			}
		}
	}
}

func TestOrphans(t *testing.T) {
	w := testWorld(t, nil)
	history(w, 2)
	root := w.table.Path
	orphans := []string{
		root + "/manifest/manifest-x", root + "/index/index-x", root + "/statistics/stat-x", root + "/p=0/bucket-0/data-x.parquet",
		root + "/p=9/bucket-postpone/data-x.avro", root + "/snapshot/.snapshot-9.x.tmp", root + "/changelog/stray",
	}
	others := []string{ // not where orphans are looked for
		root + "/bucket-0/data-x", root + "/p=0/q=1/bucket-0/data-x", root + "/other/bucket-0/x", root + "/p=0/x", root + "/snapshot/snapshot-x", root + "/schema/x",
		"ext/p=0/bucket-0/data-x",
	}
	for _, name := range append(orphans, others...) {
		w.put(name, []byte("abc"))
	}
	w.now = w.now.Add(30 * time.Hour)
	young := root + "/manifest/manifest-young"
	w.put(young, nil)
	before := w.all()

	_, err := CleanOrphans(w.ctx, w.table, OrphanOptions{OlderThan: w.now.Add(-23 * time.Hour), Now: w.clock})
	require.ErrorContains(t, err, "older than a day")
	found, err := CleanOrphans(w.ctx, w.table, OrphanOptions{DryRun: true, Now: w.clock})
	require.NoError(t, err)
	require.Equal(t, before, w.all())
	var names []string
	for _, f := range found.Files {
		names = append(names, f.Name)
	}
	require.ElementsMatch(t, orphans, names)
	require.EqualValues(t, 3*len(orphans), found.Bytes)

	// Anything that cannot be read stops it.
	s, err := w.table.LatestSnapshot(w.ctx)
	require.NoError(t, err)
	list, err := objstore.ReadAll(w.ctx, w.store, w.table.ManifestPath(s.BaseManifestList))
	require.NoError(t, err)
	require.NoError(t, w.store.Delete(w.ctx, w.table.ManifestPath(s.BaseManifestList)))
	_, err = CleanOrphans(w.ctx, w.table, OrphanOptions{Now: w.clock})
	require.ErrorIs(t, err, objstore.ErrNotExist)
	w.put(w.table.ManifestPath(s.BaseManifestList), list)
	require.Equal(t, before, w.all())

	found, err = CleanOrphans(w.ctx, w.table, OrphanOptions{Now: w.clock})
	require.NoError(t, err)
	require.Len(t, found.Files, len(orphans))
	for _, name := range orphans {
		ok, err := objstore.Exists(w.ctx, w.store, name)
		require.NoError(t, err)
		require.False(t, ok, name)
	}
	for _, name := range append(others, young) {
		w.exists(name, "no orphan")
	}
	w.check()
}

func TestOrphansAtExternalPaths(t *testing.T) {
	w := testWorld(t, map[string]string{"data-file.external-paths": "file:///ext/root", "data-file.path-directory": "d"})
	e := w.file("data-", 0, 0, manifest.SourceAppend)
	used := "ext/root/d/p=0/bucket-0/" + e.File.FileName
	path := "file:/" + used
	e.File.ExternalPath = &path
	e.File.ExtraFiles = nil
	w.put(used, nil)
	w.put("ext/root/d/p=0/bucket-0/orphan", nil)
	w.commit(w.table, change{kind: paimon.CommitAppend, delta: []manifest.Entry{e}})
	w.now = w.now.Add(48 * time.Hour)
	for _, external := range []bool{false, true} {
		found, err := CleanOrphans(w.ctx, w.table, OrphanOptions{ExternalPaths: external, Now: w.clock})
		require.NoError(t, err)
		var names []string
		for _, f := range found.Files {
			if strings.HasPrefix(f.Name, "ext/") {
				names = append(names, f.Name)
			}
		}
		require.Equal(t, external, len(names) == 1)
	}
	w.exists(used, "it is referred to")
}
