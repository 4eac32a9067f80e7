package local

import (
	"context"
	"os"
)

// PutHint implements [objstore.HintPutter]: a Put that syncs nothing.
//
// Making a file is what a small write costs most. So a hint that does not get
// shorter is written over in place; whoever does so has locked the file, and who
// does not get the lock makes a file. A number of equal length replaces the other
// one at once; while it gets longer, a reader may see it without its last digits.
func (s *Store) PutHint(ctx context.Context, name string, data []byte) error {
	if err := beginWrite(ctx, name); err != nil {
		return err
	}
	if overwriteHint(s.path(name), data) {
		return nil
	}
	t, err := s.newFullTemp(name, data, false)
	if err != nil {
		return err
	}
	defer t.discard()
	return t.rename()
}

// overwriteHint writes over a hint in place; false if that is not possible, and
// nothing has happened to it.
func overwriteHint(path string, data []byte) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close() // and the lock
	if !tryLock(f) {
		return false
	}
	mine, err := f.Stat()
	if err != nil || !mine.Mode().IsRegular() || mine.Size() > int64(len(data)) || hasLinks(mine) {
		return false
	}
	// Another process may have given the name to another file meanwhile.
	there, err := os.Stat(path)
	if err != nil || !os.SameFile(mine, there) {
		return false
	}
	n, err := f.WriteAt(data, 0)
	return err == nil && n == len(data)
}
