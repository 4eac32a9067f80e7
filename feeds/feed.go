package feeds

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Feed streams the changes of one table to its subscriptions.
//
// It has one goroutine, the tail loop, while it has subscriptions and for a
// while after. All shared state is the window and what stands beside it, under
// one lock which is never held over reading, encoding or sending.
type Feed struct {
	name    string
	table   Table
	cursors CursorStore
	opts    Options

	mu       sync.Mutex
	win      window
	changed  chan struct{} // closed and replaced when there is something new; subscriptions wait on it
	advanced chan struct{} // closed and replaced when the tail may go on; nil while it does not wait
	subs     map[*Subscription]struct{}
	views    map[viewKey]*view
	tail     *tail                      // nil: none
	lead     uint64                     // greatest place that an attached subscription has come to
	leadOld  bool                       // the subscription at lead is gone
	owners   map[*Subscription]struct{} // subscriptions with a source of their own
	readers  int                        // sources of subscriptions outside the window, those being opened included
	idle     chan struct{}              // closed when a source may be free; nil while nobody waits
	used     uint64                     // counts uses of these sources
	linger   *time.Timer                // ends the tail; nil while there are subscriptions
	schema   *Schema                    // newest that the tail has seen
	status   Status                     // as of statusAt
	statusAt time.Time
	closed   bool
	draining bool
	problem  error         // why the tail stopped or stumbles; nil: all is well
	health   chan struct{} // closed and replaced when there is a problem or no more

	wg sync.WaitGroup // tail loops and the linger timer

	c counters
}

// counters are the feed's, read by [Feed.Stats].
type counters struct {
	batches, rows, commits      atomic.Int64 // decoded by the tail
	readerBatches, readerRows   atomic.Int64 // decoded by subscriptions behind the window
	deliveries, delivered, sent atomic.Int64 // deliveries, rows and bytes given to transports
	demoted, promoted           atomic.Int64 // subscriptions that fell out of the window and came back
	opens, jumps, retries       atomic.Int64
	taken                       atomic.Int64 // sources taken from one subscription for another
	privateEncodings            atomic.Int64
	acks                        atomic.Int64
	goneEncodings, goneShared   atomic.Int64 // of views that are no longer used
	tailWaits                   atomic.Int64
}

// tail is a running tail loop.
type tail struct {
	src    Source // replaced on a retry, under the feed's lock
	cancel context.CancelFunc
}

func newFeed(name string, t Table, cursors CursorStore, o Options) *Feed {
	return &Feed{
		name: name, table: t, cursors: cursors, opts: o,
		win:     window{maxBytes: o.WindowBytes},
		changed: make(chan struct{}), health: make(chan struct{}),
		subs:   map[*Subscription]struct{}{},
		owners: map[*Subscription]struct{}{},
		views:  map[viewKey]*view{},
	}
}

// Name returns the feed's name.
func (f *Feed) Name() string { return f.name }

// Poke hints that a snapshot of the table was committed. It never blocks.
func (f *Feed) Poke() {
	f.mu.Lock()
	var src Source
	if f.tail != nil {
		src = f.tail.src
	}
	f.mu.Unlock()
	if src != nil {
		src.Poke()
	}
}

// Status asks the table what can be read now.
func (f *Feed) Status(ctx context.Context) (Status, error) {
	st, err := f.table.Status(ctx)
	if err != nil {
		return st, err
	}
	f.mu.Lock()
	f.status, f.statusAt = st, f.opts.Now()
	f.mu.Unlock()
	return st, nil
}

// Problem returns why the feed can't be read now, nil if it can.
func (f *Feed) Problem() error {
	problem, _ := f.Health()
	return problem
}

// Health returns why the feed can't be read now, nil if it can, and a channel
// that is closed when that changes.
func (f *Feed) Health() (problem error, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem, f.health
}

// setProblem notes how the tail is. The caller holds the lock.
func (f *Feed) setProblem(err error) {
	if (f.problem == nil) != (err == nil) {
		close(f.health)
		f.health = make(chan struct{})
	}
	f.problem = err
}

// Changed returns a channel that is closed when the feed has news: frames, a
// problem, or the end of one.
func (f *Feed) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// broadcast wakes all who wait. The caller holds the lock.
func (f *Feed) broadcast() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// startTail makes src the feed's tail, in place of the one before if any. The
// caller holds the lock. ctx gives the loop its values, but not its end.
func (f *Feed) startTail(ctx context.Context, src Source) {
	if f.tail != nil {
		f.tail.cancel()
		f.c.jumps.Add(1)
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &tail{src: src, cancel: cancel}
	f.tail = t
	f.setProblem(nil)
	f.win.reset(src.Cursor())
	f.lead, f.leadOld = f.win.next, false
	f.broadcast()
	f.wg.Add(1)
	go f.run(run, t) // ends when cancelled: by a jump, the linger timer or close; or when the source does
}

// stopTail ends the tail loop. The caller holds the lock.
func (f *Feed) stopTail() {
	if f.tail != nil {
		f.tail.cancel()
		f.tail = nil
		f.broadcast()
	}
}

// run is the tail loop: it decodes each batch once and puts its frames into the
// window.
func (f *Feed) run(ctx context.Context, t *tail) {
	defer f.wg.Done()
	defer t.cancel()
	src := t.src
	defer func() {
		if src != nil {
			src.Close() // an error is of no use: what was read is good
		}
	}()
	var counts Counts
	var frames []*Frame
	for failures := 0; ; {
		b, err := f.read(ctx, t, &src)
		if err != nil {
			if failures++; !f.mayRetry(ctx, t, err, failures) {
				return
			}
			continue
		}
		failures = 0
		frames = framesOf(frames[:0], b, &counts)
		f.c.batches.Add(1)
		f.c.rows.Add(int64(b.Rows.N))
		if b.Last {
			f.c.commits.Add(1)
		}
		wait, ok := f.publish(t, b, frames)
		clear(frames)
		for ok && wait != nil {
			f.c.tailWaits.Add(1)
			select {
			case <-wait:
				wait = f.pace()
			case <-ctx.Done():
				return
			}
		}
		if !ok {
			return
		}
	}
}

// publish puts frames into the window and wakes the subscriptions. It returns
// false if t is no longer the tail, and a channel to wait on if the tail is far
// enough ahead.
func (f *Feed) publish(t *tail, b *Batch, frames []*Frame) (wait <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tail != t {
		return nil, false
	}
	for _, fr := range frames {
		f.win.append(fr)
	}
	f.setProblem(nil)
	f.schema = b.Schema
	if b.Commit != nil {
		f.status.Latest = max(f.status.Latest, b.Commit.Snapshot)
	}
	f.broadcast()
	return f.mustWait(), true
}

// pace returns a channel to wait on while the tail is far enough ahead.
func (f *Feed) pace() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mustWait()
}

func (f *Feed) mustWait() <-chan struct{} {
	if f.far() && f.leadOld {
		f.lead, f.leadOld = f.win.first(), false
		for s := range f.subs {
			if s.attached {
				f.lead = max(f.lead, s.seq)
			}
		}
	}
	if !f.far() {
		f.advanced = nil
		return nil
	}
	if f.advanced == nil {
		f.advanced = make(chan struct{})
	}
	return f.advanced
}

// far tells whether the tail is far enough ahead of the fastest subscription. What
// lies ahead of it takes room from those behind it.
func (f *Feed) far() bool {
	return f.win.ahead(max(f.lead, f.win.first())) > f.win.maxBytes/aheadShare
}

// aheadShare is the part of the window that the tail may fill before anybody has
// read it: one in so many.
const aheadShare = 16

// took notes that an attached subscription has come to a place. The caller holds
// the lock.
func (f *Feed) took(seq uint64) {
	if seq <= f.lead {
		return
	}
	f.lead, f.leadOld = seq, false
	if f.advanced != nil && !f.far() {
		close(f.advanced)
		f.advanced = nil
	}
}

// mayRetry decides what an error of the tail's source means, and waits before a
// retry. It returns false if the loop is to end.
func (f *Feed) mayRetry(ctx context.Context, t *tail, err error, failures int) bool {
	if ctx.Err() != nil {
		return false
	}
	reason := ProblemOf(err).Reason
	lasting := errors.Is(err, io.EOF) || reason != Internal && reason != Canceled || failures > f.opts.RetriesMax
	f.mu.Lock()
	if f.tail != t {
		f.mu.Unlock()
		return false
	}
	f.setProblem(err)
	if lasting {
		f.tail = nil // subscriptions that come to the head get the error
	}
	f.broadcast()
	f.mu.Unlock()
	if lasting {
		return false
	}
	f.c.retries.Add(1)
	wait := min(f.opts.RetryMax, f.opts.RetryMin<<min(failures-1, 20))
	timer := time.NewTimer(wait/2 + rand.N(wait/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// read returns the next batch of the tail. After an error the source is nil, and
// the next call opens one where the window ends.
func (f *Feed) read(ctx context.Context, t *tail, src *Source) (*Batch, error) {
	if *src == nil {
		f.mu.Lock()
		at := f.win.head
		f.mu.Unlock()
		fresh, err := f.open(ctx, Start{Mode: StartCursor, Cursor: at}, 1)
		if err != nil {
			return nil, err
		}
		*src = fresh
		f.mu.Lock()
		t.src = fresh
		f.mu.Unlock()
	}
	b, err := (*src).Next(ctx)
	if err != nil {
		(*src).Close()
		*src = nil
	}
	return b, err
}

// open opens a source whose batches are the share-th part of what the options
// allow.
func (f *Feed) open(ctx context.Context, s Start, share int) (Source, error) {
	f.c.opens.Add(1)
	return f.table.Open(ctx, s, SourceOptions{BatchRows: max(1, f.opts.BatchRows/share), BatchBytes: max(1, f.opts.BatchBytes/share)})
}

// startLinger ends the tail after a while without subscriptions. The caller
// holds the lock.
func (f *Feed) startLinger() {
	f.wg.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(f.opts.Linger, func() {
		defer f.wg.Done()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.linger == timer {
			f.linger = nil
			f.stopTail()
			f.win.reset(f.win.head) // frees its memory
			if ofPosition(f.problem) {
				f.setProblem(nil) // it was one of those who are gone
			}
		}
	})
	f.linger = timer
}

// ofPosition tells whether an error is about where somebody reads, and says nothing
// about the feed.
func ofPosition(err error) bool {
	if err == nil {
		return false
	}
	switch ProblemOf(err).Reason {
	case CursorExpired, CursorEpochMismatch, CursorAhead:
		return true
	}
	return false
}

// stopLinger takes the timer back. The caller holds the lock.
func (f *Feed) stopLinger() {
	if f.linger != nil && f.linger.Stop() {
		f.wg.Done()
	}
	f.linger = nil
}

// drain asks all subscriptions to connect again, and refuses new ones.
func (f *Feed) drain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.draining = true
	f.broadcast()
}

// close ends the tail and waits for it. Subscriptions get [ErrClosed].
func (f *Feed) close() {
	f.mu.Lock()
	f.closed = true
	f.stopLinger()
	f.stopTail()
	f.broadcast()
	f.mu.Unlock()
	f.wg.Wait()
}
