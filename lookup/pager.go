package lookup

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// pager brings changes into pages: a push, or a rebuild. It notes how that changes
// what lives in the log, and copies values out of segments that are to go.
type pager struct {
	log     *valueLog
	w       *tableWriter
	victims map[uint32]bool
	copy    *resident // of all that is written; nil: not wanted, or more than copyMax
	copyMax int64

	b       pageBuilder
	frame   frameWriter // values that come with the pages
	moved   []int       // entries of b whose places are relative to frame
	out     frameWriter // pages
	waiting []waiting   // those in out
	fences  []byte      // of these, end to end
	read    pageReader  // reads the present pages
	change  map[uint32]int64
	near    uint32 // a segment, and what has changed in it: most changes are in few
	nearBy  int64
	keys    int64 // more than before
	pages   int64 // more than before
	buf     []byte
	place   []byte
	fence   []byte // of the page that is being changed
	key     []byte
	val     []byte
	scratch page
}

// waiting is a page on its way to the log.
type waiting struct {
	l        loc // relative to the frame
	fenceEnd int
}

func newPager(log *valueLog, w *tableWriter, victims map[uint32]bool) *pager {
	frame := frameWriter{log: log, stage: noStage}
	p := &pager{log: log, w: w, victims: victims, frame: frame, out: frame, read: pageReader{log: log}, change: map[uint32]int64{}}
	p.out.seed = pageSeed(log.generation)
	return p
}

// lives notes that there is one key more, or one less, and where its value is.
func (p *pager) lives(keyBytes int, l loc, sign int64) {
	p.keys += sign
	if l.size > 0 {
		p.refers(keyBytes, l, sign)
	}
}

// refers notes that a record of the log is referred to from now on, or is not.
func (p *pager) refers(keyBytes int, l loc, sign int64) {
	if l.segment() != p.near {
		p.account()
		p.near = l.segment()
	}
	p.nearBy += sign * recordBytes(keyBytes, int(l.size))
}

// account moves what was noted last to where the rest is.
func (p *pager) account() {
	if p.nearBy != 0 {
		p.change[p.near] += p.nearBy
	}
	p.nearBy = 0
}

// add puts an entry behind the others.
func (p *pager) add(key []byte, l loc) error {
	if p.moves(l) {
		return p.move(key, l)
	}
	p.b.add(key, l)
	p.lives(len(key), l, 1)
	return nil
}

// moves tells whether a value is to be copied.
func (p *pager) moves(l loc) bool { return len(p.victims) > 0 && l.size > 0 && p.victims[l.segment()] }

// move copies a value to the end of the log.
func (p *pager) move(key []byte, l loc) error {
	r, err := p.log.reader(l.segment())
	if err != nil {
		return err
	}
	if p.val, err = readValue(r, key, l, p.val); err != nil {
		return err
	}
	p.addValue(key, p.val)
	return nil
}

// addValue puts an entry behind the others whose value is not in the log yet.
func (p *pager) addValue(key, value []byte) {
	l := p.frame.put(key, value, false)
	if l.size > 0 {
		p.moved = append(p.moved, p.b.len())
	} else {
		p.lives(len(key), l, 1)
	}
	p.b.add(key, l)
}

// settle gives all entries their places in the log.
func (p *pager) settle() error {
	if len(p.moved) == 0 {
		p.frame.buf = p.frame.buf[:0]
		return nil
	}
	base, err := p.frame.flush()
	if err != nil {
		return err
	}
	for _, i := range p.moved {
		l := &p.b.locs[i]
		l.addr += base
		p.lives(int(p.b.ends[i]-p.b.begin(i)), *l, 1)
	}
	p.moved = p.moved[:0]
	return nil
}

// write writes the first n entries as a page that ends at fence, or at the last of
// them if fence is nil.
func (p *pager) write(n int, fence []byte) error {
	if err := p.settle(); err != nil {
		return err
	}
	if fence == nil {
		fence = p.b.key(n - 1)
	}
	p.buf = p.b.encode(p.buf[:0], n)
	p.pages++
	l := p.out.put(fence, p.buf, false)
	p.fences = append(p.fences, fence...)
	p.waiting = append(p.waiting, waiting{l, len(p.fences)})
	p.b.cut(n)
	if p.out.full() {
		return p.flush()
	}
	return nil
}

// flush writes the pages that wait to the log, and where they are to the table.
func (p *pager) flush() error {
	if len(p.waiting) == 0 {
		return nil
	}
	held := p.hold() // the file may change the bytes that it is given
	base, err := p.out.flush()
	if err != nil {
		return err
	}
	from := 0
	for i, w := range p.waiting {
		fence, l := p.fences[from:w.fenceEnd], w.l
		l.addr += base
		p.refers(len(fence), l, 1)
		p.place = l.append(p.place[:0])
		if err := p.w.add(fence, p.place, false); err != nil {
			return err
		}
		if p.copy != nil {
			p.copy.locs[held+i] = l
		}
		from = w.fenceEnd
	}
	p.waiting, p.fences = p.waiting[:0], p.fences[:0]
	return nil
}

// hold copies the pages that wait to what is held in memory, if that is wanted and
// there is room, and returns the number of the first of them.
func (p *pager) hold() int {
	if p.copy == nil {
		return 0
	}
	first, from := p.copy.len(), 0
	for _, w := range p.waiting {
		p.copy.add(p.fences[from:w.fenceEnd], p.out.buf[frameHeader+w.l.addr:][:w.l.size], w.l)
		from = w.fenceEnd
	}
	if !p.copy.fit(p.copyMax) {
		p.copy = nil
	}
	return first
}

// room writes pages as long as there are more entries than fit one. With even,
// pages of about the same size are made of what is in one place.
func (p *pager) room(even bool) error {
	n, large := p.b.len(), len(p.b.keys) >= pageBytesMax
	switch {
	case even && (n >= pageKeysMax || large && n > 1):
		return p.write(n/2, nil) // never all: the last is at the fence, maybe
	case !even && (n >= pageKeys || large):
		return p.write(n, nil)
	}
	return nil
}

// Entries whose values are not in the log yet are collected until there are values
// enough to be written, or so many keys.
const (
	gatherKeys  = 32 * pageKeys
	gatherBytes = 4 * pageBytesMax
)

// roomForValues is room of entries that addValue puts.
func (p *pager) roomForValues() error {
	if !p.frame.full() && p.b.len() < gatherKeys && len(p.b.keys) < gatherBytes {
		return nil
	}
	return p.writeFull()
}

// writeFull writes pages of the entries as long as these fill one.
func (p *pager) writeFull() error {
	if err := p.settle(); err != nil {
		return err
	}
	for n := p.b.full(); n > 0; n = p.b.full() {
		if err := p.write(n, nil); err != nil {
			return err
		}
	}
	return nil
}

// all writes all pages anew: those of the database with the changes in them.
func (p *pager) all(ctx context.Context, it *pebble.Iterator, m *merger) error {
	c, err := m.next()
	if err != nil {
		return err
	}
	n := 0
	for ok := it.SeekGE([]byte{dataPrefix}); ok && it.Key()[0] <= lastFence[0]; ok = it.Next() {
		if n++; n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if c, err = p.merge(it, m, c, false); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	if c, err = p.rest(m, c, nil, false); err != nil {
		return err
	}
	if c != nil {
		return fmt.Errorf("%w: a change behind the last page", pebble.ErrCorruption)
	}
	return p.write(p.b.len(), lastFence)
}

// some writes the pages anew in which there are changes.
func (p *pager) some(ctx context.Context, it *pebble.Iterator, m *merger) error {
	c, err := m.next()
	for n := 1; c != nil && err == nil; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !it.SeekGE(c.key) {
			if err := it.Error(); err != nil {
				return err
			}
			return fmt.Errorf("%w: no last page", pebble.ErrCorruption)
		}
		p.fence = append(p.fence[:0], it.Key()...)
		if c, err = p.merge(it, m, c, true); err != nil {
			return err
		}
		if c, err = p.rest(m, c, p.fence, true); err != nil {
			return err
		}
		if p.b.len() == 0 && !bytes.Equal(p.fence, lastFence) {
			if err := p.flush(); err != nil { // the table ascends
				return err
			}
			if err := p.w.add(p.fence, nil, true); err != nil {
				return err
			}
			continue
		}
		if err := p.write(p.b.len(), p.fence); err != nil {
			return err
		}
	}
	return err
}

// merge adds the entries of the present page with the changes up to the last of
// them. It returns the first change that is left.
func (p *pager) merge(it *pebble.Iterator, m *merger, c *cursor, even bool) (*cursor, error) {
	l, err := placeOf(it)
	if err != nil {
		return nil, err
	}
	b, err := p.read.page(it.Key(), l)
	if err != nil {
		return nil, err
	}
	p.pages--
	p.refers(len(it.Key()), l, -1)
	g := &p.scratch
	if !decodePage(b, g) {
		return nil, fmt.Errorf("%w: page", pebble.ErrCorruption)
	}
	for i := 0; i < g.n; {
		to, found := g.n, false
		if c != nil {
			to, found = g.seek(i, c.key)
		}
		if err := p.keep(g, i, to, even); err != nil {
			return nil, err
		}
		i = to
		if c == nil {
			continue
		}
		if found {
			p.lives(len(c.key), g.loc(i), -1)
			i++
		} else if i == g.n {
			break
		}
		if err := p.put(c, even); err != nil {
			return nil, err
		}
		if c, err = m.next(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// keep adds entries of a page as they are.
func (p *pager) keep(g *page, from, to int, even bool) error {
	if len(p.victims) == 0 {
		for from < to {
			n := min(to-from, pageKeys-p.b.len()%pageKeys, 1+pageBytesMax/g.keyBytes(from))
			p.b.addRange(g, from, from+n)
			from += n
			if err := p.room(even); err != nil {
				return err
			}
		}
		return nil
	}
	for ; from < to; from++ {
		l := g.loc(from)
		p.key = g.appendKey(p.key[:0], from)
		p.lives(len(p.key), l, -1)
		if err := p.add(p.key, l); err != nil {
			return err
		}
		if err := p.room(even); err != nil {
			return err
		}
	}
	return nil
}

// put adds a change, unless it is a deletion.
func (p *pager) put(c *cursor, even bool) error {
	if c.del {
		return nil
	}
	l, ok := loc{}, len(c.value) == 0
	if !ok {
		l, ok = decodeLoc(c.value)
	}
	if !ok {
		return errValue
	}
	if err := p.add(c.key, l); err != nil {
		return err
	}
	return p.room(even)
}

// rest adds the changes up to fence, or all if it is nil, behind the entries of
// the last page.
func (p *pager) rest(m *merger, c *cursor, fence []byte, even bool) (*cursor, error) {
	for c != nil && (fence == nil || bytes.Compare(c.key, fence) <= 0) {
		if err := p.put(c, even); err != nil {
			return nil, err
		}
		var err error
		if c, err = m.next(); err != nil {
			return nil, err
		}
	}
	return c, nil
}
