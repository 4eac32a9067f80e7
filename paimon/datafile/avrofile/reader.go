package avrofile

import (
	"errors"
	"fmt"
	"io"

	"sluice/paimon/internal/ocf"
	"sluice/paimon/rowdata"
)

// Sizes of what [Reader.Next] returns.
const (
	batchRowsDefault = 1024
	batchBytesMax    = 256 << 20 // plain bytes of Avro after which a batch ends early
)

// ReadOptions of a [Reader]. The zero value is ready for use.
type ReadOptions struct {
	BatchRows int // rows of a batch; 0: 1024
}

// Reader reads the rows of one file in order. It is for one goroutine.
type Reader struct {
	src     io.ReaderAt
	size    int64
	blocks  *ocf.Reader
	batch   int
	typ     *ocf.Schema // of a row
	union   int         // branch that is the row, -1: the top of the schema is no union
	cols    []decoder   // in the order of the file
	into    []int       // column of the caller for each, -1 to skip
	missing []int       // columns of the caller that the file does not have
	body    ocf.Decoder
	left    int   // rows of the block that are not read yet
	row     int64 // of the file, for errors
	rows    int64 // of the whole file, -1 if not counted yet
	err     error
}

// Open reads the head of the file. want are the columns that Next is to fill,
// found by name, with types as the table's schema of that time gives them;
// columns that the file does not have read as NULL. The errors are
// [*MismatchError], [ErrCorrupt] and those of src.
func Open(src io.ReaderAt, size int64, want []rowdata.Field, opts ReadOptions) (*Reader, error) {
	blocks, err := ocf.NewReader(src, size)
	if err != nil {
		return nil, err
	}
	schema, err := ocf.ParseSchema(blocks.SchemaText())
	if err != nil {
		return nil, err
	}
	r := &Reader{src: src, size: size, blocks: blocks, batch: opts.BatchRows, union: -1, rows: -1}
	if r.batch <= 0 {
		r.batch = batchRowsDefault
	}
	var null int
	if r.typ, null = schema.Optional(); null >= 0 {
		r.union = 1 - null
	}
	if r.typ.Kind != ocf.Record {
		return nil, fmt.Errorf("avro schema is a %s, rows are records: %w", r.typ.Kind, ErrCorrupt)
	}
	if err := checkBounded(r.typ); err != nil {
		return nil, err
	}
	var d decoder
	if err := d.members(r.typ, want, ""); err != nil {
		return nil, err
	}
	r.cols, r.into, r.missing = d.kids, d.into, d.missing
	return r, nil
}

// Next empties the vectors and fills them with the next rows, at most the batch
// size and fewer where a batch would get too big. It returns their number, or
// io.EOF after the last. The vectors are the caller's, one for each wanted
// column. After another error they hold nothing of use.
func (r *Reader) Next(cols []*rowdata.Vector) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	for _, c := range cols {
		c.Reset()
	}
	n, bytes := 0, 0
	for n < r.batch && bytes < batchBytesMax {
		if r.left == 0 {
			if err := r.nextBlock(); err == io.EOF && n > 0 {
				break
			} else if err != nil {
				return 0, r.fail(err)
			}
		}
		k, at := min(r.left, r.batch-n), r.body.Pos()
		if err := r.fill(cols, k); err != nil {
			return 0, r.fail(err)
		}
		n += k
		bytes += r.body.Pos() - at
	}
	for _, c := range r.missing {
		for range n {
			cols[c].AppendNull()
		}
	}
	return n, nil
}

func (r *Reader) fail(err error) error {
	if r.err = err; err != io.EOF {
		r.err = fmt.Errorf("row %d: %w", r.row, err)
	}
	return r.err
}

func (r *Reader) nextBlock() error {
	b, err := r.blocks.Next()
	if err != nil {
		return err
	}
	r.body.Reset(b.Data)
	r.left = b.Count
	return nil
}

// fill decodes n rows of the current block.
func (r *Reader) fill(cols []*rowdata.Vector, n int) error {
	c := &r.body
	for range n {
		if r.union >= 0 && c.Long() != int64(r.union) {
			c.Fail("avro row is null")
		}
		for i := range r.cols {
			if k := r.into[i]; k >= 0 {
				r.cols[i].value(c, cols[k])
			} else {
				c.Skip(r.cols[i].typ)
			}
			if c.Err() != nil {
				return c.Err()
			}
		}
		r.row++
	}
	r.left -= n
	return nil
}

// Skip passes over rows, whole blocks of them without decompressing. It is no
// error if there are fewer.
func (r *Reader) Skip(rows int64) error {
	for rows > 0 && r.err == nil {
		if r.left == 0 {
			n, err := r.blocks.PeekCount()
			switch {
			case err != nil:
				return ignoreEOF(r.fail(err))
			case n <= rows:
				if _, err := r.blocks.SkipBlock(); err != nil {
					return r.fail(err)
				}
				rows -= n
				r.row += n
				continue
			}
			if err := r.nextBlock(); err != nil {
				return r.fail(err)
			}
		}
		k := min(int64(r.left), rows)
		if err := r.skipRows(int(k)); err != nil {
			return r.fail(err)
		}
		rows -= k
	}
	return ignoreEOF(r.err)
}

func (r *Reader) skipRows(n int) error {
	c := &r.body
	for range n {
		if r.union >= 0 {
			c.Long()
		}
		if c.Skip(r.typ); c.Err() != nil {
			return c.Err()
		}
		r.row++
	}
	r.left -= n
	return nil
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// Rows counts the rows of the file by the heads of its blocks, on the first
// call; the file does not tell it in one place. It returns -1 if the file can't
// be read.
func (r *Reader) Rows() int64 {
	if r.rows >= 0 {
		return r.rows
	}
	blocks, err := ocf.NewReader(r.src, r.size)
	var rows int64
	for err == nil {
		var n int64
		n, err = blocks.SkipBlock()
		rows += n
	}
	if err != io.EOF {
		return -1
	}
	r.rows = rows
	return rows
}

// Close makes the reader forget its blocks. It does not close the source.
func (r *Reader) Close() error {
	r.err = errClosed
	r.blocks, r.left = nil, 0
	r.body.Reset(nil)
	return nil
}

var errClosed = errors.New("avro file is closed")
