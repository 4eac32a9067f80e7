package subscriber

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"sluice/client"
)

// GRPC subscribes over gRPC with package client, each stream on a connection of
// its own.
type GRPC struct {
	Addr string
	JSON bool // rows as JSON texts, else in columns
}

// Name implements [Transport].
func (g GRPC) Name() string {
	if g.JSON {
		return "grpc-json"
	}
	return "grpc-columns"
}

type grpcStream struct {
	conn   *client.Client
	sub    *client.Subscription
	schema int64
	rows   []Event // of the last message
}

// Subscribe implements [Transport].
func (g GRPC) Subscribe(_ context.Context, r Request) (Stream, error) {
	c, err := client.Dial(g.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	// Once is enough: a stream that breaks is broken.
	opts := []client.Option{client.WithRetries(0, time.Millisecond, time.Millisecond), client.Limits(r.MaxRows, 0, 0)}
	if r.Start != "" {
		opts = append(opts, client.From(r.Start))
	}
	if r.Until != "" {
		opts = append(opts, client.Until(r.Until))
	}
	if r.Consumer != "" {
		opts = append(opts, client.Consumer(r.Consumer))
	}
	if g.JSON {
		opts = append(opts, client.JSON())
	}
	return &grpcStream{conn: c, sub: c.Subscribe(r.Feed, opts...)}, nil
}

func (s *grpcStream) Close() {
	s.sub.Close()
	_ = s.conn.Close()
}

func (s *grpcStream) Ack(ctx context.Context, cursor string) error { return s.sub.Ack(ctx, cursor) }

func (s *grpcStream) Next(ctx context.Context) (*Event, error) {
	for len(s.rows) == 0 {
		e, err := s.sub.Next(ctx)
		if err != nil {
			return nil, grpcError(err)
		}
		if s.sub.Resumed() > 0 {
			return nil, errors.New("the client connected again by itself")
		}
		if e.Kind != client.EventRows {
			return s.event(e)
		}
		if err := s.split(e); err != nil {
			return nil, err
		}
	}
	e := s.rows[0]
	s.rows = s.rows[1:]
	return &e, nil
}

func grpcError(err error) error {
	var g *client.Error
	if !errors.As(err, &g) || g.Reason == "" {
		return err
	}
	return &Error{Reason: g.Reason, Message: g.Message, Metadata: g.Metadata, Code: int(g.Code)}
}

var eventTypes = map[client.EventKind]Type{
	client.EventSubscribed: Subscribed, client.EventSchemaChange: Schema, client.EventCommitBegin: Begin, client.EventCommitEnd: End,
	client.EventProgress: Progress, client.EventComplete: Complete,
}

func (s *grpcStream) event(e *client.Event) (*Event, error) {
	t, ok := eventTypes[e.Kind]
	if !ok {
		return nil, fmt.Errorf("event of kind %d", e.Kind)
	}
	out := &Event{Type: t, Cursor: e.Cursor, Head: e.Head, Oldest: e.Oldest, Counts: Counts(e.Counts)}
	if e.Schema != nil {
		out.Columns = clientColumns(e.Schema)
		s.schema = e.Schema.ID
	}
	if e.Commit != nil {
		out.Commit = s.commit(e.Commit)
		out.Continued = e.Commit.Continued && t == Begin
	}
	return out, nil
}

func (s *grpcStream) commit(c *client.Commit) Commit {
	return Commit{Snapshot: c.Snapshot, Image: c.Image, Kind: c.Kind, Millis: c.Time.UnixMilli(), SchemaID: c.SchemaID}
}

// split makes an event of each row.
func (s *grpcStream) split(e *client.Event) error {
	r := e.Rows
	if r.Schema.ID != s.schema {
		return fmt.Errorf("rows of schema %d after schema %d was told", r.Schema.ID, s.schema)
	}
	s.rows = s.rows[:0]
	for i := range r.Len() {
		row := string(r.JSON(i))
		if row == "" {
			b, err := appendClientRow(nil, r, i)
			if err != nil {
				return err
			}
			row = string(b)
		}
		s.rows = append(s.rows, Event{
			Type: Row, Cursor: r.Cursor(i + 1), Commit: s.commit(e.Commit),
			Change: Change{
				Snapshot: r.Snapshot, Image: e.Commit.Image, SchemaID: r.Schema.ID, Partition: r.Partition, Bucket: r.Bucket,
				Kind: r.Kind(i).String(), Row: row, At: r.Cursor(i),
			},
		})
	}
	if len(s.rows) == 0 {
		return io.ErrUnexpectedEOF // a message of rows has some
	}
	return nil
}
