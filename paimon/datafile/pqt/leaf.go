package pqt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

var (
	errCRC       = errors.New("checksum does not match")
	errTooFew    = errors.New("fewer values than the footer says")
	errOpenBytes = fmt.Errorf("pages of more than %d bytes at once: read fewer columns at a time", openBytesMax)
	errElements  = fmt.Errorf("lists of more than %d elements in a batch: read fewer rows at a time", elementsMax)
)

// openBytesMax bounds the decompressed pages that a reader holds at once, one a
// leaf column: a few bytes of a hostile file may become a page of a gigabyte.
const openBytesMax = 2 << 30

// elementsMax bounds the entries of a nested column in one batch.
const elementsMax = 1 << 26

// leafReader reads one leaf column of a file: the levels and values of its pages,
// row group by row group.
type leafReader struct {
	path    string
	phys    physicalType
	typeLen int
	maxDef  byte
	maxRep  byte
	conv    conversion
	unit    int8 // of times and timestamps
	only    bool // the levels are wanted, not the values
	trust   bool // checksums are not verified
	flat    bool // read by readFlat; otherwise by readEntries

	src      source
	decomp   decompressor
	page     []byte // decompressed
	held     *int   // bytes of the pages of all leaves
	values   valueReader
	rep      levelReader
	def      levelReader
	codec    codec
	left     int64 // entries of the chunk in pages that are not open yet
	open     int   // entries of the open page that are not read yet
	offset   int64 // of the open page, for errors
	chunk    *columnChunk
	fileSize int64
	rows     int64 // of the row group
	skips    int64 // rows to pass over before the next is read
	fresh    bool  // nothing of the row group has been read
	expect   int64 // entries that the next page must have; -1: any

	// Entries of the batch, of a column with lists in it or around it.
	batchRep, batchDef []byte
	ahead, aheadDef    []byte // levels of the open page that are decoded and not used
	levelBuf           *[2][1024]byte
}

// corrupt wraps an error with the column and the place it is in. Errors that do
// not come from the bytes of the file stay what they are.
func (l *leafReader) corrupt(place string, err error) error {
	var u *UnsupportedError
	if errors.As(err, &u) {
		u.Column = l.path
		return err
	}
	var s *sourceError
	if errors.As(err, &s) || errors.Is(err, errOpenBytes) || errors.Is(err, errBatchBytes) || errors.Is(err, errElements) {
		return fmt.Errorf("parquet column %q: %w", l.path, err)
	}
	return &CorruptFileError{Column: l.path, Place: place, Offset: l.offset, Err: err}
}

// startChunk places l on a column chunk of a file of size bytes with the given
// number of rows.
func (l *leafReader) startChunk(c *columnChunk, rows, size int64) error {
	start := c.dataPageOffset
	if c.dictPageOffset > 0 && c.dictPageOffset < start {
		start = c.dictPageOffset
	}
	l.offset = start
	switch {
	case c.phys != l.phys:
		return l.corrupt("column chunk", fmt.Errorf("values of %s, the schema says %s", c.phys, l.phys))
	case c.totalCompressed < 0 || start < int64(len(magic)) || start > size || c.totalCompressed > size-start:
		return l.corrupt("column chunk", fmt.Errorf("%d bytes in a file of %d", c.totalCompressed, size))
	case l.maxRep == 0 && c.numValues != rows, c.numValues < rows:
		return l.corrupt("column chunk", fmt.Errorf("%d values for %d rows", c.numValues, rows))
	}
	l.src.start(start, start+c.totalCompressed)
	l.codec, l.left, l.open, l.chunk, l.fileSize = c.codec, c.numValues, 0, c, size
	l.rows = rows
	l.skips, l.fresh, l.expect = 0, true, -1
	l.values.dict.n = -1
	l.ahead, l.aheadDef = nil, nil
	return nil
}

// nextHeader reads the header of the page at the position of the source and
// moves behind it.
func (l *leafReader) nextHeader(h *pageHeader) error {
	l.offset = l.src.pos
	for n := 64; ; n *= 4 {
		n = int(min(int64(n), l.src.left()))
		b, err := l.src.peek(n)
		if err != nil {
			return l.corrupt("page header", err)
		}
		size, err := decodePageHeader(b, h)
		if err == nil {
			l.src.skip(int64(size))
			break
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || int64(n) == l.src.left() || n >= pageHeaderMax {
			return l.corrupt("page header", err)
		}
	}
	if int64(h.compressed) > l.src.left() {
		return l.corrupt("page header", fmt.Errorf("page of %d bytes with %d left", h.compressed, l.src.left()))
	}
	return nil
}

// nextPage opens the next data page. skip is a number of rows to pass over: pages
// that lie within them are not opened but taken off it, if their rows are known.
func (l *leafReader) nextPage(skip *int64) error {
	for {
		if l.left <= 0 || l.src.left() == 0 {
			return io.EOF
		}
		var h pageHeader
		if err := l.nextHeader(&h); err != nil {
			return err
		}
		switch h.kind {
		case pageDictionary:
			if err := l.readDictionary(&h); err != nil {
				return err
			}
		case pageData, pageDataV2:
			if int64(h.numValues) > l.left {
				return l.corrupt("page header", fmt.Errorf("%d values with %d left", h.numValues, l.left))
			}
			if l.expect >= 0 && int64(h.numValues) != l.expect {
				return l.corrupt("offset index", fmt.Errorf("a page of %d values where %d belong", h.numValues, l.expect))
			}
			l.expect = -1
			rows := int64(-1)
			if l.maxRep == 0 {
				rows = int64(h.numValues)
			} else if h.kind == pageDataV2 {
				rows = int64(h.numRows)
			}
			if skip != nil && rows >= 0 && rows <= *skip {
				*skip -= rows
				l.left -= int64(h.numValues)
				l.src.skip(int64(h.compressed))
				continue
			}
			if h.numValues == 0 {
				l.src.skip(int64(h.compressed))
				continue
			}
			l.left -= int64(h.numValues)
			if err := l.openPage(&h); err != nil {
				return l.corrupt("data page", err)
			}
			return nil
		default:
			l.src.skip(int64(h.compressed))
		}
	}
}

// body returns the bytes of a page as stored, and checks them.
func (l *leafReader) body(h *pageHeader) ([]byte, error) {
	b, err := l.src.peek(int(h.compressed))
	if err != nil {
		return nil, err
	}
	if h.hasCRC && !l.trust && crc32.ChecksumIEEE(b) != uint32(h.crc) {
		return nil, errCRC
	}
	l.src.skip(int64(h.compressed))
	return b, nil
}

// decompress returns b decompressed to size bytes, with slack behind it. The
// result is valid until the next page is opened.
func (l *leafReader) decompress(b []byte, size int) ([]byte, error) {
	if l.codec == codecNone {
		if len(b) != size {
			return nil, errPageSize
		}
		if cap(b)-len(b) >= slack {
			return b, nil
		}
	}
	if size > pageBytesMax || size > len(b)*ratioMax(l.codec)+64 {
		return nil, fmt.Errorf("%d bytes cannot become %d", len(b), size)
	}
	if cap(l.page) < size+slack {
		n := max(size, 2*min(cap(l.page), 1<<20))
		if *l.held += n - cap(l.page); *l.held > openBytesMax {
			return nil, errOpenBytes
		}
		l.page = newBuffer(n)
	}
	l.page = l.page[:size]
	return l.page, l.decomp.decode(l.page, b, l.codec)
}

// openPage decompresses a data page and readies the readers of its parts.
func (l *leafReader) openPage(h *pageHeader) error {
	b, err := l.body(h)
	if err != nil {
		return err
	}
	n := int(h.numValues)
	var rep, def []byte
	if h.kind == pageDataV2 {
		levels := int64(h.repBytes) + int64(h.defBytes)
		if levels > int64(len(b)) || levels > int64(h.uncompressed) {
			return errLengths
		}
		rep, def = b[:h.repBytes], b[h.repBytes:levels]
		if b = b[levels:]; h.isCompressed {
			if b, err = l.decompress(b, int(h.uncompressed)-int(levels)); err != nil {
				return err
			}
		} else {
			b = withSlack(b)
		}
		rep, def = withSlack(rep), withSlack(def)
	} else {
		if b, err = l.decompress(b, int(h.uncompressed)); err != nil {
			return err
		}
		if l.maxRep > 0 {
			if rep, b, err = cutLevels(b, h.repEnc); err != nil {
				return err
			}
		}
		if l.maxDef > 0 {
			if def, b, err = cutLevels(b, h.defEnc); err != nil {
				return err
			}
		}
	}
	l.rep.init(rep, l.maxRep)
	l.def.init(def, l.maxDef)
	l.open = n
	if l.only {
		return nil
	}
	return l.values.init(h.encoding, b, n)
}

// withSlack returns b, or a copy of it that may be read beyond its end.
func withSlack(b []byte) []byte {
	if cap(b)-len(b) >= slack {
		return b
	}
	c := newBuffer(len(b))
	copy(c, b)
	return c
}

// cutLevels takes the levels off the front of a page of version 1.
func cutLevels(b []byte, enc encoding) (levels, rest []byte, err error) {
	if enc != encRLE {
		return nil, nil, &UnsupportedError{What: fmt.Sprintf("levels in encoding %d", enc)}
	}
	if len(b) < 4 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, errLengths
	}
	return b[4 : 4+n], b[4+n:], nil
}

// readDictionary decodes the dictionary page of a column chunk.
func (l *leafReader) readDictionary(h *pageHeader) error {
	if l.only {
		l.src.skip(int64(h.compressed))
		return nil
	}
	if l.values.dict.n >= 0 {
		return l.corrupt("dictionary page", errors.New("a second one"))
	}
	b, err := l.body(h)
	if err == nil {
		b, err = l.decompress(b, int(h.uncompressed))
	}
	if err == nil && h.encoding != encPlain && h.encoding != encPlainDictionary {
		err = &UnsupportedError{What: fmt.Sprintf("dictionary in encoding %d", h.encoding)}
	}
	if err == nil {
		err = l.values.setDictionary(b, int(h.numValues))
	}
	if err != nil {
		return l.corrupt("dictionary page", err)
	}
	return nil
}

// setDictionary decodes a dictionary of n values in PLAIN encoding.
func (v *valueReader) setDictionary(b []byte, n int) error {
	d := &v.dict
	v.enc, v.buf, v.pos = encPlain, b, 0
	if v.phys == physBoolean {
		return &UnsupportedError{What: "dictionary of BOOLEAN"}
	}
	if v.width > 0 && n > len(b)/v.width || v.width == 0 && n > len(b)/4 {
		return io.ErrUnexpectedEOF
	}
	var err error
	switch v.phys {
	case physInt32:
		d.i32 = resize(d.i32, n)
		err = v.int32s(d.i32)
	case physInt64:
		d.i64 = resize(d.i64, n)
		err = v.int64s(d.i64)
	case physFloat:
		d.f32 = resize(d.f32, n)
		err = v.float32s(d.f32)
	case physDouble:
		d.f64 = resize(d.f64, n)
		err = v.float64s(d.f64)
	case physByteArray:
		d.data, d.offs = d.data[:0], append(d.offs[:0], 0)
		if err = v.appendStrings(&d.data, &d.offs, n); err == nil {
			d.data = grow(d.data, slack)
		}
	default:
		var raw []byte
		raw, err = v.plain(n)
		d.fixed = append(d.fixed[:0], raw...)
	}
	if err != nil {
		return err
	}
	d.n, d.most = n, 0
	for i := 1; i < len(d.offs); i++ {
		d.most = max(d.most, int(d.offs[i]-d.offs[i-1]))
	}
	return nil
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// rowsWithin returns how many of the next n rows may be read at once without
// their strings taking more than a batch may. It opens a page if none is.
func (l *leafReader) rowsWithin(n int) (int, error) {
	if l.phys != physByteArray || l.only {
		return n, nil
	}
	if !l.flat {
		// Where a row ends is not known beforehand: go by the average.
		row := max(1, l.chunk.totalUncompressed/max(1, l.rows))
		return int(min(int64(n), max(1, batchBytesComfort/row))), nil
	}
	if err := l.settle(); err != nil {
		return 0, err
	}
	if l.open == 0 {
		if err := l.nextPage(nil); err != nil {
			return 0, l.ended(err)
		}
	}
	if n > l.open && l.chunk.totalUncompressed > batchBytesComfort {
		n = l.open
	}
	switch v := &l.values; v.enc {
	case encRLEDictionary:
		if v.dict.most > 0 {
			n = min(n, max(1, batchBytesComfort/v.dict.most))
		}
	case encDeltaBytes:
		total := 0
		for i := range min(n, l.open, len(v.lengths)-v.at) {
			if total += int(v.prefixes[v.at+i] + v.lengths[v.at+i]); total > batchBytesComfort && i > 0 {
				return i, nil
			}
		}
		n = min(n, l.open)
	}
	return n, nil
}

// ended turns the end of a chunk into an error: rows are missing.
func (l *leafReader) ended(err error) error {
	if err == io.EOF {
		return l.corrupt("column chunk", errTooFew)
	}
	return err
}
