package commit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

func TestAppendAndCompact(t *testing.T) {
	f := newFixture(t, spec(map[string]string{"changelog-producer": "lookup"}))
	now := time.UnixMilli(1_700_000_000_000)
	o := quick()
	o.Now = func() time.Time { return now }
	c := New(f.table, o)
	first, second, changelog := f.dataFile(10), withLevel(f.dataFile(7), 5), f.dataFile(12)
	watermark := int64(500)
	result := f.commit(c, Request{Identifier: 1, Watermark: &watermark, Properties: map[string]string{"position": "a"}, Messages: []Message{
		{NewFiles: []manifest.DataFile{first}, CompactBefore: []manifest.DataFile{first}, CompactAfter: []manifest.DataFile{second}, CompactChangelog: []manifest.DataFile{changelog}},
	}})
	require.Equal(t, "1 APPEND, 2 COMPACT", kinds(result.Snapshots))
	require.False(t, result.Repeated)
	require.Equal(t, []string{"0/5 data-2.parquet"}, f.live())

	read := checkTable(t, f.store, f.table.Path)
	require.Equal(t, result.Snapshots, read, "what is returned is what is stored")
	for _, s := range read {
		require.Equal(t, "user", s.CommitUser)
		require.EqualValues(t, 1, s.CommitIdentifier)
		require.EqualValues(t, 500, *s.Watermark)
		require.Equal(t, map[string]string{"position": "a"}, s.Properties)
		require.Equal(t, now.UnixMilli(), s.TimeMillis)
	}
	require.Nil(t, read[0].ChangelogRecordCount)
	require.EqualValues(t, 12, *read[1].ChangelogRecordCount)
	require.EqualValues(t, -3, *read[1].DeltaRecordCount)

	entries, err := f.table.DeltaEntries(t.Context(), read[1])
	require.NoError(t, err)
	require.EqualValues(t, 1, entries[0].TotalBuckets, "the option bucket")

	// A watermark never falls, nor does the time of a snapshot; the option
	// bucket of a message wins.
	now = now.Add(-time.Hour)
	lower := int64(400)
	result = f.commit(c, Request{Identifier: 2, Watermark: &lower, Messages: []Message{{NewFiles: []manifest.DataFile{f.dataFile(1)}, TotalBuckets: 4}}})
	require.EqualValues(t, 500, *result.Last().Watermark)
	require.Equal(t, read[1].TimeMillis, result.Last().TimeMillis)
	require.Nil(t, result.Last().Properties, "properties are not inherited")
	result = f.commit(c, Request{Identifier: 3, Messages: []Message{{NewFiles: []manifest.DataFile{f.dataFile(1)}}}})
	require.EqualValues(t, 500, *result.Last().Watermark)
	checkTable(t, f.store, f.table.Path)

	latest, err := f.reopen(f.store).LatestID(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, latest)
	hint, err := objstore.ReadAll(t.Context(), f.store, f.table.Path+"/snapshot/LATEST")
	require.NoError(t, err)
	require.Equal(t, "4", string(hint))
	all, used := metadataFiles(t, f.store, f.table.Path)
	require.ElementsMatch(t, all, used, "no file is left over")
}

func TestEmptyCommits(t *testing.T) {
	f := newFixture(t, spec(nil))
	c := New(f.table, quick())
	require.Empty(t, f.commit(c, Request{Identifier: 1, IgnoreEmpty: true}).Snapshots)
	require.Equal(t, "1 APPEND", kinds(f.commit(c, Request{Identifier: 1}).Snapshots))
	require.Equal(t, "2 APPEND", kinds(f.commit(c, Request{Identifier: 2, IgnoreEmpty: true, Messages: []Message{{NewFiles: []manifest.DataFile{f.dataFile(1)}}}}).Snapshots))
	require.Equal(t, "3 APPEND", kinds(f.commit(c, Request{Identifier: 3, Messages: []Message{{}}}).Snapshots))
	checkTable(t, f.store, f.table.Path)

	f = newFixture(t, spec(map[string]string{"snapshot.ignore-empty-commit": "false"}))
	c = New(f.table, quick())
	require.Len(t, f.commit(c, Request{Identifier: paimon.BatchCommitIdentifier, IgnoreEmpty: true}).Snapshots, 1, "the option decides for batch commits")
	require.Empty(t, f.commit(c, Request{User: "stream", Identifier: 1, IgnoreEmpty: true}).Snapshots)
}

func TestRepeatedCommits(t *testing.T) {
	f := newFixture(t, spec(nil))
	c := New(f.table, quick())
	requests := map[int64]Request{}
	for id := int64(1); id <= 3; id++ {
		file := f.dataFile(5)
		requests[id] = Request{User: "writer", Identifier: id * 10, Messages: []Message{{
			NewFiles:      []manifest.DataFile{file},
			CompactBefore: []manifest.DataFile{file}, CompactAfter: []manifest.DataFile{withKeys(withLevel(f.dataFile(5), 5), int32(id*10), int32(id*10+5))},
		}}}
		f.commit(c, requests[id])
		f.commit(c, Request{User: "other", Identifier: id})
	}
	before := checkTable(t, f.store, f.table.Path)
	for id, req := range requests {
		for name, committer := range map[string]*Committer{"same": c, "restarted": New(f.reopen(f.store), quick())} {
			result := f.commit(committer, req)
			require.True(t, result.Repeated, name)
			require.Len(t, result.Snapshots, 2)
			for _, s := range result.Snapshots {
				require.Equal(t, req.Identifier, s.CommitIdentifier)
			}
			require.EqualValues(t, 3*(id-1)+1, result.Snapshots[0].ID)
		}
	}
	require.Len(t, checkTable(t, f.store, f.table.Path), len(before), "nothing was committed again")

	_, err := c.Commit(t.Context(), Request{User: "writer", Identifier: 15})
	var below *IdentifierError
	require.ErrorAs(t, err, &below)
	require.EqualValues(t, 30, below.Newest)

	last, err := New(f.reopen(f.store), quick()).LastOf(t.Context(), "writer")
	require.NoError(t, err)
	require.EqualValues(t, 30, last.CommitIdentifier)
	require.Equal(t, paimon.CommitCompact, last.CommitKind)
	last, err = c.LastOf(t.Context(), "nobody")
	require.NoError(t, err)
	require.Nil(t, last)
}

// TestSecondPartIsMadeUpFor crashes between the two snapshots of one commit.
func TestSecondPartIsMadeUpFor(t *testing.T) {
	f := newFixture(t, spec(nil))
	file := f.dataFile(5)
	req := Request{User: "writer", Identifier: 1, Messages: []Message{{
		NewFiles:      []manifest.DataFile{file},
		CompactBefore: []manifest.DataFile{file}, CompactAfter: []manifest.DataFile{withLevel(f.dataFile(5), 5)},
	}}}
	faulty := faultstore.New(f.store, faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Skip: 1})
	result, err := New(f.reopen(faulty), quick()).Commit(t.Context(), req)
	var unknown *UnknownOutcomeError
	require.ErrorAs(t, err, &unknown)
	require.ErrorIs(t, err, faultstore.ErrInjected)
	require.Equal(t, "1 APPEND", kinds(result.Snapshots), "what happened is in the result")

	result = f.commit(New(f.reopen(f.store), quick()), req)
	require.False(t, result.Repeated)
	require.Equal(t, "1 APPEND, 2 COMPACT", kinds(result.Snapshots))
	result = f.commit(New(f.reopen(f.store), quick()), req)
	require.True(t, result.Repeated)
	require.Equal(t, "1 APPEND, 2 COMPACT", kinds(result.Snapshots))
	require.Equal(t, "1 APPEND, 2 COMPACT", kinds(checkTable(t, f.store, f.table.Path)))
}

func TestBadRequests(t *testing.T) {
	f := newFixture(t, partitionedSpec(nil))
	c := New(f.table, quick())
	good := []manifest.DataFile{f.dataFile(1)}
	for name, req := range map[string]Request{
		"no user":            {},
		"no partition":       {User: "u", Messages: []Message{{NewFiles: good}}},
		"damaged partition":  {User: "u", Messages: []Message{{Partition: []byte("x"), NewFiles: good}}},
		"no name":            {User: "u", Messages: []Message{{Partition: stringRow("a"), NewFiles: []manifest.DataFile{{}}}}},
		"path as a name":     {User: "u", Messages: []Message{{Partition: stringRow("a"), NewFiles: []manifest.DataFile{{FileName: "../x"}}}}},
		"unknown column":     {User: "u", Overwrite: &Overwrite{Partitions: []map[string]string{{"q": "1"}}}},
		"outside of target":  {User: "u", Overwrite: &Overwrite{Partitions: []map[string]string{{"p": "b"}}}, Messages: []Message{{Partition: stringRow("a"), NewFiles: good}}},
		"dynamic with value": {User: "u", Overwrite: &Overwrite{Dynamic: true, Partitions: []map[string]string{{"p": "b"}}}},
	} {
		_, err := c.Commit(t.Context(), req)
		var bad *RequestError
		require.ErrorAs(t, err, &bad, name)
	}
	_, err := c.DropPartitions(t.Context(), "u", 1, nil)
	var bad *RequestError
	require.ErrorAs(t, err, &bad)
	_, err = c.DropPartitions(t.Context(), "u", 1, []map[string]string{{}})
	require.ErrorAs(t, err, &bad, "it would be the whole table")
	_, err = f.table.LatestSnapshot(t.Context())
	require.ErrorIs(t, err, paimon.ErrNoSnapshot)
}

func TestVerifyFilesAndAbort(t *testing.T) {
	f := newFixture(t, spec(nil))
	c := New(f.table, quick())
	put := func(file manifest.DataFile) string {
		name := f.table.DataFilePath(&manifest.Entry{File: file})
		require.NoError(t, f.store.Put(t.Context(), name, []byte("x")))
		return name
	}
	kept, fresh, compacted, changelog := withLevel(f.dataFile(1), 0), f.dataFile(2), withLevel(f.dataFile(3), 5), f.dataFile(4)
	upgraded := withLevel(kept, 4)
	m := Message{
		NewFiles: []manifest.DataFile{fresh}, Changelog: []manifest.DataFile{changelog},
		CompactBefore: []manifest.DataFile{fresh, kept}, CompactAfter: []manifest.DataFile{compacted, upgraded},
	}
	keptName, freshName, changelogName := put(kept), put(fresh), put(changelog)
	req := Request{User: "w", Identifier: 1, VerifyFiles: true, Messages: []Message{m}}
	_, err := c.Commit(t.Context(), req)
	var missing *MissingFilesError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, []string{f.table.DataFilePath(&manifest.Entry{File: compacted})}, missing.Names)

	require.NoError(t, c.Abort(t.Context(), req.Messages))
	for name, want := range map[string]bool{keptName: true, freshName: false, changelogName: false} {
		ok, err := objstore.Exists(t.Context(), f.store, name)
		require.NoError(t, err)
		require.Equal(t, want, ok, name)
	}
}

func TestManifestMerging(t *testing.T) {
	f := newFixture(t, spec(map[string]string{"manifest.merge-min-count": "5"}))
	merged := 0
	o := quick()
	o.Events.Merged = func(read, written int, _ int64) { merged++ }
	c := New(f.table, o)
	for i := range 40 {
		messages := []Message{{NewFiles: []manifest.DataFile{f.dataFile(int64(i + 1))}}}
		if i%4 == 3 { // replace the four files so far at level 0
			var before []manifest.DataFile
			s, err := f.table.LatestSnapshot(t.Context())
			require.NoError(t, err)
			entries, err := f.table.LiveEntries(t.Context(), s, paimon.Filter{})
			require.NoError(t, err)
			for _, e := range entries {
				before = append(before, e.File)
			}
			messages = append(messages, Message{CompactBefore: before, CompactAfter: []manifest.DataFile{withLevel(f.dataFile(9), 5)}})
		}
		f.commit(c, Request{Identifier: int64(i + 1), Messages: messages})
	}
	snapshots := checkTable(t, f.store, f.table.Path)
	last := snapshots[len(snapshots)-1]
	metas, err := f.table.ManifestList(t.Context(), last.BaseManifestList)
	require.NoError(t, err)
	require.Less(t, len(metas), 6)
	require.Greater(t, merged, 5)
	require.Len(t, f.live(), 2)
}

func TestFullManifestMerge(t *testing.T) {
	f := newFixture(t, partitionedSpec(map[string]string{"manifest.merge-min-count": "1000", "manifest.full-compaction-threshold-size": "60 kb", "manifest.target-file-size": "4 kb"}))
	c := New(f.table, quick())
	var live []manifest.DataFile
	for i := range 60 {
		partition := stringRow(fmt.Sprintf("p%d", i/20))
		file := f.dataFile(1)
		m := Message{Partition: partition, NewFiles: []manifest.DataFile{file}}
		if i%20 == 19 { // compact the partition away to one file
			m.CompactBefore = append(live, file)
			m.CompactAfter = []manifest.DataFile{withLevel(f.dataFile(20), 5)}
			live = nil
		} else {
			live = append(live, file)
		}
		f.commit(c, Request{Identifier: int64(i + 1), Messages: []Message{m}})
	}
	snapshots := checkTable(t, f.store, f.table.Path)
	require.Len(t, f.live(), 3)
	last := snapshots[len(snapshots)-1]
	metas, err := f.table.ManifestList(t.Context(), last.BaseManifestList)
	require.NoError(t, err)
	total := int64(0)
	for _, m := range metas {
		total += m.FileSize
	}
	require.Less(t, total, int64(70<<10))
}

func TestInheritedStatistics(t *testing.T) {
	f := newFixture(t, spec(nil))
	c := New(f.table, quick())
	f.commit(c, Request{Identifier: 1})
	// An ANALYZE of somebody else.
	s := *checkTable(t, f.store, f.table.Path)[0]
	name := "stat-1"
	s.ID, s.CommitKind, s.Statistics, s.CommitUser = 2, paimon.CommitAnalyze, &name, "analyze"
	data, err := s.Marshal()
	require.NoError(t, err)
	require.NoError(t, f.store.PutIfAbsent(t.Context(), f.table.SnapshotPath(2), data))
	stats, err := (&paimon.Statistics{SnapshotID: 1, SchemaID: 0}).Marshal()
	require.NoError(t, err)
	require.NoError(t, f.store.Put(t.Context(), f.table.StatisticsPath(name), stats))

	result := f.commit(c, Request{Identifier: 2})
	require.Equal(t, "3 APPEND", kinds(result.Snapshots))
	require.Equal(t, name, *result.Last().Statistics)
	change, err := paimon.ParseChange("add column x INT")
	require.NoError(t, err)
	_, err = paimon.NewCatalog(f.store, "wh").AlterTable(t.Context(), "db.t", []paimon.Change{change})
	require.NoError(t, err)
	result = f.commit(c, Request{Identifier: 3})
	require.EqualValues(t, 1, result.Last().SchemaID, "the newest schema")
	require.Nil(t, result.Last().Statistics, "they are for another schema")
}

func TestMaxSequenceProperty(t *testing.T) {
	f := newFixture(t, spec(nil))
	c := New(f.table, quick())
	f.commit(c, Request{Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{f.dataFile(77)}}}})
	change, err := paimon.ParseChange("set option write.sequence-number-init-mode = snapshot")
	require.NoError(t, err)
	_, err = paimon.NewCatalog(f.store, "wh").AlterTable(t.Context(), "db.t", []paimon.Change{change})
	require.NoError(t, err)
	for i, want := range []string{"77", "99", "99"} {
		messages := []Message{{NewFiles: []manifest.DataFile{f.dataFile([]int64{5, 99, 6}[i])}}}
		result := f.commit(c, Request{Identifier: int64(i + 2), Messages: messages})
		require.Equal(t, want, result.Last().Properties[MaxSequenceProperty])
	}
}

func TestRowTracking(t *testing.T) {
	f := newFixture(t, appendSpec(map[string]string{"row-tracking.enabled": "true"}))
	c := New(f.table, quick())
	zero := func(rows int64) manifest.DataFile {
		file := f.dataFile(rows)
		file.MinSeq, file.MaxSeq = 0, 0
		return file
	}
	f.commit(c, Request{Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{zero(10), zero(5)}}}})
	result := f.commit(c, Request{Identifier: 2, Messages: []Message{{NewFiles: []manifest.DataFile{zero(3)}}}})
	require.EqualValues(t, 18, *result.Last().NextRowID)
	entries, err := f.table.LiveEntries(t.Context(), result.Last(), paimon.Filter{})
	require.NoError(t, err)
	var got [][3]int64
	for _, e := range entries {
		got = append(got, [3]int64{*e.File.FirstRowID, e.File.MinSeq, e.File.MaxSeq})
	}
	require.Equal(t, [][3]int64{{0, 1, 1}, {10, 1, 1}, {15, 2, 2}}, got)
}

func TestUnsupportedTable(t *testing.T) {
	f := newFixture(t, appendSpec(map[string]string{"row-tracking.enabled": "true", "data-evolution.enabled": "true"}))
	_, err := New(f.table, quick()).Commit(t.Context(), Request{User: "u"})
	var unsupported *UnsupportedError
	require.ErrorAs(t, err, &unsupported)
}

// TestSteadyCommitReadsNothing counts the calls of a commit.
func TestSteadyCommitReadsNothing(t *testing.T) {
	f := newFixture(t, spec(map[string]string{"manifest.merge-min-count": "1000000"}))
	counting := faultstore.New(f.store)
	c := New(f.reopen(counting), quick())
	for i := range 20 {
		counting.SetRules()
		file := f.dataFile(1)
		f.commit(c, Request{Identifier: int64(i + 1), Messages: []Message{{
			NewFiles: []manifest.DataFile{file}, CompactBefore: []manifest.DataFile{file},
			CompactAfter: []manifest.DataFile{withKeys(withLevel(f.dataFile(1), 5), int32(20*i), int32(20*i+9))},
		}}})
		if i < 2 {
			continue
		}
		got := map[faultstore.Op]int{}
		for _, call := range counting.Calls() {
			got[call.Op]++
		}
		require.Equal(t, map[faultstore.Op]int{
			faultstore.Stat:        7, // schema, head, next snapshot; the head before each new snapshot, and the new one for the next look
			faultstore.Put:         7, // manifest and two lists for each snapshot, and the hint
			faultstore.PutIfAbsent: 2,
		}, got, "%v", counting.Calls())
	}
	checkTable(t, f.store, f.table.Path)
}

func TestCommitWaitsItsTurn(t *testing.T) {
	f := newFixture(t, spec(nil))
	inside, release := make(chan struct{}), make(chan struct{})
	faulty := faultstore.New(f.store, faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Times: 1, Mode: faultstore.Pass, Hook: func(faultstore.Call) {
		close(inside)
		<-release
	}})
	c := New(f.reopen(faulty), quick())
	done := make(chan error, 1)
	go func() { // ends when the hook is released
		_, err := c.Commit(context.WithoutCancel(t.Context()), Request{User: "slow", Identifier: 1})
		done <- err
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Commit(ctx, Request{User: "impatient", Identifier: 1})
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	require.NoError(t, <-done)
	require.Len(t, checkTable(t, f.store, f.table.Path), 1)
}
