package predicate

import "fmt"

// A SyntaxError tells what is wrong with the text of a predicate.
type SyntaxError struct {
	Text   string
	Offset int // in bytes
	What   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("predicate: byte %d: %s", e.Offset, e.What)
}
