package pqt

// The pages of a column stay in memory until their row group ends, which may be
// some 100 MB later. They lie in blocks: one slice that grows would be copied
// again and again, and leave several times its bytes to the garbage collector.
const (
	blockBytesMin = 512
	blockBytesMax = 1 << 20
)

// blocks is bytes in the order in which they were appended.
type blocks struct {
	list [][]byte // all but the last that is in use are full
	used int      // blocks with bytes
	n    int
}

// size returns the number of bytes.
func (b *blocks) size() int { return b.n }

// reset empties b. It keeps the memory.
func (b *blocks) reset() {
	for i := range b.list[:b.used] {
		b.list[i] = b.list[i][:0]
	}
	b.used, b.n = 0, 0
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
		b.list = append(b.list, make([]byte, 0, min(max(b.n, bytes, blockBytesMin), blockBytesMax)))
	}
	b.used++
}
