package lookup

import (
	"bytes"
	"context"
)

// resident is what is held in memory of the pages of an index: where each of them
// ends and where in the log it is and, of an index that is small enough, the pages
// themselves, in which a search takes a tenth of the time. It is immutable once it
// is in use.
type resident struct {
	heads      []uint64 // of the fences, which ascend
	fences     [][]byte
	locs       []loc
	pages      [][]byte // nil: not held
	fenceBytes arena
	pageBytes  arena
}

const (
	// residentMax bounds what is held of an index.
	residentMax = 1 << 30
	// residentFence and residentPage are what a fence and a page take beside their
	// bytes.
	residentFence = 8 + 24 + 16
	residentPage  = 24
)

func newResident(pages bool) *resident {
	r := &resident{}
	if pages {
		r.pages = [][]byte{}
	}
	return r
}

func (r *resident) len() int { return len(r.heads) }

// bytes returns what is held.
func (r *resident) bytes() int64 {
	return r.fenceBytes.held + r.pageBytes.held + residentFence*int64(cap(r.heads)) + residentPage*int64(cap(r.pages))
}

// add puts a page behind the others.
func (r *resident) add(fence, page []byte, l loc) {
	r.heads, r.fences, r.locs = append(r.heads, keyHead(fence)), append(r.fences, r.fenceBytes.hold(fence)), append(r.locs, l)
	if r.pages != nil {
		r.pages = append(r.pages, r.pageBytes.hold(page))
	}
}

// fit lets go of the pages if all takes more than room; it is false if even the
// rest does.
func (r *resident) fit(room int64) bool {
	if r.bytes() > room {
		r.pages, r.pageBytes = nil, arena{}
	}
	return r.bytes() <= room
}

// arena is room for bytes that stay where they are.
type arena struct {
	chunk []byte // the last piece of it; those that are full are held by what is in them
	held  int64  // bytes of all pieces
}

// arenaChunkMin and arenaChunkMax bound how much room is made at a time: growing
// one piece for all would copy everything a few times.
const (
	arenaChunkMin = 4 << 10
	arenaChunkMax = 256 << 10
)

// hold copies bytes to where they stay.
func (a *arena) hold(b []byte) []byte {
	if len(b) > cap(a.chunk)-len(a.chunk) {
		n := max(min(max(int(a.held), arenaChunkMin), arenaChunkMax), len(b))
		a.chunk = make([]byte, 0, n)
		a.held += int64(n)
	}
	at := len(a.chunk)
	a.chunk = append(a.chunk, b...)
	return a.chunk[at:len(a.chunk):len(a.chunk)]
}

// isLess tells whether page i ends before a key.
func (r *resident) isLess(i int, head uint64, key []byte) bool {
	if h := r.heads[i]; h != head {
		// The last fence is greater than all keys, whatever its head.
		return h < head && i != len(r.heads)-1
	}
	return i != len(r.heads)-1 && bytes.Compare(r.fences[i], key) < 0
}

// seek returns the page that a key belongs to, at from or behind it.
func (r *resident) seek(from int, head uint64, key []byte) int {
	lo, step, hi := from, 1, from
	for hi < len(r.heads) && r.isLess(hi, head, key) {
		lo = hi + 1
		hi += step
		step *= 2
	}
	hi = min(hi, len(r.heads)-1)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); r.isLess(mid, head, key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// setResident replaces the pages in memory.
func (x *Index) setResident(r *resident) {
	n := int64(0)
	if r != nil {
		n = r.bytes()
	}
	x.inMemory = r
	x.cache.resident.Add(n - x.residentBytes.Swap(n))
}

// residentRoom returns how many bytes of pages may be held of the index.
func (x *Index) residentRoom() int64 {
	others := x.cache.resident.Load() - x.residentBytes.Load()
	return min(x.cache.opts.PageBytes-others, residentMax)
}

// hold reads fences into memory, and pages as well, if there is room.
func (x *Index) hold(ctx context.Context) error {
	if x.inMemory != nil || x.onDisk == nil || x.tooLarge {
		return nil
	}
	it, err := x.iterator()
	if err != nil {
		return err
	}
	r, room, all := newResident(false), x.residentRoom(), int64(0)
	for ok := it.SeekGE([]byte{dataPrefix}); ok && it.Key()[0] <= lastFence[0]; ok = it.Next() {
		if r.len()%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l, err := placeOf(it)
		if err != nil {
			return err
		}
		r.add(it.Key(), nil, l)
		all += int64(l.size) + residentPage
		if !r.fit(room) {
			x.tooLarge = true
			return nil
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	if r.bytes()+all <= room {
		if err := r.load(ctx, x.log); err != nil {
			return err
		}
	}
	if r.len() > 0 {
		x.setResident(r)
	}
	return nil
}

// load reads the pages.
func (r *resident) load(ctx context.Context, log *valueLog) error {
	read := pageReader{log: log}
	r.pages = make([][]byte, 0, r.len())
	for i, l := range r.locs {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b, err := read.page(r.fences[i], l)
		if err != nil {
			return err
		}
		r.pages = append(r.pages, r.pageBytes.hold(b))
	}
	return nil
}
