package pqt

import (
	"errors"
	"fmt"
)

// ErrNull is returned by [Writer.Write] for a NULL in a NOT NULL column, member,
// element or map key. The error around it names the column.
var ErrNull = errors.New("NULL in a NOT NULL column")

// CorruptFileError says that a file is not the Parquet it claims to be: a
// checksum, a length or a count does not fit, or a value is not of its type.
type CorruptFileError struct {
	Column string // dotted path of the column; empty: the file as a whole
	Place  string // "footer", "page header", "dictionary page", "data page", ...
	Offset int64  // in the file, where the broken part begins; -1 if not known
	Err    error
}

func (e *CorruptFileError) Error() string {
	s := "corrupt parquet file: " + e.Place
	if e.Column != "" {
		s += fmt.Sprintf(" of column %q", e.Column)
	}
	if e.Offset >= 0 {
		s += fmt.Sprintf(" at offset %d", e.Offset)
	}
	return s + ": " + e.Err.Error()
}

func (e *CorruptFileError) Unwrap() error { return e.Err }

// MismatchError says that a column of a file cannot be read as the type asked for.
type MismatchError struct {
	Column string // dotted path
	Want   string // Paimon type
	File   string // what the file has
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("parquet column %q: want %s, the file has %s", e.Column, e.Want, e.File)
}

// UnsupportedError says that a file is valid, as far as can be told, but uses
// something that this package does not know.
type UnsupportedError struct {
	Column string // dotted path; empty: the file as a whole
	What   string
}

func (e *UnsupportedError) Error() string {
	if e.Column == "" {
		return "unsupported parquet file: " + e.What
	}
	return fmt.Sprintf("unsupported parquet column %q: %s", e.Column, e.What)
}
