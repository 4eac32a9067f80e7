package wsfeed

import (
	"bytes"
	"encoding/json"
	"time"

	"sluice/feeds"
)

// clientMessage is what clients send.
type clientMessage struct {
	Type           string   `json:"type"` // subscribe, ack or ping
	Feed           string   `json:"feed"`
	Start          string   `json:"start"` // default: where the consumer stopped, else latest
	Until          string   `json:"until"`
	Columns        []string `json:"columns"`
	MaxRows        int      `json:"maxRows"`
	MaxBytes       int      `json:"maxBytes"`
	Consumer       string   `json:"consumer"`
	ProgressMillis int64    `json:"progressMillis"`
	Cursor         string   `json:"cursor"` // ack
}

func parseMessage(data []byte) (*clientMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var m clientMessage
	if err := d.Decode(&m); err != nil {
		return nil, &feeds.RequestError{Field: "message", Why: err.Error()}
	}
	switch m.Type {
	case "subscribe", "ack", "ping":
		return &m, nil
	}
	return nil, &feeds.RequestError{Field: "type", Why: "want subscribe, ack or ping"}
}

// request turns a subscribe message into one for the hub.
func (m *clientMessage) request(enc feeds.Encoder) (feeds.Request, error) {
	r := feeds.Request{
		Feed: m.Feed, Consumer: m.Consumer, Progress: time.Duration(m.ProgressMillis) * time.Millisecond,
		View: feeds.View{Encoder: enc, Columns: m.Columns, MaxRows: m.MaxRows, MaxBytes: m.MaxBytes},
	}
	if m.Feed == "" {
		return r, &feeds.RequestError{Field: "feed", Why: "is missing"}
	}
	if m.MaxRows < 0 || m.MaxBytes < 0 || m.ProgressMillis < 0 {
		return r, &feeds.RequestError{Field: "maxRows, maxBytes, progressMillis", Why: "must not be negative"}
	}
	if m.Start != "" {
		s, err := feeds.ParseStart(m.Start)
		if err != nil {
			return r, err
		}
		r.Start = &s
	}
	var err error
	r.Until, err = feeds.ParseUntil(m.Until)
	return r, err
}
