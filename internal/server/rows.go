package server

import (
	"context"
	"errors"
	"io"
	"strings"

	"sluice/feeds"
	"sluice/feeds/httpapi"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

// rowReader answers row requests from the tables of a warehouse.
type rowReader struct{ cat *paimon.Catalog }

var _ httpapi.Reader = (*rowReader)(nil)

// Query implements [httpapi.Reader].
func (t *rowReader) Query(ctx context.Context, q httpapi.Query) (httpapi.Rows, error) {
	p, err := t.cat.OpenTable(ctx, q.Table)
	if errors.Is(err, paimon.ErrTableNotFound) || errors.Is(err, paimon.ErrDatabaseNotFound) || errors.Is(err, paimon.ErrName) {
		return nil, &feeds.NotFoundError{Kind: "table", Name: q.Table}
	}
	if err != nil {
		return nil, err
	}
	snap, schema, err := snapshotOf(ctx, p, q)
	if err != nil || snap == nil {
		return &rows{schema: schema}, err
	}
	spec := snapshotreader.ScanSpec{Schema: schema, Columns: q.Columns}
	for _, c := range q.Columns {
		if schema.Index(c) < 0 {
			return nil, &feeds.RequestError{Field: "columns", Why: "the table has no column " + c}
		}
	}
	if strings.TrimSpace(q.Where) != "" {
		f, err := snapshotreader.ParseFilter(q.Where, schema)
		if err != nil {
			return nil, &feeds.RequestError{Field: "where", Why: err.Error()}
		}
		spec.Filter = f
	}
	scan, err := snapshotreader.Scan(ctx, p, snap, spec)
	if err != nil {
		return nil, err
	}
	return &rows{scan: scan, snapshot: snap.ID, schema: schema}, nil
}

// snapshotOf finds the snapshot that a query names; nil: the table is empty.
func snapshotOf(ctx context.Context, p *paimon.Table, q httpapi.Query) (*paimon.Snapshot, *paimon.Schema, error) {
	var snap *paimon.Snapshot
	switch {
	case q.Snapshot > 0:
		s, err := p.Snapshot(ctx, q.Snapshot)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			err = &feeds.RequestError{Field: "snapshot", Why: err.Error()}
		}
		if err != nil {
			return nil, nil, err
		}
		snap = s
	case q.Tag != "":
		tag, err := p.Tag(ctx, q.Tag)
		if errors.Is(err, paimon.ErrTagNotFound) {
			err = &feeds.NotFoundError{Kind: "tag", Name: q.Tag}
		}
		if err != nil {
			return nil, nil, err
		}
		snap = tag.Snapshot
	default:
		s, err := p.LatestSnapshot(ctx)
		if errors.Is(err, paimon.ErrNoSnapshot) {
			return nil, p.Schema(), nil
		}
		return s, p.Schema(), err
	}
	schema, err := p.SchemaByID(ctx, snap.SchemaID)
	return snap, schema, err
}

// rows is a scan as HTTP sees it.
type rows struct {
	scan     *snapshotreader.Scanner // nil: no rows
	snapshot int64
	schema   *paimon.Schema
}

func (r *rows) Snapshot() int64 { return r.snapshot }
func (r *rows) SchemaID() int64 { return r.schema.ID }

func (r *rows) Next(ctx context.Context) (*rowdata.Batch, error) {
	if r.scan == nil {
		return nil, io.EOF
	}
	b, err := r.scan.Next(ctx)
	if err != nil {
		return nil, err
	}
	return &b.Rows.Batch, nil
}

func (r *rows) Close() error {
	if r.scan == nil {
		return nil
	}
	return r.scan.Close()
}
