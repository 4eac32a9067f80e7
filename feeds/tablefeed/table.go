package tablefeed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"sluice/feeds"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

// schemasMax bounds the schemas that are kept in memory.
const schemasMax = 256

// Table is a table of a catalog as a feed reads it.
type Table struct {
	catalog *paimon.Catalog
	name    string
	branch  string
	opts    snapshotreader.Options

	mu      sync.Mutex
	table   *paimon.Table
	schemas map[int64]*feeds.Schema // of table, by id
}

var _ feeds.Table = (*Table)(nil)

// New returns the table of that name, DATABASE.TABLE, and branch ("" for the main
// one). It need not exist yet. Of the options, those of batches, columns and the
// end are left to the feed.
func New(catalog *paimon.Catalog, name, branch string, o snapshotreader.Options) *Table {
	o.Columns, o.Until = nil, snapshotreader.Until{}
	return &Table{catalog: catalog, name: name, branch: branch, opts: o}
}

// Current returns the table as it is now.
func (t *Table) Current(ctx context.Context) (*paimon.Table, error) {
	t.mu.Lock()
	table := t.table
	t.mu.Unlock()
	if table != nil {
		id, err := table.CurrentIdentity(ctx)
		if err == nil && id == table.Identity() {
			return table, nil
		}
		if err != nil && !errors.Is(err, paimon.ErrTableNotFound) {
			return nil, err
		}
	}
	fresh, err := t.catalog.OpenBranch(ctx, t.name, t.branch)
	if err != nil {
		return nil, missing(err, "table", t.name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table, t.schemas = fresh, map[int64]*feeds.Schema{}
	return fresh, nil
}

// missing turns what says that something is not there into the error of feeds.
func missing(err error, kind, name string) error {
	for _, e := range []error{paimon.ErrTableNotFound, paimon.ErrDatabaseNotFound, paimon.ErrBranchNotFound, paimon.ErrTagNotFound, paimon.ErrSchemaNotFound} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", &feeds.NotFoundError{Kind: kind, Name: name}, err)
		}
	}
	return err
}

// schema returns the form of a schema that is shared by all sources.
func (t *Table) schema(table *paimon.Table, s *paimon.Schema) *feeds.Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.table != table {
		return schemaOf(s)
	}
	if have := t.schemas[s.ID]; have != nil {
		return have
	}
	if len(t.schemas) >= schemasMax {
		clear(t.schemas)
	}
	made := schemaOf(s)
	t.schemas[s.ID] = made
	return made
}

func schemaOf(s *paimon.Schema) *feeds.Schema {
	return &feeds.Schema{ID: s.ID, Row: &rowdata.RowType{Fields: s.Fields}, PrimaryKey: s.PrimaryKeys, PartitionKey: s.PartitionKeys}
}

// Status implements [feeds.Table].
func (t *Table) Status(ctx context.Context) (feeds.Status, error) {
	st := feeds.Status{Table: t.name}
	table, err := t.Current(ctx)
	if err != nil {
		return st, err
	}
	s, err := table.ReloadSchema(ctx)
	if err != nil {
		return st, err
	}
	st.Schema = t.schema(table, s)
	err = snapshots(ctx, table, &st)
	return st, err
}

// snapshots fills in which snapshots there are.
func snapshots(ctx context.Context, table *paimon.Table, st *feeds.Status) error {
	newest, err := table.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil
	}
	if err != nil {
		return err
	}
	st.Latest, st.LatestTime = newest.ID, newest.Time()
	if st.Earliest, err = table.EarliestID(ctx); err != nil {
		return err
	}
	long, err := table.EarliestChangelogID(ctx)
	if errors.Is(err, paimon.ErrChangelogNotFound) {
		return nil
	}
	st.Earliest = min(st.Earliest, long)
	return err
}

// Open implements [feeds.Table].
func (t *Table) Open(ctx context.Context, s feeds.Start, o feeds.SourceOptions) (feeds.Source, error) {
	table, err := t.Current(ctx)
	if err != nil {
		return nil, err
	}
	opts := t.opts
	opts.BatchRows, opts.BatchBytes = o.BatchRows, o.BatchBytes
	tailer, err := snapshotreader.Open(ctx, table, s, opts)
	if err != nil {
		return nil, missing(err, "tag", s.Tag)
	}
	src := &source{t: t, table: table, tailer: tailer}
	if err := src.firstSchema(ctx); err != nil {
		tailer.Close() // the first error is the one to tell
		return nil, err
	}
	return src, nil
}

// source reads a table for a feed.
type source struct {
	t      *Table
	table  *paimon.Table
	tailer *snapshotreader.Tailer

	snap   *paimon.Snapshot // of the last batch
	commit *feeds.Commit
	schema *feeds.Schema
	made   *paimon.Schema // what schema was made of
}

// Next implements [feeds.Source].
func (s *source) Next(ctx context.Context) (*feeds.Batch, error) {
	b, err := s.tailer.Next(ctx)
	if err != nil {
		return nil, err
	}
	if s.snap != b.Snapshot || s.commit.Phase != b.Phase {
		s.snap, s.commit = b.Snapshot, commitOf(b)
	}
	if s.made != b.Schema {
		s.made, s.schema = b.Schema, s.t.schema(s.table, b.Schema)
	}
	return &feeds.Batch{
		Commit: s.commit, Schema: s.schema, Partition: s.partition(b.Partition), Bucket: b.Bucket,
		Rows: b.Rows, At: b.At, Next: b.Next, First: b.First, Last: b.Last,
	}, nil
}

func (s *source) partition(row []byte) string {
	if row == nil {
		return ""
	}
	return s.table.PartitionText(row)
}

func commitOf(b *snapshotreader.Batch) *feeds.Commit {
	c := &feeds.Commit{
		Snapshot: b.Snapshot.ID, Time: b.Snapshot.Time(), Kind: string(b.Snapshot.CommitKind), Phase: b.Phase,
		User: b.Snapshot.CommitUser, Identifier: b.Snapshot.CommitIdentifier,
	}
	if millis, ok := b.Snapshot.EventTime(); ok {
		c.Watermark = &millis
	}
	return c
}

// Cursor implements [feeds.Source].
func (s *source) Cursor() feeds.Cursor { return s.tailer.Cursor() }

// firstSchema finds the schema of the snapshot at the position: the newest if there
// is none yet.
func (s *source) firstSchema(ctx context.Context) error {
	snap, _, err := s.table.SnapshotOrChangelog(ctx, s.tailer.Cursor().Snapshot)
	var found *paimon.Schema
	switch {
	case errors.Is(err, paimon.ErrSnapshotNotFound):
		found, err = s.table.ReloadSchema(ctx)
	case err == nil:
		found, err = s.table.SchemaByID(ctx, snap.SchemaID)
	}
	if err != nil {
		return err
	}
	s.schema = s.t.schema(s.table, found)
	return nil
}

// Schema implements [feeds.Source].
func (s *source) Schema() *feeds.Schema { return s.schema }

// Poke implements [feeds.Source].
func (s *source) Poke() { s.tailer.Poke() }

// Close implements [feeds.Source].
func (s *source) Close() error { return s.tailer.Close() }
