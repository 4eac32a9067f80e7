package tablefeed

import (
	"context"

	"sluice/feeds"
	"sluice/paimon"
)

// Warehouse describes the tables of a catalog.
type Warehouse struct{ catalog *paimon.Catalog }

var _ feeds.Tables = (*Warehouse)(nil)

// NewWarehouse returns the tables of a catalog.
func NewWarehouse(c *paimon.Catalog) *Warehouse { return &Warehouse{catalog: c} }

// ListTables implements [feeds.Tables].
func (w *Warehouse) ListTables(ctx context.Context, database string) ([]string, error) {
	databases := []string{database}
	if database == "" {
		var err error
		if databases, err = w.catalog.ListDatabases(ctx); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, db := range databases {
		tables, err := w.catalog.ListTables(ctx, db)
		if err != nil {
			return nil, missing(err, "database", db)
		}
		for _, t := range tables {
			names = append(names, db+"."+t)
		}
	}
	return names, nil
}

// Table implements [feeds.Tables].
func (w *Warehouse) Table(ctx context.Context, name string) (*feeds.TableInfo, error) {
	t, err := w.catalog.OpenTable(ctx, name)
	if err != nil {
		return nil, missing(err, "table", name)
	}
	s := t.Schema()
	info := &feeds.TableInfo{Name: name, Options: s.Options, Status: feeds.Status{Table: name, Schema: schemaOf(s)}}
	if s.Comment != nil {
		info.Comment = *s.Comment
	}
	if err := snapshots(ctx, t, &info.Status); err != nil {
		return nil, err
	}
	if info.Status.Latest > 0 {
		newest, err := t.Snapshot(ctx, info.Status.Latest)
		if err != nil {
			return nil, err
		}
		if n := newest.TotalRecordCount; n != nil {
			info.TotalRecords = *n
		}
	}
	return info, nil
}

// Schema implements [feeds.Tables].
func (w *Warehouse) Schema(ctx context.Context, table string, id int64) (*feeds.Schema, error) {
	t, err := w.catalog.OpenTable(ctx, table)
	if err != nil {
		return nil, missing(err, "table", table)
	}
	s := t.Schema()
	if id >= 0 {
		if s, err = t.SchemaByID(ctx, id); err != nil {
			return nil, missing(err, "schema", table)
		}
	}
	return schemaOf(s), nil
}
