package paimonfeed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/feeds"
	"sluice/paimon"
	"sluice/snapshotreader"
)

// Options configures the tailers of a table.
type Options struct {
	StreamOverwrite  *bool         // nil: as the table's options say
	PollMin, PollMax time.Duration // 0: the reader's defaults
}

// Table is a table of a warehouse as a feed reads it. It may be used by several
// goroutines.
type Table struct {
	cat    *paimon.Catalog
	name   string
	branch string
	o      Options

	mu      sync.Mutex
	schemas map[*paimon.Schema]*feeds.Schema // few: one a version that was met
}

var _ feeds.Table = (*Table)(nil)

// NewTable names a table, DATABASE.TABLE, and a branch, "" for main. It is opened
// on each use, so it need not exist yet, and may be dropped and created again.
func NewTable(cat *paimon.Catalog, name, branch string, o Options) *Table {
	return &Table{cat: cat, name: name, branch: branch, o: o, schemas: map[*paimon.Schema]*feeds.Schema{}}
}

func (t *Table) open(ctx context.Context) (*paimon.Table, error) {
	p, err := openTable(ctx, t.cat, t.name, t.branch)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func openTable(ctx context.Context, cat *paimon.Catalog, name, branch string) (*paimon.Table, error) {
	var p *paimon.Table
	var err error
	if branch == "" || branch == paimon.MainBranch {
		p, err = cat.OpenTable(ctx, name)
	} else {
		p, err = cat.OpenBranch(ctx, name, branch)
	}
	if errors.Is(err, paimon.ErrTableNotFound) || errors.Is(err, paimon.ErrBranchNotFound) || errors.Is(err, paimon.ErrDatabaseNotFound) || errors.Is(err, paimon.ErrName) {
		return nil, &feeds.NotFoundError{Kind: "table", Name: name}
	}
	return p, err
}

// Open implements [feeds.Table].
func (t *Table) Open(ctx context.Context, s feeds.Start, o feeds.SourceOptions) (feeds.Source, error) {
	p, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	tail, err := snapshotreader.Open(ctx, p, s, snapshotreader.Options{
		BatchRows: o.BatchRows, BatchBytes: o.BatchBytes, StreamOverwrite: t.o.StreamOverwrite, PollMin: t.o.PollMin, PollMax: t.o.PollMax,
	})
	switch {
	case errors.Is(err, paimon.ErrTagNotFound):
		return nil, &feeds.NotFoundError{Kind: "tag", Name: s.Tag}
	case errors.Is(err, paimon.ErrSnapshotNotFound):
		return nil, &feeds.RequestError{Field: "start", Why: err.Error()}
	case err != nil:
		return nil, err
	}
	return &source{t: t, table: p, tail: tail, schema: t.schemaOf(p.Schema())}, nil
}

// Status implements [feeds.Table].
func (t *Table) Status(ctx context.Context) (feeds.Status, error) {
	p, err := t.open(ctx)
	if err != nil {
		return feeds.Status{}, err
	}
	return status(ctx, p, t.schemaOf)
}

func status(ctx context.Context, p *paimon.Table, schemaOf func(*paimon.Schema) *feeds.Schema) (feeds.Status, error) {
	out := feeds.Status{Schema: schemaOf(p.Schema())}
	latest, err := p.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("newest snapshot: %w", err)
	}
	out.Latest, out.LatestTime = latest.ID, latest.Time()
	if out.Earliest, err = p.EarliestID(ctx); err != nil {
		return out, fmt.Errorf("oldest snapshot: %w", err)
	}
	oldest, err := p.EarliestChangelogID(ctx)
	if err == nil {
		out.Earliest = min(out.Earliest, oldest)
	} else if !errors.Is(err, paimon.ErrChangelogNotFound) {
		return out, fmt.Errorf("oldest changelog: %w", err)
	}
	return out, nil
}

// schemaOf returns the shared description of a schema.
func (t *Table) schemaOf(s *paimon.Schema) *feeds.Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.schemas[s]; ok {
		return f
	}
	for old, f := range t.schemas { // the same version, loaded anew
		if old.ID == s.ID && old.TimeMillis == s.TimeMillis && f.Row.Equal(s.RowType()) {
			return f
		}
	}
	f := describe(s)
	t.schemas[s] = f
	return f
}

func describe(s *paimon.Schema) *feeds.Schema {
	return &feeds.Schema{ID: s.ID, Row: s.RowType(), PrimaryKey: s.PrimaryKeys, PartitionKey: s.PartitionKeys}
}
