package snapshotreader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sluice/lsm/engine"
	"sluice/lsm/merge"
	"sluice/paimon"
	"sluice/paimon/dv"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/paimon/tablefile"
)

// unit is a part of a delivery that a cursor can point into: a file of changes,
// or the rows of one group.
type unit struct {
	partition []byte
	bucket    int32
	file      *manifest.Entry // changes: the only file, read with the kinds it stores
	group     *group          // else: the files of a partition and bucket, merged
	vectors   *vectors        // of the group's files
	kind      rowdata.RowKind // of every row, if forced
	forced    bool
}

// unitReader reads the rows of one unit. It is used by one goroutine.
type unitReader struct {
	table  *paimon.Table
	proj   *projection
	unit   *unit
	limits batchLimits
	skip   uint64 // rows to pass over still

	pieces []piece // not opened yet
	cur    piece
	src    merge.Source
	closer io.Closer
	rows   int     // of a batch of the current piece
	left   int64   // rows of it that are not delivered yet, at most
	seqs   []int64 // room for sequence numbers, which are not handed on

	ctx context.Context // of the call of next that is running: files of a merge are opened late
}

// batchLimits bound a batch.
type batchLimits struct {
	rows  int // at most
	bytes int // about
}

// inflation is how much larger rows are thought to be in memory than in a file,
// when the size of a batch is chosen.
const inflation = 4

// runRowsMax bounds the rows of all runs of a merge that are decoded at a time;
// runRowsMin is decoded of each run whatever their number is.
const (
	runRowsMax = 64 << 10
	runRowsMin = 256
)

// openUnit prepares reading a unit from row skip on. Nothing is opened before the
// first call of next.
func openUnit(t *paimon.Table, proj *projection, u *unit, limits batchLimits, skip uint64) (*unitReader, error) {
	r := &unitReader{table: t, proj: proj, unit: u, limits: limits, skip: skip}
	if u.file != nil {
		r.pieces = []piece{rawPiece(u.file, proj.schema.HasPrimaryKey())}
		return r, nil
	}
	var err error
	r.pieces, err = cutGroup(u.group, proj.schema)
	return r, err
}

// next resets dst, or makes a new batch if dst is nil, and fills it with the next
// rows: of one file, or of one section. It returns io.EOF at the end. A unit that
// has fewer rows than were to be passed over is an error.
func (r *unitReader) next(ctx context.Context, dst *rowdata.KeyValues) (*rowdata.KeyValues, error) {
	r.ctx = ctx
	defer func() { r.ctx = nil }()
	for {
		if err := ctx.Err(); err != nil {
			return nil, &pausedError{err}
		}
		if r.src == nil {
			if err := r.openPiece(); err != nil {
				return nil, err
			}
		}
		if dst == nil || !r.fits(dst) {
			dst = r.newBatch()
		}
		dst.Seq = r.seqs
		n, err := r.src.Next(dst)
		r.seqs, dst.Seq = dst.Seq, nil
		switch {
		case err == io.EOF:
			if err := r.closePiece(); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		}
		r.left -= int64(n)
		if uint64(n) <= r.skip {
			r.skip -= uint64(n)
			continue
		}
		if r.skip > 0 {
			rest := rowdata.NewKeyValues(dst.Type, n-int(r.skip))
			appendRange(rest, dst, int(r.skip), n)
			r.skip, dst = 0, rest
		}
		return dst, nil
	}
}

// fits tells whether the batch has the columns of the current piece.
func (r *unitReader) fits(dst *rowdata.KeyValues) bool {
	return len(dst.Cols) == len(r.columns().Fields)
}

// columns returns what is decoded of the current piece.
func (r *unitReader) columns() *rowdata.RowType {
	if r.cur.merge {
		return r.proj.want
	}
	return r.proj.raw
}

// newBatch makes a batch for the next rows.
func (r *unitReader) newBatch() *rowdata.KeyValues {
	rows := int(max(0, min(int64(r.rows), r.left)))
	kv := &rowdata.KeyValues{Batch: *rowdata.NewBatch(r.columns(), rows)}
	if r.cur.kinds {
		kv.Kinds = make([]rowdata.RowKind, 0, rows)
	}
	return kv
}

// openPiece opens the next piece that has rows behind those to be passed over.
func (r *unitReader) openPiece() error {
	for len(r.pieces) > 0 {
		p := r.pieces[0]
		r.pieces = r.pieces[1:]
		var opened bool
		var err error
		if p.merge {
			opened, err = true, r.openMerge(p)
		} else {
			opened, err = r.openRaw(p)
		}
		if err != nil {
			return err
		}
		if opened {
			r.cur = p
			return nil
		}
	}
	if r.skip > 0 {
		return &rowRangeError{missing: r.skip}
	}
	return io.EOF
}

// openRaw opens a file to be read as it is. It is not opened if all its rows are
// to be passed over.
func (r *unitReader) openRaw(p piece) (bool, error) {
	e := p.runs[0][0]
	deleted, err := r.deletions(e)
	if err != nil {
		return false, err
	}
	live := e.File.RowCount
	if deleted != nil {
		live -= deleted.Cardinality()
	}
	if live < 0 {
		return false, fmt.Errorf("file %s: %d rows are deleted of %d", e.File.FileName, deleted.Cardinality(), e.File.RowCount)
	}
	if r.skip >= uint64(live) {
		r.skip -= uint64(live)
		return false, nil
	}
	r.rows = r.batchRows([]*manifest.Entry{e})
	f, err := openFile(r.ctx, r.table, e, r.proj, fileSpec{
		want: r.proj.raw, system: p.kinds, batchRows: r.rows, skip: int64(r.skip), deleted: deleted,
	})
	if err != nil {
		return false, err
	}
	r.left = live - int64(r.skip)
	r.skip = 0
	r.src, r.closer = f, f
	return true, nil
}

// openMerge opens a section. Of each run one file is open at a time.
func (r *unitReader) openMerge(p piece) error {
	fn, err := mergeEngine(r.proj)
	if err != nil {
		return err
	}
	all := slices.Concat(p.runs...)
	r.rows, r.left = r.batchRows(all), 0
	for _, e := range all {
		r.left += e.File.RowCount
	}
	perRun := min(r.rows, max(runRowsMin, runRowsMax/len(p.runs)))
	sources := make([]merge.Source, len(p.runs))
	for i, run := range p.runs {
		open := make([]func() (merge.Source, error), len(run))
		for k, e := range run {
			open[k] = func() (merge.Source, error) { return r.openRun(e, perRun) }
		}
		sources[i] = merge.NewChain(open...)
	}
	it := merge.NewIter(sources, rowdata.NewComparer(r.proj.key), merge.Order{Fields: r.proj.seq, Descending: r.proj.schema.SequenceDescending()}, fn,
		merge.Options{BatchRows: r.rows, DropDeletes: true, UniqueKeys: true})
	r.src, r.closer = it, it
	return nil
}

func (r *unitReader) openRun(e *manifest.Entry, rows int) (merge.Source, error) {
	deleted, err := r.deletions(e)
	if err != nil {
		return nil, err
	}
	small := e.File.RowCount <= runRowsMin
	if small {
		rows = runRowsMin
	}
	f, err := openFile(r.ctx, r.table, e, r.proj, fileSpec{want: r.proj.want, system: true, batchRows: rows, deleted: deleted})
	if err != nil {
		return nil, err
	}
	if !small {
		return merge.OnLevel(f, e.File.Level), nil
	}
	whole, err := readWhole(f, r.proj.want)
	if err != nil {
		return nil, err
	}
	return merge.OnLevel(whole, e.File.Level), nil
}

func (r *unitReader) deletions(e *manifest.Entry) (*dv.Vector, error) {
	if r.unit.vectors == nil {
		return nil, nil
	}
	return r.unit.vectors.of(r.ctx, e)
}

// batchRows chooses how many rows of these files make a batch.
func (r *unitReader) batchRows(files []*manifest.Entry) int {
	var bytes, rows int64
	for _, e := range files {
		bytes += e.File.FileSize
		rows += e.File.RowCount
	}
	if bytes <= 0 || rows <= 0 {
		return r.limits.rows
	}
	perRow := max(1, float64(bytes)/float64(rows)*inflation)
	return int(max(1, min(float64(r.limits.rows), float64(r.limits.bytes)/perRow)))
}

func (r *unitReader) closePiece() error {
	c := r.closer
	r.src, r.closer = nil, nil
	if c == nil {
		return nil
	}
	return c.Close()
}

func (r *unitReader) close() error {
	r.pieces = nil
	return r.closePiece()
}

// wholeFile is the records of a file that is closed already: a table may have
// thousands of small files that overlap, which need not all be open at a time.
type wholeFile struct{ batches []*rowdata.KeyValues }

func readWhole(f *tablefile.File, t *rowdata.RowType) (merge.Source, error) {
	w := &wholeFile{}
	for {
		kv := rowdata.NewKeyValues(t, 0)
		_, err := f.Next(kv)
		if err == io.EOF {
			return w, f.Close()
		}
		if err != nil {
			return nil, joinClose(err, f.Close())
		}
		w.batches = append(w.batches, kv)
	}
}

// Next implements merge.Source.
func (w *wholeFile) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	if len(w.batches) == 0 {
		return 0, io.EOF
	}
	kv := w.batches[0]
	w.batches = w.batches[1:]
	dst.AppendRange(kv, 0, kv.N)
	return kv.N, nil
}

// pausedError is the end of a context, noticed where nothing is left half done: the
// next call goes on.
type pausedError struct{ cause error }

func (e *pausedError) Error() string { return e.cause.Error() }
func (e *pausedError) Unwrap() error { return e.cause }

// rowRangeError says that a unit ends before the row that a cursor names.
type rowRangeError struct{ missing uint64 }

func (e *rowRangeError) Error() string {
	return fmt.Sprintf("the unit ends %d rows before the row that the cursor names", e.missing)
}

// mergeEngine returns how rows of one key become one.
func mergeEngine(p *projection) (merge.Engine, error) {
	e, err := engine.ForReading(p.schema, p.cols)
	var unknown *engine.UnsupportedError
	if errors.As(err, &unknown) {
		return e, &UnsupportedError{What: "merge engine " + unknown.Engine}
	}
	return e, err
}

// appendRange appends records of src, which may have no kinds, without their
// sequence numbers.
func appendRange(dst, src *rowdata.KeyValues, from, to int) {
	if src.Kinds != nil {
		dst.Kinds = append(dst.Kinds, src.Kinds[from:to]...)
	} else {
		dst.Kinds = nil
	}
	dst.Batch.AppendRange(&src.Batch, from, to)
}
