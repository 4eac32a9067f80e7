package feeds

import (
	"context"
	"time"
)

// How a subscription comes by its frames: from the window, or behind it from a
// source of its own.

// join puts a subscription into the window if its position is there, or soon
// will be. It tells whether the subscription should become the tail instead. A
// position that no source has been opened for must be exactly that of a frame: a
// cursor also tells in which history it was made, and a source checks that. The
// caller holds the lock.
func (f *Feed) join(s *Subscription, opened bool) (becomeTail bool) {
	if f.tail == nil {
		return true
	}
	c := s.pos
	if c.Table != f.win.head.Table || c.Branch != f.win.head.Branch {
		return opened // the source was opened later than the tail: the table was made anew
	}
	more := int(c.Skip)
	c.Skip = 0
	seq, skip, in, after := f.win.find(c)
	switch {
	case !opened && !(in && f.win.cursor(seq, skip) == c):
	case in:
		if f.serves(s, seq, skip+more) {
			f.attach(s, seq, skip+more, false)
		}
	case after && c.Phase == Changes:
		if f.win.head.Phase == Image || c.Snapshot-f.win.head.Snapshot > int64(f.opts.JumpSnapshots) {
			return true
		}
		f.attach(s, f.win.next, more, true)
	}
	return false
}

// attach puts a subscription into the window. The caller holds the lock.
func (f *Feed) attach(s *Subscription, seq uint64, skip int, ahead bool) {
	s.attached, s.seq, s.skip, s.ahead = true, seq, skip, ahead
	s.queue = nil
	f.took(seq)
}

// detach takes a subscription out of the window. The caller holds the lock.
func (f *Feed) detach(s *Subscription) {
	if s.attached {
		s.attached, s.skip, s.ahead = false, 0, false
		f.leadOld = f.leadOld || s.seq >= f.lead
	}
}

// settle joins the window, or makes the subscription's own source the tail.
func (s *Subscription) settle(ctx context.Context) error {
	f := s.feed
	f.mu.Lock()
	if f.closed || s.attached {
		f.mu.Unlock()
		return s.dropIfAttached()
	}
	if f.join(s, true) && s.own != nil && len(s.queue) == 0 {
		src := s.own
		f.disown(s)
		f.startTail(ctx, src)
		f.attach(s, f.win.next, 0, false)
	}
	f.mu.Unlock()
	return s.dropIfAttached()
}

func (s *Subscription) dropIfAttached() error {
	if s.attached {
		return s.dropOwn()
	}
	return nil
}

// take gets the next frame; ok is false if there is none now and block is false.
func (s *Subscription) take(ctx context.Context, block bool) (ok bool, err error) {
	f := s.feed
	f.mu.Lock()
	switch {
	case f.closed:
		f.mu.Unlock()
		return false, ErrClosed
	case f.draining:
		f.mu.Unlock()
		s.push(piece{frame: &Frame{Kind: FrameReconnect, At: s.pos, Next: s.pos, Spread: f.opts.ReconnectSpread}})
		s.end = ErrDraining
		return true, nil
	case !s.attached:
		f.mu.Unlock()
		return s.takeOwn(ctx)
	case s.seq < f.win.first() || !f.serves(s, s.seq, s.skip) || s.seq >= f.win.next && f.tail == nil && (s.ahead || f.problem == nil):
		f.detach(s)
		s.read = s.pos
		f.c.demoted.Add(1)
		f.mu.Unlock()
		return true, nil
	case s.seq < f.win.next:
		frame := f.win.at(s.seq)
		s.seq++
		f.took(s.seq)
		f.mu.Unlock()
		s.accept(frame, true)
		return true, nil
	case f.tail == nil: // what the tail could not read comes next here too
		err := f.problem
		f.mu.Unlock()
		return false, err
	}
	changed := f.changed
	f.mu.Unlock()
	if !block {
		return false, nil
	}
	return true, s.wait(ctx, changed)
}

// wait blocks until the feed has news, or it is time for a progress frame.
func (s *Subscription) wait(ctx context.Context, changed <-chan struct{}) error {
	if s.timer == nil {
		s.timer = time.NewTimer(s.req.Progress)
	} else {
		s.timer.Reset(s.req.Progress)
	}
	defer s.timer.Stop()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.timer.C:
	}
	if s.commit != nil {
		// Progress says that all before its cursor was taken. Who takes commits
		// whole has not taken this one yet.
		return nil
	}
	return s.progress(ctx)
}

// progress makes a progress frame.
func (s *Subscription) progress(ctx context.Context) error {
	f := s.feed
	now := f.opts.Now()
	f.mu.Lock()
	st, old := f.status, now.Sub(f.statusAt) >= f.opts.StatusInterval
	if old {
		f.statusAt = now // others need not ask too
	}
	f.mu.Unlock()
	if old = old || s.until.mayPass(now); old {
		fresh, err := f.Status(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // else the tail meets the same trouble, and decides what it means
			st = fresh
		}
		old = err == nil
	}
	if old && s.until.mayPass(now) && st.Latest < s.read.Snapshot {
		s.complete(s.read)
		return nil
	}
	s.push(piece{frame: &Frame{Kind: FrameProgress, At: s.read, Next: s.read, Head: max(st.Latest, s.read.Snapshot-1), Oldest: st.Earliest, Time: now}})
	return nil
}

// accept makes a frame of the stream ready for delivery, with what the
// subscription needs around it: a begin if it came in the middle of a commit, an
// end if the stream has none, a change of schema, its own count of rows. All that
// came before has been delivered.
func (s *Subscription) accept(f *Frame, shared bool) {
	if s.ahead {
		if f.Next.Compare(s.read) <= 0 && f.At.Compare(s.read) < 0 {
			return
		}
		s.ahead = false
		if f.Kind == FrameRows && f.At.Compare(s.read) < 0 {
			s.skip += int(s.read.Row - f.At.Row)
		}
	}
	from, to := 0, f.n()
	if s.skip > 0 {
		from = min(s.skip, to)
		s.skip -= from
		if from == to {
			s.pass(f.Next)
			return
		}
	}
	switch {
	case f.Kind == frameStep:
		s.pass(f.Next)
		s.finish(f.Next)
		return
	case s.until.before(f.Commit):
		s.endCommit(f.At)
		s.complete(f.At)
		return
	case f.Kind == FrameCommitBegin && s.inside(f.Commit):
		return
	case !s.inside(f.Commit):
		s.endCommit(f.At)
		s.beginCommit(f, shared, from)
	}
	switch f.Kind {
	case FrameRows:
		end, cut := s.until.cut(f, to)
		if end > from {
			s.push(piece{frame: f, from: from, to: end, shared: shared})
		}
		s.read = f.Next
		if cut {
			s.read = f.At.After(end)
			s.complete(s.read)
		}
	case FrameCommitEnd:
		if counts := s.counted(f.Commit); counts != f.Counts {
			f, shared = &Frame{Kind: FrameCommitEnd, At: f.At, Next: f.Next, Commit: f.Commit, Schema: f.Schema, Counts: counts}, false
		}
		s.push(piece{frame: f, shared: shared})
		s.read = f.Next
		s.finish(f.Next)
	}
}

// pass moves the position over a frame of which nothing is delivered.
func (s *Subscription) pass(next Cursor) {
	next.Skip = uint32(s.skip)
	s.read = next
	s.pos = next
}

// inside tells whether the rows of a commit have been begun.
func (s *Subscription) inside(c *Commit) bool {
	return s.commit != nil && s.commit.Snapshot == c.Snapshot && s.commit.Phase == c.Phase
}

// counted returns the rows of a commit that have been delivered.
func (s *Subscription) counted(c *Commit) Counts {
	if s.inside(c) {
		return s.counts
	}
	return Counts{} // its begin is not delivered yet
}

// beginCommit begins the commit of a frame, and changes the schema before if it
// is another one.
func (s *Subscription) beginCommit(f *Frame, shared bool, from int) {
	at := f.At
	if from > 0 {
		at = at.After(from)
	}
	if f.Schema.ID != s.schemaID && s.schemaID >= 0 {
		s.push(piece{frame: &Frame{Kind: FrameSchemaChange, At: at, Next: at, Schema: f.Schema, PreviousSchema: s.schemaID}})
	}
	if f.Kind == FrameCommitBegin {
		s.push(piece{frame: f, shared: shared})
		s.read = f.Next
		return
	}
	// The window may have lost the begin of a commit and still have all its rows:
	// then the subscription stands at the boundary, and nothing is left out.
	continued := from > 0 || !s.read.AtBoundary()
	s.push(piece{frame: &Frame{Kind: FrameCommitBegin, At: at, Next: at, Commit: f.Commit, Schema: f.Schema, Continued: continued}})
}

// endCommit ends a commit whose end did not come.
func (s *Subscription) endCommit(next Cursor) {
	if s.commit != nil {
		s.push(piece{frame: &Frame{Kind: FrameCommitEnd, At: next, Next: next, Commit: s.commit, Counts: s.counts}})
	}
}

// finish completes the subscription if its end is reached.
func (s *Subscription) finish(at Cursor) {
	if s.end == nil && s.until.reached(at) {
		s.complete(at)
	}
}
