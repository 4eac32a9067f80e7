package subscriber

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sluice/client"
	"sluice/paimon/rowdata"
)

// text takes a text message: a frame, or what the gateway has to say of its own.
func (s *wsStream) text(data []byte) error {
	var m message
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return fmt.Errorf("message %s: %w", data, err)
	}
	switch m.Type {
	case "error":
		s.said = &Error{Reason: m.Reason, Message: m.Message, Metadata: m.Metadata, Cursor: m.Cursor}
		return nil
	case "acked":
		s.acked = append(s.acked, m.Cursor)
		return nil
	}
	if s.proto {
		return fmt.Errorf("text message %s with subprotocol sluice.v1.proto", data)
	}
	return s.frame(&m, data)
}

func (s *wsStream) frame(m *message, data []byte) error {
	st := &s.state
	e := Event{Type: m.Type, Cursor: m.Cursor, Head: m.Head, Oldest: m.Oldest}
	switch m.Type {
	case Subscribed, Schema:
		columns, err := jsonColumns(m.Schema)
		if err != nil {
			return fmt.Errorf("message %s: %w", data, err)
		}
		e.Columns = columns
		if m.Type == Schema {
			e.Cursor = st.cursor
		}
	case Begin:
		st.commit = Commit{Snapshot: m.Snapshot, Image: m.Phase == "image", Kind: m.Kind, Millis: m.Time.UnixMilli(), SchemaID: m.SchemaID}
		e.Commit, e.Continued = st.commit, m.Continued
	case "rows":
		return s.rows(m)
	case End:
		e.Commit = st.commit
		if m.Snapshot != st.commit.Snapshot {
			return fmt.Errorf("end of snapshot %d in snapshot %d", m.Snapshot, st.commit.Snapshot)
		}
		for i, k := range kinds {
			e.Counts[i] = m.Rows[k]
		}
	case Progress, Complete, Reconnect:
	default:
		return fmt.Errorf("message of type %q", m.Type)
	}
	st.cursor = e.Cursor
	s.ready = append(s.ready, e)
	return nil
}

func (s *wsStream) rows(m *message) error {
	st := &s.state
	if m.Snapshot != st.commit.Snapshot || len(m.Changes) == 0 {
		return fmt.Errorf("%d rows of snapshot %d in snapshot %d", len(m.Changes), m.Snapshot, st.commit.Snapshot)
	}
	for i, c := range m.Changes {
		st.cursor = client.Advance(m.Cursor, uint64(i+1))
		s.ready = append(s.ready, Event{Type: Row, Cursor: st.cursor, Commit: st.commit, Change: Change{
			Snapshot: m.Snapshot, Image: st.commit.Image, SchemaID: m.SchemaID, Partition: m.Partition, Bucket: m.Bucket,
			Kind: c.Kind, Row: string(c.Row), At: client.Advance(m.Cursor, uint64(i)),
		}})
	}
	return nil
}

func jsonColumns(s *jsonSchema) (string, error) {
	if s == nil {
		return "", nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", s.ID)
	for _, f := range s.Fields {
		var t rowdata.Type
		if err := json.Unmarshal(f.Type, &t); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, " %d %s %s,", f.ID, f.Name, t.String())
	}
	fmt.Fprintf(&b, " key %v, partitions %v", s.Primary, s.Partition)
	return b.String(), nil
}
