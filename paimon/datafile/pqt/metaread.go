package pqt

import (
	"errors"
	"fmt"
)

// Limits on what a footer may hold. They are far above what writers make and
// keep a few hostile bytes from costing gigabytes.
const (
	footerBytesMax    = 256 << 20
	schemaElementsMax = 1 << 16
	schemaDepthMax    = 64
	pageHeaderMax     = 1 << 20 // bytes; statistics of long values make some long
)

var (
	errMissing = errors.New("a required member is missing")
	errTooMany = errors.New("more than the limit")
)

// decodePageHeader reads a header from the start of b and returns its length.
func decodePageHeader(b []byte, h *pageHeader) (int, error) {
	*h = pageHeader{kind: -1, uncompressed: -1, compressed: -1, numValues: -1, isCompressed: true}
	r := thriftReader{b: b}
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			break
		}
		switch id {
		case 1:
			h.kind = pageType(r.i32(typ))
		case 2:
			h.uncompressed = r.i32(typ)
		case 3:
			h.compressed = r.i32(typ)
		case 4:
			h.crc, h.hasCRC = r.i32(typ), true
		case 5, 7, 8:
			if r.is(typ, tStruct) {
				r.pageHeaderBody(h, id)
			}
		default:
			r.skip(typ)
		}
	}
	if r.err != nil {
		return 0, r.err
	}
	if h.kind < 0 || h.uncompressed < 0 || h.compressed < 0 || h.kind != pageIndex && h.numValues < 0 {
		return 0, errMissing
	}
	if h.kind == pageDataV2 && (h.numRows < 0 || h.numNulls < 0 || h.defBytes < 0 || h.repBytes < 0) {
		return 0, errMissing
	}
	return r.pos, nil
}

// pageHeaderBody reads the part for one kind of page: 5 data, 7 dictionary, 8
// data of version 2.
func (r *thriftReader) pageHeaderBody(h *pageHeader, kind int16) {
	if kind == 8 {
		h.numRows = -1
	}
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			return
		}
		switch {
		case id == 1:
			h.numValues = r.i32(typ)
		case id == 2 && kind != 8, id == 4 && kind == 8:
			h.encoding = encoding(r.i32(typ))
		case id == 3 && kind == 5:
			h.defEnc = encoding(r.i32(typ))
		case id == 4 && kind == 5:
			h.repEnc = encoding(r.i32(typ))
		case id == 2 && kind == 8:
			h.numNulls = r.i32(typ)
		case id == 3 && kind == 8:
			h.numRows = r.i32(typ)
		case id == 5 && kind == 8:
			h.defBytes = r.i32(typ)
		case id == 6 && kind == 8:
			h.repBytes = r.i32(typ)
		case id == 7 && kind == 8:
			h.isCompressed = r.bool(typ)
		default:
			r.skip(typ)
		}
	}
}

// decodeFileMeta reads a footer. Strings are copied, statistics share b.
func decodeFileMeta(b []byte) (*fileMeta, error) {
	m := &fileMeta{numRows: -1}
	r := thriftReader{b: b}
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			break
		}
		switch id {
		case 2:
			n := r.list(typ, tStruct)
			if n > schemaElementsMax {
				r.fail(fmt.Errorf("%d schema elements: %w", n, errTooMany))
			}
			for range n {
				if r.err != nil {
					break
				}
				m.schema = append(m.schema, r.schemaElement())
			}
		case 3:
			m.numRows = r.i64(typ)
		case 4:
			n := r.list(typ, tStruct)
			for range n {
				if r.err != nil {
					break
				}
				m.rowGroups = append(m.rowGroups, r.rowGroup())
			}
		case 6:
			m.createdBy = string(r.bytes(typ))
		case 8:
			r.fail(errors.New("encrypted"))
		default:
			r.skip(typ)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if m.numRows < 0 || len(m.schema) == 0 {
		return nil, errMissing
	}
	return m, nil
}

func (r *thriftReader) schemaElement() schemaElement {
	e := schemaElement{phys: noPhysical, converted: convertedNone}
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			return e
		}
		switch id {
		case 1:
			e.phys = physicalType(r.i32(typ))
			if e.phys < 0 || e.phys > physFixed {
				r.fail(fmt.Errorf("physical type %d: %w", e.phys, errThrift))
			}
		case 2:
			e.typeLength = r.i32(typ)
		case 3:
			e.repetition = repetition(r.i32(typ))
			if e.repetition < required || e.repetition > repeated {
				r.fail(fmt.Errorf("repetition %d: %w", e.repetition, errThrift))
			}
		case 4:
			e.name = string(r.bytes(typ))
		case 5:
			e.numChildren = r.i32(typ)
		case 6:
			e.converted = r.i32(typ)
		case 7:
			e.scale = r.i32(typ)
		case 8:
			e.precision = r.i32(typ)
		case 9:
			e.fieldID, e.hasFieldID = r.i32(typ), true
		case 10:
			if r.is(typ, tStruct) {
				e.logical = r.logical()
			}
		default:
			r.skip(typ)
		}
	}
}

func (r *thriftReader) logical() logicalType {
	var l logicalType
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			return l
		}
		l.kind = int8(id)
		switch id {
		case logicalDecimal, logicalTime, logicalTimestamp, logicalInt:
			if r.is(typ, tStruct) {
				r.logicalBody(&l)
			}
		default:
			r.skip(typ)
		}
	}
}

func (r *thriftReader) logicalBody(l *logicalType) {
	var last int16
	for {
		id, typ := r.field(&last)
		switch {
		case typ == tStop:
			return
		case l.kind == logicalDecimal && id == 1:
			l.scale = r.i32(typ)
		case l.kind == logicalDecimal && id == 2:
			l.precision = r.i32(typ)
		case l.kind == logicalInt && id == 1:
			l.bits = r.i8(typ)
		case l.kind == logicalInt && id == 2:
			l.signed = r.bool(typ)
		case id == 1:
			l.utc = r.bool(typ)
		case id == 2 && typ == tStruct: // the unit: a union of empty structs
			var lastUnit int16
			for {
				unit, t := r.field(&lastUnit)
				if t == tStop {
					break
				}
				l.unit = int8(unit)
				r.skip(t)
			}
		default:
			r.skip(typ)
		}
	}
}

func (r *thriftReader) rowGroup() rowGroup {
	g := rowGroup{numRows: -1}
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			break
		}
		switch id {
		case 1:
			n := r.list(typ, tStruct)
			for range n {
				if r.err != nil {
					break
				}
				g.columns = append(g.columns, r.columnChunk())
			}
		case 2:
			g.totalByteSize = r.i64(typ)
		case 3:
			g.numRows = r.i64(typ)
		default:
			r.skip(typ)
		}
	}
	if g.numRows < 0 {
		r.fail(fmt.Errorf("row group: %w", errMissing))
	}
	return g
}

func (r *thriftReader) columnChunk() columnChunk {
	c := columnChunk{phys: noPhysical, numValues: -1, stats: statistics{nulls: -1}}
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			break
		}
		switch id {
		case 1:
			if len(r.bytes(typ)) > 0 {
				r.fail(errors.New("columns in other files"))
			}
		case 3:
			if r.is(typ, tStruct) {
				r.columnMeta(&c)
			}
		case 4:
			c.offsetIndexOffset = r.i64(typ)
		case 5:
			c.offsetIndexLength = r.i32(typ)
		case 6:
			c.columnIndexOffset = r.i64(typ)
		case 7:
			c.columnIndexLength = r.i32(typ)
		default:
			r.skip(typ)
		}
	}
	if c.phys == noPhysical || c.numValues < 0 || c.dataPageOffset <= 0 {
		r.fail(fmt.Errorf("column chunk: %w", errMissing))
	}
	return c
}

func (r *thriftReader) columnMeta(c *columnChunk) {
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			return
		}
		switch id {
		case 1:
			c.phys = physicalType(r.i32(typ))
		case 4:
			c.codec = codec(r.i32(typ))
		case 5:
			c.numValues = r.i64(typ)
		case 6:
			c.totalUncompressed = r.i64(typ)
		case 7:
			c.totalCompressed = r.i64(typ)
		case 9:
			c.dataPageOffset = r.i64(typ)
		case 11:
			c.dictPageOffset = r.i64(typ)
		case 12:
			if r.is(typ, tStruct) {
				r.statistics(&c.stats)
			}
		default:
			r.skip(typ)
		}
	}
}

func (r *thriftReader) statistics(s *statistics) {
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			return
		}
		switch id {
		case 3:
			s.nulls = r.i64(typ)
		case 5:
			s.max = r.bytes(typ)
		case 6:
			s.min = r.bytes(typ)
		case 7:
			s.maxExact, s.hasBoundsExact = r.bool(typ), true
		case 8:
			s.minExact, s.hasBoundsExact = r.bool(typ), true
		default:
			r.skip(typ)
		}
	}
}

// decodeOffsetIndex reads the places of the pages of a column chunk.
func decodeOffsetIndex(b []byte) ([]pageLocation, error) {
	r := thriftReader{b: b}
	var pages []pageLocation
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			return pages, r.err
		}
		if id != 1 {
			r.skip(typ)
			continue
		}
		for range r.list(typ, tStruct) {
			if r.err != nil {
				break
			}
			pages = append(pages, r.pageLocation())
		}
	}
}

func (r *thriftReader) pageLocation() pageLocation {
	p := pageLocation{firstRow: -1}
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			break
		}
		switch id {
		case 1:
			p.offset = r.i64(typ)
		case 2:
			p.size = r.i32(typ)
		case 3:
			p.firstRow = r.i64(typ)
		default:
			r.skip(typ)
		}
	}
	if p.offset <= 0 || p.size <= 0 || p.firstRow < 0 {
		r.fail(fmt.Errorf("page location: %w", errMissing))
	}
	return p
}

// decodeColumnIndex reads the bounds of the pages of a column chunk.
func decodeColumnIndex(b []byte) (*columnIndex, error) {
	r := thriftReader{b: b}
	x := &columnIndex{}
	var last int16
	for {
		id, typ := r.field(&last)
		if typ == tStop {
			return x, r.err
		}
		switch id {
		case 1:
			for range r.list(typ, tTrue) {
				x.nullPages = append(x.nullPages, r.byte() == 1)
			}
		case 2, 3:
			for range r.list(typ, tBinary) {
				if id == 2 {
					x.mins = append(x.mins, r.item())
				} else {
					x.maxs = append(x.maxs, r.item())
				}
			}
		case 4:
			x.order = r.i32(typ)
		case 5:
			for range r.list(typ, tI64) {
				x.nulls = append(x.nulls, r.varint())
			}
		default:
			r.skip(typ)
		}
	}
}
