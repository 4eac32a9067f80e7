package lookup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readValue reads the value of a key from the log, into buf if it has the room.
func readValue(r vfs.File, key []byte, l loc, buf []byte) ([]byte, error) {
	n := int(l.size) + sumBytes
	buf = slices.Grow(buf[:0], n)[:n]
	if err := readAt(r, buf, int64(uint32(l.addr))); err != nil {
		return nil, err
	}
	return buf[:l.size], checkRecord(0, key, buf[:l.size], buf[l.size:])
}

// readAt fills buf. What is missing of a file was cut off.
func readAt(r vfs.File, buf []byte, at int64) error {
	n, err := r.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ends too early", errRecord)
	}
	return err
}

// Values that lie near to one another in the log are read together.
const (
	fetchGapMax   = 8 << 10
	fetchBytesMax = 32 << 10
)

// fetch is a value to be read: of key i.
type fetch struct {
	addr uint64
	size uint32
	i    int32
}

// fetchValues reads the values of the hits from the log.
func (s *search) fetchValues(log *valueLog) error {
	s.fetches = s.fetches[:0]
	for i, state := range s.state {
		if state != hit {
			continue
		}
		l := s.locs[i]
		if l.size == 0 {
			s.vals[i] = nil
			continue
		}
		s.fetches = append(s.fetches, fetch{l.addr, l.size, int32(i)})
	}
	slices.SortFunc(s.fetches, func(a, b fetch) int { return cmp.Compare(a.addr, b.addr) })
	s.values = s.values[:0]
	for from := 0; from < len(s.fetches); {
		to, span := s.near(from)
		if err := s.fetchSpan(log, s.fetches[from:to], span); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// near returns the end of the values that are read together with the first, and how
// many bytes these span.
func (s *search) near(from int) (to, span int) {
	first := s.fetches[from]
	end := first.addr + uint64(first.size) + sumBytes
	for to = from + 1; to < len(s.fetches); to++ {
		f := s.fetches[to]
		e := f.addr + uint64(f.size) + sumBytes
		if f.addr > end+fetchGapMax || e-first.addr > fetchBytesMax || f.addr>>32 != first.addr>>32 {
			break
		}
		end = max(end, e)
	}
	return to, int(end - first.addr)
}

// fetchSpan reads some values at once, and keeps no more than these. Slices of
// s.values that were handed out stay as they are when it grows.
func (s *search) fetchSpan(log *valueLog, fs []fetch, span int) error {
	r, err := log.reader(uint32(fs[0].addr >> 32))
	if err != nil {
		return err
	}
	s.span = slices.Grow(s.span[:0], span)[:span]
	if err := readAt(r, s.span, int64(uint32(fs[0].addr))); err != nil {
		return err
	}
	for _, f := range fs {
		off := f.addr - fs[0].addr
		if err := s.take(f, s.span[off:off+uint64(f.size)+sumBytes]); err != nil {
			return err
		}
	}
	return nil
}

// take copies a value and its sum, and checks the copy.
func (s *search) take(f fetch, b []byte) error {
	b = s.hold(b)
	val := b[:f.size:f.size]
	s.vals[f.i] = val
	return checkRecord(0, s.key(int(f.i)), val, b[f.size:])
}

// hold copies a value to where it stays until the next keys are looked up.
func (s *search) hold(val []byte) []byte {
	if cap(s.values)-len(s.values) < len(val) {
		s.values = make([]byte, 0, max(2*cap(s.values), len(val), valuesBytesMin))
	}
	at := len(s.values)
	s.values = append(s.values, val...)
	return s.values[at:len(s.values):len(s.values)]
}

const valuesBytesMin = 64 << 10
