package pqt

import (
	"errors"
	"fmt"
	"io"
)

// slack is how many bytes behind its end every buffer has that is decoded from:
// the unpacking of bits reads beyond what it needs.
const slack = 64

func newBuffer(n int) []byte { return make([]byte, n, n+slack) }

// readAt fills b from offset off.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return fmt.Errorf("%d bytes at offset %d: %w", len(b), off, io.ErrUnexpectedEOF)
	}
	return &sourceError{fmt.Errorf("read %d bytes at offset %d: %w", len(b), off, err)}
}

// sourceError is an error of the source, which says nothing of the file.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return errors.Unwrap(e.error) }

// source reads a part of a file from front to back, a window at a time.
type source struct {
	r      io.ReaderAt
	whole  []byte // the file, if it is small
	window int
	buf    []byte
	off    int64 // of buf in the file
	pos    int64
	end    int64
}

// start places s on the bytes pos..end of the file.
func (s *source) start(pos, end int64) { s.pos, s.end, s.buf, s.off = pos, end, s.buf[:0], pos }

// left returns the bytes between the position and the end.
func (s *source) left() int64 { return s.end - s.pos }

// peek returns the next n bytes, which must be there, and does not move on. They
// are valid until the next call.
func (s *source) peek(n int) ([]byte, error) {
	if int64(n) > s.left() {
		return nil, io.ErrUnexpectedEOF
	}
	if s.whole != nil {
		return s.whole[s.pos : s.pos+int64(n)], nil
	}
	at := int(min(max(s.pos-s.off, 0), int64(len(s.buf))))
	have := s.buf[at:]
	if s.pos < s.off || s.pos > s.off+int64(len(s.buf)) {
		have = nil
	}
	if len(have) >= n {
		return have[:n], nil
	}
	want := int(min(int64(max(n, s.window)), s.left()))
	if cap(s.buf) < want+slack {
		b := newBuffer(want)
		copy(b, have)
		s.buf = b
	} else {
		s.buf = s.buf[:cap(s.buf)]
		copy(s.buf, have)
		s.buf = s.buf[:want]
	}
	s.off = s.pos
	if err := readAt(s.r, s.buf[len(have):], s.pos+int64(len(have))); err != nil {
		s.buf = s.buf[:0]
		return nil, err
	}
	return s.buf[:n], nil
}

// skip moves on by n bytes.
func (s *source) skip(n int64) { s.pos = min(s.pos+n, s.end) }
