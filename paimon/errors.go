package paimon

import (
	"errors"
	"fmt"
	"strings"
)

// Conditions that callers test for with [errors.Is].
var (
	// ErrNoSnapshot: the table has no snapshot yet.
	ErrNoSnapshot = errors.New("table has no snapshot")
	// ErrSnapshotNotFound: there is no snapshot of that number, or not any more.
	ErrSnapshotNotFound = errors.New("snapshot does not exist")
	// ErrChangelogNotFound: there is no long-lived changelog of that number.
	ErrChangelogNotFound = errors.New("changelog does not exist")
	// ErrSchemaNotFound: there is no schema of that number.
	ErrSchemaNotFound = errors.New("schema does not exist")
	// ErrTagNotFound: there is no tag of that name.
	ErrTagNotFound = errors.New("tag does not exist")
	// ErrTagExists: there is a tag of that name already.
	ErrTagExists = errors.New("tag exists already")
	// ErrBranchNotFound: there is no branch of that name.
	ErrBranchNotFound = errors.New("branch does not exist")
	// ErrBranchExists: there is a branch of that name already.
	ErrBranchExists = errors.New("branch exists already")
	// ErrConsumerNotFound: there is no consumer of that id.
	ErrConsumerNotFound = errors.New("consumer does not exist")
	// ErrTableNotFound: there is no table of that name.
	ErrTableNotFound = errors.New("table does not exist")
	// ErrTableExists: there is a table of that name already.
	ErrTableExists = errors.New("table exists already")
	// ErrDatabaseNotFound: there is no database of that name.
	ErrDatabaseNotFound = errors.New("database does not exist")
	// ErrDatabaseExists: there is a database of that name already.
	ErrDatabaseExists = errors.New("database exists already")
	// ErrDatabaseNotEmpty: the database to be dropped has tables.
	ErrDatabaseNotEmpty = errors.New("database is not empty")
	// ErrName: the name is not allowed for such an object.
	ErrName = errors.New("name is not allowed")
	// ErrCorrupt: a metadata file is there but does not hold what it should.
	ErrCorrupt = errors.New("metadata file is corrupt")
	// ErrTooManyRetries: others changed the object each time before us.
	ErrTooManyRetries = errors.New("lost against other writers too often")
)

// ValidationError says why a table definition, or a change of one, is refused.
// Its text is what the original says wherever that text is documented.
type ValidationError struct {
	Option string // key of the option at fault, or ""
	With   string // the other option of a pair that does not go together, or ""
	Column string // name of the column at fault, or ""
	Reason string // a whole sentence
}

func (e *ValidationError) Error() string {
	if e.With != "" && !strings.Contains(e.Reason, e.With) {
		return e.reason() + " (together with option " + e.With + ")"
	}
	return e.reason()
}

func (e *ValidationError) reason() string {
	switch {
	case e.Option != "" && !strings.Contains(e.Reason, e.Option):
		return "option " + e.Option + ": " + e.Reason
	case e.Column != "" && !strings.Contains(e.Reason, e.Column):
		return "column " + e.Column + ": " + e.Reason
	}
	return e.Reason
}

// OptionError says that the value of an option cannot be read.
type OptionError struct {
	Key   string
	Value string
	Want  string // the allowed form
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("option %s: value %q: want %s", e.Key, e.Value, e.Want)
}

func refuseOption(key, format string, args ...any) error {
	return &ValidationError{Option: key, Reason: fmt.Sprintf(format, args...)}
}

// refusePair refuses an option because of another.
func refusePair(key, with, format string, args ...any) error {
	return &ValidationError{Option: key, With: with, Reason: fmt.Sprintf(format, args...)}
}

func refuseColumn(name, format string, args ...any) error {
	return &ValidationError{Column: name, Reason: fmt.Sprintf(format, args...)}
}

func refuse(format string, args ...any) error {
	return &ValidationError{Reason: fmt.Sprintf(format, args...)}
}
