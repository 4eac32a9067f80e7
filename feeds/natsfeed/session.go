package natsfeed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/feeds"
)

// errOutOfStep ends a session whose message got another place than expected.
var errOutOfStep = errors.New("message got another sequence number than expected")

// sent is a message that waits for its acknowledgement.
type sent struct {
	ack  jetstream.PubAckFuture
	seq  uint64
	rows int
	next feeds.Cursor
}

// session is one stretch of publishing, from a position that was read back to
// the first failure.
type session struct {
	p       *Publisher
	sub     *feeds.Subscription
	last    uint64 // sequence number of the last message sent
	lastID  string // its message id, empty before the first one of the session
	queue   chan sent
	buf     []byte
	place   place
	ackedAt chan struct{} // closed by the acknowledging goroutine at its end
	acked   bool          // any; read after ackedAt
	failure error         // read after ackedAt
	pinned  time.Time
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
		View: feeds.View{Encoder: p.encoder(), MaxRows: p.o.EventsPerMessage, MaxBytes: p.payloadMax()},
	})
	if err != nil {
		return false, fmt.Errorf("feed %s: %w", p.feed.Name(), err)
	}
	defer sub.Close()
	p.o.Events.resumed(p.o.Stream, sub.Cursor(), at.last)
	s := &session{p: p, sub: sub, last: at.last, queue: make(chan sent, p.o.InFlight), ackedAt: make(chan struct{})}
	err = s.run(ctx)
	p.held = p.held || s.acked
	if wrongSequence(err) {
		// Somebody wrote in between. It is another publisher unless it was this
		// one, whose acknowledgement got lost.
		if now, readErr := p.readPosition(ctx, stream); readErr == nil && now.name != p.o.Name {
			return s.acked, &FencedError{Stream: p.o.Stream, Publisher: now.name, Sequence: now.last}
		}
	}
	return s.acked, err
}

// headerRoom is left for headers below the server's limit for a message.
const headerRoom = 4 << 10

func (p *Publisher) payloadMax() int {
	if p.o.PayloadMax > 0 {
		return p.o.PayloadMax
	}
	return min(int(p.nc.MaxPayload())-headerRoom, feeds.LimitMaxBytes)
}

// run sends; a goroutine takes the acknowledgements in order and ends with the
// queue or at the first failure, which cancels the sending.
func (s *session) run(ctx context.Context) error {
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	drained := make(chan struct{})
	go s.acknowledge(cancel, drained)
	err := s.send(sending)
	close(s.queue)
	// Messages on their way get a little time to be acknowledged: it is no loss
	// if they are not, since the next session reads back what arrived.
	timer := time.AfterFunc(s.p.o.DrainTimeout, func() { close(drained) })
	<-s.ackedAt
	timer.Stop()
	if s.failure != nil {
		return s.failure
	}
	return err
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
	if now.Sub(s.pinned) < s.p.o.PinInterval || len(s.queue) > 0 {
		return
	}
	s.pinned = now
	if _, err := s.p.feed.Ack(ctx, "nats-"+s.p.o.Stream, c); err != nil {
		s.p.o.Events.retry(s.p.o.Stream, fmt.Errorf("store the position: %w", err))
	}
}

// publish sends the rows of a delivery as one message.
func (s *session) publish(ctx context.Context, d *feeds.Delivery) error {
	m, err := s.message(d)
	if err != nil {
		return err
	}
	ack, err := s.p.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0), jetstream.WithStallWait(s.p.o.AckTimeout))
	if err != nil {
		return fmt.Errorf("publish to %s: %w", m.Subject, err)
	}
	s.last++
	s.lastID = m.Header[jetstream.MsgIDHeader][0]
	select {
	case s.queue <- sent{ack: ack, seq: s.last, rows: d.Rows(), next: d.Next()}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// message makes the message of a delivery. It follows the one sent before it,
// or is refused by the server.
func (s *session) message(d *feeds.Delivery) (*nats.Msg, error) {
	p := s.p
	first := d.Frame.At.After(d.From)
	h := nats.Header{
		HeaderCursor:                    {d.Next().String()},
		HeaderSnapshot:                  {strconv.FormatInt(d.Frame.Commit.Snapshot, 10)},
		HeaderOrdinal:                   {strconv.FormatUint(uint64(first.Unit), 10) + "." + strconv.FormatUint(first.Row, 10)},
		HeaderSchema:                    {strconv.FormatInt(d.Frame.Schema.ID, 10)},
		HeaderPublisher:                 {p.o.Name},
		jetstream.MsgIDHeader:           {first.String()},
		jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(s.last, 10)},
	}
	if s.lastID != "" {
		// The sequence number alone does not fence a pipeline: when a stranger's
		// message takes a place, the first of ours is refused, but the second finds
		// the number that it expects. So each also names the message before it.
		h[jetstream.ExpectedLastMsgIDHeader] = []string{s.lastID}
	}
	if d.Frame.Commit.Phase == feeds.Image {
		h[HeaderPhase] = []string{"image"}
	}
	pl := place{feed: p.feed.Name(), bucket: d.Frame.Bucket, snapshot: d.Frame.Commit.Snapshot, partition: d.Frame.Partition}
	pl.db, pl.table = splitTable(p.table)
	if p.o.EventsPerMessage == 1 {
		pl.kind = d.Frame.Rows.Kind(d.From)
		h[HeaderKind] = []string{pl.kind.String()}
	} else {
		h[HeaderCount] = []string{strconv.Itoa(d.Rows())}
	}
	subject, err := p.subjects.subject(&pl)
	if err != nil {
		return nil, err
	}
	return &nats.Msg{Subject: subject, Header: h, Data: d.Bytes}, nil
}

// acknowledge awaits the acknowledgements in order. It ends with the queue, at
// the first failure, or when drained is closed.
func (s *session) acknowledge(cancel context.CancelFunc, drained <-chan struct{}) {
	defer close(s.ackedAt)
	for m := range s.queue {
		if s.failure != nil {
			continue // take what was still sent, so that sending never blocks
		}
		select {
		case a := <-m.ack.Ok():
			if a.Duplicate || a.Sequence != m.seq {
				s.failure = fmt.Errorf("%w: %d instead of %d", errOutOfStep, a.Sequence, m.seq)
				cancel()
				continue
			}
			s.acked = true
			s.p.messages.Add(1)
			s.p.rows.Add(uint64(m.rows))
			s.p.sequence.Store(a.Sequence)
		case err := <-m.ack.Err():
			s.failure = fmt.Errorf("message %d of stream %s: %w", m.seq, s.p.o.Stream, err)
			cancel()
		case <-drained:
			s.failure = errors.New("acknowledgements did not come in time")
		}
	}
}
