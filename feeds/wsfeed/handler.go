package wsfeed

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/feeds"
)

// Handler serves feeds on WebSocket connections. It is an http.Handler.
type Handler struct {
	o     Options
	proto feeds.Encoder
	open  atomic.Int64
	sent  atomic.Uint64 // messages
	wg    sync.WaitGroup
	mu    struct {
		sync.Mutex
		closed bool
		conns  map[*session]struct{}
	}
}

// New returns a handler. proto makes the messages of sluice.v1.proto; nil: that
// subprotocol is refused.
func New(o Options, proto feeds.Encoder) *Handler {
	h := &Handler{o: o.withDefaults(), proto: proto}
	h.mu.conns = map[*session]struct{}{}
	return h
}

// Connections returns how many connections are open.
func (h *Handler) Connections() int64 { return h.open.Load() }

// Messages returns how many messages were sent.
func (h *Handler) Messages() uint64 { return h.sent.Load() }

// Close ends all connections, each with its cursor, and waits for them.
func (h *Handler) Close() {
	h.mu.Lock()
	h.mu.closed = true
	for s := range h.mu.conns {
		s.cancel()
	}
	h.mu.Unlock()
	h.wg.Wait()
}

// session is one connection with its subscription.
type session struct {
	h      *Handler
	c      *conn
	cancel context.CancelFunc
	sub    *feeds.Subscription // set before the reading goroutine starts
	asked  chan error          // why the reading ended
	pings  *time.Timer
	now    feeds.Delivery // on its way; here and not on a stack
}

// ServeHTTP takes a connection over, which is then served until it ends.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.open.Add(1) > int64(h.o.ConnectionsMax) {
		h.open.Add(-1)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	c, err := accept(w, r, &h.o)
	if err != nil {
		h.open.Add(-1)
		return // answered already
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	s := &session{h: h, c: c, cancel: cancel, asked: make(chan error, 1)}
	if !h.enter(s) {
		cancel()
		h.open.Add(-1)
		c.sayClose(closeRestart, "gateway is stopping")
		_ = c.ws.Close()
		return
	}
	// The server's goroutine ends here, and gives back the request and its buffers,
	// which are more than all that an idle connection needs. This one ends with the
	// connection, and Close waits for it.
	go func() {
		defer h.leave(s)
		defer cancel()
		s.serve(ctx)
	}()
}

func (h *Handler) enter(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.closed {
		return false
	}
	h.mu.conns[s] = struct{}{}
	h.wg.Add(1)
	return true
}

func (h *Handler) leave(s *session) {
	h.mu.Lock()
	delete(h.mu.conns, s)
	h.mu.Unlock()
	h.open.Add(-1)
	h.wg.Done()
}

// serve runs the connection: this goroutine writes, another one reads. Both are
// idle most of the time, on stacks that stay small: what needs a lot of it is
// called, and has returned when the waiting begins.
func (s *session) serve(ctx context.Context) {
	if s.begin(ctx) {
		s.end(s.send(ctx))
	}
	s.c.hangUp()
}

// begin subscribes and starts reading. If it fails, the client was told.
func (s *session) begin(ctx context.Context) bool {
	sub, err := s.subscribe(ctx)
	if err != nil {
		s.fail(err, feeds.Cursor{})
		return false
	}
	s.sub = sub
	s.pings = time.AfterFunc(time.Hour, s.ping)
	s.pings.Reset(s.h.o.PingInterval) // now that ping can do so too
	go func() {
		// Ends when the client hangs up, or soon after it was told that it should.
		s.asked <- s.receive(ctx)
		s.cancel()
	}()
	return true
}

// end tells the client why the sending ended, and waits for the reading to end.
func (s *session) end(err error) {
	s.pings.Stop()
	cursor := s.sub.Cursor()
	_ = s.sub.Close() // it only reads
	select {
	case why := <-s.asked: // the client ended it, or sent nonsense
		s.fail(why, cursor)
	default:
		s.fail(err, cursor)
		<-s.asked
	}
}

// errGone is a client that hung up.
var errGone = errors.New("client has gone")

// fail tells the client why the connection ends.
func (s *session) fail(err error, c feeds.Cursor) {
	switch {
	case err == nil:
		s.c.sayClose(closeNormal, "complete")
		return
	case errors.Is(err, errGone):
		s.c.sayClose(closeNormal, "")
		return
	case tooBig(err):
		s.c.sayClose(closeTooBig, "message is too big")
		return
	case errors.Is(err, context.Canceled):
		err = feeds.ErrDraining
	}
	p := feeds.ProblemOf(err)
	code, ok := codeOf[p.Reason]
	if !ok {
		code = closeInternal
	}
	_ = s.c.writeText(errorMessage(err, c)) // the client may be gone
	s.c.sayClose(code, string(p.Reason))
}

// subscribe waits for the subscribe message and pins the position.
func (s *session) subscribe(ctx context.Context) (*feeds.Subscription, error) {
	if err := s.c.ws.SetReadDeadline(time.Now().Add(s.h.o.SubscribeTimeout)); err != nil {
		return nil, err
	}
	data, err := s.c.read()
	if err != nil {
		if tooBig(err) {
			return nil, err
		}
		return nil, errGone
	}
	m, err := parseMessage(data)
	if err != nil {
		return nil, err
	}
	if m.Type != "subscribe" {
		return nil, &feeds.RequestError{Field: "type", Why: "the first message must be subscribe"}
	}
	var enc feeds.Encoder = jsonEncoder{}
	if !s.c.text {
		if enc = s.h.proto; enc == nil {
			return nil, &feeds.UnsupportedError{What: "subprotocol " + ProtocolProto + " at this gateway"}
		}
	}
	req, err := m.request(enc)
	if err != nil {
		return nil, err
	}
	if err := s.c.ws.SetReadDeadline(time.Now().Add(s.h.o.PingInterval + s.h.o.PongTimeout)); err != nil {
		return nil, err
	}
	return s.h.o.Hub.Subscribe(ctx, req)
}

// receive takes the client's messages until it hangs up, which is errGone, or
// sends nonsense.
func (s *session) receive(ctx context.Context) error {
	for {
		data, err := s.c.read()
		if err != nil {
			if tooBig(err) || errors.Is(err, errBinary) {
				return err
			}
			return errGone
		}
		m, err := parseMessage(data)
		if err != nil {
			return err
		}
		var reply []byte
		switch m.Type {
		case "ping":
			reply = []byte(`{"type":"pong"}`)
		case "ack":
			if reply, err = s.ack(ctx, m); err != nil {
				return err
			}
		default:
			return &feeds.RequestError{Field: "type", Why: "one subscription a connection: open another one"}
		}
		if err := s.c.writeText(reply); err != nil {
			return s.slow(err)
		}
	}
}

func (s *session) ack(ctx context.Context, m *clientMessage) ([]byte, error) {
	c, err := feeds.ParseCursor(m.Cursor)
	if err != nil {
		return nil, err
	}
	if err := s.sub.Ack(ctx, c); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"type": "acked", "cursor": m.Cursor})
}

// send writes frames until the stream or the connection ends.
func (s *session) send(ctx context.Context) error {
	var err error
	for err == nil {
		if s.now, err = s.sub.Next(ctx); err == nil {
			err = s.write(ctx)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ping asks for a sign of life, and again after the interval: frames may be
// further apart than a client is given to answer. One that cannot be asked is
// gone, which the reading goroutine then finds out.
func (s *session) ping() {
	if err := s.c.ping(); err != nil {
		_ = s.c.ws.Close()
		return
	}
	s.pings.Reset(s.h.o.PingInterval)
}

// write sends a delivery and all others that are ready, corked into few writes.
func (s *session) write(ctx context.Context) error {
	bytes := s.now.Bytes
	s.now = feeds.Delivery{} // holds no frame while the connection is idle
	next, ok := s.sub.Poll(ctx)
	if ok {
		s.c.corked()
	}
	for n := 1; ; n++ {
		if err := s.c.write(bytes); err != nil {
			return s.slow(err)
		}
		if !ok {
			s.h.sent.Add(uint64(n))
			break
		}
		bytes = next.Bytes
		if n%s.h.o.CorkMessagesMax == 0 {
			if err := s.c.uncorked(); err != nil {
				return s.slow(err)
			}
			s.c.corked()
		}
		next, ok = s.sub.Poll(ctx)
	}
	if err := s.c.uncorked(); err != nil {
		return s.slow(err)
	}
	return nil
}

// slow tells a client that took nothing for too long from one that is gone.
func (s *session) slow(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &feeds.SlowConsumerError{Cursor: s.sub.Cursor(), Why: "took nothing for " + s.h.o.WriteTimeout.String()}
	}
	return errGone
}
