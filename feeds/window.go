package feeds

import "sort"

// window is the newest part of a feed's stream: consecutive frames, bounded in
// bytes. It has no lock of its own; the feed's guards it.
type window struct {
	maxBytes int

	frames []*Frame // oldest first
	next   uint64   // place of the frame that comes next; places only grow
	head   Cursor   // position after the newest frame
	bytes  int      // held by frames, encodings included
	total  uint64   // decoded bytes appended so far
	evicts int64    // frames dropped so far
}

// first returns the place of the oldest frame.
func (w *window) first() uint64 { return w.next - uint64(len(w.frames)) }

// at returns the frame at a place that is in the window.
func (w *window) at(seq uint64) *Frame { return w.frames[seq-w.first()] }

// reset empties the window: the next frame begins at head.
func (w *window) reset(head Cursor) {
	clear(w.frames)
	w.frames, w.bytes, w.head = w.frames[:0], 0, head
	w.next++ // so that a position at the old head is not one at the new head
}

// append adds a frame at the end and drops old ones if there are too many
// bytes. The newest frame always stays.
func (w *window) append(f *Frame) {
	f.seq, f.before = w.next, w.total
	w.next++
	w.total += uint64(f.size)
	w.bytes += f.size
	w.head = f.Next
	w.frames = append(w.frames, f)
	w.evict()
}

// has tells whether a frame is in the window.
func (w *window) has(f *Frame) bool {
	return f.seq >= w.first() && f.seq < w.next && w.at(f.seq) == f
}

// replace puts a frame in the place of one that is in the window.
func (w *window) replace(f, by *Frame) {
	w.frames[f.seq-w.first()] = by
	w.bytes += by.size - f.size
}

// grow counts bytes that a frame of the window takes from now on.
func (w *window) grow(f *Frame, bytes int) {
	f.size += bytes
	w.bytes += bytes
	w.evict()
}

func (w *window) evict() {
	n := 0
	for w.bytes > w.maxBytes && n < len(w.frames)-1 {
		w.bytes -= w.frames[n].size
		w.frames[n] = nil
		n++
	}
	if n == 0 {
		return
	}
	w.evicts += int64(n)
	w.frames = w.frames[n:]
}

// ahead returns the decoded bytes from a place to the head.
func (w *window) ahead(seq uint64) int {
	switch {
	case len(w.frames) == 0 || seq >= w.next:
		return 0
	case seq < w.first():
		return w.bytes
	}
	return int(w.total - w.at(seq).before)
}

// find looks up a position. In the window, it returns the place to go on from,
// and the rows of that frame to pass over; the place after the newest frame is
// in the window too. c skips no rows. Otherwise it tells whether the position is after the head.
func (w *window) find(c Cursor) (seq uint64, skip int, in, after bool) {
	if c.Table != w.head.Table || c.Branch != w.head.Branch {
		return 0, 0, false, false
	}
	i := sort.Search(len(w.frames), func(i int) bool { return w.frames[i].At.Compare(c) >= 0 })
	if i < len(w.frames) && w.frames[i].At.Compare(c) == 0 {
		return w.first() + uint64(i), 0, true, false
	}
	if i == len(w.frames) {
		if c.Compare(w.head) == 0 {
			return w.next, 0, true, false
		}
		after = c.Compare(w.head) > 0
	}
	if i > 0 {
		f := w.frames[i-1]
		if f.Kind == FrameRows && f.At.Snapshot == c.Snapshot && f.At.Phase == c.Phase && f.At.Unit == c.Unit {
			switch rows := c.Row - f.At.Row; {
			case rows < uint64(f.n()):
				return f.seq, int(rows), true, false
			case rows == uint64(f.n()): // the end of a unit is the begin of the next
				return f.seq + 1, 0, true, false
			}
		}
	}
	return 0, 0, false, after
}

// cursor returns the position of a row in the window, as its frame names it.
func (w *window) cursor(seq uint64, skip int) Cursor {
	if seq == w.next {
		return w.head
	}
	if at := w.at(seq).At; skip > 0 {
		return at.After(skip)
	} else {
		return at
	}
}
