package resume

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"sluice/feeds"
	"sluice/feeds/natsfeed"
	"sluice/internal/config"
	"sluice/interop/subscriber"
	"sluice/paimon/maintenance"
)

// refusal is what each transport says when a cursor is not good any more.
type refusal struct {
	reason   feeds.Reason
	grpc     codes.Code
	close    int // of the WebSocket
	metadata map[string]string
}

// requireRefused subscribes over every transport and compares what it says.
func requireRefused(t *testing.T, all []subscriber.Transport, start string, want refusal) {
	t.Helper()
	for _, tr := range all {
		events, err := readUntil(t.Context(), tr, subscriber.Request{Start: start, Until: "latest"}, nil)
		var e *subscriber.Error
		require.ErrorAs(t, err, &e, "%s gave %d events", tr.Name(), len(events))
		require.Empty(t, changesOf(events), "%s gives no row before it refuses", tr.Name())
		require.Equal(t, string(want.reason), e.Reason, tr.Name())
		for name, value := range want.metadata {
			require.Equal(t, value, e.Metadata[name], "%s: %s in %v", tr.Name(), name, e.Metadata)
		}
		require.NotEmpty(t, e.Message)
		if _, ok := tr.(subscriber.WebSocket); ok {
			require.Equal(t, want.close, e.Code, tr.Name())
		} else {
			require.Equal(t, want.grpc, codes.Code(e.Code), tr.Name())
		}
	}
}

// requirePublisherEnds has a publisher come to a stream whose last message has a
// cursor that is not good any more: it must end, and add nothing.
func requirePublisherEnds[E error](t *testing.T, j *jetStream, f *feeds.Feed, last subscriber.Message) E {
	t.Helper()
	j.begin(t, []subscriber.Message{last})
	p := j.publish(t, f, natsfeed.Options{Start: feeds.Start{Mode: feeds.StartEarliest}})
	defer p.cancel()
	var target E
	select {
	case err := <-p.ended:
		require.ErrorAs(t, err, &target)
	case <-time.After(patience):
		require.Fail(t, "the publisher goes on")
	}
	require.Len(t, j.messages(t, 0), 1)
	return target
}

// messageAt is a message of a stream whose next change would be at a cursor.
func messageAt(cursor string) subscriber.Message {
	return subscriber.Message{
		Subject: "chg.shop.orders.=_.0.I", Data: []byte(`{"kind":"+I","row":{}}`),
		Header: nats.Header{natsfeed.HeaderCursor: {cursor}, natsfeed.HeaderPublisher: {"another"}, jetstream.MsgIDHeader: {cursor}},
	}
}

func TestExpiredCursor(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	g := newGateway(t, s.dir, nil)
	image := s.latest()
	s.goOn(true)
	whole := changesOf(read(t, g.transports()[0], subscriber.Request{Start: "snapshot:" + strconv.FormatInt(image+1, 10), Until: "latest"}, nil))
	s.expire(1)
	earliest := strconv.FormatInt(s.latest(), 10)
	want := refusal{feeds.CursorExpired, codes.OutOfRange, 4510, map[string]string{"earliest": earliest, "latest": earliest}}
	narrow := newNarrowGateway(t, s)
	for _, k := range []int{0, 1, len(whole) / 2} { // at a boundary, and inside of a commit
		requireRefused(t, narrow, "cursor:"+whole[k].At, want)
	}
	requireRefused(t, narrow, "snapshot:"+strconv.FormatInt(image, 10), refusal{reason: feeds.CursorExpired, grpc: codes.OutOfRange, close: 4510, metadata: map[string]string{"earliest": earliest}})
	for _, tr := range narrow { // and that position is good
		rows := changesOf(read(t, tr, subscriber.Request{Start: "snapshot:" + earliest, Until: "latest"}, nil))
		requireRows(t, whole[len(whole)-len(rows):], rows, "%s from the earliest", tr.Name())
		require.Len(t, rows, len(s.wrote[s.latest()]))
	}

	j := newJetStream(t)
	_, f := newHub(t, s, feeds.Options{})
	expired := requirePublisherEnds[*feeds.CursorExpiredError](t, j, f, messageAt(whole[3].At))
	require.Equal(t, s.latest(), expired.Earliest)

	// A gateway whose publisher has ended is not ready, and says why; its
	// subscribers are served.
	g2 := newGateway(t, s.dir, func(c *config.Config) {
		c.NATS.URL = j.nc.ConnectedUrl()
		c.Feeds[0].NATS = &config.FeedNATS{Stream: j.stream, Subject: subscriber.Subject}
	})
	requireNotReady(t, g2, "publisher of feed "+tableName, "oldest available position is snapshot "+earliest)
	read(t, g2.transports()[0], subscriber.Request{Start: "full", Until: "latest"}, nil)
}

// requireNotReady waits until the gateway says that it is not ready, and why.
func requireNotReady(t *testing.T, g *gateway, texts ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + g.HTTPAddr() + "/readyz")
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		if resp.StatusCode == http.StatusOK {
			return false
		}
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		for _, text := range texts {
			require.Contains(t, string(body), text)
		}
		return true
	}, patience, 10*time.Millisecond)
	http.DefaultClient.CloseIdleConnections()
}

func TestCursorOfAnotherTable(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	g := newGateway(t, s.dir, nil)
	s.goOn(true)
	whole := changesOf(read(t, g.transports()[0], subscriber.Request{Start: "full", Until: "latest"}, nil))

	// Subscribers that follow the table learn that it is gone.
	type end struct {
		name string
		err  error
	}
	ended := make(chan end, 4)
	for _, tr := range g.transports() {
		subscribed := make(chan struct{})
		go func() {
			_, err := readUntil(t.Context(), tr, subscriber.Request{Start: "latest"}, func(e *subscriber.Event) bool {
				if e.Type == subscriber.Subscribed {
					close(subscribed)
				}
				return false
			})
			ended <- end{tr.Name(), err}
		}()
		<-subscribed
	}
	require.NoError(t, s.cat.DropTable(t.Context(), tableName))
	s.create(keyOf(true), tables[0].options)
	s.commit(change("+I", row(days[0], 1, 1)))
	for range 4 {
		e := <-ended
		var said *subscriber.Error
		require.ErrorAs(t, e.err, &said, e.name)
		require.Contains(t, []string{string(feeds.CursorEpochMismatch), string(feeds.TableNotFound)}, said.Reason, e.name)
	}

	want := refusal{reason: feeds.CursorEpochMismatch, grpc: codes.FailedPrecondition, close: 4511}
	narrow := newNarrowGateway(t, s)
	for _, all := range [][]subscriber.Transport{g.transports(), narrow} { // one that knew the old table, one that did not
		requireRefused(t, all, "cursor:"+whole[3].At, want)
		for _, tr := range all { // the new table is there
			rows := changesOf(read(t, tr, subscriber.Request{Start: "full", Until: "latest"}, nil))
			require.Len(t, rows, 1, tr.Name())
		}
	}
	_, f := newHub(t, s, feeds.Options{})
	requirePublisherEnds[*feeds.CursorMismatchError](t, newJetStream(t), f, messageAt(whole[3].At))
}

func TestCursorAheadOfATableThatWasRolledBack(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	g := newGateway(t, s.dir, nil)
	image := s.latest()
	s.goOn(true)
	whole := changesOf(read(t, g.transports()[0], subscriber.Request{Start: "snapshot:" + strconv.FormatInt(image+1, 10), Until: "latest"}, nil))
	last := whole[len(whole)-1]
	require.NoError(t, s.w.Close(t.Context()))
	require.NoError(t, maintenance.RollbackToSnapshot(t.Context(), s.table, image+1))
	narrow := newNarrowGateway(t, s)
	requireRefused(t, narrow, "cursor:"+last.At, refusal{
		reason: feeds.CursorAhead, grpc: codes.FailedPrecondition, close: 4512,
		metadata: map[string]string{"head": strconv.FormatInt(image+1, 10)},
	})
	j := newJetStream(t)
	_, f := newHub(t, s, feeds.Options{})
	requirePublisherEnds[*feeds.CursorAheadError](t, j, f, messageAt(last.At))

	// Once others have been written under the same numbers, the cursor is of a
	// history that there is not any more.
	s.w = nil
	s.open()
	for id := range int64(6) {
		s.commit(change("+I", fmt.Sprintf(`{"day":%q,"id":%d}`, days[0], 70+id)))
	}
	mismatch := refusal{reason: feeds.CursorEpochMismatch, grpc: codes.FailedPrecondition, close: 4511}
	requireRefused(t, narrow, "cursor:"+last.At, mismatch)
	requireRefused(t, newNarrowGateway(t, s), "cursor:"+last.At, mismatch)
	requirePublisherEnds[*feeds.CursorMismatchError](t, j, f, messageAt(last.At))
	// What comes before the point of return is as good as ever.
	for _, tr := range narrow {
		rows := changesOf(read(t, tr, subscriber.Request{Start: "cursor:" + whole[0].At, Until: "snapshot:" + strconv.FormatInt(image+1, 10)}, nil))
		requireRows(t, whole[:len(rows)], rows, "%s before the rollback", tr.Name())
		require.Len(t, rows, len(s.wrote[image+1]))
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	g := newGateway(t, s.dir, nil)
	good := read(t, g.transports()[0], subscriber.Request{Start: "full", Until: "latest"}, nil)[0].Cursor
	flipped := []byte(good)
	flipped[7] ^= 1
	invalid := refusal{reason: feeds.CursorInvalid, grpc: codes.InvalidArgument, close: 4500}
	for _, text := range []string{"x", string(flipped), good + "+", good + "+-1", good + "+9999999", good[:len(good)-4]} {
		requireRefused(t, g.transports(), "cursor:"+text, invalid)
	}
	branch, err := feeds.ParseCursor(good)
	require.NoError(t, err)
	branch.Branch = 77
	requireRefused(t, g.transports(), "cursor:"+branch.String(), refusal{reason: feeds.CursorEpochMismatch, grpc: codes.FailedPrecondition, close: 4511})
	j := newJetStream(t)
	_, f := newHub(t, s, feeds.Options{})
	requirePublisherEnds[*natsfeed.ForeignMessageError](t, j, f, messageAt(string(flipped)))
}

// A gateway that stops tells each subscriber where to go on, and another one goes
// on there.
func TestDrainedSubscribersGoOnElsewhere(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	s.goOn(true)
	other := newGateway(t, s.dir, nil)
	whole := read(t, other.transports()[0], subscriber.Request{Start: "full", Until: "latest"}, nil)
	for _, caughtUp := range []bool{false, true} {
		for i := 2; i < 4; i++ { // the client package connects again by itself
			g := newGateway(t, s.dir, nil)
			tr := g.transports()[i]
			sub, err := tr.Subscribe(t.Context(), subscriber.Request{Feed: tableName, Start: "cursor:" + whole[0].Cursor, MaxRows: 1})
			require.NoError(t, err)
			var stopped sync.WaitGroup
			got, said := readToError(t, sub, func(e *subscriber.Event) {
				if e.Type == subscriber.Subscribed && !caughtUp || e.Type == subscriber.Progress && caughtUp {
					stopped.Go(g.stop)
				}
			})
			stopped.Wait()
			sub.Close()
			require.Equal(t, string(feeds.NodeDraining), said.Reason)
			require.Equal(t, 1012, said.Code)
			last := got[len(got)-1]
			require.Equal(t, subscriber.Reconnect, last.Type)
			require.Equal(t, last.Cursor, said.Cursor)
			rest := read(t, other.transports()[5-i], subscriber.Request{Start: "cursor:" + said.Cursor, Until: "latest"}, nil)
			requireRows(t, changesOf(whole), append(changesOf(got), changesOf(rest)...), "%s, caught up: %t", tr.Name(), caughtUp)
		}
	}
}

// readToError takes events until the gateway says why it ends the stream.
func readToError(t *testing.T, s subscriber.Stream, each func(*subscriber.Event)) (events []subscriber.Event, said *subscriber.Error) {
	t.Helper()
	for {
		e, err := s.Next(t.Context())
		if err != nil {
			require.ErrorAs(t, err, &said)
			return events, said
		}
		events = append(events, *e)
		each(e)
	}
}
