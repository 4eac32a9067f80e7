package paimon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/objstore"
	"sluice/paimon/manifest"
)

const (
	databaseSuffix = ".db"
	// schemaRetriesMax bounds how often a new schema version is tried again after
	// somebody else took its number.
	schemaRetriesMax = 100
)

// Catalog is a warehouse folder: databases are its folders named NAME.db, tables
// the folders below them that have a schema (format section 1.1). It is safe for
// concurrent use.
type Catalog struct {
	store     objstore.Store
	warehouse string
	opts      OpenOptions
	cache     *manifestCache
}

// NewCatalog returns the catalog of a warehouse folder, which need not exist yet.
func NewCatalog(store objstore.Store, warehouse string) *Catalog {
	return NewCatalogWith(store, warehouse, OpenOptions{})
}

// NewCatalogWith is [NewCatalog] with options, which hold for its tables too.
// The manifest cache is shared by all of them.
func NewCatalogWith(store objstore.Store, warehouse string, o OpenOptions) *Catalog {
	o = o.withDefaults()
	return &Catalog{store: store, warehouse: strings.TrimRight(warehouse, "/"), opts: o, cache: newManifestCache(o.ManifestCacheBytes)}
}

// Warehouse returns the folder of the warehouse.
func (c *Catalog) Warehouse() string { return c.warehouse }

// TablePath returns the folder of the table "db.t".
func (c *Catalog) TablePath(name string) (string, error) {
	db, t, err := SplitTableName(name)
	if err != nil {
		return "", err
	}
	return objstore.JoinName(c.databasePath(db), t), nil
}

func (c *Catalog) databasePath(db string) string {
	return objstore.JoinName(c.warehouse, db+databaseSuffix)
}

// SplitTableName splits "db.t" at its first dot.
func SplitTableName(name string) (db, table string, err error) {
	db, table, ok := strings.Cut(name, ".")
	if !ok {
		return "", "", fmt.Errorf("table %q: want DATABASE.TABLE: %w", name, ErrName)
	}
	if err := checkComponent("database", db); err != nil {
		return "", "", err
	}
	if err := checkComponent("table", table); err != nil {
		return "", "", err
	}
	if strings.Contains(table, "$") {
		return "", "", fmt.Errorf("table %q: a $ names a system table: %w", name, ErrName)
	}
	return db, table, nil
}

// CreateDatabase makes an empty database. [ErrDatabaseExists].
func (c *Catalog) CreateDatabase(ctx context.Context, db string) error {
	if err := checkComponent("database", db); err != nil {
		return err
	}
	if strings.Contains(db, ".") {
		return fmt.Errorf("database name %q has a dot: %w", db, ErrName)
	}
	ok, err := c.DatabaseExists(ctx, db)
	if err != nil {
		return err
	}
	if ok {
		return fmt.Errorf("create database %s: %w", db, ErrDatabaseExists)
	}
	if err := c.store.MkdirAll(ctx, c.databasePath(db)); err != nil {
		return fmt.Errorf("create database %s: %w", db, err)
	}
	return nil
}

// DatabaseExists tells whether there is a database of that name.
func (c *Catalog) DatabaseExists(ctx context.Context, db string) (bool, error) {
	if err := checkComponent("database", db); err != nil {
		return false, err
	}
	ok, err := c.store.DirExists(ctx, c.databasePath(db))
	if err != nil {
		return false, fmt.Errorf("database %s: %w", db, err)
	}
	return ok, nil
}

// DropDatabase removes a database. With cascade its tables go too, otherwise
// [ErrDatabaseNotEmpty] if it has any. [ErrDatabaseNotFound].
func (c *Catalog) DropDatabase(ctx context.Context, db string, cascade bool) error {
	tables, err := c.ListTables(ctx, db)
	if err != nil {
		return err
	}
	if len(tables) > 0 && !cascade {
		return fmt.Errorf("drop database %s, which has %d tables: %w", db, len(tables), ErrDatabaseNotEmpty)
	}
	for _, t := range tables {
		if err := c.DropTable(ctx, db+"."+t); err != nil {
			return err
		}
	}
	if err := c.store.DeleteDir(ctx, c.databasePath(db)); err != nil {
		return fmt.Errorf("drop database %s: %w", db, err)
	}
	return nil
}

// ListDatabases lists the databases by name.
func (c *Catalog) ListDatabases(ctx context.Context) ([]string, error) {
	_, dirs, err := c.store.ListDir(ctx, c.warehouse)
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	var names []string
	for _, d := range dirs {
		_, base := objstore.SplitName(d)
		if name, ok := strings.CutSuffix(base, databaseSuffix); ok && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ListTables lists the tables of a database by name. [ErrDatabaseNotFound].
func (c *Catalog) ListTables(ctx context.Context, db string) ([]string, error) {
	ok, err := c.DatabaseExists(ctx, db)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("database %s: %w", db, ErrDatabaseNotFound)
	}
	_, dirs, err := c.store.ListDir(ctx, c.databasePath(db))
	if err != nil {
		return nil, fmt.Errorf("list tables of database %s: %w", db, err)
	}
	var names []string
	for _, d := range dirs {
		ok, err := tableExists(ctx, c.store, d)
		if err != nil {
			return nil, err
		}
		if ok {
			_, base := objstore.SplitName(d)
			names = append(names, base)
		}
	}
	slices.Sort(names)
	return names, nil
}

// tableExists probes for the first schema file and then for any.
func tableExists(ctx context.Context, store objstore.Store, path string) (bool, error) {
	ok, err := objstore.Exists(ctx, store, path+"/schema/schema-0")
	if err != nil {
		return false, fmt.Errorf("table %s: %w", path, err)
	}
	if ok {
		return true, nil
	}
	ids, err := listVersions(ctx, store, path+"/schema", "schema-")
	return len(ids) > 0, err
}

// TableExists tells whether there is a table "db.t".
func (c *Catalog) TableExists(ctx context.Context, name string) (bool, error) {
	path, err := c.TablePath(name)
	if err != nil {
		return false, err
	}
	return tableExists(ctx, c.store, path)
}

// CreateTable creates the table "db.t". Of several callers exactly one succeeds;
// the table is durable on return. [ErrTableExists], [ErrDatabaseNotFound]; a
// [*ValidationError] or [*OptionError] if the definition is refused.
func (c *Catalog) CreateTable(ctx context.Context, name string, spec SchemaSpec) (*Table, error) {
	path, err := c.TablePath(name)
	if err != nil {
		return nil, err
	}
	db, _, _ := SplitTableName(name)
	ok, err := c.DatabaseExists(ctx, db)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("create table %s: %w", name, ErrDatabaseNotFound)
	}
	if _, ok := spec.Options[OptPath]; ok {
		return nil, refuseOption(OptPath, "The current catalog does not support specifying the table path when creating a table.")
	}
	s, err := NewSchema(spec, c.opts.Now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	if b := s.Options.Text(OptScanFallbackBranch); b != "" {
		return nil, fmt.Errorf("create table %s: %w", name, refuseOption(OptScanFallbackBranch,
			"Cannot set 'scan.fallback-branch' = '%s' because the branch '%s' does not exist.", b, b))
	}
	if err := createTableAt(ctx, c.store, path, s); err != nil {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	return c.OpenTable(ctx, name)
}

func createTableAt(ctx context.Context, store objstore.Store, path string, s *Schema) error {
	ok, err := tableExists(ctx, store, path)
	if err != nil {
		return err
	}
	if ok {
		return ErrTableExists
	}
	// A new table in such a folder would begin with the rows of the old one.
	old, err := listVersions(ctx, store, path+"/snapshot", "snapshot-")
	if err != nil {
		return err
	}
	if len(old) > 0 {
		return fmt.Errorf("folder %s has %d snapshots of a table whose schema is gone: delete the folder first", path, len(old))
	}
	data, err := s.Marshal()
	if err != nil {
		return err
	}
	err = createObject(ctx, store, path+"/schema/schema-0", data)
	if errors.Is(err, objstore.ErrExists) {
		return ErrTableExists
	}
	return err
}

// OpenTable opens the table "db.t", or its branch "db.t$branch_NAME".
// [ErrTableNotFound], [ErrBranchNotFound].
func (c *Catalog) OpenTable(ctx context.Context, name string) (*Table, error) {
	name, branch, _ := strings.Cut(name, "$branch_")
	return c.OpenBranch(ctx, name, branch)
}

// OpenBranch opens a branch of the table "db.t"; "" is the table itself.
func (c *Catalog) OpenBranch(ctx context.Context, name, branch string) (*Table, error) {
	path, err := c.TablePath(name)
	if err != nil {
		return nil, err
	}
	t := newTable(c.store, path, branch, c.opts, c.cache)
	if err := t.load(ctx); err != nil {
		return nil, fmt.Errorf("open table %s: %w", name, err)
	}
	return t, nil
}

// DropTable removes the table "db.t" with all its files, those at external paths
// included. It is not atomic: snapshots go first and the schema last, so that a
// drop that is interrupted leaves an empty table, which can be dropped again,
// and never a folder with old data in which a new table could be created.
// [ErrTableNotFound].
func (c *Catalog) DropTable(ctx context.Context, name string) error {
	t, err := c.OpenTable(ctx, name)
	if err == nil {
		err = t.drop(ctx)
	}
	if err != nil {
		return fmt.Errorf("drop table %s: %w", name, err)
	}
	return nil
}

func (t *Table) drop(ctx context.Context) error {
	for _, dir := range []string{"snapshot", "changelog", "tag", "consumer", "branch"} {
		if err := t.Store.DeleteDir(ctx, t.Path+"/"+dir); err != nil {
			return err
		}
	}
	if err := t.deleteExternalFiles(ctx); err != nil {
		return err
	}
	objects, dirs, err := t.Store.ListDir(ctx, t.Path)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := t.Store.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	for _, d := range dirs {
		if d == t.Path+"/schema" {
			continue
		}
		if err := t.Store.DeleteDir(ctx, d); err != nil {
			return err
		}
	}
	return t.Store.DeleteDir(ctx, t.Path)
}

// deleteExternalFiles deletes the files outside of the table that its manifests
// name. External roots may be shared with other tables, so they stay.
func (t *Table) deleteExternalFiles(ctx context.Context) error {
	names, err := t.listNames(ctx, t.Path+"/manifest", "manifest-")
	if err != nil {
		return err
	}
	for _, n := range names {
		if strings.HasPrefix(n, "list-") {
			continue
		}
		entries, err := t.ReadManifest(ctx, "manifest-"+n)
		if errors.Is(err, manifest.ErrCorrupt) {
			continue // a leftover that was never committed
		}
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			if e.File.ExternalPath == nil {
				continue
			}
			for _, extra := range e.File.ExtraFiles {
				if err := t.Store.Delete(ctx, t.SidecarPath(e, extra)); err != nil {
					return err
				}
			}
			if err := t.Store.Delete(ctx, t.DataFilePath(e)); err != nil {
				return err
			}
		}
	}
	return nil
}

// RenameTable gives the table "db.t" another name, in the same database or
// another. [ErrTableNotFound], [ErrTableExists], [ErrDatabaseNotFound].
func (c *Catalog) RenameTable(ctx context.Context, from, to string) error {
	fromPath, err := c.TablePath(from)
	if err != nil {
		return err
	}
	toPath, err := c.TablePath(to)
	if err != nil {
		return err
	}
	toDB, _, _ := SplitTableName(to)
	if ok, err := c.DatabaseExists(ctx, toDB); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("rename table %s to %s: %w", from, to, ErrDatabaseNotFound)
	}
	if ok, err := tableExists(ctx, c.store, fromPath); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("rename table %s: %w", from, ErrTableNotFound)
	}
	if ok, err := tableExists(ctx, c.store, toPath); err != nil {
		return err
	} else if ok {
		return fmt.Errorf("rename table %s to %s: %w", from, to, ErrTableExists)
	}
	switch err := c.store.RenameDir(ctx, fromPath, toPath); {
	case errors.Is(err, objstore.ErrExists):
		return fmt.Errorf("rename table %s to %s: %w", from, to, ErrTableExists)
	case errors.Is(err, objstore.ErrNotExist):
		return fmt.Errorf("rename table %s: %w", from, ErrTableNotFound)
	case err != nil:
		return fmt.Errorf("rename table %s to %s: %w", from, to, err)
	}
	return nil
}

// AlterTable applies changes to the table "db.t", all of them in one new schema
// version or none, and returns it. Somebody else's version that comes between
// makes it start again from there. [ErrTableNotFound]; a [*ValidationError] or
// [*OptionError] if a change is refused.
func (c *Catalog) AlterTable(ctx context.Context, name string, changes []Change) (*Schema, error) {
	t, err := c.OpenTable(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("alter table %s: %w", name, err)
	}
	s, err := t.Alter(ctx, changes)
	if err != nil {
		return nil, fmt.Errorf("alter table %s: %w", name, err)
	}
	return s, nil
}
