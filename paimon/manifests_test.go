package paimon

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon/manifest"
)

// countingStore counts opens, and holds each back until release if it is set.
type countingStore struct {
	objstore.Store
	opens  atomic.Int64
	now    atomic.Int64
	most   atomic.Int64
	failed string // name that cannot be opened
}

func (s *countingStore) Open(ctx context.Context, name string) (objstore.Reader, error) {
	s.opens.Add(1)
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for {
		most := s.most.Load()
		if n <= most || s.most.CompareAndSwap(most, n) {
			break
		}
	}
	if name == s.failed {
		return nil, fmt.Errorf("open %s: %w", name, objstore.ErrNotExist)
	}
	return s.Store.Open(ctx, name)
}

func partitionedSpec() SchemaSpec {
	return SchemaSpec{
		Schema:  ColumnsSpec{Fields: []string{"k INT NOT NULL", "p STRING NOT NULL", "v STRING"}, PK: []string{"k", "p"}, Partition: []string{"p"}},
		Options: map[string]string{"bucket": "2"},
	}
}

func TestLiveEntriesFilter(t *testing.T) {
	_, table := newTestTable(t, newClock(), partitionedSpec())
	a := entryOf(t, table, "a", 0, 0, "x")
	b := entryOf(t, table, "b", 1, 0, "x")
	c := entryOf(t, table, "c", 0, 5, "y")
	putSnapshot(t, table, 1, 1, a, b)
	putSnapshot(t, table, 2, 2, c)
	up := a // upgrade: the same name leaves level 0 and comes back at level 5
	up.File.Level = 5
	gone := a
	gone.Kind = manifest.Delete
	s := putSnapshot(t, table, 3, 3, gone, up)

	read := func(f Filter) []string {
		live, err := table.LiveEntries(t.Context(), s, f)
		require.NoError(t, err)
		return fileNames(live)
	}
	require.Equal(t, []string{"b", "c", "a"}, read(Filter{}), "in the order of the manifests")
	require.Equal(t, []string{"b", "a"}, read(Filter{Partition: func(row []byte) bool { return table.PartitionText(row) == "p=x/" }}))
	require.Equal(t, []string{"c", "a"}, read(Filter{Buckets: []int32{0, 7}}))
	require.Equal(t, []string{"b"}, read(Filter{Bucket: func(bucket, total int32) bool { return bucket == 1 && total == 2 }}))
	require.Equal(t, []string{"c", "a"}, read(Filter{Level: func(l int32) bool { return l > 0 }}))
	require.Empty(t, read(Filter{PartitionBounds: func(*manifest.Stats) bool { return false }}))

	delta, err := table.DeltaEntries(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "a"}, fileNames(delta))
	require.Equal(t, manifest.Delete, delta[0].Kind)
}

func TestManifestListThatMiscounts(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	a := entryOf(t, table, "a", 0, 0)
	putSnapshot(t, table, 1, 1, a, entryOf(t, table, "b", 0, 0))
	gone := a
	gone.Kind = manifest.Delete
	s := putSnapshot(t, table, 2, 2, gone)
	metas, err := table.ManifestList(t.Context(), s.DeltaManifestList)
	require.NoError(t, err)
	wrong := slices.Clone(metas)
	wrong[0].NumAdded, wrong[0].NumDeleted = 1<<62, 0
	data, err := manifest.EncodeList(wrong, manifest.Options{Compression: "zstd"})
	require.NoError(t, err)
	s.DeltaManifestList = "manifest-list-wrong"
	require.NoError(t, table.Store.Put(t.Context(), table.ManifestPath(s.DeltaManifestList), data))
	live, err := table.LiveEntries(t.Context(), s, Filter{})
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, fileNames(live))
}

func TestFilterPrunesManifestsUnread(t *testing.T) {
	_, table := newTestTable(t, newClock(), partitionedSpec())
	for id := int64(1); id <= 4; id++ {
		level := int32(0)
		if id == 4 {
			level = 5
		}
		putSnapshot(t, table, id, id, entryOf(t, table, fmt.Sprint("f", id), int32(id%2), level, fmt.Sprint("p", id)))
	}
	s, err := table.Snapshot(t.Context(), 4)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		filter Filter
		reads  int64
	}{
		"all":     {Filter{}, 4},
		"buckets": {Filter{Buckets: []int32{1}}, 2},
		"level":   {Filter{Level: func(l int32) bool { return l > 0 }}, 1},
		"bounds": {Filter{PartitionBounds: func(st *manifest.Stats) bool {
			return table.PartitionText(st.Min) == "p=p3/" && table.PartitionText(st.Max) == "p=p3/"
		}}, 1},
	} {
		counting := &countingStore{Store: table.Store}
		fresh, err := Open(t.Context(), counting, table.Path, "")
		require.NoError(t, err)
		for _, list := range []string{s.BaseManifestList, s.DeltaManifestList} {
			_, err := fresh.ManifestList(t.Context(), list)
			require.NoError(t, err)
		}
		counting.opens.Store(0)
		live, err := fresh.LiveEntries(t.Context(), s, c.filter)
		require.NoError(t, err)
		require.Len(t, live, int(c.reads), name)
		require.Equal(t, c.reads, counting.opens.Load(), name)
		_, err = fresh.LiveEntries(t.Context(), s, c.filter)
		require.NoError(t, err)
		require.Equal(t, c.reads, counting.opens.Load(), "a manifest is read once")
	}
}

func TestManifestReadsAreBoundedAndNamed(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	var want []string
	for id := int64(1); id <= 20; id++ {
		want = append(want, fmt.Sprint("f", id))
		putSnapshot(t, table, id, id, entryOf(t, table, want[id-1], 0, 0))
	}
	s, err := table.Snapshot(t.Context(), 20)
	require.NoError(t, err)
	counting := &countingStore{Store: table.Store}
	fresh, err := OpenWith(t.Context(), counting, table.Path, "", OpenOptions{ParallelReads: 3, ManifestCacheBytes: -1})
	require.NoError(t, err)
	live, err := fresh.LiveEntries(t.Context(), s, Filter{})
	require.NoError(t, err)
	require.Equal(t, want, fileNames(live))
	require.LessOrEqual(t, counting.most.Load(), int64(3))

	counting.failed = table.ManifestPath("manifest-main-7")
	_, err = fresh.LiveEntries(t.Context(), s, Filter{})
	require.ErrorIs(t, err, objstore.ErrNotExist)
	require.ErrorContains(t, err, "manifest-main-7")
	require.ErrorContains(t, err, "snapshot 20")

	require.NoError(t, table.Store.Put(t.Context(), table.ManifestPath("manifest-main-8"), []byte("no avro")))
	counting.failed = ""
	_, err = fresh.LiveEntries(t.Context(), s, Filter{})
	require.ErrorContains(t, err, "manifest-main-8")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = fresh.LiveEntries(ctx, s, Filter{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestManifestCacheIsBounded(t *testing.T) {
	c := newManifestCache(100)
	c.put("a", 1, 40)
	c.put("b", 2, 40)
	require.Equal(t, 1, c.get("a"))
	c.put("c", 3, 40) // drops b, which was not used for longest
	require.Nil(t, c.get("b"))
	require.Equal(t, 1, c.get("a"))
	require.Equal(t, 3, c.get("c"))
	c.put("c", 4, 40)
	require.Equal(t, 3, c.get("c"), "files do not change")
	c.put("big", 5, 51)
	require.Nil(t, c.get("big"))
	require.LessOrEqual(t, c.bytes, c.maxBytes)
	none := newManifestCache(-1)
	none.put("a", 1, 0)
	require.Nil(t, none.get("a"))
}

func TestEntrySizeCountsWhatAnEntryHolds(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	e := entryOf(t, table, "f", 0, 0)
	small := entrySize(&e)
	e.File.ExtraFiles = []string{string(make([]byte, 100))}
	e.File.EmbeddedIndex = make([]byte, 50)
	e.File.ExternalPath = ptr("file:/x")
	e.File.ValueStats.NullCounts = []int64{1}
	require.Equal(t, small+100+16+50+7+8, entrySize(&e))
}

// What the cache thinks that it holds is about what it does hold, and not less.
func TestManifestsAreCountedAsTheyAreHeld(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	var entries []manifest.Entry
	for i := range 20_000 {
		e := entryOf(t, table, fmt.Sprintf("data-0c1e5f7a-93d1-4c2b-8d5e-5b1f0a3c7e11-%d.parquet", i), 0, 0)
		e.File.FileSize, e.File.RowCount, e.File.MinSeq, e.File.MaxSeq = 1<<20+int64(i), 1000, int64(i)*1000, int64(i)*1000+999
		e.File.KeyStats = manifest.Stats{Min: e.File.MinKey, Max: e.File.MaxKey, NullCounts: []int64{0}}
		e.File.ValueStats = manifest.Stats{Min: make([]byte, 60), Max: make([]byte, 60), NullCounts: []int64{0, 1, 2, 3}}
		entries = append(entries, e)
	}
	data, err := manifest.EncodeEntries(entries, manifest.Options{Compression: "zstd"})
	require.NoError(t, err)
	entries = nil
	require.NoError(t, table.Store.Put(t.Context(), table.ManifestPath("m"), data))
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	read, err := table.ReadManifest(t.Context(), "m")
	require.NoError(t, err)
	held := live() - before
	require.Len(t, read, 20_000)
	counted := table.cache.bytes
	require.InDelta(t, 1, float64(held)/float64(counted), 0.2, "held %d, counted %d", held, counted)
	runtime.KeepAlive(table)
}

func TestExternalPathsWin(t *testing.T) {
	spec := kvSpec()
	spec.Options[OptDataFilePathDirectory] = "data"
	_, table := newTestTable(t, newClock(), spec)
	e := entryOf(t, table, "f", 0, 0)
	require.Equal(t, "wh/db.db/t/data/bucket-0/f", table.DataFilePath(&e))
	e.Bucket = PostponeBucket
	require.Equal(t, "wh/db.db/t/data/bucket-postpone/f", table.DataFilePath(&e))
	e.File.ExternalPath = ptr("file:/ext/root/bucket-0/f")
	require.Equal(t, "ext/root/bucket-0/f", table.DataFilePath(&e))
	require.Equal(t, "ext/root/bucket-0/f.index", table.SidecarPath(&e, "f.index"))
	e.File.ExternalPath = ptr("s3://bucket/f")
	_, err := table.Store.Open(t.Context(), table.DataFilePath(&e))
	require.ErrorAs(t, err, new(*objstore.NameError))

	i := manifest.IndexEntry{FileName: "index-1", Bucket: 1}
	require.Equal(t, "wh/db.db/t/index/index-1", table.IndexPath(&i))
	i.ExternalPath = ptr("/ext/index-1")
	require.Equal(t, "ext/index-1", table.IndexPath(&i))
	spec.Options[OptIndexFileInDataFileDir] = "true"
	_, table = newTestTable(t, newClock(), spec)
	i.ExternalPath = nil
	require.Equal(t, "wh/db.db/t/data/bucket-1/index-1", table.IndexPath(&i))
}

func TestPartitionPaths(t *testing.T) {
	spec := partitionedSpec()
	catalog, table := newTestTable(t, newClock(), spec)
	blank := entryOf(t, table, "f", 0, 0, " ")
	slash := entryOf(t, table, "f", 1, 0, "a/b=c")
	require.Equal(t, "p=__DEFAULT_PARTITION__/", table.PartitionText(blank.Partition))
	require.Equal(t, "wh/db.db/t/p=a%2Fb%3Dc/bucket-1/f", table.DataFilePath(&slash))
	cols := table.DecodePartition(slash.Partition)
	require.Len(t, cols, 1)
	require.Equal(t, "a/b=c", string(cols[0].Bytes(0)))
	require.Nil(t, table.DecodePartition([]byte{1}))
	bad := slash
	bad.Partition = []byte{0, 0, 0, 1}
	_, err := table.Store.Open(t.Context(), table.DataFilePath(&bad))
	require.ErrorAs(t, err, new(*objstore.NameError), "a row that cannot be read names no file")

	_, err = catalog.AlterTable(t.Context(), "db.t", []Change{SetOption{OptPartitionDefaultName, "none"}})
	require.NoError(t, err)
	_, err = table.ReloadSchema(t.Context())
	require.NoError(t, err)
	require.Equal(t, "p=none/", table.PartitionText(blank.Partition))
}

func TestPartitionTextsAreBounded(t *testing.T) {
	_, table := newTestTable(t, newClock(), partitionedSpec())
	for i := range pathCacheMax + 10 {
		e := entryOf(t, table, "f", 0, 0, fmt.Sprint(i))
		require.Equal(t, fmt.Sprintf("p=%d/", i), table.PartitionText(e.Partition))
	}
	require.LessOrEqual(t, len(table.paths.texts), pathCacheMax)
}

func TestTablesOfACatalogShareManifests(t *testing.T) {
	catalog, table := newTestTable(t, newClock(), kvSpec())
	s := putSnapshot(t, table, 1, 1, entryOf(t, table, "f", 0, 0))
	counting := &countingStore{Store: table.Store}
	catalog.store = counting
	var lists [][]manifest.Entry
	for range 2 {
		again, err := catalog.OpenTable(t.Context(), "db.t")
		require.NoError(t, err)
		entries, err := again.DeltaEntries(t.Context(), s)
		require.NoError(t, err)
		lists = append(lists, entries)
	}
	require.True(t, slices.Equal(fileNames(lists[0]), fileNames(lists[1])))
	require.Same(t, &lists[0][0], &lists[1][0])
}
