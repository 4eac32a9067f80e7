package lookup

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2/sstable"
)

// A cursor walks over the changes of a run or of a table, ascending.
type cursor struct {
	run   *run
	i     int
	table sstable.Iterator

	ok    bool
	head  uint64
	key   []byte
	value []byte
	del   bool
}

// cursorsOf returns a cursor for each run.
func cursorsOf(runs []*run) []*cursor {
	cursors := make([]*cursor, len(runs))
	for i, r := range runs {
		cursors[i] = &cursor{run: r}
	}
	return cursors
}

func (c *cursor) first() error {
	if c.table != nil {
		return c.move(moveFirst, nil)
	}
	c.i = -1
	return c.next()
}

func (c *cursor) next() error {
	if c.table != nil {
		return c.move(moveNext, nil)
	}
	c.i++
	if c.ok = c.i < len(c.run.refs); c.ok {
		c.head, c.key, c.value, c.del = c.run.refs[c.i].head, c.run.key(c.i), c.run.value(c.i), c.run.deleted(c.i)
	}
	return nil
}

// seek goes to the first key of a table that is not less than the given one.
func (c *cursor) seek(key []byte) error { return c.move(moveSeek, key) }

// The ways to move in a table.
const (
	moveFirst = iota
	moveNext
	moveSeek
)

func (c *cursor) move(how int, key []byte) error {
	kv := none(c.table.First) // its type has no name that we may use
	switch how {
	case moveFirst:
		kv = c.table.First()
	case moveNext:
		kv = c.table.Next()
	case moveSeek:
		kv = c.table.SeekGE(key, 0)
	}
	if c.ok = kv != nil; !c.ok {
		return c.table.Error()
	}
	val, _, err := kv.Value(nil)
	if err != nil {
		return err
	}
	c.key, c.value = kv.K.UserKey, val
	c.head, c.del = keyHead(c.key), kv.K.Kind() == sstable.InternalKeyKindDelete
	return nil
}

// none returns the zero value of what f returns.
func none[T any](func() T) (z T) { return z }

func (c *cursor) less(o *cursor) bool {
	if c.head != o.head {
		return c.head < o.head
	}
	return bytes.Compare(c.key, o.key) < 0
}

// A merger walks over the changes of several cursors as one: ascending, and for
// each key the change of the last cursor that has it.
type merger struct {
	cursors []*cursor // older first
	top     *cursor
}

func newMerger(cursors []*cursor) (*merger, error) {
	m := &merger{cursors: cursors}
	for _, c := range cursors {
		if err := c.first(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// next goes to the next key; it returns nil at the end. There are few cursors, so
// that looking at each of them is the fastest way.
func (m *merger) next() (*cursor, error) {
	if t := m.top; t != nil {
		for _, c := range m.cursors {
			if c != t && c.ok && c.head == t.head && bytes.Equal(c.key, t.key) {
				if err := c.next(); err != nil {
					return nil, err
				}
			}
		}
		if err := t.next(); err != nil {
			return nil, err
		}
	}
	m.top = nil
	for _, c := range m.cursors {
		if c.ok && (m.top == nil || !m.top.less(c)) {
			m.top = c
		}
	}
	return m.top, nil
}
