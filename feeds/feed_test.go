package feeds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/feeds"
	"sluice/feeds/feedtest"
	"sluice/paimon/rowdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is an encoder for people: a line an event, and a line a row.
type text struct{}

func (text) Name() string { return "text" }

func (text) Append(dst []byte, e *feeds.Event) ([]byte, error) {
	switch e.Kind {
	case feeds.FrameSubscribed:
		return fmt.Appendf(dst, "subscribed schema=%d\n", e.Schema.ID), nil
	case feeds.FrameSchemaChange:
		return fmt.Appendf(dst, "schema %d -> %d\n", e.PreviousSchema, e.Schema.ID), nil
	case feeds.FrameCommitBegin:
		return fmt.Appendf(dst, "begin %d %v continued=%v\n", e.Commit.Snapshot, phase(e.Commit), e.Continued), nil
	case feeds.FrameCommitEnd:
		return fmt.Appendf(dst, "end %d %v\n", e.Commit.Snapshot, e.Counts), nil
	case feeds.FrameProgress:
		return fmt.Appendf(dst, "progress %d head=%d oldest=%d\n", e.At.Snapshot, e.Head, e.Oldest), nil
	case feeds.FrameComplete:
		return fmt.Appendf(dst, "complete %d\n", e.At.Snapshot), nil
	case feeds.FrameReconnect:
		return fmt.Appendf(dst, "reconnect %d\n", e.At.Snapshot), nil
	}
	for i := e.From; i < e.To; i++ {
		dst = fmt.Appendf(dst, "%d%s/%d %v", e.Commit.Snapshot, e.Partition, e.Bucket, e.Rows.Kind(i))
		for _, c := range e.Cols {
			if dst = append(dst, ' '); !c.IsNull(i) {
				dst = rowdata.AppendText(dst, c, i)
			}
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

func phase(c *feeds.Commit) string {
	if c.Phase == feeds.Image {
		return "image"
	}
	return "changes"
}

func newHub(t testing.TB, o feeds.Options) *feeds.Hub {
	h, err := feeds.NewHub(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

func newFeed(t testing.TB, o feeds.Options, tab feeds.Table) *feeds.Feed {
	f, err := newHub(t, o).Add("f", tab, feeds.NewMemory())
	require.NoError(t, err)
	return f
}

func subscribe(t testing.TB, f *feeds.Feed, start string, more func(*feeds.Request)) *feeds.Subscription {
	s, err := trySubscribe(t, f, start, more)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func trySubscribe(t testing.TB, f *feeds.Feed, start string, more func(*feeds.Request)) (*feeds.Subscription, error) {
	r := feeds.Request{Feed: "f", View: feeds.View{Encoder: text{}}}
	if start != "" {
		st, err := feeds.ParseStart(start)
		require.NoError(t, err)
		r.Start = &st
	}
	if more != nil {
		more(&r)
	}
	return f.Subscribe(t.Context(), r)
}

func untilLatest(r *feeds.Request) { r.Until = feeds.Until{Latest: true} }

// drain reads a bounded subscription to its end.
func drain(t testing.TB, s *feeds.Subscription) string {
	var b strings.Builder
	for {
		d, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		require.NoError(t, err)
		b.Write(d.Bytes)
	}
}

// rows keeps the lines of rows.
func rows(stream string) string {
	var b strings.Builder
	for line := range strings.Lines(stream) {
		if line[0] >= '0' && line[0] <= '9' {
			b.WriteString(line)
		}
	}
	return b.String()
}

// history has an image's worth of rows, commits of several units, one without
// rows, and a change of schema.
func history() *feedtest.Table {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(7, s)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 5, "x", false)}, feedtest.Unit{Bucket: 1, Rows: feedtest.Rows(s, 10, 3, "x", false)})
	tab.Commit()
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 0, "", false)}, feedtest.Unit{Partition: "p=1/", Rows: feedtest.Rows(s, 1, 6, "y", true)})
	s = feedtest.Schema(1, 2)
	tab.SetSchema(s)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 20, 2, "z", false)}, feedtest.Unit{Bucket: 1, Rows: feedtest.Rows(s, 30, 4, "z", true)})
	tab.Commit()
	return tab
}

func TestStream(t *testing.T) {
	f := newFeed(t, feeds.Options{BatchRows: 4}, history())
	s := subscribe(t, f, "earliest", untilLatest)
	require.Equal(t, `subscribed schema=0
begin 1 changes continued=false
1/0 +I 1 xa-1-0
1/0 +I 2 xa-2-1
1/0 +I 3 xa-3-2
1/0 +I 4 xa-4-3
1/0 +I 5 xa-5-4
1/1 +I 10 xa-10-0
1/1 +I 11 xa-11-1
1/1 +I 12 xa-12-2
end 1 [8 0 0 0]
begin 3 changes continued=false
3p=1//0 -U 1 ya-1-0
3p=1//0 +U 1 ya-1-1
3p=1//0 -U 2 ya-2-2
3p=1//0 +U 2 ya-2-3
3p=1//0 -U 3 ya-3-4
3p=1//0 +U 3 ya-3-5
end 3 [0 3 3 0]
schema 0 -> 1
begin 4 changes continued=false
4/0 +I 20 za-20-0 zb-20-0
4/0 +I 21 za-21-1 zb-21-1
4/1 -U 30 za-30-0 zb-30-0
4/1 +U 30 za-30-1 zb-30-1
4/1 -U 31 za-31-2 zb-31-2
4/1 +U 31 za-31-3 zb-31-3
end 4 [2 2 2 0]
complete 6
`, drain(t, s))
	_, err := s.Next(t.Context())
	require.ErrorIs(t, err, io.EOF, "the end stays the end")
}

func TestStarts(t *testing.T) {
	tab := history()
	f := newFeed(t, feeds.Options{}, tab)
	whole := rows(drain(t, subscribe(t, f, "earliest", untilLatest)))
	from := func(snapshot string) string { return whole[strings.Index(whole, "\n"+snapshot)+1:] }

	require.Equal(t, from("3"), rows(drain(t, subscribe(t, f, "snapshot:2", untilLatest))))
	require.Equal(t, from("4"), rows(drain(t, subscribe(t, f, "snapshot:4", untilLatest))))
	require.Equal(t, from("3"), rows(drain(t, subscribe(t, f, "time:2025-11-24T16:00:03Z", untilLatest))))
	require.Equal(t, "subscribed schema=1\ncomplete 6\n", drain(t, subscribe(t, f, "latest", untilLatest)))
	require.Equal(t, "subscribed schema=1\ncomplete 6\n", drain(t, subscribe(t, f, "", untilLatest)), "latest is the default")
	full := drain(t, subscribe(t, f, "full", untilLatest))
	require.Contains(t, full, "begin 5 image")
	require.Equal(t, 8+2+2, strings.Count(rows(full), "+I"))

	empty := newFeed(t, feeds.Options{}, feedtest.NewTable(1, feedtest.Schema(0, 1)))
	require.Equal(t, "subscribed schema=0\ncomplete 1\n", drain(t, subscribe(t, empty, "full", untilLatest)))
}

func TestUntil(t *testing.T) {
	tab := history()
	f := newFeed(t, feeds.Options{BatchRows: 4}, tab)
	whole := rows(drain(t, subscribe(t, f, "earliest", untilLatest)))
	for until, rowsWanted := range map[string]int{
		"snapshot:1": 8, "snapshot:2": 8, "snapshot:3": 14, "commits:1": 8, "commits:3": 14,
		"time:2025-11-24T16:00:01Z": 8, "time:2025-11-24T16:00:03Z": 14, "time:2025-11-24T16:00:00Z": 0,
	} {
		u, err := feeds.ParseUntil(until)
		require.NoError(t, err)
		got := drain(t, subscribe(t, f, "earliest", func(r *feeds.Request) { r.Until = u }))
		require.Equal(t, rowsWanted, strings.Count(rows(got), "\n"), until)
		require.True(t, strings.HasPrefix(whole, rows(got)), until)
	}
	t.Run("cursor", func(t *testing.T) {
		var cursors []feeds.Cursor
		s := subscribe(t, f, "earliest", func(r *feeds.Request) { untilLatest(r); r.View.MaxRows = 1 })
		for {
			d, err := s.Next(t.Context())
			if err != nil {
				break
			}
			if d.Rows() > 0 {
				cursors = append(cursors, d.Next())
			}
		}
		require.Len(t, cursors, 20)
		for i, c := range cursors {
			got := drain(t, subscribe(t, f, "earliest", func(r *feeds.Request) { r.Until = feeds.Until{Cursor: c} }))
			require.Equal(t, i+1, strings.Count(rows(got), "\n"), "cursor after row %d", i)
			require.Contains(t, got, "complete")
		}
	})
	for _, bad := range []string{"never", "snapshot:0", "snapshot:x", "time:now", "commits:-1", "earliest", "cursor:xyz"} {
		_, err := feeds.ParseUntil(bad)
		require.Error(t, err, bad)
	}
}

// Cut at every row and at every frame, from every kind of start: what was there
// before the cut and what comes after it join to the whole.
func TestResumeAtEveryRow(t *testing.T) {
	for _, start := range []string{"earliest", "full"} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/window=%v", start, shared), func(t *testing.T) {
				tab := history()
				f := newFeed(t, feeds.Options{BatchRows: 3}, tab)
				if shared { // a tail that goes over all of it, so that the frames are in the window
					keep := subscribe(t, f, start, untilLatest)
					drain(t, keep)
				}
				one := func(r *feeds.Request) { untilLatest(r); r.View.MaxRows = 1 }
				whole := drain(t, subscribe(t, f, start, one))
				cuts := strings.Count(whole, "\n")
				for cut := range cuts {
					s := subscribe(t, f, start, one)
					var before strings.Builder
					at := s.Cursor()
					base, plus := s.Cursor(), 0
					for range cut {
						d, err := s.Next(t.Context())
						require.NoError(t, err)
						before.Write(d.Bytes)
						at = d.Next()
						require.Equal(t, at, s.Cursor())
						if d.Rows() > 0 {
							plus++
						}
					}
					require.NoError(t, s.Close())
					again, err := feeds.ParseCursor(at.String())
					require.NoError(t, err)
					require.Equal(t, at, again)
					for _, cursor := range []string{at.String(), fmt.Sprintf("%s+%d", base, plus)} {
						rest := drain(t, subscribe(t, f, "cursor:"+cursor, untilLatest))
						require.Equal(t, rows(whole), rows(before.String())+rows(rest), "cut %d, cursor %s", cut, cursor)
						require.Contains(t, rest, "complete")
					}
				}
			})
		}
	}
}

func TestEncodedOnce(t *testing.T) {
	const subscribers, commits = 20, 30
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	f := newFeed(t, feeds.Options{}, tab)
	var subs []*feeds.Subscription
	for range subscribers {
		subs = append(subs, subscribe(t, f, "latest", func(r *feeds.Request) { r.Until = feeds.Until{Snapshot: commits} }))
	}
	for i := range commits {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(i), 10, "x", false)})
	}
	want := drain(t, subs[0])
	require.Equal(t, commits*10, strings.Count(rows(want), "\n"))
	for _, sub := range subs[1:] {
		require.Equal(t, want, drain(t, sub))
	}
	st := f.Stats()
	require.EqualValues(t, commits*10, st.Rows, "decoded once")
	require.EqualValues(t, commits*3, st.SharedEncodings, "begin, rows and end of each commit encoded once")
	require.EqualValues(t, commits*3*(subscribers-1), st.SharedUses)
	require.EqualValues(t, 2*subscribers, st.PrivateEncodings, "only subscribed and complete are each subscriber's own")
	require.Zero(t, st.ReaderRows)
	require.EqualValues(t, subscribers*commits*10, st.RowsDelivered)
}

func TestViews(t *testing.T) {
	s := feedtest.Schema(0, 2)
	tab := feedtest.NewTable(1, s)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 8, "x", true)})
	f := newFeed(t, feeds.Options{ViewsMax: 3}, tab)
	sizes := func(v feeds.View) (n []int) {
		sub := subscribe(t, f, "earliest", func(r *feeds.Request) { untilLatest(r); r.View = v })
		defer sub.Close()
		for {
			d, err := sub.Next(t.Context())
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				return n
			}
			if d.Rows() > 0 {
				n = append(n, d.Rows())
				require.True(t, len(d.Bytes) <= max(v.MaxBytes, 1<<19) || d.Rows() == 1)
			}
		}
	}
	require.Equal(t, []int{8}, sizes(feeds.View{Encoder: text{}}))
	require.Equal(t, []int{2, 2, 2, 2}, sizes(feeds.View{Encoder: text{}, MaxRows: 3}), "the two rows of an update stay together")
	require.Equal(t, []int{1, 1, 1, 1, 1, 1, 1, 1}, sizes(feeds.View{Encoder: text{}, MaxRows: 1}))
	require.Equal(t, []int{1, 1, 1, 1, 1, 1, 1, 1}, sizes(feeds.View{Encoder: text{}, MaxBytes: 5}), "a row larger than the limit comes alone")
	require.Equal(t, []int{4, 4}, sizes(feeds.View{MaxRows: 5}), "without an encoder")
	one := len("1/0 -U 1 xa-1-0 xb-1-0\n")
	require.Equal(t, []int{2, 2, 2, 2}, sizes(feeds.View{Encoder: text{}, MaxBytes: 3*one + 1}))

	got := drain(t, subscribe(t, f, "earliest", func(r *feeds.Request) { untilLatest(r); r.View.Columns = []string{"b", "k"} }))
	require.Contains(t, got, "1/0 -U xb-1-0 1\n")

	_, err := trySubscribe(t, f, "earliest", func(r *feeds.Request) { r.View.Columns = []string{"c"} })
	var bad *feeds.RequestError
	require.ErrorAs(t, err, &bad)
	require.Contains(t, err.Error(), `no column "c" in schema 0, which has k, a, b`)

	for i := range 2 {
		subscribe(t, f, "latest", func(r *feeds.Request) { r.View.MaxRows = i + 1 })
	}
	_, err = trySubscribe(t, f, "latest", func(r *feeds.Request) { r.View.MaxRows = 50 })
	var quota *feeds.QuotaError
	require.ErrorAs(t, err, &quota)
	require.EqualValues(t, 3, quota.Limit)
	subscribe(t, f, "latest", func(r *feeds.Request) { r.View.MaxRows = 1 }) // a view that is in use costs nothing
}

func TestColumnsFollowRenamesAndEndWithDrops(t *testing.T) {
	s := feedtest.Schema(0, 2)
	tab := feedtest.NewTable(1, s)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
	renamed := feedtest.Schema(1, 2)
	renamed.Row.Fields[2].Name = "new"
	tab.SetSchema(renamed)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(renamed, 2, 1, "y", false)})
	dropped := feedtest.Schema(2, 1)
	tab.SetSchema(dropped)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(dropped, 3, 1, "z", false)})

	f := newFeed(t, feeds.Options{}, tab)
	sub := subscribe(t, f, "earliest", func(r *feeds.Request) { r.View.Columns = []string{"b"} })
	var got strings.Builder
	for {
		d, err := sub.Next(t.Context())
		if err != nil {
			var gone *feeds.SchemaError
			require.ErrorAs(t, err, &gone)
			require.EqualValues(t, 2, gone.SchemaID)
			require.Equal(t, feeds.SchemaUnsupported, feeds.ProblemOf(err).Reason)
			break
		}
		got.Write(d.Bytes)
	}
	require.Equal(t, "1/0 +I xb-1-0\n2/0 +I yb-2-0\n", rows(got.String()))
}

func TestNextBatch(t *testing.T) {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	for i := range 10 {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(i), 7, "x", false)})
	}
	f := newFeed(t, feeds.Options{}, tab)
	whole := drain(t, subscribe(t, f, "earliest", untilLatest))
	for _, max := range []int{1, 5, 7, 20, 1000} {
		sub := subscribe(t, f, "earliest", func(r *feeds.Request) { untilLatest(r); r.View.MaxRows = max })
		var got strings.Builder
		for messages := 0; ; messages++ {
			ds, err := sub.NextBatch(t.Context(), nil)
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				require.GreaterOrEqual(t, messages, 70/max)
				break
			}
			n := 0
			for _, d := range ds {
				n += d.Rows()
				got.Write(d.Bytes)
			}
			require.LessOrEqual(t, n, max)
			last := ds[len(ds)-1]
			require.Equal(t, last.Next(), sub.Cursor(), "a delivery that was put back is not passed")
		}
		require.Equal(t, whole, got.String())
	}
}

func TestContextEndsNext(t *testing.T) {
	tab := feedtest.NewTable(1, feedtest.Schema(0, 1))
	f := newFeed(t, feeds.Options{}, tab)
	sub := subscribe(t, f, "latest", nil)
	_, err := sub.Next(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sub.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(feedtest.Schema(0, 1), 1, 1, "x", false)})
	d, err := sub.Next(t.Context())
	require.NoError(t, err, "the subscription lives on")
	require.Equal(t, "begin 1 changes continued=false\n", string(d.Bytes))
}
