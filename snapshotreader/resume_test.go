package snapshotreader

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Streams that are cut at every row. Together they have an image, several commits
// with and without rows, deletion vectors, partitions, buckets, a schema change,
// overwrites, Avro and long-lived changelogs.
var resumeTables = []struct {
	dir       string
	start     string
	overwrite bool
}{
	{dir: "golden/dedup-input/table", start: "earliest"},
	{dir: "golden/dedup-none/table", start: "snapshot-full:3"},
	{dir: "golden/dedup-lookup/table", start: "snapshot-full:4"},
	{dir: "golden/dedup-full-compaction/table", start: "snapshot-full:2"},
	{dir: "golden/dedup-sequence/table", start: "snapshot-full:3"},
	{dir: "golden/dv-v1/table", start: "snapshot-full:4"},
	{dir: "golden/dv-v2/table", start: "full"},
	{dir: "golden/dv-append/table", start: "snapshot-full:3"},
	{dir: "golden/dv-append-v2-bucketed/table", start: "full"},
	{dir: "golden/bucket-4/table", start: "snapshot-full:2"},
	{dir: "golden/bucket-dynamic/table", start: "full"},
	{dir: "golden/partition-types/table", start: "full"},
	{dir: "golden/partition-names-new/table", start: "earliest"},
	{dir: "golden/evolution-columns/table", start: "snapshot-full:3"},
	{dir: "golden/evolution-types/table", start: "earliest"},
	{dir: "golden/evolution-nested/table", start: "earliest"},
	{dir: "golden/append-bucketed/table", start: "full"},
	{dir: "golden/append-unaware/table", start: "snapshot-full:2"},
	{dir: "golden/changelog-format/table", start: "earliest"},
	{dir: "golden/overwrite/table", start: "earliest", overwrite: true},
	{dir: "golden/expired-decoupled/table", start: "earliest"},
	{dir: "golden/types-avro/table", start: "snapshot-full:1"},
	{dir: "golden-flink/changelog_decoupled/default.db/changelog_decoupled", start: "earliest"},
	{dir: "golden-flink/partitioned/default.db/partitioned", start: "snapshot-full:3"},
	{dir: "golden-flink/deletion_vectors/default.db/deletion_vectors", start: "snapshot-full:3"},
}

// A stream that is cut at any row and opened again from that row's cursor goes on
// with exactly the rows, kinds and cursors that the uncut stream has, whatever the
// size of batches.
func TestResumeAtEveryRow(t *testing.T) {
	for _, tt := range resumeTables {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			table := openGolden(t, filepath.Join("../testdata", tt.dir), "")
			start, err := ParseStart(tt.start)
			require.NoError(t, err)
			o := Options{Until: Until{Mode: UntilLatest}, StreamOverwrite: &tt.overwrite}
			whole, err := readStream(t.Context(), t, table, start, o)
			require.NoError(t, err)
			require.NotEmpty(t, whole)
			for i := range whole {
				o.BatchRows = [...]int{1, 2, 3, 4096}[i%4]
				rest, err := readStream(t.Context(), t, table, At(throughText(t, whole[i].At)), o)
				require.NoError(t, err)
				require.Equal(t, whole[i:], rest, "from row %d of %d", i, len(whole))
			}
		})
	}
}

// TEXT+N names the row that comes N rows after TEXT, also when that is in another
// unit or snapshot.
func TestResumeWithSkip(t *testing.T) {
	for _, tt := range resumeTables {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			table := openGolden(t, filepath.Join("../testdata", tt.dir), "")
			start, err := ParseStart(tt.start)
			require.NoError(t, err)
			o := Options{Until: Until{Mode: UntilLatest}, StreamOverwrite: &tt.overwrite}
			whole, err := readStream(t.Context(), t, table, start, o)
			require.NoError(t, err)
			for from := 0; from < len(whole); from += 1 + len(whole)/5 {
				for i := from; i <= len(whole); i += 1 + len(whole)/50 {
					o.BatchRows = 1 + i%7
					c, err := ParseCursor(fmt.Sprintf("%s+%d", whole[from].At, i-from))
					require.NoError(t, err)
					rest, err := readStream(t.Context(), t, table, At(c), o)
					require.NoError(t, err)
					require.Len(t, rest, len(whole)-i)
					if len(rest) > 0 {
						require.Equal(t, whole[i:], rest, "row %d from row %d", i, from)
					}
				}
			}
		})
	}
}

func throughText(t *testing.T, c Cursor) Cursor {
	t.Helper()
	back, err := ParseCursor(c.String())
	require.NoError(t, err)
	return back
}

// The cursor that a batch ends with opens the stream at the next batch: at every
// boundary, empty commits included, and with the same flags and cursors.
func TestResumeAtEveryBatch(t *testing.T) {
	for _, tt := range resumeTables {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			table := openGolden(t, filepath.Join("../testdata", tt.dir), "")
			start, err := ParseStart(tt.start)
			require.NoError(t, err)
			o := Options{Until: Until{Mode: UntilLatest}, StreamOverwrite: &tt.overwrite, BatchRows: 10}
			whole := readBatches(t, table, start, o)
			for i, b := range whole[:len(whole)-1] {
				rest := readBatches(t, table, At(throughText(t, b.Next)), o)
				require.Len(t, rest, len(whole)-i-1)
				require.Equal(t, steps(t, table, whole[i+1:]), steps(t, table, rest))
			}
			// Behind the last batch there is nothing, yet.
			tl, err := Open(t.Context(), table, At(whole[len(whole)-1].Next), o)
			require.NoError(t, err)
			_, err = tl.Next(t.Context())
			require.Equal(t, io.EOF, err)
			require.NoError(t, tl.Close())
		})
	}
}

// step is what a batch says, without its rows' memory.
type step struct {
	At, Next    Cursor
	First, Last bool
	Snapshot    int64
	Rows        []change
}

func steps(t *testing.T, table *paimon.Table, batches []*Batch) []step {
	t.Helper()
	var out []step
	for _, b := range batches {
		out = append(out, step{At: b.At, Next: b.Next, First: b.First, Last: b.Last, Snapshot: b.Snapshot.ID, Rows: changesOf(t, table, b)})
	}
	return out
}

// Tables of random shape: several files a commit in several partitions and
// buckets, units without rows, overwrites and compactions, and a cut at every row.
func TestResumeRandomTables(t *testing.T) {
	yes := true
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 11))
		k := newTableKit(t, paimon.ColumnsSpec{Fields: []string{"p INT NOT NULL", "k INT NOT NULL", "v STRING"}, PK: []string{"p", "k"}, Partition: []string{"p"}}, map[string]string{"bucket": "2"})
		var live []manifest.Entry
		commits := 3 + r.IntN(4)
		for range commits {
			var added []manifest.Entry
			for range r.IntN(4) {
				p := int32(r.IntN(3))
				keys := r.Perm(12)[:1+r.IntN(6)]
				slices.Sort(keys)
				var rows []string
				for _, key := range keys {
					rows = append(rows, fmt.Sprintf(`%s [%d, %d, "%d"]`, []string{"+I", "+U", "-D"}[r.IntN(3)], p, key, r.IntN(1000)))
				}
				partition := rowOf(&rowdata.Type{Root: rowdata.Int, NotNull: true}, false, p)
				added = append(added, k.write("data-", partition, int32(r.IntN(2)), 0, k.records(rows...), datafile.Options{})...)
			}
			if len(live) > 0 && r.IntN(3) == 0 {
				gone := r.IntN(len(live)) + 1
				k.commit(paimon.CommitOverwrite, append(deleted(live[:gone]), added...), nil)
				live = append(live[gone:], added...)
			} else {
				k.commit(paimon.CommitAppend, added, nil)
				live = append(live, added...)
			}
		}
		start := Start{Mode: StartSnapshotFull, Snapshot: 1 + int64(r.IntN(commits))}
		o := Options{Until: Until{Mode: UntilLatest}, StreamOverwrite: &yes}
		whole, err := readStream(t.Context(), t, k.Table, start, o)
		require.NoError(t, err)
		for i := range whole {
			o.BatchRows = 1 + r.IntN(5)
			rest, err := readStream(t.Context(), t, k.Table, At(throughText(t, whole[i].At)), o)
			require.NoError(t, err)
			require.Equal(t, whole[i:], rest, "seed %d, row %d", seed, i)
		}
	}
}
