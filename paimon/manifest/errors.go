package manifest

import (
	"errors"
	"fmt"
)

// ErrCorrupt says that bytes are no manifest, or a damaged one.
var ErrCorrupt = errors.New("corrupt manifest")

// FieldError says that a file cannot be understood because of one field.
type FieldError struct {
	Field  string
	Reason string
}

func (e *FieldError) Error() string { return fmt.Sprintf("field %s %s", e.Field, e.Reason) }

// Unwrap returns [ErrCorrupt].
func (e *FieldError) Unwrap() error { return ErrCorrupt }

// VersionError says that an entry has a layout of another version.
type VersionError struct {
	What      string
	Got, Want int32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has version %d, want %d: upgrade the table with a current Paimon", e.What, e.Got, e.Want)
}
