package pqt

import "sync"

// The pages of a column stay in memory until their row group ends, which may be
// some 100 MB later. They lie in blocks: one slice that grows would be copied
// again and again, and leave several times its bytes to the garbage collector.
const (
	blockBytesMin = 512
	blockBytesMax = 256 << 10
)

// spareBlocks are the large blocks that no column chunk has now: those that one file
// has filled serve the next, as fresh memory would have to be cleared.
var spareBlocks = sync.Pool{New: func() any { return new([blockBytesMax]byte) }}

// blocks is bytes in the order in which they were appended.
type blocks struct {
	list [][]byte // all but the last that is in use are full
	used int      // blocks with bytes
	n    int
}

// size returns the number of bytes.
func (b *blocks) size() int { return b.n }

// reset empties b. It keeps small blocks and gives the large ones to others.
func (b *blocks) reset() {
	keep := 0
	for i, block := range b.list {
		if cap(block) == blockBytesMax {
			spareBlocks.Put((*[blockBytesMax]byte)(block[:blockBytesMax]))
			b.list[i] = nil
			continue
		}
		b.list[keep] = block[:0]
		keep++
	}
	b.list, b.used, b.n = b.list[:keep], 0, 0
}

// held returns the bytes of memory that b keeps when it is empty.
func (b *blocks) held() int {
	n := 0
	for _, block := range b.list {
		if cap(block) < blockBytesMax {
			n += cap(block)
		}
	}
	return n
}

// append copies p to the end.
func (b *blocks) append(p []byte) {
	b.n += len(p)
	for len(p) > 0 {
		if b.used == 0 || len(b.list[b.used-1]) == cap(b.list[b.used-1]) {
			b.next(len(p))
		}
		last := &b.list[b.used-1]
		take := min(len(p), cap(*last)-len(*last))
		*last = append(*last, p[:take]...)
		p = p[take:]
	}
}

// next begins a block: as large as all before, within bounds, and large enough for
// so many bytes if it may be.
func (b *blocks) next(bytes int) {
	if b.used == len(b.list) {
		size := min(max(b.n, bytes, blockBytesMin), blockBytesMax)
		if size == blockBytesMax {
			b.list = append(b.list, spareBlocks.Get().(*[blockBytesMax]byte)[:0])
		} else {
			b.list = append(b.list, make([]byte, 0, size))
		}
	}
	b.used++
}
