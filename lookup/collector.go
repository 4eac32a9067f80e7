package lookup

import "bytes"

// collector takes changes in the order in which they are made and keeps them as
// sorted runs. Keys ascend within a pass; a key that does not begins a new one,
// whose changes are newer.
type collector struct {
	runs       []*run // older first; the last one is being filled
	mergeBytes int64  // runs up to this size are merged with others
	sizeHint   sizes  // of the first run, which saves growing it step by step
}

// add puts a change behind the others. It returns the run that it is in, and
// whether it took the place of the change before.
func (c *collector) add(key, value []byte, flag uint32) (r *run, replaced bool) {
	head := keyHead(key)
	if len(c.runs) == 0 {
		c.runs = append(c.runs, newRun(c.sizeHint))
	}
	r = c.runs[len(c.runs)-1]
	if n := r.len(); n > 0 {
		last := &r.refs[n-1]
		switch {
		case last.head < head:
		case last.head == head && bytes.Compare(r.key(n-1), key) < 0:
		case last.head == head && bytes.Equal(r.key(n-1), key):
			// A key may be put and deleted in a row; the last change counts.
			r.buf, r.refs = r.buf[:last.off], r.refs[:n-1]
			replaced = true
		default:
			c.runs = append(compactRuns(c.runs, c.mergeBytes), new(run))
			r = c.runs[len(c.runs)-1]
		}
	}
	r.append(head, key, value, uint32(len(key))|flag)
	return r, replaced
}

// startsPass tells whether a key begins a new pass.
func (c *collector) startsPass(key []byte) bool {
	if len(c.runs) == 0 {
		return false
	}
	r := c.runs[len(c.runs)-1]
	n := r.len()
	if n == 0 {
		return false
	}
	head, last := keyHead(key), r.refs[n-1].head
	return head < last || head == last && bytes.Compare(key, r.key(n-1)) < 0
}

// bytes returns how much is held.
func (c *collector) bytes() int64 {
	n := int64(0)
	for _, r := range c.runs {
		n += int64(len(r.buf)) + refBytes*int64(len(r.refs))
	}
	return n
}

// merged returns all changes as one run, or nil if there are none.
func (c *collector) merged() *run {
	for len(c.runs) > 1 {
		n := len(c.runs)
		c.runs = append(c.runs[:n-2], mergeRuns(c.runs[n-2], c.runs[n-1]))
	}
	if len(c.runs) == 0 || c.runs[0].len() == 0 {
		return nil
	}
	return c.runs[0]
}
