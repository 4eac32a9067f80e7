package natsfeed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"sluice/feeds"
)

// session is one stretch of publishing, from a position that was read back to
// the first failure.
type session struct {
	p      *Publisher
	sub    *feeds.Subscription
	acks   *acks
	last   uint64 // sequence number of the last message sent
	pinned time.Time

	// The message is made anew for each delivery, in the same memory: the client
	// has copied it when it returns.
	msg    nats.Msg
	values [headers][1]string // of the headers, in the order of their names below
	next   feeds.Cursor       // after the last message
	text   string             // of next
}

// session publishes until something fails or ctx ends. acked tells whether any
// message was acknowledged.
func (p *Publisher) session(ctx context.Context) (acked bool, err error) {
	p.sessions.Add(1)
	stream, err := p.ensure(ctx)
	if err != nil {
		return false, err
	}
	if !p.held {
		g, err := p.guard(ctx)
		if err != nil {
			return false, err
		}
		defer func() { _ = g.Unsubscribe() }()
	}
	at, err := p.readPosition(ctx, stream)
	if err != nil {
		return false, err
	}
	if p.held && at.name != p.o.Name {
		return false, &FencedError{Stream: p.o.Stream, Publisher: at.name, Sequence: at.last}
	}
	sub, err := p.feed.Subscribe(ctx, feeds.Request{
		Feed: p.feed.Name(), Start: at.start,
		View: feeds.View{Encoder: p.encoder(), MaxRows: p.o.EventsPerMessage, MaxBytes: p.payloadMax(), Transient: true},
	})
	if err != nil {
		return false, fmt.Errorf("feed %s: %w", p.feed.Name(), err)
	}
	defer sub.Close()
	p.o.Events.resumed(p.o.Stream, sub.Cursor(), at.last)
	acked, err = p.run(ctx, sub, at.last)
	p.held = p.held || acked
	if wrongSequence(err) {
		// Somebody wrote in between. It is another publisher unless it was this
		// one, whose acknowledgement got lost.
		if now, readErr := p.readPosition(ctx, stream); readErr == nil && now.name != p.o.Name {
			return acked, &FencedError{Stream: p.o.Stream, Publisher: now.name, Sequence: now.last}
		}
	}
	return acked, err
}

// headerRoom is left for headers below the server's limit for a message.
const headerRoom = 4 << 10

func (p *Publisher) payloadMax() int {
	if p.o.PayloadMax > 0 {
		return p.o.PayloadMax
	}
	return min(int(p.nc.MaxPayload())-headerRoom, feeds.LimitMaxBytes)
}

// run sends what the subscription delivers and waits for the acknowledgements.
func (p *Publisher) run(ctx context.Context, sub *feeds.Subscription, last uint64) (acked bool, err error) {
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := newAcks(p, last, cancel)
	if err != nil {
		return false, err
	}
	defer a.close()
	s := &session{p: p, sub: sub, acks: a, last: last}
	err = s.send(sending)
	// Messages on their way get a little time to be acknowledged: it is no loss
	// if they are not, since the next session reads back what arrived.
	acked, failure := a.drain(p.o.DrainTimeout)
	if failure != nil {
		err = failure
	}
	return acked, err
}

func (s *session) send(ctx context.Context) error {
	for {
		d, err := s.sub.Next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch d.Frame.Kind {
		case feeds.FrameRows:
			if err := s.publish(ctx, &d); err != nil {
				return err
			}
		case feeds.FrameProgress:
			s.p.setProblem(nil)
			s.pin(ctx, d.Next())
		case feeds.FrameCommitEnd:
			s.pin(ctx, d.Next())
		}
	}
}

// pin stores the position as a consumer of the feed now and then, so that the
// table keeps the history that a restart will ask for. Losing one is harmless.
func (s *session) pin(ctx context.Context, c feeds.Cursor) {
	now := time.Now()
	if now.Sub(s.pinned) < s.p.o.PinInterval || s.acks.waiting() > 0 {
		return
	}
	s.pinned = now
	if _, err := s.p.feed.Ack(ctx, "nats-"+s.p.o.Stream, c); err != nil {
		s.p.o.Events.retry(s.p.o.Stream, fmt.Errorf("store the position: %w", err))
	}
}

// publish sends the rows of a delivery as one message.
func (s *session) publish(ctx context.Context, d *feeds.Delivery) error {
	if err := s.message(d); err != nil {
		return err
	}
	var err error
	if s.msg.Reply, err = s.acks.reserve(ctx, d.Rows()); err != nil {
		return err
	}
	if err := s.p.nc.PublishMsg(&s.msg); err != nil {
		return fmt.Errorf("publish to %s: %w", s.msg.Subject, err)
	}
	s.last++
	return nil
}
