package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"sluice/paimon/rowdata"
)

// Mark says what a decoded record was.
type Mark struct {
	// Commit is set by a record that ends a commit ({"commit":true}); it adds no rows.
	Commit bool
	// Line is the number of the record in its stream, from 1: lines for text
	// formats. It is the position to resume after.
	Line int64
	// At is the line of the text that the record begins at, for messages, if that
	// is not Line; else 0.
	At int64
}

// Decoder reads a stream of records in one format. Decoders are not safe for
// concurrent use.
type Decoder interface {
	// Decode appends the changes of the next record to dst: none for a commit
	// mark or a tombstone, two for an update with its image before. At the end
	// of the stream it returns io.EOF, for a bad record a *RecordError, after
	// which dst has no row of that record.
	Decode(dst *rowdata.Changes) (Mark, error)
}

// RecordError tells which record of a stream is bad and why.
type RecordError struct {
	Line   int64  // number of the record, from 1
	Column string // empty if the record as a whole is bad
	Err    error
}

func (e *RecordError) Error() string {
	if e.Column != "" {
		return fmt.Sprintf("line %d, column %s: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// ErrLineTooLong is wrapped by the error for a line above [MaxLineBytes].
var ErrLineTooLong = errors.New("line is longer than 64 MiB")

// MaxLineBytes bounds one line of a text format.
const MaxLineBytes = 64 << 20

// lines reads a text stream line by line and counts.
type lines struct {
	r   *bufio.Reader
	buf []byte
	n   int64
}

func newLines(r io.Reader) lines { return lines{r: bufio.NewReaderSize(r, 256<<10)} }

// next returns the next line without its line break. It is valid until the
// next call. Blank lines are counted and passed over.
func (l *lines) next() ([]byte, error) {
	for {
		l.buf = l.buf[:0]
		for {
			part, err := l.r.ReadSlice('\n')
			l.buf = append(l.buf, part...)
			if len(l.buf) > MaxLineBytes {
				return nil, &RecordError{Line: l.n + 1, Err: ErrLineTooLong}
			}
			if err == nil {
				break
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if errors.Is(err, io.EOF) && len(l.buf) > 0 {
				break
			}
			return nil, err
		}
		l.n++
		line := trimSpace(l.buf)
		if len(line) > 0 {
			return line, nil
		}
	}
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r' || b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// undo takes back the rows that a bad record left beyond the first n, also the
// values of a row that was not finished.
func undo(dst *rowdata.Changes, n int) {
	dst.Kinds = dst.Kinds[:n]
	for _, v := range dst.Cols {
		v.Truncate(min(n, v.Len()))
	}
	dst.N = n
}
