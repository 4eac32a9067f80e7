package maintenance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

func TestExpireDue(t *testing.T) {
	w := testWorld(t, map[string]string{
		"snapshot.num-retained.min": "1", "snapshot.time-retained": "2 min", "changelog.time-retained": "4 min", "consumer.expiration-time": "5 min",
	})
	history(w, 2)
	require.NoError(t, w.table.SetConsumer(w.ctx, "old", 1))
	_, err := w.table.CreateTag(w.ctx, "short", paimon.TagOptions{Snapshot: 1, Retained: time.Minute})
	require.NoError(t, err)
	history(w, 8)
	d, err := ExpireDue(w.ctx, w.table, w.now)
	require.NoError(t, err)
	require.Equal(t, []string{"old"}, d.Consumers)
	require.EqualValues(t, 7, d.Snapshots.End)
	require.EqualValues(t, 6, d.Changelogs.End, "the newest stays")
	require.Equal(t, []string{"short"}, d.Tags)
	w.check()

	plain := testWorld(t, nil)
	history(plain, 2)
	d, err = ExpireDue(plain.ctx, plain.table, plain.now)
	require.NoError(t, err)
	require.Nil(t, d.Changelogs)
	require.Zero(t, d.Snapshots.Count())
}

// TestSnapshotsWithoutTheirChangelog: what comes back from a tag of an expired
// snapshot has lost its changelog, which stops no operation.
func TestSnapshotsWithoutTheirChangelog(t *testing.T) {
	w := testWorld(t, map[string]string{"changelog-producer": "input"})
	for range 3 {
		w.commit(w.table, change{kind: paimon.CommitAppend, delta: []manifest.Entry{w.file("data-", 0, 0, manifest.SourceAppend)}, changelog: []manifest.Entry{w.file("changelog-", 0, 0, manifest.SourceAppend)}})
		if id, err := w.table.LatestID(w.ctx); err == nil && id == 1 {
			_, err := w.table.CreateTag(w.ctx, "t", paimon.TagOptions{})
			require.NoError(t, err)
		}
	}
	w.expireAll(w.table, 1)
	require.NoError(t, w.table.CreateBranch(w.ctx, "b", "t"))
	b := w.branch("b")
	s, err := b.Snapshot(w.ctx, 1)
	require.NoError(t, err)
	_, err = b.ChangelogEntries(w.ctx, s)
	require.ErrorIs(t, err, objstore.ErrNotExist)

	run := func(table *paimon.Table) {
		_, err := CleanOrphans(w.ctx, table, OrphanOptions{OlderThan: w.now.Add(time.Hour), Unsafe: true, Now: w.clock})
		require.NoError(t, err)
		w.commit(table, change{kind: paimon.CommitAppend})
		w.commit(table, change{kind: paimon.CommitAppend})
		w.expireAll(table, 2)
		require.NoError(t, RollbackToSnapshot(w.ctx, table, mustEarliest(t, table)))
		w.checkState(b, s, "the branch's first")
	}
	run(w.table)
	run(b)
	require.NoError(t, RollbackToTag(w.ctx, w.table, "t"))
	run(w.table)
	require.NoError(t, DeleteTag(w.ctx, w.table, "t"))
}

func mustEarliest(t *testing.T, table *paimon.Table) int64 {
	t.Helper()
	id, err := table.EarliestID(t.Context())
	require.NoError(t, err)
	return id
}
