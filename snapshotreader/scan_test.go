package snapshotreader

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

func latestOf(t *testing.T, table *paimon.Table) *paimon.Snapshot {
	t.Helper()
	snap, err := table.LatestSnapshot(t.Context())
	require.NoError(t, err)
	return snap
}

func TestScanColumns(t *testing.T) {
	for _, name := range []string{"dedup-sequence", "append-bucketed", "types-avro"} {
		t.Run(name, func(t *testing.T) { testScanColumns(t, name) })
	}
}

func testScanColumns(t *testing.T, name string) {
	table := openGolden(t, filepath.Join(goldenDir, name, "table"), "")
	snap := latestOf(t, table)
	all, err := scanRows(t.Context(), t, table, snap, ScanSpec{})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	fields := table.Schema().Fields
	for _, columns := range [][]string{{fields[1].Name}, {fields[len(fields)-1].Name, fields[0].Name}, {fields[0].Name}, {}} {
		s, err := Scan(t.Context(), table, snap, ScanSpec{Columns: columns})
		require.NoError(t, err)
		require.Equal(t, len(columns), len(s.Columns().Fields))
		n := 0
		for _, b := range readScan(t, s) {
			n += b.Rows.N
			require.Equal(t, columns, append([]string{}, b.Rows.Type.Names()...))
		}
		require.Equal(t, len(all), n)
	}
	_, err = Scan(t.Context(), table, snap, ScanSpec{Columns: []string{"nope"}})
	require.ErrorContains(t, err, `no column "nope"`)
	_, err = Scan(t.Context(), table, snap, ScanSpec{Columns: []string{fields[0].Name, fields[0].Name}})
	require.ErrorContains(t, err, "asked for twice")
	_, err = Open(t.Context(), table, Start{Mode: StartFull}, Options{Columns: []string{"nope"}})
	require.ErrorContains(t, err, `no column "nope"`)
}

// Partitions and buckets are selected without opening files of others.
func TestScanSelection(t *testing.T) {
	table := openGolden(t, filepath.Join(flinkDir, "partitioned/default.db/partitioned"), "")
	snap := latestOf(t, table)
	var whole []*Batch
	s, err := Scan(t.Context(), table, snap, ScanSpec{})
	require.NoError(t, err)
	whole = readScan(t, s)
	places := map[string]int{}
	for _, b := range whole {
		places[fmt.Sprintf("%s%d", table.PartitionText(b.Partition), b.Bucket)] += b.Rows.N
	}
	require.Greater(t, len(places), 2)
	for _, b := range whole {
		want := table.DecodePartition(b.Partition)
		s, err := Scan(t.Context(), table, snap, ScanSpec{
			Partitions: func(values []*rowdata.Vector) bool {
				for i := range values {
					if !rowdata.Equal(values[i], 0, want[i], 0) {
						return false
					}
				}
				return true
			},
			Buckets: func(bucket, total int32) bool {
				require.Equal(t, int32(2), total)
				return bucket == b.Bucket
			},
		})
		require.NoError(t, err)
		n := 0
		for _, got := range readScan(t, s) {
			require.Equal(t, b.Partition, got.Partition)
			require.Equal(t, b.Bucket, got.Bucket)
			n += got.Rows.N
		}
		require.Equal(t, places[fmt.Sprintf("%s%d", table.PartitionText(b.Partition), b.Bucket)], n)
	}
}

// The order is that of partition values, buckets and keys, every time.
func TestScanOrder(t *testing.T) {
	for _, dir := range []string{"golden/bucket-4/table", "golden/bucket-dynamic/table", "golden/dedup-none/table", "golden/keys-parquet/table", "golden-flink/partitioned/default.db/partitioned"} {
		t.Run(dir, func(t *testing.T) {
			table := openGolden(t, filepath.Join("../testdata", dir), "")
			schema := table.Schema()
			snap := latestOf(t, table)
			s, err := Scan(t.Context(), table, snap, ScanSpec{BatchRows: 7})
			require.NoError(t, err)
			byPartition := rowdata.NewComparer(schema.PartitionCols())
			byKey := rowdata.NewComparer(schema.TrimmedKey())
			var last *Batch
			for _, b := range readScan(t, s) {
				require.LessOrEqual(t, b.Rows.N, 7)
				for i := range b.Rows.N {
					if i > 0 {
						require.Negative(t, byKey.Compare(&b.Rows.Batch, i-1, &b.Rows.Batch, i))
					} else if last != nil {
						c := byPartition.Compare(&last.Rows.Batch, last.Rows.N-1, &b.Rows.Batch, 0)
						require.LessOrEqual(t, c, 0)
						if c == 0 {
							require.LessOrEqual(t, last.Bucket, b.Bucket)
							if last.Bucket == b.Bucket {
								require.Negative(t, byKey.Compare(&last.Rows.Batch, last.Rows.N-1, &b.Rows.Batch, 0))
							}
						}
					}
				}
				last = b
			}
			require.NotNil(t, last)
		})
	}
}

// Merged rows keep the kind that is stored, rows of files that are read as they
// are have none (semantics section 7.1).
func TestScanKinds(t *testing.T) {
	table := openGolden(t, filepath.Join(flinkDir, "pk_none/default.db/pk_none"), "")
	kinds := func(id int64, keep bool) string {
		snap, err := table.Snapshot(t.Context(), id)
		require.NoError(t, err)
		s, err := Scan(t.Context(), table, snap, ScanSpec{Kinds: keep})
		require.NoError(t, err)
		text := ""
		for _, b := range readScan(t, s) {
			for i := range b.Rows.N {
				text += b.Rows.Kind(i).String()
			}
		}
		return text
	}
	require.Equal(t, "+U+I", kinds(2, true)) // k = 1 was updated, both files are on level 0
	require.Equal(t, "+I+I", kinds(2, false))
}

func TestScanReusesAndKeeps(t *testing.T) {
	table := openGolden(t, filepath.Join(goldenDir, "bucket-4/table"), "")
	snap := latestOf(t, table)
	want, err := scanRows(t.Context(), t, table, snap, ScanSpec{BatchRows: 3})
	require.NoError(t, err)
	s, err := Scan(t.Context(), table, snap, ScanSpec{BatchRows: 3, Keep: true})
	require.NoError(t, err)
	got := []string{}
	for _, b := range readScan(t, s) {
		for i := range b.Rows.N {
			got = append(got, normalJSON(t, rowdata.AppendJSONArray(nil, &b.Rows.Batch, i)))
		}
	}
	slices.Sort(got)
	require.Equal(t, want, got)
}

func TestScanClose(t *testing.T) {
	table := openGolden(t, filepath.Join(goldenDir, "bucket-4/table"), "")
	s, err := Scan(t.Context(), table, latestOf(t, table), ScanSpec{BatchRows: 1})
	require.NoError(t, err)
	_, err = s.Next(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Next(t.Context())
	require.ErrorIs(t, err, ErrClosed)

	s, err = Scan(t.Context(), table, latestOf(t, table), ScanSpec{})
	require.NoError(t, err)
	for err == nil {
		_, err = s.Next(t.Context())
	}
	require.Equal(t, io.EOF, err)
	_, err = s.Next(t.Context())
	require.Equal(t, io.EOF, err)
	require.NoError(t, s.Close())
}
