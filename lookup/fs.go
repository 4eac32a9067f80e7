package lookup

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errFrozen is what writes of a database get after it has failed.
var errFrozen = errors.New("an earlier write failed")

// guardFS counts what a database writes, and stops it from writing on once it
// has failed: what is on disk is then as after a crash.
type guardFS struct {
	vfs.FS
	written *atomic.Int64
	frozen  atomic.Bool
}

func (c *Cache) newGuard() *guardFS { return &guardFS{FS: c.opts.fs, written: &c.written} }

func (g *guardFS) check() error {
	if g.frozen.Load() {
		return errFrozen
	}
	return nil
}

func (g *guardFS) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &guardFile{f, g}, nil
}

func (g *guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.wrap(g.FS.Create(name, c))
}

func (g *guardFS) Link(oldname, newname string) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.FS.Link(oldname, newname)
}

func (g *guardFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.wrap(g.FS.OpenReadWrite(name, c, opts...))
}

func (g *guardFS) Remove(name string) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.FS.Remove(name)
}

func (g *guardFS) Rename(oldname, newname string) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.FS.Rename(oldname, newname)
}

func (g *guardFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.wrap(g.FS.ReuseForWrite(oldname, newname, c))
}

func (g *guardFS) MkdirAll(dir string, perm os.FileMode) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.FS.MkdirAll(dir, perm)
}

// Unwrap implements vfs.FS.
func (g *guardFS) Unwrap() vfs.FS { return g.FS }

// guardFile is a file that is written through a guardFS.
type guardFile struct {
	vfs.File
	g *guardFS
}

func (f *guardFile) Write(p []byte) (int, error) {
	if err := f.g.check(); err != nil {
		return 0, err
	}
	n, err := f.File.Write(p)
	f.g.written.Add(int64(n))
	return n, err
}

func (f *guardFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.g.check(); err != nil {
		return 0, err
	}
	n, err := f.File.WriteAt(p, off)
	f.g.written.Add(int64(n))
	return n, err
}
