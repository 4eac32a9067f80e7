package wsfeed

import (
	"encoding/json"
	"strconv"
	"time"

	"sluice/feeds"
	"sluice/paimon/rowdata"
)

// jsonEncoder makes the messages of sluice.v1.json, a JSON object a frame. All
// connections with an equal view share them, so nothing of a connection is in
// them.
type jsonEncoder struct{}

// Name implements [feeds.Encoder].
func (jsonEncoder) Name() string { return "ws-json" }

// Append implements [feeds.Encoder].
func (jsonEncoder) Append(dst []byte, e *feeds.Event) ([]byte, error) {
	o := object{dst: dst}
	switch e.Kind {
	case feeds.FrameSubscribed:
		o.begin("subscribed")
		o.text("feed", e.Feed)
		o.text("cursor", e.Next.String())
		o.schema(e.Schema)
		o.number("head", e.Head)
		o.number("oldest", e.Oldest)
	case feeds.FrameSchemaChange:
		o.begin("schema")
		o.number("previous", e.PreviousSchema)
		o.schema(e.Schema)
	case feeds.FrameCommitBegin:
		o.begin("begin")
		o.number("snapshot", e.Commit.Snapshot)
		o.text("time", e.Commit.Time.UTC().Format(time.RFC3339Nano))
		o.text("kind", e.Commit.Kind)
		o.text("phase", phaseText(e.Commit.Phase))
		if e.Schema != nil {
			o.number("schemaId", e.Schema.ID)
		}
		if e.Continued {
			o.raw("continued", "true")
		}
		if e.Commit.Watermark != nil {
			o.number("watermarkMillis", *e.Commit.Watermark)
		}
		o.text("cursor", e.At.String())
	case feeds.FrameRows:
		o.rows(e)
	case feeds.FrameCommitEnd:
		o.begin("end")
		o.number("snapshot", e.Commit.Snapshot)
		o.raw("rows", string(countsJSON(e.Counts)))
		o.text("cursor", e.Next.String())
	case feeds.FrameProgress:
		o.begin("progress")
		o.text("cursor", e.Next.String())
		o.number("head", e.Head)
		o.number("oldest", e.Oldest)
		o.text("time", e.Time.UTC().Format(time.RFC3339Nano))
	case feeds.FrameComplete:
		o.begin("complete")
		o.text("cursor", e.Next.String())
	case feeds.FrameReconnect:
		o.begin("reconnect")
		o.text("cursor", e.Next.String())
		o.number("spreadMillis", e.Spread.Milliseconds())
	}
	return append(o.dst, '}'), nil
}

func phaseText(p feeds.Phase) string {
	if p == feeds.Image {
		return "image"
	}
	return "changes"
}

func countsJSON(c feeds.Counts) []byte {
	b := []byte{'{'}
	for k, n := range c {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, rowdata.RowKind(k).String()...)
		b = append(b, `":`...)
		b = strconv.AppendUint(b, n, 10)
	}
	return append(b, '}')
}

// object writes the members of a message.
type object struct{ dst []byte }

func (o *object) begin(kind string) {
	o.dst = append(o.dst, `{"type":"`...)
	o.dst = append(o.dst, kind...)
	o.dst = append(o.dst, '"')
}

func (o *object) raw(name, value string) {
	o.dst = append(o.dst, `,"`...)
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, `":`...)
	o.dst = append(o.dst, value...)
}

func (o *object) number(name string, n int64) {
	o.raw(name, "")
	o.dst = strconv.AppendInt(o.dst, n, 10)
}

func (o *object) text(name, value string) {
	o.raw(name, "")
	o.dst = rowdata.AppendJSONString(o.dst, value)
}

func (o *object) schema(s *feeds.Schema) {
	if s == nil {
		return
	}
	type field struct {
		ID   int           `json:"id"`
		Name string        `json:"name"`
		Type *rowdata.Type `json:"type"`
	}
	fields := make([]field, len(s.Row.Fields))
	for i := range s.Row.Fields {
		f := &s.Row.Fields[i]
		fields[i] = field{f.ID, f.Name, f.Type}
	}
	list, err := json.Marshal(map[string]any{"id": s.ID, "fields": fields, "primaryKeys": s.PrimaryKey, "partitionKeys": s.PartitionKey})
	if err != nil {
		return // types always have a JSON form
	}
	o.raw("schema", string(list))
}

// rows writes changes. The cursor names the first of them; row i is cursor+i.
func (o *object) rows(e *feeds.Event) {
	o.begin("rows")
	o.text("cursor", e.At.After(e.From).String())
	o.number("snapshot", e.Commit.Snapshot)
	o.number("schemaId", e.Schema.ID)
	if e.Partition != "" {
		o.text("partition", e.Partition)
	}
	o.number("bucket", int64(e.Bucket))
	rows := e.Schema.JSON()
	o.dst = append(o.dst, `,"changes":[`...)
	for i := e.From; i < e.To; i++ {
		if i > e.From {
			o.dst = append(o.dst, ',')
		}
		o.dst = append(o.dst, `{"kind":"`...)
		o.dst = append(o.dst, e.Rows.Kind(i).String()...)
		o.dst = append(o.dst, `","row":`...)
		o.dst = rows.AppendObject(o.dst, e.Cols, i)
		o.dst = append(o.dst, '}')
	}
	o.dst = append(o.dst, ']')
}

// errorMessage tells a client why the connection ends.
func errorMessage(err error, c feeds.Cursor) []byte {
	p := feeds.ProblemOf(err)
	m := map[string]any{"type": "error", "reason": p.Reason, "message": p.Message, "reconnect": Reconnect(codeOf[p.Reason])}
	if len(p.Metadata) > 0 {
		m["metadata"] = p.Metadata
	}
	if !c.IsZero() {
		m["cursor"] = c.String()
	}
	if p.RetryAfter > 0 {
		m["retryAfterMillis"] = p.RetryAfter.Milliseconds()
	}
	b, marshalErr := json.Marshal(m)
	if marshalErr != nil {
		return []byte(`{"type":"error"}`) // all members have a JSON form
	}
	return b
}
