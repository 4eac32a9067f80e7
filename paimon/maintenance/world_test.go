package maintenance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/race"
	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

func TestMain(m *testing.M) {
	flag.Parse()
	checks := flag.Lookup("rapid.checks").Value
	if n, err := strconv.Atoi(checks.String()); err == nil {
		_ = checks.Set(strconv.Itoa(n / race.Stride))
	}
	goleak.VerifyTestMain(m)
}

// world is a table in memory whose commits are made by hand, so that a test
// decides what is in each snapshot.
type world struct {
	t     require.TestingT
	ctx   context.Context
	store objstore.Store
	now   time.Time
	table *paimon.Table
	files int // names given so far
}

func newWorld(t require.TestingT, ctx context.Context, options map[string]string) *world {
	w := &world{t: t, ctx: ctx, now: time.UnixMilli(1_700_000_000_000)}
	w.store = memstore.New(memstore.Options{Now: w.clock})
	catalog := paimon.NewCatalogWith(w.store, "wh", w.options())
	require.NoError(t, catalog.CreateDatabase(ctx, "db"))
	spec := paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "p INT NOT NULL", "v STRING"}, PK: []string{"k", "p"}, Partition: []string{"p"}},
		Options: map[string]string{"bucket": "1"},
	}
	for k, v := range options {
		spec.Options[k] = v
	}
	var err error
	w.table, err = catalog.CreateTable(ctx, "db.t", spec)
	require.NoError(t, err)
	return w
}

func (w *world) clock() time.Time { return w.now }

func (w *world) options() paimon.OpenOptions {
	// Without a cache a missing file is noticed.
	return paimon.OpenOptions{Now: w.clock, ManifestCacheBytes: -1, Location: time.UTC}
}

func (w *world) branch(name string) *paimon.Table {
	b, err := paimon.OpenWith(w.ctx, w.store, w.table.Path, name, w.options())
	require.NoError(w.t, err)
	return b
}

func (w *world) name(prefix string) string {
	w.files++
	return fmt.Sprintf("%s%d", prefix, w.files)
}

// file makes a data file with a sidecar now and then.
func (w *world) file(prefix string, partition int32, level int32, source manifest.FileSource) manifest.Entry {
	col := rowdata.NewVector(&rowdata.Type{Root: rowdata.Int, NotNull: true}, 1)
	col.AppendI32(partition)
	e := manifest.Entry{
		Partition: rowdata.AppendManifestRow(nil, []*rowdata.Vector{col}, 0), TotalBuckets: 1,
		File: manifest.DataFile{
			FileName: w.name(prefix) + ".parquet", FileSize: 1, RowCount: 1, Level: level, Source: &source,
			MinKey: rowdata.EmptyManifestRow(), MaxKey: rowdata.EmptyManifestRow(),
		},
	}
	if w.files%3 == 0 {
		e.File.ExtraFiles = []string{e.File.FileName + ".index"}
	}
	eachFile(w.table, &e, func(name string) { w.put(name, []byte("x")) })
	return e
}

func (w *world) put(name string, data []byte) { require.NoError(w.t, w.store.Put(w.ctx, name, data)) }

func deleted(e manifest.Entry) manifest.Entry {
	e.Kind = manifest.Delete
	return e
}

// change is what a commit does.
type change struct {
	kind      paimon.CommitKind
	delta     []manifest.Entry
	changelog []manifest.Entry
	merge     bool // the base becomes one new manifest
	index     bool // a new index file for the whole table
	stats     bool
}

// commit makes the next snapshot of a branch.
func (w *world) commit(t *paimon.Table, c change) *paimon.Snapshot {
	w.now = w.now.Add(time.Minute)
	s := &paimon.Snapshot{
		Version: paimon.SnapshotVersion, ID: 1, SchemaID: t.Schema().ID, CommitUser: "test", CommitIdentifier: 1, CommitKind: c.kind, TimeMillis: w.now.UnixMilli(),
		TotalRecordCount: new(int64), DeltaRecordCount: new(int64),
	}
	var base []manifest.Meta
	before, err := t.LatestSnapshot(w.ctx)
	switch {
	case err == nil:
		s.ID, s.IndexManifest, s.Statistics = before.ID+1, before.IndexManifest, before.Statistics
		for _, list := range []string{before.BaseManifestList, before.DeltaManifestList} {
			metas, err := t.ManifestList(w.ctx, list)
			require.NoError(w.t, err)
			base = append(base, metas...)
		}
		if c.merge {
			live, err := t.LiveEntries(w.ctx, before, paimon.Filter{})
			require.NoError(w.t, err)
			base = []manifest.Meta{w.manifest(t, live)}
		}
	default:
		require.ErrorIs(w.t, err, paimon.ErrNoSnapshot)
	}
	s.BaseManifestList = w.list(t, base)
	s.DeltaManifestList = w.list(t, []manifest.Meta{w.manifest(t, c.delta)})
	if c.changelog != nil {
		list := w.list(t, []manifest.Meta{w.manifest(t, c.changelog)})
		s.ChangelogManifestList = &list
	}
	if c.index {
		e := manifest.IndexEntry{Partition: rowdata.EmptyManifestRow(), Type: manifest.IndexHash, FileName: w.name("index-")}
		w.put(t.IndexPath(&e), []byte("x"))
		data, err := manifest.EncodeIndex([]manifest.IndexEntry{e}, manifest.Options{Compression: "null"})
		require.NoError(w.t, err)
		name := w.name("index-manifest-")
		w.put(t.ManifestPath(name), data)
		s.IndexManifest = &name
	}
	if c.stats {
		name := w.name("stat-")
		w.put(t.StatisticsPath(name), []byte("{}"))
		s.Statistics = &name
	}
	data, err := s.Marshal()
	require.NoError(w.t, err)
	require.NoError(w.t, w.store.PutIfAbsent(w.ctx, t.SnapshotPath(s.ID), data))
	require.NoError(w.t, t.WriteLatestHint(w.ctx, s.ID))
	return s
}

func (w *world) manifest(t *paimon.Table, entries []manifest.Entry) manifest.Meta {
	data, err := manifest.EncodeEntries(entries, manifest.Options{Compression: "null"})
	require.NoError(w.t, err)
	name := w.name("manifest-")
	w.put(t.ManifestPath(name), data)
	m, err := manifest.Summarize(name, int64(len(data)), entries, t.Schema().PartitionTypes())
	require.NoError(w.t, err)
	return m
}

func (w *world) list(t *paimon.Table, metas []manifest.Meta) string {
	data, err := manifest.EncodeList(metas, manifest.Options{Compression: "null"})
	require.NoError(w.t, err)
	name := w.name("manifest-list-")
	w.put(t.ManifestPath(name), data)
	return name
}

// live returns the entries of a branch's newest snapshot.
func (w *world) live(t *paimon.Table) []manifest.Entry {
	s, err := t.LatestSnapshot(w.ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil
	}
	require.NoError(w.t, err)
	live, err := t.LiveEntries(w.ctx, s, paimon.Filter{})
	require.NoError(w.t, err)
	return live
}

// check reads everything that any branch promises to have.
func (w *world) check() {
	branches, err := allBranches(w.ctx, w.branch(""))
	require.NoError(w.t, err)
	for _, b := range branches {
		w.checkBranch(b)
	}
}

func (w *world) checkBranch(b *paimon.Table) {
	ids, err := b.SnapshotIDs(w.ctx)
	require.NoError(w.t, err)
	for i, id := range ids {
		require.Equal(w.t, ids[0]+int64(i), id, "snapshots have no gap")
		s, err := b.Snapshot(w.ctx, id)
		require.NoError(w.t, err)
		w.checkState(b, s, fmt.Sprintf("snapshot %d", id))
		w.checkChanges(b, s, fmt.Sprintf("snapshot %d", id))
	}
	if len(ids) > 0 {
		latest, err := b.LatestID(w.ctx)
		require.NoError(w.t, err)
		require.Equal(w.t, ids[len(ids)-1], latest)
		earliest, err := b.EarliestID(w.ctx)
		require.NoError(w.t, err)
		require.Equal(w.t, ids[0], earliest)
	}
	tags, err := b.Tags(w.ctx)
	require.NoError(w.t, err)
	for _, tag := range tags {
		w.checkState(b, tag.Snapshot, "tag "+tag.Name)
	}
	changelogs, err := b.ChangelogIDs(w.ctx)
	require.NoError(w.t, err)
	for i, id := range changelogs {
		c, err := b.Changelog(w.ctx, id)
		require.NoError(w.t, err)
		w.checkChanges(b, c, fmt.Sprintf("changelog %d", id))
		if i > 0 {
			require.Equal(w.t, changelogs[i-1]+1, id, "changelogs have no gap")
		}
	}
	if n := len(changelogs); n > 0 {
		first, err := b.EarliestChangelogID(w.ctx)
		require.NoError(w.t, err)
		require.Equal(w.t, changelogs[0], first)
		last, err := b.LatestChangelogID(w.ctx)
		require.NoError(w.t, err)
		require.Equal(w.t, changelogs[n-1], last)
		if len(ids) > 0 {
			require.Equal(w.t, ids[0], last+1, "changelogs go on as snapshots")
		}
	}
}

func (w *world) exists(name, who string) {
	_, err := w.store.Stat(w.ctx, name)
	require.NoError(w.t, err, who)
}

// checkState: the rows of a snapshot can be read.
func (w *world) checkState(b *paimon.Table, s *paimon.Snapshot, who string) {
	who = "branch " + b.Branch + ": " + who
	require.NoError(w.t, eachMeta(w.ctx, b, s, partState, 0, func(f metaFile) { w.exists(f.name, who) }))
	require.NoError(w.t, eachLive(w.ctx, b, s, func(name string) { w.exists(name, who) }))
}

// checkChanges: the changes of a snapshot can be read.
func (w *world) checkChanges(b *paimon.Table, s *paimon.Snapshot, who string) {
	who = "branch " + b.Branch + ": changes of " + who
	if s.HasChangelog() {
		entries, err := b.ChangelogEntries(w.ctx, s)
		require.NoError(w.t, err, who)
		eachAdded(b, entries, func(name string) { w.exists(name, who) })
		return
	}
	if b.Schema().ChangelogProducer() != paimon.ProducerNone || s.CommitKind != paimon.CommitAppend {
		return
	}
	delta, err := b.DeltaEntries(w.ctx, s)
	require.NoError(w.t, err, who)
	eachAdded(b, delta, func(name string) { w.exists(name, who) })
}

// all lists the names of all objects of the table that are not schemas, hints or
// other metadata with a name of its own.
func (w *world) all() []string {
	var names []string
	require.NoError(w.t, w.store.List(w.ctx, w.table.Path, func(i objstore.Info) error {
		rest := strings.TrimPrefix(i.Name, w.table.Path+"/")
		for _, own := range []string{"schema/", "snapshot/", "changelog/", "tag/", "consumer/", "branch/"} {
			if strings.HasPrefix(rest, own) {
				return nil
			}
		}
		names = append(names, i.Name)
		return nil
	}))
	slices.Sort(names)
	return names
}

func testWorld(t *testing.T, options map[string]string) *world {
	t.Helper()
	return newWorld(t, t.Context(), options)
}

// expireAll lets age protect nothing.
func (w *world) expireAll(t *paimon.Table, retain int) *Expired {
	x, err := ExpireSnapshots(w.ctx, t, ExpireOptions{RetainMin: retain, RetainMax: retain, TimeRetained: -1, DeletesMax: 1000, Now: w.clock})
	require.NoError(w.t, err)
	return x
}
