package lsm

import (
	"context"
	"slices"

	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Detach takes what is buffered out of the writer, as a run that a compaction can
// merge directly above level 0: sorted, and folded as a flush does it, so that
// nothing tells the result from that of a flush and a compaction of its file. The
// writer goes on with an empty buffer and takes rows while the run is compacted.
//
// It is nil if nothing is buffered, or if a part of it was spilled to local disk:
// then [Writer.Prepare] writes level 0 first. Of two runs of a bucket the later one
// must not be compacted before the earlier one. The memory counts for the pool
// until [Buffer.Release].
func (w *Writer) Detach(ctx context.Context) (*Buffer, error) {
	if w.buf.rows == 0 || len(w.runs) > 0 {
		return nil, nil
	}
	size, err := w.fileBytes(ctx)
	if err != nil {
		return nil, err
	}
	lent := w.buf
	w.buf = buffer{typ: lent.typ, pool: lent.pool, keyed: true}
	w.pool.lent += lent.bytes
	entries, exact := w.pool.sorter.sort(lent.chunks, w.order)
	entries = slices.Clone(entries) // the pool goes on to sort other buffers
	open := func(block *rowdata.KeyValues) (merge.Source, error) {
		return lent.folded(entries, exact, w.order, w.table.Engine, block)
	}
	return &Buffer{
		Rows: int64(lent.rows), Bytes: size, Deletes: lent.hasRetracts(),
		Min: lent.key(entries[0], w.order.key), Max: lent.key(entries[len(entries)-1], w.order.key),
		Open: func() (merge.Source, error) { return open(rowdata.NewKeyValues(lent.typ, 0)) }, openWith: open,
		release: func() {
			lent.pool.lent -= lent.bytes
			lent.reset()
		},
	}, nil
}

// WriteLevel0 writes the records to files of level 0, as the flush would have done
// that Detach took the place of. p is the pool of the writer.
func (b *Buffer) WriteLevel0(ctx context.Context, t *Table, p *Pool, create Create) ([]manifest.DataFile, error) {
	src, err := b.Open()
	if err != nil {
		return nil, err
	}
	target := datafile.Target{Create: create, Name: t.Data.Name}
	files, err := writeFiles(ctx, p, target, t.Layout, t.Data.Options, func(ctx context.Context, out rowWriter) error {
		return copyAll(ctx, src, p.scratch(t.Layout.Schema), out)
	})
	p.stats.wrote(files)
	return files, err
}

// Release gives the memory of a detached buffer back, by the goroutine of its
// pool, when no compaction reads it any more. It may be called twice.
func (b *Buffer) Release() {
	if b.release != nil {
		b.release()
		b.release, b.Open, b.openWith = nil, nil, nil
	}
}

// sizing is what is known of the sizes of a table's files: that of one row, and
// what each row more adds, measured on so many rows of a buffer.
type sizing struct {
	table    *Table
	one      int64
	more     float64
	measured int
}

// sizingRows is how many rows are enough to measure.
const sizingRows = 1000

// fileBytes guesses the size of the file that the buffer would become. Most of a
// small one is header, footer and statistics; picks depend on it, and with them how
// long a delete is kept.
func (w *Writer) fileBytes(ctx context.Context) (int64, error) {
	s, rows := &w.pool.sizing, min(w.buf.chunks[0].N, sizingRows)
	if s.table != w.table || rows >= 2*s.measured {
		one, err := w.measure(ctx, 1)
		if err != nil {
			return 0, err
		}
		all, err := w.measure(ctx, rows)
		if err != nil {
			return 0, err
		}
		*s = sizing{table: w.table, one: one, more: float64(all-one) / float64(max(rows-1, 1)), measured: rows}
	}
	return s.one + int64(s.more*float64(w.buf.rows-1)), nil
}

// measure returns the size of a file of the first rows of the buffer.
func (w *Writer) measure(ctx context.Context, rows int) (int64, error) {
	create := func(context.Context, string) (datafile.Sink, error) { return nowhere{}, nil }
	out := datafile.NewRollingWriter(create, func() string { return "sizing" }, w.table.Layout, w.table.Data.Options)
	if err := out.Write(ctx, w.buf.chunks[0], 0, rows); err != nil {
		return 0, err
	}
	files, err := out.Close(ctx)
	size := int64(0)
	for i := range files {
		size += files[i].FileSize
	}
	return size, err
}

// nowhere is a file that is not kept.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error)  { return len(b), nil }
func (nowhere) Finish(context.Context) error { return nil }
func (nowhere) Abort() error                 { return nil }

// hasRetracts tells whether a record takes a row back.
func (b *buffer) hasRetracts() bool {
	for _, c := range b.chunks {
		if slices.ContainsFunc(c.Kinds, rowdata.RowKind.IsRetract) {
			return true
		}
	}
	return false
}

// key returns the ordered form of the key of an entry.
func (b *buffer) key(e entry, key *rowdata.Comparer) []byte {
	kv := b.chunks[e.ref.chunk()]
	cols := make([]*rowdata.Vector, 0, len(key.Cols()))
	for _, c := range key.Cols() {
		cols = append(cols, kv.Cols[c])
	}
	return rowdata.AppendOrderedKey(nil, cols, int(e.ref.row()))
}

// folded returns the entries as a source of folded records. It owns all its memory
// but the chunks and the block, and may be read by another goroutine than the pool's.
func (b *buffer) folded(entries []entry, exact bool, o *ordering, e merge.Engine, block *rowdata.KeyValues) (merge.Source, error) {
	block.Reset()
	run := &sortedRun{
		chunks: b.chunks, entries: entries, copier: &copier{}, rows: rowsIn(batchBytes, b.rowBytes(), batchRows),
		block: block, blockRows: rowsIn(batchBytes, b.rowBytes(), blockRowsMax),
	}
	if e.Keep == nil {
		return merge.NewIter([]merge.Source{run}, o.key, o.order, e, merge.Options{
			BatchRows: batchRows, BatchBytes: batchBytes,
		}), nil
	}
	_, err := fold(entries, b.chunks, o, exact, e) // the run passes over what is dropped
	return run, err
}
