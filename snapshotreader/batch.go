package snapshotreader

import (
	"slices"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// Batch is some rows of one unit of one snapshot.
//
// A batch of a [Tailer] owns its memory, Partition and the vectors included: it
// may be kept and shared for reading for as long as anybody likes. A batch of a
// [Scanner] is valid until the next call of its Next, unless ScanSpec.Keep is set.
type Batch struct {
	Snapshot  *paimon.Snapshot
	Phase     Phase
	Schema    *paimon.Schema // that of the snapshot; Rows has all its columns, or those that were asked for
	Partition []byte         // manifest form
	Bucket    int32
	Rows      rowdata.Changes // N 0: the position moves, nothing more
	At        Cursor          // names row 0
	Next      Cursor          // names what comes after the last row
	First     bool            // nothing of this snapshot's delivery comes before
	Last      bool            // nothing of this snapshot's delivery comes after
}

// Cursor names row i of the batch.
func (b *Batch) Cursor(i int) Cursor {
	if i == 0 {
		return b.At
	}
	return b.At.After(i)
}

// cut takes off the first n rows of a batch.
func (b *Batch) cut(n int) {
	rest := rowdata.NewBatch(b.Rows.Type, b.Rows.N-n)
	rest.AppendRange(&b.Rows.Batch, n, b.Rows.N)
	b.Rows.Batch = *rest
	if b.Rows.Kinds != nil {
		b.Rows.Kinds = b.Rows.Kinds[n:]
	}
	b.At = b.At.After(n)
	b.First = false
}

// splitsPair tells whether a batch ends between the two rows of an update, of
// which next has the second.
func (b *Batch) splitsPair(next *Batch) bool {
	n := b.Rows.N
	return n > 0 && next.Rows.N > 0 && b.At.Unit == next.At.Unit && b.Rows.Kinds != nil && next.Rows.Kinds != nil &&
		b.Rows.Kinds[n-1] == rowdata.UpdateBefore && next.Rows.Kinds[0] == rowdata.UpdateAfter
}

// giveLast moves the last row of a batch to the begin of the one that follows.
func (b *Batch) giveLast(next *Batch) {
	n := b.Rows.N - 1
	joined := rowdata.NewBatch(next.Rows.Type, next.Rows.N+1)
	joined.AppendRange(&b.Rows.Batch, n, n+1)
	joined.AppendRange(&next.Rows.Batch, 0, next.Rows.N)
	next.Rows.Batch = *joined
	next.Rows.Kinds = slices.Insert(next.Rows.Kinds, 0, b.Rows.Kinds[n])
	next.At = b.At.After(n)
	for _, v := range b.Rows.Cols {
		v.Truncate(n)
	}
	b.Rows.N, b.Rows.Kinds = n, b.Rows.Kinds[:n]
}
