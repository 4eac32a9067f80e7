package crash

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/maintenance"
	"sluice/paimon/manifest"
	"sluice/tablewriter"
)

// requireWhole checks that every file that a snapshot names is there with the size
// that it says, that snapshots are numbered without gaps, and that the positions of
// each source never go back.
func requireWhole(t *testing.T, table *paimon.Table) {
	t.Helper()
	ctx := t.Context()
	ids, err := table.SnapshotIDs(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, ids)
	seen := newChecked()
	positions := map[string]int64{}
	for i, id := range ids {
		require.Equal(t, ids[0]+int64(i), id, "snapshots without gaps")
		s, err := table.Snapshot(ctx, id)
		require.NoError(t, err)
		for name, text := range s.Properties {
			if source, ok := strings.CutPrefix(name, tablewriter.PropertyPosition+"source-"); ok {
				n, err := strconv.ParseInt(text, 10, 64)
				require.NoError(t, err)
				require.GreaterOrEqual(t, n, positions[source], "snapshot %d", id)
				positions[source] = n
			}
		}
		requireSnapshot(t, table, s, seen)
	}
}

// checked is what was looked at already.
type checked struct {
	manifests map[string][]manifest.Entry
	files     map[string]bool
}

func newChecked() *checked {
	return &checked{manifests: map[string][]manifest.Entry{}, files: map[string]bool{}}
}

// requireSnapshot checks the files that are alive in a snapshot and those of its
// changelog. What was compacted away before it is named by its manifests too, and may
// be gone with the last snapshot that had it.
func requireSnapshot(t *testing.T, table *paimon.Table, s *paimon.Snapshot, seen *checked) {
	t.Helper()
	named, gone := map[string]string{}, map[string]bool{}
	sizes := map[string]int64{}
	take := func(list string) {
		for _, e := range seen.entries(t, table, s, list) {
			if e.Kind != manifest.Add {
				gone[e.Identity()] = true
				continue
			}
			path := table.DataFilePath(&e)
			named[e.Identity()], sizes[path] = path, e.File.FileSize
		}
	}
	take(s.BaseManifestList)
	take(s.DeltaManifestList)
	for id := range gone {
		delete(named, id)
	}
	if s.ChangelogManifestList != nil {
		take(*s.ChangelogManifestList)
	}
	for _, path := range named {
		if !seen.files[path] {
			seen.files[path] = true
			requireFile(t, table.Store, path, sizes[path])
		}
	}
}

// entries returns those of all manifests of a list.
func (c *checked) entries(t *testing.T, table *paimon.Table, s *paimon.Snapshot, list string) (all []manifest.Entry) {
	t.Helper()
	metas, err := table.ManifestList(t.Context(), list)
	require.NoError(t, err, "snapshot %d", s.ID)
	for _, m := range metas {
		entries, ok := c.manifests[m.FileName]
		if !ok {
			requireFile(t, table.Store, table.ManifestPath(m.FileName), m.FileSize)
			entries, err = table.ReadManifest(t.Context(), m.FileName)
			require.NoError(t, err, "snapshot %d", s.ID)
			c.manifests[m.FileName] = entries
		}
		all = append(all, entries...)
	}
	return all
}

func requireFile(t *testing.T, store objstore.Store, name string, size int64) {
	t.Helper()
	info, err := store.Stat(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, size, info.Size, name)
}

// requireHint: LATEST may be missing or old, but is whole and never ahead.
func requireHint(t *testing.T, table *paimon.Table) {
	t.Helper()
	latest, err := table.LatestID(t.Context())
	require.NoError(t, err)
	data, err := objstore.ReadAll(t.Context(), table.Store, table.Path+"/snapshot/LATEST")
	if err != nil {
		require.ErrorIs(t, err, objstore.ErrNotExist)
		return
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	require.NoError(t, err)
	require.LessOrEqual(t, n, latest)
}

// sweep removes what dead writers left, and returns how many files that were. All
// that snapshots name is still there, and nothing else.
func sweep(t *testing.T, table *paimon.Table) int {
	t.Helper()
	o := maintenance.OrphanOptions{OlderThan: time.Now().Add(time.Hour), Unsafe: true}
	gone, err := maintenance.CleanOrphans(t.Context(), table, o)
	require.NoError(t, err)
	requireWhole(t, table)
	o.DryRun = true
	again, err := maintenance.CleanOrphans(t.Context(), table, o)
	require.NoError(t, err)
	require.Empty(t, again.Files)
	return len(gone.Files)
}
