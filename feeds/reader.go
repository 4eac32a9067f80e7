package feeds

import "context"

// Subscriptions outside the window read the table themselves. The number of
// sources that are open for that is bounded: who needs one takes it from the
// subscription that has not used its own for longest, which opens another when its
// subscriber reads on.

// takeOwn reads the table with the subscription's own source, until the position
// is in the window.
func (s *Subscription) takeOwn(ctx context.Context) (bool, error) {
	f := s.feed
	if len(s.queue) > 0 {
		frame := s.queue[0]
		s.queue[0] = nil // the array may live on
		s.queue = s.queue[1:]
		s.accept(frame, false)
		return true, nil
	}
	s.pos = s.read
	if err := s.settle(ctx); err != nil {
		return false, err
	}
	if s.attached {
		f.c.promoted.Add(1)
		return true, nil
	}
	if s.own == nil {
		if err := s.openOwn(ctx, Start{Mode: StartCursor, Cursor: s.read}); err != nil {
			return false, err
		}
		s.read = s.pos // the same row, perhaps as the begin of the next unit
		return true, nil
	}
	b, err := s.own.Next(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.dropOwn() // the error of reading is the one to tell
		}
		return false, err
	}
	f.c.readerBatches.Add(1)
	f.c.readerRows.Add(int64(b.Rows.N))
	s.queue = framesOf(nil, b, &s.ownCounts)
	return true, nil
}

// readerShare divides the batches of sources behind the window: there may be many,
// and each holds up to two batches.
const readerShare = 4

// openOwn opens a source for the subscription alone, at a start, and moves the
// position there. If there is no tail, the source will become it.
func (s *Subscription) openOwn(ctx context.Context, start Start) error {
	f := s.feed
	if err := f.reserveReader(ctx, s); err != nil {
		return err
	}
	f.mu.Lock()
	share := 1
	if f.tail != nil {
		share = readerShare
	}
	f.mu.Unlock()
	src, err := f.open(ctx, start, share)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.readers--
		f.readerIdle()
		return err
	}
	s.own, s.queue, s.ownCounts = src, nil, Counts{}
	f.owners[s] = struct{}{}
	s.pos = src.Cursor()
	return nil
}

// reserveReader counts a source that is about to be opened. If there are too many,
// it takes one from a subscription that has no call running, or waits for that.
func (f *Feed) reserveReader(ctx context.Context, s *Subscription) error {
	for {
		f.mu.Lock()
		if f.readers < f.opts.ReadersMax {
			f.readers++
			f.mu.Unlock()
			return nil
		}
		if victim := f.idlest(); victim != nil {
			src := victim.own
			f.disown(victim)
			if victim.queue = nil; victim.started { // else only that it is subscribed is ready
				victim.ready, victim.part, victim.parts = nil, piece{}, nil
			}
			victim.read, victim.skip = victim.pos, 0
			f.readers++
			f.c.taken.Add(1)
			f.mu.Unlock()
			src.Close() // it was only read from: an error is of no use
			return nil
		}
		if f.idle == nil {
			f.idle = make(chan struct{})
		}
		idle := f.idle
		f.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// idlest returns the subscription with a source that has not been used for
// longest, nil if all are in use. The caller holds the lock.
func (f *Feed) idlest() *Subscription {
	var least *Subscription
	for s := range f.owners {
		if !s.busy && s.end == nil && (least == nil || s.used < least.used) {
			least = s
		}
	}
	return least
}

// readerIdle wakes those who wait for a source. The caller holds the lock.
func (f *Feed) readerIdle() {
	if f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// disown takes the source from a subscription. The caller holds the lock.
func (f *Feed) disown(s *Subscription) {
	s.own = nil
	delete(f.owners, s)
	f.readers--
	f.readerIdle()
}

// dropOwn closes the subscription's own source, if it has one.
func (s *Subscription) dropOwn() error {
	s.feed.mu.Lock()
	src := s.own
	if src != nil {
		s.feed.disown(s)
	}
	s.feed.mu.Unlock()
	if src == nil {
		return nil
	}
	return src.Close()
}
