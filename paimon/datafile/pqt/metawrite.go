package pqt

func (w *thriftWriter) pageHeader(h *pageHeader) {
	w.open()
	w.i32(1, int32(h.kind))
	w.i32(2, h.uncompressed)
	w.i32(3, h.compressed)
	w.i32(4, h.crc)
	if h.kind == pageDictionary {
		w.begin(7)
		w.i32(1, h.numValues)
		w.i32(2, int32(h.encoding))
		w.end()
	} else {
		w.begin(5)
		w.i32(1, h.numValues)
		w.i32(2, int32(h.encoding))
		w.i32(3, int32(encRLE))
		w.i32(4, int32(encRLE))
		w.end()
	}
	w.end()
}

func (w *thriftWriter) fileMeta(m *fileMeta, leaves int) {
	w.open()
	w.i32(1, 1) // version
	w.list(2, tStruct, len(m.schema))
	for i := range m.schema {
		w.schemaElement(&m.schema[i])
	}
	w.i64(3, m.numRows)
	w.list(4, tStruct, len(m.rowGroups))
	for i := range m.rowGroups {
		w.rowGroup(&m.rowGroups[i])
	}
	w.string(6, m.createdBy)
	w.list(7, tStruct, leaves)
	for range leaves { // without it minima and maxima mean nothing: all in the order of their type
		w.open()
		w.begin(1)
		w.end()
		w.end()
	}
	w.end()
}

func (w *thriftWriter) schemaElement(e *schemaElement) {
	w.open()
	if e.phys != noPhysical {
		w.i32(1, int32(e.phys))
		if e.phys == physFixed {
			w.i32(2, e.typeLength)
		}
	}
	w.i32(3, int32(e.repetition))
	w.string(4, e.name)
	if e.phys == noPhysical {
		w.i32(5, e.numChildren)
	}
	if e.converted != convertedNone {
		w.i32(6, e.converted)
	}
	if e.logical.kind == logicalDecimal {
		w.i32(7, e.scale)
		w.i32(8, e.precision)
	}
	if e.hasFieldID {
		w.i32(9, e.fieldID)
	}
	if e.logical.kind != logicalNone {
		w.begin(10)
		w.logical(&e.logical)
		w.end()
	}
	w.end()
}

func (w *thriftWriter) logical(l *logicalType) {
	w.begin(int16(l.kind))
	switch l.kind {
	case logicalDecimal:
		w.i32(1, l.scale)
		w.i32(2, l.precision)
	case logicalTime, logicalTimestamp:
		w.bool(1, l.utc)
		w.begin(2)
		w.begin(int16(l.unit))
		w.end()
		w.end()
	case logicalInt:
		w.i8(1, l.bits)
		w.bool(2, l.signed)
	}
	w.end()
}

func (w *thriftWriter) rowGroup(g *rowGroup) {
	w.open()
	w.list(1, tStruct, len(g.columns))
	for i := range g.columns {
		w.columnChunk(&g.columns[i])
	}
	w.i64(2, g.totalByteSize)
	w.i64(3, g.numRows)
	w.i64(5, g.fileOffset)
	w.i64(6, g.totalCompressed)
	w.i16(7, g.ordinal)
	w.end()
}

func (w *thriftWriter) columnChunk(c *columnChunk) {
	w.open()
	w.i64(2, 0) // where a second copy of the metadata is: nowhere
	w.begin(3)
	w.i32(1, int32(c.phys))
	w.list(2, tI32, len(c.encodings))
	for _, e := range c.encodings {
		w.varint(int64(e))
	}
	w.list(3, tBinary, len(c.path))
	for _, p := range c.path {
		w.text(p)
	}
	w.i32(4, int32(c.codec))
	w.i64(5, c.numValues)
	w.i64(6, c.totalUncompressed)
	w.i64(7, c.totalCompressed)
	w.i64(9, c.dataPageOffset)
	if c.dictPageOffset != 0 {
		w.i64(11, c.dictPageOffset)
	}
	w.begin(12)
	w.statistics(&c.stats)
	w.end()
	w.list(13, tStruct, len(c.encodingStats))
	for _, s := range c.encodingStats {
		w.open()
		w.i32(1, int32(s.page))
		w.i32(2, int32(s.encoding))
		w.i32(3, s.count)
		w.end()
	}
	w.end()
	if c.offsetIndexOffset != 0 {
		w.i64(4, c.offsetIndexOffset)
		w.i32(5, c.offsetIndexLength)
	}
	if c.columnIndexOffset != 0 {
		w.i64(6, c.columnIndexOffset)
		w.i32(7, c.columnIndexLength)
	}
	w.end()
}

func (w *thriftWriter) statistics(s *statistics) {
	if s.nulls >= 0 {
		w.i64(3, s.nulls)
	}
	if s.min != nil && s.max != nil {
		w.bytes(5, s.max)
		w.bytes(6, s.min)
		w.bool(7, s.maxExact)
		w.bool(8, s.minExact)
	}
}

func (w *thriftWriter) columnIndex(x *columnIndex) {
	w.open()
	w.list(1, tTrue, len(x.nullPages))
	for _, b := range x.nullPages {
		if b {
			w.buf = append(w.buf, 1)
		} else {
			w.buf = append(w.buf, 2)
		}
	}
	w.list(2, tBinary, len(x.mins))
	for _, b := range x.mins {
		w.item(b)
	}
	w.list(3, tBinary, len(x.maxs))
	for _, b := range x.maxs {
		w.item(b)
	}
	w.i32(4, x.order)
	w.list(5, tI64, len(x.nulls))
	for _, n := range x.nulls {
		w.varint(n)
	}
	w.end()
}

func (w *thriftWriter) offsetIndex(pages []pageLocation) {
	w.open()
	w.list(1, tStruct, len(pages))
	for _, p := range pages {
		w.open()
		w.i64(1, p.offset)
		w.i32(2, p.size)
		w.i64(3, p.firstRow)
		w.end()
	}
	w.end()
}
