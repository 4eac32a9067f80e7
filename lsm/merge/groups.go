package merge

import (
	"io"

	"sluice/paimon/rowdata"
)

// Groups is a batch of records cut into keys. A key is never split between
// batches.
type Groups struct {
	Plan    Plan               // the step that the records belong to
	Records *rowdata.KeyValues // in merge order
	Levels  []int32            // of each record: 0, or the level of the file it came from
	Ends    []int32            // Ends[g] is one past the last record of key g
}

// NewGroups returns an empty batch for records of type t.
func NewGroups(t *rowdata.RowType, p Plan) *Groups {
	return &Groups{Plan: p, Records: rowdata.NewKeyValues(t, 0)}
}

// Len returns the number of keys.
func (g *Groups) Len() int { return len(g.Ends) }

// Reset empties the batch and keeps its memory.
func (g *Groups) Reset() {
	g.Records.Reset()
	g.Levels, g.Ends = g.Levels[:0], g.Ends[:0]
}

// LeveledSource is a run whose records know their level: files that do not
// overlap make up a run even if they are on different levels.
type LeveledSource interface {
	Source
	// Level returns the level of the records that the last call of Next returned.
	Level() int32
}

// OnLevel returns a source whose records are all on one level.
func OnLevel(s Source, level int32) LeveledSource { return &onLevel{Source: s, level: level} }

type onLevel struct {
	Source
	level int32
}

func (s *onLevel) Level() int32 { return s.level }

// Close closes the source if it can be closed.
func (s *onLevel) Close() error { return closeSource(s.Source) }

// GroupIter merges runs as [Iter] does, but hands out all records of each key
// instead of folding them. Stretches of one run that no other run reaches into are
// copied whole. It is not safe for concurrent use.
type GroupIter struct {
	it     Iter
	runs   []LeveledSource
	levels []int32 // of the current batch of each run
	last   last
}

// last is the record that was taken last, of the open group.
type last struct {
	open   bool
	prefix uint64
	exact  bool
	record record // valid while it is not copied yet
	copied bool   // it is the last record of the batch
}

// NewGroupIter returns the groups of the runs, which are sorted by the key that
// key compares; o is the order of records within a key. With Options.UniqueKeys a
// single run is handed on as it is; Options.DropDeletes has no meaning here. The
// runs begin to be read with the first call of Next.
func NewGroupIter(runs []LeveledSource, key *rowdata.Comparer, o Order, opts Options) *GroupIter {
	sources := make([]Source, len(runs))
	for i, r := range runs {
		sources[i] = r
	}
	opts.DropDeletes = false
	return &GroupIter{it: *NewIter(sources, key, o, Engine{}, opts), runs: runs, levels: make([]int32, len(runs))}
}

// Next resets dst and fills it with the next keys. It returns their number, or 0
// and io.EOF at the end. There are about Options.BatchRows records at most: a batch
// ends with the key that reaches the bound. An error is returned again by every
// later call.
func (g *GroupIter) Next(dst *Groups) (int, error) {
	dst.Reset()
	if g.it.err == nil {
		g.it.err = g.fill(dst)
	}
	if n := dst.Len(); n > 0 && (g.it.err == nil || g.it.err == io.EOF) {
		return n, nil
	}
	return 0, g.it.err
}

// Close closes the runs that can be closed.
func (g *GroupIter) Close() error { return g.it.Close() }

func (g *GroupIter) fill(dst *Groups) error {
	if len(g.runs) == 1 && g.it.opts.UniqueKeys {
		return g.pass(dst)
	}
	it := &g.it
	if !it.begun {
		if err := it.begin(dst.Records); err != nil {
			return err
		}
		for s, r := range g.runs {
			g.levels[s] = r.Level()
		}
	}
	g.last.open = false
	streak := 0
	for {
		s := it.win
		c := &it.cur[s]
		if c.done {
			g.finish(dst)
			return io.EOF
		}
		if g.last.open && !g.sameKey(dst.Records, c) {
			if len(dst.Levels) >= it.limit {
				g.finish(dst)
				return nil
			}
			g.closeGroup(dst)
		}
		g.take(dst, s, c)
		if streak++; streak > streakMin && c.pos < c.n {
			g.runAhead(dst, s, c)
		}
		if c.pos < c.n {
			it.head[s] = c.prefix[c.pos]
		} else if err := g.refill(dst, s); err != nil {
			return err
		}
		if it.replay(); it.win != s {
			streak = 0
		}
	}
}

// pass hands on the batches of a single run.
func (g *GroupIter) pass(dst *Groups) error {
	for dst.Records.N == 0 {
		if _, err := g.runs[0].Next(dst.Records); err != nil {
			return err
		}
	}
	level := g.runs[0].Level()
	for i := range dst.Records.N {
		dst.Levels, dst.Ends = append(dst.Levels, level), append(dst.Ends, int32(i+1))
	}
	return nil
}

// take adds the record at the cursor to the open group, or opens one with it.
func (g *GroupIter) take(dst *Groups, s int32, c *cursor) {
	i := int32(c.pos)
	g.it.push(s, i, i+1)
	dst.Levels = append(dst.Levels, g.levels[s])
	g.last = last{open: true, prefix: c.prefix[i], exact: c.exact, record: record{s, i}}
	c.pos++
}

// closeGroup ends the open group.
func (g *GroupIter) closeGroup(dst *Groups) { dst.Ends = append(dst.Ends, int32(len(dst.Levels))) }

// finish ends the batch with the open group.
func (g *GroupIter) finish(dst *Groups) {
	if g.last.open {
		g.closeGroup(dst)
	}
	g.last.open = false
	g.it.flush(dst.Records)
}

// sameKey tells whether the record at the cursor is of the open group's key.
func (g *GroupIter) sameKey(records *rowdata.KeyValues, c *cursor) bool {
	l := &g.last
	switch {
	case l.prefix != c.prefix[c.pos]:
		return false
	case l.exact && c.exact:
		return true
	case l.copied:
		return g.it.key.Equal(&records.Batch, records.N-1, &c.kv.Batch, c.pos)
	}
	return g.it.key.Equal(&g.it.batches[l.record.batch].Batch, int(l.record.row), &c.kv.Batch, c.pos)
}

// runAhead takes records of the winner that come before any record of another run
// and whose prefixes differ: each a key of its own, copied together.
func (g *GroupIter) runAhead(dst *Groups, s int32, c *cursor) {
	room := g.it.limit - len(dst.Levels)
	limit := g.it.challenge()
	from, end := c.pos, min(c.n, c.pos+room)
	at, prefix := from, g.last.prefix
	for at < end && c.prefix[at] < limit && c.prefix[at] != prefix {
		prefix = c.prefix[at]
		at++
	}
	if at <= from {
		return
	}
	g.it.push(s, int32(from), int32(at))
	level, n := g.levels[s], int32(len(dst.Levels))
	for i := range int32(at - from) {
		dst.Ends, dst.Levels = append(dst.Ends, n+i), append(dst.Levels, level)
	}
	g.last = last{open: true, prefix: prefix, exact: c.exact, record: record{s, int32(at - 1)}}
	c.pos = at
}

// refill copies what is taken from the batch of run s, then reads on.
func (g *GroupIter) refill(dst *Groups, s int32) error {
	g.it.flush(dst.Records)
	g.last.copied = true
	if err := g.it.load(s); err != nil {
		return err
	}
	if !g.it.cur[s].done {
		g.levels[s] = g.runs[s].Level()
	}
	return nil
}
