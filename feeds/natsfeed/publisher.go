package natsfeed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/feeds"
)

// Publisher publishes one feed to one stream. Run it once; the counters may be
// read from anywhere.
type Publisher struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	feed     *feeds.Feed
	table    string // DATABASE.TABLE
	o        Options
	subjects template
	held     bool // this publisher has written to the stream

	messages, rows, sessions, sequence atomic.Uint64
	problem                            atomic.Pointer[error]
}

// Stats counts what a publisher has done.
type Stats struct {
	Messages uint64 // acknowledged
	Rows     uint64 // in them
	Sessions uint64 // begun: one, and one more after each failure
	Sequence uint64 // of the last acknowledged message
}

// New returns a publisher of a feed of a table, DATABASE.TABLE. The connection
// stays the caller's, and should reconnect for ever.
func New(nc *nats.Conn, feed *feeds.Feed, table string, o Options) (*Publisher, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	subjects, err := parseTemplate(o.Subject, o.EventsPerMessage)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("natsfeed: %w", err)
	}
	return &Publisher{nc: nc, js: js, feed: feed, table: table, o: o, subjects: subjects}, nil
}

// Stats returns the counters.
func (p *Publisher) Stats() Stats {
	return Stats{Messages: p.messages.Load(), Rows: p.rows.Load(), Sessions: p.sessions.Load(), Sequence: p.sequence.Load()}
}

// Problem returns why nothing is published now, nil if all is well.
func (p *Publisher) Problem() error {
	if e := p.problem.Load(); e != nil {
		return *e
	}
	return nil
}

func (p *Publisher) setProblem(err error) {
	if err == nil {
		p.problem.Store(nil)
		return
	}
	p.problem.Store(&err)
}

// Run publishes until ctx ends, which is no error: everything that was
// acknowledged is in the stream, and the next Run goes on after it. It returns
// an error that waiting does not mend: [*FencedError], [*ForeignMessageError],
// [*LostPositionError], [*StreamError], [ErrNoStream], or one of the feed such
// as *feeds.CursorExpiredError. After any other failure it begins again.
func (p *Publisher) Run(ctx context.Context) error {
	wait := p.o.RetryMin
	for {
		acked, err := p.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		p.setProblem(err)
		if isFinal(err) {
			return err
		}
		p.o.Events.retry(p.o.Stream, err)
		if acked {
			wait = p.o.RetryMin
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		wait = min(2*wait, p.o.RetryMax)
	}
}

// isFinal tells whether trying again cannot help.
func isFinal(err error) bool {
	var fenced *FencedError
	var foreign *ForeignMessageError
	var lost *LostPositionError
	var stream *StreamError
	var subject *TemplateError
	if errors.As(err, &fenced) || errors.As(err, &foreign) || errors.As(err, &lost) || errors.As(err, &stream) || errors.As(err, &subject) || errors.Is(err, ErrNoStream) {
		return true
	}
	var expired *feeds.CursorExpiredError
	var mismatch *feeds.CursorMismatchError
	var ahead *feeds.CursorAheadError
	var large *feeds.RowTooLargeError
	var unsupported *feeds.UnsupportedError
	return errors.As(err, &expired) || errors.As(err, &mismatch) || errors.As(err, &ahead) || errors.As(err, &large) ||
		errors.As(err, &unsupported) || errors.Is(err, feeds.ErrClosed) || errors.Is(err, feeds.ErrDraining)
}

// wrongSequence tells whether the server refused a message since the stream has
// another last sequence number than expected.
func wrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}
