package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/subscriber"
	"sluice/objstore"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// What is written: each source has operations that are numbered from 0, and what
// an operation does follows from its number alone. Its key is inserted, updated
// twice, deleted, inserted again, and so on, each time with the operation's number
// as value. So a table that holds the operations 0 to n of a source, each once and
// in order, can be told from any other.

const (
	tableName = "db.t"
	keys      = 40 // of a source
	sources   = 2
)

func sourceName(source int) string { return fmt.Sprintf("source-%d", source) }

// rowOf is the row that an operation leaves.
func rowOf(source int, n int64) string {
	key := int64(source)*1000 + n%keys
	return fmt.Sprintf(`{"part":"p%d","k":%d,"v":%d,"pad":%q}`, key%2, key, n, strings.Repeat(strconv.FormatInt(n*7919, 36), int(n%9)))
}

// changesOf is what an operation does, as kind and row.
func changesOf(source int, n int64) []string {
	switch n / keys % 4 {
	case 0:
		return []string{"+I " + rowOf(source, n)}
	case 3:
		return []string{"-D " + rowOf(source, n-keys)}
	}
	return []string{"-U " + rowOf(source, n-keys), "+U " + rowOf(source, n)}
}

// stateAt are the rows after the operations before n.
func stateAt(source int, n int64) []string {
	var rows []string
	for k := int64(0); k < keys && k < n; k++ {
		last := k + (n-1-k)/keys*keys
		if last/keys%4 != 3 {
			rows = append(rows, rowOf(source, last))
		}
	}
	return rows
}

func appendOp(c *rowdata.Changes, source int, n int64) {
	key := int64(source)*1000 + n%keys
	add := func(kind rowdata.RowKind, n int64) {
		c.Cols[0].AppendString(fmt.Sprintf("p%d", key%2))
		c.Cols[1].AppendI64(key)
		c.Cols[2].AppendI64(n)
		c.Cols[3].AppendString(strings.Repeat(strconv.FormatInt(n*7919, 36), int(n%9)))
		c.CloseRow()
		c.Kinds = append(c.Kinds, kind)
	}
	switch n / keys % 4 {
	case 0:
		add(rowdata.Insert, n)
	case 3:
		add(rowdata.Delete, n-keys)
	default:
		add(rowdata.UpdateBefore, n-keys)
		add(rowdata.UpdateAfter, n)
	}
}

func catalogOf(store objstore.Store, dir string) *paimon.Catalog {
	return paimon.NewCatalog(store, strings.TrimPrefix(filepath.ToSlash(dir), "/"))
}

// createTable makes the table in a folder.
func createTable(t *testing.T, dir string) *paimon.Table {
	t.Helper()
	cat := catalogOf(local.New("/", local.Options{NoSync: true}), dir)
	require.NoError(t, cat.CreateDatabase(t.Context(), "db"))
	table, err := cat.CreateTable(t.Context(), tableName, paimon.SchemaSpec{
		Schema: paimon.ColumnsSpec{
			Fields: []string{"part STRING NOT NULL", "k BIGINT NOT NULL", "v BIGINT", "pad STRING"}, PK: []string{"part", "k"}, Partition: []string{"part"},
		},
		Options: map[string]string{"bucket": "2", "changelog-producer": "input", "manifest.merge-min-count": "3"},
	})
	require.NoError(t, err)
	return table
}

// next returns the number of a source's next operation.
func next(point *tablewriter.RestorePoint, source int) (int64, error) {
	p, ok := point.Position(sourceName(source))
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(p.Value, 10, 64)
}

// batch returns operations from..to with the position after them.
func batch(t *rowdata.RowType, source int, from, to int64) (*rowdata.Changes, tablewriter.Position) {
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(t, int(to-from))}
	for n := from; n < to; n++ {
		appendOp(c, source, n)
	}
	return c, tablewriter.Position{Source: sourceName(source), Value: strconv.FormatInt(to, 10)}
}

// tail reads all changes of the table, and their cursors.
func tail(ctx context.Context, table *paimon.Table) ([]subscriber.Change, error) {
	tl, err := snapshotreader.Open(ctx, table, snapshotreader.Start{}, snapshotreader.Options{Until: snapshotreader.Until{Mode: snapshotreader.UntilLatest}})
	if err != nil {
		return nil, err
	}
	defer tl.Close()
	var out []subscriber.Change
	for {
		b, err := tl.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = appendChanges(out, table, b)
	}
}

func appendChanges(dst []subscriber.Change, table *paimon.Table, b *snapshotreader.Batch) []subscriber.Change {
	for i := range b.Rows.N {
		dst = append(dst, subscriber.Change{
			Snapshot: b.Snapshot.ID, SchemaID: b.Schema.ID, Partition: table.PartitionText(b.Partition), Bucket: b.Bucket,
			Kind: b.Rows.Kind(i).String(), Row: string(rowdata.AppendJSONObject(nil, &b.Rows.Batch, i)), At: b.Cursor(i).String(),
		})
	}
	return dst
}

// scan reads the rows of the newest snapshot.
func scan(t *testing.T, table *paimon.Table) []string {
	t.Helper()
	s, err := table.LatestSnapshot(t.Context())
	require.NoError(t, err)
	sc, err := snapshotreader.Scan(t.Context(), table, s, snapshotreader.ScanSpec{})
	require.NoError(t, err)
	defer sc.Close()
	var rows []string
	for {
		b, err := sc.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return rows
		}
		require.NoError(t, err)
		for i := range b.Rows.N {
			rows = append(rows, string(rowdata.AppendJSONObject(nil, &b.Rows.Batch, i)))
		}
	}
}

// keyOf is the part of a row's JSON that names its key.
func keyOf(row string) string {
	from := strings.Index(row, `"k":`)
	return row[from : from+strings.IndexByte(row[from:], ',')]
}

// requireOps checks that a table holds the operations of each source up to its
// position, each once and in order, as state and as changes, and that these
// positions are not before what was acknowledged.
func requireOps(t *testing.T, table *paimon.Table, acked [sources]int64) (changes []subscriber.Change) {
	t.Helper()
	state, want := expected(t, table, acked)
	got := scan(t, table)
	slices.Sort(state)
	slices.Sort(got)
	require.Equal(t, state, got, "rows of the table")
	changes, err := tail(t.Context(), table)
	require.NoError(t, err)
	require.Equal(t, want, byKey(changes), "changes by key")
	return changes
}

// expected returns what a table must hold by the positions of its sources: its
// rows, and its changes by key.
func expected(t *testing.T, table *paimon.Table, acked [sources]int64) (state []string, changes map[string][]string) {
	t.Helper()
	w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: user})
	require.NoError(t, err)
	point, err := w.Restore(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	changes = map[string][]string{}
	for s := range sources {
		n, err := next(&point, s)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, acked[s], "source %d: operations were acknowledged that are not there", s)
		state = append(state, stateAt(s, n)...)
		for op := range n {
			for _, c := range changesOf(s, op) {
				changes[keyOf(c)] = append(changes[keyOf(c)], c)
			}
		}
	}
	return state, changes
}

func byKey(changes []subscriber.Change) map[string][]string {
	out := map[string][]string{}
	for _, c := range changes {
		out[keyOf(c.Row)] = append(out[keyOf(c.Row)], c.Kind+" "+c.Row)
	}
	return out
}
