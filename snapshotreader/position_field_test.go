package snapshotreader

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// A subscriber that starts while a row is uncompacted gets the row once: the image
// has what is compacted, the event of the rest comes with its compaction. A table
// that hid level 0 in the image alone would lose the row, one that showed it would
// double it.
func TestRowOnLevel0ComesOnce(t *testing.T) {
	for _, options := range []map[string]string{
		{"changelog-producer": "lookup"},
		{"changelog-producer": "lookup", "merge-engine": "first-row"},
		{"changelog-producer": "full-compaction"},
	} {
		t.Run(fmt.Sprint(options), func(t *testing.T) {
			options["bucket"] = "1"
			k := newTableKit(t, keyValue, options)
			changelog := func(rows ...string) []manifest.Entry {
				return k.write("changelog-", rowdata.EmptyManifestRow(), 0, 5, k.records(rows...), datafile.Options{})
			}
			k.commit(paimon.CommitCompact, k.data(5, `+I [1, "A"]`), changelog(`+I [1, "A"]`))
			b := k.data(0, `+I [2, "B"]`)
			k.commit(paimon.CommitAppend, b, nil)
			require.Equal(t, []string{`2 +I [1,"A"]`}, k.tail(Start{Mode: StartFull}, Options{}))
			tl, err := Open(t.Context(), k.Table, Start{Mode: StartFull}, Options{})
			require.NoError(t, err)
			defer tl.Close()
			image, err := tl.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{`[1,"A"]`}, rowsOf([]*Batch{image}))
			up := k.data(5, `+I [2, "B"]`)
			k.commit(paimon.CommitCompact, slices.Concat(deleted(b), up), changelog(`+I [2, "B"]`))
			event, err := tl.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(3), event.Snapshot.ID)
			require.Equal(t, []string{`[2,"B"]`}, rowsOf([]*Batch{event}))
			// And who starts now has it in the image alone.
			require.Equal(t, []string{`3 +I [1,"A"]`, `3 +I [2,"B"]`}, k.tail(Start{Mode: StartFull}, Options{}))
		})
	}
}

// decoupled makes a table of 21 snapshots with a row each, of which snapshots 18 to
// 21 are left, and the long-lived changelogs of 1 to 6.
func decoupled(t *testing.T) *tableKit {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1"})
	for id := range int64(21) {
		k.commit(paimon.CommitAppend, k.data(0, fmt.Sprintf(`+I [%d, "v"]`, id+1)), nil)
	}
	for id := range int64(17) {
		name := k.SnapshotPath(id + 1)
		data, err := objstore.ReadAll(t.Context(), k.store, name)
		require.NoError(t, err)
		if id < 6 {
			require.NoError(t, k.store.Put(t.Context(), k.ChangelogPath(id+1), data))
		}
		require.NoError(t, k.store.Delete(t.Context(), name))
	}
	return k
}

// Changes between the kept changelogs and the kept snapshots are gone: a reader is
// told so where it comes to the gap, at its start or later, and is never taken over
// it.
func TestGapBehindKeptChangelogs(t *testing.T) {
	k := decoupled(t)
	at := func(id int64) Start { return At(Cursor{Table: k.Identity(), Snapshot: id, Phase: Changes}) }
	gap := func(err error) {
		t.Helper()
		var e *CursorExpiredError
		require.ErrorAs(t, err, &e)
		require.Equal(t, int64(7), e.Cursor.Snapshot)
		require.Equal(t, int64(18), e.Earliest)
		require.Equal(t, int64(21), e.Latest)
	}
	tl, err := Open(t.Context(), k.Table, at(7), Options{})
	if err == nil {
		_, err = tl.Next(t.Context())
		require.NoError(t, tl.Close())
	}
	gap(err)
	tl, err = Open(t.Context(), k.Table, at(4), Options{})
	require.NoError(t, err)
	defer tl.Close()
	for id := int64(4); id <= 6; id++ {
		b, err := tl.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, id, b.Snapshot.ID)
		require.Equal(t, []string{fmt.Sprintf(`[%d,"v"]`, id)}, rowsOf([]*Batch{b}))
	}
	_, err = tl.Next(t.Context())
	gap(err)
	require.Equal(t, int64(7), tl.Cursor().Snapshot)
}

// The changelog of a snapshot that expired is delivered though the manifests of its
// state are gone, and nothing of them is asked for.
func TestKeptChangelogNeedsNoState(t *testing.T) {
	k := decoupled(t)
	for id := int64(1); id <= 6; id++ {
		s, _, err := k.SnapshotOrChangelog(t.Context(), id)
		require.NoError(t, err)
		require.NoError(t, k.store.Delete(t.Context(), k.ManifestPath(s.BaseManifestList)))
		gone := "index-manifest-of-the-past-0"
		s.IndexManifest = &gone
		data, err := s.Marshal()
		require.NoError(t, err)
		require.NoError(t, k.store.Put(t.Context(), k.ChangelogPath(id), data))
	}
	h := &history{Store: k.store, t: t}
	table, err := paimon.Open(t.Context(), h, k.path, "")
	require.NoError(t, err)
	changes, err := readStream(t.Context(), t, table, Start{}, Options{Until: Until{Mode: UntilSnapshot, Snapshot: 6}})
	require.NoError(t, err)
	require.Len(t, changes, 6)
	for _, name := range h.names() {
		require.NotContains(t, name, "index-manifest")
	}
}

// Compactions and empty commits bring no rows, and still move the position, so
// that expiry does not wait for a reader of a quiet table.
func TestCommitsWithoutRowsMoveThePosition(t *testing.T) {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1"})
	first := k.data(0, `+I [1, "a"]`)
	k.commit(paimon.CommitAppend, first, nil)
	k.commit(paimon.CommitCompact, slices.Concat(deleted(first), k.data(5, `+I [1, "a"]`)), nil)
	k.commit(paimon.CommitAppend, nil, nil)
	k.commit(paimon.CommitAppend, nil, nil)
	tl, err := Open(t.Context(), k.Table, Start{}, Options{Until: Until{Mode: UntilLatest}})
	require.NoError(t, err)
	defer tl.Close()
	b, err := tl.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), b.Snapshot.ID)
	for err == nil {
		if b, err = tl.Next(t.Context()); err == nil {
			require.Zero(t, b.Rows.N)
		}
	}
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, int64(5), tl.Cursor().Snapshot)
	require.True(t, tl.Cursor().AtBoundary())
}
