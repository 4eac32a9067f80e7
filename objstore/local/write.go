package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"

	"sluice/objstore"
)

const (
	fileNameMaxBytes = 255 // NAME_MAX
	tempSuffix       = ".tmp"
	batchWritersMax  = 8 // files of one PutAll that are synced at a time
)

// isTemp tells whether a file is one that is still being written, or was when
// its writer died: ".<name>.<uuid>.tmp", of this package and of Paimon.
func isTemp(base string) bool {
	return len(base) > len(tempSuffix) && base[0] == '.' && strings.HasSuffix(base, tempSuffix)
}

// beginWrite is begin for calls that make a file.
func beginWrite(ctx context.Context, name string) error {
	if err := begin(ctx, name); err != nil {
		return err
	}
	if _, base := objstore.SplitName(name); isTemp(base) {
		return &objstore.NameError{Name: name, Reason: "is that of a temporary file"}
	}
	return nil
}

// temp is a file under a temporary name.
type temp struct {
	store  *Store
	name   string // of the object
	target string // path of the object
	path   string // of the temporary file
	file   *os.File
}

// newTemp opens a temporary file beside the file of an object, and makes the
// folder if need be.
func (s *Store) newTemp(name string) (*temp, error) {
	target := s.path(name)
	dir, base := filepath.Split(target)
	id := uuid.NewString()
	base = base[:min(len(base), fileNameMaxBytes-len(id)-len(tempSuffix)-2)]
	t := &temp{store: s, name: name, target: target, path: dir + "." + base + "." + id + tempSuffix}
	var err error
	t.file, err = os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.mkdirAll(dir); err != nil {
			return nil, err
		}
		t.file, err = os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, cause(err))
	}
	return t, nil
}

func (t *temp) write(data []byte) error {
	if _, err := t.file.Write(data); err != nil {
		return fmt.Errorf("write %s: %w", t.name, cause(err))
	}
	return nil
}

// close ends the content, and makes it durable if sync is set.
func (t *temp) close(sync bool) error {
	var err error
	if sync && !t.store.opts.NoSync {
		err = t.file.Sync()
	}
	if closeErr := t.file.Close(); err == nil {
		err = closeErr
	}
	t.file = nil
	if err != nil {
		return fmt.Errorf("write %s: %w", t.name, cause(err))
	}
	return nil
}

// rename gives the file the name of the object, whatever had it.
func (t *temp) rename() error {
	if err := os.Rename(t.path, t.target); err != nil {
		return fmt.Errorf("write %s: %w", t.name, cause(err))
	}
	t.path = ""
	return nil
}

// link gives the file the name of the object unless something has it.
func (t *temp) link() error {
	err := linkNew(t.path, t.target)
	if err != nil {
		return translate("create", t.name, err)
	}
	return nil
}

// discard removes what is left of the temporary file.
func (t *temp) discard() {
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
	if t.path != "" {
		os.Remove(t.path) // a leftover is harmless and found by ListTemp
		t.path = ""
	}
}

func (t *temp) syncDir() error { return t.store.syncDir(filepath.Dir(t.target)) }

// newFullTemp returns a closed temporary file with the content.
func (s *Store) newFullTemp(name string, data []byte, sync bool) (*temp, error) {
	t, err := s.newTemp(name)
	if err != nil {
		return nil, err
	}
	if err = t.write(data); err == nil {
		err = t.close(sync)
	}
	if err != nil {
		t.discard()
		return nil, err
	}
	return t, nil
}

// Put implements [objstore.Store].
func (s *Store) Put(ctx context.Context, name string, data []byte) error {
	return s.put(ctx, name, data, true)
}

func (s *Store) put(ctx context.Context, name string, data []byte, sync bool) error {
	if err := beginWrite(ctx, name); err != nil {
		return err
	}
	t, err := s.newFullTemp(name, data, sync)
	if err != nil {
		return err
	}
	defer t.discard()
	if err := t.rename(); err != nil || !sync {
		return err
	}
	return t.syncDir()
}

// PutIfAbsent implements [objstore.Store]. The file is complete and synced
// before link(2) gives it its name.
func (s *Store) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if err := beginWrite(ctx, name); err != nil {
		return err
	}
	// The common loser need not write anything; link decides all the same.
	if _, err := os.Lstat(s.path(name)); err == nil {
		return translate("create", name, fs.ErrExist)
	}
	st, err := s.Stage(ctx, name, data)
	if err != nil {
		return err
	}
	defer st.Discard()
	return st.Publish(ctx)
}

// staged is a complete temporary file.
type staged struct{ temp *temp }

// Stage implements [objstore.Stager]: Publish is left with link(2) and the fsync
// of the folder.
func (s *Store) Stage(ctx context.Context, name string, data []byte) (objstore.Staged, error) {
	if err := beginWrite(ctx, name); err != nil {
		return nil, err
	}
	t, err := s.newFullTemp(name, data, true)
	if err != nil {
		return nil, err
	}
	return &staged{t}, nil
}

func (st *staged) Publish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := st.temp.link(); err != nil {
		return err
	}
	return st.temp.syncDir()
}

func (st *staged) Discard() { st.temp.discard() }

// PutAll implements [objstore.BatchPutter]: files are made one after the other, as
// the file system lets one at a time into a folder and others would spin for it, and
// synced several at a time; then each folder is synced once.
func (s *Store) PutAll(ctx context.Context, objects []objstore.Object) error {
	for _, o := range objects {
		if err := beginWrite(ctx, o.Name); err != nil {
			return err
		}
	}
	temps := make([]*temp, len(objects))
	defer func() {
		for _, t := range temps {
			if t != nil {
				t.discard()
			}
		}
	}()
	for i, o := range objects {
		var err error
		if temps[i], err = s.newTemp(o.Name); err == nil {
			err = temps[i].write(o.Data)
		}
		if err != nil {
			return err
		}
	}
	if err := closeAll(temps); err != nil {
		return err
	}
	folders := make(map[string]bool, 1)
	for _, t := range temps {
		if err := t.rename(); err != nil {
			return err
		}
		folders[filepath.Dir(t.target)] = true
	}
	for folder := range folders {
		if err := s.syncDir(folder); err != nil {
			return err
		}
	}
	return nil
}

// closeAll makes files durable and closes them.
func closeAll(temps []*temp) error {
	errs := make([]error, len(temps))
	var wg sync.WaitGroup
	limit := make(chan struct{}, batchWritersMax)
	for i, t := range temps {
		limit <- struct{}{}
		wg.Go(func() {
			errs[i] = t.close(true)
			<-limit
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// writer is the [objstore.Writer] of a file.
type writer struct {
	temp *temp
	err  error // of a Write: the file is broken
	done bool
}

// Create implements [objstore.Store]. Writes go to the file as they come, so
// small ones should be buffered by the caller.
func (s *Store) Create(ctx context.Context, name string) (objstore.Writer, error) {
	if err := beginWrite(ctx, name); err != nil {
		return nil, err
	}
	t, err := s.newTemp(name)
	if err != nil {
		return nil, err
	}
	return &writer{temp: t}, nil
}

func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.done {
		return 0, fmt.Errorf("write %s: %w", w.temp.name, fs.ErrClosed)
	}
	if w.err = w.temp.write(p); w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

func (w *writer) Finish(ctx context.Context) error {
	if w.done {
		return fmt.Errorf("finish %s: %w", w.temp.name, fs.ErrClosed)
	}
	w.done = true
	defer w.temp.discard()
	if w.err == nil {
		w.err = ctx.Err()
	}
	if w.err != nil {
		return w.err
	}
	if err := w.temp.close(true); err != nil {
		return err
	}
	if err := w.temp.rename(); err != nil {
		return err
	}
	return w.temp.syncDir()
}

func (w *writer) Abort() error {
	if !w.done {
		w.done = true
		w.temp.discard()
	}
	return nil
}
