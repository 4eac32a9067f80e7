package tablewriter

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// StalledError says that rows are not taken for now: compaction does not keep up,
// and a bucket has more sorted runs than it may (num-sorted-run.stop-trigger).
// Nothing of the batch was taken; it can be sent again.
type StalledError struct {
	Bucket     string        // such as "dt=1/bucket-0"
	Runs       int           // sorted runs that it has
	Since      time.Duration // how long writing has waited
	RetryAfter time.Duration // when to try again
}

func (e *StalledError) Error() string {
	return fmt.Sprintf("%s has %d sorted runs and waits for compaction since %v: try again in %v", e.Bucket, e.Runs, e.Since.Round(time.Millisecond), e.RetryAfter)
}

// stalls knows which buckets writing waits for.
type stalls struct {
	wait    time.Duration // how long Write waits; negative: for ever
	onStall func(Stall)
	now     func() time.Time

	mu    sync.Mutex
	next  int
	open  map[int]stall
	count int64
	total time.Duration // of those that are over
}

type stall struct {
	bucket string
	runs   int
	since  time.Time
}

// Stall tells that writing begins to wait for compaction, or that it goes on.
type Stall struct {
	Bucket string
	Runs   int
	Over   bool
	Took   time.Duration // if it is over
}

// begin notes that writing waits; the function that it returns, that it goes on.
func (s *stalls) begin(bucket string, runs int) func() {
	s.mu.Lock()
	if s.open == nil {
		s.open = map[int]stall{}
	}
	id := s.next
	s.next++
	s.count++
	at := s.now()
	s.open[id] = stall{bucket, runs, at}
	s.mu.Unlock()
	if s.onStall != nil {
		s.onStall(Stall{Bucket: bucket, Runs: runs})
	}
	return func() {
		s.mu.Lock()
		took := s.now().Sub(at)
		delete(s.open, id)
		s.total += took
		s.mu.Unlock()
		if s.onStall != nil {
			s.onStall(Stall{Bucket: bucket, Runs: runs, Over: true, Took: took})
		}
	}
}

// longest returns the stall that has lasted longest, nil if there is none.
func (s *stalls) longest() *stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out *stall
	for _, st := range s.open {
		if out == nil || st.since.Before(out.since) {
			out = &st
		}
	}
	return out
}

// spent returns how many stalls there were, and how long they took together.
func (s *stalls) spent() (int64, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.total
	for _, st := range s.open {
		total += s.now().Sub(st.since)
	}
	return s.count, total
}

// bound returns a context that ends with a [*StalledError] as its cause when
// writing has been stalled for as long as a caller is to wait. The caller calls
// stop.
func (s *stalls) bound(ctx context.Context) (_ context.Context, stop func()) {
	if s.wait < 0 {
		return ctx, func() {}
	}
	bounded, cancel := context.WithCancelCause(ctx)
	var timer *time.Timer
	var mu sync.Mutex // the timer is set before it is reset
	mu.Lock()
	timer = time.AfterFunc(s.wait, func() {
		mu.Lock()
		defer mu.Unlock()
		st := s.longest()
		if st == nil {
			timer.Reset(s.wait)
			return
		}
		cancel(&StalledError{Bucket: st.bucket, Runs: st.runs, Since: s.now().Sub(st.since), RetryAfter: max(s.wait/4, 100*time.Millisecond)})
	})
	mu.Unlock()
	return bounded, func() {
		timer.Stop()
		cancel(nil)
	}
}
