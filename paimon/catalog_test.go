package paimon

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/objstore/memstore"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

func TestCatalog(t *testing.T) {
	store := memstore.New(memstore.Options{})
	c := NewCatalog(store, "some/warehouse/")
	ctx := t.Context()
	require.Equal(t, "some/warehouse", c.Warehouse())
	dbs, err := c.ListDatabases(ctx)
	require.NoError(t, err)
	require.Empty(t, dbs)
	_, err = c.ListTables(ctx, "a")
	require.ErrorIs(t, err, ErrDatabaseNotFound)
	_, err = c.CreateTable(ctx, "a.t", kvSpec())
	require.ErrorIs(t, err, ErrDatabaseNotFound)
	for _, name := range []string{"", " ", "a/b", "a.b"} {
		require.ErrorIs(t, c.CreateDatabase(ctx, name), ErrName, name)
	}
	require.NoError(t, c.CreateDatabase(ctx, "b"))
	require.NoError(t, c.CreateDatabase(ctx, "a"))
	require.ErrorIs(t, c.CreateDatabase(ctx, "a"), ErrDatabaseExists)
	require.NoError(t, store.Put(ctx, "some/warehouse/stray", nil))
	require.NoError(t, store.MkdirAll(ctx, "some/warehouse/other"))
	dbs, err = c.ListDatabases(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, dbs)

	for _, name := range []string{"t", "a.", ".t", "a.t/x", "a.t$snapshots"} {
		_, err := c.CreateTable(ctx, name, kvSpec())
		require.ErrorIs(t, err, ErrName, name)
	}
	table, err := c.CreateTable(ctx, "a.t", kvSpec())
	require.NoError(t, err)
	require.Equal(t, "some/warehouse/a.db/t", table.Path)
	_, err = c.CreateTable(ctx, "a.t", kvSpec())
	require.ErrorIs(t, err, ErrTableExists)
	withPath := kvSpec()
	withPath.Options[OptPath] = "/x"
	_, err = c.CreateTable(ctx, "a.p", withPath)
	require.ErrorAs(t, err, new(*ValidationError))
	withBranch := kvSpec()
	withBranch.Options[OptScanFallbackBranch] = "b"
	_, err = c.CreateTable(ctx, "a.p", withBranch)
	require.ErrorContains(t, err, "Cannot set 'scan.fallback-branch' = 'b' because the branch 'b' does not exist.")
	require.NoError(t, store.MkdirAll(ctx, "some/warehouse/a.db/no-table"))
	tables, err := c.ListTables(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, []string{"t"}, tables)

	require.ErrorIs(t, c.RenameTable(ctx, "a.none", "a.u"), ErrTableNotFound)
	require.ErrorIs(t, c.RenameTable(ctx, "a.t", "z.u"), ErrDatabaseNotFound)
	require.ErrorIs(t, c.RenameTable(ctx, "a.t", "a.t"), ErrTableExists)
	require.NoError(t, c.RenameTable(ctx, "a.t", "b.u"))
	ok, err := c.TableExists(ctx, "a.t")
	require.NoError(t, err)
	require.False(t, ok)
	_, err = c.OpenTable(ctx, "a.t")
	require.ErrorIs(t, err, ErrTableNotFound)
	moved, err := c.OpenTable(ctx, "b.u")
	require.NoError(t, err)
	require.Equal(t, table.Identity(), moved.Identity())

	require.ErrorIs(t, c.DropDatabase(ctx, "b", false), ErrDatabaseNotEmpty)
	require.NoError(t, c.DropDatabase(ctx, "b", true))
	require.ErrorIs(t, c.DropDatabase(ctx, "b", true), ErrDatabaseNotFound)
	require.ErrorIs(t, c.DropTable(ctx, "b.u"), ErrTableNotFound)
}

func TestCreateInAFolderWithOldSnapshots(t *testing.T) {
	catalog, table := newTestTable(t, newClock(), kvSpec())
	putSnapshot(t, table, 1, 1)
	require.NoError(t, table.Store.DeleteDir(t.Context(), table.Path+"/schema"))
	_, err := catalog.CreateTable(t.Context(), "db.t", kvSpec())
	require.ErrorContains(t, err, "delete the folder first")
}

func TestTableWithoutFirstSchemaExists(t *testing.T) {
	catalog, table := newTestTable(t, newClock(), kvSpec())
	ctx := t.Context()
	_, err := catalog.AlterTable(ctx, "db.t", []Change{SetOption{"a", "b"}})
	require.NoError(t, err)
	require.NoError(t, table.Store.Delete(ctx, table.SchemaPath(0)))
	ok, err := catalog.TableExists(ctx, "db.t")
	require.NoError(t, err)
	require.True(t, ok)
	_, err = catalog.CreateTable(ctx, "db.t", kvSpec())
	require.ErrorIs(t, err, ErrTableExists)
	_, err = catalog.OpenTable(ctx, "db.t")
	require.NoError(t, err)
}

func TestOneOfManyCreatesATable(t *testing.T) {
	store := memstore.New(memstore.Options{})
	require.NoError(t, NewCatalog(store, "wh").CreateDatabase(t.Context(), "db"))
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			now := func() time.Time { return time.UnixMilli(int64(i)) }
			_, errs[i] = NewCatalogWith(store, "wh", OpenOptions{Now: now}).CreateTable(t.Context(), "db.t", kvSpec())
		})
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else {
			require.ErrorIs(t, err, ErrTableExists)
		}
	}
	require.Equal(t, 1, made)
}

func TestCreateWhoseAnswerIsLost(t *testing.T) {
	inner := memstore.New(memstore.Options{})
	require.NoError(t, NewCatalog(inner, "wh").CreateDatabase(t.Context(), "db"))
	create := []faultstore.Op{faultstore.PutIfAbsent}
	c := NewCatalog(faultstore.New(inner, faultstore.Rule{Ops: create, Mode: faultstore.FailAfter, Times: 1}), "wh")
	_, err := c.CreateTable(t.Context(), "db.t", kvSpec())
	require.NoError(t, err)
	c = NewCatalog(faultstore.New(inner, faultstore.Rule{Ops: create, Mode: faultstore.FailBefore}), "wh")
	_, err = c.CreateTable(t.Context(), "db.u", kvSpec())
	require.ErrorIs(t, err, faultstore.ErrInjected)
	ok, err := c.TableExists(t.Context(), "db.u")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestConcurrentAlters(t *testing.T) {
	catalog, table := newTestTable(t, newClock(), kvSpec())
	const writers = 6
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			_, errs[i] = catalog.AlterTable(t.Context(), "db.t", []Change{AddColumn{Path: []string{string(rune('a' + i))}, Type: &rowdata.Type{Root: rowdata.Int}}})
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	s, err := table.ReloadSchema(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, writers, s.ID)
	require.Len(t, s.Fields, 2+writers, "no change is lost")
	require.Equal(t, 1+writers, s.HighestFieldID)
	ids, err := table.SchemaIDs(t.Context())
	require.NoError(t, err)
	require.Len(t, ids, writers+1)
}

func TestAlterGivesUp(t *testing.T) {
	_, table := newTestTable(t, newClock(), kvSpec())
	inner := table.Store
	// Somebody is always faster.
	table.Store = faultstore.New(inner, faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Mode: faultstore.Pass, Hook: func(c faultstore.Call) {
		s, err := (&Table{Store: inner, Path: table.Path, Branch: MainBranch, opts: table.opts, schemas: map[int64]*Schema{}}).ReloadSchema(t.Context())
		require.NoError(t, err)
		next := s.clone()
		next.ID++
		data, err := next.Marshal()
		require.NoError(t, err)
		require.NoError(t, inner.PutIfAbsent(t.Context(), c.Name, data))
	}})
	_, err := table.Alter(t.Context(), []Change{SetOption{"a", "b"}})
	require.ErrorIs(t, err, ErrTooManyRetries)
}

func TestAlterIsAllOrNothing(t *testing.T) {
	catalog, table := newTestTable(t, newClock(), kvSpec())
	_, err := catalog.AlterTable(t.Context(), "db.t", []Change{SetOption{"a", "b"}, DropColumn{Path: []string{"none"}}})
	require.ErrorAs(t, err, new(*ValidationError))
	require.ErrorContains(t, err, "DROP COLUMN none")
	s, err := catalog.AlterTable(t.Context(), "db.t", nil)
	require.NoError(t, err)
	require.Zero(t, s.ID)
	ids, err := table.SchemaIDs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{0}, ids)
}

// TestDropIsRepeatable fails each call of DropTable in turn: a table that is not
// gone has no snapshots, and dropping it again works.
func TestDropIsRepeatable(t *testing.T) {
	for n := 1; ; n++ {
		c := newClock()
		_, table := newTestTable(t, c, kvSpec())
		ctx := t.Context()
		inside, outside := entryOf(t, table, "f", 0, 0), entryOf(t, table, "g", 0, 0)
		outside.File.ExternalPath = ptr("file:/ext/bucket-0/g")
		outside.File.ExtraFiles = []string{"g.index"}
		for _, name := range []string{table.DataFilePath(&inside), "ext/bucket-0/g", "ext/bucket-0/g.index", "ext/bucket-0/of-another-table", table.ManifestPath("manifest-torn")} {
			require.NoError(t, table.Store.Put(ctx, name, []byte("x")))
		}
		putSnapshot(t, table, 1, 1, inside, outside)
		require.NoError(t, table.CreateBranch(ctx, "b", ""))

		faulty := faultstore.New(table.Store, faultstore.Rule{Call: n, Mode: faultstore.FailBefore})
		err := NewCatalogWith(faulty, "wh", c.options()).DropTable(ctx, "db.t")
		if err != nil {
			require.ErrorIs(t, err, faultstore.ErrInjected)
			again := NewCatalogWith(table.Store, "wh", c.options())
			open, err := again.OpenTable(ctx, "db.t")
			require.NoError(t, err)
			deletes := 0
			for _, call := range faulty.Calls() {
				if call.Op == faultstore.DeleteDir {
					deletes++
				}
			}
			if deletes > 1 {
				_, err = open.LatestID(ctx)
				require.ErrorIs(t, err, ErrNoSnapshot)
			}
			require.NoError(t, again.DropTable(ctx, "db.t"))
		}
		var left []string
		require.NoError(t, table.Store.List(ctx, "", func(i objstore.Info) error { left = append(left, i.Name); return nil }))
		require.Equal(t, []string{"ext/bucket-0/of-another-table"}, left)
		if faulty.Fired() == 0 {
			require.Greater(t, n, 10)
			break
		}
	}
}

func TestDropOfACancelledContext(t *testing.T) {
	catalog, table := newTestTable(t, newClock(), kvSpec())
	putSnapshot(t, table, 1, 1, []manifest.Entry{}...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, catalog.DropTable(ctx, "db.t"))
}

func TestSpecIsJSON(t *testing.T) {
	var spec SchemaSpec
	require.NoError(t, json.Unmarshal([]byte(`{"schema":{"fields":["k INT NOT NULL","p INT"],"pk":["k","p"],"partition":["p"],"comment":"c"},"options":{"bucket":"1"}}`), &spec))
	s, err := NewSchema(spec, 5)
	require.NoError(t, err)
	require.Equal(t, "c", *s.Comment)
	require.Equal(t, []string{"k"}, s.TrimmedPrimaryKeys())
	require.Equal(t, []int{0, 1}, s.KeyCols())
	require.Equal(t, []int{1}, s.PartitionCols())
	require.EqualValues(t, 5, s.TimeMillis)
}
