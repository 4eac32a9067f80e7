package wsfeed

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
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
	ws   *websocket.Conn
	cork *corkConn // nil: the listener is not ours, every message is written at once
	text bool      // messages are text
	o    *Options
	wmu  sync.Mutex // one message at a time: the reader answers between frames
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
		under = t.NetConn()
	}
	c.cork, _ = under.(*corkConn)
	ws.SetPongHandler(func(string) error { return ws.SetReadDeadline(time.Now().Add(o.PingInterval + o.PongTimeout)) })
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
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(c.o.WriteTimeout)); err != nil {
		return err
	}
	kind := websocket.BinaryMessage
	if c.text {
		kind = websocket.TextMessage
	}
	return c.ws.WriteMessage(kind, data)
}

// writeText sends one text message, whatever the subprotocol.
func (c *conn) writeText(data []byte) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(c.o.WriteTimeout)); err != nil {
		return err
	}
	return c.ws.WriteMessage(websocket.TextMessage, data)
}

// ping asks the client for a sign of life.
func (c *conn) ping() error {
	return c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.o.WriteTimeout))
}

// closeReasonMax is what fits a control frame.
const closeReasonMax = 123

// close says why and hangs up.
func (c *conn) close(code int, reason string) {
	if len(reason) > closeReasonMax {
		reason = strings.ToValidUTF8(reason[:closeReasonMax], "")
	}
	// The peer may be gone, or slow: it is told if it can be.
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(time.Second))
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
