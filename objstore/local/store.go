package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sluice/objstore"
)

// Options of a [Store]. The zero value is what a product needs.
type Options struct {
	// NoSync leaves out every fsync: what was written survives a crash of the
	// process, but not one of the machine. For tests and throw-away tables.
	NoSync bool
}

// Store is a folder of a local file system as an [objstore.Store].
type Store struct {
	root  string // without a trailing slash; "" is the root of the file system
	opts  Options
	syncs folderSyncs
}

var (
	_ objstore.Store       = (*Store)(nil)
	_ objstore.BatchPutter = (*Store)(nil)
	_ objstore.HintPutter  = (*Store)(nil)
	_ objstore.Stager      = (*Store)(nil)
	_ objstore.TempLister  = (*Store)(nil)
)

// New returns the store of the files below root. The product uses "/", so that
// the name of an object is its absolute path without the leading slash
// ([objstore.NameOfURI]).
func New(root string, opts Options) *Store {
	return &Store{root: strings.TrimRight(filepath.Clean(root), "/"), opts: opts}
}

// path returns the file of an object or folder whose name has been checked.
func (s *Store) path(name string) string {
	if name == "" {
		return s.root + "/"
	}
	return s.root + "/" + name
}

// begin checks what every call checks first.
func begin(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return objstore.CheckName(name)
}

func beginDir(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return objstore.CheckDir(dir)
}

// translate gives the errors of the file system the sentinels of objstore.
func translate(op, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s %s: %w", op, name, objstore.ErrNotExist)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s %s: %w", op, name, objstore.ErrExists)
	}
	return fmt.Errorf("%s %s: %w", op, name, cause(err))
}

// cause takes the path out of an error of package os: the name is said already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

type reader struct {
	file *os.File
	size int64
}

func (r *reader) Size() int64  { return r.size }
func (r *reader) Close() error { return r.file.Close() }

func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read %s at %d: %w", r.file.Name(), off, cause(err))
	}
	return n, err
}

// Open implements [objstore.Store].
func (s *Store) Open(ctx context.Context, name string) (objstore.Reader, error) {
	if err := begin(ctx, name); err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, translate("open", name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, translate("open", name, err)
	}
	return &reader{file: f, size: info.Size()}, nil
}

// Stat implements [objstore.Store].
func (s *Store) Stat(ctx context.Context, name string) (objstore.Info, error) {
	if err := begin(ctx, name); err != nil {
		return objstore.Info{}, err
	}
	info, err := os.Stat(s.path(name))
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return objstore.Info{}, translate("stat", name, err)
	}
	return objstore.Info{Name: name, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// List implements [objstore.Store].
func (s *Store) List(ctx context.Context, dir string, fn func(objstore.Info) error) error {
	if err := beginDir(ctx, dir); err != nil {
		return err
	}
	return s.walk(ctx, dir, false, fn)
}

// ListTemp implements [objstore.TempLister].
func (s *Store) ListTemp(ctx context.Context, dir string, fn func(objstore.Info) error) error {
	if err := beginDir(ctx, dir); err != nil {
		return err
	}
	return s.walk(ctx, dir, true, fn)
}

// walk calls fn for the files below a folder, temporary ones or all others.
func (s *Store) walk(ctx context.Context, dir string, temp bool, fn func(objstore.Info) error) error {
	// A link to a folder is followed at the start only: links below could lead
	// round in circles.
	start, err := filepath.EvalSymlinks(s.path(dir))
	if err != nil {
		if err = translate("list", dir, err); errors.Is(err, objstore.ErrNotExist) {
			return nil
		}
		return err
	}
	return filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone meanwhile, or never there
			return nil
		case err != nil:
			return translate("list", dir, err)
		case d.IsDir() || path == start || isTemp(d.Name()) != temp:
			return nil
		}
		info, ok, err := fileInfo(path, d)
		if err != nil || !ok {
			return err
		}
		info.Name = objstore.JoinName(dir, strings.TrimPrefix(strings.TrimPrefix(path, start), "/"))
		return fn(info)
	})
}

// fileInfo returns size and time of a directory entry; false if it is not, or no
// longer, a file.
func fileInfo(path string, d fs.DirEntry) (objstore.Info, bool, error) {
	var info fs.FileInfo
	var err error
	if d.Type()&fs.ModeSymlink != 0 {
		info, err = os.Stat(path)
	} else {
		info, err = d.Info()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return objstore.Info{}, false, nil
	}
	if err != nil {
		return objstore.Info{}, false, fmt.Errorf("list %s: %w", path, cause(err))
	}
	if !info.Mode().IsRegular() {
		return objstore.Info{}, false, nil
	}
	return objstore.Info{Size: info.Size(), ModTime: info.ModTime()}, true, nil
}

// ListDir implements [objstore.Store].
func (s *Store) ListDir(ctx context.Context, dir string) ([]objstore.Info, []string, error) {
	if err := beginDir(ctx, dir); err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(s.path(dir))
	if err != nil {
		if err = translate("list", dir, err); errors.Is(err, objstore.ErrNotExist) {
			err = nil
		}
		return nil, nil, err
	}
	var objects []objstore.Info
	var dirs []string
	for _, d := range entries {
		name := objstore.JoinName(dir, d.Name())
		isDir := d.IsDir()
		if d.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(s.path(name))
			isDir = err == nil && info.IsDir()
		}
		switch {
		case isDir:
			dirs = append(dirs, name)
		case !isTemp(d.Name()):
			info, ok, err := fileInfo(s.path(name), d)
			if err != nil {
				return nil, nil, err
			}
			if ok {
				info.Name = name
				objects = append(objects, info)
			}
		}
	}
	slices.SortFunc(objects, func(a, b objstore.Info) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(dirs)
	return objects, dirs, nil
}

// Delete implements [objstore.Store].
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := begin(ctx, name); err != nil {
		return err
	}
	err := syscall.Unlink(s.path(name))
	for err == syscall.EINTR {
		err = syscall.Unlink(s.path(name))
	}
	switch err {
	case nil, syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR:
		return nil
	}
	return translate("delete", name, err)
}
