package pqt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// statisticsBytesMax is how long the minimum and maximum of a column chunk may be
// together. Longer ones stay out of the footer, as Java does.
const statisticsBytesMax = 4096

// chunkStatistics returns what the footer says of the values of c's row group. A
// column with a NaN has no bounds there: readers differ in where they put it.
func (c *column) chunkStatistics() statistics {
	s := statistics{nulls: c.nulls, minExact: true, maxExact: true}
	b := &c.total
	if !b.known || b.nan || c.class == classBytes && len(b.blo)+len(b.bhi) >= statisticsBytesMax {
		return s
	}
	width := int(c.elem.typeLength)
	s.min, s.max = b.plain(make([]byte, 0, 16), c.class, width, false), b.plain(make([]byte, 0, 16), c.class, width, true)
	return s
}

// chunkIndex returns what the page indexes say of c's pages, which begin at
// offset in the file.
func (c *column) chunkIndex(offset int64) chunkIndex {
	x := chunkIndex{bounds: &columnIndex{}}
	for i := range c.pages {
		info := &c.pages[i]
		x.pages = append(x.pages, pageLocation{offset + int64(info.at), int32(info.size), info.firstRow})
		if info.noBounds {
			x.bounds = nil
		}
		if x.bounds == nil {
			continue
		}
		x.bounds.nullPages = append(x.bounds.nullPages, info.empty)
		x.bounds.mins = append(x.bounds.mins, info.min)
		x.bounds.maxs = append(x.bounds.maxs, info.max)
		x.bounds.nulls = append(x.bounds.nulls, info.nulls)
	}
	if x.bounds != nil {
		x.bounds.order = c.boundaryOrder(x.bounds)
	}
	return x
}

// boundaryOrder tells whether the bounds of pages only go up, or only down.
func (c *column) boundaryOrder(x *columnIndex) int32 {
	up, down := true, true
	last := -1
	for i, empty := range x.nullPages {
		if empty {
			continue
		}
		if last >= 0 {
			lo, hi := c.comparePlain(x.mins[last], x.mins[i]), c.comparePlain(x.maxs[last], x.maxs[i])
			up = up && lo <= 0 && hi <= 0
			down = down && lo >= 0 && hi >= 0
		}
		last = i
	}
	switch {
	case up:
		return boundsAscending
	case down:
		return boundsDescending
	}
	return boundsUnordered
}

// comparePlain compares two values in PLAIN encoding.
func (c *column) comparePlain(a, b []byte) int {
	key := func(s []byte) int64 {
		switch c.class {
		case classBool:
			return int64(s[0])
		case classI32, classDecimal32:
			return int64(int32(binary.LittleEndian.Uint32(s)))
		case classF32:
			return int64(orderF32(math.Float32frombits(binary.LittleEndian.Uint32(s))))
		case classF64:
			return orderF64(math.Float64frombits(binary.LittleEndian.Uint64(s)))
		}
		return int64(binary.LittleEndian.Uint64(s))
	}
	switch c.class {
	case classBytes:
		return bytes.Compare(a, b)
	case classI128: // big-endian and signed
		if (a[0]^b[0])&0x80 != 0 {
			return int(b[0]>>7) - int(a[0]>>7)
		}
		return bytes.Compare(a, b)
	}
	x, y := key(a), key(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// finish writes the open row group, the page indexes and the footer.
func (p *Writer) finish() error {
	if err := p.endGroup(); err != nil {
		return err
	}
	if p.offset == 0 {
		if err := p.emit([]byte(magic)); err != nil {
			return err
		}
	}
	w := &p.coder.head
	w.buf = w.buf[:0]
	chunks := make([]*columnChunk, 0, len(p.indexes))
	for g := range p.groups {
		for c := range p.groups[g].columns {
			chunks = append(chunks, &p.groups[g].columns[c])
		}
	}
	for i, x := range p.indexes {
		if x.bounds == nil {
			continue
		}
		at := len(w.buf)
		w.columnIndex(x.bounds)
		chunks[i].columnIndexOffset, chunks[i].columnIndexLength = p.offset+int64(at), int32(len(w.buf)-at)
	}
	for i, x := range p.indexes {
		at := len(w.buf)
		w.offsetIndex(x.pages)
		chunks[i].offsetIndexOffset, chunks[i].offsetIndexLength = p.offset+int64(at), int32(len(w.buf)-at)
	}
	at := len(w.buf)
	w.fileMeta(&fileMeta{
		schema: p.elements, numRows: p.rows, rowGroups: p.groups,
		createdBy: "sluice version " + p.opts.Version,
	}, len(p.columns))
	size := len(w.buf) - at
	if size > footerBytesMax {
		return fmt.Errorf("a footer of %d bytes: larger row groups or fewer columns are needed", size)
	}
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(size))
	w.buf = append(w.buf, magic...)
	return p.emit(w.buf)
}
