package tablewriter

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/paimon/tablefile"
)

// newTable creates a table in a store.
func newTable(t testing.TB, store objstore.Store, spec paimon.SchemaSpec) *paimon.Table {
	t.Helper()
	c := paimon.NewCatalog(store, "wh")
	ctx := t.Context()
	if err := c.CreateDatabase(ctx, "db"); !errors.Is(err, paimon.ErrDatabaseExists) {
		require.NoError(t, err)
	}
	require.NoError(t, createTable(ctx, c, spec))
	return openTable(t, store)
}

func openTable(t testing.TB, store objstore.Store) *paimon.Table {
	t.Helper()
	table, err := paimon.NewCatalog(store, "wh").OpenTable(t.Context(), "db.t")
	require.NoError(t, err)
	return table
}

func createTable(ctx context.Context, c *paimon.Catalog, spec paimon.SchemaSpec) error {
	_, err := c.CreateTable(ctx, "db.t", spec)
	return err
}

func spec(fields, pk, partition []string, options ...string) paimon.SchemaSpec {
	s := paimon.SchemaSpec{Schema: paimon.ColumnsSpec{Fields: fields, PK: pk, Partition: partition}, Options: map[string]string{}}
	for i := 0; i < len(options); i += 2 {
		s.Options[options[i]] = options[i+1]
	}
	return s
}

// usual is a table of one key and one value.
func usual(options ...string) paimon.SchemaSpec {
	return spec([]string{"k INT", "v STRING"}, []string{"k"}, nil, append([]string{"bucket", "2"}, options...)...)
}

// uncompressed is for tables in a bubble of package synctest, as the compressors
// that are shared between files work with channels from outside.
func uncompressed(s paimon.SchemaSpec) paimon.SchemaSpec {
	s.Options["file.compression"], s.Options["manifest.compression"] = "none", "null"
	return s
}

func memory() objstore.Store { return memstore.New(memstore.Options{}) }

func openFile(ctx context.Context, t *paimon.Table, e *manifest.Entry) (*tablefile.File, error) {
	typ := t.Schema().RowType()
	cols := make([]int, len(typ.Fields))
	for i := range cols {
		cols[i] = i
	}
	return tablefile.Open(ctx, t, e, tablefile.Spec{Schema: t.Schema(), Cols: cols, Want: typ, System: t.Schema().HasPrimaryKey()})
}

// readTable returns the merged rows of a snapshot as JSON lists, sorted.
func readTable(ctx context.Context, t *paimon.Table, s *paimon.Snapshot) (rows []string, err error) {
	entries, err := t.LiveEntries(ctx, s, paimon.Filter{})
	if err != nil {
		return nil, err
	}
	byBucket := map[destination][]*manifest.Entry{}
	for i := range entries {
		e := &entries[i]
		d := destination{partition: string(e.Partition), bucket: e.Bucket}
		byBucket[d] = append(byBucket[d], e)
	}
	for _, files := range byBucket {
		got, err := readBucket(ctx, t, files)
		if err != nil {
			return nil, err
		}
		rows = append(rows, got...)
	}
	slices.Sort(rows)
	return rows, nil
}

func readBucket(ctx context.Context, t *paimon.Table, files []*manifest.Entry) (rows []string, err error) {
	s := t.Schema()
	kv := rowdata.NewKeyValues(s.RowType(), 0)
	if !s.HasPrimaryKey() {
		slices.SortFunc(files, func(a, b *manifest.Entry) int { return int(a.File.MinSeq - b.File.MinSeq) })
		for _, e := range files {
			got, _, err := readFile(ctx, t, e)
			if err != nil {
				return nil, err
			}
			rows = append(rows, got...)
		}
		return rows, nil
	}
	key := s.TrimmedKey()
	lo, hi := rowdata.NewBatch(s.RowType().Project(key), 0), rowdata.NewBatch(s.RowType().Project(key), 0)
	positions := make([]int, len(key))
	for i := range positions {
		positions[i] = i
	}
	for _, e := range files {
		if err := errors.Join(rowdata.DecodeManifestRow(e.File.MinKey, lo.Cols), rowdata.DecodeManifestRow(e.File.MaxKey, hi.Cols)); err != nil {
			return nil, err
		}
		lo.CloseRow()
		hi.CloseRow()
	}
	for _, section := range merge.Sections(lo, hi, rowdata.NewComparer(positions)) {
		var sources []merge.Source
		for _, run := range section.Runs {
			var open []func() (merge.Source, error)
			for _, f := range run {
				open = append(open, func() (merge.Source, error) { return openFile(ctx, t, files[f]) })
			}
			sources = append(sources, merge.NewChain(open...))
		}
		it := merge.NewIter(sources, rowdata.NewComparer(key), merge.Order{Fields: s.SequenceFields(), Descending: s.SequenceDescending()}, merge.Engine{Keep: merge.Deduplicate{}},
			merge.Options{DropDeletes: true, UniqueKeys: true})
		for {
			n, err := it.Next(kv)
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, errors.Join(err, it.Close())
			}
			for i := range n {
				rows = append(rows, string(rowdata.AppendJSONArray(nil, &kv.Batch, i)))
			}
		}
		if err := it.Close(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// readFile returns the rows of one file as JSON lists, and with their kinds.
func readFile(ctx context.Context, t *paimon.Table, e *manifest.Entry) (rows, withKinds []string, err error) {
	f, err := openFile(ctx, t, e)
	if err != nil {
		return nil, nil, err
	}
	kv := rowdata.NewKeyValues(t.Schema().RowType(), 0)
	for {
		n, err := f.Next(kv)
		if err == io.EOF {
			return rows, withKinds, f.Close()
		}
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		for i := range n {
			row := string(rowdata.AppendJSONArray(nil, &kv.Batch, i))
			rows = append(rows, row)
			if kv.Kinds != nil && len(kv.Kinds) == n {
				withKinds = append(withKinds, kv.Kinds[i].String()+" "+row)
			}
		}
	}
}

// latestRows returns the merged rows of the newest snapshot.
func latestRows(t testing.TB, table *paimon.Table) []string {
	t.Helper()
	s, err := table.LatestSnapshot(t.Context())
	require.NoError(t, err)
	rows, err := readTable(t.Context(), table, s)
	require.NoError(t, err)
	return rows
}

// changelog returns what the changelog files of a snapshot hold, in order.
func changelog(t testing.TB, table *paimon.Table, id int64) []string {
	t.Helper()
	s, err := table.Snapshot(t.Context(), id)
	require.NoError(t, err)
	entries, err := table.ChangelogEntries(t.Context(), s)
	require.NoError(t, err)
	var rows []string
	for i := range entries {
		_, got, err := readFile(t.Context(), table, &entries[i])
		require.NoError(t, err)
		rows = append(rows, got...)
	}
	return rows
}

// openWriter opens a writer that is closed with the test.
func openWriter(t testing.TB, table *paimon.Table, o Options) *Writer {
	t.Helper()
	w, err := Open(t.Context(), table, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		// t.Context is done by now, so what the test did not commit is dropped;
		// tests that care close by themselves.
		_ = w.Close(t.Context())
	})
	return w
}

// write writes rows and returns the receipt.
func write(t testing.TB, w *Writer, kinds string, rows ...[]any) *Receipt {
	t.Helper()
	r, err := w.Write(t.Context(), changes(t, w.Type(), kinds, rows...), Position{})
	require.NoError(t, err)
	return r
}
