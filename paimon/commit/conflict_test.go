package commit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore/faultstore"
	"sluice/paimon/manifest"
)

// newRacer returns a store whose first create of a snapshot is preceded by
// something.
func newRacer(s *scenario, before func()) (*faultstore.Store, faultstore.Rule) {
	return faultstore.New(s.store), faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Times: 1, Mode: faultstore.Pass, Hook: func(faultstore.Call) { before() }}
}

func TestConflicts(t *testing.T) {
	file := func(name string, level int32, from, to int32) manifest.DataFile {
		return withKeys(withLevel(namedFile(name, 1), level), from, to)
	}
	type list = []manifest.DataFile
	for name, test := range map[string]struct {
		base    []Message
		message Message
		check   bool
		want    ConflictKind // "": none
		file    string
	}{
		"compaction":               {[]Message{{NewFiles: list{file("a", 0, 1, 9)}}}, Message{CompactBefore: list{file("a", 0, 1, 9)}, CompactAfter: list{file("b", 5, 1, 9)}}, false, "", ""},
		"upgrade":                  {[]Message{{NewFiles: list{file("a", 0, 1, 9)}}}, Message{CompactBefore: list{file("a", 0, 1, 9)}, CompactAfter: list{file("a", 5, 1, 9)}}, false, "", ""},
		"deleted already":          {[]Message{{NewFiles: list{file("a", 0, 1, 9)}}}, Message{CompactBefore: list{file("x", 0, 1, 9)}, CompactAfter: list{file("b", 5, 1, 9)}}, false, ConflictDelete, "x"},
		"deleted at another level": {[]Message{{NewFiles: list{file("a", 0, 1, 9)}}}, Message{CompactBefore: list{file("a", 1, 1, 9)}}, false, ConflictDelete, "a"},
		"deleted twice":            {[]Message{{NewFiles: list{file("a", 0, 1, 9)}}}, Message{CompactBefore: list{file("a", 0, 1, 9), file("a", 0, 1, 9)}}, false, ConflictDelete, "a"},
		"added twice":              {[]Message{{}}, Message{NewFiles: list{file("a", 0, 1, 9), file("a", 0, 1, 9)}}, true, ConflictAdd, "a"},
		"added again":              {[]Message{{NewFiles: list{file("a", 0, 1, 9)}}}, Message{NewFiles: list{file("a", 0, 1, 9)}}, true, ConflictAdd, "a"},
		"deleted and added again":  {[]Message{{NewFiles: list{file("a", 0, 1, 9)}}}, Message{CompactBefore: list{file("a", 0, 1, 9)}, CompactAfter: list{file("a", 0, 1, 9)}}, false, ConflictAdd, "a"},
		"overlap with base":        {[]Message{{NewFiles: list{file("a", 5, 1, 5)}}}, Message{CompactAfter: list{file("b", 5, 5, 9)}}, false, ConflictKeyRange, "a"},
		"overlap within":           {[]Message{{}}, Message{CompactAfter: list{file("b", 3, 5, 9), file("c", 3, 1, 5)}}, false, ConflictKeyRange, "c"},
		"next to each other":       {[]Message{{NewFiles: list{file("a", 5, 1, 4)}}}, Message{CompactAfter: list{file("b", 5, 5, 9)}}, false, "", ""},
		"overlap, other level":     {[]Message{{NewFiles: list{file("a", 4, 1, 9)}}}, Message{CompactAfter: list{file("b", 5, 1, 9)}}, false, "", ""},
		"overlap, other bucket":    {[]Message{{Bucket: 1, NewFiles: list{file("a", 5, 1, 9)}}}, Message{CompactAfter: list{file("b", 5, 1, 9)}}, false, "", ""},
		"overlap goes away":        {[]Message{{NewFiles: list{file("a", 5, 1, 9)}}}, Message{CompactBefore: list{file("a", 5, 1, 9)}, CompactAfter: list{file("b", 5, 1, 4), file("c", 5, 5, 9)}}, false, "", ""},
		"other bucket count":       {[]Message{{TotalBuckets: 2, NewFiles: list{file("a", 0, 1, 9)}}}, Message{TotalBuckets: 3, NewFiles: list{file("b", 0, 1, 9)}}, true, ConflictBuckets, "b"},
		"other count, unchecked":   {[]Message{{TotalBuckets: 2, NewFiles: list{file("a", 0, 1, 9)}}}, Message{TotalBuckets: 3, NewFiles: list{file("b", 0, 1, 9)}}, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, spec(nil))
			f.commit(New(f.table, quick()), Request{User: "base", Identifier: 1, Messages: test.base})
			before := f.live()
			c := New(f.reopen(f.store), quick())
			_, err := c.Commit(t.Context(), Request{User: "u", Identifier: 1, Messages: []Message{test.message}, CheckConflicts: test.check, IgnoreEmpty: true})
			if test.want == "" {
				require.NoError(t, err)
				checkTable(t, f.store, f.table.Path)
				return
			}
			var conflict *ConflictError
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, test.want, conflict.Kind, err)
			require.Equal(t, test.file, conflict.File)
			require.EqualValues(t, 1, conflict.Snapshot)
			require.Equal(t, before, f.live())
			all, used := metadataFiles(t, f.store, f.table.Path)
			require.ElementsMatch(t, all, used, "nothing was written")
			// The committer is of use afterwards.
			_, err = c.Commit(t.Context(), Request{User: "u", Identifier: 2})
			require.NoError(t, err)
		})
	}
}

func TestFirstCommitIsChecked(t *testing.T) {
	f := newFixture(t, spec(nil))
	_, err := New(f.table, quick()).Commit(t.Context(), Request{User: "u", Messages: []Message{
		{TotalBuckets: 2, NewFiles: []manifest.DataFile{f.dataFile(1)}}, {Bucket: 1, TotalBuckets: 3, NewFiles: []manifest.DataFile{f.dataFile(1)}},
	}})
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, ConflictBuckets, conflict.Kind)
}

// TestConflictAfterLostRace loses a race against a compaction of the same files.
func TestConflictAfterLostRace(t *testing.T) {
	s := newScenario(t, false)
	other := New(s.table, quick())
	fresh := s.req.Messages[0].CompactBefore
	racer, rule := newRacer(s, func() {
		s.commit(other, Request{User: "other", Identifier: 1, IgnoreEmpty: true, Messages: []Message{{CompactBefore: fresh[:1], CompactAfter: []manifest.DataFile{withLevel(namedFile("other", 1), 5)}}}})
	})
	rule.Skip = 1 // the append part goes through
	c := s.open(racer, rule)
	result, err := c.Commit(t.Context(), s.req)
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, ConflictDelete, conflict.Kind)
	require.EqualValues(t, 5, conflict.Snapshot)
	// The append part comes first; the other snapshot was between the parts.
	require.Equal(t, "4 APPEND", kinds(result.Snapshots))
	snapshots := checkTable(t, s.store, s.table.Path)
	require.Equal(t, "other", snapshots[4].CommitUser)
	all, used := metadataFiles(t, s.store, s.table.Path)
	require.ElementsMatch(t, all, used)
	// What the lost part would have done is forgotten.
	s.commit(c, Request{User: "writer", Identifier: 2, IgnoreEmpty: true, Messages: []Message{{CompactBefore: fresh[1:], CompactAfter: []manifest.DataFile{withLevel(namedFile("rest", 1), 4)}}}})
	require.Equal(t, []string{"0/4 rest", "0/5 other"}, s.live())
}

// TestRemembersWhatOthersDid checks a compaction against live files that were
// loaded before somebody else changed them.
func TestRemembersWhatOthersDid(t *testing.T) {
	f := newFixture(t, spec(nil))
	c, other := New(f.table, quick()), New(f.reopen(f.store), quick())
	a, b := f.dataFile(1), f.dataFile(1)
	f.commit(c, Request{Identifier: 1, CheckConflicts: true, Messages: []Message{{NewFiles: []manifest.DataFile{a}}}})
	f.commit(other, Request{User: "other", Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{b}}}})
	f.commit(c, Request{Identifier: 2, Messages: []Message{{CompactBefore: []manifest.DataFile{b}, CompactAfter: []manifest.DataFile{withLevel(b, 4)}}}})
	f.commit(other, Request{User: "other", Identifier: 2, Overwrite: &Overwrite{}, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("new", 1)}}}})
	_, err := c.Commit(t.Context(), Request{User: "user", Identifier: 3, Messages: []Message{{CompactBefore: []manifest.DataFile{a}}}})
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	f.commit(c, Request{Identifier: 4, Messages: []Message{{CompactBefore: []manifest.DataFile{withLevel(namedFile("new", 1), 5)}, CompactAfter: []manifest.DataFile{withLevel(namedFile("new", 1), 4)}}}})
	require.Equal(t, []string{"0/4 new"}, f.live())
	checkTable(t, f.store, f.table.Path)
}

func TestVectorConflicts(t *testing.T) {
	vector := func(index string, files ...string) manifest.IndexEntry {
		e := manifest.IndexEntry{Type: manifest.IndexDeletionVectors, FileName: index}
		for _, name := range files {
			e.DVRanges = append(e.DVRanges, manifest.DVRange{DataFile: name, Offset: 1, Length: 22})
		}
		return e
	}
	f := newFixture(t, appendSpec(map[string]string{"deletion-vectors.enabled": "true"}))
	c := New(f.table, quick())
	f.commit(c, Request{Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("a", 9), namedFile("b", 9)}}}})
	result := f.commit(c, Request{Identifier: 2, Messages: []Message{{NewIndex: []manifest.IndexEntry{vector("i1", "a")}}}})
	require.Equal(t, "2 OVERWRITE", kinds(result.Snapshots), "a deletion vector makes it an overwrite")

	for name, test := range map[string]struct {
		message Message
		kind    ConflictKind
	}{
		"two vectors":   {Message{NewIndex: []manifest.IndexEntry{vector("i2", "a", "b")}}, ConflictVectors},
		"of no file":    {Message{NewIndex: []manifest.IndexEntry{vector("i2", "x")}}, ConflictVectors},
		"file goes":     {Message{CompactBefore: []manifest.DataFile{namedFile("a", 9)}}, ConflictVectors},
		"index is gone": {Message{DeletedIndex: []manifest.IndexEntry{vector("i0", "a")}}, ConflictIndex},
		"index again":   {Message{NewIndex: []manifest.IndexEntry{vector("i1", "b")}}, ConflictIndex},
	} {
		_, err := c.Commit(t.Context(), Request{User: "u", Identifier: 3, Messages: []Message{test.message}, IgnoreEmpty: true})
		var conflict *ConflictError
		require.ErrorAs(t, err, &conflict, name)
		require.Equal(t, test.kind, conflict.Kind, name)
	}
	f.commit(c, Request{Identifier: 4, Messages: []Message{{DeletedIndex: []manifest.IndexEntry{vector("i1", "a")}, NewIndex: []manifest.IndexEntry{vector("i2", "a", "b")}}}})
	require.Equal(t, []string{"i2"}, f.indexNames())
	f.commit(c, Request{Identifier: 5, Messages: []Message{{
		CompactBefore: []manifest.DataFile{namedFile("a", 9)}, CompactAfter: []manifest.DataFile{namedFile("c", 8)},
		CompactDeletedIndex: []manifest.IndexEntry{vector("i2", "a", "b")}, CompactNewIndex: []manifest.IndexEntry{vector("i3", "b")},
	}}})
	require.Equal(t, []string{"i3"}, f.indexNames())
	f.commit(c, Request{Identifier: 6, Messages: []Message{{DeletedIndex: []manifest.IndexEntry{vector("i3", "b")}}}})
	require.Empty(t, f.indexNames())
	snapshots := checkTable(t, f.store, f.table.Path)
	require.Nil(t, snapshots[len(snapshots)-1].IndexManifest)
}

func TestStrictMode(t *testing.T) {
	f := newFixture(t, partitionedSpec(map[string]string{"commit.strict-mode.last-safe-snapshot": "1"}))
	c, other := New(f.table, quick()), New(f.reopen(f.store), quick())
	f.fill(c, "a", "b")
	f.commit(other, Request{User: "other", Identifier: 1, Overwrite: &Overwrite{Partitions: []map[string]string{{"p": "a"}}}})
	_, err := c.Commit(t.Context(), Request{User: "u", Identifier: 1, Overwrite: &Overwrite{Dynamic: true}, Messages: []Message{{Partition: stringRow("a"), NewFiles: []manifest.DataFile{namedFile("n", 1)}}}})
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, ConflictStrict, conflict.Kind)
	require.Equal(t, "p=a/", conflict.Partition)
	f.commit(c, Request{Identifier: 1, Overwrite: &Overwrite{Dynamic: true}, Messages: []Message{{Partition: stringRow("b"), NewFiles: []manifest.DataFile{namedFile("n", 1)}}}})
	f.commit(c, Request{Identifier: 2, Messages: []Message{{Partition: stringRow("a"), NewFiles: []manifest.DataFile{namedFile("m", 1)}}}})
}

func TestCombineIndex(t *testing.T) {
	hash := func(partition string, bucket int32, name string) manifest.IndexEntry {
		return manifest.IndexEntry{Partition: []byte(partition), Bucket: bucket, Type: manifest.IndexHash, FileName: name}
	}
	old := []manifest.IndexEntry{hash("a", 0, "a0"), hash("a", 1, "a1"), hash("b", 0, "b0"), {Partition: []byte("a"), Type: manifest.IndexDeletionVectors, FileName: "dv"}}
	got, err := combineIndex(old, []manifest.IndexEntry{hash("b", 0, "whatever")}, []manifest.IndexEntry{hash("a", 1, "first"), hash("a", 1, "second"), hash("c", 0, "c0")}, false, nil)
	require.NoError(t, err)
	var names []string
	for _, e := range got {
		names = append(names, e.FileName)
	}
	require.Equal(t, []string{"a0", "dv", "second", "c0"}, names)
	require.Len(t, old, 4)
	require.Equal(t, "b0", old[2].FileName, "the old list is not changed")
}
