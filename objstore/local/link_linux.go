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
