package feeds_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/feeds"
	"sluice/feeds/feedtest"
)

// Many subscribers begin anywhere, read at their own pace, stop and come back,
// while commits arrive and the window holds only a few of them. Each gets every
// row from its start on, once and in order.
func TestManySubscribers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		commits := rapid.IntRange(1, 40).Draw(rt, "commits")
		window := rapid.SampledFrom([]int{1, 2_000, 20_000, 1 << 20}).Draw(rt, "window")
		batch := rapid.SampledFrom([]int{1, 3, 7, 100}).Draw(rt, "batch")
		readers := rapid.IntRange(1, 8).Draw(rt, "readers")
		jump := rapid.SampledFrom([]int{1, 5, 64}).Draw(rt, "jump")
		sources := rapid.SampledFrom([]int{1, 2, 256}).Draw(rt, "sources")

		s := feedtest.Schema(0, 1)
		tab := feedtest.NewTable(1, s)
		r := rand.New(rand.NewPCG(seed, 1))
		commit := func(n int) {
			var units []feedtest.Unit
			for u := range r.IntN(3) {
				units = append(units, feedtest.Unit{Bucket: int32(u), Rows: feedtest.Rows(s, int64(100*n), 1+r.IntN(20), "x", r.IntN(2) == 0)})
			}
			tab.Commit(units...)
		}
		before := r.IntN(commits + 1)
		for n := range before {
			commit(n)
		}
		hub, err := feeds.NewHub(feeds.Options{WindowBytes: window, BatchRows: batch, JumpSnapshots: jump, ReadersMax: sources})
		require.NoError(rt, err)
		defer hub.Close()
		f, err := hub.Add("f", tab, nil)
		require.NoError(rt, err)

		type result struct {
			from int64
			got  string
			err  error
		}
		results := make([]result, readers)
		var wg sync.WaitGroup
		for i := range readers {
			rr := rand.New(rand.NewPCG(seed, uint64(i)+2))
			from := 1 + rr.Int64N(int64(before)+1)
			results[i].from = from
			wg.Go(func() {
				var b strings.Builder
				results[i].err = readAll(t, f, rr, from, int64(commits), &b)
				results[i].got = b.String()
			})
		}
		for n := before; n < commits; n++ {
			commit(n)
		}
		wg.Wait()

		require.LessOrEqual(rt, f.Stats().Readers, sources)
		whole := subscribeTo(t, f, feeds.Start{Mode: feeds.StartEarliest}, int64(commits), 0)
		defer whole.Close()
		all := rows(drain(t, whole))
		for i, res := range results {
			require.NoError(rt, res.err)
			want := all
			for n := int64(1); n < res.from; n++ {
				want = dropSnapshot(want, n)
			}
			require.Equal(rt, want, res.got, "reader %d from %d", i, res.from)
		}
	})
}

func dropSnapshot(lines string, n int64) string {
	var b strings.Builder
	prefix := string(rapidText(n)) + "/"
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(line, prefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func rapidText(n int64) []byte {
	if n < 10 {
		return []byte{byte('0' + n)}
	}
	return append(rapidText(n/10), byte('0'+n%10))
}

func subscribeTo(t *testing.T, f *feeds.Feed, start feeds.Start, until int64, maxRows int) *feeds.Subscription {
	s, err := f.Subscribe(t.Context(), feeds.Request{Start: &start, Until: feeds.Until{Snapshot: until}, View: feeds.View{Encoder: text{}, MaxRows: maxRows}})
	require.NoError(t, err)
	return s
}

// readAll reads to an end, and now and then closes the subscription and goes on
// from its cursor with a new one.
func readAll(t *testing.T, f *feeds.Feed, r *rand.Rand, from, until int64, b *strings.Builder) error {
	start := feeds.Start{Mode: feeds.StartSnapshot, Snapshot: from}
	maxRows := 1 + r.IntN(9)
	for {
		s := subscribeTo(t, f, start, until, maxRows)
		how := r.IntN(2)
		for range 1 + r.IntN(60) {
			var ds []feeds.Delivery
			var err error
			if how == 0 {
				ds, err = s.NextBatch(t.Context(), nil)
			} else {
				var d feeds.Delivery
				d, err = s.Next(t.Context())
				ds = append(ds, d)
				for range r.IntN(3) {
					if d, ok := s.Poll(t.Context()); ok {
						ds = append(ds, d)
					}
				}
			}
			if err != nil {
				s.Close()
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			for _, d := range ds {
				if d.Rows() > 0 {
					b.Write(d.Bytes)
				}
			}
			if r.IntN(50) == 0 {
				runtime.Gosched()
			}
		}
		start = feeds.Start{Mode: feeds.StartCursor, Cursor: s.Cursor()}
		s.Close()
	}
}

// A subscriber that reads nothing holds no rows and slows nobody, and gets all of
// them in the end.
func TestFrozenSubscriber(t *testing.T) {
	const commits, n, window = 200, 50, 32 << 10
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	f := newFeed(t, feeds.Options{WindowBytes: window}, tab)
	bounded := func(r *feeds.Request) { r.Until = feeds.Until{Snapshot: commits} }
	frozen := subscribe(t, f, "latest", bounded)
	quick := subscribe(t, f, "latest", bounded)
	var total int
	for i := range commits {
		rows := feedtest.Rows(s, int64(i), n, "x", false)
		total += rows.MemSize()
		tab.Commit(feedtest.Unit{Rows: rows})
	}
	require.Greater(t, total, 5*window, "the window holds a part only")
	want := drain(t, quick)

	st := f.Stats()
	require.EqualValues(t, commits*n, st.Rows)
	require.Zero(t, st.ReaderRows, "the quick one never left the window")
	require.LessOrEqual(t, st.WindowBytes, window)
	require.Positive(t, st.Evicted)
	require.Equal(t, 1, mustOpen(tab), "only the tail reads")

	require.Equal(t, want, drain(t, frozen))
	st = f.Stats()
	require.EqualValues(t, 1, st.Demoted, "the frozen one fell out of the window")
	require.EqualValues(t, 1, st.Promoted, "and came back")
	require.Positive(t, st.ReaderRows)
	require.Less(t, st.ReaderRows, int64(commits*n), "where the window begins, it goes on with that")
	require.Zero(t, st.Readers)
	require.Equal(t, 1, mustOpen(tab))
}

func mustOpen(t *feedtest.Table) int {
	_, open := t.Sources()
	return open
}

// What a subscriber has not read is held by the window alone, and goes with it:
// neither the rows nor their bytes live on in a subscription that stands still.
func TestFrozenSubscriberHoldsNothing(t *testing.T) {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	f := newFeed(t, feeds.Options{WindowBytes: 32 << 10}, tab)
	frozen := subscribe(t, f, "latest", func(r *feeds.Request) { r.View.MaxRows = 10; r.Until = feeds.Until{Snapshot: 101} })
	quick := subscribe(t, f, "latest", func(r *feeds.Request) { r.Until = feeds.Until{Snapshot: 101} })
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 100, "x", false)})
	rows := 0
	held := func() weak.Pointer[feeds.Frame] {
		for {
			d, err := frozen.Next(t.Context())
			require.NoError(t, err)
			if rows += d.Rows(); rows > 0 { // it stands still in the middle of a frame
				return weak.Make(d.Frame)
			}
		}
	}()
	for range 100 {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 50, "x", false)})
	}
	drain(t, quick)
	require.Positive(t, f.Stats().Evicted)
	runtime.GC()
	runtime.GC()
	require.Nil(t, held.Value())
	for {
		d, err := frozen.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		rows += d.Rows()
		if d.Frame.Kind == feeds.FrameCommitEnd && d.Frame.Commit.Snapshot == 1 {
			require.EqualValues(t, 100, d.Frame.Counts.Total(), "the rows before and after it fell out of the window")
		}
	}
	require.Equal(t, 100+100*50, rows)
}

// However many subscribers read history, few sources are open for them.
func TestSourcesAreBounded(t *testing.T) {
	const commits, subscribers, sources = 50, 12, 3
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	for i := range commits {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(i), 20, "x", false)})
	}
	f := newFeed(t, feeds.Options{WindowBytes: 1, ReadersMax: sources}, tab)
	want := drain(t, subscribe(t, f, "earliest", untilLatest))
	var subs []*feeds.Subscription
	got := make([]strings.Builder, subscribers)
	for range subscribers {
		subs = append(subs, subscribe(t, f, "earliest", untilLatest))
	}
	for live := subscribers; live > 0; { // by turns, so that each takes a source from another
		for i, sub := range subs {
			if sub == nil {
				continue
			}
			d, err := sub.Next(t.Context())
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				subs[i] = nil
				live--
				continue
			}
			got[i].Write(d.Bytes)
			require.LessOrEqual(t, mustOpen(tab), sources+1)
		}
	}
	for i := range got {
		require.Equal(t, want, got[i].String())
	}
	require.Positive(t, f.Stats().ReadersTaken)
	require.LessOrEqual(t, f.Stats().Readers, sources)
}

// The tail waits for the fastest subscriber when history is read, so that those
// who read at the same pace share one decoding and one encoding.
func TestHistoryIsReadTogether(t *testing.T) {
	const commits, n, window, subscribers = 300, 50, 256 << 10, 5
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	for i := range commits {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(i), n, "x", false)})
	}
	f := newFeed(t, feeds.Options{WindowBytes: window}, tab)
	var subs []*feeds.Subscription
	for range subscribers {
		subs = append(subs, subscribe(t, f, "earliest", untilLatest))
	}
	for live := len(subs); live > 0; {
		for i, sub := range subs {
			if sub == nil {
				continue
			}
			if _, err := sub.Next(t.Context()); err != nil {
				require.ErrorIs(t, err, io.EOF)
				subs[i] = nil
				live--
			}
		}
	}
	st := f.Stats()
	require.EqualValues(t, commits*n, st.Rows, "decoded once")
	require.Zero(t, st.ReaderRows)
	require.EqualValues(t, commits*3, st.SharedEncodings)
	require.Positive(t, st.TailWaits)
	require.Positive(t, st.Evicted)
}

// A subscriber of new commits does not wait for one who reads history: the tail
// jumps ahead, and the other goes on by itself.
func TestTailJumps(t *testing.T) {
	const commits = 100
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	for i := range commits {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(i), 20, "x", false)})
	}
	f := newFeed(t, feeds.Options{WindowBytes: 8 << 10, JumpSnapshots: 10}, tab)
	old := subscribe(t, f, "earliest", func(r *feeds.Request) { r.Until = feeds.Until{Snapshot: commits + 1} })
	for range 5 {
		_, err := old.Next(t.Context())
		require.NoError(t, err)
	}
	live := subscribe(t, f, "latest", func(r *feeds.Request) { r.Until = feeds.Until{Snapshot: commits + 1} })
	require.EqualValues(t, 1, f.Stats().Jumps)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "new", false)})
	require.Equal(t, "101/0 +I 1 newa-1-0\n", rows(drain(t, live)))
	require.Equal(t, (commits-1)*20+1, strings.Count(rows(drain(t, old)), "\n"), "it had the first commit already")
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := feedtest.Schema(0, 1)
		tab := feedtest.NewTable(1, s)
		f := newFeed(t, feeds.Options{}, tab)
		sub := subscribe(t, f, "latest", func(r *feeds.Request) { r.Progress = 3 * time.Second })
		next := func() string {
			d, err := sub.Next(t.Context())
			require.NoError(t, err)
			return string(d.Bytes)
		}
		next() // subscribed
		begin := time.Now()
		require.Equal(t, "progress 1 head=0 oldest=0\n", next())
		require.Equal(t, 3*time.Second, time.Since(begin))
		tab.Commit() // changes no row: nothing is sent, but the cursor moves
		require.Equal(t, "progress 2 head=1 oldest=1\n", next())
		require.EqualValues(t, 2, sub.Cursor().Snapshot)
		begin = time.Now()
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
		require.Equal(t, "begin 2 changes continued=false\n", next())
		next()
		next()
		require.Zero(t, time.Since(begin))
		require.Equal(t, "progress 3 head=2 oldest=1\n", next())
	})
}

func TestUntilTimeThatPassesWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tab := feedtest.NewTable(1, feedtest.Schema(0, 1))
		f := newFeed(t, feeds.Options{}, tab)
		end := time.Now().Add(4500 * time.Millisecond)
		sub := subscribe(t, f, "latest", func(r *feeds.Request) { r.Until = feeds.Until{Time: end} })
		got := drain(t, sub)
		require.Equal(t, 4, strings.Count(got, "progress"))
		require.True(t, strings.HasSuffix(got, "complete 1\n"))
		require.Equal(t, 500*time.Millisecond, time.Since(end))
	})
}

func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := feedtest.Schema(0, 1)
		tab := feedtest.NewTable(1, s)
		f := newFeed(t, feeds.Options{Linger: time.Minute}, tab)
		sub := subscribe(t, f, "latest", nil)
		require.NoError(t, sub.Close())
		require.NoError(t, sub.Close(), "closing twice is harmless")
		_, err := sub.Next(t.Context())
		require.ErrorIs(t, err, feeds.ErrClosed)
		<-time.After(50 * time.Second)
		require.True(t, f.Stats().Tailing)

		sub = subscribe(t, f, "latest", nil)
		<-time.After(50 * time.Second)
		require.True(t, f.Stats().Tailing, "the second subscription took over")
		require.NoError(t, sub.Close())
		<-time.After(61 * time.Second)
		require.False(t, f.Stats().Tailing)
		synctest.Wait()
		require.Zero(t, mustOpen(tab))

		sub = subscribe(t, f, "latest", nil)
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)})
		for range 3 {
			_, err := sub.Next(t.Context())
			require.NoError(t, err)
		}
		require.True(t, f.Stats().Tailing)
	})
}

func TestLingerOfMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := feedtest.Schema(0, 1)
		tab := feedtest.NewTable(1, s)
		f := newFeed(t, feeds.Options{}, tab)
		sub := subscribe(t, f, "latest", func(r *feeds.Request) { r.Linger, r.View.MaxRows = 5*time.Millisecond, 3 })
		_, err := sub.NextBatch(t.Context(), nil)
		require.NoError(t, err)
		one := func() { tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 1, 1, "x", false)}) }
		time.AfterFunc(1*time.Millisecond, one)
		time.AfterFunc(3*time.Millisecond, one)
		begin := time.Now()
		ds, err := sub.NextBatch(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, 6*time.Millisecond, time.Since(begin), "5 ms after the first row")
		require.Len(t, ds, 6, "two commits in one message")
		one()
		one()
		one()
		begin = time.Now()
		ds, err = sub.NextBatch(t.Context(), nil)
		require.NoError(t, err)
		require.Zero(t, time.Since(begin), "a full message does not wait")
		require.Len(t, ds, 8)
	})
}
