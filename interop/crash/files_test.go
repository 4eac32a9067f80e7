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
	seen := map[string]bool{}
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

func requireSnapshot(t *testing.T, table *paimon.Table, s *paimon.Snapshot, seen map[string]bool) {
	t.Helper()
	ctx := t.Context()
	lists := []string{s.BaseManifestList, s.DeltaManifestList}
	if s.ChangelogManifestList != nil {
		lists = append(lists, *s.ChangelogManifestList)
	}
	for _, list := range lists {
		if seen[list] {
			continue
		}
		seen[list] = true
		metas, err := table.ManifestList(ctx, list)
		require.NoError(t, err, "snapshot %d", s.ID)
		for _, m := range metas {
			if seen[m.FileName] {
				continue
			}
			seen[m.FileName] = true
			requireFile(t, table.Store, table.ManifestPath(m.FileName), m.FileSize)
			entries, err := table.ReadManifest(ctx, m.FileName)
			require.NoError(t, err, "snapshot %d", s.ID)
			for i := range entries {
				if entries[i].Kind == manifest.Add {
					requireFile(t, table.Store, table.DataFilePath(&entries[i]), entries[i].File.FileSize)
				}
			}
		}
	}
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
