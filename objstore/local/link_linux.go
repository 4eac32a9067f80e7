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

// exchange swaps the names of two files that exist.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// tryLock locks a file for this open file alone, if nobody else has.
func tryLock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
