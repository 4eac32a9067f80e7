package feeds

import (
	"context"
	"time"
)

// When history is read, subscribers of about the same speed should stay together
// in the window: one that falls out decodes and encodes for itself, which makes it
// slower still, and takes processor time from the others. So the tail waits before
// it drops frames that somebody in the window has still to read and is about to:
// somebody who has taken a frame a moment ago. One whose client does not read is
// not waited for.
//
// The waits are bounded by an allowance, a share of the time that passes, and new
// commits never wait.
const (
	graceShare  = 2                      // one part in so many
	graceMax    = 500 * time.Millisecond // most that is saved up
	graceStep   = time.Millisecond       // between two looks
	graceActive = 100 * time.Millisecond // who has taken a frame in that time is about to take another
	historyAge  = time.Second            // a commit older than that is history
)

// grace is the allowance of one tail.
type grace struct {
	left time.Duration
	last time.Time // when it was brought up to date
}

// wait waits while crowded says so, at most for what is left.
func (g *grace) wait(ctx context.Context, crowded func(now time.Time) bool) {
	now := time.Now()
	g.left = min(graceMax, g.left+now.Sub(g.last)/graceShare)
	g.last = now
	for g.left >= graceStep && crowded(g.last) {
		timer := time.NewTimer(graceStep)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		now = time.Now()
		g.left -= now.Sub(g.last)
		g.last = now
	}
}

// inHistory tells whether a batch is of a commit that is not new.
func (f *Feed) inHistory(b *Batch) bool {
	return b.Commit != nil && (b.Commit.Phase == Image || f.opts.Now().Sub(b.Commit.Time) > historyAge)
}

// crowded tells whether adding frames would drop some that a subscription in the
// window is about to take.
func (f *Feed) crowded(frames []*Frame, now time.Time) bool {
	more := 0
	for _, fr := range frames {
		more += fr.size
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	first, kept := f.win.first(), f.win.keptBy(more)
	if kept == first {
		return false
	}
	for s := range f.subs {
		if s.attached && s.seq >= first && s.seq < kept && now.Sub(s.tookAt) < graceActive {
			return true
		}
	}
	return false
}
