package lookup

import (
	"bytes"
	"context"
)

// resident is all pages of an index in memory, for an index that is small enough:
// a search in it takes a tenth of one in the database. It is immutable once it is
// in use.
type resident struct {
	heads  []uint64 // of the fences, which ascend
	fences [][]byte
	pages  [][]byte
	chunk  []byte // where fences and pages are put; those that are full are held by what is in them
	held   int64  // bytes of all chunks
}

const (
	// residentMax bounds the pages of an index that are held.
	residentMax = 1 << 30
	// residentChunkMin and residentChunkMax bound how much room is made for pages at
	// a time: growing one piece for all of them would copy each a few times.
	residentChunkMin = 4 << 10
	residentChunkMax = 256 << 10
	// residentPage is what a page takes beside its bytes and its fence's.
	residentPage = 8 + 24 + 24
)

func (r *resident) len() int { return len(r.heads) }

// bytes returns what the pages take.
func (r *resident) bytes() int64 { return r.held + residentPage*int64(cap(r.heads)) }

// add puts a page behind the others.
func (r *resident) add(fence, page []byte) {
	r.heads = append(r.heads, keyHead(fence))
	r.fences, r.pages = append(r.fences, r.hold(fence)), append(r.pages, r.hold(page))
}

// hold copies bytes to where they stay.
func (r *resident) hold(b []byte) []byte {
	if len(b) > cap(r.chunk)-len(r.chunk) {
		n := max(min(max(int(r.held), residentChunkMin), residentChunkMax), len(b))
		r.chunk = make([]byte, 0, n)
		r.held += int64(n)
	}
	at := len(r.chunk)
	r.chunk = append(r.chunk, b...)
	return r.chunk[at:len(r.chunk):len(r.chunk)]
}

func (r *resident) fence(i int) []byte { return r.fences[i] }

func (r *resident) page(i int) []byte { return r.pages[i] }

// isLess tells whether page i ends before a key.
func (r *resident) isLess(i int, head uint64, key []byte) bool {
	if h := r.heads[i]; h != head {
		// The last fence is greater than all keys, whatever its head.
		return h < head && i != len(r.heads)-1
	}
	return i != len(r.heads)-1 && bytes.Compare(r.fence(i), key) < 0
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

// hold reads all pages into memory if there is room.
func (x *Index) hold(ctx context.Context) error {
	if x.inMemory != nil || x.onDisk == nil || x.tooLarge {
		return nil
	}
	// Less than a page of one key takes nothing.
	if int64(x.meta.keys) > x.residentRoom() {
		x.tooLarge = true
		return nil
	}
	it, err := x.iterator()
	if err != nil {
		return err
	}
	r, room := new(resident), x.residentRoom()
	for ok := it.SeekGE([]byte{dataPrefix}); ok && it.Key()[0] <= lastFence[0]; ok = it.Next() {
		if r.len()%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		val, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		r.add(it.Key(), val)
		if r.bytes() > room {
			x.tooLarge = true
			return nil
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	if r.len() > 0 {
		x.setResident(r)
	}
	return nil
}
