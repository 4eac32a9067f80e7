package lsm

import (
	"context"
	"fmt"

	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Records are sorted into batches on their way to a file: few enough for a
// processor's cache, and of bounded size if they are large.
const (
	batchRows  = 4096
	batchBytes = 8 << 20
)

// rowsIn returns how many rows of a size fit so many bytes: at least one, at most
// rowsMax.
func rowsIn(bytes, rowBytes int64, rowsMax int) int {
	return int(min(int64(rowsMax), max(1, bytes/max(rowBytes, 1))))
}

// SpillOptions say how write buffers use local disk.
type SpillOptions struct {
	// Dir is the folder for spilled runs; "" means none: a full buffer is
	// flushed to level 0. The files have no name once they are open, so that
	// nothing is left behind after a crash.
	Dir string
	// BytesMax bounds what is on disk at once; 0 means no bound. Beyond it a
	// full buffer is flushed (write-buffer-spill.max-disk-size).
	BytesMax int64
	// FilesMax bounds the spilled runs of one buffer; 128 if 0. Beyond it they
	// are merged into one (local-sort.max-num-file-handles).
	FilesMax int
	// Uncompressed writes runs as they are instead of with zstd level 1.
	Uncompressed bool
}

// Stats count what the writers of a pool did.
type Stats struct {
	Flushes      int64 // buffers written to level 0
	EarlyFlushes int64 // of these, for want of memory
	Spills       int64 // sorted runs written to local disk
	SpillErrors  int64 // spills that failed, so that the buffer was flushed
	SpilledBytes int64 // bytes of these runs, compressed
	RowsIn       int64 // records buffered
	RowsOut      int64 // records written to data files
	FilesOut     int64 // data and changelog files finished
	BytesOut     int64 // their bytes
}

func (s *Stats) add(files []manifest.DataFile) {
	for i := range files {
		s.FilesOut++
		s.BytesOut += files[i].FileSize
	}
}

// wrote counts the records of data files.
func (s *Stats) wrote(files []manifest.DataFile) {
	for i := range files {
		s.RowsOut += files[i].RowCount
	}
}

// Pool is memory that the write buffers of many buckets share. It belongs to one
// goroutine, with all its writers.
type Pool struct {
	limit   int64
	used    int64 // by buffers
	lent    int64 // of these, by buffers that are being compacted
	free    []*rowdata.KeyValues
	freeRes int64 // bytes that free chunks may hold
	members []member

	spill   SpillOptions
	spilled int64 // on disk now
	codec   *spillCodec

	sorter sorter
	copier copier
	batch  *rowdata.KeyValues // scratch for sorted records on their way to a file
	sizing sizing
	stats  Stats
}

// member is a writer as its pool sees it.
type member interface {
	buffered() int64
	// shrink frees the buffer's memory by spilling or flushing it.
	shrink(ctx context.Context) error
}

// NewPool returns a pool of limitBytes (write-buffer-size).
func NewPool(limitBytes int64, spill SpillOptions) *Pool {
	if spill.FilesMax <= 0 {
		spill.FilesMax = 128
	}
	return &Pool{limit: limitBytes, spill: spill}
}

// Used returns the bytes that buffers occupy.
func (p *Pool) Used() int64 { return p.used }

// Lent returns how many of these bytes belong to buffers that are being compacted
// ([Writer.Detach]). They cannot make room: rows that do not fit beside them go over
// the limit.
func (p *Pool) Lent() int64 { return p.lent }

// Limit returns the bytes that buffers may occupy.
func (p *Pool) Limit() int64 { return p.limit }

// TakeStats returns the counts since the last call.
func (p *Pool) TakeStats() Stats {
	s := p.stats
	p.stats = Stats{}
	return s
}

// Close frees what the pool keeps for its writers, which must be closed before.
func (p *Pool) Close() {
	if p.codec != nil {
		p.codec.close()
	}
	p.free, p.freeRes, p.batch, p.codec = nil, 0, nil, nil
	p.sorter, p.copier = sorter{}, copier{}
}

// TooLargeError says that records do not fit into the write buffer at all.
type TooLargeError struct {
	Bytes, Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("records of %d bytes do not fit the write buffer of %d bytes: raise write-buffer-size or write smaller batches", e.Bytes, e.Limit)
}

// reserve makes room for bytes more, the largest buffer first.
func (p *Pool) reserve(ctx context.Context, bytes int64) error {
	if bytes > p.limit {
		return &TooLargeError{Bytes: bytes, Limit: p.limit}
	}
	if p.used+p.freeRes+bytes > p.limit {
		p.free, p.freeRes = nil, 0
	}
	for p.used+bytes > p.limit {
		var largest member
		for _, m := range p.members {
			if largest == nil || m.buffered() > largest.buffered() {
				largest = m
			}
		}
		if largest == nil || largest.buffered() == 0 {
			if p.lent > 0 {
				return nil // over the limit, until the compactions that read it are done
			}
			return &TooLargeError{Bytes: bytes, Limit: p.limit}
		}
		if err := largest.shrink(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pool) join(m member) { p.members = append(p.members, m) }

func (p *Pool) leave(m member) {
	for i, x := range p.members {
		if x == m {
			last := len(p.members) - 1
			p.members[i] = p.members[last]
			p.members[last] = nil
			p.members = p.members[:last]
			return
		}
	}
}

// chunk returns an empty chunk. A buffer's first one is always new and grows
// with its rows, so that a small buffer does not sit on a large chunk.
func (p *Pool) chunk(t *rowdata.RowType, reuse bool) *rowdata.KeyValues {
	if n := len(p.free); reuse && n > 0 && p.free[n-1].Type == t {
		kv := p.free[n-1]
		p.free = p.free[:n-1]
		p.freeRes -= p.freeRes / int64(n)
		return kv
	}
	if reuse {
		return rowdata.NewKeyValues(t, chunkRows)
	}
	return rowdata.NewKeyValues(t, 0)
}

// release takes chunks back and keeps the full ones while there is room.
func (p *Pool) release(chunks []*rowdata.KeyValues) {
	for _, kv := range chunks {
		size := recordBytes(kv)
		if kv.N < chunkRows || p.used+p.freeRes > p.limit {
			continue
		}
		kv.Reset()
		p.free = append(p.free, kv)
		p.freeRes += size
	}
}

// scratch returns the batch that sorted records pass through.
func (p *Pool) scratch(t *rowdata.RowType) *rowdata.KeyValues {
	if p.batch == nil || p.batch.Type != t {
		p.batch = rowdata.NewKeyValues(t, batchRows)
	}
	p.batch.Reset()
	return p.batch
}
