package lsm

import (
	"context"

	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Appender takes the rows of one bucket of a table without a primary key, in
// the order they come. It is used by the goroutine that owns its pool. After an
// error of any method it can only be closed.
type Appender struct {
	table  *Table
	pool   *Pool
	create Create
	seq    int64 // number of the next row
	buf    buffer
	files  []manifest.DataFile
}

// NewAppender returns the writer of a bucket whose next row has the number seq:
// one more than the greatest in the bucket's files, or 0 in a table without
// buckets (format section 9.3).
func NewAppender(t *Table, p *Pool, create Create, seq int64) *Appender {
	a := &Appender{table: t, pool: p, create: create, seq: seq}
	a.buf = buffer{typ: t.Layout.Schema, pool: p}
	p.join(a)
	return a
}

// NextSequence returns the number of the next row.
func (a *Appender) NextSequence() int64 { return a.seq + int64(a.buf.rows) }

// Append is [Writer.Append]; kinds are not looked at.
func (a *Appender) Append(ctx context.Context, rows *rowdata.Changes, idx []int32) error {
	return appendInPieces(ctx, a.pool, rows, idx, func(idx []int32, _ int) { a.buf.append(rows, idx, 0) })
}

func (a *Appender) buffered() int64 { return a.buf.bytes }

// shrink implements member.
func (a *Appender) shrink(ctx context.Context) error {
	a.pool.stats.EarlyFlushes++
	return a.flush(ctx)
}

// Prepare writes what is buffered and returns all files made since the last
// call.
func (a *Appender) Prepare(ctx context.Context) (Increment, error) {
	if err := a.flush(ctx); err != nil {
		return Increment{}, err
	}
	inc := Increment{NewFiles: a.files}
	a.files = nil
	return inc, nil
}

// Close drops what is buffered.
func (a *Appender) Close() error {
	a.pool.leave(a)
	a.buf.reset()
	return nil
}

func (a *Appender) flush(ctx context.Context) error {
	if a.buf.rows == 0 {
		return nil
	}
	a.pool.stats.Flushes++
	chunks := func(ctx context.Context, out rowWriter) error {
		for _, kv := range a.buf.chunks {
			if err := out.Write(ctx, kv, 0, kv.N); err != nil {
				return err
			}
		}
		return nil
	}
	o := a.table.Data.Options
	o.FirstSequence = a.seq
	files, err := writeFiles(ctx, a.pool, datafile.Target{Create: a.create, Name: a.table.Data.Name}, a.table.Layout, o, chunks)
	if err != nil {
		return err
	}
	for i := range files {
		a.seq += files[i].RowCount
		a.pool.stats.RowsOut += files[i].RowCount
	}
	a.files = append(a.files, files...)
	a.buf.reset()
	return nil
}
