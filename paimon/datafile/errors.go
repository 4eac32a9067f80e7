package datafile

import (
	"errors"
	"fmt"
)

// ErrCorrupt is in the chain of errors about values that no data file may have.
// Damage below that has the errors of packages pqt and avrofile.
var ErrCorrupt = errors.New("data file is corrupt")

// errClosed is the error of a writer or reader that is used after its end.
var errClosed = errors.New("data file is closed")

// UnsupportedFormatError says that a file, or the files to be written, are of a
// format that this package does not know.
type UnsupportedFormatError struct {
	File   string // name of the file; "" when writing
	Format string // as the name or the option says it, such as orc
}

func (e *UnsupportedFormatError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("can't write files of format %q, only parquet and avro", e.Format)
	}
	return fmt.Sprintf("data file %s has format %q, only parquet and avro can be read: let a compaction rewrite it", e.File, e.Format)
}

// OptionError says that a table option about data files makes no sense.
type OptionError struct {
	Option, Value string
	Want          string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("option %s = %q: want %s", e.Option, e.Value, e.Want)
}

// EvolutionError says that a column of an old file can't be read as the current
// schema has it.
type EvolutionError struct {
	Column string // path in the current schema
	Reason string
}

func (e *EvolutionError) Error() string {
	return fmt.Sprintf("column %s can't be read from a file of an older schema: %s", e.Column, e.Reason)
}
