package lookup

import (
	"bytes"
	"slices"
)

// A run is changes in memory, ascending by key and with one change a key: what a
// stage collected, or several of these merged.
type run struct {
	buf  []byte // keys and places of values in the log, end to end
	refs []ref
}

// ref is the place of a change in the buffer of its run: a key, then its value
// up to the next change.
type ref struct {
	head uint64 // keyHead of the key
	off  uint32
	klen uint32 // deleted in the highest bit
}

const (
	deleted    = 1 << 31
	refBytes   = 16
	runRefsMin = 1024
)

// sizes is about how large a run becomes.
type sizes struct{ bytes, changes int }

// runHintMax bounds the room that is made for a run beforehand.
const runHintMax = 2 << 20

func newRun(s sizes) *run {
	if s.changes == 0 {
		return new(run)
	}
	r := &run{
		buf:  make([]byte, 0, min(s.bytes+s.bytes/16, runHintMax)),
		refs: make([]ref, 0, min(s.changes+s.changes/16, runHintMax/refBytes)),
	}
	return r
}

func (r *run) len() int { return len(r.refs) }

// size returns the bytes that the run holds on to.
func (r *run) size() int64 { return int64(cap(r.buf)) + refBytes*int64(cap(r.refs)) }

func (r *run) key(i int) []byte {
	f := &r.refs[i]
	return r.buf[f.off : f.off+f.klen&^deleted]
}

func (r *run) deleted(i int) bool { return r.refs[i].klen&deleted != 0 }

func (r *run) value(i int) []byte {
	f := &r.refs[i]
	from, to := f.off+f.klen&^deleted, uint32(len(r.buf))
	if i+1 < len(r.refs) {
		to = r.refs[i+1].off
	}
	return r.buf[from:to:to]
}

// less tells whether the key of change i is less than the given one.
func (r *run) less(i int, head uint64, key []byte) bool {
	if h := r.refs[i].head; h != head {
		return h < head
	}
	return bytes.Compare(r.key(i), key) < 0
}

// seek returns the first change at or after from whose key is not less than the
// given one, looking nearby first.
func (r *run) seek(from int, head uint64, key []byte) int {
	n := len(r.refs)
	if from >= n || !r.less(from, head, key) {
		return from
	}
	// All up to lo are less; hi is not, or the end.
	lo, step := from, 1
	hi := from + 1
	for hi < n && r.less(hi, head, key) {
		lo = hi
		step *= 2
		hi = lo + step
	}
	hi = min(hi, n)
	for lo+1 < hi {
		if mid := int(uint(lo+hi) >> 1); r.less(mid, head, key) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// append adds a change behind all others.
func (r *run) append(head uint64, key, value []byte, klen uint32) {
	r.refs = append(r.refs, ref{head, uint32(len(r.buf)), klen})
	r.buf = append(append(r.buf, key...), value...)
}

// mergeRuns returns the changes of both, where a key in both has its newer one.
func mergeRuns(older, newer *run) *run {
	out := &run{
		buf:  make([]byte, 0, len(older.buf)+len(newer.buf)),
		refs: make([]ref, 0, len(older.refs)+len(newer.refs)),
	}
	i := 0
	for j := range newer.refs {
		f := &newer.refs[j]
		key := newer.key(j)
		to := older.seek(i, f.head, key)
		out.appendRange(older, i, to)
		i = to
		if i < len(older.refs) && older.refs[i].head == f.head && bytes.Equal(older.key(i), key) {
			i++
		}
		out.appendRange(newer, j, j+1)
	}
	out.appendRange(older, i, len(older.refs))
	return out
}

// appendRange adds changes from..to (exclusive) of src.
func (r *run) appendRange(src *run, from, to int) {
	if from >= to {
		return
	}
	start, end := src.refs[from].off, uint32(len(src.buf))
	if to < len(src.refs) {
		end = src.refs[to].off
	}
	shift := uint32(len(r.buf)) - start
	r.buf = append(r.buf, src.buf[start:end]...)
	at := len(r.refs)
	r.refs = append(r.refs, src.refs[from:to]...)
	for k := at; k < len(r.refs); k++ {
		r.refs[k].off += shift
	}
}

// compactRuns merges the newest runs as long as they are small and not much
// smaller than the one before, so that a search passes few of them.
func compactRuns(runs []*run, smallBytes int64) []*run {
	for len(runs) >= 2 {
		a, b := runs[len(runs)-2], runs[len(runs)-1]
		if int64(len(b.buf)) > smallBytes || 2*b.len() < a.len() {
			break
		}
		runs = append(slices.Clip(runs[:len(runs)-2]), mergeRuns(a, b))
	}
	return runs
}

// changesIn returns the number of changes.
func changesIn(runs []*run) int64 {
	n := int64(0)
	for _, r := range runs {
		n += int64(r.len())
	}
	return n
}

func runsSize(runs []*run) int64 {
	n := int64(0)
	for _, r := range runs {
		n += r.size()
	}
	return n
}
