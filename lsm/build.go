package lsm

import (
	"context"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// lone tells whether each entry has a key of its own.
func lone(entries []entry, chunks []*rowdata.KeyValues, o *ordering, exact bool) bool {
	for i := range entries[:max(len(entries)-1, 0)] {
		if keyEnd(entries, i, chunks, o, exact) > i+1 {
			return false
		}
	}
	return true
}

// built feeds the entries with the rows that the engine builds of the keys that
// have several; a lone record stays as it is. Rows are built as they are written:
// no more than a batch of them is in memory.
func (w *Writer) built(entries []entry, exact bool) feed {
	return func(ctx context.Context, out rowWriter) error {
		b := builder{w: w, folder: w.table.Engine.Build(), rows: rowsIn(batchBytes, w.buf.rowBytes(), batchRows)}
		b.chunks = append(append(b.chunks, w.buf.chunks...), rowdata.NewKeyValues(w.buf.typ, 0))
		for from := 0; from < len(entries); {
			to := keyEnd(entries, from, w.buf.chunks, w.order, exact)
			if err := b.key(entries[from:to]); err != nil {
				return err
			}
			from = to
			if b.pending >= b.rows {
				if err := b.flush(ctx, out); err != nil {
					return err
				}
			}
		}
		return b.flush(ctx, out)
	}
}

// builder collects lone records and built rows, in key order.
type builder struct {
	w         *Writer
	folder    merge.Folder
	chunks    []*rowdata.KeyValues // of the buffer, and behind them one of built rows
	stretches []merge.Stretch
	pending   int // rows in stretches
	rows      int // of a batch
}

// key adds the row that stands for the entries, which are all of one key.
func (b *builder) key(entries []entry) error {
	if len(entries) == 1 {
		b.push(entries[0].ref.chunk(), entries[0].ref.row())
		return nil
	}
	b.folder.Begin()
	for _, e := range entries {
		if err := merge.AddLent(b.folder, b.chunks[e.ref.chunk()], int(e.ref.row())); err != nil {
			return b.atKey(err, e.ref)
		}
	}
	last := int32(len(b.chunks) - 1)
	built := b.chunks[last]
	ok, err := b.folder.Result(built)
	switch {
	case err != nil:
		return b.atKey(err, entries[0].ref)
	case ok:
		b.push(last, int32(built.N-1))
		if n := built.N; n&(n-1) == 0 {
			b.rows = min(b.rows, rowsIn(batchBytes, int64(built.MemSize()/n), batchRows))
		}
	}
	return nil
}

func (b *builder) atKey(err error, r ref) error {
	return merge.AtKey(err, &b.chunks[r.chunk()].Batch, b.w.order.key.Cols(), int(r.row()))
}

func (b *builder) push(chunk, row int32) {
	b.pending++
	b.stretches = merge.AppendStretch(b.stretches, chunk, row, row+1)
}

// flush writes what is pending.
func (b *builder) flush(ctx context.Context, out rowWriter) error {
	if b.pending == 0 {
		return nil
	}
	w := b.w
	batch := w.pool.scratch(w.buf.typ)
	w.pool.copier.gatherer.Append(batch, b.chunks, b.stretches)
	b.stretches, b.pending = b.stretches[:0], 0
	b.chunks[len(b.chunks)-1].Reset()
	return out.Write(ctx, batch, 0, batch.N)
}
