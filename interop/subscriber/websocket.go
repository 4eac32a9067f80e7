package subscriber

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gorilla/websocket"
)

// WebSocket subscribes over a WebSocket.
type WebSocket struct {
	Addr  string // HOST:PORT
	Proto bool   // subprotocol sluice.v1.proto, else sluice.v1.json
}

// Name implements [Transport].
func (w WebSocket) Name() string {
	if w.Proto {
		return "ws-proto"
	}
	return "ws-json"
}

func (w WebSocket) protocol() string {
	if w.Proto {
		return "sluice.v1.proto"
	}
	return "sluice.v1.json"
}

type wsStream struct {
	conn  *websocket.Conn
	proto bool
	state protoState
	ready []Event
	acked []string // cursors of acks that were answered
	said  *Error   // why the gateway is about to hang up
	done  bool     // complete was received
}

// Subscribe implements [Transport]. It does not wait for an answer.
func (w WebSocket) Subscribe(ctx context.Context, r Request) (Stream, error) {
	d := websocket.Dialer{Subprotocols: []string{w.protocol()}, HandshakeTimeout: 10 * time.Second}
	conn, resp, err := d.DialContext(ctx, "ws://"+w.Addr+"/v1/ws", nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	if conn.Subprotocol() != w.protocol() {
		_ = conn.Close()
		return nil, fmt.Errorf("subprotocol %q", conn.Subprotocol())
	}
	m := map[string]any{"type": "subscribe", "feed": r.Feed}
	for name, value := range map[string]string{"start": r.Start, "until": r.Until, "consumer": r.Consumer} {
		if value != "" {
			m[name] = value
		}
	}
	if r.MaxRows > 0 {
		m["maxRows"] = r.MaxRows
	}
	if err := conn.WriteJSON(m); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &wsStream{conn: conn, proto: w.Proto}, nil
}

func (s *wsStream) Close() { _ = s.conn.Close() }

func (s *wsStream) Next(ctx context.Context) (*Event, error) {
	for len(s.ready) == 0 {
		if err := s.receive(ctx); err != nil {
			return nil, err
		}
	}
	e := s.ready[0]
	s.ready = s.ready[1:]
	s.done = s.done || e.Type == Complete
	return &e, nil
}

// Ack sends an acknowledgement and reads on until it is answered.
func (s *wsStream) Ack(ctx context.Context, cursor string) error {
	if err := s.conn.WriteJSON(map[string]string{"type": "ack", "cursor": cursor}); err != nil {
		return err
	}
	for len(s.acked) == 0 {
		if err := s.receive(ctx); err != nil {
			return err
		}
	}
	answered := s.acked[0]
	s.acked = s.acked[1:]
	if answered != cursor {
		return fmt.Errorf("acknowledged %s, was answered %s", cursor, answered)
	}
	return nil
}

// receive reads one message.
func (s *wsStream) receive(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	kind, data, err := s.conn.ReadMessage()
	stop()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return s.ended(err)
	case s.said != nil:
		return fmt.Errorf("message after the error message: %s", data)
	}
	if kind == websocket.BinaryMessage {
		if !s.proto {
			return errors.New("binary message with subprotocol sluice.v1.json")
		}
		s.ready, err = s.state.events(s.ready, data)
		return err
	}
	return s.text(data)
}

// ended turns the end of the connection into why.
func (s *wsStream) ended(err error) error {
	var closed *websocket.CloseError
	if !errors.As(err, &closed) {
		return err
	}
	if s.said != nil {
		s.said.Code = closed.Code
		return s.said
	}
	if s.done && closed.Code == websocket.CloseNormalClosure {
		return io.EOF
	}
	return err
}

// message is any message of sluice.v1.json.
type message struct {
	Type       Type              `json:"type"`
	Feed       string            `json:"feed"`
	Cursor     string            `json:"cursor"`
	Schema     *jsonSchema       `json:"schema"`
	Head       int64             `json:"head"`
	Oldest     int64             `json:"oldest"`
	Previous   int64             `json:"previous"`
	Snapshot   int64             `json:"snapshot"`
	Time       time.Time         `json:"time"`
	Kind       string            `json:"kind"`
	Phase      string            `json:"phase"`
	SchemaID   int64             `json:"schemaId"`
	Continued  bool              `json:"continued"`
	Watermark  *int64            `json:"watermarkMillis"`
	Partition  string            `json:"partition"`
	Bucket     int32             `json:"bucket"`
	Changes    []jsonChange      `json:"changes"`
	Rows       map[string]uint64 `json:"rows"`
	Spread     int64             `json:"spreadMillis"`
	Reason     string            `json:"reason"`
	Message    string            `json:"message"`
	Reconnect  *bool             `json:"reconnect"`
	Metadata   map[string]string `json:"metadata"`
	RetryAfter int64             `json:"retryAfterMillis"`
}

type jsonChange struct {
	Kind string          `json:"kind"`
	Row  json.RawMessage `json:"row"`
}

type jsonSchema struct {
	ID     int64 `json:"id"`
	Fields []struct {
		ID   int             `json:"id"`
		Name string          `json:"name"`
		Type json.RawMessage `json:"type"`
	} `json:"fields"`
	Primary   []string `json:"primaryKeys"`
	Partition []string `json:"partitionKeys"`
}
