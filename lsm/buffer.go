package lsm

import (
	"io"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

const (
	chunkBits  = 14
	chunkRows  = 1 << chunkBits // rows of a chunk at most
	chunkBytes = 32 << 20       // a chunk of this many bytes takes no more rows

	// rowOverhead is what a row takes beside its values: sequence number and
	// kind, and its entries while the buffer is sorted.
	rowOverhead = 8 + 1 + 2*entryBytes
	entryBytes  = 16
)

// ref names a row of a buffer: chunk and row in it. Refs ascend in the order of
// arrival.
type ref uint32

func refOf(chunk, row int) ref { return ref(chunk<<chunkBits | row) }
func (r ref) chunk() int32     { return int32(r >> chunkBits) }
func (r ref) row() int32       { return int32(r & (chunkRows - 1)) }

// buffer is an append-only arena of records in columns. It grows by chunks, so
// that rows are never moved and chunks can be used again.
type buffer struct {
	typ    *rowdata.RowType
	pool   *Pool
	keyed  bool // records have sequence numbers and kinds
	chunks []*rowdata.KeyValues
	rows   int
	bytes  int64 // charged to the pool
	open   int64 // of these, what is charged for the last chunk
}

// append copies the rows of src at the positions idx, or all if idx is nil, and
// numbers them from seq on. The caller has made room in the pool.
func (b *buffer) append(src *rowdata.Changes, idx []int32, seq int64) {
	n := len(idx)
	if idx == nil {
		n = src.N
	}
	for at := 0; at < n; {
		kv := b.last()
		take := min(n-at, chunkRows-kv.N)
		if idx == nil {
			kv.Batch.AppendRange(&src.Batch, at, at+take)
		} else {
			kv.Batch.Gather(&src.Batch, idx[at:at+take])
		}
		if b.keyed {
			for range take {
				kv.Seq = append(kv.Seq, seq)
				seq++
			}
			kv.Kinds = appendKinds(kv.Kinds, src.Kinds, idx, at, at+take)
		}
		at += take
		b.rows += take
		b.charge(kv)
	}
}

func appendKinds(dst, src []rowdata.RowKind, idx []int32, from, to int) []rowdata.RowKind {
	switch {
	case src == nil:
		for range to - from {
			dst = append(dst, rowdata.Insert)
		}
	case idx == nil:
		dst = append(dst, src[from:to]...)
	default:
		for _, i := range idx[from:to] {
			dst = append(dst, src[i])
		}
	}
	return dst
}

// last returns the chunk that takes the next row.
func (b *buffer) last() *rowdata.KeyValues {
	if n := len(b.chunks); n > 0 {
		if kv := b.chunks[n-1]; kv.N < chunkRows && b.open < chunkBytes {
			return kv
		}
	}
	kv := b.pool.chunk(b.typ, len(b.chunks) > 0)
	b.chunks = append(b.chunks, kv)
	b.open = 0
	return kv
}

// charge settles what the last chunk takes with the pool.
func (b *buffer) charge(kv *rowdata.KeyValues) {
	size := recordBytes(kv)
	b.pool.used += size - b.open
	b.bytes += size - b.open
	b.open = size
}

// recordBytes is what the records of a chunk count for.
func recordBytes(kv *rowdata.KeyValues) int64 {
	return int64(kv.MemSize()) + int64(kv.N)*rowOverhead
}

// reset empties the buffer and gives its memory back.
func (b *buffer) reset() {
	b.pool.used -= b.bytes
	b.pool.release(b.chunks)
	b.chunks, b.rows, b.bytes, b.open = nil, 0, 0, 0
}

// sortedRun is the records of a buffer in merge order, as a source of a merge.
// What folding has dropped is passed over.
type sortedRun struct {
	chunks  []*rowdata.KeyValues
	entries []entry
	copier  *copier
	rows    int // of a batch

	// Entries name rows all over the chunks. Those of a batch touch most of the
	// memory of a column, for a few rows each; those of a block use it again while
	// it is in the processor's cache.
	block     *rowdata.KeyValues // nil: batches are gathered one by one
	blockRows int
	at        int // rows of the block that are delivered
}

// blockRowsMax is how many rows are gathered at once where memory allows.
const blockRowsMax = 64 << 10

// rowBytes returns what a row counts for on average.
func (b *buffer) rowBytes() int64 { return b.bytes / int64(max(b.rows, 1)) }

// run returns the entries of the buffer as a source whose batches are as large
// as a block of a spilled run.
func (b *buffer) run(entries []entry) *sortedRun {
	return &sortedRun{
		chunks: b.chunks, entries: entries, copier: &b.pool.copier, rows: rowsIn(spillBatchBytes, b.rowBytes(), spillBatchRows),
	}
}

// Next implements [merge.Source].
func (s *sortedRun) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	if s.block == nil || s.at == s.block.N && len(s.entries) <= s.rows {
		if len(s.entries) == 0 {
			return 0, io.EOF
		}
		s.gather(dst, s.rows)
		return dst.N, nil
	}
	if s.at == s.block.N {
		s.block.Reset()
		s.gather(s.block, s.blockRows)
		s.at = 0
	}
	n := min(s.rows, s.block.N-s.at)
	dst.AppendRange(s.block, s.at, s.at+n)
	s.at += n
	return n, nil
}

// gather appends the next rows.
func (s *sortedRun) gather(dst *rowdata.KeyValues, rows int) {
	s.entries = s.entries[s.copier.take(s.entries, rows, false):]
	s.copier.gatherer.Append(dst, s.chunks, s.copier.stretches)
}

// copier turns entries into stretches of chunks and copies them. It is scratch
// memory that the writers of a pool share.
type copier struct {
	stretches []merge.Stretch
	gatherer  merge.Gatherer
}

// take replaces the stretches by those of the first entries, up to rows of them,
// and returns how many entries that were. Rows that follow one another in a
// chunk are joined. Entries that were dropped are passed over unless all are
// wanted.
func (c *copier) take(entries []entry, rows int, all bool) (taken int) {
	st := c.stretches[:0]
	for i := range entries {
		e := &entries[i]
		if e.dropped && !all {
			continue
		}
		if rows == 0 {
			c.stretches = st
			return i
		}
		rows--
		chunk, row := e.ref.chunk(), e.ref.row()
		st = merge.AppendStretch(st, chunk, row, row+1)
	}
	c.stretches = st
	return len(entries)
}
