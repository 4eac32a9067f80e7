package pqt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"sluice/paimon/rowdata"
)

// column collects the values of one leaf of the schema: first the open page, in
// a typed slice that has the non-NULL values only, then the pages of the row
// group that are done.
type column struct {
	node   *node
	typ    *rowdata.Type
	class  valueClass
	elem   schemaElement
	path   []string
	maxDef byte
	maxRep byte
	opts   *Options
	twin   *column // has the values and pages of this one too; nil: none
	copies int     // columns that have this one as their twin

	// The open page.
	rows, entries int
	def, rep      []byte // levels; def only from the first NULL on, if the column is flat
	hasDef        bool
	i32           []int32 // classBool, classI32, classDecimal32
	i64           []int64
	f32           []float32
	f64           []float64
	i128          []rowdata.Int128
	data          []byte // classBytes: in PLAIN encoding; classNanos: as INT96
	index         []int32
	offs          []uint32 // scratch
	size          int      // bytes of the values before they are encoded
	lo, hi        uint32   // classBytes, PLAIN: where the least and the greatest begin in data
	loKey, hiKey  uint64
	strings       int // classBytes, PLAIN: values in data

	// The row group.
	encoding  encoding // of the open page
	dict      dictionary
	ints      intDictionary
	stamps    []uint32 // of dictionary entries: the last page that had them
	stamp     uint32
	dictPages int
	pages     []pageInfo
	chunk     blocks // the finished pages
	raw       bool   // they are not compressed
	literals  bool   // the last one was compressed without a search for matches
	rawBytes  int64  // the same, not compressed
	numValues int64
	firstRow  int64 // of the open page, in the row group
	total     bounds
	nulls     int64

	lesson lesson // of earlier row groups, of other files too

	// The file.
	fileTotal bounds
	fileNulls int64
	// compressed bytes per 1024 bytes of values, of the last page
	ratio int
}

// pageInfo is what the page indexes say of a page.
type pageInfo struct {
	at, size int // in chunk, header included
	firstRow int64
	nulls    int64
	empty    bool // only NULLs
	min, max []byte
	noBounds bool
	encoding encoding
}

// source returns the column that has c's pages.
func (c *column) source() *column {
	if c.twin != nil {
		return c.twin
	}
	return c
}

// startGroup readies c for a row group. With raw it is not compressed; else its
// first page tells.
func (c *column) startGroup(raw bool) {
	c.raw, c.literals = raw, false
	c.dict.reset()
	c.ints.reset()
	c.dictPages, c.pages = 0, c.pages[:0]
	c.chunk.reset()
	c.rawBytes, c.numValues, c.firstRow, c.nulls = 0, 0, 0, 0
	c.stamps, c.stamp = c.stamps[:0], 0
	c.total.reset()
	c.encoding = c.firstEncoding()
	c.startPage()
}

// firstEncoding is what a row group begins with. What begins with a dictionary
// may become PLAIN.
func (c *column) firstEncoding() encoding {
	switch c.class {
	case classBytes:
		if !c.opts.NoDictionary {
			return encRLEDictionary
		}
	case classI32, classI64, classDecimal32:
		switch {
		case c.typ.Root == rowdata.TinyInt && !c.opts.NoDictionary:
			return encRLEDictionary // 256 values at most: smaller than deltas
		case !c.opts.NoDelta:
			return encDeltaBinary
		case !c.opts.NoDictionary:
			return encRLEDictionary
		}
	}
	return encPlain
}

func (c *column) startPage() {
	c.rows, c.entries, c.size, c.strings = 0, 0, 0, 0
	c.def, c.rep, c.hasDef = c.def[:0], c.rep[:0], false
	c.i32, c.i64, c.f32, c.f64, c.i128 = c.i32[:0], c.i64[:0], c.f32[:0], c.f64[:0], c.i128[:0]
	c.data, c.index = c.data[:0], c.index[:0]
	c.data = append(c.data, make([]byte, c.headBytes())...)
}

// headBytesMax is the most that the levels of a page without NULLs take.
const headBytesMax = 16

// headBytes is what data has before the strings of a page, for its levels: without
// NULLs it then is a page as it stands.
func (c *column) headBytes() int {
	if c.class == classBytes && c.maxRep == 0 {
		return headBytesMax
	}
	return 0
}

// plainPage returns the body of the open page if its values need not be copied for
// that, else nil.
func (c *column) plainPage() []byte {
	if c.class != classBytes || c.encoding != encPlain || c.maxRep > 0 || c.hasDef {
		return nil
	}
	var head [headBytesMax]byte
	levels := head[:0]
	if c.maxDef > 0 {
		levels = appendOneLevel(levels, c.entries)
	}
	body := c.data[headBytesMax-len(levels):]
	copy(body, levels)
	return body
}

// valueBytes is the size of a value before encoding, without the bytes of strings.
func (c *column) valueBytes() int {
	switch c.class {
	case classBool:
		return 1
	case classI32, classDecimal32, classF32, classBytes:
		return 4
	case classI128:
		return 16
	case classNanos:
		return 12
	}
	return 8
}

// room returns how many rows of v from row from on fit the open page, at least
// one. It may be more than there are rows.
func (c *column) room(v *rowdata.Vector, from, to int) int {
	n := min(to-from, c.opts.PageRows-c.rows)
	left := max(c.opts.PageBytes-c.size, 0)
	if c.class != classBytes {
		return max(1, min(n, left/c.valueBytes()))
	}
	for n > 1 && int(v.Offs[from+n]-v.Offs[from])+4*n > left {
		n /= 2
	}
	return max(1, n)
}

// full tells whether the open page must end.
func (c *column) full() bool {
	return c.rows >= c.opts.PageRows || c.size >= c.opts.PageBytes
}

// appendRows appends rows from..to of a column that is not part of another.
func (c *column) appendRows(v *rowdata.Vector, from, to int) error {
	n := to - from
	valid := v.Valid
	if valid != nil {
		valid = valid[from:to]
		if bytes.IndexByte(valid, 0) < 0 {
			valid = nil
		}
	}
	if valid == nil {
		if c.hasDef {
			c.def = appendOnes(c.def, n)
		}
		c.entries += n
		c.rows += n
		return c.appendValues(v, from, to)
	}
	if c.maxDef == 0 {
		return fmt.Errorf("row %d of column %q: %w", from+bytes.IndexByte(valid, 0), c.node.path, ErrNull)
	}
	if !c.hasDef {
		c.def = appendOnes(c.def[:0], c.entries)
		c.hasDef = true
	}
	for _, b := range valid { // a NULL is 0, anything else counts as a value
		c.def = append(c.def, min(b, 1))
	}
	c.entries += n
	c.rows += n
	return c.appendValid(v, from, to, valid)
}

func appendOnes(b []byte, n int) []byte {
	b = grow(b, n)
	at := len(b)
	b = b[:at+n]
	for i := range b[at:] {
		b[at+i] = 1
	}
	return b
}

// appendValues appends rows from..to, none of which is NULL.
func (c *column) appendValues(v *rowdata.Vector, from, to int) error {
	c.size += (to - from) * c.valueBytes()
	switch c.class {
	case classBool:
		c.i32 = append(c.i32, v.I32[from:to]...)
	case classI32:
		c.i32 = append(c.i32, v.I32[from:to]...)
	case classI64:
		c.i64 = append(c.i64, v.I64[from:to]...)
	case classDecimal32:
		return c.appendDecimal32(v.I64[from:to])
	case classF32:
		c.f32 = append(c.f32, v.F32[from:to]...)
	case classF64:
		c.f64 = append(c.f64, v.F64[from:to]...)
	case classI128:
		c.i128 = append(c.i128, v.I128[from:to]...)
	case classNanos:
		for i := from; i < to; i++ {
			c.data = appendInt96(c.data, v.I64[i], v.I32[i])
		}
	case classBytes:
		c.size += int(v.Offs[to] - v.Offs[from])
		return c.appendStrings(v.Data, v.Offs[from:to+1])
	}
	return nil
}

// appendValid appends the rows of from..to that valid has a byte for.
func (c *column) appendValid(v *rowdata.Vector, from, to int, valid []byte) error {
	switch c.class {
	case classI32, classBool:
		c.i32 = appendWhere(c.i32, v.I32[from:to], valid)
		c.size += 4 * (to - from)
		return nil
	case classI64:
		c.i64 = appendWhere(c.i64, v.I64[from:to], valid)
		c.size += 8 * (to - from)
		return nil
	case classF32:
		c.f32 = appendWhere(c.f32, v.F32[from:to], valid)
		c.size += 4 * (to - from)
		return nil
	case classF64:
		c.f64 = appendWhere(c.f64, v.F64[from:to], valid)
		c.size += 8 * (to - from)
		return nil
	case classBytes:
		if offs := c.offsWhere(v.Offs[from:to+1], valid); offs != nil {
			c.size += 4*(len(offs)-1) + int(offs[len(offs)-1]-offs[0])
			return c.appendStrings(v.Data, offs)
		}
	}
	// The others cost more than the loop over runs of values.
	for i := 0; i < len(valid); {
		if valid[i] == 0 {
			i++
			continue
		}
		j := bytes.IndexByte(valid[i:], 0)
		if j < 0 {
			j = len(valid) - i
		}
		if err := c.appendValues(v, from+i, from+i+j); err != nil {
			return err
		}
		i += j
	}
	return nil
}

// offsWhere returns where the values lie that have a byte in valid: end to end, as the
// others, which are NULL, have no bytes. It is nil if they do have some.
func (c *column) offsWhere(offs []uint32, valid []byte) []uint32 {
	out := slices.Grow(c.offs[:0], len(offs))[:len(offs)]
	out[0] = offs[0]
	k, hidden := 1, uint32(0)
	for i, b := range valid {
		one := uint32(min(b, 1))
		out[k] = offs[i+1]
		hidden |= (offs[i+1] - offs[i]) & (one - 1)
		k += int(one)
	}
	c.offs = out
	if hidden != 0 {
		return nil
	}
	return out[:k]
}

// appendWhere appends the values that have a byte in valid, without a branch.
func appendWhere[T any](dst, src []T, valid []byte) []T {
	at := len(dst)
	if cap(dst)-at < len(src) {
		dst = append(dst, src...)
	}
	out := dst[at : at+len(src)]
	k := 0
	for i, x := range src {
		out[k] = x
		k += int(min(valid[i], 1))
	}
	return dst[:at+k]
}

func (c *column) appendDecimal32(v []int64) error {
	for _, x := range v {
		if int64(int32(x)) != x {
			return fmt.Errorf("column %q: unscaled value %d is no %s", c.node.path, x, c.typ)
		}
	}
	for _, x := range v {
		c.i32 = append(c.i32, int32(x))
	}
	return nil
}

// julianEpoch is the Julian day of 1970-01-01.
const julianEpoch = 2440588

const dayMillis = 86_400_000

// appendInt96 appends a timestamp as nanoseconds of the day and Julian day. The
// nanoseconds are never negative, also before 1970.
func appendInt96(dst []byte, millis int64, nanos int32) []byte {
	day := millis / dayMillis
	rest := millis % dayMillis
	if rest < 0 {
		day, rest = day-1, rest+dayMillis
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(rest*1_000_000+int64(nanos)))
	return binary.LittleEndian.AppendUint32(dst, uint32(day+julianEpoch))
}

// indexNumbers gives the numbers of the open page their places in the dictionary, or
// makes the page PLAIN if there are too many. All at once, while the table is in the
// processor's cache.
func (c *column) indexNumbers() {
	if c.encoding != encRLEDictionary || c.class == classBytes || len(c.index) > 0 {
		return
	}
	limit, ok := c.opts.DictionaryBytes/c.elem.phys.width(), true
	switch {
	case len(c.i32) > 0:
		c.index, ok = appendIndexes(&c.ints, c.index, c.i32, limit)
	case len(c.i64) > 0:
		c.index, ok = appendIndexes(&c.ints, c.index, c.i64, limit)
	case len(c.f64) > 0:
		c.index, ok = appendDoubleIndexes(&c.ints, c.index, c.f64, limit)
	}
	if !ok {
		c.leaveDictionary()
	}
}

// tryDictionary gives the doubles of the first page of a row group a dictionary if
// some occur often enough: measured values mostly do not, prices and ratings do. To
// begin without one costs nothing where there is none.
func (c *column) tryDictionary() {
	if c.class != classF64 || c.opts.NoDictionary || len(c.pages) > 0 || len(c.f64) == 0 {
		return
	}
	limit := c.opts.DictionaryBytes / 8
	first, rest := c.f64[:min(len(c.f64), distinctTrial)], c.f64[min(len(c.f64), distinctTrial):]
	var ok bool
	if c.index, ok = appendDoubleIndexes(&c.ints, c.index, first, limit); ok && len(c.ints.values) <= distinctTrialMax {
		if c.index, ok = appendDoubleIndexes(&c.ints, c.index, rest, limit); ok && c.dictionaryPays() {
			c.encoding = encRLEDictionary
			return
		}
	}
	c.index = c.index[:0]
	c.ints.reset()
}

// appendStrings appends values that lie end to end in data.
func (c *column) appendStrings(data []byte, offs []uint32) error {
	for c.encoding == encRLEDictionary && len(offs) > 1 {
		some := offs
		if c.dictPages == 0 && len(c.index) < distinctTrial {
			some = offs[:min(len(offs), distinctTrial-len(c.index)+1)]
		}
		var done int
		c.index, done = c.dict.appendIndexes(c.index, data, some, c.opts.DictionaryBytes)
		offs = offs[done:]
		if done < len(some)-1 || c.dictPages == 0 && len(c.index) == distinctTrial && c.dict.len() > distinctTrialMax {
			c.leaveDictionary()
		}
	}
	return c.appendPlainStrings(data, offs)
}

// If more than distinctTrialMax of the first distinctTrial values of a row group
// are distinct, a dictionary for all of them would be about as large as they are.
const (
	distinctTrial    = 1000
	distinctTrialMax = 980
)

// appendPlainStrings appends values that lie end to end in data, and keeps the
// least and the greatest of the page.
func (c *column) appendPlainStrings(data []byte, offs []uint32) error {
	if len(offs) < 2 {
		return nil
	}
	total := int(offs[len(offs)-1]-offs[0]) + 4*(len(offs)-1)
	if len(c.data)+total > pageBytesMax {
		return fmt.Errorf("column %q: a page of more than %d bytes", c.node.path, pageBytesMax)
	}
	c.data = grow(c.data, total+longCopy)
	at, out := len(c.data), c.data[:cap(c.data)]
	for i := 1; i < len(offs); i++ {
		from, to := int(offs[i-1]), int(offs[i])
		n := to - from
		binary.LittleEndian.PutUint32(out[at:], uint32(n))
		if n <= longCopy && from+longCopy <= len(data) {
			copyLong((*[longCopy]byte)(out[at+4:]), (*[longCopy]byte)(data[from:]))
		} else {
			copy(out[at+4:], data[from:to])
		}
		c.data = out[:at+4+n]
		c.bound(at, c.data[at+4:])
		at += 4 + n
	}
	return nil
}

// longCopy is the length up to which a string is copied with moves of a fixed size,
// past its end.
const longCopy = 64

func copyLong(dst, src *[longCopy]byte) {
	*(*[16]byte)(dst[0:16]) = *(*[16]byte)(src[0:16])
	*(*[16]byte)(dst[16:32]) = *(*[16]byte)(src[16:32])
	*(*[16]byte)(dst[32:48]) = *(*[16]byte)(src[32:48])
	*(*[16]byte)(dst[48:64]) = *(*[16]byte)(src[48:64])
}

func (c *column) appendPlain(s []byte) {
	at := len(c.data)
	c.data = binary.LittleEndian.AppendUint32(c.data, uint32(len(s)))
	c.data = append(c.data, s...)
	c.bound(at, s)
}

// bound keeps the least and the greatest of the page, given the next value and where
// it is in data.
func (c *column) bound(at int, s []byte) {
	key := prefixKey(s)
	if c.strings == 0 {
		c.lo, c.hi, c.loKey, c.hiKey = uint32(at), uint32(at), key, key
	} else if key <= c.loKey || key >= c.hiKey {
		if key < c.loKey || key == c.loKey && bytes.Compare(s, c.plainAt(c.lo)) < 0 {
			c.lo, c.loKey = uint32(at), key
		}
		if key > c.hiKey || key == c.hiKey && bytes.Compare(s, c.plainAt(c.hi)) > 0 {
			c.hi, c.hiKey = uint32(at), key
		}
	}
	c.strings++
}

func (c *column) plainAt(at uint32) []byte {
	n := binary.LittleEndian.Uint32(c.data[at:])
	return c.data[at+4 : at+4+n]
}

// prefixKey is the first 8 bytes of s as a number that orders like s.
func prefixKey(s []byte) uint64 {
	if len(s) >= 8 {
		return binary.BigEndian.Uint64(s)
	}
	var k uint64
	for i, b := range s {
		k |= uint64(b) << (56 - 8*i)
	}
	return k
}

// leaveDictionary turns the open page into a PLAIN one. Pages after it will be
// PLAIN, too; pages before it keep the dictionary. Numbers are still there as they
// came.
func (c *column) leaveDictionary() {
	c.encoding = encPlain
	if c.class == classBytes {
		for _, e := range c.index {
			c.appendPlain(c.dict.at(int(e)))
		}
	}
	c.index = c.index[:0]
}

// pageBounds returns the least and the greatest value of the open page. The
// bytes in it belong to the page.
func (c *column) pageBounds() bounds {
	switch {
	case c.encoding == encRLEDictionary && c.class == classBytes:
		return c.dictionaryBounds()
	case len(c.i32) > 0:
		lo, hi := minMax(c.i32)
		return bounds{known: true, lo: int64(lo), hi: int64(hi)}
	case len(c.i64) > 0:
		lo, hi := minMax(c.i64)
		return bounds{known: true, lo: lo, hi: hi}
	case len(c.f32) > 0:
		lo, hi := orderF32(c.f32[0]), orderF32(c.f32[0])
		for _, x := range c.f32[1:] {
			k := orderF32(x)
			lo, hi = min(lo, k), max(hi, k)
		}
		return bounds{known: true, nan: hi == math.MaxInt32, lo: int64(lo), hi: int64(hi)}
	case len(c.f64) > 0:
		lo, hi := orderF64(c.f64[0]), orderF64(c.f64[0])
		for _, x := range c.f64[1:] {
			k := orderF64(x)
			lo, hi = min(lo, k), max(hi, k)
		}
		return bounds{known: true, nan: hi == math.MaxInt64, lo: lo, hi: hi}
	case len(c.i128) > 0:
		b := bounds{known: true, dlo: c.i128[0], dhi: c.i128[0]}
		for _, x := range c.i128[1:] {
			if x.Cmp(b.dlo) < 0 {
				b.dlo = x
			} else if x.Cmp(b.dhi) > 0 {
				b.dhi = x
			}
		}
		return b
	case c.class == classBytes && c.strings > 0:
		return bounds{known: true, blo: c.plainAt(c.lo), bhi: c.plainAt(c.hi)}
	}
	return bounds{}
}

// dictionaryBounds compares each string that the page uses once.
func (c *column) dictionaryBounds() bounds {
	for len(c.stamps) < c.dict.len() {
		c.stamps = append(c.stamps, 0)
	}
	c.stamp++
	var b bounds
	for _, e := range c.index {
		if c.stamps[e] == c.stamp {
			continue
		}
		c.stamps[e] = c.stamp
		s := c.dict.at(int(e))
		if !b.known {
			b = bounds{known: true, blo: s, bhi: s}
		} else if bytes.Compare(s, b.blo) < 0 {
			b.blo = s
		} else if bytes.Compare(s, b.bhi) > 0 {
			b.bhi = s
		}
	}
	return b
}
