package snapshotreader

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon/manifest"
)

// Flink may put the changelog files of several buckets into one before it commits
// (format section 10.3). Their entries then name parts of a file in the folder of
// one bucket. Reading gives what the files gave.
func TestCompactedChangelog(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(flinkDir, "pk_lookup/default.db/pk_lookup")
	h := newHistoryOf(t, dir, 100)
	table := h.table()
	want, err := readStream(ctx, t, table, Start{}, Options{Until: Until{Mode: UntilLatest}})
	require.NoError(t, err)

	ids, err := table.SnapshotIDs(ctx)
	require.NoError(t, err)
	joined := 0
	for _, id := range ids {
		snap, err := table.Snapshot(ctx, id)
		require.NoError(t, err)
		entries, err := table.ChangelogEntries(ctx, snap)
		require.NoError(t, err)
		if len(entries) < 2 {
			continue
		}
		joined++
		var whole []byte
		first, err := objstore.ReadAll(ctx, h, table.DataFilePath(&entries[0]))
		require.NoError(t, err)
		base := fmt.Sprintf("compacted-changelog-u%d$%d-%d", id, entries[0].Bucket, len(first))
		physical := table.BucketPath(entries[0].Partition, int(entries[0].Bucket)) + "/" + base + ".cc-parquet"
		edited := make([]manifest.Entry, len(entries))
		for i, e := range entries {
			data, err := objstore.ReadAll(ctx, h, table.DataFilePath(&e))
			require.NoError(t, err)
			require.NoError(t, h.Delete(ctx, table.DataFilePath(&e)))
			edited[i] = e.Clone()
			edited[i].File.FileName = base + ".cc-parquet"
			if i > 0 {
				edited[i].File.FileName = fmt.Sprintf("%s-%d-%d.cc-parquet", base, len(whole), len(data))
			}
			whole = append(whole, data...)
		}
		require.NoError(t, h.Put(ctx, physical, whole))
		metas, err := table.ManifestList(ctx, *snap.ChangelogManifestList)
		require.NoError(t, err)
		require.Len(t, metas, 1)
		data, err := manifest.EncodeEntries(edited, manifest.Options{})
		require.NoError(t, err)
		require.NoError(t, h.Put(ctx, table.ManifestPath(metas[0].FileName), data))
	}
	require.Positive(t, joined)
	got, err := readStream(ctx, t, h.table(), Start{}, Options{Until: Until{Mode: UntilLatest}})
	require.NoError(t, err)
	require.Equal(t, want, got)

	// A range that the file does not have.
	snap, err := table.Snapshot(ctx, want[0].Snapshot)
	require.NoError(t, err)
	entries, err := h.table().ChangelogEntries(ctx, snap)
	require.NoError(t, err)
	require.NoError(t, h.Put(ctx, table.BucketPath(entries[0].Partition, int(entries[0].Bucket))+"/"+entries[0].File.FileName, []byte("PAR1")))
	_, err = readStream(ctx, t, h.table(), Start{}, Options{Until: Until{Mode: UntilLatest}})
	require.ErrorContains(t, err, "bytes from 0 of 4")
}
