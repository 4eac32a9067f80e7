package tables

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sluice/objstore/local"
	"sluice/paimon"
)

// Name is the name of every table in its warehouse.
const (
	Database = "bench"
	Name     = Database + ".t"
)

// Home is a folder for tables. It is used by one goroutine.
type Home struct {
	store    *local.Store
	prepared string // folder of this build's tables
	scratch  string // folder of this process' tables
	made     int    // tables under test so far
}

// Open opens the folder of a program below dir, and removes what other builds of
// it have prepared. fsync tells whether tables are written durably.
func Open(dir, program string, fsync bool) (*Home, error) {
	dir, err := filepath.Abs(filepath.Join(dir, program))
	if err != nil {
		return nil, err
	}
	build, err := buildID()
	if err != nil {
		return nil, fmt.Errorf("hash of this program: %w", err)
	}
	h := &Home{store: local.New("/", local.Options{NoSync: !fsync}), prepared: filepath.Join(dir, "prepared-"+build)}
	if err := os.MkdirAll(h.prepared, 0o755); err != nil {
		return nil, err
	}
	if err := h.dropOlder(dir); err != nil {
		return nil, err
	}
	h.scratch, err = os.MkdirTemp(dir, "scratch-")
	return h, err
}

// Close removes the tables under test.
func (h *Home) Close() error { return os.RemoveAll(h.scratch) }

// Scratch is a folder that ends with the program.
func (h *Home) Scratch() string { return h.scratch }

// buildID tells builds of this program apart.
func buildID() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// dropOlder removes the prepared tables of other builds.
func (h *Home) dropOlder(dir string) error {
	all, err := filepath.Glob(filepath.Join(dir, "prepared-*"))
	if err != nil {
		return err
	}
	for _, old := range all {
		if old != h.prepared {
			if err := os.RemoveAll(old); err != nil {
				return err
			}
		}
	}
	return nil
}

// create makes the table of a new warehouse folder.
func (h *Home) create(ctx context.Context, warehouse string, spec paimon.SchemaSpec) (*paimon.Table, error) {
	c := paimon.NewCatalog(h.store, objectName(warehouse))
	if err := c.CreateDatabase(ctx, Database); err != nil && !errors.Is(err, paimon.ErrDatabaseExists) {
		return nil, err
	}
	return c.CreateTable(ctx, Name, spec)
}

// objectName is the name of a path in a store of the whole file system.
func objectName(path string) string { return strings.TrimPrefix(filepath.ToSlash(path), "/") }

// At opens the table of a folder.
func (h *Home) At(ctx context.Context, dir string) (*paimon.Table, error) {
	return paimon.Open(ctx, h.store, objectName(dir), paimon.MainBranch)
}

// New makes an empty table under test.
func (h *Home) New(ctx context.Context, spec paimon.SchemaSpec) (*paimon.Table, error) {
	h.made++
	return h.create(ctx, filepath.Join(h.scratch, fmt.Sprint(h.made)), spec)
}

// Ready is the file that marks a folder whose table is complete. The peer marks
// its own in the same way.
const Ready = ".ready"

// Prepared returns the prepared table of that name, which fill fills if it is not
// there yet.
func (h *Home) Prepared(ctx context.Context, name string, spec paimon.SchemaSpec, fill func(*paimon.Table) error) (*paimon.Table, error) {
	warehouse := filepath.Join(h.prepared, name)
	mark := filepath.Join(warehouse, Ready)
	if _, err := os.Stat(mark); err == nil {
		return paimon.NewCatalog(h.store, objectName(warehouse)).OpenTable(ctx, Name)
	}
	fmt.Fprintf(os.Stderr, "preparing table %s\n", name)
	if err := os.RemoveAll(warehouse); err != nil {
		return nil, err
	}
	t, err := h.create(ctx, warehouse, spec)
	if err != nil {
		return nil, err
	}
	if err := fill(t); err != nil {
		return nil, fmt.Errorf("prepare table %s: %w", name, err)
	}
	return t, os.WriteFile(mark, nil, 0o644)
}

// Catalog returns the catalog of a table's warehouse.
func (h *Home) Catalog(t *paimon.Table) *paimon.Catalog {
	return paimon.NewCatalog(h.store, objectName(filepath.Dir(filepath.Dir(Folder(t)))))
}

// CopyOf makes a table under test of the one in a folder. Data files, which never
// change, are links where the file system allows it.
func (h *Home) CopyOf(ctx context.Context, from string) (*paimon.Table, error) {
	h.made++
	to := filepath.Join(h.scratch, fmt.Sprint(h.made), Database+".db", "t")
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case strings.HasPrefix(filepath.Base(filepath.Dir(path)), "bucket-") && os.Link(path, target) == nil:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
	if err != nil {
		return nil, fmt.Errorf("copy table %s: %w", from, err)
	}
	return h.At(ctx, to)
}

// Drop removes a table under test.
func (h *Home) Drop(t *paimon.Table) error {
	rel, err := filepath.Rel(h.scratch, Folder(t))
	if err != nil || strings.HasPrefix(rel, "..") {
		return fmt.Errorf("table %s is none under test", t.Path)
	}
	top, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return os.RemoveAll(filepath.Join(h.scratch, top))
}

// Folder is the path of a table.
func Folder(t *paimon.Table) string { return "/" + t.Path }

// Size is the bytes of a table's files, data and metadata.
func Size(t *paimon.Table) (bytes int64, err error) { return FolderSize(Folder(t)) }

// FolderSize is the bytes of all files in a folder.
func FolderSize(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
