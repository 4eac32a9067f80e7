package cursorstore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
)

func newStore(t *testing.T) (*Store, *paimon.Table, objstore.Store) {
	t.Helper()
	mem := memstore.New(memstore.Options{})
	cat := paimon.NewCatalog(mem, "wh")
	require.NoError(t, cat.CreateDatabase(t.Context(), "db"))
	table, err := cat.CreateTable(t.Context(), "db.t", paimon.SchemaSpec{Schema: paimon.ColumnsSpec{Fields: []string{"k INT"}}})
	require.NoError(t, err)
	open := func(ctx context.Context) (*paimon.Table, error) { return cat.OpenTable(ctx, "db.t") }
	return reopen(mem, open), table, mem
}

func reopen(mem objstore.Store, open func(context.Context) (*paimon.Table, error)) *Store {
	return New(mem, "wh", map[string]func(context.Context) (*paimon.Table, error){"a/feed": open}, func() time.Time { return time.UnixMilli(5) })
}

func at(snapshot int64, row uint64) feeds.Cursor {
	return feeds.Cursor{Table: 9, Snapshot: snapshot, Phase: feeds.Changes, Row: row}
}

func TestPositionsMoveOnAndSurvive(t *testing.T) {
	s, table, mem := newStore(t)
	ctx := t.Context()
	none, err := s.Load(ctx, "a/feed", "app")
	require.NoError(t, err)
	require.True(t, none.IsZero())
	for _, c := range []struct{ save, want feeds.Cursor }{
		{at(3, 1), at(3, 1)}, {at(3, 7), at(3, 7)}, {at(2, 9), at(3, 7)}, {at(3, 7), at(3, 7)}, {at(5, 0), at(5, 0)},
	} {
		got, err := s.Save(ctx, "a/feed", "app", c.save)
		require.NoError(t, err)
		require.Equal(t, c.want.String(), got.String())
		consumer, err := table.Consumer(ctx, "sluice-a=2Ffeed-app")
		require.NoError(t, err)
		require.Equal(t, c.want.Snapshot, consumer.NextSnapshot, "the table keeps what is not read")
	}
	other := reopen(mem, s.tables["a/feed"])
	got, err := other.Load(ctx, "a/feed", "app")
	require.NoError(t, err)
	require.Equal(t, at(5, 0).String(), got.String())
	all, err := other.List(ctx, "a/feed")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, other.Delete(ctx, "a/feed", "app"))
	require.NoError(t, other.Delete(ctx, "a/feed", "app"), "it is no error if there is none")
	_, err = table.Consumer(ctx, "sluice-a=2Ffeed-app")
	require.ErrorIs(t, err, paimon.ErrConsumerNotFound)
}

func TestConcurrentSavesEndAtTheLatest(t *testing.T) {
	s, _, _ := newStore(t)
	var wg sync.WaitGroup
	for i := range int64(50) {
		wg.Go(func() {
			_, err := s.Save(t.Context(), "a/feed", "app", at(i+1, 0))
			require.NoError(t, err)
		})
	}
	wg.Wait()
	got, err := s.Load(t.Context(), "a/feed", "app")
	require.NoError(t, err)
	require.Equal(t, int64(50), got.Snapshot)
	require.Empty(t, s.locks, "locks go with their users")
}

func TestBrokenFilesAreNamed(t *testing.T) {
	s, _, mem := newStore(t)
	require.NoError(t, mem.Put(t.Context(), "wh/.sluice/consumers/a%2Ffeed/app", []byte("{")))
	_, err := s.Load(t.Context(), "a/feed", "app")
	require.ErrorContains(t, err, "wh/.sluice/consumers/a%2Ffeed/app")
	_, err = s.Save(t.Context(), "other", "app", at(1, 0))
	var missing *feeds.NotFoundError
	require.ErrorAs(t, err, &missing)
}
