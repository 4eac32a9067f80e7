package main

import (
	"context"
	"errors"

	"sluice/bench/orders"
	"sluice/bench/tables"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// batchRows is how many rows are handed to the writer at a time.
const batchRows = 10_000

// rows are those of one commit in batches, whose memory is used again for the
// next.
type rows struct {
	typ     *rowdata.RowType
	seed    uint64
	halves  bool // rows with half of their columns
	batches []*rowdata.Changes
	used    int
	bytes   int64
}

// reset begins the next commit, after the one before was answered.
func (r *rows) reset() { r.used = 0 }

// add appends the row of a key's index and an ordinal.
func (r *rows) add(index, ordinal uint64) {
	if r.used == 0 || r.batches[r.used-1].N == batchRows {
		if r.used == len(r.batches) {
			r.batches = append(r.batches, &rowdata.Changes{Batch: *rowdata.NewBatch(r.typ, 0)})
		}
		r.batches[r.used].Reset()
		r.batches[r.used].Kinds = nil
		r.used++
	}
	b := &r.batches[r.used-1].Batch
	if r.halves {
		orders.AppendHalf(b, r.seed, orders.Key(r.seed, index), ordinal)
	} else {
		orders.Append(b, r.seed, orders.Key(r.seed, index), ordinal)
	}
	r.bytes += orders.Bytes(b, b.N-1)
}

// filled are the batches of this commit.
func (r *rows) filled() []*rowdata.Changes { return r.batches[:r.used] }

// fill writes rows in commits of equal size; index names the key of each row,
// whose ordinal is its number.
func fill(ctx context.Context, h *home, t *paimon.Table, count, commitRows uint64, index func(ordinal uint64) uint64) error {
	w, err := tables.NewWriter(ctx, t, nil)
	if err != nil {
		return err
	}
	return errors.Join(write(ctx, h, w, count, commitRows, index), w.Close(ctx))
}

// write is fill with a writer that is open.
func write(ctx context.Context, h *home, w *tables.Writer, count, commitRows uint64, index func(ordinal uint64) uint64) error {
	r := &rows{typ: w.Type(), seed: h.seed}
	for at := uint64(0); at < count; at += commitRows {
		r.reset()
		for i := at; i < min(count, at+commitRows); i++ {
			r.add(index(i), i)
		}
		if err := w.WriteCommit(ctx, r.filled()); err != nil {
			return err
		}
	}
	return nil
}
