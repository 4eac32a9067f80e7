package merge

import (
	"io"
	"math"

	"sluice/paimon/rowdata"
)

// Defaults that keep a batch of usual rows within a processor's cache, and one of
// large rows within bounds.
const (
	batchRowsDefault  = 4096
	batchBytesDefault = 16 << 20
)

// streakMin is how often a source must win in a row before the merge looks for
// a stretch to copy whole: interleaved runs are merged fastest record by record.
const streakMin = 2

// Options of an [Iter].
type Options struct {
	// BatchRows is how many records Next returns at most; 4096 if 0.
	BatchRows int
	// BatchBytes is how many bytes they take at most, but for a single record and
	// as far as the sources' batches tell: 16 MiB if 0.
	BatchBytes int
	// DropDeletes leaves out results of kind -U and -D, as the last step of a
	// merge on read does.
	DropDeletes bool
	// UniqueKeys says that no source has two records of one key, as data files
	// have not. A merge of one source then costs nothing.
	UniqueKeys bool
}

// Iter merges sources into one run. It is not safe for concurrent use.
type Iter struct {
	key     *rowdata.Comparer
	order   Order
	engine  Engine
	folds   bool
	folder  Folder
	shadows *shadows // for an engine that shadows records; else nil
	opts    Options
	sources []Source

	cur  []cursor
	head []uint64 // prefix of the head of each source; the greatest if it is done
	node []int32  // the loser tree, see tree.go
	win  int32

	group     group
	built     *rowdata.KeyValues // results of the folder that wait in stretches
	builtSize int                // bytes of a record of it, as last measured
	stretches []Stretch          // what follows in dst, not copied yet
	rows      int                // in stretches
	limit     int                // rows of a batch, by either bound
	batches   []*rowdata.KeyValues
	gatherer  Gatherer
	begun     bool
	err       error // sticky, io.EOF included
}

// cursor is a source with its current batch.
type cursor struct {
	src    Source
	kv     *rowdata.KeyValues
	prefix []uint64
	exact  bool // equal prefixes mean equal keys
	pos, n int
	size   int // bytes of a record of the batch, on average
	level  int32
	done   bool
}

// record names a record of the current batches; batch len(cur) is group.kept, and
// batch len(cur)+1 is what the folder built.
type record struct{ batch, row int32 }

// group is the key that the merge is at.
type group struct {
	size   int // records so far
	first  record
	stands record // the record that stands for the key, if held
	held   bool
	built  bool  // the records go to the folder
	level  int32 // of first
	prefix uint64
	exact  bool
	kept   *rowdata.KeyValues // rows saved from a batch that was read over
	spare  *rowdata.KeyValues
}

// NewIter returns the merge of the sources by the key columns that key compares
// and, within a key, by order. Records that are equal in all come in the order of
// the sources. They are folded as the engine says, which does not see a key with a
// single record.
//
// The sources begin to be read with the first call of Next. Close closes those
// that are io.Closers.
func NewIter(sources []Source, key *rowdata.Comparer, order Order, e Engine, o Options) *Iter {
	if o.BatchRows <= 0 {
		o.BatchRows = batchRowsDefault
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = batchBytesDefault
	}
	it := &Iter{sources: sources, key: key, order: order, engine: e, folds: e.Folds(), opts: o}
	if e.Build != nil {
		it.folder = e.Build()
	}
	if it.folder != nil && e.Shadows {
		it.shadows = &shadows{}
	}
	return it
}

// Next resets dst and fills it with the next records; it returns how many, at
// most Options.BatchRows, or 0 and io.EOF at the end. The sources must deliver
// batches of dst's type. An error is returned again by every later call.
func (it *Iter) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	if it.err == nil {
		it.err = it.fill(dst)
	}
	if dst.N > 0 && (it.err == nil || it.err == io.EOF) {
		return dst.N, nil
	}
	return 0, it.err
}

// Close closes the sources that can be closed.
func (it *Iter) Close() error {
	if it.err == nil {
		it.err = io.ErrClosedPipe
	}
	s := it.sources
	it.sources = nil
	return closeAll(s)
}

func (it *Iter) fill(dst *rowdata.KeyValues) error {
	if len(it.sources) == 1 && (it.opts.UniqueKeys || !it.folds) {
		return it.pass(dst)
	}
	if !it.begun {
		if err := it.begin(dst); err != nil {
			return err
		}
	}
	streak := 0
	for dst.N+it.rows < it.limit {
		s := it.win
		c := &it.cur[s]
		if c.done {
			if err := it.closeGroup(); err != nil {
				return err
			}
			it.flush(dst)
			return io.EOF
		}
		if err := it.take(s, c); err != nil {
			return err
		}
		c.pos++
		if streak++; streak > streakMin && c.pos < c.n {
			if err := it.runAhead(s, c, it.limit-dst.N-it.rows); err != nil {
				return err
			}
		}
		if c.pos < c.n {
			it.head[s] = c.prefix[c.pos]
		} else if err := it.refill(s, dst); err != nil {
			return err
		}
		if it.replay(); it.win != s {
			streak = 0
		}
	}
	it.flush(dst)
	return nil
}

// pass hands on the batches of a single source that needs no folding.
func (it *Iter) pass(dst *rowdata.KeyValues) error {
	for {
		n, err := it.sources[0].Next(dst)
		if err != nil {
			return err
		}
		if n > 0 && it.opts.DropDeletes {
			it.dropDeletes(dst)
		}
		if dst.N > 0 {
			return nil
		}
	}
}

// dropDeletes takes the retracts out of a batch.
func (it *Iter) dropDeletes(kv *rowdata.KeyValues) {
	it.stretches = it.stretches[:0]
	for i, k := range kv.Kinds {
		if k.IsAdd() {
			it.push(0, int32(i), int32(i+1))
		}
	}
	it.rows = 0
	if Rows(it.stretches) == kv.N {
		return
	}
	if it.group.spare == nil {
		it.group.spare = rowdata.NewKeyValues(kv.Type, 0)
	}
	keep := it.group.spare
	keep.Reset()
	it.gatherer.Append(keep, []*rowdata.KeyValues{kv}, it.stretches)
	kv.Reset()
	kv.AppendRange(keep, 0, keep.N)
}

// begin reads the first batch of each source.
func (it *Iter) begin(dst *rowdata.KeyValues) error {
	it.begun = true
	k := len(it.sources)
	if k == 0 {
		return io.EOF
	}
	it.cur, it.head = make([]cursor, k), make([]uint64, k)
	it.batches = make([]*rowdata.KeyValues, k+1, k+2)
	if it.folder != nil {
		it.built = rowdata.NewKeyValues(dst.Type, 0)
		it.batches = append(it.batches, it.built)
	}
	it.group.kept, it.group.spare = rowdata.NewKeyValues(dst.Type, 0), rowdata.NewKeyValues(dst.Type, 0)
	it.batches[k] = it.group.kept
	for i, s := range it.sources {
		kv := rowdata.NewKeyValues(dst.Type, 0)
		it.cur[i], it.batches[i] = cursor{src: s, kv: kv}, kv
		if err := it.load(int32(i)); err != nil {
			return err
		}
	}
	it.bound() // also if no source has a record
	it.buildTree()
	return nil
}

// load reads the next batch of source s, which has been merged to its end.
func (it *Iter) load(s int32) error {
	c := &it.cur[s]
	c.pos, c.n = 0, 0
	for c.n == 0 {
		n, err := c.src.Next(c.kv)
		if err == io.EOF {
			c.done, it.head[s] = true, math.MaxUint64
			return nil
		}
		if err != nil {
			return err
		}
		c.n = n
	}
	if leveled, ok := c.src.(LeveledSource); ok && it.shadows != nil {
		c.level = leveled.Level()
	}
	c.prefix, c.exact = it.key.Prefixes(c.prefix[:0], &c.kv.Batch)
	it.head[s] = c.prefix[0]
	c.size = c.kv.MemSize() / c.n
	it.bound()
	return nil
}

// bound finds out how many records a batch may have now.
func (it *Iter) bound() {
	largest := max(1, it.builtSize)
	for i := range it.cur {
		largest = max(largest, it.cur[i].size)
	}
	it.limit = min(it.opts.BatchRows, max(1, it.opts.BatchBytes/largest))
}

// refill copies what is still wanted of the batch of source s, then reads on.
func (it *Iter) refill(s int32, dst *rowdata.KeyValues) error {
	it.flush(dst)
	it.keepGroup(s)
	return it.load(s)
}

// flush copies the pending stretches.
func (it *Iter) flush(dst *rowdata.KeyValues) {
	it.gatherer.Append(dst, it.batches, it.stretches)
	it.stretches, it.rows = it.stretches[:0], 0
	if it.built != nil {
		it.built.Reset()
	}
}

// take deals with the record at the cursor, the next of the merge.
func (it *Iter) take(s int32, c *cursor) error {
	i := int32(c.pos)
	if !it.folds {
		it.emit(record{s, i})
		return nil
	}
	if g := &it.group; g.size > 0 && it.sameKey(c) {
		g.size++
		if it.folder != nil {
			return it.build(c)
		}
		if g.size == 2 {
			g.held = false
			if err := it.judge(g.first); err != nil {
				return err
			}
		}
		return it.judge(record{s, i})
	}
	if err := it.closeGroup(); err != nil {
		return err
	}
	it.openGroup(s, c)
	return nil
}

// judge asks the function about a record of the open group.
func (it *Iter) judge(r record) error {
	g, kind := &it.group, it.batches[r.batch].Kinds[r.row]
	switch it.engine.Keep.Verdict(g.held, kind) {
	case Take:
		g.stands, g.held = r, true
	case Refuse:
		return it.atKey(it.engine.Refusal(kind))
	}
	return nil
}

// build hands the record at the cursor to the folder, and the group's first
// record before it if this is the second.
func (it *Iter) build(c *cursor) error {
	g := &it.group
	if !g.built {
		g.built = true
		it.folder.Begin()
		if err := it.feed(it.batches[g.first.batch], int(g.first.row), g.level); err != nil {
			return err
		}
	}
	return it.feed(c.kv, c.pos, c.level)
}

// feed gives a record to the folder, or keeps it until it is known which records
// count.
func (it *Iter) feed(kv *rowdata.KeyValues, i int, level int32) error {
	if it.shadows != nil {
		it.shadows.keep(kv, i, level)
		return nil
	}
	return it.atKey(it.folder.Add(kv, i))
}

// atKey adds the open group's key to an error.
func (it *Iter) atKey(err error) error {
	if err == nil {
		return nil
	}
	first := it.group.first
	return AtKey(err, &it.batches[first.batch].Batch, it.key.Cols(), int(first.row))
}

// sameKey tells whether the record at the cursor is of the open group's key.
func (it *Iter) sameKey(c *cursor) bool {
	g := &it.group
	if g.prefix != c.prefix[c.pos] {
		return false
	}
	if g.exact && c.exact {
		return true
	}
	return it.key.Compare(&it.batches[g.first.batch].Batch, int(g.first.row), &c.kv.Batch, c.pos) == 0
}

func (it *Iter) openGroup(s int32, c *cursor) {
	g := &it.group
	g.first = record{s, int32(c.pos)}
	g.stands, g.size, g.held, g.built = g.first, 1, true, false
	g.prefix, g.exact, g.level = c.prefix[c.pos], c.exact, c.level
}

// closeGroup emits the result of the open group: the only record as it is, what
// the function left standing, or what the folder built.
func (it *Iter) closeGroup() error {
	g := &it.group
	switch {
	case g.size == 0:
	case g.built:
		if err := it.closeBuilt(); err != nil {
			return err
		}
	case g.held:
		it.emit(g.stands)
	}
	g.size = 0
	return nil
}

// closeBuilt takes the result of the folder.
func (it *Iter) closeBuilt() error {
	row := int32(it.built.N)
	ok, err := it.result()
	if err != nil {
		return it.atKey(err)
	}
	if !ok {
		return nil
	}
	it.emit(record{int32(len(it.cur)) + 1, row})
	// Results may be larger than what they were built of; they are measured
	// now and then, as looking at all columns costs as much as a result.
	if n := it.built.N; n&(n-1) == 0 {
		it.builtSize = it.built.MemSize() / n
		it.bound()
	}
	return nil
}

// result appends what stands for the open group to the rows that were built.
func (it *Iter) result() (ok bool, err error) {
	if it.shadows != nil {
		if i, lone := it.shadows.lone(); lone {
			it.built.AppendFrom(it.shadows.records, i)
			it.shadows.reset()
			return true, nil
		}
		if err := it.shadows.feed(it.folder); err != nil {
			return false, err
		}
	}
	return it.folder.Result(it.built)
}

// keepGroup saves the records of the open group from the batch of source s,
// which is about to be read over. Nothing is pending then.
func (it *Iter) keepGroup(s int32) {
	g := &it.group
	if g.size == 0 || g.first.batch != s && g.stands.batch != s {
		return
	}
	k := int32(len(it.cur))
	keep := g.spare
	keep.Reset()
	keep.AppendFrom(it.batches[g.first.batch], int(g.first.row))
	first := record{k, 0}
	if g.stands == g.first {
		g.stands = first
	} else {
		keep.AppendFrom(it.batches[g.stands.batch], int(g.stands.row))
		g.stands = record{k, 1}
	}
	g.first = first
	g.kept, g.spare = keep, g.kept
	it.batches[k] = keep
}

func (it *Iter) emit(r record) {
	if it.opts.DropDeletes && it.batches[r.batch].Kinds[r.row].IsRetract() {
		return
	}
	it.push(r.batch, r.row, r.row+1)
}

// push appends rows to what is pending, to the last stretch if they follow it.
func (it *Iter) push(batch, from, to int32) {
	it.rows += int(to - from)
	it.stretches = AppendStretch(it.stretches, batch, from, to)
}

// runAhead takes up to room records of the winner that come before any record
// of another source and whose prefixes differ: a stretch that needs no match.
func (it *Iter) runAhead(s int32, c *cursor, room int) error {
	limit := it.challenge()
	from, end := c.pos, min(c.n, c.pos+room)
	at := from
	if !it.folds {
		for at < end && c.prefix[at] < limit {
			at++
		}
		it.emitRange(s, c, from, at)
		c.pos = at
		return nil
	}
	last := it.group.prefix
	for at < end && c.prefix[at] < limit && c.prefix[at] != last {
		last = c.prefix[at]
		at++
	}
	if at == from {
		return nil
	}
	if err := it.closeGroup(); err != nil {
		return err
	}
	it.emitRange(s, c, from, at-1)
	c.pos = at - 1
	it.openGroup(s, c)
	c.pos = at
	return nil
}

func (it *Iter) emitRange(s int32, c *cursor, from, to int) {
	if from == to {
		return
	}
	if !it.opts.DropDeletes {
		it.push(s, int32(from), int32(to))
		return
	}
	for i := from; i < to; i++ {
		it.emit(record{s, int32(i)})
	}
}
