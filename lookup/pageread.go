package lookup

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// pageReader reads pages from the log, in the order of their keys. Pages that were
// written together stand in it in that order, so it reads on beyond a page if that
// is near the one before.
type pageReader struct {
	log  *valueLog
	buf  []byte // read last
	from uint64 // address of buf
}

const (
	// pageGapMax is how far behind what was read a page is near.
	pageGapMax = 16 << 10
	// pageAheadBytes is how much is read of pages that are near to one another.
	pageAheadBytes = 64 << 10
)

// reset forgets what was read: the log may be another one.
func (r *pageReader) reset(log *valueLog) { r.log, r.buf, r.from = log, r.buf[:0], 0 }

// page returns the page that ends at fence. It stays as it is until the next call.
func (r *pageReader) page(fence []byte, l loc) ([]byte, error) {
	n := int(l.size) + sumBytes
	end := r.from + uint64(len(r.buf))
	if l.addr < r.from || l.addr+uint64(n) > end {
		near := len(r.buf) > 0 && l.addr >= r.from && l.addr <= end+pageGapMax && l.segment() == uint32(r.from>>32)
		if err := r.read(l, n, near); err != nil {
			r.buf = r.buf[:0]
			return nil, err
		}
	}
	b := r.buf[l.addr-r.from:][:n]
	return b[:l.size:l.size], checkRecord(pageSeed(r.log.generation), fence, b[:l.size], b[l.size:])
}

// read fills the buffer from a page on.
func (r *pageReader) read(l loc, n int, ahead bool) error {
	f, size, err := r.log.readerOf(l.segment())
	if err != nil {
		return err
	}
	at := int64(uint32(l.addr))
	if ahead {
		n = max(n, int(min(pageAheadBytes, size-at)))
	}
	r.buf = slices.Grow(r.buf[:0], n)[:n]
	r.from = l.addr
	return readAt(f, r.buf, at)
}

// placeOf returns where the page is that an iterator stands at.
func placeOf(it *pebble.Iterator) (loc, error) {
	b, err := it.ValueAndErr()
	if err != nil {
		return loc{}, err
	}
	l, ok := decodeLoc(b)
	if !ok || l.size == 0 {
		return loc{}, fmt.Errorf("%w: place of a page", pebble.ErrCorruption)
	}
	return l, nil
}
