package feeds_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/feeds/feedtest"
)

func TestPositionsThatCannotBeRead(t *testing.T) {
	tab := history()
	f := newFeed(t, feeds.Options{}, tab)
	at := tab.At(2)
	tab.Expire(3)

	_, err := trySubscribe(t, f, "cursor:"+at.String(), nil)
	var expired *feeds.CursorExpiredError
	require.ErrorAs(t, err, &expired)
	require.Equal(t, feeds.Problem{Reason: feeds.CursorExpired, Message: err.Error(), Metadata: map[string]string{"earliest": "3", "latest": "5"}}, feeds.ProblemOf(err))

	at.Snapshot = 9
	_, err = trySubscribe(t, f, "cursor:"+at.String(), nil)
	require.Equal(t, feeds.CursorAhead, feeds.ProblemOf(err).Reason)

	tab.Recreate(8)
	at.Snapshot = 1
	_, err = trySubscribe(t, f, "cursor:"+at.String(), nil)
	require.Equal(t, feeds.CursorEpochMismatch, feeds.ProblemOf(err).Reason)
	require.Zero(t, f.Stats().Subscriptions)
	require.Zero(t, mustOpen(tab))
}

// The tail falls behind expiry while its only subscriber sleeps: the subscriber
// learns it, and the next one starts a new tail.
func TestExpiryUnderTheTail(t *testing.T) {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
	f := newFeed(t, feeds.Options{}, tab)
	sub := subscribe(t, f, "latest", nil)
	_, err := sub.Next(t.Context())
	require.NoError(t, err)
	changed := f.Changed()
	tab.Before(func(c feeds.Cursor) {}) // from now on each read is announced
	tab.Expire(5)
	for range 5 {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
	}
	<-changed
	for {
		if _, err = sub.Next(t.Context()); err != nil {
			break
		}
	}
	require.Equal(t, feeds.CursorExpired, feeds.ProblemOf(err).Reason)
	require.NoError(t, sub.Close())
	require.Equal(t, 2, strings.Count(rows(drain(t, subscribe(t, f, "earliest", untilLatest))), "\n"))
	require.NoError(t, f.Problem())
}

// A problem of those who read somewhere is not the feed's when they are gone.
func TestProblemOfAPositionGoesWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := feedtest.Schema(0, 1)
		tab := feedtest.NewTable(1, s)
		f := newFeed(t, feeds.Options{}, tab)
		sub := subscribe(t, f, "latest", nil)
		_, changed := f.Health()
		tab.Expire(5)
		for range 5 {
			tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
		}
		<-changed
		require.Equal(t, feeds.CursorExpired, feeds.ProblemOf(f.Problem()).Reason)
		require.NoError(t, sub.Close())
		<-time.After(time.Minute)
		require.NoError(t, f.Problem())
	})
}

func TestTableIsCreatedAgain(t *testing.T) {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	f := newFeed(t, feeds.Options{}, tab)
	old := subscribe(t, f, "latest", nil)
	_, err := old.Next(t.Context())
	require.NoError(t, err)
	tab.Recreate(2)
	_, err = old.Next(t.Context())
	require.Equal(t, feeds.CursorEpochMismatch, feeds.ProblemOf(err).Reason)
	fresh := subscribe(t, f, "latest", func(r *feeds.Request) { r.Until = feeds.Until{Commits: 1} })
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
	require.Equal(t, "1/0 +I 1 xa-1-0\n", rows(drain(t, fresh)))
}

func TestTailRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := feedtest.Schema(0, 1)
		tab := feedtest.NewTable(1, s)
		f := newFeed(t, feeds.Options{}, tab)
		sub := subscribe(t, f, "latest", func(r *feeds.Request) { r.Until = feeds.Until{Commits: 2} })
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
		synctest.Wait()
		tab.Fail(errors.New("disk is on fire"))
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 2, 1, "x", false)})
		synctest.Wait()
		require.ErrorContains(t, f.Problem(), "disk is on fire")
		time.AfterFunc(2*time.Second, func() { tab.Fail(nil) })
		require.Equal(t, "1/0 +I 1 xa-1-0\n2/0 +I 2 xa-2-0\n", rows(drain(t, sub)))
		require.NoError(t, f.Problem())
		require.Positive(t, f.Stats().Retries)
		require.Zero(t, f.Stats().Demoted, "the subscriber did not notice")
	})
}

func TestTailGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := feedtest.NewTable(1, feedtest.Schema(0, 1))
		f := newFeed(t, feeds.Options{RetriesMax: 3}, tab)
		var subs []*feeds.Subscription
		for range 3 {
			subs = append(subs, subscribe(t, f, "latest", nil))
		}
		tab.Fail(errors.New("disk is on fire"))
		for _, sub := range subs {
			for {
				if _, err := sub.Next(t.Context()); err != nil {
					require.ErrorContains(t, err, "disk is on fire")
					require.Equal(t, feeds.Problem{Reason: feeds.Internal, Message: err.Error(), Retry: true}, feeds.ProblemOf(err))
					break
				}
			}
			require.NoError(t, sub.Close())
		}
		require.ErrorContains(t, f.Problem(), "disk is on fire")
		require.EqualValues(t, 3, f.Stats().Retries)
		tab.Fail(nil)
		subscribe(t, f, "latest", nil)
		require.NoError(t, f.Problem())
	})
}

// What is in the window is delivered although the tail has failed behind it, and
// then all get the error, without opening a source each.
func TestAllGetTheTailsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const subscribers = 20
		s := feedtest.Schema(0, 1)
		tab := feedtest.NewTable(1, s)
		f := newFeed(t, feeds.Options{}, tab)
		var subs []*feeds.Subscription
		for range subscribers {
			subs = append(subs, subscribe(t, f, "latest", nil))
		}
		opened, _ := tab.Sources()
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
		synctest.Wait()
		tab.Fail(&feeds.UnsupportedError{What: "merge engine of snapshot 2"})
		synctest.Wait()
		for _, sub := range subs {
			var got strings.Builder
			for {
				d, err := sub.Next(t.Context())
				if err != nil {
					require.Equal(t, feeds.TableUnsupported, feeds.ProblemOf(err).Reason)
					break
				}
				got.Write(d.Bytes)
			}
			require.Equal(t, "1/0 +I 1 xa-1-0\n", rows(got.String()))
		}
		again, open := tab.Sources()
		require.Equal(t, opened, again)
		require.Zero(t, open)
	})
}

func TestDrain(t *testing.T) {
	tab := history()
	hub := newHub(t, feeds.Options{})
	f, err := hub.Add("f", tab, nil)
	require.NoError(t, err)
	sub := subscribe(t, f, "snapshot:3", nil)
	for range 2 {
		_, err := sub.Next(t.Context())
		require.NoError(t, err)
	}
	hub.Drain()
	require.True(t, hub.Draining())
	d, err := sub.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "reconnect 3\n", string(d.Bytes))
	require.Equal(t, 2*time.Second, d.Frame.Spread)
	_, err = sub.Next(t.Context())
	require.ErrorIs(t, err, feeds.ErrDraining)
	_, err = trySubscribe(t, f, "latest", nil)
	require.ErrorIs(t, err, feeds.ErrDraining)
	require.True(t, feeds.ProblemOf(err).Retry)
	late, err := hub.Add("late", tab, nil)
	require.NoError(t, err)
	_, err = trySubscribe(t, late, "latest", nil)
	require.ErrorIs(t, err, feeds.ErrDraining)
}

func TestHub(t *testing.T) {
	hub := newHub(t, feeds.Options{SubscriptionsMax: 1})
	tab := history()
	b, err := hub.Add("b", tab, nil)
	require.NoError(t, err)
	_, err = hub.Add("a", tab, nil)
	require.NoError(t, err)
	_, err = hub.Add("a", tab, nil)
	require.ErrorContains(t, err, "taken")
	require.Len(t, hub.Feeds(), 2)
	require.Equal(t, "a", hub.Feeds()[0].Name())

	_, err = hub.Subscribe(t.Context(), feeds.Request{Feed: "c"})
	var missing *feeds.NotFoundError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, feeds.FeedNotFound, feeds.ProblemOf(err).Reason)

	sub, err := hub.Subscribe(t.Context(), feeds.Request{Feed: "b"})
	require.NoError(t, err)
	_, err = hub.Subscribe(t.Context(), feeds.Request{Feed: "b"})
	require.Equal(t, feeds.QuotaExceeded, feeds.ProblemOf(err).Reason)
	require.Same(t, b, sub.Feed())

	require.NoError(t, hub.Remove("b"))
	require.Error(t, hub.Remove("b"))
	_, err = sub.Next(t.Context())
	if err == nil { // the frame that says subscribed was there already
		_, err = sub.Next(t.Context())
	}
	require.ErrorIs(t, err, feeds.ErrClosed)
	require.NoError(t, sub.Close())
	require.NoError(t, hub.Close())
	_, err = hub.Add("z", tab, nil)
	require.ErrorIs(t, err, feeds.ErrClosed)

	_, err = feeds.NewHub(feeds.Options{WindowBytes: -1})
	require.ErrorContains(t, err, "WindowBytes")
}

func TestRequests(t *testing.T) {
	f := newFeed(t, feeds.Options{}, history())
	for field, change := range map[string]func(*feeds.Request){
		"limits.max_rows":  func(r *feeds.Request) { r.View.MaxRows = feeds.LimitMaxRows + 1 },
		"limits.max_bytes": func(r *feeds.Request) { r.View.MaxBytes = -1 },
		"limits.linger":    func(r *feeds.Request) { r.Linger = 2 * time.Second },
		"consumer":         func(r *feeds.Request) { r.Consumer = "../x" },
	} {
		_, err := trySubscribe(t, f, "latest", change)
		var bad *feeds.RequestError
		require.ErrorAs(t, err, &bad, field)
		require.Equal(t, field, bad.Field)
	}
}

func TestConsumers(t *testing.T) {
	tab := history()
	f := newFeed(t, feeds.Options{}, tab)
	named := func(r *feeds.Request) { r.Consumer = "billing" }
	sub := subscribe(t, f, "", named)
	require.EqualValues(t, 6, sub.Cursor().Snapshot, "a new consumer begins with the next commit")
	require.NoError(t, sub.Ack(t.Context(), tab.At(3)))
	stored, err := f.Ack(t.Context(), "billing", tab.At(2))
	require.NoError(t, err)
	require.Equal(t, tab.At(3), stored, "an old acknowledgement changes nothing")
	require.EqualValues(t, 3, subscribe(t, f, "", named).Cursor().Snapshot)
	require.EqualValues(t, 1, subscribe(t, f, "earliest", named).Cursor().Snapshot, "a start that is given comes first")

	_, err = f.Ack(t.Context(), "", tab.At(3))
	require.Error(t, err)
	_, err = f.Ack(t.Context(), "billing", feeds.Cursor{})
	require.Equal(t, feeds.CursorInvalid, feeds.ProblemOf(err).Reason)
	other := tab.At(1)
	other.Table = 99
	stored, err = f.Ack(t.Context(), "billing", other)
	require.NoError(t, err)
	require.Equal(t, other, stored, "a position in a table made anew replaces the old one")
}

func TestMemoryStore(t *testing.T) {
	m := feeds.NewMemory()
	c := feeds.Cursor{Table: 1, Snapshot: 3, Phase: feeds.Changes}
	_, err := m.Save(t.Context(), "f", "a", c)
	require.NoError(t, err)
	_, err = m.Save(t.Context(), "g", "b", c)
	require.NoError(t, err)
	all, err := m.List(t.Context(), "f")
	require.NoError(t, err)
	require.Equal(t, map[string]feeds.Cursor{"a": c}, all)
	require.NoError(t, m.Delete(t.Context(), "f", "a"))
	got, err := m.Load(t.Context(), "f", "a")
	require.NoError(t, err)
	require.True(t, got.IsZero())
}

// Every error type of the package has a reason of its own; each reason is used.
func TestEveryErrorHasAReason(t *testing.T) {
	all := map[string]error{
		"CursorExpiredError": &feeds.CursorExpiredError{}, "CursorMismatchError": &feeds.CursorMismatchError{},
		"CursorAheadError": &feeds.CursorAheadError{}, "CursorInvalidError": &feeds.CursorInvalidError{},
		"UnsupportedError": &feeds.UnsupportedError{}, "NotFoundError": &feeds.NotFoundError{Kind: "feed"},
		"RequestError": &feeds.RequestError{}, "QuotaError": &feeds.QuotaError{}, "SlowConsumerError": &feeds.SlowConsumerError{},
		"FencedError": &feeds.FencedError{}, "RowTooLargeError": &feeds.RowTooLargeError{}, "SchemaError": &feeds.SchemaError{},
		"AuthError": &feeds.AuthError{}, "ErrTableDropped": feeds.ErrTableDropped, "ErrClosed": feeds.ErrClosed, "ErrDraining": feeds.ErrDraining,
		"missing table": &feeds.NotFoundError{Kind: "table"}, "forbidden": &feeds.AuthError{Forbidden: true},
		"canceled": context.Canceled, "other": errors.New("x"),
	}
	used := map[feeds.Reason]bool{}
	for name, err := range all {
		p := feeds.ProblemOf(fmt.Errorf("wrapped: %w", err))
		used[p.Reason] = true
		require.Equal(t, name == "other", p.Reason == feeds.Internal, name)
		require.Contains(t, p.Message, "wrapped")
	}
	for _, r := range feeds.Reasons() {
		require.True(t, used[r], r)
		require.Regexp(t, `^[A-Z][A-Z_]{1,62}$`, string(r))
	}
	files, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0)
	require.NoError(t, err)
	for _, file := range files["feeds"].Files {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if strings.HasSuffix(s.Name.Name, "Error") {
						require.Contains(t, all, s.Name.Name)
					}
				case *ast.ValueSpec:
					if strings.HasPrefix(s.Names[0].Name, "Err") {
						require.Contains(t, all, s.Names[0].Name)
					}
				}
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	f := newFeed(t, feeds.Options{}, history())
	drain(t, subscribe(t, f, "earliest", untilLatest))
	st := f.Stats()
	got := map[string]float64{}
	for _, m := range feeds.Metrics() {
		require.NotContains(t, got, m.Name)
		require.NotEmpty(t, m.Help)
		require.Equal(t, m.Counter, strings.HasSuffix(m.Name, "_total"), m.Name)
		got[m.Name] = m.Get(&st)
	}
	require.EqualValues(t, 20, got["gateway_feeds_rows_delivered_total"])
	require.EqualValues(t, 20, got["gateway_feeds_rows_decoded_total"])
	require.EqualValues(t, 1, got["gateway_feeds_subscriptions"])
}
