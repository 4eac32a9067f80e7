package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// PutHint implements [objstore.HintPutter]: a Put that syncs nothing.
//
// Making a file is what a small write costs most. So a hint has two files, which
// change places: the spare one, ".<name>.spare.tmp", gets the new content, and
// the two swap their names. Whoever writes to the spare file has locked it, so
// that processes do not get in each other's way; who does not get the lock makes
// a file. A reader that opens the hint and reads it only when it has been replaced
// twice sees the content of that time, or a part of it.
func (s *Store) PutHint(ctx context.Context, name string, data []byte) error {
	if err := beginWrite(ctx, name); err != nil {
		return err
	}
	if swapHint(s.path(name), data) {
		return nil
	}
	t, err := s.newFullTemp(name, data, false)
	if err != nil {
		return err
	}
	defer t.discard()
	return t.rename()
}

// swapHint replaces the file of a hint by its spare file; false if that was not
// possible, and nothing has happened to the hint.
func swapHint(path string, data []byte) bool {
	dir, base := filepath.Split(path)
	spare := dir + "." + base + ".spare" + tempSuffix
	f, err := os.OpenFile(spare, os.O_WRONLY|os.O_CREATE, fileMode)
	if err != nil {
		return false
	}
	defer f.Close() // and the lock
	if !tryLock(f) || !isAt(f, spare) {
		return false
	}
	// Numbers of equal length replace each other without a moment of emptiness.
	if _, err := f.Write(data); err != nil || f.Truncate(int64(len(data))) != nil {
		return false
	}
	err = exchange(spare, path)
	if errors.Is(err, fs.ErrNotExist) { // the first hint
		err = os.Rename(spare, path)
	}
	return err == nil
}

// isAt tells whether a file that is open is still the one of that name.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}
