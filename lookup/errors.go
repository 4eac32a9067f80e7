package lookup

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is returned by an index or a cache after its Close.
	ErrClosed = errors.New("lookup index is closed")
	// ErrInUse says that the index of this ID is open already.
	ErrInUse = errors.New("lookup index is open already")
	// ErrDiscarded says that the stage was discarded, or that an earlier one was
	// which it had seen.
	ErrDiscarded = errors.New("stage is discarded")
	// ErrStageOrder says that an earlier finished stage of the index is neither
	// committed nor discarded.
	ErrStageOrder = errors.New("an earlier stage is not committed yet")
	// ErrFinished says that a stage takes no more changes.
	ErrFinished = errors.New("stage is finished")
	// ErrRebuild is what every error that an Index.Rebuild remedies wraps.
	ErrRebuild = errors.New("lookup index must be rebuilt")
)

// A LockedError says that other processes hold all slots of the cache folder.
type LockedError struct {
	Dir       string
	Processes int
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%d processes use the lookup cache %s already: give this one another folder", e.Processes, e.Dir)
}

// A CorruptError says that what was read from an index cannot be what was
// written. The index answers nothing until it is rebuilt.
type CorruptError struct {
	Index ID
	Err   error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("lookup index %s is corrupt: %v", e.Index, e.Err)
}

func (e *CorruptError) Unwrap() []error { return []error{ErrRebuild, e.Err} }

// A FailedError says that reading or writing an index failed: a full disk, say.
// The index answers nothing until it is rebuilt.
type FailedError struct {
	Index ID
	Err   error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("lookup index %s failed: %v", e.Index, e.Err)
}

func (e *FailedError) Unwrap() []error { return []error{ErrRebuild, e.Err} }

// A KeyError says that a NOT NULL key column has no value.
type KeyError struct {
	Column string
	Row    int
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("key column %s of row %d is NULL, but its type is NOT NULL", e.Column, e.Row)
}

// An OrderError says that rows did not come in ascending key order.
type OrderError struct {
	What string // "key" of a lookup, "record" of a rebuild
	Row  int64
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("%s %d is not greater than the one before", e.What, e.Row)
}

// changeBytesMax bounds a key with its value.
const changeBytesMax = 256 << 20

// A SizeError says that a key with its value is too large for an index.
type SizeError struct{ Bytes int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("a row takes %d bytes in a lookup index, more than %d", e.Bytes, changeBytesMax)
}

// errValue says that the bytes of a value are none.
var errValue = errors.New("value does not decode")
