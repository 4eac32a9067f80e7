package snapshotreader

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon"
)

// where tells the position that a start resolves to: snapshot, negative for its
// image.
func where(t *testing.T, table *paimon.Table, start Start) (int64, error) {
	t.Helper()
	tl, err := Open(t.Context(), table, start, Options{})
	if err != nil {
		return 0, err
	}
	defer tl.Close()
	c := tl.Cursor()
	require.Equal(t, table.Identity(), c.Table)
	require.True(t, c.AtBoundary())
	if c.Phase == Image {
		return -c.Snapshot, nil
	}
	return c.Snapshot, nil
}

func TestStartPositions(t *testing.T) {
	// 16 snapshots, of which 13 to 16 are left, and long-lived changelogs 1 to 12.
	decoupled := openGolden(t, filepath.Join(flinkDir, "changelog_decoupled/default.db/changelog_decoupled"), "")
	expired := openGolden(t, filepath.Join(goldenDir, "expired/table"), "") // only snapshot 5
	tags := openGolden(t, filepath.Join(goldenDir, "tags-branches/table"), "")
	dev := openGolden(t, filepath.Join(goldenDir, "tags-branches/table"), "dev")
	empty := openGolden(t, filepath.Join(goldenDir, "no-snapshot/table"), "")
	timeOf := func(table *paimon.Table, id int64) time.Time {
		snap, _, err := table.SnapshotOrChangelog(t.Context(), id)
		require.NoError(t, err)
		return snap.Time()
	}
	for _, tt := range []struct {
		name  string
		table *paimon.Table
		start Start
		want  int64
	}{
		{"earliest", tags, Start{}, 1},
		{"earliest of what is left", expired, Start{}, 5},
		{"earliest long-lived changelog", decoupled, Start{}, 1},
		{"earliest of an empty table", empty, Start{}, 1},
		{"latest", tags, Start{Mode: StartLatest}, 4},
		{"latest of an empty table", empty, Start{Mode: StartLatest}, 1},
		{"latest of a branch", dev, Start{Mode: StartLatest}, 4},
		{"full", tags, Start{Mode: StartFull}, -3},
		{"full of an empty table", empty, Start{Mode: StartFull}, 1},
		{"snapshot", tags, Start{Mode: StartSnapshot, Snapshot: 2}, 2},
		{"the next snapshot", tags, Start{Mode: StartSnapshot, Snapshot: 4}, 4},
		{"the first snapshot of an empty table", empty, Start{Mode: StartSnapshot, Snapshot: 1}, 1},
		{"snapshot that is a changelog", decoupled, Start{Mode: StartSnapshot, Snapshot: 7}, 7},
		{"expired snapshot, or earliest", expired, Start{Mode: StartSnapshot, Snapshot: 2, OrEarliest: true}, 5},
		{"snapshot full", tags, Start{Mode: StartSnapshotFull, Snapshot: 2}, -2},
		{"time before all", tags, Start{Mode: StartTime, Time: time.UnixMilli(0)}, 1},
		{"time before what is left", expired, Start{Mode: StartTime, Time: time.UnixMilli(0)}, 5},
		{"time of a snapshot", tags, Start{Mode: StartTime, Time: timeOf(tags, 3)}, 3},
		{"time after a snapshot", tags, Start{Mode: StartTime, Time: timeOf(tags, 3).Add(time.Millisecond)}, 4},
		{"time of a changelog", decoupled, Start{Mode: StartTime, Time: timeOf(decoupled, 9)}, 9},
		{"time before the changelogs", decoupled, Start{Mode: StartTime, Time: time.UnixMilli(0)}, 1},
		{"time in an empty table", empty, Start{Mode: StartTime, Time: time.UnixMilli(0)}, 1},
		{"tag", tags, Start{Mode: StartTag, Tag: "v1"}, 2},
		{"tag full", tags, Start{Mode: StartTagFull, Tag: "v1"}, -1},
		{"consumer", tags, Start{Mode: StartConsumer, Consumer: "reader-1"}, 2},
		{"no such consumer", tags, Start{Mode: StartConsumer, Consumer: "nobody"}, -3},
		{"cursor", tags, At(Cursor{Table: tags.Identity(), Snapshot: 2, Phase: Changes}), 2},
		{"cursor in a branch", dev, At(Cursor{Table: dev.Identity(), Branch: branchID("dev"), Snapshot: 2, Phase: Changes}), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := where(t, tt.table, tt.start)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
	// The state of an expired snapshot is there as long as a tag names it.
	tag, err := decoupled.Tags(t.Context())
	require.NoError(t, err)
	require.Len(t, tag, 1)
	got, err := where(t, decoupled, Start{Mode: StartTagFull, Tag: tag[0].Name})
	require.NoError(t, err)
	require.Equal(t, -tag[0].Snapshot.ID, got)
	got, err = where(t, decoupled, Start{Mode: StartSnapshotFull, Snapshot: tag[0].Snapshot.ID})
	require.NoError(t, err)
	require.Equal(t, -tag[0].Snapshot.ID, got)
}

func TestStartRefused(t *testing.T) {
	decoupled := openGolden(t, filepath.Join(flinkDir, "changelog_decoupled/default.db/changelog_decoupled"), "")
	expired := openGolden(t, filepath.Join(goldenDir, "expired/table"), "")
	tags := openGolden(t, filepath.Join(goldenDir, "tags-branches/table"), "")
	dev := openGolden(t, filepath.Join(goldenDir, "tags-branches/table"), "dev")
	empty := openGolden(t, filepath.Join(goldenDir, "no-snapshot/table"), "")
	here := func(table *paimon.Table, c Cursor) Start {
		c.Table, c.Branch = table.Identity(), branchID(table.Branch)
		return At(c)
	}
	gone := func(earliest, latest int64) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			var e *CursorExpiredError
			require.ErrorAs(t, err, &e)
			require.Equal(t, earliest, e.Earliest)
			require.Equal(t, latest, e.Latest)
		}
	}
	ahead := func(latest int64) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			var e *CursorAheadError
			require.ErrorAs(t, err, &e)
			require.Equal(t, latest, e.Latest)
		}
	}
	mismatch := func(reason string) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			var e *CursorMismatchError
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Reason, reason)
		}
	}
	is := func(target error) func(*testing.T, error) {
		return func(t *testing.T, err error) { require.ErrorIs(t, err, target) }
	}
	tl, err := Open(t.Context(), tags, Start{Mode: StartLatest}, Options{})
	require.NoError(t, err)
	marked := tl.Cursor()
	require.NoError(t, tl.Close())
	marked.mark++
	for _, tt := range []struct {
		name  string
		table *paimon.Table
		start Start
		check func(*testing.T, error)
	}{
		{"snapshot expired", expired, Start{Mode: StartSnapshot, Snapshot: 2}, gone(5, 5)},
		{"image expired", expired, Start{Mode: StartSnapshotFull, Snapshot: 2}, gone(5, 5)},
		{"image of a long-lived changelog", decoupled, Start{Mode: StartSnapshotFull, Snapshot: 7}, gone(13, 16)},
		{"cursor expired", expired, here(expired, Cursor{Snapshot: 2, Phase: Changes, Unit: 1, Row: 5}), gone(5, 5)},
		{"cursor in an image that expired", decoupled, here(decoupled, Cursor{Snapshot: 12, Phase: Image}), gone(13, 16)},
		{"snapshot ahead", tags, Start{Mode: StartSnapshot, Snapshot: 5}, ahead(3)},
		{"image ahead", tags, Start{Mode: StartSnapshotFull, Snapshot: 4}, ahead(3)},
		{"cursor ahead", tags, here(tags, Cursor{Snapshot: 9, Phase: Changes}), ahead(3)},
		{"cursor inside what is not there yet", tags, here(tags, Cursor{Snapshot: 4, Phase: Changes, Row: 1}), ahead(3)},
		{"cursor far ahead", empty, here(empty, Cursor{Snapshot: math.MaxInt64, Phase: Changes}), ahead(0)},
		{"image in an empty table", empty, here(empty, Cursor{Snapshot: 1, Phase: Image}), ahead(0)},
		{"another table", tags, At(Cursor{Table: 1, Snapshot: 1, Phase: Changes}), mismatch("another table")},
		{"another branch", dev, At(Cursor{Table: dev.Identity(), Snapshot: 1, Phase: Changes}), mismatch("another branch than dev")},
		{"another history", tags, At(marked), mismatch("rolled back")},
		{"no tag", tags, Start{Mode: StartTag, Tag: "none"}, is(paimon.ErrTagNotFound)},
		{"no cursor", tags, Start{Mode: StartCursor}, func(t *testing.T, err error) {
			var e *CursorInvalidError
			require.ErrorAs(t, err, &e)
		}},
		{"no mode", tags, Start{Mode: 99}, func(t *testing.T, err error) { require.ErrorContains(t, err, "StartMode(99)") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := where(t, tt.table, tt.start)
			require.Error(t, err)
			tt.check(t, err)
		})
	}
}

// A unit or row that the snapshot does not have is told, not read past.
func TestCursorBeyondTheSnapshot(t *testing.T) {
	table := openGolden(t, filepath.Join(goldenDir, "dedup-input/table"), "")
	for _, c := range []Cursor{
		{Snapshot: 1, Phase: Changes, Unit: 2},
		{Snapshot: 1, Phase: Changes, Unit: math.MaxUint32},
		{Snapshot: 1, Phase: Changes, Unit: 1, Row: 1},
		{Snapshot: 1, Phase: Changes, Row: 1000},
		{Snapshot: 1, Phase: Changes, Row: math.MaxInt64},
		{Snapshot: 3, Phase: Image, Row: 1000},
		{Snapshot: 3, Phase: Image, Unit: 1, Row: 1},
	} {
		c.Table = table.Identity()
		tl, err := Open(t.Context(), table, At(c), Options{})
		if err == nil {
			_, err = tl.Next(t.Context())
			require.NoError(t, tl.Close())
		}
		var mismatch *CursorMismatchError
		require.ErrorAs(t, err, &mismatch, "%+v", c)
	}
	// Just behind the last row is the next snapshot.
	c := Cursor{Table: table.Identity(), Snapshot: 1, Phase: Changes, Unit: 1}
	tl, err := Open(t.Context(), table, At(c), Options{})
	require.NoError(t, err)
	b, err := tl.Next(t.Context())
	require.NoError(t, err)
	require.Zero(t, b.Rows.N)
	require.True(t, b.Last)
	require.False(t, b.First)
	b, err = tl.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(2), b.Snapshot.ID)
	require.NoError(t, tl.Close())
}

// A file that is missing is a failure of storage, unless the snapshot is gone too.
func TestFileIsMissing(t *testing.T) {
	h := newHistory(t, "dedup-input", 8)
	table := h.table()
	snap, err := table.Snapshot(t.Context(), 2)
	require.NoError(t, err)
	entries, err := table.ChangelogEntries(t.Context(), snap)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	file := table.DataFilePath(&entries[0])
	data, err := objstore.ReadAll(t.Context(), h, file)
	require.NoError(t, err)
	require.NoError(t, h.Delete(t.Context(), file))

	tl, err := Open(t.Context(), h.table(), Start{}, Options{Until: Until{Mode: UntilLatest}})
	require.NoError(t, err)
	defer tl.Close()
	for range 2 { // 1, and then the error as often as it is asked for
		b, err := tl.Next(t.Context())
		if err == nil {
			require.Equal(t, int64(1), b.Snapshot.ID)
			continue
		}
		require.ErrorIs(t, err, objstore.ErrNotExist)
		require.ErrorContains(t, err, entries[0].File.FileName)
		var expired *CursorExpiredError
		require.NotErrorAs(t, err, &expired)
	}
	// When the file is back, reading goes on where it was.
	require.NoError(t, h.Put(t.Context(), file, data))
	b, err := tl.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(2), b.Snapshot.ID)
	require.True(t, b.First)

	// With its snapshot gone too, it has expired.
	tl2, err := Open(t.Context(), h.table(), Start{Mode: StartSnapshot, Snapshot: 2}, Options{})
	require.NoError(t, err)
	defer tl2.Close()
	require.NoError(t, h.Delete(t.Context(), file))
	gone := &goneAfter{history: h, file: file, then: func() { h.remove(snapshotFile(1), snapshotFile(2)) }}
	tl2.table.Store = gone
	_, err = tl2.Next(t.Context())
	var expired *CursorExpiredError
	require.ErrorAs(t, err, &expired)
	require.Equal(t, int64(3), expired.Earliest)
	require.ErrorIs(t, err, objstore.ErrNotExist)
}

// goneAfter is a store in which something happens when a file is opened.
type goneAfter struct {
	*history
	file string
	then func()
}

func (g *goneAfter) Open(ctx context.Context, name string) (objstore.Reader, error) {
	if name == g.file {
		g.then()
	}
	return g.history.Open(ctx, name)
}
