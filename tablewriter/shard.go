package tablewriter

import (
	"context"
	"errors"
	"strings"
	"sync"

	"sluice/internal/failpoint"
	"sluice/lsm"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
)

// bucketWriter is a write buffer of either kind of table.
type bucketWriter interface {
	Append(ctx context.Context, rows *rowdata.Changes, idx []int32) error
	Prepare(ctx context.Context) (lsm.Increment, error)
	NextSequence() int64
	Close() error
}

var (
	_ bucketWriter = (*lsm.Writer)(nil)
	_ bucketWriter = (*lsm.Appender)(nil)
)

// task is rows for a bucket or one of the orders that the other fields are.
type task struct {
	rows  *rowdata.Changes
	idx   []int32
	to    destination
	bytes int64 // to be given back to the gate
	touch bool  // rows came to the bucket that are all ignored

	cut       *group        // prepare its commit
	redo      *redo         // its commit met a conflict
	settled   *settled      // its commit is in the table
	compacted *bucket       // a compaction beside writing has ended
	owing     []destination // buckets that may owe compaction
}

// settled says that the commit that was prepared last is in the table.
type settled struct{ snapshot int64 }

// redo says that the compact part of a commit contradicts what others did. It is
// given up, and made anew if again is set.
type redo struct {
	group  *group
	again  bool
	level0 bool // also rows that were merged straight above it are written there
}

// queue hands tasks to a shard. The gate and the size of a commit bound what is
// in it.
type queue struct {
	ready chan struct{} // has a token if tasks may be there

	mu     sync.Mutex
	tasks  []task
	closed bool
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) push(t task) {
	q.mu.Lock()
	if !q.closed {
		q.tasks = append(q.tasks, t)
	}
	q.mu.Unlock()
	q.signal()
}

// close drops the tasks that are left: they are of commits that will not be.
func (q *queue) close() {
	q.mu.Lock()
	q.closed, q.tasks = true, nil
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take waits for tasks and returns all of them, in the memory of the last ones;
// false once the queue is closed and empty.
func (q *queue) take(spare []task) ([]task, bool) {
	for {
		q.mu.Lock()
		tasks, closed := q.tasks, q.closed
		q.tasks = spare[:0]
		q.mu.Unlock()
		if len(tasks) > 0 || closed {
			return tasks, len(tasks) > 0
		}
		spare = tasks
		<-q.ready
	}
}

// shared is what the shards of a writer have in common.
type shared struct {
	gate        *gate
	table       *paimon.Table
	lsm         *lsm.Table
	shape       *shape
	state       *tableState
	committer   *commit.Committer
	compactions *Compactions
	lookups     *lookups
	stalls      *stalls
	counters    *counters
	opts        *Options
	spill       lsm.SpillOptions
	owe         func() // compactions are to be committed though no rows may come
}

// shard owns some buckets: their write buffers, levels and indexes. Its goroutine
// ends when its queue is closed.
type shard struct {
	*shared
	queue *queue
	pool  *lsm.Pool
	mine  func(destination) bool

	buckets map[destination]*bucket // those with rows of the open group, and those that are compacted
	open    []*bucket               // in the order in which they were opened
	order   []*bucket               // those with rows of the open group, in the order of their first rows

	finisher finisher
	scratch  lsm.Scratch // of compactions that commits wait for
	err      error       // first failure; nothing is taken any more
}

// run works until the queue is closed.
func (s *shard) run(ctx context.Context) {
	var tasks []task
	for more := true; more; {
		tasks, more = s.queue.take(tasks)
		for i := range tasks {
			s.do(ctx, &tasks[i])
			tasks[i] = task{}
		}
	}
	s.close(ctx)
}

// close drops what is left. It is of a commit that will not be, so errors do not
// matter.
func (s *shard) close(ctx context.Context) {
	after := context.WithoutCancel(ctx)
	for _, b := range s.open {
		_ = s.cancelRunning(after, b)
		for _, stage := range b.stages {
			stage.Discard()
		}
		// The files of a commit whose outcome is not known stay.
		_ = s.deleteFiles(after, b.to, b.pending.made())
		b.release()
		if b.writer != nil {
			_ = b.writer.Close()
		}
		b.dropSpare()
		s.closeIndex(b)
	}
	_ = s.finisher.abort()
	s.pool.Close()
}

func (s *shard) do(ctx context.Context, t *task) {
	switch {
	case t.cut != nil:
		t.cut.results <- s.prepare(ctx, t.cut)
	case t.redo != nil:
		t.redo.group.results <- s.prepareAgain(ctx, t.redo)
	case t.settled != nil:
		s.try(func() error { return s.settleAll(ctx, t.settled) })
	case t.compacted != nil:
		s.try(func() error { return s.compacted(ctx, t.compacted) })
	case t.owing != nil:
		s.try(func() error { return s.openAll(ctx, t.owing, true) })
	default:
		s.try(func() error { return s.append(ctx, t) })
		s.gate.leave(t.bytes)
	}
}

// try does something unless the shard has failed, and notes its failure.
func (s *shard) try(fn func() error) {
	if s.err == nil {
		s.err = fn()
	}
}

func (s *shard) append(ctx context.Context, t *task) error {
	b, err := s.bucket(ctx, t.to)
	if err != nil {
		return err
	}
	if t.touch {
		b.touched = true
		return nil
	}
	if b.writer == nil {
		b.writer = s.newWriter(b)
		s.order = append(s.order, b)
	}
	return b.writer.Append(ctx, t.rows, t.idx)
}

// bucket returns a bucket, restored if it is compacted.
func (s *shard) bucket(ctx context.Context, to destination) (*bucket, error) {
	if b := s.buckets[to]; b != nil {
		return b, nil
	}
	b := &bucket{to: to, message: commit.Message{Partition: []byte(to.partition), Bucket: to.bucket, TotalBuckets: int32(s.shape.buckets)}}
	if s.shape.strategy.compacts {
		if err := s.state.retain(ctx, to); err != nil {
			return nil, err
		}
		if err := s.restore(b); err != nil {
			return nil, err
		}
	}
	s.buckets[to] = b
	s.open = append(s.open, b)
	return b, nil
}

// openAll opens those of the buckets that are this shard's.
func (s *shard) openAll(ctx context.Context, buckets []destination, dirty bool) error {
	for _, to := range buckets {
		if !s.mine(to) {
			continue
		}
		b, err := s.bucket(ctx, to)
		if err != nil {
			return err
		}
		b.dirty = b.dirty || dirty
	}
	return nil
}

// create returns what makes files of a bucket, which the finisher makes durable.
func (s *shard) create(to destination, f *finisher) lsm.Create {
	folder := s.table.BucketPath([]byte(to.partition), int(to.bucket)) + "/"
	store, changelogs := s.table.Store, s.shape.schema.Options.Text(paimon.OptChangelogFilePrefix)
	return func(ctx context.Context, name string) (datafile.Sink, error) {
		w, err := store.Create(ctx, folder+name)
		if err != nil {
			return nil, err
		}
		written := failpoint.DataFileWritten
		if strings.HasPrefix(name, changelogs) {
			written = failpoint.ChangelogFileWritten
		}
		return &lateFile{Writer: w, f: f, written: written}, nil
	}
}

func (s *shard) newWriter(b *bucket) bucketWriter {
	next := s.state.next(b.to)
	b.flushed = false
	if w := b.spare; w != nil {
		if b.spare = nil; w.NextSequence() == next {
			return w
		}
		_ = w.Close() // others have given numbers meanwhile; it holds nothing
	}
	create := s.create(b.to, &s.finisher)
	noting := func(ctx context.Context, name string) (datafile.Sink, error) {
		b.flushed = true
		return create(ctx, name)
	}
	if s.shape.keyed {
		return lsm.NewWriter(s.lsm, s.pool, noting, next)
	}
	return lsm.NewAppender(s.lsm, s.pool, noting, next)
}

// prepare flushes and compacts, and says what the commit must name.
func (s *shard) prepare(ctx context.Context, g *group) prepared {
	s.try(func() error { return s.prepareAll(ctx, g) })
	return s.prepared()
}

func (s *shard) prepareAll(ctx context.Context, g *group) error {
	buckets, err := g.everything(ctx)
	if err != nil {
		return err
	}
	if err := s.openAll(ctx, buckets, false); err != nil {
		return err
	}
	compacts := s.shape.strategy.compacts
	if compacts {
		for _, b := range s.open {
			b.rows, b.dirty, b.touched = b.touched, b.dirty || b.touched, false
			if err := s.refresh(b); err != nil {
				return err
			}
		}
	}
	for _, b := range s.order {
		if err := s.flush(ctx, g, b); err != nil {
			return err
		}
	}
	s.order = s.order[:0]
	if err := s.finisher.finish(ctx); err != nil { // what is compacted can be read then
		return err
	}
	failpoint.Here(failpoint.Level0Durable)
	if compacts {
		for _, b := range s.open {
			if err := s.compactOpen(ctx, g, b); err != nil {
				return err
			}
		}
	}
	err = s.finisher.finish(ctx)
	failpoint.Here(failpoint.CompactionsDurable)
	return err
}

// flush writes the rows of a bucket to level 0, or leaves them to be merged
// straight above it.
func (s *shard) flush(ctx context.Context, g *group, b *bucket) error {
	b.rows, b.dirty = true, true
	if w, ok := b.writer.(*lsm.Writer); ok && g.wait && s.shape.straight && b.running == nil && !b.flushed {
		var err error
		if b.held, err = w.Detach(ctx); err != nil {
			return err
		}
		if b.held != nil {
			b.writer, b.spare = nil, w
			s.state.raise(b.to, w.NextSequence()-1)
			return nil
		}
	}
	w := b.writer
	b.writer = nil
	err := s.flushTo0(ctx, b, w)
	if keyed, ok := w.(*lsm.Writer); ok && err == nil && s.shape.strategy.compacts {
		b.spare = keyed
		return nil
	}
	return errors.Join(err, w.Close())
}

// flushTo0 writes rows to level 0.
func (s *shard) flushTo0(ctx context.Context, b *bucket, w bucketWriter) error {
	inc, err := w.Prepare(ctx)
	if err != nil {
		return err
	}
	s.state.raise(b.to, w.NextSequence()-1)
	b.message.NewFiles, b.message.Changelog = append(b.message.NewFiles, inc.NewFiles...), append(b.message.Changelog, inc.Changelog...)
	if b.levels == nil {
		return nil
	}
	return b.levels.Update(nil, inc.NewFiles)
}

// heldTo0 writes rows that were to be merged straight above level 0 there.
func (s *shard) heldTo0(ctx context.Context, b *bucket) error {
	files, err := b.held.WriteLevel0(ctx, s.lsm, s.pool, s.create(b.to, &s.finisher))
	if err != nil {
		return err
	}
	b.release()
	b.message.NewFiles = append(b.message.NewFiles, files...)
	return nil
}

// compactOpen compacts a bucket as the group asks for.
func (s *shard) compactOpen(ctx context.Context, g *group, b *bucket) error {
	if err := s.compactFor(ctx, g, b); err != nil {
		return err
	}
	b.drain()
	return nil
}

// prepared returns what the open buckets have for the commit.
func (s *shard) prepared() prepared {
	var p prepared
	kept := s.open[:0]
	for _, b := range s.open {
		if !isEmpty(&b.message) {
			p.messages = append(p.messages, b.message)
		}
		p.held = p.held || b.held != nil
		p.flushed = p.flushed || len(b.message.NewFiles) > 0
		if s.shape.strategy.compacts {
			kept = append(kept, b)
			continue
		}
		if b.writer == nil {
			delete(s.buckets, b.to)
		} else {
			kept = append(kept, b)
		}
	}
	clear(s.open[len(kept):])
	s.open = kept
	p.stats, p.err = s.pool.TakeStats(), s.err
	return p
}

// prepareAgain gives up what compactions made and says what the commit must name
// without it, or with what others did taken in.
func (s *shard) prepareAgain(ctx context.Context, r *redo) prepared {
	s.try(func() error { return s.compactAgain(ctx, r) })
	return s.prepared()
}

func (s *shard) compactAgain(ctx context.Context, r *redo) error {
	for _, b := range s.open {
		if isEmpty(&b.message) && b.clean() {
			continue
		}
		if err := s.giveUp(ctx, b); err != nil {
			return err
		}
		if b.held != nil && (r.level0 || !r.again) { // its rows go the usual way
			if err := s.heldTo0(ctx, b); err != nil {
				return err
			}
		}
		if err := s.restoreWith(b); err != nil {
			return err
		}
	}
	if err := s.finisher.finish(ctx); err != nil || !r.again {
		return err
	}
	for _, b := range s.open {
		if err := s.refresh(b); err != nil {
			return err
		}
		if err := s.compactOpen(ctx, r.group, b); err != nil {
			return err
		}
	}
	return s.finisher.finish(ctx)
}

// restoreWith takes the levels from what is committed, and adds the new files of
// the commit being made.
func (s *shard) restoreWith(b *bucket) error {
	if err := s.restore(b); err != nil {
		return err
	}
	for i := range b.message.NewFiles {
		f := &b.message.NewFiles[i]
		there := false
		for _, have := range b.levels.Level(0) {
			there = there || have.FileName == f.FileName
		}
		if there {
			continue
		}
		if err := b.levels.Update(nil, b.message.NewFiles[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// settleAll notes that the commit is in the table.
func (s *shard) settleAll(ctx context.Context, t *settled) error {
	if !s.shape.strategy.compacts {
		return nil
	}
	for _, b := range s.open {
		s.settle(ctx, b, t.snapshot)
		if b.again && b.clean() {
			b.again = false
			if err := s.pickBeside(ctx, b); err != nil {
				return err
			}
		}
	}
	for i := len(s.open) - 1; i >= 0; i-- {
		if b := s.open[i]; b.canForget() {
			s.forget(b)
		}
	}
	return nil
}
