package tablewriter

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"sluice/lsm"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// shardBytesMax bounds the write buffers of a shard, whatever write-buffer-size
// says: offsets into a buffer have 32 bits.
const shardBytesMax = 2 << 30

// Writer writes one table. Its methods may be called by several goroutines.
type Writer struct {
	table     *paimon.Table
	shape     *shape
	opts      Options
	shared    *shared
	user      string
	newUser   bool   // the user was made for this writer
	session   string // of this Open
	committer *commit.Committer
	state     *tableState
	gate      *gate
	shards    []*shard
	seed      maphash.Seed
	routers   sync.Pool
	rowLimit  int64 // bytes that a row may have
	counters  counters

	wake     chan struct{} // has a token if the commit loop should look
	cancel   context.CancelFunc
	finished chan struct{} // closed when all goroutines have ended

	mu         sync.Mutex
	open       *group            // takes batches
	committing *group            // was cut and is not answered yet, or nil
	cut        chan struct{}     // closed when open is replaced
	positions  map[string]string // committed
	snapshot   int64             // newest of this writer
	identifier int64             // of the next commit
	closing    bool
	failed     error     // why no batch is taken any more
	owed       time.Time // when a commit is made although no batch came; zero: never
	lastFull   time.Time // when a full compaction was made because of the time
}

// Open starts the writer of a table with the schema that t has now; columns that
// are added later need a new writer. It reads the user's newest snapshot, from
// which commit identifiers and positions go on. Tables that cannot be written
// are refused: [*UnsupportedError], [*engine.UnsupportedError],
// [*producer.UnsupportedError]. ctx bounds Open alone.
func Open(ctx context.Context, t *paimon.Table, o Options) (*Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	h, err := newShape(t.Schema(), o.Job)
	if err != nil {
		return nil, fmt.Errorf("write table %s: %w", t.Path, err)
	}
	w := &Writer{
		table: t, shape: h, opts: o, user: o.User, session: uuid.NewString(), seed: maphash.MakeSeed(),
		wake: make(chan struct{}, 1), cut: make(chan struct{}), finished: make(chan struct{}),
		gate: &gate{max: o.QueueBytesMax}, committer: commit.New(t, o.Commit),
	}
	if w.user == "" {
		w.user, w.newUser = newUser(t), true
	}
	if err := w.restore(ctx); err != nil {
		return nil, fmt.Errorf("write table %s: %w", t.Path, err)
	}
	w.state = newTableState(t, h, h.strategy.compacts)
	if o.Overwrite != nil {
		// What is there goes, so it neither counts nor has to fit; and a commit
		// that replaces has no changelog.
		w.state.counted, w.state.compact = false, false
		h.flush, h.silent, h.straight = producer.None{}, true, false
		h.indexed = false
	}
	h.straight = h.straight && !o.StraightOff
	if err := w.newShards(); err != nil {
		return nil, fmt.Errorf("write table %s: %w", t.Path, err)
	}
	w.lastFull = time.Now()
	if err := w.findOwed(ctx); err != nil {
		return nil, fmt.Errorf("write table %s: %w", t.Path, err)
	}
	w.open = newGroup(len(w.shards))
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	go w.run(loop) // ends with Close or with a commit that failed
	return w, nil
}

func newUser(t *paimon.Table) string {
	if prefix := t.Options().Text(paimon.OptCommitUserPrefix); prefix != "" {
		return prefix + "_" + uuid.NewString()
	}
	return uuid.NewString()
}

// restore takes identifiers and positions up where the user's newest snapshot
// left them.
func (w *Writer) restore(ctx context.Context) error {
	var last *paimon.Snapshot
	if !w.newUser { // or all of the history would be searched in vain
		var err error
		if last, err = w.committer.LastOf(ctx, w.user); err != nil {
			return err
		}
	}
	r := restorePoint(last)
	if r.Identifier == paimon.BatchCommitIdentifier {
		return fmt.Errorf("user %s: %w", w.user, ErrIdentifiers)
	}
	w.positions, w.snapshot, w.identifier = r.Positions, r.Snapshot, r.Identifier+1
	return nil
}

func (w *Writer) newShards() error {
	h, options := w.shape, w.shape.schema.Options
	layout, err := lsmTable(h, w.session)
	if err != nil {
		return err
	}
	memory, err := options.Memory(paimon.OptWriteBufferSize)
	if err != nil {
		return err
	}
	spill, err := w.spillOptions(options)
	if err != nil {
		return err
	}
	n := w.opts.Shards
	if len(h.part) == 0 {
		n = min(n, max(h.buckets, 1))
	}
	memory = min(max(memory/int64(n), 1<<10), shardBytesMax)
	if spill.BytesMax > 0 {
		spill.BytesMax = max(spill.BytesMax/int64(n), 1)
	}
	w.rowLimit = memory
	compactions := w.opts.Compactions
	if compactions == nil {
		compactions = NewCompactions(w.opts.CompactionLimits)
	}
	w.shared = &shared{
		gate: w.gate, table: w.table, lsm: layout, shape: h, state: w.state, committer: w.committer, compactions: compactions,
		lookups:  &lookups{given: w.opts.Lookup, dir: w.opts.LookupDir, spill: w.opts.SpillDir},
		stalls:   &stalls{wait: w.opts.StallWait, onStall: w.opts.OnStall, now: time.Now},
		counters: &w.counters, opts: &w.opts, spill: spill, owe: w.owe,
	}
	for i := range n {
		w.shards = append(w.shards, &shard{
			shared: w.shared, queue: newQueue(), pool: lsm.NewPool(memory, spill), buckets: map[destination]*bucket{},
			mine: func(to destination) bool { return shardOf(to, w.seed, n) == i },
		})
	}
	return nil
}

// findOwed looks for what an earlier writer has left to compact: without it the
// changelog of its rows would be missing for as long as nobody writes.
func (w *Writer) findOwed(ctx context.Context) error {
	h := w.shape
	if !h.strategy.compacts || w.opts.Overwrite != nil {
		return nil
	}
	below := int32(0)
	switch {
	case h.strategy.fullCommits > 0 || h.strategy.fullInterval > 0:
		below = math.MaxInt32 // whatever the highest level is, its buckets are settled
	case h.strategy.lookup:
		below = 1
	default:
		return nil
	}
	owing, err := w.state.unmerged(ctx, below)
	if err != nil || len(owing) == 0 {
		return err
	}
	for _, s := range w.shards {
		s.queue.push(task{owing: owing})
	}
	if h.strategy.lookup {
		w.owed = time.Now().Add(w.opts.CommitInterval)
	}
	return nil
}

// once returns a function that calls find once and then gives the same answer.
func once(find func(context.Context) ([]destination, error)) func(context.Context) ([]destination, error) {
	var first sync.Once
	var buckets []destination
	var err error
	return func(ctx context.Context) ([]destination, error) {
		first.Do(func() { buckets, err = find(ctx) })
		return buckets, err
	}
}

func (w *Writer) spillOptions(options paimon.Options) (lsm.SpillOptions, error) {
	r := optionReader{options: options}
	if !r.bool(paimon.OptWriteBufferSpillable, true) {
		return lsm.SpillOptions{}, r.err
	}
	return lsm.SpillOptions{
		Dir:          cmp.Or(w.opts.SpillDir, os.TempDir()),
		BytesMax:     r.memory("write-buffer-spill.max-disk-size", 0),
		FilesMax:     r.int("local-sort.max-num-file-handles", 0),
		Uncompressed: options.Text("spill-compression") == "none",
	}, r.err
}

// User returns the commit user.
func (w *Writer) User() string { return w.user }

// Type returns the columns that batches must have: those of the table's schema
// when the writer was opened.
func (w *Writer) Type() *rowdata.RowType { return w.shape.typ }

// Schema returns the schema that rows are written with.
func (w *Writer) Schema() *paimon.Schema { return w.shape.schema }

// Write takes a batch of changes and returns at once, but for waiting until
// there is room: it may wait for rows on their way to the write buffers, or for
// a commit. The receipt tells when the batch is committed. pos, unless zero, is
// committed with the batch as the newest position of its source.
//
// rows has the columns of [Writer.Type] and belongs to the writer until the
// receipt is answered. The batch is taken whole or not at all: a [*RowError]
// says what is wrong with which row, and other batches are not concerned. After
// a failed commit every Write is a [*FailedError], after Close [ErrClosed].
func (w *Writer) Write(ctx context.Context, rows *rowdata.Changes, pos Position) (*Receipt, error) {
	r, err := w.write(ctx, rows, pos)
	if err != nil {
		w.counters.rejected.Add(1)
	}
	return r, err
}

func (w *Writer) write(ctx context.Context, rows *rowdata.Changes, pos Position) (*Receipt, error) {
	if err := pos.check(); err != nil {
		return nil, err
	}
	c, err := w.shape.check(rows, w.rowLimit)
	if err != nil {
		return nil, err
	}
	if c.bytes > w.opts.BatchBytesMax {
		return nil, &BatchError{Reason: fmt.Sprintf("it has %d bytes, at most %d are taken at once", c.bytes, w.opts.BatchBytesMax)}
	}
	portions := w.shape.route(&c, &w.routers)
	touched := w.touched(&c, portions)
	if len(portions) == 0 {
		c.bytes = 0
	} else if err := w.state.admit(ctx, portions, w.beginsGroup()); err != nil {
		return nil, err
	}
	if !w.gate.tryEnter(c.bytes) {
		bounded, stop := w.shared.stalls.bound(ctx)
		err := w.gate.enter(bounded, c.bytes)
		stop()
		if err != nil {
			return nil, err
		}
	}
	g, err := w.enqueue(ctx, &c, portions, touched, pos)
	if err != nil {
		w.gate.leave(c.bytes)
		return nil, err
	}
	return &Receipt{group: g}, nil
}

// touched returns the buckets of which the batch has rows that are ignored and no
// others: for a full compaction they count as written (semantics section 1.9).
func (w *Writer) touched(c *checked, portions []portion) []destination {
	if c.keep == nil || !w.shape.strategy.compacts {
		return nil
	}
	have := make(map[destination]struct{}, len(portions))
	for i := range portions {
		have[portions[i].to] = struct{}{}
	}
	whole := *c
	whole.keep = nil
	var out []destination
	for _, p := range w.shape.route(&whole, &w.routers) {
		if _, written := have[p.to]; !written {
			out = append(out, p.to)
		}
	}
	return out
}

// beginsGroup tells whether the next batch is the first of its commit.
func (w *Writer) beginsGroup() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open.batches == 0
}

// enqueue puts the batch into the open group and its rows on their way. All
// shards get the batches of a group before they are told to prepare it, since
// both happen under the lock.
func (w *Writer) enqueue(ctx context.Context, c *checked, portions []portion, touched []destination, pos Position) (*group, error) {
	w.mu.Lock()
	for w.failed == nil && !w.closing && w.full(w.open) {
		cut := w.cut
		w.mu.Unlock()
		bounded, stop := w.shared.stalls.bound(ctx)
		var err error
		select {
		case <-cut:
		case <-bounded.Done():
			err = context.Cause(bounded)
		}
		stop()
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	if w.failed != nil {
		return nil, w.failed
	}
	if w.closing {
		return nil, ErrClosed
	}
	g := w.open
	if err := w.take(g, pos); err != nil {
		return nil, err
	}
	if g.batches == 0 {
		g.deadline = time.Now().Add(w.opts.CommitInterval)
	}
	g.batches++
	g.bytes += c.bytes
	left := c.bytes
	for i, p := range portions {
		g.rows += int64(p.n)
		share := c.bytes / int64(len(portions))
		if i == len(portions)-1 {
			share = left
		}
		left -= share
		s := w.shards[shardOf(p.to, w.seed, len(w.shards))]
		s.queue.push(task{rows: c.rows, idx: p.idx, to: p.to, bytes: share})
	}
	for _, to := range touched {
		w.shards[shardOf(to, w.seed, len(w.shards))].queue.push(task{to: to, touch: true})
	}
	g.touched = g.touched || len(portions)+len(touched) > 0
	if g.batches == 1 || w.full(g) {
		w.nudge()
	}
	return g, nil
}

// take notes the position of a batch in its group.
func (w *Writer) take(g *group, pos Position) error {
	if pos.IsZero() {
		return nil
	}
	if _, known := w.positions[pos.Source]; !known {
		if _, known = g.positions[pos.Source]; !known && len(w.positions)+len(g.positions) >= SourcesMax {
			return &BatchError{Reason: fmt.Sprintf("source %s would be one too many: a user may have %d", pos.Source, SourcesMax)}
		}
	}
	if g.positions == nil {
		g.positions = map[string]string{}
	}
	g.positions[pos.Source] = pos.Value
	return nil
}

// full tells whether a group takes no more batches. That of an overwrite takes
// all.
func (w *Writer) full(g *group) bool {
	return w.opts.Overwrite == nil && (g.rows >= w.opts.CommitRows || g.bytes >= w.opts.CommitBytes)
}

// nudge lets the commit loop look.
func (w *Writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Commit commits what was written before the call without waiting for more, and
// returns the newest snapshot of this writer's user, 0 if there is none.
func (w *Writer) Commit(ctx context.Context) (snapshot int64, err error) {
	return w.CommitWith(ctx, CompactAuto)
}

// CommitWith is [Writer.Commit] that says what is done about compaction. With
// [CompactWait] and [CompactFull] it does so also if nothing was written.
func (w *Writer) CommitWith(ctx context.Context, mode CompactMode) (snapshot int64, err error) {
	w.mu.Lock()
	g := w.open
	if g.batches == 0 && w.opts.Overwrite == nil && mode < CompactWait && w.owed.IsZero() {
		g = w.committing
	} else {
		g.forced = true
		g.mode = max(g.mode, mode)
	}
	snapshot, err = w.snapshot, w.failed
	w.mu.Unlock()
	if g == nil || err != nil {
		return snapshot, err
	}
	w.nudge()
	return (&Receipt{group: g}).Wait(ctx)
}

// Flush is [Writer.Commit] for callers that do not need the snapshot.
func (w *Writer) Flush(ctx context.Context) error {
	_, err := w.Commit(ctx)
	return err
}

// Restore reads what the user's newest snapshot says: where to go on after a
// restart.
func (w *Writer) Restore(ctx context.Context) (RestorePoint, error) {
	last, err := w.committer.LastOf(ctx, w.user)
	if err != nil {
		return RestorePoint{}, fmt.Errorf("restore user %s of table %s: %w", w.user, w.table.Path, err)
	}
	return restorePoint(last), nil
}

// Close commits what was written and ends the writer; it returns the error of a
// commit that failed, also of an earlier one. If ctx ends before, what is not
// committed is dropped and its receipts are answered with an error.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.nudge()
	select {
	case <-w.finished:
	case <-ctx.Done():
		w.cancel()
		<-w.finished
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == ErrClosed { // and not an error around it, which says that something was dropped
		return nil
	}
	return w.failed
}
