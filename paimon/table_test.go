package paimon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// clock is a time that only tests move; waiting moves it too.
type clock struct {
	now   time.Time
	waits []time.Duration
}

func (c *clock) options() OpenOptions {
	return OpenOptions{
		Now: func() time.Time { return c.now },
		Wait: func(ctx context.Context, d time.Duration) error {
			c.waits = append(c.waits, d)
			c.now = c.now.Add(d)
			return ctx.Err()
		},
		Location: time.UTC,
	}
}

func newClock() *clock { return &clock{now: time.UnixMilli(1_700_000_000_000)} }

// newTable creates the table db.t in a new store in memory.
func newTestTable(t *testing.T, c *clock, spec SchemaSpec) (*Catalog, *Table) {
	t.Helper()
	catalog := NewCatalogWith(memstore.New(memstore.Options{Now: func() time.Time { return c.now }}), "wh", c.options())
	require.NoError(t, catalog.CreateDatabase(t.Context(), "db"))
	table, err := catalog.CreateTable(t.Context(), "db.t", spec)
	require.NoError(t, err)
	return catalog, table
}

func kvSpec() SchemaSpec {
	return SchemaSpec{Schema: ColumnsSpec{Fields: []string{"k INT NOT NULL", "v STRING"}, PK: []string{"k"}}, Options: map[string]string{"bucket": "1"}}
}

func ptr[T any](v T) *T { return &v }

// putSnapshot writes a snapshot whose delta has the entries and whose base has
// those of the snapshot before, without touching the hints.
func putSnapshot(t *testing.T, table *Table, id int64, millis int64, delta ...manifest.Entry) *Snapshot {
	t.Helper()
	ctx := t.Context()
	s := &Snapshot{
		Version: SnapshotVersion, ID: id, SchemaID: table.Schema().ID, CommitUser: "test", CommitIdentifier: id, CommitKind: CommitAppend, TimeMillis: millis,
		TotalRecordCount: ptr(int64(0)), DeltaRecordCount: ptr(int64(0)),
		BaseManifestList: fmt.Sprintf("manifest-list-%s-%d-0", table.Branch, id), DeltaManifestList: fmt.Sprintf("manifest-list-%s-%d-1", table.Branch, id),
	}
	var base []manifest.Meta
	if before, err := table.Snapshot(ctx, id-1); err == nil {
		for _, list := range []string{before.BaseManifestList, before.DeltaManifestList} {
			metas, err := table.ManifestList(ctx, list)
			require.NoError(t, err)
			base = append(base, metas...)
		}
	}
	name := fmt.Sprintf("manifest-%s-%d", table.Branch, id)
	data, err := manifest.EncodeEntries(delta, manifest.Options{Compression: "zstd"})
	require.NoError(t, err)
	require.NoError(t, table.Store.Put(ctx, table.ManifestPath(name), data))
	meta, err := manifest.Summarize(name, int64(len(data)), delta, table.Schema().PartitionTypes())
	require.NoError(t, err)
	for list, metas := range map[string][]manifest.Meta{s.BaseManifestList: base, s.DeltaManifestList: {meta}} {
		data, err := manifest.EncodeList(metas, manifest.Options{Compression: "zstd"})
		require.NoError(t, err)
		require.NoError(t, table.Store.Put(ctx, table.ManifestPath(list), data))
	}
	text, err := s.Marshal()
	require.NoError(t, err)
	require.NoError(t, table.Store.PutIfAbsent(ctx, table.SnapshotPath(id), text))
	return s
}

func putHint(t *testing.T, table *Table, name, text string) {
	t.Helper()
	require.NoError(t, table.Store.Put(t.Context(), table.snapshotFiles().dir+"/"+name, []byte(text)))
}

// entryOf returns an ADD entry of a file in a partition given by its values.
func entryOf(t *testing.T, table *Table, name string, bucket, level int32, partition ...string) manifest.Entry {
	t.Helper()
	row := rowdata.EmptyManifestRow()
	if types := table.Schema().PartitionTypes(); len(types) > 0 {
		cols := make([]*rowdata.Vector, len(types))
		for i, typ := range types {
			cols[i] = rowdata.NewVector(typ, 1)
			require.NoError(t, rowdata.AppendParsed(cols[i], partition[i]))
		}
		row = rowdata.AppendManifestRow(nil, cols, 0)
	}
	source := manifest.SourceAppend
	return manifest.Entry{Partition: row, Bucket: bucket, TotalBuckets: 2, File: manifest.DataFile{
		FileName: name, FileSize: 10, RowCount: 1, Level: level, MinKey: rowdata.EmptyManifestRow(), MaxKey: rowdata.EmptyManifestRow(),
		Source: &source, DeleteRowCount: ptr(int64(0)),
	}}
}

func fileNames(entries []manifest.Entry) []string {
	names := make([]string, len(entries))
	for i := range entries {
		names[i] = entries[i].File.FileName
	}
	return names
}

func TestLatestFollowsTheHintRules(t *testing.T) {
	for _, c := range []struct {
		name      string
		latest    string // hint; "-": none
		snapshots []int64
		want      int64
	}{
		{"right hint", "3", []int64{1, 2, 3}, 3},
		{"stale hint", "2", []int64{1, 2, 3, 4}, 4},
		{"no hint", "-", []int64{1, 2, 3}, 3},
		{"torn hint", "", []int64{1, 2, 3}, 3},
		{"garbage", "x7", []int64{1, 2}, 2},
		{"negative", "-5", []int64{1, 2}, 2},
		{"zero", "0", []int64{1, 2}, 2},
		{"line break", "3\n", []int64{1, 2, 3}, 3},
		{"beyond the newest", "9", []int64{1, 2, 3}, 3},
		{"expired beginning", "-", []int64{7, 8, 9, 10, 11}, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, table := newTestTable(t, newClock(), kvSpec())
			for _, id := range c.snapshots {
				putSnapshot(t, table, id, id)
			}
			// None of these is a snapshot.
			for _, stray := range []string{"snapshot-", "snapshot-01", "snapshot-99x", "snapshot-1f2e.tmp", ".snapshot-99.x.tmp", "snapshot--1", "snapshot-99999999999999999999", "snapshot-+5"} {
				require.NoError(t, table.Store.Put(t.Context(), table.snapshotFiles().dir+"/"+stray, []byte("{}")))
			}
			if c.latest != "-" {
				putHint(t, table, hintLatest, c.latest)
			}
			s, err := table.LatestSnapshot(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, s.ID)
			id, err := table.LatestID(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, id)
			ids, err := table.SnapshotIDs(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.snapshots, ids)
		})
	}
}

// A reader beside a writer finds the hint a little behind most of the time, and
// does not list the folder for that.
func TestLatestWalksFromTheHint(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	store := &listCounter{Store: table.Store}
	table.Store = store
	for id := range int64(2 + latestForward) {
		putSnapshot(t, table, id+1, id+1)
	}
	for _, c := range []struct {
		hint  int64
		lists int
	}{{2 + latestForward, 0}, {1 + latestForward, 0}, {3, 0}, {2, 1}} {
		putHint(t, table, hintLatest, strconv.FormatInt(c.hint, 10))
		store.lists = 0
		id, err := table.LatestID(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2+latestForward, id)
		require.Equal(t, c.lists, store.lists, "hint %d", c.hint)
	}
}

// listCounter counts the listings of folders.
type listCounter struct {
	objstore.Store
	lists int
}

func (s *listCounter) ListDir(ctx context.Context, dir string) ([]objstore.Info, []string, error) {
	s.lists++
	return s.Store.ListDir(ctx, dir)
}

func TestEarliestFollowsTheHintRules(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	_, err := table.EarliestID(t.Context())
	require.ErrorIs(t, err, ErrNoSnapshot)
	_, err = table.LatestID(t.Context())
	require.ErrorIs(t, err, ErrNoSnapshot)
	_, err = table.EarliestSnapshot(t.Context())
	require.ErrorIs(t, err, ErrNoSnapshot)
	for id := int64(3); id < 7; id++ {
		putSnapshot(t, table, id, id)
	}
	for _, hint := range []string{"", "1", "3", "99", "x"} {
		putHint(t, table, hintEarliest, hint)
		id, err := table.EarliestID(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, id, hint)
	}
	putHint(t, table, hintEarliest, "5")
	id, err := table.EarliestID(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, id, "a hint whose snapshot exists is believed")
}

// blinkStore answers the first opens of a name with another content.
type blinkStore struct {
	objstore.Store
	name  string
	torn  []byte
	times int
	gone  bool
}

func (s *blinkStore) Open(ctx context.Context, name string) (objstore.Reader, error) {
	if name == s.name && s.times > 0 {
		s.times--
		if s.gone {
			return nil, objstore.ErrNotExist
		}
		return tornReader{bytes.NewReader(s.torn)}, nil
	}
	return s.Store.Open(ctx, name)
}

type tornReader struct{ *bytes.Reader }

func (tornReader) Close() error  { return nil }
func (r tornReader) Size() int64 { return r.Reader.Size() }

var _ io.ReaderAt = tornReader{}

func TestTornSnapshotIsReadAgain(t *testing.T) {
	c := newClock()
	_, table := newTestTable(t, c, kvSpec())
	putSnapshot(t, table, 1, 1)
	blink := &blinkStore{Store: table.Store, name: table.SnapshotPath(1), torn: []byte(`{"version" : 3, "id"`), times: parseTries - 1}
	table.Store = blink
	s, err := table.Snapshot(t.Context(), 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.ID)
	require.Len(t, c.waits, parseTries-1)
	require.Equal(t, parsePause, c.waits[0])

	blink.times = parseTries
	_, err = table.Snapshot(t.Context(), 1)
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "snapshot-1")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	blink.times = parseTries
	_, err = table.Snapshot(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
}

func TestEarliestWalksForwardWhileSnapshotsExpire(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	for id := int64(1); id <= 3; id++ {
		putSnapshot(t, table, id, id)
	}
	table.Store = &blinkStore{Store: table.Store, name: table.SnapshotPath(1), gone: true, times: 1}
	s, err := table.EarliestSnapshot(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, s.ID)
}

func TestSnapshotErrorsNameTheFile(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	_, err := table.Snapshot(t.Context(), 5)
	require.ErrorIs(t, err, ErrSnapshotNotFound)
	require.ErrorIs(t, err, objstore.ErrNotExist)
	require.ErrorContains(t, err, "snapshot 5")
	s := putSnapshot(t, table, 1, 1)
	data, err := s.Marshal()
	require.NoError(t, err)
	require.NoError(t, table.Store.Put(t.Context(), table.SnapshotPath(2), data))
	_, err = table.Snapshot(t.Context(), 2)
	require.ErrorIs(t, err, ErrCorrupt, "the id is that of another file")
}

func TestTimeTravel(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	at := func(millis int64) time.Time { return time.UnixMilli(millis) }
	_, err := table.SnapshotAtOrBefore(t.Context(), at(5))
	require.ErrorIs(t, err, ErrNoSnapshot)
	times := map[int64]int64{}
	for id := int64(4); id <= 12; id++ { // some of the same time
		times[id] = 1000 + (id/2)*10
		putSnapshot(t, table, id, times[id])
	}
	for millis := int64(1000); millis < 1100; millis++ {
		var atOrBefore, before int64
		for id := int64(4); id <= 12; id++ {
			if times[id] <= millis {
				atOrBefore = id
			}
			if times[id] < millis {
				before = id
			}
		}
		s, err := table.SnapshotAtOrBefore(t.Context(), at(millis))
		if atOrBefore == 0 {
			require.ErrorIs(t, err, ErrSnapshotNotFound)
		} else {
			require.NoError(t, err)
			require.Equal(t, atOrBefore, s.ID)
		}
		s, err = table.SnapshotBefore(t.Context(), at(millis))
		require.NoError(t, err)
		if before == 0 {
			require.Nil(t, s)
		} else {
			require.Equal(t, before, s.ID)
		}
	}
}

func TestTimeTravelByWatermark(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	marks := []*int64{nil, ptr(int64(UnknownWatermark)), ptr(int64(10)), ptr(int64(10)), ptr(int64(30))}
	for i, w := range marks {
		s := putSnapshot(t, table, int64(i+1), int64(i))
		s.Watermark = w
		data, err := s.Marshal()
		require.NoError(t, err)
		require.NoError(t, table.Store.Put(t.Context(), table.SnapshotPath(s.ID), data))
	}
	for w, want := range map[int64]int64{-5: 3, 10: 3, 11: 5, 30: 5} {
		s, err := table.SnapshotByWatermark(t.Context(), w)
		require.NoError(t, err)
		require.Equal(t, want, s.ID, w)
	}
	_, err := table.SnapshotByWatermark(t.Context(), 31)
	require.ErrorIs(t, err, ErrSnapshotNotFound)
}

func TestIdentityTellsARecreatedTable(t *testing.T) {
	c := newClock()
	catalog, table := newTestTable(t, c, kvSpec())
	now, err := table.CurrentIdentity(t.Context())
	require.NoError(t, err)
	require.Equal(t, table.Identity(), now)
	require.NoError(t, catalog.DropTable(t.Context(), "db.t"))
	_, err = table.CurrentIdentity(t.Context())
	require.ErrorIs(t, err, ErrTableNotFound)
	c.now = c.now.Add(time.Millisecond)
	_, err = catalog.CreateTable(t.Context(), "db.t", kvSpec())
	require.NoError(t, err)
	now, err = table.CurrentIdentity(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, table.Identity(), now)
}

func TestOpenNamesWhatIsMissing(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	_, err := Open(t.Context(), table.Store, "wh/db.db/none", "")
	require.ErrorIs(t, err, ErrTableNotFound)
	_, err = Open(t.Context(), table.Store, table.Path, "b")
	require.ErrorIs(t, err, ErrBranchNotFound)
	require.NoError(t, table.Store.Put(t.Context(), table.SchemaPath(1), []byte("{")))
	_, err = Open(t.Context(), table.Store, table.Path, "")
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "schema-1")
}
