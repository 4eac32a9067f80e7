package wsfeed

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// Messages of all sizes arrive whole, in order and with their kind, whether the
// frames are made here or by gorilla's package, corked or not, with control frames
// between them.
func TestMessagesOfAllSizes(t *testing.T) {
	var sizes []int
	for _, n := range []int{0, 1, 125, 126, 127, 4096, 1<<16 - 1, 1 << 16, 1<<16 + 1, 300_000} {
		sizes = append(sizes, n, n)
	}
	payload := func(i int) []byte { return bytes.Repeat([]byte{'a' + byte(i%26)}, sizes[i]) }
	for name, tc := range map[string]struct {
		listen   func(net.Listener) net.Listener
		protocol string
		kind     int
		tls      bool
	}{
		"ours":         {Listen, ProtocolJSON, websocket.TextMessage, false},
		"ours, binary": {Listen, ProtocolProto, websocket.BinaryMessage, false},
		"ours, TLS":    {Listen, ProtocolJSON, websocket.TextMessage, true},
		"plain":        {func(l net.Listener) net.Listener { return l }, ProtocolJSON, websocket.TextMessage, false},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			s := &httptest.Server{Listener: tc.listen(l), Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				done <- func() error {
					o := Options{}.withDefaults()
					c, err := accept(w, r, &o)
					if err != nil {
						return err
					}
					require.Equal(t, name == "ours" || name == "ours, binary", c.direct)
					for i := range sizes {
						if i%3 == 1 {
							c.corked()
						}
						if err := c.write(payload(i)); err != nil {
							return err
						}
						if i%5 == 0 {
							if err := c.ping(); err != nil {
								return err
							}
						}
						if i%3 == 2 {
							if err := c.uncorked(); err != nil {
								return err
							}
						}
					}
					if err := c.uncorked(); err != nil {
						return err
					}
					c.sayClose(closeNormal, "bye")
					require.ErrorIs(t, c.write([]byte("x")), websocket.ErrCloseSent, "nothing follows a close frame")
					c.hangUp()
					return nil
				}()
			})}}
			if tc.tls {
				s.StartTLS()
			} else {
				s.Start()
			}
			defer s.Close()
			d := websocket.Dialer{Subprotocols: []string{tc.protocol}}
			if tc.tls {
				d.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig
			}
			ws, resp, err := d.Dial("ws"+strings.TrimPrefix(s.URL, "http"), nil)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			defer ws.Close()
			for i := range sizes {
				kind, data, err := ws.ReadMessage()
				require.NoError(t, err, sizes[i])
				require.Equal(t, tc.kind, kind)
				require.True(t, bytes.Equal(payload(i), data), "message %d of %d bytes", i, sizes[i])
			}
			_, _, err = ws.ReadMessage()
			require.True(t, websocket.IsCloseError(err, closeNormal), "%v", err)
			require.NoError(t, <-done)
		})
	}
}

// A client that hears nothing but pings for longer than it is given to answer one
// stays connected.
func TestPingsKeepAQuietClient(t *testing.T) {
	r := newRig(t, Options{PingInterval: 40 * time.Millisecond, PongTimeout: 200 * time.Millisecond})
	c := r.dial(nil)
	pings := make(chan struct{}, 100)
	pong := c.ws.PingHandler()
	c.ws.SetPingHandler(func(data string) error {
		pings <- struct{}{}
		return pong(data)
	})
	c.send(`{"type":"subscribe","feed":"orders","start":"latest","progressMillis":60000}`)
	require.Equal(t, "subscribed", c.next().Type)
	messages := make(chan message, 1)
	go func() { messages <- c.next() }()
	for range 10 { // the read deadline passes more than once meanwhile
		select {
		case <-pings:
		case m := <-messages:
			t.Fatalf("got %+v", m)
		}
	}
	r.commit(1)
	require.Equal(t, "begin", (<-messages).Type)
}

// A client that does not answer is let go.
func TestASilentClientIsCut(t *testing.T) {
	r := newRig(t, Options{PingInterval: 20 * time.Millisecond, PongTimeout: 30 * time.Millisecond})
	c := r.dial(nil)
	c.ws.SetPingHandler(func(string) error { return nil })
	c.send(`{"type":"subscribe","feed":"orders","start":"latest","progressMillis":60000}`)
	require.Equal(t, "subscribed", c.next().Type)
	_, _, err := c.ws.ReadMessage()
	require.Error(t, err)
}

// The handler gives its goroutine back when the connection is taken over, and
// counts it until it ends.
func TestTheRequestEndsAtTheHandshake(t *testing.T) {
	r := newRig(t, Options{})
	returned := make(chan struct{}, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &httptest.Server{Listener: Listen(l), Config: &http.Server{
		BaseContext: func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			r.h.ServeHTTP(w, req)
			returned <- struct{}{}
		}),
	}}
	s.Start()
	defer s.Close()
	r.url = "ws" + strings.TrimPrefix(s.URL, "http")
	c := r.dial(nil)
	<-returned
	require.Equal(t, int64(1), r.h.Connections())
	c.send(`{"type":"subscribe","feed":"orders","start":"latest"}`)
	require.Equal(t, "subscribed", c.next().Type)
	cancel() // of the request, which has ended
	r.commit(1)
	require.Equal(t, "begin", c.next().Type)
	r.h.Close()
	require.Zero(t, r.h.Connections())
}

// A client that sends more than it may learns so, whatever is still on its way.
func TestAMessageThatIsTooBigIsToldSo(t *testing.T) {
	r := newRig(t, Options{ClientMessageMax: 100})
	for _, subscribed := range []bool{false, true} {
		c := r.dial(nil)
		if subscribed {
			c.send(`{"type":"subscribe","feed":"orders","start":"latest"}`)
			require.Equal(t, "subscribed", c.next().Type)
		}
		c.send(strings.Repeat("x", 1<<20))
		require.Equal(t, closeTooBig, c.closeCode())
	}
}
