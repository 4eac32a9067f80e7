package tablewriter

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed: the writer is closed or being closed.
	ErrClosed = errors.New("table writer is closed")
	// ErrIdentifiers: the user's last commit has the greatest identifier there
	// is, as the end of a batch or bounded job leaves it. Another user name is
	// needed.
	ErrIdentifiers = errors.New("commit user has used up its commit identifiers: choose another user")
	// ErrTableReplaced: the table was dropped and created again since it was
	// opened. It must be opened anew.
	ErrTableReplaced = errors.New("table was dropped and created again: open it anew")
)

// UnsupportedError says that a table cannot be written because of something that
// is not built yet.
type UnsupportedError struct {
	Option string // the option that asks for it, "" if it is not an option
	What   string // what is not built and what to do
}

func (e *UnsupportedError) Error() string {
	if e.Option == "" {
		return "table cannot be written: " + e.What
	}
	return "table cannot be written: option " + e.Option + ": " + e.What
}

// RowError says what is wrong with a row of a batch, of which nothing was
// taken.
type RowError struct {
	Row    int    // position in the batch, from 0
	Column string // "" if it is not about a column
	Err    error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

func (e *RowError) Unwrap() error { return e.Err }

// NullError says that a column declared NOT NULL has a NULL.
type NullError struct{ Column string }

func (e *NullError) Error() string {
	return "Cannot write null to non-null column(" + e.Column + ")"
}

// BatchError says that a batch does not have the shape of the table's rows.
type BatchError struct{ Reason string }

func (e *BatchError) Error() string { return "batch does not fit the table: " + e.Reason }

// BucketCountError says that a partition has files of another number of buckets
// than the table has now (format section 7.4).
type BucketCountError struct {
	Partition string // folder, such as "dt=1/"
	Have      int    // buckets of the partition's files
	Want      int    // option bucket
}

func (e *BucketCountError) Error() string {
	where := "the table"
	if e.Partition != "" {
		where = "partition " + e.Partition
	}
	return fmt.Sprintf("Try to write %s with a new bucket num %d, but the previous bucket num is %d. Please switch to batch mode, and perform INSERT OVERWRITE to rescale current data layout first.", where, e.Want, e.Have)
}

// FailedError says that a commit failed, and that the writer takes no more rows
// because of it. What was not acknowledged may or may not be in the table: open
// the table anew, and compare with what [Writer.Restore] returns.
type FailedError struct{ Err error }

func (e *FailedError) Error() string {
	return fmt.Sprintf("commit failed, open the table again: %v", e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// FencedError says that another writer commits as the same user, so that this
// one cannot know any more what was committed. Nothing of this commit is in the
// table.
type FencedError struct {
	User       string
	Identifier int64
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("another writer has committed as user %s with identifier %d: only one writer may use a user name", e.User, e.Identifier)
}
