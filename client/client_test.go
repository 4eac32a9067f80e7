package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"sluice/client"
	"sluice/feeds"
	"sluice/feeds/feedtest"
	"sluice/feeds/grpcfeed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gateway serves a table as feed "f" through a proxy that can cut connections.
type gateway struct {
	hub   *feeds.Hub
	feed  *feeds.Feed
	proxy *proxy
	*client.Client
}

func serve(t *testing.T, tab feeds.Table) *gateway {
	hub, err := feeds.NewHub(feeds.Options{})
	require.NoError(t, err)
	feed, err := hub.Add("f", tab, feeds.NewMemory())
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := grpcfeed.New(hub, grpcfeed.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	p := newProxy(t, l.Addr().String())
	c, err := client.Dial(p.addr())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		p.close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		require.NoError(t, <-served)
		require.NoError(t, hub.Close())
	})
	return &gateway{hub: hub, feed: feed, proxy: p, Client: c}
}

// proxy forwards connections; cut breaks all that are open.
type proxy struct {
	l      net.Listener
	target string
	wg     sync.WaitGroup
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	refuse bool
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{l: l, target: target, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.run)
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) run() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		p.mu.Lock()
		if err != nil || p.refuse {
			p.mu.Unlock()
			in.Close()
			continue
		}
		p.conns[in], p.conns[out] = struct{}{}, struct{}{}
		p.mu.Unlock()
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			p.wg.Go(func() {
				io.Copy(way[0], way[1])
				way[0].Close()
				way[1].Close()
				p.mu.Lock()
				delete(p.conns, way[1])
				p.mu.Unlock()
			})
		}
	}
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) close() {
	p.l.Close()
	p.cut()
	p.wg.Wait()
}

func table(commits, rows int) *feedtest.Table {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(9, s)
	for i := range commits {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(100*i), rows, "x", true)}, feedtest.Unit{Bucket: 1, Rows: feedtest.Rows(s, int64(100*i+50), rows, "y", false)})
	}
	return tab
}

func collect(t *testing.T, sub *client.Subscription) []string {
	var lines []string
	for c, err := range sub.Changes(t.Context()) {
		require.NoError(t, err)
		lines = append(lines, line(c))
	}
	return lines
}

func line(c client.Change) string {
	return fmt.Sprintf("%d %v %v %v", c.Commit.Snapshot, c.Kind(), c.Value(0), c.Value(1))
}

func TestChanges(t *testing.T) {
	g := serve(t, table(3, 4))
	sub := g.Subscribe("f", client.From("earliest"), client.Until("latest"))
	defer sub.Close()
	lines := collect(t, sub)
	require.Len(t, lines, 3*8)
	require.Equal(t, "1 -U 0 xa-0-0", lines[0])
	require.Equal(t, "1 +U 0 xa-0-1", lines[1])
	require.Equal(t, "3 +I 253 ya-253-3", lines[23])
	_, err := sub.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "k", sub.Schema().Fields[0].Name)

	json := g.Subscribe("f", client.From("earliest"), client.Until("snapshot:1"), client.JSON(), client.Columns("a", "k"))
	defer json.Close()
	n := 0
	for c, err := range json.Changes(t.Context()) {
		require.NoError(t, err)
		if n++; n == 1 {
			require.Equal(t, `{"a":"xa-0-0","k":0}`, string(c.JSON()))
			require.Nil(t, c.Rows.Column(0))
		}
	}
	require.Equal(t, 8, n)
}

func TestEvents(t *testing.T) {
	g := serve(t, table(1, 2))
	sub := g.Subscribe("f", client.From("full"), client.Until("latest"))
	defer sub.Close()
	var got []string
	for {
		e, err := sub.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Equal(t, sub.Cursor(), e.Cursor)
		switch e.Kind {
		case client.EventSubscribed:
			got = append(got, fmt.Sprint("subscribed ", e.Schema.ID, e.Head, e.Oldest, e.Schema.PrimaryKey))
		case client.EventCommitBegin:
			got = append(got, fmt.Sprint("begin ", e.Commit.Snapshot, e.Commit.Image, e.Commit.Kind, e.Commit.Continued, e.Commit.User))
		case client.EventRows:
			got = append(got, fmt.Sprint("rows ", e.Rows.Len(), e.Rows.Bucket, e.Commit.Snapshot))
		case client.EventCommitEnd:
			got = append(got, fmt.Sprint("end ", e.Counts))
		case client.EventComplete:
			got = append(got, "complete")
		}
	}
	require.Equal(t, []string{"subscribed 0 1 1 [k]", "begin 1 trueAPPENDfalsetest", "rows 1 0 1", "rows 2 1 1", "end [3 0 0 0]", "complete"}, got)
}

// Each change tells a position to resume from; from any of them, what follows is
// the same, and positions have the same texts.
func TestResumeAtEveryChange(t *testing.T) {
	g := serve(t, table(3, 3))
	var cursors, nexts, lines []string
	sub := g.Subscribe("f", client.From("earliest"), client.Until("latest"))
	defer sub.Close()
	for c, err := range sub.Changes(t.Context()) {
		require.NoError(t, err)
		cursors, nexts, lines = append(cursors, c.Cursor()), append(nexts, c.Next()), append(lines, line(c))
	}
	for i := range lines {
		c, err := feeds.ParseCursor(cursors[i])
		require.NoError(t, err)
		require.Equal(t, c.String(), cursors[i], "the text is the gateway's own")
		for k, from := range []string{cursors[i], nexts[i]} {
			again := g.Subscribe("f", client.FromCursor(from), client.Until("latest"))
			var got, at []string
			for c, err := range again.Changes(t.Context()) {
				require.NoError(t, err)
				got, at = append(got, line(c)), append(at, c.Cursor())
			}
			again.Close()
			require.Equal(t, lines[i+k:], append([]string{}, got...))
			require.Equal(t, cursors[i+k:], append([]string{}, at...))
		}
	}
}

// The connection breaks again and again; the program sees one stream.
func TestReconnects(t *testing.T) {
	const commits, rows = 400, 25 // more than buffers on the way hold
	tab := table(commits, rows)
	g := serve(t, tab)
	want := collect(t, g.Subscribe("f", client.From("earliest"), client.Until("latest")))

	sub := g.Subscribe("f", client.From("earliest"), client.Until("latest"), client.Limits(7, 0, 0), client.WithRetries(20, time.Millisecond, 20*time.Millisecond))
	defer sub.Close()
	var got []string
	ends := 0
	for n := 0; ; n++ {
		e, err := sub.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if n%400 == 399 {
			g.proxy.cut()
		}
		if e.Kind == client.EventCommitEnd {
			ends++
			require.Equal(t, client.Counts{rows, rows/2 + 1, rows / 2, 0}, e.Counts, "counted over broken connections")
		}
		if e.Kind == client.EventCommitBegin {
			require.False(t, e.Commit.Continued)
		}
		if e.Rows != nil {
			for i := range e.Rows.Len() {
				got = append(got, line(client.Change{Rows: e.Rows, Index: i, Commit: e.Commit}))
			}
		}
	}
	require.Equal(t, want, got)
	require.Equal(t, commits, ends)
	require.Greater(t, sub.Resumed(), int64(3))
}

func TestReconnectOnDrain(t *testing.T) {
	tab := table(2, 3)
	g := serve(t, tab)
	sub := g.Subscribe("f", client.From("earliest"), client.WithRetries(2, time.Millisecond, time.Millisecond))
	defer sub.Close()
	n := 0
	for n < 12 {
		e, err := sub.Next(t.Context())
		require.NoError(t, err)
		if e.Rows != nil {
			n += e.Rows.Len()
		}
	}
	g.hub.Drain()
	var err error
	for err == nil {
		_, err = sub.Next(t.Context())
	}
	var e *client.Error
	require.ErrorAs(t, err, &e, "this gateway takes nobody any more")
	require.Equal(t, "NODE_DRAINING", e.Reason)
	require.Equal(t, codes.Unavailable, e.Code)
	require.ErrorContains(t, err, "gave up after 3 tries")
	require.Equal(t, tab.At(3).String(), sub.Cursor(), "the position is good elsewhere")
}

func TestErrors(t *testing.T) {
	tab := table(3, 1)
	g := serve(t, tab)
	expired := tab.At(1).String()
	tab.Expire(3)
	for name, tc := range map[string]struct {
		sub    *client.Subscription
		reason string
		text   string
	}{
		"expired":   {g.Subscribe("f", client.FromCursor(expired)), "CURSOR_EXPIRED", "3"},
		"invalid":   {g.Subscribe("f", client.FromCursor("xyz")), "CURSOR_INVALID", "xyz"},
		"no feed":   {g.Subscribe("nope"), "FEED_NOT_FOUND", `no feed "nope"`},
		"no column": {g.Subscribe("f", client.Columns("zz")), "REQUEST_INVALID", "zz"},
	} {
		_, err := tc.sub.Next(t.Context())
		var e *client.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, tc.reason, e.Reason)
		require.ErrorContains(t, err, tc.text)
		_, again := tc.sub.Next(t.Context())
		require.Equal(t, err, again, "the error stays")
	}
	sub := g.Subscribe("f", client.FromCursor(expired))
	_, err := sub.Next(t.Context())
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, map[string]string{"earliest": "3", "latest": "3"}, e.Metadata)

	for _, opts := range [][]client.Option{{client.From("yesterday")}, {client.Until("earliest")}, {client.Limits(-1, 0, 0)}, {client.WithRetries(1, 0, 0)}} {
		_, err := g.Subscribe("f", opts...).Next(t.Context())
		require.ErrorContains(t, err, "subscribe to f")
	}
}

func TestGatewayThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	c, err := client.Dial(l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Subscribe("f", client.WithRetries(2, time.Millisecond, time.Millisecond)).Next(t.Context())
	require.ErrorContains(t, err, "gave up after 3 tries")
	_, err = c.Feeds(t.Context())
	require.Error(t, err)
}

func TestContextEndsNext(t *testing.T) {
	tab := table(1, 1)
	g := serve(t, tab)
	sub := g.Subscribe("f", client.From("latest"), client.ProgressEvery(time.Minute))
	defer sub.Close()
	_, err := sub.Next(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = sub.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
	s := feedtest.Schema(0, 1)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "late", false)})
	for c, err := range sub.Changes(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "2 +I 1 latea-1-0", line(c))
		break
	}
	sub.Close()
	_, err = sub.Next(t.Context())
	require.ErrorIs(t, err, client.ErrClosed)
}

func TestBreakAndGoOn(t *testing.T) {
	g := serve(t, table(2, 5))
	sub := g.Subscribe("f", client.From("earliest"), client.Until("latest"))
	defer sub.Close()
	var got []string
	for done := false; !done; {
		done = true
		for c, err := range sub.Changes(t.Context()) {
			require.NoError(t, err)
			got = append(got, line(c))
			done = false
			break
		}
	}
	require.Equal(t, collect(t, g.Subscribe("f", client.From("earliest"), client.Until("latest"))), got)
}

func TestAck(t *testing.T) {
	tab := table(4, 1)
	g := serve(t, tab)
	sub := g.Subscribe("f", client.From("earliest"), client.Consumer("billing"))
	defer sub.Close()
	require.NoError(t, sub.Ack(t.Context(), tab.At(3).String()))
	stored, err := g.Ack(t.Context(), "f", "billing", tab.At(2).String())
	require.NoError(t, err)
	require.Equal(t, tab.At(3).String(), stored)
	again := g.Subscribe("f", client.Consumer("billing"), client.Until("latest"))
	defer again.Close()
	require.True(t, strings.HasPrefix(collect(t, again)[0], "3"))
	_, err = g.Ack(t.Context(), "f", "../x", tab.At(2).String())
	require.ErrorContains(t, err, "REQUEST_INVALID")
}

func TestFeeds(t *testing.T) {
	g := serve(t, table(2, 1))
	all, err := g.Feeds(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	f, err := g.Feed(t.Context(), "f")
	require.NoError(t, err)
	require.EqualValues(t, 2, f.Head)
	require.True(t, f.Serving)
	require.Equal(t, 1, f.Schema.Index("a"))
	require.Equal(t, -1, f.Schema.Index("b"))
	_, err = g.Feed(t.Context(), "g")
	require.ErrorContains(t, err, "FEED_NOT_FOUND")
}
