package feeds

import (
	"context"
	"time"
)

// When history is read, subscribers of about the same speed should stay together
// in the window: one that falls out decodes and encodes for itself, which makes it
// slower still. So the tail waits a moment before it drops frames that somebody in
// the window has not read.
//
// These waits come out of an allowance, a share of the time that passes. A slow
// subscriber can make others slower by that share, and one that stands still by
// graceMax once, as it is out of the window then. New commits never wait.
const (
	graceShare = 4                     // one part in so many
	graceMax   = 50 * time.Millisecond // most that is saved up
	graceStep  = time.Millisecond
	historyAge = 5 * time.Second // a commit older than that is history
)

// grace is the allowance of one tail.
type grace struct {
	left time.Duration
	last time.Time // when it was brought up to date
}

func newGrace() *grace { return &grace{left: graceMax, last: time.Now()} }

// wait waits while crowded says so, at most for what is left.
func (g *grace) wait(ctx context.Context, crowded func() bool) {
	now := time.Now()
	g.left = min(graceMax, g.left+now.Sub(g.last)/graceShare)
	g.last = now
	for g.left >= graceStep && crowded() {
		timer := time.NewTimer(graceStep)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		g.left -= time.Since(g.last)
		g.last = time.Now()
	}
}

// inHistory tells whether a batch is of a commit that is not new.
func (f *Feed) inHistory(b *Batch) bool {
	return b.Commit != nil && (b.Commit.Phase == Image || f.opts.Now().Sub(b.Commit.Time) > historyAge)
}

// crowded tells whether adding frames would drop some that a subscription in the
// window has not taken.
func (f *Feed) crowded(frames []*Frame) bool {
	more := 0
	for _, fr := range frames {
		more += fr.size
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := f.win.keptBy(more)
	if kept == f.win.first() {
		return false
	}
	for s := range f.subs {
		if s.attached && s.seq >= f.win.first() && s.seq < kept {
			return true
		}
	}
	return false
}
