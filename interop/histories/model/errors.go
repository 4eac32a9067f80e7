package model

import "fmt"

// UnknownError says that a case needs something that the model does not describe.
type UnknownError struct{ What string }

func (e *UnknownError) Error() string { return "the model does not know " + e.What }

// FailedError is how a write or a read must fail. Meaning is one of the texts
// that [casefile.Meaning] returns.
type FailedError struct{ Meaning string }

func (e *FailedError) Error() string { return "must fail: " + e.Meaning }

func failed(format string, args ...any) error { return &FailedError{fmt.Sprintf(format, args...)} }
