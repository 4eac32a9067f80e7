package natsfeed

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/feeds"
	"sluice/feeds/feedtest"
	"sluice/internal/embeddednats"
	"sluice/paimon/rowdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a NATS server, a table and a feed of it.
type rig struct {
	t      *testing.T
	server *embeddednats.Server
	nc     *nats.Conn
	js     jetstream.JetStream
	table  *feedtest.Table
	schema *feeds.Schema
	feed   *feeds.Feed
	want   []string // each change in order: kind and row
	next   int64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s, err := embeddednats.Start(t.Context(), embeddednats.Options{Addr: "127.0.0.1:0", StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	r := &rig{t: t, server: s, schema: feedtest.Schema(0, 1)}
	r.nc = r.connect()
	r.js, err = jetstream.New(r.nc)
	require.NoError(t, err)
	r.table = feedtest.NewTable(7, r.schema)
	h, err := feeds.NewHub(feeds.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	r.feed, err = h.Add("orders", r.table, feeds.NewMemory())
	require.NoError(t, err)
	return r
}

func (r *rig) connect() *nats.Conn {
	nc, err := nats.Connect(r.server.URL())
	require.NoError(r.t, err)
	r.t.Cleanup(nc.Close)
	return nc
}

// commit adds a snapshot of rows in two buckets.
func (r *rig) commit(rows int, updates bool) {
	a := feedtest.Rows(r.schema, r.next, rows, "x", updates)
	b := feedtest.Rows(r.schema, r.next+1000, rows, "y", updates)
	r.next += 10_000
	r.table.Commit(feedtest.Unit{Bucket: 0, Rows: a}, feedtest.Unit{Bucket: 1, Rows: b})
	for _, c := range []*rowdata.Changes{a, b} {
		for i := range c.N {
			r.want = append(r.want, fmt.Sprintf(`{"kind":"%s","row":%s}`, c.Kind(i), rowdata.AppendJSONObject(nil, &c.Batch, i)))
		}
	}
}

// start runs a publisher in the background; stop ends it and returns its error.
func (r *rig) start(nc *nats.Conn, o Options) (p *Publisher, stop func() error) {
	r.t.Helper()
	o.Stream = "ORDERS"
	p, err := New(nc, r.feed, "shop.orders", o)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	return p, func() error { cancel(); return <-done }
}

// stream reads n messages from the stream's beginning.
func (r *rig) stream(n int) []jetstream.Msg {
	r.t.Helper()
	r.awaitStream(uint64(n))
	c, err := r.js.OrderedConsumer(r.t.Context(), "ORDERS", jetstream.OrderedConsumerConfig{})
	require.NoError(r.t, err)
	var all []jetstream.Msg
	for len(all) < n {
		m, err := c.Next()
		require.NoError(r.t, err)
		all = append(all, m)
	}
	s, err := r.js.Stream(r.t.Context(), "ORDERS")
	require.NoError(r.t, err)
	require.Equal(r.t, uint64(n), s.CachedInfo().State.Msgs, "no message too many")
	return all
}

func bodies(all []jetstream.Msg) []string {
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = string(m.Data())
	}
	return out
}

func TestEachChangeOnceInOrder(t *testing.T) {
	r := newRig(t)
	r.commit(5, false)
	r.table.Commit() // an empty one
	r.commit(4, true)
	_, stop := r.start(r.nc, Options{EnsureStream: true, Name: "p1"})
	all := r.stream(len(r.want))
	require.NoError(t, stop())
	require.Equal(t, r.want, bodies(all))

	m := all[len(all)-1]
	require.Equal(t, "chg.shop.orders.1.UA", m.Subject())
	require.Equal(t, "+U", m.Headers().Get(HeaderKind))
	require.Equal(t, "3", m.Headers().Get(HeaderSnapshot))
	require.Equal(t, "0", m.Headers().Get(HeaderSchema))
	require.Equal(t, "1.3", m.Headers().Get(HeaderOrdinal))
	require.Equal(t, "p1", m.Headers().Get(HeaderPublisher))
	ids := map[string]bool{}
	for _, m := range all {
		ids[m.Headers().Get("Nats-Msg-Id")] = true
	}
	require.Len(t, ids, len(all), "ids are unique")
}

func TestSeveralEventsAMessage(t *testing.T) {
	r := newRig(t)
	r.commit(5, false)
	_, stop := r.start(r.nc, Options{EnsureStream: true, EventsPerMessage: 3})
	all := r.stream(4)
	require.NoError(t, stop())
	require.Equal(t, "["+r.want[0]+","+r.want[1]+","+r.want[2]+"]", string(all[0].Data()))
	require.Equal(t, "2", all[1].Headers().Get(HeaderCount))
	require.Equal(t, "chg.shop.orders.1", all[2].Subject())
}

// A publisher that is stopped after any message goes on with the next one, also
// when the server restarts in between.
func TestAStoppedPublisherGoesOn(t *testing.T) {
	r := newRig(t)
	r.commit(3, false)
	r.commit(4, true)
	for i := range len(r.want) {
		_, stop := r.start(r.connect(), Options{EnsureStream: true, InFlight: 1})
		r.awaitStream(uint64(i + 1))
		require.NoError(t, stop())
	}
	require.Equal(t, r.want, bodies(r.stream(len(r.want))))
}

// awaitStream waits until the stream has so many messages.
func (r *rig) awaitStream(n uint64) uint64 {
	r.t.Helper()
	for {
		s, err := r.js.Stream(r.t.Context(), "ORDERS")
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		require.NoError(r.t, err)
		c, err := s.OrderedConsumer(r.t.Context(), jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: n})
		require.NoError(r.t, err)
		m, err := c.Next()
		require.NoError(r.t, err)
		meta, err := m.Metadata()
		require.NoError(r.t, err)
		return meta.Sequence.Stream
	}
}

func TestASecondPublisherIsRefused(t *testing.T) {
	r := newRig(t)
	r.commit(2, false)
	_, stop := r.start(r.nc, Options{EnsureStream: true, Name: "first"})
	r.awaitStream(4)
	second, err := New(r.connect(), r.feed, "shop.orders", Options{Stream: "ORDERS", Name: "second"})
	require.NoError(t, err)
	var fenced *FencedError
	require.ErrorAs(t, second.Run(t.Context()), &fenced)
	require.Equal(t, "first", fenced.Publisher)
	r.commit(2, false)
	require.Equal(t, r.want, bodies(r.stream(len(r.want))), "the first one goes on")
	require.NoError(t, stop())
}

// A publisher that cannot see the other one is stopped by the sequence number.
func TestAPublisherThatLosesTheStreamStops(t *testing.T) {
	r := newRig(t)
	r.commit(2, false)
	p, err := New(r.nc, r.feed, "shop.orders", Options{Stream: "ORDERS", EnsureStream: true, Name: "loser"})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- p.Run(t.Context()) }()
	r.awaitStream(4)
	last := r.stream(4)[3]
	intruder := nats.NewMsg("chg.shop.orders.0.I")
	intruder.Header.Set(HeaderCursor, last.Headers().Get(HeaderCursor))
	intruder.Header.Set(HeaderPublisher, "winner")
	_, err = r.js.PublishMsg(t.Context(), intruder)
	require.NoError(t, err)
	r.commit(3, false)
	var fenced *FencedError
	require.ErrorAs(t, <-done, &fenced)
	require.Equal(t, "winner", fenced.Publisher)
	s, err := r.js.Stream(t.Context(), "ORDERS")
	require.NoError(t, err)
	require.Equal(t, uint64(5), s.CachedInfo().State.LastSeq, "nothing was written after the other one")
}

func TestStreamsThatCannotBeUsed(t *testing.T) {
	run := func(r *rig) error {
		p, err := New(r.nc, r.feed, "shop.orders", Options{Stream: "ORDERS"})
		require.NoError(t, err)
		return p.Run(t.Context())
	}
	t.Run("none", func(t *testing.T) { require.ErrorIs(t, run(newRig(t)), ErrNoStream) })
	t.Run("subjects", func(t *testing.T) {
		r := newRig(t)
		_, err := r.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"chg.shop.orders.0.*"}})
		require.NoError(t, err)
		var bad *StreamError
		require.ErrorAs(t, run(r), &bad)
	})
	t.Run("foreign message", func(t *testing.T) {
		r := newRig(t)
		_, err := r.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"chg.>"}})
		require.NoError(t, err)
		_, err = r.js.Publish(t.Context(), "chg.x", nil)
		require.NoError(t, err)
		var bad *ForeignMessageError
		require.ErrorAs(t, run(r), &bad)
	})
	t.Run("purged", func(t *testing.T) {
		r := newRig(t)
		s, err := r.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"chg.>"}})
		require.NoError(t, err)
		_, err = r.js.Publish(t.Context(), "chg.x", nil)
		require.NoError(t, err)
		require.NoError(t, s.Purge(t.Context()))
		var bad *LostPositionError
		require.ErrorAs(t, run(r), &bad)
	})
}

// Nothing is lost or doubled when reads of the table fail in between.
func TestFailuresOfTheTableAreRetried(t *testing.T) {
	r := newRig(t)
	r.commit(3, false)
	r.table.Fail(errors.New("disk trouble"))
	retried := make(chan error, 16)
	_, stop := r.start(r.nc, Options{EnsureStream: true, Events: Events{Retry: func(_ string, err error) {
		select {
		case retried <- err:
		default:
		}
	}}})
	<-retried
	r.table.Fail(nil)
	require.Equal(t, r.want, bodies(r.stream(len(r.want))))
	require.NoError(t, stop())
}
