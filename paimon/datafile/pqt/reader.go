package pqt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"sluice/paimon/rowdata"
)

// tailBytes is how much of the end of a file Open reads at once. Files that are
// not larger are read whole, and not touched again.
const tailBytes = 128 << 10

// ReadOptions says how a [Reader] reads. The zero value is usable.
type ReadOptions struct {
	// BatchRows is how many rows Next returns at most; 0: 4096.
	BatchRows int
	// WindowBytes is how much is read of a column at a time; 0: 256 KiB.
	WindowBytes int
	// NoChecksums leaves the checksums of pages unverified.
	NoChecksums bool
	// Keep is asked before a row group is read; false leaves it out.
	Keep func(RowGroup) bool
}

func (o ReadOptions) withDefaults() (ReadOptions, error) {
	if o.BatchRows == 0 {
		o.BatchRows = 4096
	}
	if o.WindowBytes == 0 {
		o.WindowBytes = 256 << 10
	}
	if o.BatchRows < 0 || o.BatchRows > 1<<24 || o.WindowBytes < 0 {
		return o, errors.New("batch rows must be 1 to 16,777,216 and window bytes positive")
	}
	return o, nil
}

// RowGroup is what the footer says of a row group.
type RowGroup struct {
	FirstRow int64
	Rows     int64
	// Stats has the bounds of each column asked for. A value outside of them is
	// not in the row group; nested columns and those without usable statistics
	// have none.
	Stats []rowdata.ColumnStats
}

// Reader reads columns of one Parquet file. It is not safe for concurrent use.
type Reader struct {
	src    io.ReaderAt
	size   int64
	opts   ReadOptions
	meta   *fileMeta
	want   []rowdata.Field
	nodes  []*readNode // one a column wanted
	leaves []*leafReader
	index  []int // of each leaf in the file

	group     int // next row group
	groupLeft int64
	row       int64 // next row of the file
	batchRow  int64
	skips     int64
	err       error // sticks
}

// Open reads the footer of a file of size bytes and prepares to read the wanted
// columns. Columns and members of rows are found by name; what the file lacks
// reads NULL. Errors are [*CorruptFileError], [*MismatchError] and
// [*UnsupportedError]; those of src are wrapped.
func Open(src io.ReaderAt, size int64, want []rowdata.Field, opts ReadOptions) (r *Reader, err error) {
	defer guard("footer", &err)
	opts, err = opts.withDefaults()
	if err != nil {
		return nil, err
	}
	r = &Reader{src: src, size: size, opts: opts, want: want}
	whole, err := r.readFooter()
	if err != nil {
		return nil, err
	}
	root, leaves, err := parseSchema(r.meta.schema)
	if err != nil {
		return nil, footerError(size, err)
	}
	total := int64(0)
	for i := range r.meta.rowGroups {
		if g := &r.meta.rowGroups[i]; len(g.columns) != leaves {
			return nil, footerError(size, fmt.Errorf("row group of %d columns, the schema has %d", len(g.columns), leaves))
		} else if total += g.numRows; total < 0 || total > r.meta.numRows {
			return nil, footerError(size, fmt.Errorf("row groups of more than %d rows", r.meta.numRows))
		}
	}
	if total != r.meta.numRows {
		return nil, footerError(size, fmt.Errorf("%d rows in row groups, %d in the file", total, r.meta.numRows))
	}
	var p planner
	for i := range want {
		n, err := p.field(want[i].Name, want[i].Type, root.child(want[i].Name), 0, 0)
		if err != nil {
			return nil, err
		}
		if n.leaf != nil && n.leaf.maxRep == 0 && n.leaf.maxDef <= 1 {
			n.leaf.flat = true
		}
		r.nodes = append(r.nodes, n)
	}
	r.leaves, r.index = p.leaves, p.index
	for _, l := range r.leaves {
		l.src = source{r: src, whole: whole, window: opts.WindowBytes}
		l.trust = opts.NoChecksums
	}
	return r, nil
}

func footerError(size int64, err error) error {
	return &CorruptFileError{Place: "footer", Offset: size, Err: err}
}

// guard turns a panic into an error. There is none to be expected: it is here for
// the sake of the libraries that decompress and unpack bits.
func guard(place string, err *error) {
	if p := recover(); p != nil {
		*err = &CorruptFileError{Place: place, Offset: -1, Err: fmt.Errorf("panic: %v", p)}
	}
}

// readFooter decodes the metadata, and returns the whole file if that is small.
func (r *Reader) readFooter() (whole []byte, err error) {
	const trailer = int64(4 + len(magic))
	if r.size < int64(len(magic))+trailer {
		return nil, footerError(0, fmt.Errorf("a file of %d bytes", r.size))
	}
	tail := newBuffer(int(min(r.size, tailBytes)))
	if err := readAt(r.src, tail, r.size-int64(len(tail))); err != nil {
		return nil, tailError(r.size, err)
	}
	end := tail[len(tail)-int(trailer):]
	if string(end[4:]) != magic {
		return nil, footerError(r.size, fmt.Errorf("it ends with %q, not %q", end[4:], magic))
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if n > footerBytesMax || n > r.size-trailer-int64(len(magic)) {
		return nil, footerError(r.size, fmt.Errorf("metadata of %d bytes in a file of %d", n, r.size))
	}
	footer := tail[:len(tail)-int(trailer)]
	if n <= int64(len(footer)) {
		footer = footer[int64(len(footer))-n:]
	} else {
		footer = make([]byte, n)
		if err := readAt(r.src, footer, r.size-trailer-n); err != nil {
			return nil, tailError(r.size, err)
		}
	}
	if r.meta, err = decodeFileMeta(footer); err != nil {
		return nil, footerError(r.size-trailer-n, err)
	}
	if int64(len(tail)) == r.size {
		whole = tail
	}
	return whole, nil
}

// tailError tells a file that is shorter than it should be from a source that
// fails.
func tailError(size int64, err error) error {
	var s *sourceError
	if errors.As(err, &s) {
		return err
	}
	return footerError(size, err)
}

// Rows returns the number of rows of the file.
func (r *Reader) Rows() int64 { return r.meta.numRows }

// RowIndex returns which row of the file is the first of the last batch. Rows
// follow each other within a batch; between batches Keep may leave some out.
func (r *Reader) RowIndex() int64 { return r.batchRow }

// Close frees what the reader holds. It does not close the source.
func (r *Reader) Close() error {
	r.err = errors.New("parquet reader is closed")
	r.nodes, r.leaves = nil, nil
	return nil
}

// Skip passes over the next rows of the file, those of row groups that Keep would
// leave out included. Pages that have no other rows are not decoded.
func (r *Reader) Skip(rows int64) error {
	if rows < 0 {
		return fmt.Errorf("skip %d rows", rows)
	}
	r.skips += min(rows, r.meta.numRows)
	return nil
}

// Next empties the vectors and fills them, one a column wanted, with up to
// BatchRows rows. It returns how many, or 0 and [io.EOF] after the last. After
// another error the reader is of no use.
func (r *Reader) Next(cols []*rowdata.Vector) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	defer func() {
		if err != nil {
			n, r.err = 0, err
		}
	}()
	defer guard("data", &err)
	if len(cols) != len(r.want) {
		return 0, fmt.Errorf("%d vectors for %d parquet columns", len(cols), len(r.want))
	}
	for i, v := range cols {
		v.Reset()
		if err := fits(v, r.want[i].Type); err != nil {
			return 0, fmt.Errorf("parquet column %q: %w", r.want[i].Name, err)
		}
	}
	if err := r.advance(); err != nil {
		return 0, err
	}
	n = int(min(int64(r.opts.BatchRows), r.groupLeft))
	for _, l := range r.leaves {
		if n, err = l.rowsWithin(n); err != nil {
			return 0, err
		}
	}
	for i, node := range r.nodes {
		if err := node.read(cols[i], n); err != nil {
			return 0, err
		}
	}
	r.batchRow = r.row
	r.row += int64(n)
	r.groupLeft -= int64(n)
	return n, nil
}

// advance goes to a row group that has rows to deliver.
func (r *Reader) advance() error {
	for {
		if r.groupLeft > r.skips {
			for _, l := range r.leaves {
				l.skips += r.skips
			}
			r.row, r.groupLeft, r.skips = r.row+r.skips, r.groupLeft-r.skips, 0
			return nil
		}
		r.row, r.skips, r.groupLeft = r.row+r.groupLeft, r.skips-r.groupLeft, 0
		if r.group == len(r.meta.rowGroups) {
			return io.EOF
		}
		g := &r.meta.rowGroups[r.group]
		r.group++
		r.groupLeft = g.numRows
		if r.skips >= g.numRows {
			continue
		}
		if r.opts.Keep != nil && !r.opts.Keep(r.describe(g)) {
			r.skips = max(r.skips, g.numRows)
			continue
		}
		for i, l := range r.leaves {
			if err := l.startChunk(&g.columns[r.index[i]], g.numRows, r.size); err != nil {
				return err
			}
		}
	}
}
