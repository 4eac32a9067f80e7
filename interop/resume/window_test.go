package resume

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/feeds/tablefeed"
	"sluice/snapshotreader"
)

// A window that has lost the begin of a commit, but no row of it, gives the commit
// whole to a subscriber that stands before it: nothing is left out, and it says so.
func TestBeginOfACommitWhoseBeginTheWindowLost(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	image := s.latest()
	s.goOn(true)
	_, f := newHub(t, s, feeds.Options{WindowBytes: 1, BatchRows: 1})
	start := feeds.Start{Mode: feeds.StartSnapshot, Snapshot: image + 1}
	lead, err := f.Subscribe(t.Context(), feeds.Request{Feed: f.Name(), Start: &start})
	require.NoError(t, err)
	defer lead.Close()
	boundary := lead.Cursor()
	require.True(t, boundary.AtBoundary())
	for range len(s.wrote[image+1]) { // whatever the window holds by now
		d, err := lead.Next(t.Context())
		require.NoError(t, err)
		at := feeds.Start{Mode: feeds.StartCursor, Cursor: boundary}
		sub, err := f.Subscribe(t.Context(), feeds.Request{Feed: f.Name(), Start: &at})
		require.NoError(t, err)
		first, err := sub.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, feeds.FrameSubscribed, first.Frame.Kind)
		begin, err := sub.Next(t.Context())
		require.NoError(t, err)
		if begin.Frame.Kind == feeds.FrameSchemaChange { // from the newest one, which may be told first
			begin, err = sub.Next(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, feeds.FrameCommitBegin, begin.Frame.Kind)
		require.False(t, begin.Frame.Continued, "after the lead's frame of kind %d", d.Frame.Kind)
		rows, err := sub.Next(t.Context())
		require.NoError(t, err)
		require.Zero(t, boundary.Compare(rows.Frame.At.After(rows.From)), "the first row of the commit")
		require.NoError(t, sub.Close())
	}
}

// slowTable is a table whose one commit comes in two batches, the second of them
// when it is let go.
type slowTable struct {
	feeds.Table
	hold chan struct{}
}

func (s *slowTable) Open(ctx context.Context, at feeds.Start, o feeds.SourceOptions) (feeds.Source, error) {
	src, err := s.Table.Open(ctx, at, o)
	return &slowSource{Source: src, hold: s.hold}, err
}

type slowSource struct {
	feeds.Source
	hold    chan struct{}
	batches int
}

func (s *slowSource) Next(ctx context.Context) (*feeds.Batch, error) {
	if s.batches == 1 {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.batches++
	return s.Source.Next(ctx)
}

// There is no progress inside of a commit, however long its rows take: a subscriber
// that takes commits whole would keep a cursor behind rows that it has not taken.
func TestNoProgressInsideOfACommit(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	hub, err := feeds.NewHub(feeds.Options{BatchRows: 1, ProgressInterval: feeds.ProgressIntervalMin})
	require.NoError(t, err)
	defer hub.Close()
	table := &slowTable{Table: tablefeed.New(s.cat, tableName, "", snapshotreader.Options{}), hold: make(chan struct{})}
	f, err := hub.Add(tableName, table, nil)
	require.NoError(t, err)
	start := feeds.Start{Mode: feeds.StartEarliest}
	sub, err := f.Subscribe(t.Context(), feeds.Request{Feed: f.Name(), Start: &start})
	require.NoError(t, err)
	defer sub.Close()
	var kinds []feeds.FrameKind
	for range 3 { // subscribed, begin, the first row
		d, err := sub.Next(t.Context())
		require.NoError(t, err)
		kinds = append(kinds, d.Frame.Kind)
	}
	require.Equal(t, []feeds.FrameKind{feeds.FrameSubscribed, feeds.FrameCommitBegin, feeds.FrameRows}, kinds)
	short, cancel := context.WithTimeout(t.Context(), 4*feeds.ProgressIntervalMin)
	defer cancel()
	_, err = sub.Next(short)
	require.ErrorIs(t, err, context.DeadlineExceeded, "nothing comes")
	close(table.hold)
	for {
		d, err := sub.Next(t.Context())
		require.NoError(t, err)
		if d.Frame.Kind == feeds.FrameCommitEnd {
			break
		}
		require.Equal(t, feeds.FrameRows, d.Frame.Kind)
	}
	d, err := sub.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, feeds.FrameProgress, d.Frame.Kind, "and after it there is")
}
