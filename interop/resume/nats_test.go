package resume

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/feeds/natsfeed"
	"sluice/internal/embeddednats"
	"sluice/interop/subscriber"
)

// jetStream is a NATS server of the test's own, with a connection to it.
type jetStream struct {
	jetstream.JetStream
	nc     *nats.Conn
	stream string // the one that is published to
	made   int
}

// drop deletes the stream. The next one has another name: a server that makes one
// anew while it still deletes the files of the old one finds messages in them.
func (j *jetStream) drop(t *testing.T) {
	t.Helper()
	if err := j.DeleteStream(t.Context(), j.stream); !errors.Is(err, jetstream.ErrStreamNotFound) {
		require.NoError(t, err)
	}
	j.made++
	j.stream = fmt.Sprintf("ORDERS-%d", j.made)
}

func newJetStream(t *testing.T) *jetStream {
	t.Helper()
	srv, err := embeddednats.Start(t.Context(), embeddednats.Options{Addr: "127.0.0.1:0", StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	nc, err := nats.Connect(srv.URL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return &jetStream{JetStream: js, nc: nc, stream: "ORDERS"}
}

// publisher is a publisher that runs.
type publisher struct {
	p       *natsfeed.Publisher
	resumed chan uint64 // last message it found
	cancel  context.CancelFunc
	ended   chan error
}

func (j *jetStream) publish(t *testing.T, f *feeds.Feed, o natsfeed.Options) *publisher {
	t.Helper()
	p := &publisher{resumed: make(chan uint64, 64), ended: make(chan error, 1)}
	o.Stream, o.Subject, o.EnsureStream = j.stream, subscriber.Subject, true
	o.Events.Resumed = func(_ string, _ feeds.Cursor, sequence uint64) { p.resumed <- sequence }
	var err error
	p.p, err = natsfeed.New(j.nc, f, tableName, o)
	require.NoError(t, err)
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(t.Context())
	go func() { p.ended <- p.p.Run(ctx) }()
	return p
}

func (p *publisher) stop(t *testing.T) {
	t.Helper()
	p.cancel()
	require.NoError(t, <-p.ended)
}

// messages waits until the stream has n messages, and returns all that it has.
func (j *jetStream) messages(t *testing.T, n int) []subscriber.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		m, err := subscriber.Messages(ctx, j, j.stream, n)
		if errors.Is(err, jetstream.ErrStreamNotFound) && ctx.Err() == nil {
			continue // the publisher is about to make it
		}
		require.NoError(t, err)
		return m
	}
}

// begin makes the stream anew with the first messages of another.
func (j *jetStream) begin(t *testing.T, messages []subscriber.Message) {
	t.Helper()
	ctx := t.Context()
	j.drop(t)
	_, err := j.CreateStream(ctx, jetstream.StreamConfig{Name: j.stream, Subjects: []string{"chg.>"}})
	require.NoError(t, err)
	for _, m := range messages {
		h := nats.Header{}
		for name, values := range m.Header {
			if name != jetstream.ExpectedLastSeqHeader && name != jetstream.ExpectedLastMsgIDHeader {
				h[name] = values
			}
		}
		_, err := j.PublishMsgAsync(&nats.Msg{Subject: m.Subject, Header: h, Data: m.Data})
		require.NoError(t, err)
	}
	select {
	case <-j.PublishAsyncComplete():
	case <-time.After(patience):
		require.Fail(t, "messages were not acknowledged")
	}
}

// texts are messages as text, but for what names one publisher's session.
func texts(t *testing.T, messages []subscriber.Message) []string {
	t.Helper()
	out := make([]string, len(messages))
	for i, m := range messages {
		h := nats.Header{}
		for name, values := range m.Header {
			switch name {
			case natsfeed.HeaderPublisher, jetstream.ExpectedLastSeqHeader, jetstream.ExpectedLastMsgIDHeader:
			default:
				h[name] = values
			}
		}
		out[i] = fmt.Sprintf("%d %s %v %s", m.Sequence, m.Subject, h, m.Data)
	}
	return out
}

// rowsOfMessages returns the changes of messages and checks that the cursor of
// each message is where the next one begins.
func rowsOfMessages(t *testing.T, messages []subscriber.Message) []subscriber.Change {
	t.Helper()
	var out []subscriber.Change
	for i := range messages {
		changes, next, err := messages[i].Changes()
		require.NoError(t, err)
		require.NotEmpty(t, next)
		out = append(out, changes...)
	}
	return out
}

// live publishes the table's stream from its image on while it is written, and
// returns the messages.
func live(t *testing.T, s *shop, j *jetStream, f *feeds.Feed, keyed bool) []subscriber.Message {
	t.Helper()
	p := j.publish(t, f, natsfeed.Options{Start: feeds.Start{Mode: feeds.StartFull}})
	require.Zero(t, <-p.resumed)
	image := s.latest()
	n := len(s.stateAt(image))
	s.committed = f.Poke
	s.goOn(keyed)
	for id := image + 1; id <= s.latest(); id++ {
		n += len(s.wrote[id])
	}
	messages := j.messages(t, n)
	p.stop(t)
	require.Len(t, messages, n)
	s.requireTruth(image, rowsOfMessages(t, messages))
	return messages
}

// TestPublisherCutAtEveryMessage has a publisher come to a stream that ends with
// each of the messages of an uncut one: what it adds makes it the uncut one.
func TestPublisherCutAtEveryMessage(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	j := newJetStream(t)
	_, f := newHub(t, s, feeds.Options{})
	uncut := live(t, s, j, f, true)
	want := texts(t, uncut)
	for k := 1; k <= len(uncut); k++ {
		j.begin(t, uncut[:k])
		p := j.publish(t, f, natsfeed.Options{Start: feeds.Start{Mode: feeds.StartEarliest}})
		require.EqualValues(t, k, <-p.resumed)
		got := j.messages(t, len(uncut))
		p.stop(t)
		require.Equal(t, want, texts(t, got), "cut after message %d", k)
		require.Len(t, j.messages(t, 0), len(uncut), "cut after message %d", k)
	}
}

// TestPublisherStoppedAtEveryMessage stops a publisher as soon as one more message
// is in the stream, and starts another one, until all are there.
func TestPublisherStoppedAtEveryMessage(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	j := newJetStream(t)
	_, f := newHub(t, s, feeds.Options{})
	uncut := live(t, s, j, f, true)
	first, err := feeds.ParseCursor(uncut[0].Header.Get(nats.MsgIdHdr))
	require.NoError(t, err)
	for _, inFlight := range []int{1, 7} {
		j.drop(t)
		arrived := make(chan *nats.Msg, 1000)
		sub, err := j.nc.ChanSubscribe("chg.>", arrived)
		require.NoError(t, err)
		sessions := 0
		for n := 0; n < len(uncut); sessions++ {
			p := j.publish(t, f, natsfeed.Options{Start: feeds.Start{Mode: feeds.StartCursor, Cursor: first}, InFlight: inFlight})
			select {
			case <-arrived:
			case <-time.After(patience):
				require.Fail(t, "nothing more is published")
			}
			p.stop(t)
			n = len(j.messages(t, 0))
			for len(arrived) > 0 {
				<-arrived
			}
		}
		require.NoError(t, sub.Unsubscribe())
		require.Equal(t, texts(t, uncut), texts(t, j.messages(t, 0)))
		require.Greater(t, sessions, len(uncut)/20)
		t.Logf("%d messages in %d sessions", len(uncut), sessions)
	}
}

// A message's cursor goes on over the other transports, and theirs in a stream.
func TestCursorsCrossBetweenStreamAndSubscribers(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	j := newJetStream(t)
	_, f := newHub(t, s, feeds.Options{})
	uncut := live(t, s, j, f, true)
	whole := rowsOfMessages(t, uncut)
	narrow := newNarrowGateway(t, s)
	for i, tr := range narrow {
		rows := changesOf(read(t, tr, subscriber.Request{Start: "cursor:" + whole[0].At, Until: "latest"}, nil))
		requireRows(t, whole, rows, "%s and the stream", tr.Name())
		for k := i; k < len(uncut); k += len(narrow) {
			rest := read(t, tr, subscriber.Request{Start: "cursor:" + uncut[k].Header.Get(natsfeed.HeaderCursor), Until: "latest"}, nil)
			requireRows(t, whole[k+1:], changesOf(rest), "%s from the cursor of message %d", tr.Name(), k+1)
		}
	}
	for k := 0; k < len(whole); k += 3 {
		j.drop(t)
		at, err := feeds.ParseCursor(whole[k].At) // as every transport names the row
		require.NoError(t, err)
		p := j.publish(t, f, natsfeed.Options{Start: feeds.Start{Mode: feeds.StartCursor, Cursor: at}, Name: "cross"})
		rows := rowsOfMessages(t, j.messages(t, len(whole)-k))
		p.stop(t)
		requireRows(t, whole[k:], rows, "stream from row %d", k)
	}
}

// Several changes a message are the same changes.
func TestPublisherOfManyEventsAMessage(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	j := newJetStream(t)
	_, f := newHub(t, s, feeds.Options{})
	uncut := live(t, s, j, f, true)
	whole := rowsOfMessages(t, uncut)
	first, err := feeds.ParseCursor(whole[0].At)
	require.NoError(t, err)
	j.drop(t)
	publish := func() *publisher {
		p := &publisher{ended: make(chan error, 1)}
		p.p, err = natsfeed.New(j.nc, f, tableName, natsfeed.Options{
			Stream: j.stream, Subject: "chg.{db}.{table}.{partition}.{bucket}", EnsureStream: true, EventsPerMessage: 5,
			Start: feeds.Start{Mode: feeds.StartCursor, Cursor: first},
		})
		require.NoError(t, err)
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(t.Context())
		go func() { p.ended <- p.p.Run(ctx) }()
		return p
	}
	p := publish()
	// The last change has no successor to wait for: the stream is whole when its
	// last message has the cursor after it.
	all := awaitCursor(t, j, uncut[len(uncut)-1].Header.Get(natsfeed.HeaderCursor))
	p.stop(t)
	requireRows(t, whole, rowsOfMessages(t, all), "5 changes a message")
	require.Less(t, len(all), len(whole)/2)
	for k := 1; k <= len(all); k++ {
		j.begin(t, all[:k])
		p := publish()
		got := awaitCursor(t, j, uncut[len(uncut)-1].Header.Get(natsfeed.HeaderCursor))
		p.stop(t)
		requireRows(t, whole, rowsOfMessages(t, got), "5 changes a message, cut after message %d", k)
	}
}

// awaitCursor waits until the last message has a cursor.
func awaitCursor(t *testing.T, j *jetStream, cursor string) []subscriber.Message {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		m := j.messages(t, 0)
		if n := len(m); n > 0 && m[n-1].Header.Get(natsfeed.HeaderCursor) == cursor {
			return m
		}
		select {
		case <-tick.C:
		case <-deadline:
			require.Fail(t, "the last change was not published", "%d messages", len(m))
		}
	}
}
