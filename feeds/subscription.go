package feeds

import (
	"context"
	"time"
)

// Subscription is one subscriber's position in a feed.
//
// Next, NextBatch, Poll and Close are for one goroutine at a time: that of the
// transport's sender. Ack and Cursor may be called from anywhere.
//
// Between two calls a subscription holds no rows: it goes on at its position, in
// the window or behind it. Only one that reads the table itself keeps its source
// and a batch, and loses them when another needs them more.
type Subscription struct {
	feed  *Feed
	req   Request
	view  *view
	until bound

	// Guarded by the feed's lock, as is all that follows while busy is false.
	busy     bool   // a call runs
	attached bool   // reads from the window, at seq
	seq      uint64 // place of the next frame
	used     uint64 // when the own source was last used, by the feed's count

	seen Cursor // pos after the last call that has ended; guarded by the feed's lock

	// What has been delivered.
	pos      Cursor // the next row that has not been
	commit   *Commit
	counts   Counts // of the rows of commit
	schemaID int64
	started  bool  // that it is subscribed
	end      error // what Next returns when nothing is ready any more

	// What comes next.
	own   Source   // reads the table while the position is outside the window
	queue []*Frame // read from own, not looked at
	skip  int      // rows of the next frames that come before the position
	ahead bool     // frames before the position are passed over
	read  Cursor   // position after the frames taken so far
	ready []piece  // taken frames, with what is needed around them
	part  piece    // the frame that is being delivered
	parts []chunk  // what is left of it

	one  [1]chunk // parts, and room its bytes, of a view that is transient
	room []byte

	ownCounts Counts
	timer     *time.Timer
}

// piece is a frame on its way to the transport.
type piece struct {
	frame    *Frame
	from, to int
	shared   bool // the frame is in the window, and its encoding is shared
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
	s.pause()
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
	s.busy = true
	f.subs[s] = struct{}{}
	return nil
}

// begin fixes the position.
func (s *Subscription) begin(ctx context.Context, start Start) error {
	f := s.feed
	if start.Mode == StartCursor {
		s.pos = start.Cursor
		f.mu.Lock()
		f.join(s, false)
		f.mu.Unlock()
	}
	if !s.attached {
		if err := s.openOwn(ctx, start); err != nil {
			return err
		}
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
	if s.until.reached(s.pos) {
		s.complete(s.pos)
		return nil
	}
	return s.settle(ctx)
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
	key, ids, err := s.req.View.resolve(schema)
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

// Cursor returns the position: the next row that has not been delivered by a call
// that has returned.
func (s *Subscription) Cursor() Cursor {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.seen
}

// Feed returns the feed.
func (s *Subscription) Feed() *Feed { return s.feed }

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
	s.resume()
	err := s.dropOwn()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.end, s.ready, s.part, s.parts = ErrClosed, nil, piece{}, nil
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
	if len(f.subs) == 0 && !f.closed {
		f.startLinger()
	}
	return err
}
