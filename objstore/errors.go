package objstore

import (
	"errors"
	"fmt"
)

// The conditions that callers tell apart. Stores return them wrapped with the
// name of the object.
var (
	// ErrNotExist says that there is no object of that name.
	ErrNotExist = errors.New("object does not exist")
	// ErrExists says that an object of that name is there already.
	ErrExists = errors.New("object exists")
	// ErrTooLarge says that an object is larger than the reader allows.
	ErrTooLarge = errors.New("object too large")
)

// NameError says why a text is no name of an object.
type NameError struct {
	Name   string
	Reason string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("object name %q: %s", e.Name, e.Reason)
}

// existence turns the error of a Stat into an answer.
func existence(err error) (bool, error) {
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrNotExist):
		return false, nil
	}
	return false, err
}
