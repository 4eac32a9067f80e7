package pqt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/rle"

	"sluice/paimon/rowdata"
)

// indexBoundBytes is how long a minimum or maximum in a column index gets. Longer
// ones are cut, and still bound.
const indexBoundBytes = 64

// pageCoder turns the open page of a column into bytes. It is scratch that all
// columns of a writer share.
type pageCoder struct {
	comp   *compressor
	body   []byte
	packed []byte
	trial  []byte
	head   thriftWriter
}

// endPage encodes the open page of c, if it has rows, and opens the next.
func (p *pageCoder) endPage(c *column) error {
	if c.entries == 0 {
		return nil
	}
	c.tryDictionary()
	c.indexNumbers()
	if c.encoding == encRLEDictionary && c.dictPages == 0 && !c.dictionaryPays() {
		c.leaveDictionary()
	}
	values := c.values()
	b := c.pageBounds()
	body := c.plainPage()
	if body == nil {
		p.body = c.appendPage(p.body[:0])
		body = p.body
	}

	h := pageHeader{kind: pageData, numValues: int32(c.entries), encoding: c.encoding}
	at := c.chunk.size()
	var head, packed []byte
	var err error
	if len(c.pages) == 0 {
		head, packed, err = p.firstPage(c, &h, body)
	} else {
		head, packed, err = p.nextPage(c, &h, body)
	}
	if err != nil {
		return fmt.Errorf("column %q: %w", c.node.path, err)
	}
	c.chunk.append(head)
	c.chunk.append(packed)
	c.rawBytes += int64(len(head) + len(body))
	c.ratio = 1024 * (c.chunk.size() - at) / max(c.size, 1)
	if c.encoding == encRLEDictionary {
		c.dictPages++
	}
	info := pageInfo{at: at, size: c.chunk.size() - at, firstRow: c.firstRow, nulls: int64(c.entries - values), empty: values == 0, encoding: c.encoding}
	switch {
	case !b.known || b.nan:
		info.noBounds = values > 0 || c.class == classNanos // INT96 has no order
	case c.class == classBytes:
		text := c.typ.IsString()
		info.min = append([]byte(nil), cutLow(b.blo, indexBoundBytes, text)...)
		info.max = cutHigh(nil, b.bhi, indexBoundBytes, text)
	default:
		width := int(c.elem.typeLength)
		info.min, info.max = b.plain(nil, c.class, width, false), b.plain(nil, c.class, width, true)
	}
	c.pages = append(c.pages, info)
	c.total.merge(&b, c.class)
	c.nulls += info.nulls
	c.numValues += int64(c.entries)
	c.firstRow += int64(c.rows)
	c.startPage()
	return nil
}

// appendPage appends the body of the open page.
func (c *column) appendPage(body []byte) []byte {
	if c.maxRep > 0 {
		body = appendLevels(body, c.rep, c.maxRep)
	}
	switch {
	case c.hasDef:
		body = appendLevels(body, c.def, c.maxDef)
	case c.maxDef > 0:
		body = appendOneLevel(body, c.entries)
	}
	return c.appendEncoded(body)
}

// trialBytesMin is the size from which the first page of a column chunk tells
// whether its values can be compressed, trialBytesMax what is looked at of it, and
// trialGain the part that must be gained.
const (
	trialBytesMin = 4 << 10
	trialBytesMax = 32 << 10
	trialGain     = 32
)

// firstPage is page for the first one of a row group. It leaves the column chunk
// uncompressed if the middle of the page stays about as large: that saves writers
// and readers the time. Indexes of a dictionary do not tell of its values.
func (p *pageCoder) firstPage(c *column, h *pageHeader, body []byte) (head, packed []byte, err error) {
	if c.raw || c.encoding == encRLEDictionary || len(body) < trialBytesMin {
		return p.page(h, body, c.raw)
	}
	if len(body) <= smallPageMax {
		return p.onlyPage(c, h, body)
	}
	sample := middle(body, trialBytesMax)
	if p.packed, err = p.comp.append(p.packed[:0], sample); err != nil {
		return nil, nil, err
	}
	if c.raw = gainsNothing(sample, p.packed); !c.raw && p.mayBeLiterals(c, body, literalBytesMin) {
		return p.literals(c, h, body, sample, len(p.packed))
	}
	return p.page(h, body, c.raw)
}

// lesson is how the first page of a small row group is best compressed, and for how
// many of those to come that is believed. Files of frequent commits have small pages
// only, and what they hold is alike.
type lesson struct {
	groups        int
	raw, literals bool
}

const (
	smallPageMax = 2 * trialBytesMax
	lessonGroups = 7
)

// onlyPage is firstPage of a row group that is likely to have no other.
func (p *pageCoder) onlyPage(c *column, h *pageHeader, body []byte) (head, packed []byte, err error) {
	if c.lesson.groups > 0 {
		c.lesson.groups--
		c.raw = c.lesson.raw
		if c.lesson.literals && p.mayBeLiterals(c, body, trialBytesMin) {
			var ok bool
			if p.packed, ok = p.comp.plain.append(p.packed[:0], body); ok {
				head, packed = p.finish(h, body, p.packed)
				return head, packed, nil
			}
		}
		return p.page(h, body, c.raw)
	}
	head, packed, err = p.page(h, body, false)
	if err != nil {
		return nil, nil, err
	}
	c.lesson = lesson{groups: lessonGroups}
	switch {
	case gainsNothing(body, packed):
		c.raw, c.lesson.raw = true, true
		return p.page(h, body, true)
	case p.mayBeLiterals(c, body, trialBytesMin):
		var ok bool
		p.trial, ok = p.comp.plain.append(p.trial[:0], body)
		c.lesson.literals = ok && len(p.trial) <= len(packed)+len(packed)/literalLoss
	}
	return head, packed, nil
}

// nextPage is page for those behind the first.
func (p *pageCoder) nextPage(c *column, h *pageHeader, body []byte) (head, packed []byte, err error) {
	if !c.raw && p.mayBeLiterals(c, body, literalBytesMin) && (c.literals || len(c.pages)%literalTrialPages == 0) {
		return p.tryLiterals(c, h, body)
	}
	return p.page(h, body, c.raw)
}

// Pages of short texts of at least literalBytesMin may become frames of literals.
// Whether they do, a sample of the page tells, which has many values; a page that
// has matches puts an end to that, and every so many pages it is tried again.
const (
	literalBytesMin   = 2 * trialBytesMax
	literalValueMax   = 512 // bytes on average
	literalTrialPages = 8
	literalLoss       = 256 // the part that a frame of literals may be larger
)

// mayBeLiterals tells whether a page of at least so many bytes is one of short texts.
func (p *pageCoder) mayBeLiterals(c *column, body []byte, least int) bool {
	return p.comp.plain != nil && c.class == classBytes && c.encoding == encPlain && len(body) >= least && len(body)/c.entries <= literalValueMax
}

// tryLiterals is page for bytes in which there may be no matches.
func (p *pageCoder) tryLiterals(c *column, h *pageHeader, body []byte) (head, packed []byte, err error) {
	sample := middle(body, trialBytesMax)
	if p.packed, err = p.comp.append(p.packed[:0], sample); err != nil {
		return nil, nil, err
	}
	return p.literals(c, h, body, sample, len(p.packed))
}

// literals is tryLiterals, given what a sample of the page is compressed.
func (p *pageCoder) literals(c *column, h *pageHeader, body, sample []byte, size int) (head, packed []byte, err error) {
	var ok bool
	p.packed, ok = p.comp.plain.append(p.packed[:0], sample)
	if c.literals = ok && len(p.packed) <= size+size/literalLoss; c.literals {
		if p.packed, ok = p.comp.plain.append(p.packed[:0], body); ok {
			head, packed = p.finish(h, body, p.packed)
			return head, packed, nil
		}
	}
	return p.page(h, body, false)
}

// middle returns n bytes from the middle of b, which has as many.
func middle(b []byte, n int) []byte { return b[(len(b)-n)/2:][:n] }

func gainsNothing(raw, packed []byte) bool { return len(packed) > len(raw)-len(raw)/trialGain }

// page returns a page's header and its body, compressed unless raw is set, both in
// scratch memory.
func (p *pageCoder) page(h *pageHeader, body []byte, raw bool) (head, packed []byte, err error) {
	if len(body) > pageBytesMax {
		return nil, nil, fmt.Errorf("a page of %d bytes, at most %d can be read: a row is too large", len(body), pageBytesMax)
	}
	packed = body
	if !raw {
		if packed, err = p.comp.append(p.packed[:0], body); err != nil {
			return nil, nil, err
		}
		p.packed = packed
	}
	head, packed = p.finish(h, body, packed)
	return head, packed, nil
}

// finish returns the header of a page, and its compressed body.
func (p *pageCoder) finish(h *pageHeader, body, packed []byte) (head, out []byte) {
	h.uncompressed, h.compressed = int32(len(body)), int32(len(packed))
	h.crc = int32(crc32.ChecksumIEEE(packed))
	p.head.buf = p.head.buf[:0]
	p.head.pageHeader(h)
	return p.head.buf, packed
}

// dictionaryPays tells, of the first page of a row group, whether the dictionary
// and the indexes take less than the values themselves.
func (c *column) dictionaryPays() bool {
	if c.typ.Root == rowdata.TinyInt {
		return true
	}
	size := len(c.dict.data) + 4*len(c.dict.ends) + c.elem.phys.width()*len(c.ints.values)
	return size+len(c.index)*c.indexWidth()/8 < c.size
}

func (c *column) indexWidth() int {
	return max(1, bits.Len(uint(max(c.dict.len(), len(c.ints.values), 1)-1)))
}

// values returns how many values of the open page are not NULL.
func (c *column) values() int {
	switch {
	case c.encoding == encRLEDictionary:
		return len(c.index)
	case c.class == classBytes:
		return c.strings
	case c.class == classNanos:
		return len(c.data) / 12
	}
	return len(c.i32) + len(c.i64) + len(c.f32) + len(c.f64) + len(c.i128)
}

// appendEncoded appends the values of the open page.
func (c *column) appendEncoded(dst []byte) []byte {
	switch {
	case c.encoding == encRLEDictionary:
		w := c.indexWidth()
		dst = append(dst, byte(w))
		return appendRLE(dst, c.index, w)
	case c.encoding == encDeltaBinary && c.class == classI64:
		return appendDelta(dst, c.i64)
	case c.encoding == encDeltaBinary:
		return appendDelta(dst, c.i32)
	case c.class == classBytes, c.class == classNanos:
		return append(dst, c.data[c.headBytes():]...)
	case c.class == classBool:
		return appendBits(dst, c.i32)
	}
	dst = grow(dst, c.size)
	for _, x := range c.i32 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(x))
	}
	for _, x := range c.i64 {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
	}
	for _, x := range c.f32 {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	for _, x := range c.f64 {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	for _, x := range c.i128 {
		dst = x.AppendBytes(dst, int(c.elem.typeLength))
	}
	return dst
}

func appendBits(dst []byte, v []int32) []byte {
	var acc byte
	for i, x := range v {
		if x != 0 {
			acc |= 1 << (i & 7)
		}
		if i&7 == 7 {
			dst = append(dst, acc)
			acc = 0
		}
	}
	if len(v)&7 != 0 {
		dst = append(dst, acc)
	}
	return dst
}

// appendRLE appends dictionary indexes of w bits in the hybrid of runs and bit
// packing.
func appendRLE(dst []byte, index []int32, w int) []byte {
	dst = grow(dst, len(index)*w/8+64)
	e := rle.Encoding{BitWidth: w}
	out, err := e.EncodeInt32(dst[len(dst):], index)
	if err != nil {
		panic(err) // only for a width above 32
	}
	return append(dst, out...)
}

// appendLevels appends the levels of a page of version 1: their length in bytes
// and then the hybrid encoding.
func appendLevels(dst []byte, levels []byte, most byte) []byte {
	dst = grow(dst, len(levels)+64)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	e := rle.Encoding{BitWidth: bits.Len8(most)}
	out, err := e.EncodeLevels(dst[len(dst):], levels)
	if err != nil {
		panic(err) // only for a width above 8
	}
	dst = append(dst, out...)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// appendOneLevel appends n levels of 1: a page of an optional column without NULLs.
func appendOneLevel(dst []byte, n int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	dst = append(dst, 1)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// dictionaryPage returns the page with the dictionary of c's row group as page
// does, and how long it would be without compression.
func (p *pageCoder) dictionaryPage(c *column) (head, packed []byte, raw int, err error) {
	body := p.body[:0]
	for i := range c.dict.len() {
		s := c.dict.at(i)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(s)))
		body = append(body, s...)
	}
	for _, x := range c.ints.values {
		if c.elem.phys.width() == 8 {
			body = binary.LittleEndian.AppendUint64(body, uint64(x))
		} else {
			body = binary.LittleEndian.AppendUint32(body, uint32(x))
		}
	}
	p.body = body
	n := max(c.dict.len(), len(c.ints.values))
	head, packed, err = p.page(&pageHeader{kind: pageDictionary, numValues: int32(n), encoding: encPlain}, body, c.raw)
	return head, packed, len(head) + len(body), err
}
