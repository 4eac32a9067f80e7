package commit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// TestBranch commits to a branch: its snapshots are its own, manifests are shared
// with the main branch.
func TestBranch(t *testing.T) {
	f := newFixture(t, spec(nil))
	main := New(f.table, quick())
	f.commit(main, Request{Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("main-1", 1)}}}})
	_, err := f.table.CreateTag(t.Context(), "start", paimon.TagOptions{})
	require.NoError(t, err)
	require.NoError(t, f.table.CreateBranch(t.Context(), "b", "start"))
	table, err := f.table.OpenBranch(t.Context(), "b")
	require.NoError(t, err)
	branch := New(table, quick())
	f.commit(main, Request{Identifier: 2, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("main-2", 1)}}}})
	result := f.commit(branch, Request{Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("branch-2", 1)}}}})
	require.True(t, result.Repeated, "the branch has the history of its tag")
	result = f.commit(branch, Request{Identifier: 2, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("branch-2", 1)}}}})
	require.EqualValues(t, 2, result.Last().ID)
	require.Equal(t, []string{"0/0 branch-2", "0/0 main-1"}, liveOf(t, table, result.Last()))
	require.Equal(t, []string{"0/0 main-1", "0/0 main-2"}, f.live())
	ok, err := objstore.Exists(t.Context(), f.store, f.table.Path+"/manifest/"+result.Last().DeltaManifestList)
	require.NoError(t, err)
	require.True(t, ok)
}

func TestReplacedTable(t *testing.T) {
	f := newFixture(t, spec(nil))
	c := New(f.table, quick())
	f.commit(c, Request{Identifier: 1})
	catalog := paimon.NewCatalog(f.store, "wh")
	require.NoError(t, catalog.DropTable(t.Context(), "db.t"))
	_, err := c.Commit(t.Context(), Request{User: "user", Identifier: 2})
	require.ErrorIs(t, err, paimon.ErrTableNotFound)
	_, err = catalog.CreateTable(t.Context(), "db.t", partitionedSpec(nil))
	require.NoError(t, err)
	_, err = c.Commit(t.Context(), Request{User: "user", Identifier: 2})
	require.ErrorIs(t, err, ErrTableReplaced)
}
