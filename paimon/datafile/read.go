package datafile

import (
	"fmt"
	"io"
	"slices"

	"sluice/paimon/rowdata"
)

// batchRowsDefault is the option read.batch-size of the original.
const batchRowsDefault = 1024

// Deleted is a set of positions of rows that are gone, counted from 0 over all
// rows of the file: a deletion vector.
type Deleted interface {
	Contains(position int64) bool
}

// keeper is what a set may offer to be asked for many rows at once: it appends
// the offsets 0..n-1 of those that are left of the n rows from position from on.
type keeper interface {
	AppendKept(dst []int32, from int64, n int) []int32
}

// ReadSpec says what to read from a file, and how.
type ReadSpec struct {
	Want *rowdata.RowType // columns wanted, as the current schema has them
	File *rowdata.RowType // all columns of the schema that the file was written with
	// System: the sequence number and the kind of each row are wanted. Only files
	// of primary-key tables have them.
	System bool
	// Constants has a vector of one row for each column of Want whose value does
	// not come from the file, nil for the others. Partition columns of the file's
	// schema are constants always. nil: there are none.
	Constants []*rowdata.Vector
	WriteCols []string // columns of File that the file has; nil: all
	BatchRows int      // rows of a batch; 0: 1024
	DV        Deleted  // rows to leave out; nil: none
}

// decoder reads the columns of one file.
type decoder interface {
	Next(cols []*rowdata.Vector) (int, error)
	Skip(rows int64) error
	Rows() int64
	Close() error
}

// column says where a wanted column comes from: a constant, which is NULL for
// what the file does not have, or a physical column, as it is or converted.
type column struct {
	constant *rowdata.Vector // one row
	physical int             // position among those read, if it is no constant
	raw      *rowdata.Vector // values as the file has them, if they must be converted
}

// Reader reads one file. It is for one goroutine.
type Reader struct {
	spec     ReadSpec
	dec      decoder
	cols     []column
	physical []*rowdata.Vector // what dec fills: vectors of the caller, or raw
	seq      *rowdata.Vector   // the last two of physical, if wanted
	kind     *rowdata.Vector
	position int64   // of the next physical row
	keep     []int32 // rows of a batch that are left
	zeros    []int32 // as many as a batch has rows: to repeat a constant
	err      error
}

// Open begins to read the file that src holds. fileName decides on the format.
// src must outlive the reader, which does not close it. Columns are matched by
// field id, nested members too, and converted where the type has changed; what
// the file does not have reads as NULL (format section 2.6). The errors are
// [*UnsupportedFormatError], [*EvolutionError] and those of packages pqt and
// avrofile.
func Open(src io.ReaderAt, size int64, fileName string, spec ReadSpec) (*Reader, error) {
	if spec.BatchRows <= 0 {
		spec.BatchRows = batchRowsDefault
	}
	r := &Reader{spec: spec}
	fields, err := r.match()
	if err != nil {
		return nil, err
	}
	if spec.System {
		fields = append(fields, rowdata.Field{ID: sequenceID, Name: SequenceColumn, Type: sequenceType},
			rowdata.Field{ID: kindID, Name: KindColumn, Type: kindType})
		r.seq, r.kind = rowdata.NewVector(sequenceType, 0), rowdata.NewVector(kindType, spec.BatchRows)
		r.physical = append(r.physical, r.seq, r.kind)
	}
	if r.dec, err = openDecoder(src, size, fileName, fields, spec.BatchRows); err != nil {
		return nil, err
	}
	return r, nil
}

// match finds the source of each wanted column, and returns the fields to read.
func (r *Reader) match() ([]rowdata.Field, error) {
	want, file := r.spec.Want, r.spec.File
	r.cols = make([]column, len(want.Fields))
	var fields []rowdata.Field
	for i := range want.Fields {
		c, w := &r.cols[i], &want.Fields[i]
		if r.spec.Constants != nil && r.spec.Constants[i] != nil {
			c.constant = r.spec.Constants[i]
			continue
		}
		at := file.IndexID(w.ID)
		if at < 0 || r.spec.WriteCols != nil && !slices.Contains(r.spec.WriteCols, file.Fields[at].Name) {
			c.constant = rowdata.NewVector(w.Type.Nullable(), 1)
			c.constant.AppendNull()
			continue
		}
		f := file.Fields[at]
		var into *rowdata.Vector // nil: that of the caller
		if !passes(f.Type, w.Type) {
			if !rowdata.CanCast(f.Type, w.Type, true) {
				return nil, &EvolutionError{Column: w.Name, Reason: fmt.Sprintf("%s can't become %s", f.Type, w.Type)}
			}
			c.raw = rowdata.NewVector(f.Type, 0)
			into = c.raw
		}
		c.physical = len(fields)
		fields, r.physical = append(fields, f), append(r.physical, into)
	}
	return fields, nil
}

// passes tells whether values of one type are stored as values of the other are,
// and mean the same: the vectors of the caller can be filled at once.
func passes(from, to *rowdata.Type) bool {
	if from.Root != to.Root {
		return from.Root >= rowdata.TinyInt && to.Root <= rowdata.Int && from.Root < to.Root // all on I32
	}
	switch from.Root {
	case rowdata.Char, rowdata.Binary:
		return from.Length == to.Length
	case rowdata.Varchar, rowdata.Varbinary:
		return from.Length <= to.Length
	case rowdata.Decimal:
		return from.Scale == to.Scale && from.Precision <= to.Precision && from.Storage() == to.Storage()
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		return from.Precision <= to.Precision && from.Storage() == to.Storage() && (from.Precision <= 3) == (to.Precision <= 3)
	case rowdata.Array, rowdata.Multiset:
		return passes(from.Elem, to.Elem)
	case rowdata.Vec:
		return from.Length == to.Length && passes(from.Elem, to.Elem)
	case rowdata.Map:
		return passes(from.Key, to.Key) && passes(from.Elem, to.Elem)
	case rowdata.Row:
		if len(from.Fields) != len(to.Fields) {
			return false
		}
		for i := range from.Fields {
			f, t := &from.Fields[i], &to.Fields[i]
			if f.ID != t.ID || f.ID == 0 && f.Name != t.Name || !passes(f.Type, t.Type) {
				return false
			}
		}
	}
	return true
}

// Next empties dst and fills it with the next rows: the columns of Want, and
// sequence numbers and kinds if System is set. It returns how many, at most
// BatchRows, or 0 and io.EOF after the last. dst belongs to the caller, who may
// give another one each time; after another error it holds nothing of use.
func (r *Reader) Next(dst *rowdata.KeyValues) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if len(dst.Cols) != len(r.cols) {
		return 0, fmt.Errorf("batch of %d columns, %d are read", len(dst.Cols), len(r.cols))
	}
	n, err := r.next(dst)
	if err != nil {
		r.err = err
		dst.Reset()
		return 0, err
	}
	dst.N = n
	return n, nil
}

func (r *Reader) next(dst *rowdata.KeyValues) (int, error) {
	for {
		n, err := r.read(dst)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			continue // all of them deleted
		}
		if r.spec.System {
			if err := r.system(dst, n); err != nil {
				return 0, err
			}
		}
		return n, r.complete(dst, n)
	}
}

// read fills the physical columns with the rows of the next batch that are left.
func (r *Reader) read(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	for i := range r.cols {
		if c := &r.cols[i]; c.constant == nil && c.raw == nil {
			r.physical[c.physical] = dst.Cols[i]
		}
	}
	if r.seq != nil {
		r.seq.I64 = dst.Seq // read right where the caller wants them
	}
	n, err := r.dec.Next(r.physical)
	if err != nil {
		return 0, err
	}
	from := r.position
	r.position += int64(n)
	if r.spec.DV == nil {
		return n, nil
	}
	r.keep = appendKept(r.keep[:0], r.spec.DV, from, n)
	if len(r.keep) < n {
		for _, v := range r.physical {
			retain(v, r.keep)
		}
	}
	return len(r.keep), nil
}

func appendKept(dst []int32, deleted Deleted, from int64, n int) []int32 {
	if k, ok := deleted.(keeper); ok {
		return k.AppendKept(dst, from, n)
	}
	for i := range n {
		if !deleted.Contains(from + int64(i)) {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

// system hands sequence numbers and kinds to dst.
func (r *Reader) system(dst *rowdata.KeyValues, n int) error {
	if r.seq.HasNulls() || r.kind.HasNulls() {
		return fmt.Errorf("rows before %d have no %s or no %s: %w", r.position, SequenceColumn, KindColumn, ErrCorrupt)
	}
	dst.Seq = r.seq.I64
	dst.Kinds = slices.Grow(dst.Kinds[:0], n)[:n]
	for i, k := range r.kind.I32 {
		if uint32(k) > uint32(rowdata.Delete) {
			return fmt.Errorf("a row before %d has kind %d: %w", r.position, k, ErrCorrupt)
		}
		dst.Kinds[i] = rowdata.RowKind(k)
	}
	return nil
}

// complete fills the columns that were not read right into dst.
func (r *Reader) complete(dst *rowdata.KeyValues, n int) error {
	for i := range r.cols {
		c, v := &r.cols[i], dst.Cols[i]
		switch {
		case c.constant != nil:
			if len(r.zeros) < n {
				r.zeros = make([]int32, n)
			}
			v.Gather(c.constant, r.zeros[:n])
		case c.raw != nil:
			if err := rowdata.Cast(v, c.raw); err != nil {
				return fmt.Errorf("column %s: %w", r.spec.Want.Fields[i].Name, err)
			}
		}
	}
	return nil
}

// SkipRows passes over n rows of the file, deleted ones counted. It is no error
// if there are fewer.
func (r *Reader) SkipRows(n int64) error {
	if r.err != nil {
		return r.err
	}
	if n <= 0 {
		return nil
	}
	if err := r.dec.Skip(n); err != nil {
		r.err = err
		return err
	}
	r.position += n
	return nil
}

// Rows returns how many rows the file has, deleted ones counted. For Avro files
// that takes a walk over the file; the manifest tells it for nothing.
func (r *Reader) Rows() int64 { return r.dec.Rows() }

// Close frees what the reader holds. It does not close the source.
func (r *Reader) Close() error {
	if r.err == errClosed {
		return nil
	}
	r.err = errClosed
	return r.dec.Close()
}
