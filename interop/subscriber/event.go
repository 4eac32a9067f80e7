package subscriber

import (
	"context"
	"fmt"
)

// Type is the type of an [Event].
type Type string

// The types of events, named as the JSON messages of the WebSocket transport are.
const (
	Subscribed Type = "subscribed"
	Schema     Type = "schema"
	Begin      Type = "begin"
	Row        Type = "row"
	End        Type = "end"
	Progress   Type = "progress"
	Complete   Type = "complete"
	Reconnect  Type = "reconnect"
)

// Event is a step of a stream. Messages with many rows are many events.
type Event struct {
	Type   Type
	Cursor string // position after the event; of a schema change, the one before it

	Columns      string // subscribed, schema: the columns as text, with the number of the schema
	Head, Oldest int64  // subscribed, progress

	Commit    Commit // begin, row, end
	Continued bool   // begin: the stream began inside the commit
	Change    Change // row
	Counts    Counts // end
}

// Commit is the snapshot that rows come from.
type Commit struct {
	Snapshot int64
	Image    bool
	Kind     string // APPEND, …
	Millis   int64  // time of the commit
	SchemaID int64
}

// Change is one row. Two changes of one table are equal as Go values if all that
// a subscriber can know of them is equal.
type Change struct {
	Snapshot  int64
	Image     bool
	SchemaID  int64
	Partition string
	Bucket    int32
	Kind      string // +I, -U, +U, -D
	Row       string // JSON object
	At        string // cursor of the row
}

// String returns the change as one line.
func (c Change) String() string {
	phase := "changes"
	if c.Image {
		phase = "image"
	}
	return fmt.Sprintf("%d %s schema %d %s%d %s %s at %s", c.Snapshot, phase, c.SchemaID, c.Partition, c.Bucket, c.Kind, c.Row, c.At)
}

// Counts is a number of rows of the kinds +I, -U, +U, -D.
type Counts [4]uint64

var kinds = [4]string{"+I", "-U", "+U", "-D"}

// Add counts a row of a kind.
func (c *Counts) Add(kind string) {
	for i, k := range kinds {
		if k == kind {
			c[i]++
		}
	}
}

// Plus returns the sum.
func (c Counts) Plus(o Counts) Counts {
	for i := range c {
		c[i] += o[i]
	}
	return c
}

// Request is what a subscriber asks for.
type Request struct {
	Feed     string
	Start    string // as `gateway tail` takes it; empty: where the consumer stopped, else latest
	Until    string // empty: never
	MaxRows  int    // of a message; 0: the gateway's default
	Consumer string
}

// Stream is a subscription on one connection.
type Stream interface {
	// Next returns the next event. After complete it returns io.EOF, and if the
	// gateway said why it ends the stream, an [*Error].
	Next(ctx context.Context) (*Event, error)
	// Ack stores a position for the request's consumer; it is durable on return.
	Ack(ctx context.Context, cursor string) error
	// Close cuts the connection without a word.
	Close()
}

// Transport is a way to subscribe.
type Transport interface {
	Name() string
	Subscribe(ctx context.Context, r Request) (Stream, error)
}

// Error is what a gateway says when it ends a stream.
type Error struct {
	Reason   string // such as CURSOR_EXPIRED
	Message  string
	Metadata map[string]string
	Code     int    // close code of a WebSocket, status code of gRPC
	Cursor   string // where to go on, if the gateway said so
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d): %s", e.Reason, e.Code, e.Message) }
