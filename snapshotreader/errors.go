package snapshotreader

import (
	"errors"
	"fmt"
)

// ErrTableDropped is returned when the table that was being read is not there any
// more. If another one has its name now, it is a *CursorMismatchError.
var ErrTableDropped = errors.New("the table was dropped")

// ErrClosed is returned by the methods of a closed [Tailer] or [Scanner].
var ErrClosed = errors.New("snapshot reader: closed")

// CursorInvalidError says that a text is no cursor, or a cursor that names
// nothing there could be.
type CursorInvalidError struct {
	Text   string
	Reason string
}

func (e *CursorInvalidError) Error() string {
	text := e.Text
	if len(text) > 80 {
		text = text[:80] + "..."
	}
	return fmt.Sprintf("cursor %q is invalid: %s", text, e.Reason)
}

// CursorExpiredError says that the rows which a position names are not stored any
// more.
type CursorExpiredError struct {
	Cursor   Cursor
	Earliest int64 // oldest snapshot from Cursor.Snapshot on whose changes can still be read, 0 if there is none
	Latest   int64 // newest snapshot of the table, 0 if there is none
	Err      error // what was missing, if it was found while reading; may be nil
}

func (e *CursorExpiredError) Error() string {
	s := fmt.Sprintf("snapshot %d has expired, with its %s: ", e.Cursor.Snapshot, e.Cursor.Phase)
	if e.Earliest == 0 {
		s += "nothing from there on is left"
	} else {
		s += fmt.Sprintf("the oldest available position is snapshot %d, the latest snapshot is %d", e.Earliest, e.Latest)
	}
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

func (e *CursorExpiredError) Unwrap() error { return e.Err }

// CursorMismatchError says that a cursor was made for something else than what it
// was given to: another table of this name, another branch, or a history that has
// been rolled back.
type CursorMismatchError struct {
	Cursor Cursor
	Reason string
}

func (e *CursorMismatchError) Error() string {
	return fmt.Sprintf("cursor at the %s of snapshot %d does not fit: %s", e.Cursor.Phase, e.Cursor.Snapshot, e.Reason)
}

// CursorAheadError says that a position lies beyond the newest snapshot and the
// one that will follow it: the table was rolled back or restored.
type CursorAheadError struct {
	Cursor Cursor
	Latest int64 // newest snapshot, 0 if the table has none
}

func (e *CursorAheadError) Error() string {
	return fmt.Sprintf("position %d is ahead of the table, whose latest snapshot is %d: it was rolled back, restored or made anew", e.Cursor.Snapshot, e.Latest)
}

// UnsupportedError names a feature of a table that this version does not read.
type UnsupportedError struct {
	What string // such as: merge engine partial-update
	Err  error  // where it was met; may be nil
}

func (e *UnsupportedError) Error() string {
	s := e.What + " is not supported for reading yet"
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *UnsupportedError) Unwrap() error { return e.Err }
