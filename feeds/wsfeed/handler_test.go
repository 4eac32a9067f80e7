package wsfeed

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/feeds"
	"sluice/feeds/feedtest"
	"sluice/paimon/rowdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	t      *testing.T
	hub    *feeds.Hub
	table  *feedtest.Table
	schema *feeds.Schema
	url    string
	h      *Handler
	want   []string
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	hub, err := feeds.NewHub(feeds.Options{})
	require.NoError(t, err)
	r := &rig{t: t, hub: hub, schema: feedtest.Schema(0, 1)}
	r.table = feedtest.NewTable(7, r.schema)
	_, err = hub.Add("orders", r.table, feeds.NewMemory())
	require.NoError(t, err)
	o.Hub = hub
	r.h = New(o, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &httptest.Server{Listener: Listen(l), Config: &http.Server{Handler: r.h}}
	s.Start()
	r.url = "ws" + strings.TrimPrefix(s.URL, "http")
	t.Cleanup(func() {
		r.h.Close()
		require.NoError(t, hub.Close())
		s.Close()
	})
	return r
}

func (r *rig) commit(rows int) {
	c := feedtest.Rows(r.schema, int64(100*len(r.want)), rows, "x", true)
	r.table.Commit(feedtest.Unit{Bucket: 2, Rows: c})
	for i := range c.N {
		r.want = append(r.want, fmt.Sprintf(`{"kind":"%s","row":%s}`, c.Kind(i), rowdata.AppendJSONObject(nil, &c.Batch, i)))
	}
}

// client is a plain WebSocket client.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func (r *rig) dial(header http.Header) *client {
	d := websocket.Dialer{Subprotocols: []string{ProtocolJSON}}
	ws, resp, err := d.Dial(r.url, header)
	require.NoError(r.t, err)
	require.NoError(r.t, resp.Body.Close())
	r.t.Cleanup(func() { ws.Close() })
	return &client{r.t, ws}
}

func (c *client) send(text string) {
	require.NoError(c.t, c.ws.WriteMessage(websocket.TextMessage, []byte(text)))
}

type message struct {
	Type, Cursor, Phase, Reason string
	Snapshot                    int64
	Reconnect                   bool
	Changes                     []json.RawMessage
	Rows                        map[string]int
	Schema                      *struct{ Fields []struct{ Name string } }
	Metadata                    map[string]string
}

func (c *client) next() message {
	c.t.Helper()
	_, data, err := c.ws.ReadMessage()
	require.NoError(c.t, err)
	var m message
	require.NoError(c.t, json.Unmarshal(data, &m), string(data))
	return m
}

// rows reads until n changes have come and returns them, with the cursor after
// the last frame.
func (c *client) rows(n int) (all []string, cursor string) {
	c.t.Helper()
	for len(all) < n || cursor == "" {
		m := c.next()
		switch m.Type {
		case "rows":
			for _, ch := range m.Changes {
				all = append(all, string(ch))
			}
		case "end":
			if len(all) >= n {
				cursor = m.Cursor
			}
		case "error":
			c.t.Fatalf("error %+v", m)
		}
	}
	return all, cursor
}

func (c *client) closeCode() int {
	c.t.Helper()
	for {
		if _, _, err := c.ws.ReadMessage(); err != nil {
			var e *websocket.CloseError
			require.ErrorAs(c.t, err, &e)
			return e.Code
		}
	}
}

func TestChangesInOrder(t *testing.T) {
	r := newRig(t, Options{})
	r.commit(4)
	r.commit(3)
	c := r.dial(nil)
	c.send(`{"type":"subscribe","feed":"orders","start":"earliest"}`)
	first := c.next()
	require.Equal(t, "subscribed", first.Type)
	require.NotEmpty(t, first.Cursor)
	require.Equal(t, "k", first.Schema.Fields[0].Name)
	begin := c.next()
	require.Equal(t, "begin", begin.Type)
	require.Equal(t, "changes", begin.Phase)
	got, _ := c.rows(len(r.want))
	require.Equal(t, r.want, got)
	r.commit(2)
	got, _ = c.rows(2)
	require.Equal(t, r.want[7:], got)
}

// The stream can be cut after every row and gives exactly the rest.
func TestResumeAtEveryRow(t *testing.T) {
	r := newRig(t, Options{})
	r.commit(4)
	r.table.Commit()
	r.commit(3)
	c := r.dial(nil)
	c.send(`{"type":"subscribe","feed":"orders","start":"earliest","until":"latest","maxRows":3}`)
	var cursors []string
	for m := c.next(); m.Type != "complete"; m = c.next() {
		for i := range m.Changes {
			cursors = append(cursors, fmt.Sprintf("%s+%d", m.Cursor, i))
		}
	}
	require.Equal(t, closeNormal, c.closeCode())
	require.Len(t, cursors, len(r.want))
	for i, cursor := range cursors {
		c := r.dial(nil)
		c.send(`{"type":"subscribe","feed":"orders","start":"cursor:` + cursor + `","until":"latest"}`)
		got, _ := c.rows(len(r.want) - i)
		require.Equal(t, r.want[i:], got)
	}
}

func TestCloseCodesTellWhatToDo(t *testing.T) {
	r := newRig(t, Options{ClientMessageMax: 2000})
	for i := range 5 {
		r.commit(i + 1)
	}
	expired := r.table.At(1).String()
	r.table.Expire(3)
	for name, c := range map[string]struct {
		send   string
		code   int
		reason string
	}{
		"expired":       {`{"type":"subscribe","feed":"orders","start":"cursor:` + expired + `"}`, closeExpired, "CURSOR_EXPIRED"},
		"forged":        {`{"type":"subscribe","feed":"orders","start":"cursor:abc"}`, closeInvalid, "CURSOR_INVALID"},
		"unknown feed":  {`{"type":"subscribe","feed":"nope"}`, closeNotFound, "FEED_NOT_FOUND"},
		"no feed":       {`{"type":"subscribe"}`, closeInvalid, "REQUEST_INVALID"},
		"unknown field": {`{"type":"subscribe","feed":"orders","frm":1}`, closeInvalid, "REQUEST_INVALID"},
		"wrong type":    {`{"type":"ack"}`, closeInvalid, "REQUEST_INVALID"},
		"no JSON":       {`hello`, closeInvalid, "REQUEST_INVALID"},
		"column":        {`{"type":"subscribe","feed":"orders","columns":["zz"]}`, closeInvalid, "REQUEST_INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			cl := r.dial(nil)
			cl.send(c.send)
			m := cl.next()
			require.Equal(t, "error", m.Type)
			require.Equal(t, c.reason, m.Reason)
			require.False(t, m.Reconnect)
			require.Equal(t, c.code, cl.closeCode())
		})
	}
	big := r.dial(nil)
	big.send(`{"type":"subscribe","feed":"` + strings.Repeat("x", 3000) + `"}`)
	require.Equal(t, closeTooBig, big.closeCode())
}

func TestStoppingGivesTheCursor(t *testing.T) {
	r := newRig(t, Options{})
	r.commit(3)
	c := r.dial(nil)
	c.send(`{"type":"subscribe","feed":"orders","start":"earliest"}`)
	_, cursor := c.rows(3)
	go r.h.Close()
	m := c.next()
	for m.Type == "progress" {
		m = c.next()
	}
	require.Equal(t, "error", m.Type)
	require.True(t, m.Reconnect)
	require.Equal(t, cursor, m.Cursor)
	require.Equal(t, closeRestart, c.closeCode())
}

func TestAckAndPing(t *testing.T) {
	r := newRig(t, Options{})
	r.commit(3)
	c := r.dial(nil)
	c.send(`{"type":"subscribe","feed":"orders","start":"earliest","consumer":"app"}`)
	_, cursor := c.rows(3)
	c.send(`{"type":"ack","cursor":"` + cursor + `"}`)
	c.send(`{"type":"ping"}`)
	var types []string
	for len(types) < 2 {
		if m := c.next(); m.Type != "progress" {
			types = append(types, m.Type)
		}
	}
	require.Equal(t, []string{"acked", "pong"}, types)
	r.commit(2)
	again := r.dial(nil)
	again.send(`{"type":"subscribe","feed":"orders","consumer":"app"}`)
	got, _ := again.rows(2)
	require.Equal(t, r.want[3:], got)
}

func TestOrigins(t *testing.T) {
	r := newRig(t, Options{Origins: []string{"https://app.example"}})
	d := websocket.Dialer{Subprotocols: []string{ProtocolJSON}}
	for origin, ok := range map[string]bool{"https://app.example": true, "https://evil.example": false, "://": false, "": true} {
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		ws, resp, err := d.Dial(r.url, h)
		if resp != nil {
			_ = resp.Body.Close()
		}
		require.Equal(t, ok, err == nil, origin)
		if ok {
			require.NoError(t, ws.Close())
		} else {
			require.Equal(t, http.StatusForbidden, resp.StatusCode)
		}
	}
	_, resp, err := (&websocket.Dialer{Subprotocols: []string{"other"}}).Dial(r.url, nil)
	require.Error(t, err)
	_ = resp.Body.Close()
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
}

func TestConnectionsAreBounded(t *testing.T) {
	r := newRig(t, Options{ConnectionsMax: 1})
	c := r.dial(nil)
	c.send(`{"type":"subscribe","feed":"orders"}`)
	require.Equal(t, "subscribed", c.next().Type)
	_, resp, err := (&websocket.Dialer{Subprotocols: []string{ProtocolJSON}}).Dial(r.url, nil)
	require.Error(t, err)
	_ = resp.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
}

func TestEveryReasonHasACode(t *testing.T) {
	for _, reason := range feeds.Reasons() {
		require.Contains(t, codeOf, reason)
	}
	for code, want := range map[int]bool{1000: false, 1001: true, 1012: true, 4008: true, 4029: true, 4500: false, 4510: false} {
		require.Equal(t, want, Reconnect(code), code)
	}
}

func TestCorkedMessagesAreWrittenTogether(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	c := &corkConn{Conn: a}
	c.cork()
	for range 3 {
		n, err := c.Write([]byte("ab"))
		require.NoError(t, err)
		require.Equal(t, 2, n)
	}
	got := make(chan string, 1)
	go func() {
		buf := make([]byte, 100)
		n, _ := b.Read(buf)
		got <- string(buf[:n])
	}()
	require.NoError(t, c.uncork())
	require.Equal(t, "ababab", <-got)
	require.Nil(t, c.held)
	require.NoError(t, b.Close())
	_, err := c.Write([]byte("x"))
	require.Error(t, err)
}
