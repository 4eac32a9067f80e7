package commit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/manifest"
)

// fill commits one file to each of some partitions.
func (f *fixture) fill(c *Committer, partitions ...string) {
	f.t.Helper()
	var messages []Message
	for _, p := range partitions {
		messages = append(messages, Message{
			Partition: stringRow(p), NewFiles: []manifest.DataFile{namedFile("old-"+p, 10)},
			NewIndex: []manifest.IndexEntry{{Type: manifest.IndexHash, FileName: "index-" + p}},
		})
	}
	f.commit(c, Request{User: "fill", Identifier: 1, Messages: messages})
}

func (f *fixture) indexNames() []string {
	s, err := f.reopen(f.store).LatestSnapshot(f.t.Context())
	require.NoError(f.t, err)
	index, err := f.table.IndexEntries(f.t.Context(), s)
	require.NoError(f.t, err)
	names := []string{}
	for _, e := range index {
		names = append(names, e.FileName)
	}
	return names
}

func TestOverwrite(t *testing.T) {
	added := func(p string) Message {
		return Message{Partition: stringRow(p), NewFiles: []manifest.DataFile{namedFile("new-"+p, 3)}, Changelog: []manifest.DataFile{namedFile("changelog-"+p, 3)}}
	}
	for name, test := range map[string]struct {
		overwrite Overwrite
		messages  []Message
		live      []string
		index     []string
	}{
		"dynamic":             {Overwrite{Dynamic: true}, []Message{added("a"), added("d")}, []string{"p=a/0/5 new-a", "p=b/0/0 old-b", "p=c/0/0 old-c", "p=d/0/5 new-d"}, []string{"index-b", "index-c"}},
		"static":              {Overwrite{Partitions: []map[string]string{{"p": "b"}}}, []Message{added("b")}, []string{"p=a/0/0 old-a", "p=b/0/5 new-b", "p=c/0/0 old-c"}, []string{"index-a", "index-c"}},
		"static without rows": {Overwrite{Partitions: []map[string]string{{"p": "b"}, {"p": "c"}}}, nil, []string{"p=a/0/0 old-a"}, []string{"index-a"}},
		"whole table":         {Overwrite{}, []Message{added("b")}, []string{"p=b/0/5 new-b"}, []string{}},
		"nothing there":       {Overwrite{Partitions: []map[string]string{{"p": "x"}}}, nil, []string{"p=a/0/0 old-a", "p=b/0/0 old-b", "p=c/0/0 old-c"}, []string{"index-a", "index-b", "index-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, partitionedSpec(map[string]string{"changelog-producer": "input"}))
			c := New(f.table, quick())
			f.fill(c, "a", "b", "c")
			result := f.commit(c, Request{Identifier: 1, Overwrite: &test.overwrite, Messages: test.messages})
			require.Equal(t, "2 OVERWRITE", kinds(result.Snapshots))
			require.Equal(t, test.live, f.live())
			require.Equal(t, test.index, f.indexNames())
			require.False(t, result.Last().HasChangelog(), "an overwrite never carries changelog")
			checkTable(t, f.store, f.table.Path)
		})
	}
}

func TestDynamicOverwriteWithoutRows(t *testing.T) {
	f := newFixture(t, partitionedSpec(nil))
	c := New(f.table, quick())
	f.fill(c, "a")
	result := f.commit(c, Request{Identifier: 1, Overwrite: &Overwrite{Dynamic: true}, IgnoreEmpty: true})
	require.Empty(t, result.Snapshots)
	require.Equal(t, []string{"p=a/0/0 old-a"}, f.live())
	result = f.commit(c, Request{Identifier: 1, Overwrite: &Overwrite{Dynamic: true}})
	require.Equal(t, "2 OVERWRITE", kinds(result.Snapshots), "a commit that must leave a trace replaces nothing")
	require.Equal(t, []string{"p=a/0/0 old-a"}, f.live())
}

func TestOverwriteOfUnpartitionedTable(t *testing.T) {
	f := newFixture(t, spec(nil))
	c := New(f.table, quick())
	f.commit(c, Request{Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{f.dataFile(1), f.dataFile(1)}}}})
	result := f.commit(c, Request{Identifier: 2, Overwrite: &Overwrite{Dynamic: true}, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("new", 1)}}}})
	require.Equal(t, "2 OVERWRITE", kinds(result.Snapshots))
	require.Equal(t, []string{"0/5 new"}, f.live())
	f.commit(c, Request{Identifier: 3, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("more", 1)}}}})
	result, err := c.Truncate(t.Context(), "user", 4)
	require.NoError(t, err)
	require.Equal(t, "TRUNCATE", *result.Last().Operation)
	require.EqualValues(t, 0, *result.Last().TotalRecordCount)
	require.Empty(t, f.live())
	// An identity that was deleted must not come back; a new name may.
	f.commit(c, Request{Identifier: 5, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("again", 1)}}}})
	require.Equal(t, []string{"0/0 again"}, f.live())
	checkTable(t, f.store, f.table.Path)
}

func TestDropPartitions(t *testing.T) {
	f := newFixture(t, partitionedSpec(nil))
	c := New(f.table, quick())
	f.fill(c, "a", "b", "c")
	_, err := c.DropPartitions(t.Context(), "user", 1, []map[string]string{{"p": "a"}, {"p": "c"}})
	require.NoError(t, err)
	require.Equal(t, []string{"p=b/0/0 old-b"}, f.live())
}

func TestOverwriteRescales(t *testing.T) {
	f := newFixture(t, partitionedSpec(map[string]string{"bucket": "2"}))
	c := New(f.table, quick())
	f.fill(c, "a", "b")
	change, err := paimon.ParseChange("set option bucket=4")
	require.NoError(t, err)
	_, err = paimon.NewCatalog(f.store, "wh").AlterTable(t.Context(), "db.t", []paimon.Change{change})
	require.NoError(t, err)
	more := []Message{{Partition: stringRow("a"), NewFiles: []manifest.DataFile{namedFile("four", 1)}}}
	_, err = c.Commit(t.Context(), Request{User: "u", Identifier: 1, Messages: more, CheckConflicts: true})
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, ConflictBuckets, conflict.Kind)
	f.commit(c, Request{Identifier: 1, Messages: more, Overwrite: &Overwrite{Dynamic: true}})
	s, err := f.table.LatestSnapshot(t.Context())
	require.NoError(t, err)
	entries, err := f.table.LiveEntries(t.Context(), s, paimon.Filter{})
	require.NoError(t, err)
	got := map[string]int32{}
	for _, e := range entries {
		got[e.File.FileName] = e.TotalBuckets
	}
	require.Equal(t, map[string]int32{"old-b": 2, "four": 4}, got)
}

func TestOverwriteWithCompaction(t *testing.T) {
	f := newFixture(t, spec(map[string]string{"changelog-producer": "lookup"}))
	c := New(f.table, quick())
	f.commit(c, Request{Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("old", 1)}}}})
	result := f.commit(c, Request{Identifier: 2, Overwrite: &Overwrite{}, Messages: []Message{{
		NewFiles: []manifest.DataFile{namedFile("new", 4)}, CompactBefore: []manifest.DataFile{namedFile("new", 4)},
		CompactAfter: []manifest.DataFile{withLevel(namedFile("compacted", 4), 5)}, CompactChangelog: []manifest.DataFile{namedFile("changelog", 4)},
	}}})
	require.Equal(t, "2 OVERWRITE, 3 COMPACT", kinds(result.Snapshots))
	require.Equal(t, []string{"0/5 compacted"}, f.live())
	for _, s := range result.Snapshots {
		require.False(t, s.HasChangelog())
	}
}

func TestUpgrade(t *testing.T) {
	with := func(file manifest.DataFile, deletes int64) manifest.DataFile {
		file.DeleteRowCount = &deletes
		return file
	}
	for name, test := range map[string]struct {
		options map[string]string
		files   []manifest.DataFile
		level   string
	}{
		"apart":       {nil, []manifest.DataFile{withKeys(namedFile("a", 1), 5, 9), withKeys(namedFile("b", 1), 1, 4)}, "5"},
		"touching":    {nil, []manifest.DataFile{withKeys(namedFile("a", 1), 4, 9), withKeys(namedFile("b", 1), 1, 4)}, "0"},
		"with levels": {map[string]string{"num-levels": "3"}, []manifest.DataFile{namedFile("a", 1)}, "2"},
		"trigger":     {map[string]string{"num-sorted-run.compaction-trigger": "8"}, []manifest.DataFile{namedFile("a", 1)}, "8"},
		"off":         {map[string]string{"overwrite-upgrade": "false"}, []manifest.DataFile{namedFile("a", 1)}, "0"},
		"deletes":     {nil, []manifest.DataFile{with(namedFile("a", 5), 1)}, "5"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, spec(test.options))
			f.commit(New(f.table, quick()), Request{Identifier: 1, Overwrite: &Overwrite{}, Messages: []Message{{NewFiles: test.files}}})
			for _, live := range f.live() {
				require.Contains(t, live, "0/"+test.level+" ")
			}
		})
	}
}

// TestUpgradeByBucket: a bucket whose files overlap keeps no other from going up.
func TestUpgradeByBucket(t *testing.T) {
	f := newFixture(t, spec(map[string]string{"bucket": "2"}))
	f.commit(New(f.table, quick()), Request{Identifier: 1, Overwrite: &Overwrite{}, Messages: []Message{
		{NewFiles: []manifest.DataFile{withKeys(namedFile("a", 1), 1, 4), withKeys(namedFile("b", 1), 4, 9)}},
		{Bucket: 1, NewFiles: []manifest.DataFile{withKeys(namedFile("c", 1), 1, 9)}},
	}})
	require.ElementsMatch(t, []string{"0/0 a", "0/0 b", "1/5 c"}, f.live())
}

// TestOverwriteIsRecomputed lets somebody add a file between the plan and the
// create: the overwrite removes it, too.
func TestOverwriteIsRecomputed(t *testing.T) {
	s := newScenario(t, true)
	other := New(s.table, quick())
	c := s.open(newRacer(s, func() {
		s.commit(other, Request{User: "other", Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("late", 1)}}}})
	}))
	result, err := c.Commit(t.Context(), s.req)
	require.NoError(t, err)
	require.Equal(t, "5 OVERWRITE, 6 COMPACT", kinds(result.Snapshots))
	require.Equal(t, s.after, s.live())
	checkTable(t, s.store, s.table.Path)
	all, used := metadataFiles(t, s.store, s.table.Path)
	require.ElementsMatch(t, all, used)
}
