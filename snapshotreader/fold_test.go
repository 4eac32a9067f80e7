package snapshotreader

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// folded is a table as a subscriber keeps it: rows by partition, bucket and key.
type folded map[string]string

// apply does what a subscriber does with a batch.
func (f folded) apply(t *testing.T, table *paimon.Table, b *Batch) {
	t.Helper()
	key := b.Rows.Project(b.Schema.KeyCols())
	for i := range b.Rows.N {
		k := fmt.Sprintf("%s%d %s", table.PartitionText(b.Partition), b.Bucket, rowdata.AppendJSONArray(nil, key, i))
		if b.Rows.Kind(i).IsAdd() {
			f[k] = normalJSON(t, rowdata.AppendJSONArray(nil, &b.Rows.Batch, i))
		} else {
			delete(f, k)
		}
	}
}

func (f folded) rows() []string {
	rows := []string{}
	for _, r := range f {
		rows = append(rows, r)
	}
	slices.Sort(rows)
	return rows
}

// foldable tells whether the changes of a table are enough to keep a copy of it. A
// late record changes the table by its sequence field, which the rows of producers
// none and input do not tell. Records that expire, and those that wait in the
// postpone bucket, are in no change and in no state.
func foldable(s *paimon.Schema) bool {
	if !s.HasPrimaryKey() || s.MergeEngine() != paimon.Deduplicate || s.BucketMode() == paimon.PostponeMode || s.Options.Has(paimon.OptRecordLevelExpireTime) {
		return false
	}
	p := s.ChangelogProducer()
	ordered := p == paimon.ProducerLookup || p == paimon.ProducerFullCompaction
	return ordered || len(s.SequenceFields()) == 0
}

// The image of any snapshot and the changes after it make the state of each later
// snapshot, each row once: what one misses the other has (style: reader phases).
func TestImageAndChangesMakeTheTable(t *testing.T) {
	var tables []string
	for _, name := range goldenNames(t, goldenDir) {
		tables = append(tables, filepath.Join(goldenDir, name, "table"))
	}
	for _, name := range goldenNames(t, flinkDir) {
		tables = append(tables, filepath.Join(flinkDir, name, "default.db", name))
	}
	tested := 0
	t.Run("tables", func(t *testing.T) {
		for _, dir := range tables {
			table := openGolden(t, dir, "")
			if !foldable(table.Schema()) {
				continue
			}
			tested++
			t.Run(dir, func(t *testing.T) {
				t.Parallel()
				ids, err := table.SnapshotIDs(t.Context())
				require.NoError(t, err)
				for _, id := range ids {
					testFold(t, table, id)
				}
			})
		}
	})
	require.Greater(t, tested, 25)
}

func testFold(t *testing.T, table *paimon.Table, from int64) {
	t.Helper()
	snap, err := table.Snapshot(t.Context(), from)
	require.NoError(t, err)
	schema, err := table.SchemaByID(t.Context(), snap.SchemaID)
	require.NoError(t, err)
	if !table.Schema().RowType().Equal(schema.RowType()) {
		return // rows of this snapshot do not compare with those of the last
	}
	overwrite := true
	tl, err := Open(t.Context(), table, Start{Mode: StartSnapshotFull, Snapshot: from}, Options{Until: Until{Mode: UntilLatest}, StreamOverwrite: &overwrite})
	if refusal(err) == "file format orc" {
		return
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, tl.Close()) }()
	state := folded{}
	for {
		b, err := tl.Next(t.Context())
		if err != nil {
			if refusal(err) != "file format orc" {
				require.EqualError(t, err, "EOF")
			}
			return
		}
		state.apply(t, table, b)
		if !b.Last {
			continue
		}
		if b.Snapshot.CommitKind == paimon.CommitOverwrite && tableHasComputedChangelog(table) {
			return // the change of an overwrite is nowhere
		}
		want, err := scanRows(t.Context(), t, table, b.Snapshot, ScanSpec{Levels: ImageLevels(b.Schema.ChangelogProducer())})
		require.NoError(t, err)
		require.Equal(t, want, state.rows(), "image of snapshot %d and changes up to %d", from, b.Snapshot.ID)
	}
}

func tableHasComputedChangelog(table *paimon.Table) bool {
	p := table.Schema().ChangelogProducer()
	return p == paimon.ProducerLookup || p == paimon.ProducerFullCompaction
}

// With deletion vectors and no producer, what waits on level 0 is in the image: it
// is in no change that comes later, though batch reads do not see it yet.
func TestImageWithDeletionVectorsWithoutProducer(t *testing.T) {
	for _, name := range []string{"dv-v1", "dv-v2"} {
		h := newHistory(t, name, 100)
		h.edit("schema/schema-0", `"changelog-producer" : "lookup"`, `"changelog-producer" : "none"`)
		table := h.table()
		require.Equal(t, paimon.ProducerNone, table.Schema().ChangelogProducer())
		ids, err := table.SnapshotIDs(t.Context())
		require.NoError(t, err)
		for _, id := range ids {
			testFold(t, table, id)
		}
		// After the last compaction nothing waits: the image is the table.
		image, err := scanRows(t.Context(), t, table, latestOf(t, table), ScanSpec{Levels: LevelsAll})
		require.NoError(t, err)
		rows, err := scanRows(t.Context(), t, table, latestOf(t, table), ScanSpec{})
		require.NoError(t, err)
		require.Equal(t, rows, image)
	}
}
