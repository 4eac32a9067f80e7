package maintenance

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/race"
	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// history commits n writes of one file each, a minute apart.
func history(w *world, n int) {
	for range n {
		w.commit(w.table, change{kind: paimon.CommitAppend, delta: []manifest.Entry{w.file("data-", 0, 0, manifest.SourceAppend)}})
	}
}

func TestWhichSnapshotsExpire(t *testing.T) {
	for _, c := range []struct {
		name     string
		options  map[string]string
		o        ExpireOptions
		consumer int64
		want     int64 // first that stays, of 1 to 20
	}{
		{"defaults keep an hour", nil, ExpireOptions{}, 0, 1},
		{"age is the next one's", nil, ExpireOptions{RetainMin: 1, TimeRetained: 5 * time.Minute}, 0, 14},
		{"age to the millisecond", nil, ExpireOptions{RetainMin: 1, TimeRetained: 5*time.Minute - time.Millisecond}, 0, 15},
		{"at least the minimum", nil, ExpireOptions{RetainMin: 12, TimeRetained: time.Minute}, 0, 9},
		{"at most the maximum", nil, ExpireOptions{RetainMin: 1, RetainMax: 3}, 0, 18},
		{"the maximum begins, age goes on", nil, ExpireOptions{RetainMin: 1, RetainMax: 15, TimeRetained: 3 * time.Minute}, 0, 16},
		{"limit", nil, ExpireOptions{RetainMin: 1, RetainMax: 1, DeletesMax: 4}, 0, 5},
		{"consumer", nil, ExpireOptions{RetainMin: 1, RetainMax: 1}, 7, 7},
		{"consumer behind", nil, ExpireOptions{RetainMin: 1, RetainMax: 1}, 1, 1},
		{"consumer of changelogs only", map[string]string{"consumer.changelog-only": "true"}, ExpireOptions{RetainMin: 1, RetainMax: 1}, 7, 20},
		{"options of the table", map[string]string{"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "4", "snapshot.expire.limit": "100"}, ExpireOptions{}, 0, 17},
		{"no age", map[string]string{"snapshot.num-retained.min": "2"}, ExpireOptions{TimeRetained: -1}, 0, 19},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := testWorld(t, c.options)
			history(w, 20)
			if c.consumer > 0 {
				require.NoError(t, w.table.SetConsumer(w.ctx, "c", c.consumer))
			}
			c.o.Now = w.clock
			dry := c.o
			dry.DryRun = true
			would, err := ExpireSnapshots(w.ctx, w.table, dry)
			require.NoError(t, err)
			ids, err := w.table.SnapshotIDs(w.ctx)
			require.NoError(t, err)
			require.Len(t, ids, 20, "a dry run deletes nothing")
			x, err := ExpireSnapshots(w.ctx, w.table, c.o)
			require.NoError(t, err)
			require.Equal(t, would, x)
			require.EqualValues(t, 1, x.First)
			require.Equal(t, c.want, x.End)
			require.Equal(t, c.want-1, x.Count())
			ids, err = w.table.SnapshotIDs(w.ctx)
			require.NoError(t, err)
			require.Equal(t, c.want, ids[0])
			hint, err := objstore.ReadAll(w.ctx, w.store, strings.TrimSuffix(w.table.SnapshotPath(1), "snapshot-1")+"EARLIEST")
			require.NoError(t, err, "the hint is written even if nothing expires")
			require.Equal(t, ids[0], mustParse(t, string(hint)))
			w.check()
		})
	}
}

func mustParse(t *testing.T, s string) int64 {
	t.Helper()
	var id int64
	for _, c := range s {
		require.True(t, c >= '0' && c <= '9', s)
		id = 10*id + int64(c-'0')
	}
	return id
}

func TestExpireOptionsAreChecked(t *testing.T) {
	w := testWorld(t, nil)
	for _, o := range []ExpireOptions{{RetainMin: -1}, {RetainMin: 5, RetainMax: 4}, {DeletesMax: -1}} {
		_, err := ExpireSnapshots(w.ctx, w.table, o)
		require.Error(t, err)
		_, err = ExpireChangelogs(w.ctx, w.table, o)
		require.Error(t, err)
	}
	x, err := ExpireSnapshots(w.ctx, w.table, ExpireOptions{})
	require.NoError(t, err)
	require.Zero(t, x.Count(), "no snapshot")
	x, err = ExpireChangelogs(w.ctx, w.table, ExpireOptions{})
	require.NoError(t, err)
	require.Zero(t, x.Count())
}

func TestExpiredFilesGo(t *testing.T) {
	w := testWorld(t, map[string]string{"snapshot.clean-empty-directories": "true"})
	a, b := w.file("data-", 0, 0, manifest.SourceAppend), w.file("data-", 1, 0, manifest.SourceAppend)
	w.commit(w.table, change{kind: paimon.CommitAppend, delta: []manifest.Entry{a, b}, index: true, stats: true})
	up := b // moved to another level, not deleted
	up.File.Level = 5
	w.commit(w.table, change{kind: paimon.CommitCompact, delta: []manifest.Entry{deleted(a), deleted(b), up}, index: true, stats: true})
	w.commit(w.table, change{kind: paimon.CommitAppend, merge: true})
	x := w.expireAll(w.table, 1)
	require.EqualValues(t, 3, x.End)
	var gone []string
	eachFile(w.table, &a, func(name string) { gone = append(gone, name) })
	require.ElementsMatch(t, gone, x.DataFiles)
	var meta []string
	for _, name := range x.MetaFiles {
		meta = append(meta, strings.TrimRight(strings.TrimPrefix(name, w.table.Path+"/"), "0123456789"))
	}
	require.ElementsMatch(t, []string{
		"manifest/manifest-", "manifest/manifest-list-", "manifest/manifest-list-", "manifest/index-manifest-", "index/index-", "statistics/stat-", // of the first
		"manifest/manifest-", "manifest/manifest-list-", "manifest/manifest-list-", // of the second, whose index and statistics the third has too
	}, meta)
	ok, err := w.store.DirExists(w.ctx, w.table.Path+"/p=0")
	require.NoError(t, err)
	require.False(t, ok, "the folder of the partition is empty")
	w.check()
}

func TestCompactedChangelogFilesGo(t *testing.T) {
	w := testWorld(t, map[string]string{"changelog-producer": "lookup"})
	e := w.file("changelog-", 0, 0, manifest.SourceAppend)
	e.File.ExtraFiles = nil
	first, second := e, e
	first.File.FileName = "compacted-changelog-u$3-100.cc-parquet"
	second.File.FileName = "compacted-changelog-u$3-100-100-50.cc-parquet"
	real := w.table.Path + "/p=0/bucket-3/compacted-changelog-u$3-100.cc-parquet"
	w.put(real, []byte("x"))
	w.commit(w.table, change{kind: paimon.CommitCompact, changelog: []manifest.Entry{first, second}})
	w.commit(w.table, change{kind: paimon.CommitAppend})
	w.check()
	x := w.expireAll(w.table, 1)
	require.Equal(t, []string{real}, x.DataFiles)
}

func TestDecoupledChangelogs(t *testing.T) {
	for _, producer := range []string{"none", "input"} {
		t.Run(producer, func(t *testing.T) {
			w := testWorld(t, map[string]string{"changelog-producer": producer, "changelog.num-retained.max": "2147483647", "changelog.time-retained": "5 min", "snapshot.time-retained": "1 min", "changelog.num-retained.min": "11"})
			var files []manifest.Entry
			for range 3 {
				c := change{kind: paimon.CommitAppend, delta: []manifest.Entry{w.file("data-", 0, 0, manifest.SourceAppend)}}
				if producer == "input" {
					c.changelog = []manifest.Entry{w.file("changelog-", 0, 0, manifest.SourceAppend)}
				}
				files = append(files, c.delta...)
				w.commit(w.table, c)
			}
			compacted := w.file("data-", 0, 5, manifest.SourceCompact)
			w.commit(w.table, change{kind: paimon.CommitCompact, delta: []manifest.Entry{deleted(files[0]), deleted(files[1]), deleted(files[2]), compacted}})
			w.commit(w.table, change{kind: paimon.CommitCompact, delta: []manifest.Entry{deleted(compacted), w.file("data-", 0, 5, manifest.SourceCompact)}})
			history(w, 2)
			bytes, err := objstore.ReadAll(w.ctx, w.store, w.table.SnapshotPath(2))
			require.NoError(t, err)
			x := w.expireAll(w.table, 1)
			require.EqualValues(t, 7, x.End)
			ids, err := w.table.ChangelogIDs(w.ctx)
			require.NoError(t, err)
			require.Equal(t, []int64{1, 2, 3, 4, 5, 6}, ids)
			copied, err := objstore.ReadAll(w.ctx, w.store, w.table.ChangelogPath(2))
			require.NoError(t, err)
			require.Equal(t, string(bytes), string(copied), "the snapshot is kept as it is")
			w.check()
			_, err = w.store.Stat(w.ctx, w.table.DataFilePath(&compacted))
			require.ErrorIs(t, err, objstore.ErrNotExist)
			for i := range files {
				_, err := w.store.Stat(w.ctx, w.table.DataFilePath(&files[i]))
				require.Equal(t, producer == "none", err == nil, "data files are the changelog of tables without a producer")
			}

			// A consumer holds them, then age: those of the last 5 minutes stay.
			require.NoError(t, w.table.SetConsumer(w.ctx, "c", 2))
			o := ExpireOptions{RetainMin: 1, TimeRetained: 4*time.Minute + time.Second, Now: w.clock}
			x, err = ExpireChangelogs(w.ctx, w.table, o)
			require.NoError(t, err)
			require.EqualValues(t, 2, x.End)
			require.NoError(t, w.table.DeleteConsumer(w.ctx, "c"))
			dry := o
			dry.DryRun = true
			would, err := ExpireChangelogs(w.ctx, w.table, dry)
			require.NoError(t, err)
			x, err = ExpireChangelogs(w.ctx, w.table, o)
			require.NoError(t, err)
			require.Equal(t, would, x)
			require.EqualValues(t, 3, x.End)
			w.check()
			_, err = ExpireChangelogs(w.ctx, w.table, ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1, Now: w.clock})
			require.NoError(t, err)
			ids, err = w.table.ChangelogIDs(w.ctx)
			require.NoError(t, err)
			require.Equal(t, []int64{6}, ids, "the newest stays")
			w.check()
			for i := range files {
				_, err := w.store.Stat(w.ctx, w.table.DataFilePath(&files[i]))
				require.ErrorIs(t, err, objstore.ErrNotExist)
			}
		})
	}
}

// TestExpireCanBeRepeated fails each call of an expiration in turn: the table is
// whole after each failure, and a second run ends as an undisturbed one.
func TestExpireCanBeRepeated(t *testing.T) {
	for _, options := range []map[string]string{
		{"changelog-producer": "input"},
		{"changelog-producer": "input", "changelog.num-retained.min": "11"},
		{"changelog.num-retained.min": "11"},
	} {
		build := func() *world { return eventful(t, options) }
		undisturbed := build()
		undisturbed.expireAll(undisturbed.table, 1)
		want := undisturbed.all()
		for _, mode := range []faultstore.Mode{faultstore.FailBefore, faultstore.FailAfter} {
			for n := 1; ; n += race.Stride {
				w := build()
				faulty := faultstore.New(w.store, faultstore.Rule{Call: n, Mode: mode})
				table, err := paimon.OpenWith(w.ctx, faulty, w.table.Path, "", w.options())
				if err == nil {
					_, err = ExpireSnapshots(w.ctx, table, ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1, Now: w.clock})
				}
				// Until the snapshots themselves are gone, files of theirs may be missing.
				// What stays is whole.
				latest, lerr := w.table.LatestSnapshot(w.ctx)
				require.NoError(t, lerr)
				w.checkState(w.table, latest, "the newest")
				if faulty.Fired() == 0 {
					require.NoError(t, err)
					require.Greater(t, n, 40)
					break
				}
				w.expireAll(w.table, 1)
				require.Equal(t, want, w.all(), "call %d, %v", n, mode)
				w.check()
			}
		}
	}
}

func TestExpireStopsAtWhatItCannotRead(t *testing.T) {
	w := testWorld(t, nil)
	history(w, 5)
	_, err := w.table.CreateTag(w.ctx, "t", paimon.TagOptions{Snapshot: 2})
	require.NoError(t, err)
	tag, err := w.table.Tag(w.ctx, "t")
	require.NoError(t, err)
	before := w.all()
	w.put(w.table.ManifestPath(tag.Snapshot.DeltaManifestList), []byte("broken"))
	_, err = ExpireSnapshots(w.ctx, w.table, ExpireOptions{RetainMin: 1, RetainMax: 1, Now: w.clock})
	require.Error(t, err)
	require.Equal(t, before, w.all())
	ids, err := w.table.SnapshotIDs(w.ctx)
	require.NoError(t, err)
	require.Len(t, ids, 5)
}

// TestGoldenTablesExpire expires the tables of the original, with their tags and
// branches, and reads what is left.
func TestGoldenTablesExpire(t *testing.T) {
	dirs, err := filepath.Glob("../../testdata/golden/*/table")
	require.NoError(t, err)
	require.Greater(t, len(dirs), 70)
	for _, dir := range dirs {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			w := &world{t: t, ctx: t.Context(), now: time.Now().Add(24 * time.Hour)}
			store := memstore.New(memstore.Options{Now: w.clock})
			require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				rel, err := filepath.Rel(dir, path)
				if err != nil {
					return err
				}
				return store.Put(t.Context(), "table/"+filepath.ToSlash(rel), data)
			}))
			w.store = store
			w.table, err = paimon.OpenWith(w.ctx, store, "table", "", w.options())
			require.NoError(t, err)
			w.check()
			before, err := CleanOrphans(w.ctx, w.table, OrphanOptions{OlderThan: w.now.Add(time.Hour), Unsafe: true, DryRun: true, Now: w.clock})
			require.NoError(t, err)
			for retain := 3; retain > 0; retain-- {
				w.expireAll(w.table, retain)
				w.check()
			}
			after, err := CleanOrphans(w.ctx, w.table, OrphanOptions{OlderThan: w.now.Add(time.Hour), Unsafe: true, DryRun: true, Now: w.clock})
			require.NoError(t, err)
			require.Equal(t, len(before.Files), len(after.Files), "expiration leaves nothing behind")
		})
	}
}
