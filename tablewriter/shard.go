package tablewriter

import (
	"context"
	"sync"

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

// task is rows for a bucket or, with a group, the order to prepare its commit.
type task struct {
	rows  *rowdata.Changes
	idx   []int32
	to    destination
	bytes int64 // to be given back to the gate
	cut   *group
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
	q.tasks = append(q.tasks, t)
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

// shard owns the write buffers of some buckets. Its goroutine ends when its
// queue is closed.
type shard struct {
	queue *queue
	gate  *gate
	table *paimon.Table
	lsm   *lsm.Table
	shape *shape
	seqs  *sequences
	pool  *lsm.Pool

	writers map[destination]bucketWriter // those with rows of the open group
	order   []destination                // in the order of their first rows

	finisher finisher
	err      error // first failure; nothing is taken any more
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
	// What is left is of a commit that will not be, so errors do not matter.
	for _, w := range s.writers {
		_ = w.Close()
	}
	_ = s.finisher.abort()
	s.pool.Close()
}

func (s *shard) do(ctx context.Context, t *task) {
	if t.cut != nil {
		t.cut.results <- s.prepare(ctx)
		return
	}
	if s.err == nil {
		s.err = s.append(ctx, t)
	}
	s.gate.leave(t.bytes)
}

func (s *shard) append(ctx context.Context, t *task) error {
	w := s.writers[t.to]
	if w == nil {
		w = s.newWriter(t.to)
		s.writers[t.to] = w
		s.order = append(s.order, t.to)
	}
	return w.Append(ctx, t.rows, t.idx)
}

func (s *shard) newWriter(to destination) bucketWriter {
	folder := s.table.BucketPath([]byte(to.partition), int(to.bucket)) + "/"
	store := s.table.Store
	create := func(ctx context.Context, name string) (datafile.Sink, error) {
		w, err := store.Create(ctx, folder+name)
		if err != nil {
			return nil, err
		}
		return &lateFile{Writer: w, f: &s.finisher}, nil
	}
	next := s.seqs.next(to)
	if s.shape.keyed {
		return lsm.NewWriter(s.lsm, s.pool, create, next)
	}
	return lsm.NewAppender(s.lsm, s.pool, create, next)
}

// prepare flushes all buckets and says what the commit must name.
func (s *shard) prepare(ctx context.Context) prepared {
	var p prepared
	for _, to := range s.order {
		w := s.writers[to]
		if s.err == nil {
			s.err = s.prepareBucket(ctx, to, w, &p)
		}
		if err := w.Close(); err != nil && s.err == nil {
			s.err = err
		}
		delete(s.writers, to)
	}
	s.order = s.order[:0]
	if s.err == nil {
		s.err = s.finisher.finish(ctx)
	}
	p.stats, p.err = s.pool.TakeStats(), s.err
	return p
}

func (s *shard) prepareBucket(ctx context.Context, to destination, w bucketWriter, p *prepared) error {
	inc, err := w.Prepare(ctx)
	if err != nil {
		return err
	}
	s.seqs.raise(to, w.NextSequence()-1)
	if inc.IsEmpty() {
		return nil
	}
	p.messages = append(p.messages, commit.Message{
		Partition: []byte(to.partition), Bucket: to.bucket, TotalBuckets: int32(s.shape.buckets),
		NewFiles: inc.NewFiles, Changelog: inc.Changelog,
	})
	return nil
}
