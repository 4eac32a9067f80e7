package invariant

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// A changelog that a snapshot has lost, or has twice, is found, and where.
func TestBrokenTablesAreFound(t *testing.T) {
	table := written(t)
	problems, err := Table(t.Context(), table)
	require.NoError(t, err)
	require.Empty(t, problems)

	lost := written(t)
	change(t, lost, 2, func(s *paimon.Snapshot) { s.ChangelogManifestList, s.ChangelogManifestListSize = nil, nil })
	problems, err = Table(t.Context(), lost)
	require.NoError(t, err)
	require.Contains(t, strings.Join(problems, "\n"), "snapshot 2: the table has")
	require.Contains(t, strings.Join(problems, "\n"), "snapshot 3: -U")

	twice := written(t)
	first, err := twice.Snapshot(t.Context(), 1)
	require.NoError(t, err)
	change(t, twice, 2, func(s *paimon.Snapshot) {
		s.ChangelogManifestList, s.ChangelogManifestListSize = first.ChangelogManifestList, first.ChangelogManifestListSize
	})
	problems, err = Table(t.Context(), twice)
	require.NoError(t, err)
	require.Contains(t, strings.Join(problems, "\n"), "snapshot 2: +I[1,0]: the key is there")
}

func TestOnlyCompleteChangelogsAreChecked(t *testing.T) {
	cat := paimon.NewCatalog(memstore.New(memstore.Options{}), "warehouse")
	require.NoError(t, cat.CreateDatabase(t.Context(), "db"))
	table, err := cat.CreateTable(t.Context(), "db.t", spec("input"))
	require.NoError(t, err)
	_, err = NewChecker(table)
	require.ErrorContains(t, err, "not complete")
	empty, err := cat.CreateTable(t.Context(), "db.empty", spec("lookup"))
	require.NoError(t, err)
	problems, err := Table(t.Context(), empty)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func spec(producer string) paimon.SchemaSpec {
	return paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v INT"}, PK: []string{"k"}},
		Options: map[string]string{"bucket": "1", "changelog-producer": producer},
	}
}

// written makes a table of three commits, one snapshot each, that write key 1.
func written(t *testing.T) *paimon.Table {
	t.Helper()
	cat := paimon.NewCatalog(memstore.New(memstore.Options{}), "warehouse")
	require.NoError(t, cat.CreateDatabase(t.Context(), "db"))
	table, err := cat.CreateTable(t.Context(), "db.t", spec("lookup"))
	require.NoError(t, err)
	w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: "u", CommitInterval: time.Hour, LookupDir: t.TempDir()})
	require.NoError(t, err)
	for v := range 3 {
		rows := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 1), Kinds: []rowdata.RowKind{rowdata.Insert}}
		require.NoError(t, rowdata.AppendJSONRow(&rows.Batch, []any{json.Number("1"), json.Number([]string{"0", "1", "2"}[v])}))
		_, err := w.Write(t.Context(), rows, tablewriter.Position{})
		require.NoError(t, err)
		_, err = w.CommitWith(t.Context(), tablewriter.CompactWait)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
	latest, err := table.LatestID(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, latest)
	return table
}

// change rewrites a snapshot.
func change(t *testing.T, table *paimon.Table, id int64, f func(*paimon.Snapshot)) {
	t.Helper()
	s, err := table.Snapshot(t.Context(), id)
	require.NoError(t, err)
	altered := *s
	f(&altered)
	data, err := altered.Marshal()
	require.NoError(t, err)
	require.NoError(t, table.Store.Put(t.Context(), table.SnapshotPath(id), data))
}
