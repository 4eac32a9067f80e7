package subscriber

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/client"
)

// Subject is a template that says of each message where its rows belong.
const Subject = "chg.{db}.{table}.{partition}.{bucket}.{kind}"

// Message is a message of a stream, kept to be published again.
type Message struct {
	Sequence uint64
	Subject  string
	Header   nats.Header
	Data     []byte
}

// Messages reads a stream from its beginning: what is there now, and as much more
// as it takes to have n messages. It waits for them.
func Messages(ctx context.Context, js jetstream.JetStream, stream string, n int) ([]Message, error) {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx)
	if err != nil {
		return nil, err
	}
	n = max(n, int(info.State.Msgs))
	out := make([]Message, 0, n)
	if n == 0 {
		return out, nil
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	it, err := c.Messages()
	if err != nil {
		return nil, err
	}
	defer it.Stop()
	for {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			return out, fmt.Errorf("stream %s after %d messages: %w", stream, len(out), err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return out, err
		}
		out = append(out, Message{Sequence: meta.Sequence.Stream, Subject: m.Subject(), Header: m.Headers(), Data: m.Data()})
		if len(out) == n {
			return out, nil
		}
	}
}

// Changes returns the changes of a message whose subject was made of [Subject]
// or, without a partition, of the default template. Next is the cursor after it.
func (m *Message) Changes() (changes []Change, next string, err error) {
	h := func(name string) string { return m.Header.Get(name) }
	var rows []jsonChange
	if strings.HasPrefix(string(m.Data), "[") {
		err = json.Unmarshal(m.Data, &rows)
	} else {
		rows = make([]jsonChange, 1)
		err = json.Unmarshal(m.Data, &rows[0])
	}
	if err != nil {
		return nil, "", fmt.Errorf("message %d: %w", m.Sequence, err)
	}
	first := h(nats.MsgIdHdr)
	c := Change{Image: h("Sluice-Phase") == "image"}
	var errSnapshot, errSchema error
	c.Snapshot, errSnapshot = strconv.ParseInt(h("Sluice-Snapshot"), 10, 64)
	c.SchemaID, errSchema = strconv.ParseInt(h("Sluice-Schema"), 10, 64)
	if err := errors.Join(errSnapshot, errSchema, m.place(&c)); err != nil {
		return nil, "", fmt.Errorf("message %d: %w", m.Sequence, err)
	}
	if k := h("Sluice-Kind"); k != "" && (len(rows) != 1 || rows[0].Kind != k) {
		return nil, "", fmt.Errorf("message %d says kind %s and has %d rows, the first of kind %s", m.Sequence, k, len(rows), rows[0].Kind)
	}
	if n := h("Sluice-Count"); n != "" && n != strconv.Itoa(len(rows)) {
		return nil, "", fmt.Errorf("message %d says %s rows and has %d", m.Sequence, n, len(rows))
	}
	for i, r := range rows {
		c.Kind, c.Row, c.At = r.Kind, string(r.Row), client.Advance(first, uint64(i))
		changes = append(changes, c)
	}
	return changes, h("Sluice-Cursor"), nil
}

// place reads bucket, and partition if there is one, from the subject.
func (m *Message) place(c *Change) error {
	tokens := strings.Split(m.Subject, ".")
	if m.Header.Get("Sluice-Kind") != "" {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) != 4 && len(tokens) != 5 {
		return fmt.Errorf("subject %s", m.Subject)
	}
	if len(tokens) == 5 {
		var err error
		if c.Partition, err = unescape(tokens[3]); err != nil {
			return err
		}
		if c.Partition != "" {
			c.Partition += "/"
		}
	}
	n, err := strconv.ParseInt(tokens[len(tokens)-1], 10, 32)
	c.Bucket = int32(n)
	return err
}

// unescape reads a token: =XX stands for a byte, =_ for nothing.
func unescape(token string) (string, error) {
	if token == "=_" {
		return "", nil
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		if token[i] != '=' {
			b.WriteByte(token[i])
			continue
		}
		if i+3 > len(token) {
			return "", fmt.Errorf("token %s", token)
		}
		x, err := strconv.ParseUint(token[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("token %s: %w", token, err)
		}
		b.WriteByte(byte(x))
		i += 2
	}
	return b.String(), nil
}
