package local

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// linkNew gives a file a second name that nothing has yet. File systems without
// hard links get a rename that does not replace.
func linkNew(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EMLINK) {
		return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	}
	return err
}

// tryLock locks a file for this open file alone, if nobody else has.
func tryLock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// hasLinks tells whether the file has another name: that of a backup, which must
// not change.
func hasLinks(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink != 1
}
