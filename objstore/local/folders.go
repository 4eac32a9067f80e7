package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sluice/objstore"
)

const (
	dirMode  = 0o755
	fileMode = 0o644
)

// MkdirAll implements [objstore.Store].
func (s *Store) MkdirAll(ctx context.Context, dir string) error {
	if err := beginDir(ctx, dir); err != nil {
		return err
	}
	return s.mkdirAll(s.path(dir))
}

// mkdirAll makes a folder and those above it, and syncs every folder that got
// an entry.
func (s *Store) mkdirAll(path string) error {
	path = filepath.Clean(path)
	err := os.Mkdir(path, dirMode)
	if errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		if err := s.mkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, dirMode)
	}
	switch {
	case err == nil:
		return s.syncDir(filepath.Dir(path))
	case errors.Is(err, fs.ErrExist):
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil
		}
	}
	return fmt.Errorf("make folder %s: %w", path, cause(err))
}

// DirExists implements [objstore.Store].
func (s *Store) DirExists(ctx context.Context, dir string) (bool, error) {
	if err := beginDir(ctx, dir); err != nil {
		return false, err
	}
	info, err := os.Stat(s.path(dir))
	if err == nil {
		return info.IsDir(), nil
	}
	if err = translate("stat", dir, err); errors.Is(err, objstore.ErrNotExist) {
		err = nil
	}
	return false, err
}

// DeleteDir implements [objstore.Store].
func (s *Store) DeleteDir(ctx context.Context, dir string) error {
	if err := begin(ctx, dir); err != nil {
		return err
	}
	path := s.path(dir)
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil
	}
	return translate("delete folder", dir, os.RemoveAll(path))
}

// DeleteEmptyDir implements [objstore.Store].
func (s *Store) DeleteEmptyDir(ctx context.Context, dir string) error {
	if err := begin(ctx, dir); err != nil {
		return err
	}
	switch err := syscall.Rmdir(s.path(dir)); err {
	case nil, syscall.ENOTEMPTY, syscall.EEXIST, syscall.ENOENT, syscall.ENOTDIR:
		return nil
	default:
		return translate("delete folder", dir, err)
	}
}

// RenameDir implements [objstore.Store]. It is one rename(2).
func (s *Store) RenameDir(ctx context.Context, from, to string) error {
	if err := begin(ctx, from); err != nil {
		return err
	}
	if err := begin(ctx, to); err != nil {
		return err
	}
	if exists, err := s.DirExists(ctx, from); err != nil {
		return err
	} else if !exists {
		return translate("rename folder", from, fs.ErrNotExist)
	}
	if _, err := os.Lstat(s.path(to)); err == nil {
		return translate("rename folder to", to, fs.ErrExist)
	}
	if err := s.mkdirAll(filepath.Dir(s.path(to))); err != nil {
		return err
	}
	if err := os.Rename(s.path(from), s.path(to)); err != nil {
		return translate("rename folder to", to, err)
	}
	return errors.Join(s.syncDir(filepath.Dir(s.path(to))), s.syncDir(filepath.Dir(s.path(from))))
}
