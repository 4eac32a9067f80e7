package tablewriter

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/rowdata"
)

// A key that 500 uncompacted files hold a version of is summed once: the
// compaction that ends it merges a few files at a time through local disk, and
// tells one pair.
func TestManyUncompactedVersions(t *testing.T) {
	const versions = 500
	pad := strings.Repeat("x", 600)
	store := memory()
	table := newTable(t, store, spec([]string{"k INT", "v INT", "pad STRING"}, []string{"k"}, nil, "bucket", "1", "changelog-producer", "lookup",
		"fields.pad.aggregate-function", "first_value", "merge-engine", "aggregation", "fields.v.aggregate-function", "sum", "sort-spill-threshold", "16"))
	catalog := paimon.NewCatalog(store, "wh")
	alter := func(change string) {
		t.Helper()
		ch, err := paimon.ParseChange(change)
		require.NoError(t, err)
		_, err = catalog.AlterTable(t.Context(), "db.t", []paimon.Change{ch})
		require.NoError(t, err)
		table = openTable(t, store)
	}
	o := Options{User: "me", CommitInterval: time.Hour, Shards: 1, LookupDir: t.TempDir()}
	w := openWriter(t, table, o)
	write(t, w, "", []any{1, 100, nil})
	_, err := w.CommitWith(t.Context(), CompactWait)
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))

	alter("set option write-only=true")
	alter("set option write-buffer-size=1 b")
	alter("set option write-buffer-spillable=false")
	w = openWriter(t, table, Options{User: "me", CommitInterval: time.Hour, Shards: 1})
	for range versions { // each too large for the buffer beside the one before
		write(t, w, "", []any{1, 1, pad})
	}
	_, err = w.CommitWith(t.Context(), CompactNone)
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	before, err := table.LatestSnapshot(t.Context())
	require.NoError(t, err)
	files, err := table.LiveEntries(t.Context(), before, paimon.Filter{})
	require.NoError(t, err)
	require.Equal(t, versions+1, len(files))

	alter("reset option write-only")
	w = openWriter(t, table, o)
	_, err = w.CommitWith(t.Context(), CompactFull)
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	latest, err := table.LatestID(t.Context())
	require.NoError(t, err)
	var told []string
	for id := before.ID + 1; id <= latest; id++ {
		told = append(told, changelog(t, table, id)...)
	}
	require.Equal(t, []string{"-U [1,100,null]", "+U [1,600,null]"}, told)
	require.Equal(t, []string{"[1,600,null]"}, latestRows(t, table))
}

// Buckets are compacted at the same time, and what merges them shares no state:
// each key has its own sums, texts and lists.
func TestTwoBucketsMergeAtOnce(t *testing.T) {
	const keys, commits = 40, 4
	for _, engine := range []string{"aggregation", "partial-update"} {
		t.Run(engine, func(t *testing.T) {
			options := []string{
				"bucket", "2", "changelog-producer", "lookup", "merge-engine", engine,
				"fields.v.aggregate-function", "sum", "fields.s.aggregate-function", "listagg",
			}
			if engine == "partial-update" {
				options = append(options, "fields.g.sequence-group", "v,s")
			} else {
				options = append(options, "fields.g.aggregate-function", "max")
			}
			table := newTable(t, memory(), spec([]string{"k INT", "v INT", "s STRING", "g INT"}, []string{"k"}, nil, options...))
			w := openWriter(t, table, Options{User: "me", CommitInterval: time.Hour, Shards: 2, LookupDir: t.TempDir()})
			for n := range commits {
				rows := make([][]any, keys)
				for k := range rows {
					rows[k] = []any{k, k * (n + 1), fmt.Sprintf("k%d", k), n + 1}
				}
				write(t, w, "", rows...)
				_, err := w.CommitWith(t.Context(), []CompactMode{CompactWait, CompactFull}[n%2])
				require.NoError(t, err)
			}
			require.NoError(t, w.Close(t.Context()))
			var want []string
			for k := range keys {
				text := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("k%d,", k), commits), ",")
				want = append(want, fmt.Sprintf(`[%d,%d,%q,%d]`, k, k*10, text, commits))
			}
			require.ElementsMatch(t, want, latestRows(t, table))
		})
	}
}

// An overwrite of a table with a derived changelog leaves no changelog files: not
// in its snapshots, and none in the folder that no snapshot names.
func TestOverwriteLeavesNoChangelogFiles(t *testing.T) {
	store := memory()
	table := newTable(t, store, usual("bucket", "1", "changelog-producer", "lookup"))
	o := Options{User: "me", CommitInterval: time.Hour, LookupDir: t.TempDir()}
	w := openWriter(t, table, o)
	write(t, w, "", []any{1, "a"})
	_, err := w.CommitWith(t.Context(), CompactWait)
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	one := changelogFiles(t.Context(), t, table)
	require.Len(t, one, 1)
	before, err := table.LatestID(t.Context())
	require.NoError(t, err)
	o.Overwrite = &commit.Overwrite{}
	w = openWriter(t, table, o)
	write(t, w, "", []any{1, "b"})
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, one, changelogFiles(t.Context(), t, table))
	latest, err := table.LatestID(t.Context())
	require.NoError(t, err)
	require.Greater(t, latest, before)
	for id := before + 1; id <= latest; id++ {
		s, err := table.Snapshot(t.Context(), id)
		require.NoError(t, err)
		entries, err := table.ChangelogEntries(t.Context(), s)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
	require.Equal(t, []string{`[1,"b"]`}, latestRows(t, table))
}

// changelogFiles are the names of the changelog files in the only bucket.
func changelogFiles(ctx context.Context, t *testing.T, table *paimon.Table) (names []string) {
	t.Helper()
	require.NoError(t, table.Store.List(ctx, table.BucketPath(rowdata.EmptyManifestRow(), 0), func(i objstore.Info) error {
		if strings.HasPrefix(path.Base(i.Name), "changelog-") {
			names = append(names, i.Name)
		}
		return nil
	}))
	return names
}
