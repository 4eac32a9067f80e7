package snapshotreader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

var keyValue = paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v STRING"}, PK: []string{"k"}}

func TestOverwrite(t *testing.T) {
	yes, no := true, false
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1", "changelog-producer": "input"})
	first := k.data(0, `+I [1, "a"]`, `+I [2, "b"]`, `-D [3, "c"]`)
	k.commit(paimon.CommitAppend, first, k.write("changelog-", rowdata.EmptyManifestRow(), 0, 0, k.records(`+I [1, "a"]`, `+I [2, "b"]`, `+I [3, "c"]`, `-D [3, "c"]`), datafile.Options{}))
	second := k.data(0, `+U [2, "b2"]`)
	k.commit(paimon.CommitAppend, second, k.write("changelog-", rowdata.EmptyManifestRow(), 0, 0, k.records(`-U [2, "b"]`, `+U [2, "b2"]`), datafile.Options{}))
	came := k.data(0, `+I [2, "b2"]`, `-D [4, "d"]`, `+I [5, "e"]`)
	k.commit(paimon.CommitOverwrite, append(deleted(append(first, second...)), came...), nil)

	before := []string{`1 +I [1,"a"]`, `1 +I [2,"b"]`, `1 +I [3,"c"]`, `1 -D [3,"c"]`, `2 -U [2,"b"]`, `2 +U [2,"b2"]`}
	require.Equal(t, before, k.tail(Start{}, Options{StreamOverwrite: &no}))
	require.Equal(t, before, k.tail(Start{}, Options{}))
	with := append(before, `3 -D [1,"a"]`, `3 -D [2,"b2"]`, `3 +I [2,"b2"]`, `3 +I [5,"e"]`)
	require.Equal(t, with, k.tail(Start{}, Options{StreamOverwrite: &yes}))
	require.Equal(t, with, k.tail(Start{}, Options{StreamOverwrite: &yes, BatchRows: 1}))

	// A cursor in the middle of an overwrite means nothing to a reader without them.
	batches := readBatches(t, k.Table, Start{Mode: StartSnapshot, Snapshot: 3}, Options{Until: Until{Mode: UntilLatest}, StreamOverwrite: &yes, BatchRows: 1})
	_, err := readStream(t.Context(), t, k.Table, At(batches[2].At), Options{StreamOverwrite: &no})
	var mismatch *CursorMismatchError
	require.ErrorAs(t, err, &mismatch)

	// When the state before has expired, so has the change.
	require.NoError(t, k.store.Delete(t.Context(), k.SnapshotPath(1)))
	require.NoError(t, k.store.Delete(t.Context(), k.SnapshotPath(2)))
	_, err = readStream(t.Context(), t, k.Table, Start{Mode: StartSnapshot, Snapshot: 3}, Options{StreamOverwrite: &yes, Until: Until{Mode: UntilLatest}})
	var expired *CursorExpiredError
	require.ErrorAs(t, err, &expired)
	require.Equal(t, int64(0), expired.Earliest)
	require.Equal(t, int64(3), expired.Latest)
	require.Empty(t, k.tail(Start{Mode: StartSnapshot, Snapshot: 3}, Options{}))
}

func TestOverwriteOfAppendTable(t *testing.T) {
	yes := true
	k := newTableKit(t, paimon.ColumnsSpec{Fields: []string{"v STRING"}}, map[string]string{"bucket": "-1"})
	first := k.data(0, `+I ["a"]`)
	k.commit(paimon.CommitAppend, first, nil)
	k.commit(paimon.CommitOverwrite, append(deleted(first), k.data(0, `+I ["b"]`)...), nil)
	require.Equal(t, []string{`1 +I ["a"]`}, k.tail(Start{}, Options{}))
	require.Equal(t, []string{`1 +I ["a"]`, `2 +I ["b"]`}, k.tail(Start{}, Options{StreamOverwrite: &yes}))
}

// A unit without rows at the beginning of an image does not lose the mark of the
// first batch, and one that is empty altogether moves the position.
func TestImageOfNothing(t *testing.T) {
	k := newTableKit(t, paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v STRING"}, PK: []string{"k"}}, map[string]string{"bucket": "3"})
	empty := rowdata.EmptyManifestRow()
	gone := k.write("data-", empty, 0, 0, k.records(`-D [1, "a"]`), datafile.Options{})
	k.commit(paimon.CommitAppend, gone, nil)
	o := Options{Until: Until{Mode: UntilLatest}}
	batches := readBatches(t, k.Table, Start{Mode: StartFull}, o)
	require.Len(t, batches, 1)
	require.True(t, batches[0].First && batches[0].Last)
	require.Zero(t, batches[0].Rows.N)
	require.Equal(t, int64(2), batches[0].Next.Snapshot)

	some := k.write("data-", empty, 1, 0, k.records(`+I [2, "b"]`), datafile.Options{})
	more := k.write("data-", empty, 2, 0, k.records(`-D [3, "b"]`), datafile.Options{})
	k.commit(paimon.CommitAppend, append(some, more...), nil)
	batches = readBatches(t, k.Table, Start{Mode: StartFull}, o)
	require.Len(t, batches, 2)
	require.Zero(t, batches[0].Rows.N)
	require.True(t, batches[0].First && !batches[0].Last)
	require.Equal(t, batches[1].At, batches[0].Next)
	require.Equal(t, 1, batches[1].Rows.N)
	require.True(t, !batches[1].First && batches[1].Last)
	// Cut between the two.
	rest := readBatches(t, k.Table, At(batches[0].Next), o)
	require.Equal(t, steps(t, k.Table, batches[1:]), steps(t, k.Table, rest))
}

// Each batch has the schema of its snapshot, also when columns are chosen.
func TestSchemaChangesInTheStream(t *testing.T) {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1"})
	k.commit(paimon.CommitAppend, k.data(0, `+I [1, "a"]`), nil)
	catalog := paimon.NewCatalog(k.store, "w")
	for _, text := range []string{"add column n INT", "rename column v to w"} {
		change, err := paimon.ParseChange(text)
		require.NoError(t, err)
		_, err = catalog.AlterTable(t.Context(), "db.t", []paimon.Change{change})
		require.NoError(t, err)
		_, err = k.ReloadSchema(t.Context())
		require.NoError(t, err)
		row := `+I [2, "b", 7]`
		k.commit(paimon.CommitAppend, k.data(0, row), nil)
	}
	batches := readBatches(t, k.Table, Start{}, Options{Until: Until{Mode: UntilLatest}})
	var names []string
	for _, b := range batches {
		names = append(names, fmt.Sprintf("%d%s", b.Schema.ID, b.Rows.Type.Names()))
	}
	require.Equal(t, []string{"0[k v]", "1[k v n]", "2[k w n]"}, names)
	require.Equal(t, []string{"[7,2]", "[7,2]"}, rowsOf(readBatches(t, k.Table, Start{Mode: StartSnapshot, Snapshot: 2}, Options{Columns: []string{"n", "k"}, Until: Until{Mode: UntilLatest}})))
	_, err := readStream(t.Context(), t, k.Table, Start{}, Options{Columns: []string{"n"}, Until: Until{Mode: UntilLatest}})
	require.ErrorContains(t, err, `snapshot 1: schema 0 has no column "n"`)
	// The image of an old snapshot is in its schema, also from files that came later.
	image := readBatches(t, k.Table, Start{Mode: StartFull}, Options{Until: Until{Mode: UntilLatest}})
	require.Equal(t, []string{`[1,"a",null]`, `[2,"b",7]`}, rowsOf(image))
}

func rowsOf(batches []*Batch) []string {
	var out []string
	for _, b := range batches {
		for i := range b.Rows.N {
			out = append(out, string(rowdata.AppendJSONArray(nil, &b.Rows.Batch, i)))
		}
	}
	return out
}

// A producer that was set later changes what is delivered from the snapshot on that
// knows of it, wherever a reader begins.
func TestProducerChanges(t *testing.T) {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1"})
	k.commit(paimon.CommitAppend, k.data(0, `+I [1, "a"]`), nil)
	change, err := paimon.ParseChange("set option changelog-producer=input")
	require.NoError(t, err)
	_, err = paimon.NewCatalog(k.store, "w").AlterTable(t.Context(), "db.t", []paimon.Change{change})
	require.NoError(t, err)
	_, err = k.ReloadSchema(t.Context())
	require.NoError(t, err)
	k.commit(paimon.CommitAppend, k.data(0, `+I [2, "b"]`), k.write("changelog-", rowdata.EmptyManifestRow(), 0, 0, k.records(`-D [2, "x"]`, `+I [2, "b"]`), datafile.Options{}))
	want := []string{`1 +I [1,"a"]`, `2 -D [2,"x"]`, `2 +I [2,"b"]`}
	require.Equal(t, want, k.tail(Start{}, Options{}))
	require.Equal(t, want[1:], k.tail(Start{Mode: StartSnapshot, Snapshot: 2}, Options{}))
}

// Batches stay as they are whatever is read after them.
func TestBatchesOwnTheirMemory(t *testing.T) {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1"})
	kv := rowdata.NewKeyValues(k.Schema().RowType(), 0)
	for i := range 1000 {
		kv.Cols[0].AppendI32(int32(i))
		kv.Cols[1].AppendString(strings.Repeat("x", i%17))
		kv.CloseRow()
		kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, rowdata.RowKind(i%4))
	}
	k.commit(paimon.CommitAppend, k.write("data-", rowdata.EmptyManifestRow(), 0, 0, kv, datafile.Options{}), nil)
	for _, start := range []Start{{}, {Mode: StartFull}} {
		o := Options{Until: Until{Mode: UntilLatest}, BatchRows: 64}
		tl, err := Open(t.Context(), k.Table, start, o)
		require.NoError(t, err)
		var kept [][]change
		var batches []*Batch
		for {
			b, err := tl.Next(t.Context())
			if err != nil {
				break
			}
			require.LessOrEqual(t, b.Rows.N, 64)
			kept, batches = append(kept, changesOf(t, k.Table, b)), append(batches, b)
		}
		require.NoError(t, tl.Close())
		require.Greater(t, len(batches), 5)
		for i, b := range batches {
			require.Equal(t, kept[i], changesOf(t, k.Table, b))
		}
	}
}

// Wide rows make small batches.
func TestBatchBytes(t *testing.T) {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1"})
	kv := rowdata.NewKeyValues(k.Schema().RowType(), 0)
	noise := uint64(1)
	for i := range 200 {
		b := make([]byte, 10_000)
		for j := range b {
			noise = noise*6364136223846793005 + 1442695040888963407
			b[j] = 'a' + byte(noise>>59)
		}
		kv.Cols[0].AppendI32(int32(i))
		kv.Cols[1].AppendBytes(b)
		kv.CloseRow()
		kv.Seq, kv.Kinds = append(kv.Seq, int64(i)), append(kv.Kinds, rowdata.Insert)
	}
	k.commit(paimon.CommitAppend, k.write("data-", rowdata.EmptyManifestRow(), 0, 0, kv, datafile.Options{}), nil)
	rows := 0
	for _, b := range readBatches(t, k.Table, Start{}, Options{Until: Until{Mode: UntilLatest}, BatchBytes: 100_000}) {
		require.LessOrEqual(t, b.Rows.MemSize(), 110_000)
		rows += b.Rows.N
	}
	require.Equal(t, 200, rows)
}

// Files are read where manifests say they are, each commit's in manifest order.
func TestOrderOfUnits(t *testing.T) {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "2"})
	empty := rowdata.EmptyManifestRow()
	var delta []manifest.Entry
	for i, bucket := range []int32{1, 0, 1, 0} {
		delta = append(delta, k.write("data-", empty, bucket, 0, k.records(fmt.Sprintf(`+I [%d, "x"]`, i)), datafile.Options{})...)
	}
	k.commit(paimon.CommitAppend, delta, nil)
	require.Equal(t, []string{`1 +I [0,"x"]`, `1 +I [1,"x"]`, `1 +I [2,"x"]`, `1 +I [3,"x"]`}, k.tail(Start{}, Options{}))
	require.Equal(t, []string{`1 +I [1,"x"]`, `1 +I [3,"x"]`, `1 +I [0,"x"]`, `1 +I [2,"x"]`}, k.tail(Start{Mode: StartFull}, Options{}))
}

// With sequence.snapshot-ordering a record is as new as the snapshot that its file
// came with, whatever number is stored in it.
func TestSnapshotOrdering(t *testing.T) {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1", "write-only": "true", "sequence.snapshot-ordering": "true"})
	k.seq = 100
	first := k.data(0, `+I [1, "old"]`)
	first[0].File.MinSeq, first[0].File.MaxSeq = 1, 1
	k.commit(paimon.CommitAppend, first, nil)
	k.seq = 0
	second := k.data(0, `+I [1, "new"]`)
	second[0].File.MinSeq, second[0].File.MaxSeq = 2, 2
	k.commit(paimon.CommitAppend, second, nil)
	rows, err := scanRows(t.Context(), t, k.Table, k.last, ScanSpec{})
	require.NoError(t, err)
	require.Equal(t, []string{`[1,"new"]`}, rows)
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		options map[string]string
		append  bool
		what    string
	}{
		{map[string]string{"row-tracking.enabled": "true", "data-evolution.enabled": "true", "bucket": "-1"}, true, "option data-evolution.enabled"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			columns := keyValue
			if tt.append {
				columns.PK = nil
			}
			if tt.options["bucket"] == "" {
				tt.options["bucket"] = "1"
			}
			k := newTableKit(t, columns, tt.options)
			k.commit(paimon.CommitAppend, k.data(0, `+I [1, "a"]`), nil)
			_, err := Scan(t.Context(), k.Table, k.last, ScanSpec{})
			require.Equal(t, tt.what, refusal(err))
			_, err = Open(t.Context(), k.Table, Start{Mode: StartFull}, Options{})
			require.Equal(t, tt.what, refusal(err))
			_, err = readStream(t.Context(), t, k.Table, Start{}, Options{Until: Until{Mode: UntilLatest}})
			require.Equal(t, tt.what, refusal(err))
		})
	}
}

// A snapshot that names a compaction of files on many levels is merged with few
// files open, and gives what its newest rows are.
func TestManyRuns(t *testing.T) {
	k := newTableKit(t, keyValue, map[string]string{"bucket": "1"})
	want := map[int]string{}
	for run := range 300 {
		var rows []string
		for key := run % 7; key < 50; key += 7 {
			rows = append(rows, fmt.Sprintf(`+I [%d, "%d"]`, key, run))
			want[key] = fmt.Sprintf(`[%d,"%d"]`, key, run)
		}
		k.commit(paimon.CommitAppend, k.data(0, rows...), nil)
	}
	got, err := scanRows(t.Context(), t, k.Table, k.last, ScanSpec{})
	require.NoError(t, err)
	require.Len(t, got, 50)
	for _, r := range want {
		require.Contains(t, got, r)
	}
}
