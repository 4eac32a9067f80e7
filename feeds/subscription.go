package feeds

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// Subscription is one subscriber's position in a feed.
//
// Next, NextBatch and Close are for one goroutine at a time: that of the
// transport's sender. Ack and Cursor may be called from anywhere.
type Subscription struct {
	feed  *Feed
	req   Request
	view  *view
	until bound

	// Guarded by the feed's lock.
	attached bool   // reads from the window, at seq
	seq      uint64 // place of the next frame

	own   Source   // reads the table while the position is outside the window
	skip  int      // rows of the next frame that come before the position
	ahead bool     // frames before the position are passed over
	pos   Cursor   // the next row that has not been delivered
	read  Cursor   // position after the frames taken so far
	ready []piece  // frames taken, not delivered
	part  *piece   // the frame that is being delivered
	parts []chunk  // what is left of it
	pend  Delivery // put back by NextBatch
	has   bool     // pend is set
	end   error    // what Next returns when ready is empty

	commit   *Commit // begun and not ended
	counts   Counts  // rows taken of it
	schemaID int64

	ownFrames []*Frame // reused
	ownCounts Counts
	timer     *time.Timer
	cursor    atomic.Pointer[Cursor] // copy of pos for other goroutines
}

// piece is a frame on its way to the transport.
type piece struct {
	frame    *Frame
	from, to int
	shared   bool // the frame is in the window, and its whole encoding is shared
}

// Subscribe subscribes to the feed. When it returns, the position is fixed, and
// the first delivery says so. ctx bounds the call, not the subscription. Errors
// are [*RequestError], [*QuotaError], [ErrDraining], [ErrClosed] and those of
// [Table.Open].
func (f *Feed) Subscribe(ctx context.Context, r Request) (*Subscription, error) {
	r, err := r.normalize(f.opts)
	if err != nil {
		return nil, err
	}
	start, err := f.start(ctx, r)
	if err != nil {
		return nil, err
	}
	s := &Subscription{feed: f, req: r, schemaID: -1}
	if err := f.enter(s); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, start); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// start finds out where a request begins.
func (f *Feed) start(ctx context.Context, r Request) (Start, error) {
	if r.Consumer != "" && f.cursors == nil {
		return Start{}, &RequestError{Field: "consumer", Why: "this gateway keeps no positions of consumers"}
	}
	if r.Start != nil {
		return *r.Start, nil
	}
	if r.Consumer != "" {
		c, err := f.cursors.Load(ctx, f.name, r.Consumer)
		if err != nil {
			return Start{}, err
		}
		if !c.IsZero() {
			return Start{Mode: StartCursor, Cursor: c}, nil
		}
	}
	return Start{Mode: StartLatest}, nil
}

// enter counts a subscription, so that the tail lives.
func (f *Feed) enter(s *Subscription) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return ErrClosed
	case f.draining:
		return ErrDraining
	case len(f.subs) >= f.opts.SubscriptionsMax:
		return &QuotaError{What: "subscriptions of feed " + f.name, Limit: int64(f.opts.SubscriptionsMax), RetryAfter: time.Second}
	}
	f.stopLinger()
	f.subs[s] = struct{}{}
	return nil
}

// begin fixes the position.
func (s *Subscription) begin(ctx context.Context, start Start) error {
	f := s.feed
	if start.Mode == StartCursor {
		s.setPos(start.Cursor)
		f.mu.Lock()
		f.join(s, false)
		f.mu.Unlock()
	}
	if !s.attached {
		src, err := f.open(ctx, start)
		if err != nil {
			return err
		}
		s.setOwn(src)
		s.setPos(src.Cursor())
	}
	s.read = s.pos
	schema, st, err := s.facts(ctx)
	if err != nil {
		return err
	}
	if err := s.setView(schema); err != nil {
		return err
	}
	if s.until, err = s.req.Until.bound(ctx, f, s.pos); err != nil {
		return err
	}
	if schema != nil {
		s.schemaID = schema.ID
	}
	s.push(piece{frame: &Frame{Kind: FrameSubscribed, Feed: f.name, At: s.pos, Next: s.pos, Schema: schema, Head: st.Latest, Oldest: st.Earliest}})
	if s.own != nil {
		f.mu.Lock()
		s.settle(ctx)
		f.mu.Unlock()
		if s.attached {
			if err := s.dropOwn(); err != nil {
				return err
			}
		}
	}
	if s.until.reached(s.pos) {
		s.complete(s.pos)
	}
	return nil
}

// facts returns the schema at the position and the state of the table.
func (s *Subscription) facts(ctx context.Context) (*Schema, Status, error) {
	f := s.feed
	f.mu.Lock()
	st, fresh := f.status, !f.statusAt.IsZero() && f.opts.Now().Sub(f.statusAt) < f.opts.StatusInterval
	schema := f.schema
	if s.attached && s.seq < f.win.next && s.seq >= f.win.first() {
		schema = f.win.at(s.seq).Schema
	}
	f.mu.Unlock()
	if s.own != nil {
		schema, fresh = s.own.Schema(), false
	}
	if fresh && schema != nil {
		return schema, st, nil
	}
	st, err := f.Status(ctx)
	if schema == nil {
		schema = st.Schema
	}
	return schema, st, err
}

// setView finds or makes the feed's view for the request.
func (s *Subscription) setView(schema *Schema) error {
	key, ids, err := viewKey{}, []int(nil), error(nil)
	if schema != nil {
		key, ids, err = s.req.View.resolve(schema)
	} else if len(s.req.View.Columns) > 0 {
		err = &RequestError{Field: "columns", Why: "the table has no schema yet"}
	} else {
		key, _, err = s.req.View.resolve(nil)
	}
	if err != nil {
		return err
	}
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.views[key]
	if v == nil {
		if len(f.views) >= f.opts.ViewsMax {
			return &QuotaError{What: "different views (format, columns and limits) of feed " + f.name, Limit: int64(f.opts.ViewsMax), RetryAfter: time.Second}
		}
		v = &view{key: key, ids: ids}
		f.views[key] = v
	}
	v.refs++
	s.view = v
	return nil
}

// Cursor returns the position: the next row that has not been delivered.
func (s *Subscription) Cursor() Cursor { return *s.cursor.Load() }

// Feed returns the feed.
func (s *Subscription) Feed() *Feed { return s.feed }

func (s *Subscription) setPos(c Cursor) {
	s.pos = c
	s.cursor.Store(&c)
}

func (s *Subscription) setOwn(src Source) {
	if s.own == nil && src != nil {
		s.feed.c.readers.Add(1)
	}
	if s.own != nil && src == nil {
		s.feed.c.readers.Add(-1)
	}
	s.own = src
}

// Ack stores c as the position of the named consumer. When it returns, c is
// durable, or a later position was. It returns a [*RequestError] if the
// subscription has no consumer.
func (s *Subscription) Ack(ctx context.Context, c Cursor) error {
	_, err := s.feed.Ack(ctx, s.req.Consumer, c)
	return err
}

// Close ends the subscription. The positions acknowledged so far are durable
// already. It must not run while Next does: cancel that call first.
func (s *Subscription) Close() error {
	f := s.feed
	var err error
	if s.own != nil {
		err = s.own.Close()
		s.setOwn(nil)
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.end, s.ready, s.parts, s.has = ErrClosed, nil, nil, false
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.subs[s]; !ok {
		return err
	}
	delete(f.subs, s)
	f.detach(s)
	if v := s.view; v != nil {
		if v.refs--; v.refs == 0 {
			delete(f.views, v.key)
			f.c.goneEncodings.Add(v.encoded.Load())
			f.c.goneShared.Add(v.shared.Load())
		}
	}
	if len(f.subs) == 0 && !f.closed && f.tail != nil {
		f.startLinger()
	}
	return err
}

// Next returns the next delivery. It blocks until there is one: when the feed is
// idle, that is a progress frame after the progress interval. A subscription
// with an end closes with a complete frame and then [io.EOF]; a drained one with
// a reconnect frame and then [ErrDraining].
func (s *Subscription) Next(ctx context.Context) (Delivery, error) {
	d, _, err := s.next(ctx, true)
	return d, err
}

// NextBatch appends deliveries to dst that together keep the view's limits of
// rows and bytes, for transports that put many into one message. It blocks until
// there is one, and then only as long as the request's linger.
func (s *Subscription) NextBatch(ctx context.Context, dst []Delivery) ([]Delivery, error) {
	d, _, err := s.next(ctx, true)
	if err != nil {
		return dst, err
	}
	rows, bytes := 0, 0
	var until time.Time
	for {
		dst = append(dst, d)
		rows, bytes = rows+d.Rows(), bytes+len(d.Bytes)
		if rows >= s.view.key.maxRows || bytes >= s.view.key.maxByt || d.Frame.Kind >= FrameComplete {
			return dst, nil
		}
		var ok bool
		if d, ok, err = s.next(ctx, false); err == nil && !ok && s.req.Linger > 0 && rows > 0 {
			if until.IsZero() {
				until = time.Now().Add(s.req.Linger)
			}
			d, ok, err = s.lingerNext(ctx, until)
		}
		if err != nil || !ok {
			return dst, nil // an error comes back with the next call
		}
		if rows+d.Rows() > s.view.key.maxRows || bytes+len(d.Bytes) > s.view.key.maxByt {
			s.pend, s.has = d, true
			s.setPos(d.at())
			return dst, nil
		}
	}
}

// lingerNext waits until a time for one more delivery.
func (s *Subscription) lingerNext(ctx context.Context, until time.Time) (Delivery, bool, error) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		changed := s.feed.Changed()
		d, ok, err := s.next(ctx, false)
		if ok || err != nil {
			return d, ok, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return Delivery{}, false, nil
		case <-ctx.Done():
			return Delivery{}, false, ctx.Err()
		}
	}
}

// next returns the next delivery; ok is false if there is none now and block is
// false.
func (s *Subscription) next(ctx context.Context, block bool) (d Delivery, ok bool, err error) {
	if s.has {
		d, s.pend, s.has = s.pend, Delivery{}, false
		s.setPos(d.Next())
		return d, true, nil
	}
	for {
		if len(s.parts) > 0 {
			return s.deliver(), true, nil
		}
		if len(s.ready) > 0 {
			if err := s.encode(); err != nil {
				s.ready, s.end = nil, err
			}
			continue
		}
		if s.end != nil {
			return Delivery{}, false, s.end
		}
		ok, err := s.take(ctx, block)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				s.end = err
			}
			return Delivery{}, false, err
		}
		if !ok {
			return Delivery{}, false, nil
		}
	}
}

// deliver gives out the next part of the current frame.
func (s *Subscription) deliver() Delivery {
	p := s.parts[0]
	s.parts = s.parts[1:]
	d := Delivery{Frame: s.part.frame, From: p.from, To: p.to, Bytes: p.bytes}
	s.setPos(d.Next())
	c := &s.feed.c
	c.deliveries.Add(1)
	c.delivered.Add(int64(p.to - p.from))
	c.sent.Add(int64(len(p.bytes)))
	if len(s.parts) == 0 {
		s.part, s.parts = nil, nil // frees the frame while the subscription is idle
	}
	return d
}

// encode makes the parts of the next frame that is ready.
func (s *Subscription) encode() error {
	p := s.ready[0]
	s.ready = s.ready[1:]
	if len(s.ready) == 0 {
		s.ready = nil
	}
	var e *encoding
	if p.shared && p.from == 0 && p.to == p.frame.n() {
		var made bool
		if e, made = s.view.of(p.frame); made {
			s.feed.mu.Lock()
			s.feed.win.grow(p.frame, e.bytes)
			s.feed.mu.Unlock()
		}
	} else {
		e = s.view.encode(p.frame, p.from, p.to)
		s.feed.c.privateEncodings.Add(1)
	}
	if e.err != nil {
		return e.err
	}
	s.part, s.parts = &p, e.chunks
	return nil
}

func (s *Subscription) push(p piece) { s.ready = append(s.ready, p) }

// complete ends a subscription that has come to its end.
func (s *Subscription) complete(at Cursor) {
	s.push(piece{frame: &Frame{Kind: FrameComplete, At: at, Next: at}})
	s.end = io.EOF
}
