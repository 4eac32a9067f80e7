package feeds

import (
	"context"
	"errors"
	"io"
	"time"
)

// How deliveries leave a subscription.

// Next returns the next delivery. It blocks until there is one: when the feed is
// idle, that is a progress frame after the progress interval. A subscription
// with an end closes with a complete frame and then [io.EOF]; a drained one with
// a reconnect frame and then [ErrDraining].
func (s *Subscription) Next(ctx context.Context) (Delivery, error) {
	d, _, err := s.next(ctx, true)
	return d, err
}

// Poll returns the next delivery if there is one now, for transports that gather
// several into one write: it never waits for rows to be committed, though it may
// read a file if the subscription is behind the window. An error stays for the
// next call of Next, which is where it is reported.
func (s *Subscription) Poll(ctx context.Context) (d Delivery, ok bool) {
	d, ok, err := s.next(ctx, false)
	return d, ok && err == nil
}

// next returns the next delivery; ok is false if there is none now and block is
// false.
func (s *Subscription) next(ctx context.Context, block bool) (Delivery, bool, error) {
	s.resume()
	defer s.pause()
	ok, err := s.fill(ctx, block)
	if !ok || err != nil {
		return Delivery{}, false, err
	}
	return s.deliver(), true, nil
}

// NextBatch appends deliveries to dst that together keep the view's limits of
// rows and bytes, for transports that put many into one message. It blocks until
// there is one, and then only as long as the request's linger. Of a view that is
// transient, it is always one delivery.
func (s *Subscription) NextBatch(ctx context.Context, dst []Delivery) ([]Delivery, error) {
	s.resume()
	defer s.pause()
	if _, err := s.fill(ctx, true); err != nil {
		return dst, err
	}
	rows, bytes := 0, 0
	var until time.Time
	for {
		next := &s.parts[0]
		if n := len(dst); n > 0 && rows+bytes > 0 &&
			(rows+next.to-next.from > s.view.key.maxRows || bytes+len(next.bytes) > s.view.key.maxByt) {
			return dst, nil
		}
		d := s.deliver()
		dst = append(dst, d)
		rows, bytes = rows+d.Rows(), bytes+len(d.Bytes)
		if rows >= s.view.key.maxRows || bytes >= s.view.key.maxByt || d.Frame.Kind >= FrameComplete || s.view.key.transient {
			return dst, nil
		}
		ok, err := s.fill(ctx, false)
		if err == nil && !ok && s.req.Linger > 0 && rows > 0 {
			if until.IsZero() {
				until = time.Now().Add(s.req.Linger)
			}
			ok, err = s.lingerFill(ctx, until)
		}
		if err != nil || !ok {
			return dst, nil // an error comes back with the next call
		}
	}
}

// lingerFill is fill that waits until a time.
func (s *Subscription) lingerFill(ctx context.Context, until time.Time) (bool, error) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		changed := s.feed.Changed()
		if ok, err := s.fill(ctx, false); ok || err != nil {
			return ok, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// fill makes sure that there is a part to deliver; ok is false if there is none
// now and block is false.
func (s *Subscription) fill(ctx context.Context, block bool) (ok bool, err error) {
	for {
		switch {
		case len(s.parts) > 0:
			return true, nil
		case len(s.ready) > 0:
			if err := s.encode(); err != nil {
				s.ready, s.end = nil, err
			}
			continue
		case s.end != nil:
			return false, s.end
		}
		ok, err := s.take(ctx, block)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				s.end = err
			}
			return false, err
		}
		if !ok {
			return false, nil
		}
	}
}

// encode makes the parts of the next frame that is ready.
func (s *Subscription) encode() error {
	if s.view.key.transient {
		return s.encodeFirst()
	}
	p := s.ready[0]
	s.ready[0] = piece{} // the array may live on
	s.ready = s.ready[1:]
	if p.shared {
		e, made := s.view.of(p.frame)
		if made {
			s.feed.encoded(p.frame, e)
		}
		if e.err != nil {
			return e.err
		}
		if parts, ok := e.parts(p.from, p.to); ok {
			s.part, s.parts = p, parts
			return nil
		}
	}
	p.shared = false
	e := s.view.encode(p.frame, p.from, p.to)
	s.feed.c.privateEncodings.Add(1)
	s.part, s.parts = p, e.chunks
	return e.err
}

// encodeFirst makes the next part alone, in the subscription's buffer. The rest of
// its frame stays ready.
func (s *Subscription) encodeFirst() error {
	p := s.ready[0]
	c, err := s.view.encodeFirst(p.frame, p.from, p.to, &s.room)
	if err != nil {
		return err
	}
	s.one[0] = c
	s.part, s.parts = p, s.one[:]
	if s.ready[0].from = c.to; c.to >= p.to {
		s.ready[0] = piece{} // the array may live on
		s.ready = s.ready[1:]
	}
	s.feed.c.privateEncodings.Add(1)
	return nil
}

// deliver gives out the next part, and notes what that means.
func (s *Subscription) deliver() Delivery {
	p, f := s.parts[0], s.part.frame
	if s.parts = s.parts[1:]; len(s.parts) == 0 {
		s.part, s.parts = piece{}, nil
	}
	d := Delivery{Frame: f, From: p.from, To: p.to, Bytes: p.bytes}
	switch f.Kind {
	case FrameSubscribed:
		s.started = true
	case FrameSchemaChange:
		s.schemaID = f.Schema.ID
	case FrameCommitBegin:
		s.commit, s.counts, s.schemaID = f.Commit, Counts{}, f.Schema.ID
	case FrameRows:
		for k, n := range p.counts {
			s.counts[k] += n
		}
	case FrameCommitEnd:
		s.commit = nil
	}
	s.pos = d.Next()
	c := &s.feed.c
	c.deliveries.Add(1)
	c.delivered.Add(int64(p.to - p.from))
	c.sent.Add(int64(len(p.bytes)))
	return d
}

func (s *Subscription) push(p piece) { s.ready = append(s.ready, p) }

// complete ends a subscription that has come to its end.
func (s *Subscription) complete(at Cursor) {
	s.push(piece{frame: &Frame{Kind: FrameComplete, At: at, Next: at}})
	s.end = io.EOF
}

// resume begins a call.
func (s *Subscription) resume() {
	s.feed.mu.Lock()
	s.busy = true
	s.feed.mu.Unlock()
}

// pause ends a call. What was taken from the window and not delivered goes back:
// the subscription will find it there, or else read it from the table.
func (s *Subscription) pause() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.end == nil && s.attached {
		switch last := len(s.ready) - 1; {
		case last >= 0 && s.ready[last].shared:
			s.seq, s.skip = s.ready[last].frame.seq, s.ready[last].from
			s.ready, s.part, s.parts = nil, piece{}, nil
		case last < 0 && len(s.parts) > 0 && s.part.shared:
			s.seq, s.skip = s.part.frame.seq, s.parts[0].from
			s.part, s.parts = piece{}, nil
		}
		if len(s.ready) == 0 && len(s.parts) == 0 {
			s.read = s.pos
		}
	}
	s.busy, s.seen = false, s.pos
	if s.own != nil {
		f.used++
		s.used = f.used
		f.readerIdle()
	}
}
