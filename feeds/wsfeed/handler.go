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
}

// ServeHTTP serves one connection until it ends.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.open.Add(1) > int64(h.o.ConnectionsMax) {
		h.open.Add(-1)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer h.open.Add(-1)
	c, err := accept(w, r, &h.o)
	if err != nil {
		return // answered already
	}
	// The request's context ends with a hijacked connection's handler only, so the
	// session has one of its own that Close can end.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	s := &session{h: h, c: c, cancel: cancel}
	if !h.enter(s) {
		c.close(closeRestart, "gateway is stopping")
		return
	}
	defer h.leave(s)
	s.serve(ctx)
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
	h.wg.Done()
}

// serve runs the connection: this goroutine writes, another one reads.
func (s *session) serve(ctx context.Context) {
	sub, err := s.subscribe(ctx)
	if err != nil {
		s.fail(err, feeds.Cursor{})
		return
	}
	s.sub = sub
	asked := make(chan error, 1)
	go func() {
		// Ends when the connection is closed, which serve does before it returns.
		asked <- s.receive(ctx)
		s.cancel()
	}()
	err = s.send(ctx)
	cursor := sub.Cursor()
	_ = sub.Close() // it only reads
	select {
	case why := <-asked: // the client ended it, or sent nonsense
		s.fail(why, cursor)
	default:
		s.fail(err, cursor)
		<-asked
	}
}

// errGone is a client that hung up.
var errGone = errors.New("client has gone")

// fail tells the client why and hangs up.
func (s *session) fail(err error, c feeds.Cursor) {
	switch {
	case err == nil:
		s.c.close(closeNormal, "complete")
		return
	case errors.Is(err, errGone):
		s.c.close(closeNormal, "")
		return
	case tooBig(err):
		s.c.close(closeTooBig, "message is too big")
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
	s.c.close(code, string(p.Reason))
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
	pinged := time.Now()
	for {
		d, err := s.sub.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.write(ctx, d); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(pinged) >= s.h.o.PingInterval {
			pinged = now
			if err := s.c.ping(); err != nil {
				return errGone
			}
		}
	}
}

// write sends a delivery and all others that are ready, corked into few writes.
func (s *session) write(ctx context.Context, d feeds.Delivery) error {
	next, ok := s.sub.Poll(ctx)
	if ok {
		s.c.corked()
	}
	for n := 1; ; n++ {
		if err := s.c.write(d.Bytes); err != nil {
			return s.slow(err)
		}
		s.h.sent.Add(1)
		if !ok {
			break
		}
		d = next
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
