package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	sluicev1 "sluice/proto/sluice/v1"
)

// Subscription is a position in a feed, and a stream while it is connected. It is
// for one goroutine, but for Ack.
type Subscription struct {
	client *Client
	opts   subscribeOptions

	stream grpc.ServerStreamingClient[sluicev1.SubscribeResponse]
	cancel context.CancelFunc
	frames []*sluicev1.Frame // received, not looked at

	cursor   string // position after the last event
	schema   *Schema
	commit   *Commit // begun and not ended
	counts   Counts  // rows since its begin
	received Counts  // of them, by this stream
	failures int     // in a row
	resumed  int64   // times that the stream was made again
	err      error   // what Next returns from now on

	change Change // of Changes: the row that comes next
}

// Subscribe returns a subscription to a feed. It connects with the first Next.
func (c *Client) Subscribe(feed string, opts ...Option) *Subscription {
	s := &Subscription{client: c}
	s.opts.retriesMax, s.opts.retryMin, s.opts.retryMax = RetriesMax, RetryMin, RetryMax
	s.opts.req.Feed = feed
	for _, o := range opts {
		if err := o(&s.opts); err != nil && s.err == nil {
			s.err = fmt.Errorf("subscribe to %s: %w", feed, err)
		}
	}
	return s
}

// Cursor returns the position after the last event, empty before the first. A
// subscription from there gives what follows.
func (s *Subscription) Cursor() string { return s.cursor }

// Schema returns the schema of the rows that come next, nil before the first
// event.
func (s *Subscription) Schema() *Schema { return s.schema }

// Resumed returns how often the subscription has connected again.
func (s *Subscription) Resumed() int64 { return s.resumed }

// Ack stores a position for the subscription's consumer. It is durable at the
// gateway on return. It may be called from any goroutine.
func (s *Subscription) Ack(ctx context.Context, cursor string) error {
	_, err := s.client.Ack(ctx, s.opts.req.Feed, s.opts.req.Consumer, cursor)
	return err
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.disconnect()
	s.frames, s.change, s.err = nil, Change{}, ErrClosed
}

// Changes returns the changes of the feed one by one. The loop ends after an
// error, at the end that was asked for, or when its body ends it; then Changes may
// be called again and goes on with the change that follows. It is not to be mixed
// with Next.
func (s *Subscription) Changes(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for {
			for s.change.Rows != nil && s.change.Index < s.change.Rows.Len() {
				c := s.change
				s.change.Index++
				if !yield(c, nil) {
					return
				}
			}
			e, err := s.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Change{}, err)
				return
			}
			s.change = Change{Rows: e.Rows, Commit: e.Commit}
		}
	}
}

// Next returns the next event. It blocks until there is one, over broken
// connections too. It returns [io.EOF] after the end that was asked for, the error
// of ctx, an [*Error] of the gateway, or [ErrCorrupt]. After the error of ctx it
// may be called again.
func (s *Subscription) Next(ctx context.Context) (*Event, error) {
	for {
		if len(s.frames) > 0 {
			f := s.frames[0]
			s.frames = s.frames[1:]
			e, err := s.accept(ctx, f)
			if err != nil {
				s.disconnect()
				if ctx.Err() == nil {
					s.err = err
				}
				return nil, err
			}
			if e != nil {
				s.cursor = e.Cursor
				return e, nil
			}
			continue
		}
		if s.err != nil {
			return nil, s.err
		}
		if err := s.receive(ctx); err != nil {
			return nil, err
		}
	}
}

// receive gets frames, and connects as often as it takes.
func (s *Subscription) receive(ctx context.Context) error {
	err := s.receiveOnce(ctx)
	if err == nil {
		return nil
	}
	s.disconnect()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) { // without a complete frame
		err = &Error{Message: "the gateway ended the stream"}
	} else if !transient(err) {
		s.err = err
		return err
	}
	if s.failures++; s.failures > s.opts.retriesMax {
		s.err = fmt.Errorf("gave up after %d tries: %w", s.failures, err)
		return s.err
	}
	wait := min(s.opts.retryMin<<min(s.failures-1, 20), s.opts.retryMax)
	wait = wait/2 + rand.N(wait/2+1)
	var asked *Error
	if errors.As(err, &asked) {
		wait = max(wait, min(asked.Retry, s.opts.retryMax))
	}
	return pause(ctx, wait)
}

func (s *Subscription) receiveOnce(ctx context.Context) error {
	if s.stream == nil {
		if err := s.connect(ctx); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, s.cancel)
	m, err := s.stream.Recv()
	if !stop() { // the stream is cancelled, or about to be
		s.disconnect()
	}
	if err != nil {
		return toError(err)
	}
	s.frames = m.GetFrames()
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connect opens a stream at the position. It outlives ctx; Next cuts it if its own
// context ends.
func (s *Subscription) connect(ctx context.Context) error {
	req := proto.CloneOf(&s.opts.req)
	if s.cursor != "" {
		req.Start = &sluicev1.Start{At: &sluicev1.Start_Cursor{Cursor: s.cursor}}
		s.resumed++
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	stream, err := s.client.feeds.Subscribe(run, req, grpc.MaxCallRecvMsgSize(MessageBytesMax))
	stop()
	if err != nil {
		cancel()
		return toError(err)
	}
	s.stream, s.cancel, s.received = stream, cancel, Counts{}
	return nil
}

func (s *Subscription) disconnect() {
	if s.cancel != nil {
		s.cancel()
	}
	s.stream, s.cancel = nil, nil
}

// accept turns a frame into an event; nil if it is nothing to tell.
func (s *Subscription) accept(ctx context.Context, f *sluicev1.Frame) (*Event, error) {
	if f.GetSubscribed() == nil {
		s.failures = 0
	}
	switch m := f.GetFrame().(type) {
	case *sluicev1.Frame_Subscribed:
		return s.subscribed(m.Subscribed), nil
	case *sluicev1.Frame_SchemaChange:
		s.schema = schemaOf(m.SchemaChange.GetSchema())
		return &Event{Kind: EventSchemaChange, Cursor: s.cursor, Schema: s.schema}, nil
	case *sluicev1.Frame_CommitBegin:
		return s.commitBegin(commitOf(m.CommitBegin), m.CommitBegin.GetCursor()), nil
	case *sluicev1.Frame_Rows:
		return s.rows(m.Rows)
	case *sluicev1.Frame_CommitEnd:
		return s.commitEnd(m.CommitEnd)
	case *sluicev1.Frame_Progress:
		p := m.Progress
		return &Event{Kind: EventProgress, Cursor: p.GetCursor(), Head: p.GetHeadSnapshot(), Oldest: p.GetOldestSnapshot()}, nil
	case *sluicev1.Frame_Complete:
		s.disconnect()
		s.err = io.EOF
		return &Event{Kind: EventComplete, Cursor: m.Complete.GetCursor()}, nil
	case *sluicev1.Frame_Reconnect:
		s.disconnect()
		s.frames = nil
		spread := time.Duration(max(0, m.Reconnect.GetSpreadMillis())) * time.Millisecond
		return nil, pause(ctx, rand.N(min(spread, s.opts.retryMax)+1))
	}
	return nil, nil // a kind that is not known here
}

// subscribed tells of the first stream only: later ones go on with what was.
func (s *Subscription) subscribed(m *sluicev1.Subscribed) *Event {
	schema, first := schemaOf(m.GetSchema()), s.schema == nil
	if !first && (schema == nil || schema.ID == s.schema.ID) {
		return nil
	}
	s.schema = schema
	e := &Event{Kind: EventSubscribed, Cursor: m.GetCursor(), Schema: schema, Head: m.GetHeadSnapshot(), Oldest: m.GetOldestSnapshot()}
	if !first {
		e.Kind = EventSchemaChange
	}
	return e
}

func (s *Subscription) commitBegin(c *Commit, cursor string) *Event {
	if s.commit != nil && s.commit.Snapshot == c.Snapshot && s.commit.Image == c.Image {
		return nil // it was begun before the stream broke
	}
	s.commit, s.counts, s.received = c, Counts{}, Counts{}
	return &Event{Kind: EventCommitBegin, Cursor: cursor, Commit: c}
}

func (s *Subscription) rows(m *sluicev1.Rows) (*Event, error) {
	if s.commit == nil || s.commit.Snapshot != m.GetSnapshot() {
		return nil, fmt.Errorf("%w: rows of snapshot %d, which was not begun", ErrCorrupt, m.GetSnapshot())
	}
	r, err := rowsOf(m, s.schema)
	if err != nil {
		return nil, err
	}
	if len(r.kinds) == 0 {
		s.counts[Insert] += uint64(r.n)
		s.received[Insert] += uint64(r.n)
	}
	for _, k := range r.kinds {
		s.counts[k]++
		s.received[k]++
	}
	return &Event{Kind: EventRows, Cursor: r.Cursor(r.n), Rows: r, Commit: s.commit}, nil
}

// commitEnd compares the number of rows with what the gateway says it sent.
func (s *Subscription) commitEnd(m *sluicev1.CommitEnd) (*Event, error) {
	c := m.GetRows()
	sent := Counts{c.GetInserts(), c.GetUpdatesBefore(), c.GetUpdatesAfter(), c.GetDeletes()}
	if s.commit == nil || s.commit.Snapshot != m.GetSnapshot() {
		return nil, fmt.Errorf("%w: end of snapshot %d, which was not begun", ErrCorrupt, m.GetSnapshot())
	}
	if sent != s.received {
		return nil, fmt.Errorf("%w: snapshot %d had %v rows of the four kinds, but %v came", ErrCorrupt, m.GetSnapshot(), sent, s.received)
	}
	e := &Event{Kind: EventCommitEnd, Cursor: m.GetCursor(), Commit: s.commit, Counts: s.counts}
	s.commit = nil
	return e, nil
}
