package lsm

import (
	"context"
	"errors"

	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Increment is what a writer has made since the last one: what a commit must
// name. The files are finished, and invisible until then.
type Increment struct {
	NewFiles  []manifest.DataFile // level 0, in the order of the flushes
	Changelog []manifest.DataFile
}

// IsEmpty tells whether there is nothing to commit.
func (i *Increment) IsEmpty() bool { return len(i.NewFiles) == 0 && len(i.Changelog) == 0 }

// Writer takes the changes of one bucket of a primary-key table. It is used by
// the goroutine that owns its pool. After an error of any method it can only be
// closed.
type Writer struct {
	table  *Table
	pool   *Pool
	create Create
	order  *ordering
	seq    int64 // of the next record
	buf    buffer
	runs   []*spilledRun
	inc    Increment
}

// NewWriter returns the writer of a bucket whose next record gets the sequence
// number seq: one more than the greatest in the bucket's files, or 0.
func NewWriter(t *Table, p *Pool, create Create, seq int64) *Writer {
	w := &Writer{table: t, pool: p, create: create, order: t.ordering(), seq: seq}
	w.buf = buffer{typ: t.Layout.Schema, pool: p, keyed: true}
	p.join(w)
	return w
}

// NextSequence returns the number that the next record will get.
func (w *Writer) NextSequence() int64 { return w.seq }

// Append takes the rows at the positions idx, in that order; all rows if idx is
// nil. It copies them. Other buffers of the pool may be spilled or flushed to
// make room. A row that does not fit the whole pool is a [*TooLargeError].
func (w *Writer) Append(ctx context.Context, rows *rowdata.Changes, idx []int32) error {
	return appendInPieces(ctx, w.pool, rows, idx, func(idx []int32, n int) {
		w.buf.append(rows, idx, w.seq)
		w.seq += int64(n)
	})
}

// appendInPieces reserves room for the rows and adds them, in as few pieces as
// the pool allows.
func appendInPieces(ctx context.Context, p *Pool, rows *rowdata.Changes, idx []int32, add func(idx []int32, n int)) error {
	n := len(idx)
	if idx == nil {
		n = rows.N
	}
	if n == 0 {
		return nil
	}
	need := int64(rows.MemSize())/int64(max(rows.N, 1))*int64(n) + int64(n)*rowOverhead
	if need > p.limit/2 && n > 1 {
		if idx == nil {
			idx = make([]int32, n)
			for i := range idx {
				idx[i] = int32(i)
			}
		}
		if err := appendInPieces(ctx, p, rows, idx[:n/2], add); err != nil {
			return err
		}
		return appendInPieces(ctx, p, rows, idx[n/2:], add)
	}
	if err := p.reserve(ctx, need); err != nil {
		return err
	}
	add(idx, n)
	p.stats.RowsIn += int64(n)
	return nil
}

func (w *Writer) buffered() int64 { return w.buf.bytes }

// shrink implements member: it spills the buffer, or flushes it where that
// cannot be.
func (w *Writer) shrink(ctx context.Context) error {
	if w.pool.spill.Dir != "" {
		err := w.spill()
		if err == nil {
			return nil
		}
		if !errors.Is(err, errSpillFull) {
			// A full or missing folder is no reason to lose rows: they go to
			// the table's own store early.
			w.pool.stats.SpillErrors++
		}
	}
	w.pool.stats.EarlyFlushes++
	return w.flush(ctx)
}

// Prepare writes what is buffered to level 0 and returns all files made since
// the last call.
func (w *Writer) Prepare(ctx context.Context) (Increment, error) {
	if err := w.flush(ctx); err != nil {
		return Increment{}, err
	}
	inc := w.inc
	w.inc = Increment{}
	return inc, nil
}

// Close drops what is buffered or spilled. Files that are finished stay; those
// that no commit names are orphans.
func (w *Writer) Close() error {
	w.pool.leave(w)
	w.buf.reset()
	return w.dropRuns()
}

func (w *Writer) dropRuns() error {
	var errs []error
	for _, r := range w.runs {
		errs = append(errs, w.pool.drop(r))
	}
	w.runs = nil
	return errors.Join(errs...)
}
