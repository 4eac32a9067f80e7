package natsfeed

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/feeds"
)

// Headers of our messages.
const (
	HeaderCursor    = "Sluice-Cursor"    // position after the message: the next row. The checkpoint
	HeaderSnapshot  = "Sluice-Snapshot"  // number of the snapshot
	HeaderOrdinal   = "Sluice-Ordinal"   // UNIT.ROW of the first change: its place in the snapshot, increasing within it
	HeaderSchema    = "Sluice-Schema"    // number of the schema of the rows
	HeaderKind      = "Sluice-Kind"      // +I, -U, +U or -D; with one event a message
	HeaderCount     = "Sluice-Count"     // number of changes; with several events a message
	HeaderPhase     = "Sluice-Phase"     // image, for rows of an initial image
	HeaderPublisher = "Sluice-Publisher" // name of the publisher that wrote the message
)

// position is where a session begins.
type position struct {
	last  uint64       // sequence number that the next message must follow
	start *feeds.Start // where the feed is read from
	name  string       // publisher of the last message
}

// readPosition reads the last message of the stream.
func (p *Publisher) readPosition(ctx context.Context, s jetstream.Stream) (position, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return position{}, fmt.Errorf("stream %s: %w", p.o.Stream, err)
	}
	last := info.State.LastSeq
	if last == 0 {
		return position{start: &p.o.Start}, nil
	}
	if info.State.Msgs == 0 {
		return position{}, &LostPositionError{Stream: p.o.Stream, LastSequence: last}
	}
	m, err := s.GetMsg(ctx, last)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return position{}, &LostPositionError{Stream: p.o.Stream, LastSequence: last}
	}
	if err != nil {
		return position{}, fmt.Errorf("stream %s: message %d: %w", p.o.Stream, last, err)
	}
	text := m.Header.Get(HeaderCursor)
	if text == "" {
		return position{}, &ForeignMessageError{Stream: p.o.Stream, Sequence: last, Subject: m.Subject, Why: "has no header " + HeaderCursor}
	}
	c, err := feeds.ParseCursor(text)
	if err != nil {
		return position{}, &ForeignMessageError{Stream: p.o.Stream, Sequence: last, Subject: m.Subject, Why: "has a cursor that cannot be read: " + err.Error()}
	}
	return position{last: last, start: &feeds.Start{Mode: feeds.StartCursor, Cursor: c}, name: m.Header.Get(HeaderPublisher)}, nil
}

// controlSubject is where the active publisher of a stream answers.
func controlSubject(stream string) string {
	return "sluice.publisher." + string(appendToken(nil, stream))
}

// guard refuses to begin while another publisher of the stream is alive, and
// answers for this one from then on. Without it the younger of two publishers
// would push the older one out.
func (p *Publisher) guard(ctx context.Context) (*nats.Subscription, error) {
	subject := controlSubject(p.o.Stream)
	ctx, cancel := context.WithTimeout(ctx, p.o.AckTimeout)
	defer cancel()
	reply, err := p.nc.RequestWithContext(ctx, subject, []byte(p.o.Name))
	switch {
	case err == nil:
		return nil, &FencedError{Stream: p.o.Stream, Publisher: string(reply.Data)}
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
	default:
		return nil, fmt.Errorf("look for other publishers of stream %s: %w", p.o.Stream, err)
	}
	return p.nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte(p.o.Name)) })
}
