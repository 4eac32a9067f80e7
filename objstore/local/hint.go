package local

import (
	"context"
	"os"
	"sync"
)

// sparesMax bounds the spare files that are remembered.
const sparesMax = 1000

// spares are the files that hints had before they were replaced, by the name of
// the hint. Making a file is what a small write costs most, so a hint has two
// files that change places: the spare one gets the new content, then the two swap
// their names.
type spares struct {
	mu    sync.Mutex
	paths map[string]string
}

// take returns the spare file of a hint, "" if there is none. Whoever has it owns
// it until give.
func (s *spares) take(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.paths[name]
	delete(s.paths, name)
	return path
}

// give makes a file the spare one of a hint; false if there is one already.
func (s *spares) give(name, path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.paths[name]; there || len(s.paths) >= sparesMax {
		return false
	}
	if s.paths == nil {
		s.paths = map[string]string{}
	}
	s.paths[name] = path
	return true
}

// PutHint implements [objstore.HintPutter]: a Put that syncs nothing. A reader
// that opens the old file and reads it only when the hint is replaced a second
// time sees the content of that time, or a part of it.
func (s *Store) PutHint(ctx context.Context, name string, data []byte) error {
	if err := beginWrite(ctx, name); err != nil {
		return err
	}
	if path := s.spare.take(name); path != "" {
		if s.swapHint(name, path, data) {
			return nil
		}
		os.Remove(path)
	}
	t, err := s.newFullTemp(name, data, false)
	if err != nil {
		return err
	}
	defer t.discard()
	// The first swap makes the old file the spare one.
	if exchange(t.path, t.target) == nil {
		if s.spare.give(name, t.path) {
			t.path = ""
		}
		return nil
	}
	return t.rename()
}

// swapHint writes to the spare file of a hint and swaps the two.
func (s *Store) swapHint(name, path string, data []byte) bool {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return false
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil || exchange(path, s.path(name)) != nil {
		return false
	}
	if !s.spare.give(name, path) {
		os.Remove(path)
	}
	return true
}
