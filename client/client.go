package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	sluicev1 "sluice/proto/sluice/v1"
)

// Client talks to one gateway. It may be used by many goroutines.
type Client struct {
	conn  *grpc.ClientConn
	own   bool // Dial made the connection
	feeds sluicev1.FeedServiceClient
}

// MessageBytesMax is the largest message that is received: one that is larger than
// 1 MB has a single row.
const MessageBytesMax = 256 << 20

// Dial returns a client of the gateway at an address, such as localhost:7070. It
// does not connect yet. Without options that say else, connections are not
// secured.
func Dial(addr string, opts ...grpc.DialOption) (*Client, error) {
	opts = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
	}, opts...)
	conn, err := grpc.NewClient(addr, opts...)
	if err != nil {
		return nil, fmt.Errorf("gateway %s: %w", addr, err)
	}
	return &Client{conn: conn, own: true, feeds: sluicev1.NewFeedServiceClient(conn)}, nil
}

// New returns a client that uses a connection, which stays the caller's to close.
func New(conn *grpc.ClientConn) *Client {
	return &Client{conn: conn, feeds: sluicev1.NewFeedServiceClient(conn)}
}

// Close closes the connection that Dial made. Subscriptions then fail.
func (c *Client) Close() error {
	if !c.own {
		return nil
	}
	return c.conn.Close()
}

// Feed describes a feed.
type Feed struct {
	Name     string
	Table    string // DATABASE.TABLE
	Schema   *Schema
	Head     int64 // newest snapshot, 0: none
	Oldest   int64 // oldest snapshot whose changes can be read, 0: none
	HeadTime time.Time
	Serving  bool
	Problem  string // why it is not serving
}

// Feed returns the feed of that name.
func (c *Client) Feed(ctx context.Context, name string) (*Feed, error) {
	out, err := c.feeds.GetFeed(ctx, &sluicev1.GetFeedRequest{Feed: name})
	if err != nil {
		return nil, canceled(ctx, toError(err))
	}
	return feedOf(out.GetFeed()), nil
}

// Feeds returns all feeds by name.
func (c *Client) Feeds(ctx context.Context) ([]*Feed, error) {
	var all []*Feed
	for token := ""; ; {
		out, err := c.feeds.ListFeeds(ctx, &sluicev1.ListFeedsRequest{PageToken: token})
		if err != nil {
			return nil, canceled(ctx, toError(err))
		}
		for _, f := range out.GetFeeds() {
			all = append(all, feedOf(f))
		}
		if token = out.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

func feedOf(m *sluicev1.Feed) *Feed {
	f := &Feed{
		Name: m.GetName(), Table: m.GetTable(), Schema: schemaOf(m.GetSchema()), Head: m.GetHeadSnapshot(), Oldest: m.GetOldestSnapshot(),
		Serving: m.GetServing(), Problem: m.GetProblem(),
	}
	if t := m.GetHeadTime(); t != nil {
		f.HeadTime = t.AsTime()
	}
	return f
}

// Ack stores a position for a named consumer of a feed and returns the stored
// one: it, or a later one. It is durable at the gateway on return.
func (c *Client) Ack(ctx context.Context, feed, consumer, cursor string) (string, error) {
	out, err := c.feeds.Ack(ctx, &sluicev1.AckRequest{Feed: feed, Consumer: consumer, Cursor: cursor})
	if err != nil {
		return "", canceled(ctx, toError(err))
	}
	return out.GetCursor(), nil
}
