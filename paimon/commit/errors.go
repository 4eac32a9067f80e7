package commit

import (
	"errors"
	"fmt"
)

// ErrLostRaces says that other committers were first at every try. The commit
// has not happened.
var ErrLostRaces = errors.New("other committers were first at every try")

// ErrTableReplaced says that the table was dropped, and another one was created in
// its place. Open it anew.
var ErrTableReplaced = errors.New("table was dropped and created again")

// ErrTimeout says that the limit of time of one commit was reached.
var ErrTimeout = errors.New("commit timed out")

// ConflictKind says which rule a commit breaks (format section 4.7).
type ConflictKind string

// The conflicts.
const (
	ConflictBuckets  ConflictKind = "bucket count" // the partition has another number of buckets
	ConflictAdd      ConflictKind = "file added twice"
	ConflictDelete   ConflictKind = "file already deleted" // by another compaction or an overwrite
	ConflictKeyRange ConflictKind = "key ranges overlap"   // two compactions into one level
	ConflictVectors  ConflictKind = "deletion vectors"     // of a file that is gone, or two of one file
	ConflictIndex    ConflictKind = "index file"           // added twice, or deleted already
	ConflictStrict   ConflictKind = "strict mode"          // another user changed the partition since the safe snapshot
)

// ConflictError says that the commit contradicts what is in the table. The
// commit has not happened and never can: its files should be aborted and the
// work done again.
type ConflictError struct {
	Kind      ConflictKind
	Snapshot  int64  // the snapshot it was checked against; 0: none
	Partition string // as a path, "" if the table has no partitions
	Bucket    int32
	File      string // a file that is in the way, if the conflict is about one
	Detail    string
}

func (e *ConflictError) Error() string {
	where := fmt.Sprintf("%sbucket-%d", e.Partition, e.Bucket)
	if e.File != "" {
		where += " file " + e.File
	}
	return fmt.Sprintf("commit conflict with snapshot %d, %s: %s: %s", e.Snapshot, e.Kind, where, e.Detail)
}

// UnknownOutcomeError says that nobody knows whether the commit happened: the
// store failed when the snapshot was created, and since. Repeat the commit with
// the same user and identifier to find out; no file of it has been deleted.
type UnknownOutcomeError struct {
	Snapshot int64 // the number it would have
	Err      error
}

func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("commit of snapshot %d has an unknown outcome, repeat it with the same user and identifier: %v", e.Snapshot, e.Err)
}

// Unwrap returns what went wrong last.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// IdentifierError says that an identifier is below one that its user has
// committed already, and no snapshot of it is left: it may have been committed,
// and its snapshots expired.
type IdentifierError struct {
	User               string
	Identifier, Newest int64
}

func (e *IdentifierError) Error() string {
	return fmt.Sprintf("commit identifier %d of user %q is below %d, which is committed already", e.Identifier, e.User, e.Newest)
}

// RequestError says that a request makes no sense, whatever is in the table.
type RequestError struct{ Reason string }

func (e *RequestError) Error() string { return "commit request: " + e.Reason }

func badRequest(format string, args ...any) error {
	return &RequestError{Reason: fmt.Sprintf(format, args...)}
}

// MissingFilesError says that files of a recovered commit are gone.
type MissingFilesError struct{ Names []string }

func (e *MissingFilesError) Error() string {
	return fmt.Sprintf("%d files of the commit do not exist any more, first %s: they were aborted or cleaned as orphans", len(e.Names), e.Names[0])
}

// UnsupportedError says that the table has a feature whose commits need more
// than this package does.
type UnsupportedError struct{ What string }

func (e *UnsupportedError) Error() string {
	return "commit to a table with " + e.What + " is not supported"
}
