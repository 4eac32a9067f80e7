package avrofile

import (
	"fmt"

	"sluice/paimon/internal/ocf"
	"sluice/paimon/rowdata"
)

// ErrCorrupt is in the chain of every error about bytes that are no Avro file, or
// no rows of the file's schema.
var ErrCorrupt = ocf.ErrCorrupt

// UnsupportedTypeError says that values of a type can't be written to Avro. The
// original refuses the same types.
type UnsupportedTypeError struct {
	Column string // with the path of members, such as r.x
	Type   *rowdata.Type
	Reason string
}

func (e *UnsupportedTypeError) Error() string {
	return fmt.Sprintf("column %s: avro can't hold %s: %s", e.Column, e.Type, e.Reason)
}

// MismatchError says that a column of a file can't be read as the type that the
// schema gives it.
type MismatchError struct {
	Column string // with the path of members
	Avro   string // the type in the file
	Type   *rowdata.Type
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("column %s: avro %s can't be read as %s", e.Column, e.Avro, e.Type)
}

// NullError says that a NULL was to be written where the type has none.
type NullError struct {
	Column string // with the path of members
}

func (e *NullError) Error() string {
	return fmt.Sprintf("column %s: NULL in a NOT NULL column", e.Column)
}
