package feeds_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/feeds/feedtest"
)

// Rows that everybody has in bytes are dropped; who needs them later reads the
// table, from any position and in any form, and comes back into the window.
func TestRowsGoWhenAllHaveTheirBytes(t *testing.T) {
	const commits, n = 8, 10
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	for i := range commits {
		tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, int64(i), n, "x", i%2 == 1)})
	}
	f := newFeed(t, feeds.Options{}, tab)
	three := func(r *feeds.Request) { untilLatest(r); r.View.MaxRows = 3 }
	first := subscribe(t, f, "earliest", three)
	second := subscribe(t, f, "earliest", func(r *feeds.Request) { three(r); r.View.MaxRows = 4 })
	whole := drain(t, first)
	require.Equal(t, whole, drain(t, second))

	// In a feed with a subscriber who takes rows as they are, they stay.
	g := newFeed(t, feeds.Options{}, tab)
	subscribe(t, g, "earliest", func(r *feeds.Request) { r.View.Encoder = nil })
	firstOf, secondOf := subscribe(t, g, "earliest", three), subscribe(t, g, "earliest", func(r *feeds.Request) { three(r); r.View.MaxRows = 4 })
	require.Equal(t, whole, drain(t, firstOf))
	require.Equal(t, whole, drain(t, secondOf))
	require.Less(t, f.Stats().WindowBytes, g.Stats().WindowBytes)

	same := subscribe(t, f, "earliest", three)
	require.Equal(t, whole, drain(t, same))
	require.Zero(t, f.Stats().ReaderRows, "its bytes are there")

	// Another form, which needs rows.
	require.Equal(t, whole, drain(t, subscribe(t, f, "earliest", untilLatest)))
	require.EqualValues(t, commits*n, f.Stats().ReaderRows)

	// From each row on, and up to each row.
	all := strings.Count(rows(whole), "\n")
	for skip := range all {
		from := subscribe(t, f, "earliest", three)
		at := from.Cursor()
		require.NoError(t, from.Close())
		at.Skip = uint32(skip)
		rest := drain(t, subscribe(t, f, "cursor:"+at.String(), three))
		require.Equal(t, all-skip, strings.Count(rows(rest), "\n"))
		require.True(t, strings.HasSuffix(rows(whole), rows(rest)))
	}
	commit := tab.At(3)
	for row := range n {
		until := commit.After(row)
		got := drain(t, subscribe(t, f, "earliest", func(r *feeds.Request) { r.View.MaxRows = 3; r.Until = feeds.Until{Cursor: until} }))
		require.Equal(t, 2*n+row, strings.Count(rows(got), "\n"))
		require.True(t, strings.HasPrefix(rows(whole), rows(got)))
	}

	// A reader that meets new commits is in the window again.
	late := subscribe(t, f, "earliest", nil)
	read := f.Stats().ReaderRows
	for range commits * 3 {
		_, err := late.Next(t.Context())
		require.NoError(t, err)
	}
	require.NotZero(t, read)
	tab.Commit(feedtest.Unit{Rows: feedtest.Rows(s, 100, n, "x", false)})
	read = f.Stats().ReaderRows
	for got := 0; got < n; {
		d, err := late.Next(t.Context())
		require.NoError(t, err)
		got += d.Rows()
	}
	require.Equal(t, read, f.Stats().ReaderRows)
}

// The bytes of a transient view are those of any other, made one delivery at a
// time in one place.
func TestTransient(t *testing.T) {
	tab := history()
	for _, start := range []string{"earliest", "full"} {
		for max := range 5 {
			f := newFeed(t, feeds.Options{BatchRows: 3}, tab)
			more := func(r *feeds.Request) { untilLatest(r); r.View.MaxRows = max }
			want := drain(t, subscribe(t, f, start, more))
			shared := f.Stats().SharedEncodings
			transient := func(r *feeds.Request) { more(r); r.View.Transient = true }
			require.Equal(t, want, drain(t, subscribe(t, f, start, transient)))
			require.Equal(t, shared, f.Stats().SharedEncodings)

			var got strings.Builder
			for sub := subscribe(t, f, start, transient); ; {
				ds, err := sub.NextBatch(t.Context(), nil)
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				require.Len(t, ds, 1)
				got.Write(ds[0].Bytes)
				require.Equal(t, ds[0].Next(), sub.Cursor())
			}
			require.Equal(t, want, got.String())
		}
	}
}

// sizes notes the batches that sources are opened with.
type sizes struct {
	feeds.Table
	mu  sync.Mutex
	all []feeds.SourceOptions
}

func (s *sizes) Open(ctx context.Context, at feeds.Start, o feeds.SourceOptions) (feeds.Source, error) {
	s.mu.Lock()
	s.all = append(s.all, o)
	s.mu.Unlock()
	return s.Table.Open(ctx, at, o)
}

// Those behind the window, of whom there may be many, read in smaller batches.
func TestReadersTakeSmallerBatches(t *testing.T) {
	tab := &sizes{Table: history()}
	f := newFeed(t, feeds.Options{BatchRows: 1000, BatchBytes: 1 << 16, WindowBytes: 1}, tab)
	drain(t, subscribe(t, f, "earliest", untilLatest))
	drain(t, subscribe(t, f, "earliest", untilLatest))
	require.Greater(t, len(tab.all), 1)
	require.Equal(t, feeds.SourceOptions{BatchRows: 1000, BatchBytes: 1 << 16}, tab.all[0], "the tail")
	for _, o := range tab.all[1:] {
		require.Equal(t, feeds.SourceOptions{BatchRows: 250, BatchBytes: 1 << 14}, o)
	}
}

// The position may be asked for while another goroutine reads.
func TestCursorFromAnotherGoroutine(t *testing.T) {
	f := newFeed(t, feeds.Options{}, history())
	s := subscribe(t, f, "earliest", untilLatest)
	var asking sync.WaitGroup
	asking.Go(func() {
		for at := s.Cursor(); at.Snapshot < 5; {
			next := s.Cursor()
			if next.Compare(at) < 0 {
				t.Error("the position went back")
				return
			}
			at = next
		}
	})
	drain(t, s)
	asking.Wait()
}
