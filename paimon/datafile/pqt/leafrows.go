package pqt

import (
	"bytes"
	"errors"
	"io"
	"math"

	"sluice/paimon/rowdata"
)

// readFlat reads n rows of a column that is not part of another into out, which
// is empty.
func (l *leafReader) readFlat(out *rowdata.Vector, n int) error {
	if err := l.settle(); err != nil {
		return err
	}
	var valid []byte
	for got := 0; got < n; {
		if l.open == 0 {
			if err := l.nextPage(nil); err != nil {
				return l.ended(err)
			}
		}
		k := min(n-got, l.open)
		l.open -= k
		if l.def.all(k) {
			if err := l.appendTo(out, k); err != nil {
				return l.corrupt("data page", err)
			}
			if valid != nil {
				valid = appendOnes(valid, k)
			}
			got += k
			continue
		}
		if valid == nil {
			valid = appendOnes(make([]byte, 0, n), got)
		}
		valid = valid[:got+k]
		if err := l.def.read(valid[got:]); err != nil {
			return l.corrupt("data page", err)
		}
		values := countLevel(valid[got:], 1)
		if err := l.appendTo(out, values); err != nil {
			return l.corrupt("data page", err)
		}
		spread(out, got, values, valid[got:])
		got += k
	}
	setValid(out, valid)
	out.SetLen(n)
	return nil
}

func setValid(out *rowdata.Vector, valid []byte) {
	if out.Valid = nil; bytes.IndexByte(valid, 0) >= 0 {
		out.Valid = valid
	}
}

// readEntries reads the levels and values of n rows: the levels into l, the
// values, without places for NULLs, into out. If out is nil it passes over them.
func (l *leafReader) readEntries(n int64, out *rowdata.Vector) error {
	rows := int64(0)
	for {
		if len(l.ahead) == 0 && l.open == 0 {
			var skip *int64
			if rest := n - rows; out == nil && !l.only {
				skip = &rest
			}
			before := n - rows
			err := l.nextPage(skip)
			if skip != nil {
				rows += before - *skip
			}
			if err == io.EOF && rows == n {
				return nil
			}
			if err != nil {
				return l.ended(err)
			}
		}
		if len(l.ahead) == 0 {
			if err := l.decodeAhead(); err != nil {
				return l.corrupt("data page", err)
			}
		}
		k := 0
		for k < len(l.ahead) && (l.ahead[k] != 0 || rows < n) {
			if l.ahead[k] == 0 {
				rows++
			}
			k++
		}
		if err := l.takeEntries(k, out); err != nil {
			return l.corrupt("data page", err)
		}
		if len(l.ahead) > 0 {
			return nil // the next row begins here
		}
	}
}

func (l *leafReader) decodeAhead() error {
	if l.levelBuf == nil {
		l.levelBuf = new([2][1024]byte)
	}
	k := min(l.open, len(l.levelBuf[0]))
	rep, def := l.levelBuf[0][:k], l.levelBuf[1][:k]
	if err := l.rep.read(rep); err != nil {
		return err
	}
	if err := l.def.read(def); err != nil {
		return err
	}
	if l.fresh && rep[0] != 0 {
		return errors.New("the first entry continues a row")
	}
	l.fresh = false
	l.open -= k
	l.ahead, l.aheadDef = rep, def
	return nil
}

// takeEntries moves the next k entries into the batch, with their values.
func (l *leafReader) takeEntries(k int, out *rowdata.Vector) error {
	rep, def := l.ahead[:k], l.aheadDef[:k]
	l.ahead, l.aheadDef = l.ahead[k:], l.aheadDef[k:]
	values := countLevel(def, l.maxDef)
	if out == nil && !l.only {
		return l.values.skip(values)
	}
	if len(l.batchDef)+k > elementsMax {
		return errElements
	}
	l.batchRep, l.batchDef = append(l.batchRep, rep...), append(l.batchDef, def...)
	if l.only {
		return nil
	}
	return l.appendTo(out, values)
}

// settle passes over the rows that were skipped since the last read.
func (l *leafReader) settle() error {
	if l.skips == 0 {
		return nil
	}
	if err := l.seek(); err != nil {
		return err
	}
	var err error
	if l.flat {
		err = l.skipFlat()
	}
	for l.skips > 0 && err == nil {
		n := min(l.skips, 4096)
		if !l.only {
			n = l.skips
		}
		err = l.readEntries(n, nil)
		l.batchRep, l.batchDef = l.batchRep[:0], l.batchDef[:0]
		l.skips -= n
	}
	return err
}

// skipFlat passes over rows of a column that is not part of another.
func (l *leafReader) skipFlat() error {
	var levels [1024]byte
	for l.skips > 0 {
		if l.open == 0 {
			if err := l.nextPage(&l.skips); err == io.EOF && l.skips == 0 {
				return nil
			} else if err != nil {
				return l.ended(err)
			}
			continue
		}
		n := int(min(l.skips, int64(l.open)))
		values := n
		if !l.def.all(n) {
			n = min(n, len(levels))
			if err := l.def.read(levels[:n]); err != nil {
				return l.corrupt("data page", err)
			}
			values = countLevel(levels[:n], l.maxDef)
		}
		if err := l.values.skip(values); err != nil {
			return l.corrupt("data page", err)
		}
		l.open -= n
		l.skips -= int64(n)
	}
	return nil
}

func countLevel(levels []byte, level byte) int { return bytes.Count(levels, []byte{level}) }

// seek goes to the page where the rows to skip end by the offset index of the
// chunk, if nothing has been read of it and it has one.
func (l *leafReader) seek() error {
	c := l.chunk
	size := int64(c.offsetIndexLength)
	if !l.fresh || l.open > 0 || c.offsetIndexOffset < int64(len(magic)) || size <= 0 || size > l.fileSize-c.offsetIndexOffset {
		return nil
	}
	if l.src.left() <= int64(l.src.window) {
		return nil // to read all headers is as cheap
	}
	b := make([]byte, size)
	if err := readAt(l.src.r, b, c.offsetIndexOffset); err != nil {
		return l.corrupt("offset index", err)
	}
	pages, err := decodeOffsetIndex(b)
	if err != nil {
		l.offset = c.offsetIndexOffset
		return l.corrupt("offset index", err)
	}
	at := 0
	for at+1 < len(pages) && pages[at+1].firstRow <= l.skips {
		if pages[at+1].firstRow <= pages[at].firstRow || pages[at+1].offset <= pages[at].offset {
			return nil
		}
		at++
	}
	if at == 0 || pages[0].firstRow != 0 || pages[0].offset < l.src.pos || pages[at].offset >= l.src.end {
		return nil
	}
	return l.jump(pages, at)
}

// jump moves to page at of the chunk, by way of the dictionary page.
func (l *leafReader) jump(pages []pageLocation, at int) error {
	for l.src.pos < pages[0].offset {
		var h pageHeader
		if err := l.nextHeader(&h); err != nil {
			return err
		}
		switch h.kind {
		case pageDictionary:
			if err := l.readDictionary(&h); err != nil {
				return err
			}
		case pageIndex:
			l.src.skip(int64(h.compressed))
		default:
			return l.corrupt("offset index", errors.New("a data page before the first one"))
		}
	}
	l.src.pos = pages[at].offset
	l.skips -= pages[at].firstRow
	if l.maxRep > 0 {
		l.left = math.MaxInt64 // how many entries there were so far is not known
		return nil
	}
	l.left -= pages[at].firstRow
	l.expect = l.left
	if at+1 < len(pages) {
		l.expect = pages[at+1].firstRow - pages[at].firstRow
	}
	return nil
}

// spread moves the values of out from row base on apart, so that the ones without
// a byte in valid get a place, which is zero.
func spread(out *rowdata.Vector, base, values int, valid []byte) {
	if values == len(valid) {
		return
	}
	switch out.Storage() {
	case rowdata.StoreI32:
		out.I32 = spreadSlice(out.I32, base, values, valid)
	case rowdata.StoreI64:
		out.I64 = spreadSlice(out.I64, base, values, valid)
	case rowdata.StoreF32:
		out.F32 = spreadSlice(out.F32, base, values, valid)
	case rowdata.StoreF64:
		out.F64 = spreadSlice(out.F64, base, values, valid)
	case rowdata.StoreI128:
		out.I128 = spreadSlice(out.I128, base, values, valid)
	case rowdata.StoreNanos:
		out.I64 = spreadSlice(out.I64, base, values, valid)
		out.I32 = spreadSlice(out.I32, base, values, valid)
	case rowdata.StoreBytes:
		out.Offs = extend(out.Offs, len(valid)-values)
		ends := out.Offs[1:]
		from := base + values - 1
		for i := len(valid) - 1; i >= 0; i-- {
			end := uint32(0)
			if from >= 0 {
				end = ends[from]
			}
			ends[base+i] = end
			from -= int(valid[i])
		}
	}
}

func spreadSlice[T any](s []T, base, values int, valid []byte) []T {
	s = extend(s, len(valid)-values)
	part := s[base:]
	from := values - 1
	var zero T
	for i := len(valid) - 1; i > from; i-- {
		if valid[i] != 0 {
			part[i] = part[from]
			from--
		} else {
			part[i] = zero
		}
	}
	return s
}
