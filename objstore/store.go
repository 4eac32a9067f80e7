package objstore

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Info is what a store knows of an object without reading it.
type Info struct {
	Name    string // the whole name, as every other call takes it
	Size    int64  // bytes
	ModTime time.Time
}

// Reader reads one object. It may be used by several goroutines. Every Reader
// must be closed.
type Reader interface {
	// ReadAt fills p or returns an error; io.EOF if the object ends before.
	io.ReaderAt
	io.Closer
	// Size is the length of the object in bytes.
	Size() int64
}

// Writer writes one object from the beginning to the end. Exactly one of Finish
// and Abort must be called; Abort after Finish does nothing.
type Writer interface {
	io.Writer
	// Finish makes the object durable and visible under its name. If it fails,
	// the object may be there or not; it is never there in part.
	Finish(ctx context.Context) error
	// Abort drops what was written. Nothing was visible, and nothing will be.
	Abort() error
}

// Store keeps objects under names. It may be used by several goroutines, and by
// several processes at once.
//
// Every call checks its names with [CheckName] and returns a [*NameError] for a
// bad one. An error that is neither that nor one of the sentinels means that
// the outcome is unknown: the effect may have happened.
type Store interface {
	// Open opens an object. [ErrNotExist] if there is none.
	Open(ctx context.Context, name string) (Reader, error)

	// Create begins a new object under a name that nobody else uses. The
	// object is invisible until Finish.
	Create(ctx context.Context, name string) (Writer, error)

	// Put writes or replaces an object. Readers see the old content or the new
	// one, never a mix. It is durable on return. data is not kept.
	Put(ctx context.Context, name string, data []byte) error

	// PutIfAbsent creates an object unless there is one of that name, which is
	// [ErrExists]. Of any number of callers in any number of processes exactly
	// one succeeds. It is visible as a whole, and durable on return. After any
	// other error the object may be there: read it back and compare.
	PutIfAbsent(ctx context.Context, name string, data []byte) error

	// Stat tells size and time of an object. [ErrNotExist] if there is none.
	Stat(ctx context.Context, name string) (Info, error)

	// List calls fn for each object in the folder dir and its subfolders, in any
	// order, and stops at the first error of fn, which it returns. A folder
	// that does not exist is empty. Objects that come or go meanwhile may be
	// told or not.
	List(ctx context.Context, dir string, fn func(Info) error) error

	// ListDir returns the objects directly in the folder dir, and the names of
	// the folders directly in it. Both are whole names, sorted. A folder that
	// does not exist is empty.
	ListDir(ctx context.Context, dir string) (objects []Info, dirs []string, err error)

	// Delete removes an object. It is no error if there is none.
	Delete(ctx context.Context, name string) error

	// DeleteDir removes a folder with everything below it; it is not atomic. It
	// is no error if there is none. The root cannot be removed.
	DeleteDir(ctx context.Context, dir string) error

	// DeleteEmptyDir removes a folder if nothing is in it, and does nothing
	// otherwise.
	DeleteEmptyDir(ctx context.Context, dir string) error

	// RenameDir gives a folder another name, which must not exist
	// ([ErrExists]); [ErrNotExist] if there is no such folder. It need not be
	// atomic: only the catalog uses it, to rename a table.
	RenameDir(ctx context.Context, from, to string) error

	// MkdirAll makes a folder, and those above it, so that DirExists finds it
	// even if nothing is in it. It is durable on return.
	MkdirAll(ctx context.Context, dir string) error

	// DirExists tells whether there is a folder, or an object below it.
	DirExists(ctx context.Context, dir string) (bool, error)
}

// Object is a name with its content.
type Object struct {
	Name string
	Data []byte
}

// BatchPutter is what a store can offer beside [Store]: several objects for the
// price of about one. Use [PutAll].
type BatchPutter interface {
	// PutAll puts all objects, in any order. All are durable on return. After an
	// error each of them may be there or not.
	PutAll(ctx context.Context, objects []Object) error
}

// HintPutter is what a store can offer beside [Store]: a Put that may be lost
// in a crash. Use [PutHint].
type HintPutter interface {
	PutHint(ctx context.Context, name string, data []byte) error
}

// Staged is an object that is written but has no name yet.
type Staged interface {
	// Publish gives the object its name, with the guarantees and errors of
	// [Store].PutIfAbsent. It is called at most once.
	Publish(ctx context.Context) error
	// Discard drops what Publish did not use. It must be called, and does nothing
	// after a Publish that succeeded.
	Discard()
}

// Stager is what a store can offer beside [Store] if most of the work of a
// PutIfAbsent can be done before it is decided to do it. Use [Stage].
type Stager interface {
	Stage(ctx context.Context, name string, data []byte) (Staged, error)
}

// TempLister is what a store can offer beside [Store] if writers that died
// leave something behind that [Store].List does not show.
type TempLister interface {
	// ListTemp calls fn for each leftover in the folder dir and below. Delete
	// takes the names it tells. One that is still being written is told too:
	// look at its time.
	ListTemp(ctx context.Context, dir string, fn func(Info) error) error
}

// PutAll puts several objects that do not depend on each other, at once if the
// store can. All are durable on return. After an error each of them may be
// there or not.
func PutAll(ctx context.Context, s Store, objects []Object) error {
	if b, ok := s.(BatchPutter); ok {
		return b.PutAll(ctx, objects)
	}
	for _, o := range objects {
		if err := s.Put(ctx, o.Name, o.Data); err != nil {
			return err
		}
	}
	return nil
}

// Stage prepares a PutIfAbsent, so that it takes less time once other objects
// are there. data must not change before Publish.
func Stage(ctx context.Context, s Store, name string, data []byte) (Staged, error) {
	if st, ok := s.(Stager); ok {
		return st.Stage(ctx, name, data)
	}
	return &unprepared{s, name, data}, nil
}

// unprepared is the Staged of a store that is no [Stager].
type unprepared struct {
	store Store
	name  string
	data  []byte
}

func (u *unprepared) Publish(ctx context.Context) error {
	return u.store.PutIfAbsent(ctx, u.name, u.data)
}

func (u *unprepared) Discard() {}

// PutHint replaces an object that may be stale, cut or missing without harm:
// readers see old or new content or a part of it, and after a crash anything.
func PutHint(ctx context.Context, s Store, name string, data []byte) error {
	if h, ok := s.(HintPutter); ok {
		return h.PutHint(ctx, name, data)
	}
	return s.Put(ctx, name, data)
}

// ReadAllMaxBytes is the largest object that [ReadAll] reads: far more than any
// metadata file of a sane table.
const ReadAllMaxBytes = 512 << 20

// ReadAll reads a whole object of at most [ReadAllMaxBytes].
func ReadAll(ctx context.Context, s Store, name string) ([]byte, error) {
	return ReadAllMax(ctx, s, name, ReadAllMaxBytes)
}

// ReadAllMax reads a whole object; [ErrTooLarge] if it has more than maxBytes.
func ReadAllMax(ctx context.Context, s Store, name string, maxBytes int64) ([]byte, error) {
	r, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	size := r.Size()
	if size > maxBytes {
		return nil, fmt.Errorf("read %s: %d bytes, %d are allowed: %w", name, size, maxBytes, ErrTooLarge)
	}
	data := make([]byte, size)
	if n, err := r.ReadAt(data, 0); err != nil && (err != io.EOF || int64(n) < size) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// Exists tells whether there is an object of that name.
func Exists(ctx context.Context, s Store, name string) (bool, error) {
	_, err := s.Stat(ctx, name)
	return existence(err)
}
