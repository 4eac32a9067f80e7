// Package memstore keeps objects in memory, for tests. It gives the guarantees
// of [objstore.Store] to the goroutines of one process and forgets all when the
// process ends.
package memstore

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/objstore"
)

// Options of a [Store].
type Options struct {
	// Now is the clock of modification times; nil is time.Now.
	Now func() time.Time
}

// Store is an [objstore.Store] in memory.
type Store struct {
	now func() time.Time

	mu   sync.RWMutex
	root *folder
}

// folder holds its objects and folders by the last segment of their names.
type folder struct {
	objects map[string]*object
	folders map[string]*folder
	made    bool // by MkdirAll: stays although nothing is in it
}

type object struct {
	data []byte // never changed: a replaced object is another one
	time time.Time
}

var _ objstore.Store = (*Store)(nil)

// New returns an empty store.
func New(opts Options) *Store {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Store{now: opts.Now, root: newFolder()}
}

func newFolder() *folder {
	return &folder{objects: map[string]*object{}, folders: map[string]*folder{}}
}

func (f *folder) empty() bool { return len(f.objects) == 0 && len(f.folders) == 0 }

// lookup returns a folder, or nil. The lock is held.
func (s *Store) lookup(dir string) *folder {
	f := s.root
	for dir != "" && f != nil {
		segment, rest, _ := strings.Cut(dir, "/")
		f, dir = f.folders[segment], rest
	}
	return f
}

// enter returns a folder and makes it if need be. The lock is held.
func (s *Store) enter(dir string) *folder {
	f := s.root
	for dir != "" {
		segment, rest, _ := strings.Cut(dir, "/")
		next := f.folders[segment]
		if next == nil {
			next = newFolder()
			f.folders[segment] = next
		}
		f, dir = next, rest
	}
	return f
}

// prune removes folders that hold nothing, from dir upwards. The lock is held.
func (s *Store) prune(dir string) {
	for dir != "" {
		f := s.lookup(dir)
		if f != nil && (!f.empty() || f.made) {
			return
		}
		parent, base := objstore.SplitName(dir)
		if p := s.lookup(parent); p != nil {
			delete(p.folders, base)
		}
		dir = parent
	}
}

func (s *Store) get(name string) *object {
	dir, base := objstore.SplitName(name)
	if f := s.lookup(dir); f != nil {
		return f.objects[base]
	}
	return nil
}

func (s *Store) set(name string, data []byte) {
	dir, base := objstore.SplitName(name)
	s.enter(dir).objects[base] = &object{data: data, time: s.now()}
}

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

func notExist(op, name string) error {
	return fmt.Errorf("%s %s: %w", op, name, objstore.ErrNotExist)
}

func exists(op, name string) error {
	return fmt.Errorf("%s %s: %w", op, name, objstore.ErrExists)
}

type reader struct{ *bytes.Reader }

func (r reader) Size() int64  { return r.Reader.Size() }
func (r reader) Close() error { return nil }

// Open implements [objstore.Store].
func (s *Store) Open(ctx context.Context, name string) (objstore.Reader, error) {
	if err := begin(ctx, name); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := s.get(name)
	if o == nil {
		return nil, notExist("open", name)
	}
	return reader{bytes.NewReader(o.data)}, nil
}

// Put implements [objstore.Store].
func (s *Store) Put(ctx context.Context, name string, data []byte) error {
	if err := begin(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(name, bytes.Clone(data))
	return nil
}

// PutIfAbsent implements [objstore.Store].
func (s *Store) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if err := begin(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.get(name) != nil {
		return exists("create", name)
	}
	s.set(name, bytes.Clone(data))
	return nil
}

// Stat implements [objstore.Store].
func (s *Store) Stat(ctx context.Context, name string) (objstore.Info, error) {
	if err := begin(ctx, name); err != nil {
		return objstore.Info{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := s.get(name)
	if o == nil {
		return objstore.Info{}, notExist("stat", name)
	}
	return o.info(name), nil
}

func (o *object) info(name string) objstore.Info {
	return objstore.Info{Name: name, Size: int64(len(o.data)), ModTime: o.time}
}

// List implements [objstore.Store]. It tells what was there at the call, in
// order of names.
func (s *Store) List(ctx context.Context, dir string, fn func(objstore.Info) error) error {
	if err := beginDir(ctx, dir); err != nil {
		return err
	}
	s.mu.RLock()
	var all []objstore.Info
	if f := s.lookup(dir); f != nil {
		all = f.collect(dir, nil)
	}
	s.mu.RUnlock()
	sortInfos(all)
	for _, info := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(info); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) collect(dir string, to []objstore.Info) []objstore.Info {
	for base, o := range f.objects {
		to = append(to, o.info(objstore.JoinName(dir, base)))
	}
	for base, sub := range f.folders {
		to = sub.collect(objstore.JoinName(dir, base), to)
	}
	return to
}

func sortInfos(infos []objstore.Info) {
	slices.SortFunc(infos, func(a, b objstore.Info) int { return strings.Compare(a.Name, b.Name) })
}

// ListDir implements [objstore.Store].
func (s *Store) ListDir(ctx context.Context, dir string) ([]objstore.Info, []string, error) {
	if err := beginDir(ctx, dir); err != nil {
		return nil, nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := s.lookup(dir)
	if f == nil {
		return nil, nil, nil
	}
	var objects []objstore.Info
	for base, o := range f.objects {
		objects = append(objects, o.info(objstore.JoinName(dir, base)))
	}
	var dirs []string
	for base := range f.folders {
		dirs = append(dirs, objstore.JoinName(dir, base))
	}
	sortInfos(objects)
	slices.Sort(dirs)
	return objects, dirs, nil
}

// Delete implements [objstore.Store].
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := begin(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, base := objstore.SplitName(name)
	if f := s.lookup(dir); f != nil {
		delete(f.objects, base)
		s.prune(dir)
	}
	return nil
}

// DeleteDir implements [objstore.Store].
func (s *Store) DeleteDir(ctx context.Context, dir string) error {
	if err := begin(ctx, dir); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut(dir)
	return nil
}

// cut takes a folder out of the tree. The lock is held.
func (s *Store) cut(dir string) *folder {
	parent, base := objstore.SplitName(dir)
	p := s.lookup(parent)
	if p == nil || p.folders[base] == nil {
		return nil
	}
	f := p.folders[base]
	delete(p.folders, base)
	s.prune(parent)
	return f
}

// DeleteEmptyDir implements [objstore.Store].
func (s *Store) DeleteEmptyDir(ctx context.Context, dir string) error {
	if err := begin(ctx, dir); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.lookup(dir); f != nil && f.empty() {
		s.cut(dir)
	}
	return nil
}

// RenameDir implements [objstore.Store].
func (s *Store) RenameDir(ctx context.Context, from, to string) error {
	if err := begin(ctx, from); err != nil {
		return err
	}
	if err := begin(ctx, to); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lookup(from) == nil {
		return notExist("rename folder", from)
	}
	if s.lookup(to) != nil || s.get(to) != nil {
		return exists("rename folder to", to)
	}
	if strings.HasPrefix(to, from+"/") {
		return &objstore.NameError{Name: to, Reason: "lies in the folder that is renamed"}
	}
	f := s.cut(from)
	parent, base := objstore.SplitName(to)
	s.enter(parent).folders[base] = f
	return nil
}

// MkdirAll implements [objstore.Store].
func (s *Store) MkdirAll(ctx context.Context, dir string) error {
	if err := beginDir(ctx, dir); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := dir; d != ""; d, _ = objstore.SplitName(d) {
		s.enter(d).made = true
	}
	return nil
}

// DirExists implements [objstore.Store].
func (s *Store) DirExists(ctx context.Context, dir string) (bool, error) {
	if err := beginDir(ctx, dir); err != nil {
		return false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lookup(dir) != nil, nil
}

type writer struct {
	store *Store
	name  string
	buf   bytes.Buffer
	done  bool
}

// Create implements [objstore.Store].
func (s *Store) Create(ctx context.Context, name string) (objstore.Writer, error) {
	if err := begin(ctx, name); err != nil {
		return nil, err
	}
	return &writer{store: s, name: name}, nil
}

func (w *writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, fmt.Errorf("write %s: %w", w.name, fs.ErrClosed)
	}
	return w.buf.Write(p)
}

func (w *writer) Finish(ctx context.Context) error {
	if w.done {
		return fmt.Errorf("finish %s: %w", w.name, fs.ErrClosed)
	}
	w.done = true
	if err := ctx.Err(); err != nil {
		return err
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.set(w.name, w.buf.Bytes())
	return nil
}

func (w *writer) Abort() error {
	w.done = true
	w.buf = bytes.Buffer{}
	return nil
}
