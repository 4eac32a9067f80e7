package natsfeed

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoStream: the stream does not exist and was not to be created.
var ErrNoStream = errors.New("stream does not exist")

// FencedError tells that another publisher writes to the stream. It ends a
// publisher: whoever runs the other one decides which of them stays.
type FencedError struct {
	Stream    string
	Publisher string // name in the last message
	Sequence  uint64 // of the last message
}

func (e *FencedError) Error() string {
	return fmt.Sprintf("stream %s: publisher %s wrote message %d, this one stops", e.Stream, e.Publisher, e.Sequence)
}

// ForeignMessageError tells that the last message of the stream was not written
// by a publisher of this feed, so that there is no position to go on from.
type ForeignMessageError struct {
	Stream   string
	Sequence uint64
	Subject  string
	Why      string
}

func (e *ForeignMessageError) Error() string {
	return fmt.Sprintf("stream %s: last message %d (subject %s) %s: give this feed a stream of its own", e.Stream, e.Sequence, e.Subject, e.Why)
}

// LostPositionError tells that the stream had messages and has none left, so
// that nobody knows what was published.
type LostPositionError struct {
	Stream       string
	LastSequence uint64
}

func (e *LostPositionError) Error() string {
	return fmt.Sprintf("stream %s: all messages up to %d were deleted, and the position with them: start anew with a new stream, or keep at least the last message (max_age, max_msgs)", e.Stream, e.LastSequence)
}

// StreamError lists what is wrong with a stream.
type StreamError struct {
	Stream   string
	Findings []Finding
}

func (e *StreamError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.Problem + " (" + f.Fix + ")"
	}
	return fmt.Sprintf("stream %s cannot be used: %s", e.Stream, strings.Join(lines, "; "))
}

// Finding is one thing about a stream, with what to do.
type Finding struct {
	Problem string
	Fix     string
	Fatal   bool // the stream cannot be used
}

// TemplateError tells what is wrong with a subject template.
type TemplateError struct {
	Template string
	Why      string
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("subject template %q: %s", e.Template, e.Why)
}
