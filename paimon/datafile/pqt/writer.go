package pqt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"sluice/paimon/rowdata"
)

const magic = "PAR1"

// rowGroupsMax is how many row groups a file may have: their ordinal has 16 bits.
const rowGroupsMax = math.MaxInt16

// errClosed is the error of a Writer that has been closed.
var errClosed = errors.New("parquet writer is closed")

// Writer writes one Parquet file. It is not safe for concurrent use.
//
// Nothing in the file depends on what it is called or when it is written: the
// same rows, fields and options make the same bytes. To have rows in two files
// at the cost of one encoding, write to both with an [io.MultiWriter].
type Writer struct {
	out      io.Writer
	fields   []rowdata.Field
	opts     Options
	nodes    []*node // one a field
	columns  []*column
	elements []schemaElement
	coder    pageCoder
	shred    shredder

	offset    int64 // bytes given to out
	done      int64 // bytes of finished pages of the open row group
	groupRows int64
	pageRows  int // of the open pages: all columns end theirs at the same row
	rows      int64
	groups    []rowGroup
	indexes   []chunkIndex // one a column chunk
	nulls     []int64      // one a field: NULLs of nested columns
	err       error        // sticks
}

// chunkIndex is what goes into the page indexes of a column chunk.
type chunkIndex struct {
	bounds *columnIndex // nil: a page has values without bounds
	pages  []pageLocation
}

// NewWriter returns a writer of a file with the given columns, whose ids become
// Parquet field ids. It writes to w in large pieces; the first goes out with the
// first row group. The caller syncs and closes w.
func NewWriter(w io.Writer, fields []rowdata.Field, opts Options) (*Writer, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := codecNamed(opts.Compression)
	if err != nil {
		return nil, err
	}
	p := &Writer{fields: fields, opts: opts, nulls: make([]int64, len(fields))}
	var b schemaBuilder
	b.elements = []schemaElement{{name: "paimon_schema", phys: noPhysical, converted: convertedNone, numChildren: int32(len(fields))}}
	for i := range fields {
		n, err := b.field(&fields[i], 0, 0)
		if err != nil {
			return nil, err
		}
		p.nodes = append(p.nodes, n)
	}
	p.columns, p.elements = b.leaves, b.elements
	for _, c := range p.columns {
		c.opts = &p.opts
	}
	p.coder.comp = newCompressor(c, opts.ZstdLevel)
	p.Reset(w)
	return p, nil
}

// Twin says that field b has in every row the value of field a, as the key columns
// of a table have that are in its files twice: the two are encoded once. Vectors for
// b are then not looked at. It is called before the first row, and of no effect on
// fields of other than one simple type.
func (p *Writer) Twin(a, b int) {
	x, y := p.nodes[a], p.nodes[b]
	if a == b || x.kind != leafNode || y.kind != leafNode || p.fields[a].Type != p.fields[b].Type || x.leaf.twin != nil || y.leaf.copies > 0 {
		return
	}
	y.leaf.twin = x.leaf
	x.leaf.copies++
}

// Reset makes p write another file of the same columns with the same options to
// w. It keeps the memory, and drops what has not been written.
func (p *Writer) Reset(w io.Writer) {
	p.out, p.offset, p.done, p.groupRows, p.pageRows, p.rows, p.err = w, 0, 0, 0, 0, 0, nil
	p.groups, p.indexes = p.groups[:0], p.indexes[:0]
	clear(p.nulls)
	for _, c := range p.columns {
		c.fileTotal.reset()
		c.fileNulls = 0
		c.ratio = 256
		c.startGroup(p.coder.comp.codec == codecNone)
	}
}

// Held returns about how many bytes of memory p keeps for the next file after Reset.
func (p *Writer) Held() int {
	n := cap(p.coder.body) + cap(p.coder.packed)
	for _, c := range p.columns {
		n += cap(c.def) + cap(c.rep) + 4*cap(c.i32) + 8*cap(c.i64) + 4*cap(c.f32) + 8*cap(c.f64) + 16*cap(c.i128) + cap(c.data) + 4*cap(c.index) +
			cap(c.dict.data) + 32*cap(c.dict.slots) + 8*cap(c.ints.values) + 4*cap(c.ints.slots) + c.chunk.held()
	}
	return n
}

// Write appends rows from..to (exclusive) of cols, one vector a field. It copies
// or encodes them; the caller may reuse cols at once. After an error the writer
// is of no use but for Reset. An error that wraps [ErrNull] is a NULL where the
// field says NOT NULL.
func (p *Writer) Write(cols []*rowdata.Vector, from, to int) error {
	if p.err != nil {
		return p.err
	}
	p.err = p.write(cols, from, to)
	return p.err
}

func (p *Writer) write(cols []*rowdata.Vector, from, to int) error {
	if len(cols) != len(p.fields) {
		return fmt.Errorf("%d vectors for %d parquet columns", len(cols), len(p.fields))
	}
	for i, v := range cols {
		if err := fits(v, p.fields[i].Type); err != nil {
			return fmt.Errorf("parquet column %q: %w", p.fields[i].Name, err)
		}
		if from < 0 || to > v.Len() || from > to {
			return fmt.Errorf("parquet column %q: no rows %d to %d in a vector of %d", p.fields[i].Name, from, to, v.Len())
		}
	}
	for from < to {
		end := from + p.room(cols, from, to)
		for i, v := range cols {
			var err error
			switch n := p.nodes[i]; {
			case n.kind == leafNode && n.leaf.twin != nil:
			case n.kind == leafNode:
				err = n.leaf.appendRows(v, from, end)
			default:
				err = p.shred.appendRows(n, v, from, end)
				p.nulls[i] += nullsIn(v, from, end)
			}
			if err != nil {
				return err
			}
		}
		p.groupRows += int64(end - from)
		p.pageRows += end - from
		p.rows += int64(end - from)
		from = end
		if err := p.endPagesIfFull(); err != nil {
			return err
		}
		if p.buffered() >= p.opts.RowGroupBytes {
			if err := p.endGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fits tells whether a vector has the storage of a type, members included.
func fits(v *rowdata.Vector, t *rowdata.Type) error {
	if v.Type == t {
		return nil
	}
	if v.Storage() != t.Storage() || unitDiffers(v.Type, t) {
		return fmt.Errorf("a vector of %s for type %s", v.Type, t)
	}
	switch t.Storage() {
	case rowdata.StoreList:
		return fits(v.Children[0], t.Elem)
	case rowdata.StoreMap:
		key := t.Key
		if t.Root == rowdata.Multiset {
			return fits(v.Children[0], t.Elem)
		}
		if err := fits(v.Children[0], key); err != nil {
			return err
		}
		return fits(v.Children[1], t.Elem)
	case rowdata.StoreStruct:
		if t.Root == rowdata.Variant {
			return nil
		}
		if len(v.Children) != len(t.Fields) {
			return fmt.Errorf("a vector of %s for type %s", v.Type, t)
		}
		for i := range t.Fields {
			if err := fits(v.Children[i], t.Fields[i].Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// unitDiffers tells whether equal numbers are other values in two types of the
// same storage.
func unitDiffers(a, b *rowdata.Type) bool {
	switch b.Root {
	case rowdata.Decimal:
		return a.Root != b.Root || a.Scale != b.Scale
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		return a.Root != rowdata.Timestamp && a.Root != rowdata.TimestampLTZ || (a.Precision <= 3) != (b.Precision <= 3)
	}
	return false
}

func nullsIn(v *rowdata.Vector, from, to int) int64 {
	if v.Valid == nil {
		return 0
	}
	return int64(bytes.Count(v.Valid[from:to], []byte{0}))
}

// room returns how many of the rows from..to fit the open pages, at least one.
func (p *Writer) room(cols []*rowdata.Vector, from, to int) int {
	count := to - from
	for i, v := range cols {
		n := p.nodes[i]
		if n.kind == leafNode {
			if n.leaf.twin == nil {
				count = n.leaf.room(v, from, from+count)
			}
			continue
		}
		count = min(count, p.opts.PageRows-p.pageRows)
		for count > 1 && sizeOf(n, v, from, from+count) > p.opts.PageBytes/2 {
			count /= 2
		}
	}
	return count
}

// endPagesIfFull ends the pages of all columns if any of them is full, so that
// all end at the same row. A filter then selects whole pages of every column, and
// no reader must pass over rows within one: the vectorized reader of Paimon Java
// up to 1.4 loses its place in a DELTA_BINARY_PACKED page when the rows that it
// passes over end where a run of definition levels does, and returns wrong values
// from there on.
func (p *Writer) endPagesIfFull() error {
	if !slices.ContainsFunc(p.columns, (*column).full) {
		return nil
	}
	for _, c := range p.columns {
		before := c.chunk.size()
		if err := p.coder.endPage(c); err != nil {
			return err
		}
		p.done += int64(c.chunk.size()-before) * int64(1+c.copies)
	}
	p.pageRows = 0
	return nil
}

// buffered estimates the bytes of the open row group.
func (p *Writer) buffered() int64 {
	n := p.done
	for _, c := range p.columns {
		n += (int64(c.size)*int64(c.ratio)/1024 + int64(len(c.dict.data))/2) * int64(1+c.copies)
	}
	return n
}

// Size returns the bytes written and an estimate of those that are still to be
// written, the footer aside.
func (p *Writer) Size() int64 { return p.offset + p.buffered() }

// Rows returns how many rows have been written.
func (p *Writer) Rows() int64 { return p.rows }

// emit gives b to the destination.
func (p *Writer) emit(b []byte) error {
	n, err := p.out.Write(b)
	p.offset += int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// endGroup writes the open row group.
func (p *Writer) endGroup() error {
	if p.groupRows == 0 {
		return nil
	}
	if len(p.groups) == rowGroupsMax {
		return fmt.Errorf("more than %d row groups in a parquet file", rowGroupsMax)
	}
	if p.offset == 0 {
		if err := p.emit([]byte(magic)); err != nil {
			return err
		}
	}
	g := rowGroup{numRows: p.groupRows, fileOffset: p.offset, ordinal: int16(len(p.groups))}
	for _, c := range p.columns {
		if err := p.coder.endPage(c); err != nil {
			return err
		}
	}
	for _, c := range p.columns {
		from := c.source()
		chunk, err := p.writeChunk(from, c.path)
		if err != nil {
			return err
		}
		g.columns = append(g.columns, chunk)
		g.totalByteSize += chunk.totalUncompressed
		g.totalCompressed += chunk.totalCompressed
		c.fileTotal.merge(&from.total, c.class)
		c.fileNulls += from.nulls
	}
	for _, c := range p.columns {
		c.startGroup(p.coder.comp.codec == codecNone)
	}
	p.groups = append(p.groups, g)
	p.groupRows, p.pageRows, p.done = 0, 0, 0
	return nil
}

// writeChunk writes the pages of a column, under the name of itself or of a twin,
// and returns what the footer says of them.
func (p *Writer) writeChunk(c *column, path []string) (columnChunk, error) {
	chunk := columnChunk{
		phys: c.elem.phys, path: path, codec: p.codecOf(c), numValues: c.numValues,
		totalUncompressed: c.rawBytes, totalCompressed: int64(c.chunk.size()), encodings: []encoding{encRLE},
	}
	if c.dictPages > 0 {
		head, packed, raw, err := p.coder.dictionaryPage(c)
		if err != nil {
			return chunk, err
		}
		chunk.dictPageOffset = p.offset
		chunk.totalUncompressed += int64(raw)
		chunk.totalCompressed += int64(len(head) + len(packed))
		chunk.encodings = append(chunk.encodings, encPlain)
		chunk.encodingStats = append(chunk.encodingStats, encodingStats{pageDictionary, encPlain, 1})
		for _, b := range [][]byte{head, packed} {
			if err := p.emit(b); err != nil {
				return chunk, err
			}
		}
	}
	chunk.dataPageOffset = p.offset
	for _, e := range []encoding{encPlain, encDeltaBinary, encRLEDictionary} {
		count := int32(0)
		for i := range c.pages {
			if c.pages[i].encoding == e {
				count++
			}
		}
		if count == 0 {
			continue
		}
		chunk.encodingStats = append(chunk.encodingStats, encodingStats{pageData, e, count})
		if e != encPlain || c.dictPages == 0 {
			chunk.encodings = append(chunk.encodings, e)
		}
	}
	chunk.stats = c.chunkStatistics()
	p.indexes = append(p.indexes, c.chunkIndex(p.offset))
	for _, b := range c.chunk.list[:c.chunk.used] {
		if err := p.emit(b); err != nil {
			return chunk, err
		}
	}
	return chunk, nil
}

// codecOf returns the codec of the open row group's pages of a column.
func (p *Writer) codecOf(c *column) codec {
	if c.raw {
		return codecNone
	}
	return p.coder.comp.codec
}

// Close writes the rows that are still buffered and the footer, and returns the
// statistics of each field over the whole file: exact values, in the order of
// format section 9.7, NaN as the maximum of a column that has one. Nested
// columns, timestamps of more than 6 digits and columns without values have no
// minimum and maximum. Close does not close the destination.
func (p *Writer) Close() ([]rowdata.ColumnStats, error) {
	if p.err != nil {
		return nil, p.err
	}
	if p.err = p.finish(); p.err != nil {
		return nil, p.err
	}
	p.err = errClosed
	stats := make([]rowdata.ColumnStats, len(p.fields))
	for i, n := range p.nodes {
		if n.kind != leafNode {
			stats[i].Nulls = p.nulls[i]
			continue
		}
		c := n.leaf
		stats[i].Nulls = c.fileNulls
		if c.fileTotal.known {
			stats[i].Min = c.fileTotal.vector(c.typ, c.class, false)
			stats[i].Max = c.fileTotal.vector(c.typ, c.class, true)
		}
	}
	return stats, nil
}
