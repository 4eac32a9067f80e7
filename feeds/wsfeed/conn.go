package wsfeed

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// This file is the only one that knows gorilla/websocket.

// Subprotocols that are served.
const (
	ProtocolJSON  = "sluice.v1.json"
	ProtocolProto = "sluice.v1.proto"
)

// conn is a WebSocket connection.
type conn struct {
	ws     *websocket.Conn
	cork   *corkConn // nil: the listener is not ours, every message is written at once
	direct bool      // messages go to cork: nothing lies between
	text   bool      // messages are text
	o      *Options

	wmu    sync.Mutex // one message at a time: the reader answers between frames
	head   [frameHeadMax]byte
	closed atomic.Bool // a close frame was written, and nothing may follow; set under wmu
}

// writeBuffers are shared by all connections of the process, so that an idle one
// has none.
var writeBuffers sync.Pool

// accept upgrades a request. It answers the request itself if that fails.
func accept(w http.ResponseWriter, r *http.Request, o *Options) (*conn, error) {
	asked := websocket.Subprotocols(r)
	protocol := ""
	for _, p := range []string{ProtocolProto, ProtocolJSON} {
		if slices.Contains(asked, p) {
			protocol = p
		}
	}
	if protocol == "" {
		http.Error(w, "want the subprotocol "+ProtocolJSON+" or "+ProtocolProto, http.StatusBadRequest)
		return nil, errors.New("no subprotocol that is served")
	}
	up := websocket.Upgrader{
		HandshakeTimeout: o.HandshakeTimeout, ReadBufferSize: 512, WriteBufferSize: 4096, WriteBufferPool: &writeBuffers,
		Subprotocols: []string{protocol}, CheckOrigin: func(r *http.Request) bool { return o.originAllowed(r) },
	}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(o.ClientMessageMax)
	c := &conn{ws: ws, text: protocol == ProtocolJSON, o: o}
	under := ws.NetConn()
	if t, ok := under.(*tls.Conn); ok {
		c.cork, _ = t.NetConn().(*corkConn)
	} else {
		c.cork, c.direct = under.(*corkConn)
	}
	if c.cork != nil {
		c.cork.timeout = o.WriteTimeout
	}
	ws.SetPongHandler(func(string) error {
		if c.closed.Load() {
			return nil // what is left to read has its own time
		}
		return ws.SetReadDeadline(time.Now().Add(o.PingInterval + o.PongTimeout))
	})
	return c, ws.SetReadDeadline(time.Now().Add(o.PingInterval + o.PongTimeout))
}

// originAllowed tells whether a browser page may connect. Programs send no
// Origin.
func (o *Options) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	if strings.EqualFold(u.Host, r.Host) {
		return true
	}
	return slices.ContainsFunc(o.Origins, func(allowed string) bool { return allowed == "*" || strings.EqualFold(allowed, origin) })
}

// read returns the next message of the client.
func (c *conn) read() ([]byte, error) {
	kind, data, err := c.ws.ReadMessage()
	if err != nil {
		return nil, err
	}
	if kind != websocket.TextMessage {
		return nil, errBinary
	}
	return data, nil
}

var errBinary = errors.New("messages of clients are text")

// write sends one message.
func (c *conn) write(data []byte) error {
	if c.text {
		return c.writeText(data)
	}
	return c.message(websocket.BinaryMessage, data)
}

// writeText sends one text message, whatever the subprotocol.
func (c *conn) writeText(data []byte) error { return c.message(websocket.TextMessage, data) }

// message sends a message of a kind. Where nothing lies between it and the
// socket, the frame is made here, which is much less work: a server's frame has a
// small head and the bytes as they are. Control frames, which gorilla's package
// sends, are written at once, so they come between messages.
func (c *conn) message(kind int, data []byte) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.closed.Load() {
		return websocket.ErrCloseSent
	}
	if c.direct {
		return c.cork.WriteMessage(appendFrameHead(c.head[:0], kind, len(data)), data)
	}
	if err := c.ws.SetWriteDeadline(time.Now().Add(c.o.WriteTimeout)); err != nil {
		return err
	}
	return c.ws.WriteMessage(kind, data)
}

// frameHeadMax is the size of the largest head of a frame without mask.
const frameHeadMax = 10

// appendFrameHead appends the head of a whole message in one frame without mask
// (RFC 6455, section 5.2).
func appendFrameHead(dst []byte, kind, n int) []byte {
	const final = 0x80
	dst = append(dst, final|byte(kind))
	switch {
	case n < 126:
		return append(dst, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
}

// ping asks the client for a sign of life.
func (c *conn) ping() error {
	return c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.o.WriteTimeout))
}

// closeReasonMax is what fits a control frame.
const closeReasonMax = 123

// Times for saying good-bye: to send the close frame, and to wait for the
// client's.
const (
	closeSendMax = 500 * time.Millisecond
	closeWaitMax = time.Second
)

// sayClose says why the connection ends. What the client sends after that is read
// for a short time only.
func (c *conn) sayClose(code int, reason string) {
	if len(reason) > closeReasonMax {
		reason = strings.ToValidUTF8(reason[:closeReasonMax], "")
	}
	c.wmu.Lock()
	c.closed.Store(true)
	c.wmu.Unlock()
	// The peer may be gone, or slow: it is told if it can be.
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(closeSendMax))
	_ = c.ws.SetReadDeadline(time.Now().Add(closeWaitMax))
}

// hangUp closes the connection after the client has said good-bye too, or its
// time is up. A socket that is closed before all was read from it is reset, and
// what was sent last would be lost on its way: the cursor to go on from.
// Nobody else may be reading.
func (c *conn) hangUp() {
	var goodBye *websocket.CloseError
	for {
		if _, _, err := c.ws.NextReader(); errors.As(err, &goodBye) {
			break
		} else if err != nil {
			_, _ = io.Copy(io.Discard, c.ws.NetConn()) // until the client hangs up or time is up
			break
		}
	}
	_ = c.ws.Close()
}

func (c *conn) corked() {
	if c.cork != nil {
		c.cork.cork()
	}
}

func (c *conn) uncorked() error {
	if c.cork != nil {
		return c.cork.uncork()
	}
	return nil
}

// tooBig tells whether a read failed since the message was above the limit.
func tooBig(err error) bool { return errors.Is(err, websocket.ErrReadLimit) }
