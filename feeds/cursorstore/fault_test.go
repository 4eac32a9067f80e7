package cursorstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/objstore"
	"sluice/paimon"
)

// failing makes writes of objects fail while a condition holds.
type failing struct {
	objstore.Store
	fail func(name string) error
}

func (f *failing) Put(ctx context.Context, name string, data []byte) error {
	if err := f.fail(name); err != nil {
		return err
	}
	return f.Store.Put(ctx, name, data)
}

// A crash or failure between the two writes leaves a consumer file that keeps more
// than needed, never less; the next acknowledgement heals it.
func TestFailureBetweenTheWrites(t *testing.T) {
	_, table, mem := newStore(t)
	broken := errors.New("disk is on fire")
	var on bool
	store := &failing{Store: mem, fail: func(name string) error {
		if on && name == table.ConsumerPath(ConsumerID("a/feed", "app")) {
			return broken
		}
		return nil
	}}
	open := func(ctx context.Context) (*paimon.Table, error) { return paimon.Open(ctx, store, table.Path, "") }
	s := reopen(store, open)
	_, err := s.Save(t.Context(), "a/feed", "app", at(3, 0))
	require.NoError(t, err)
	on = true
	_, err = s.Save(t.Context(), "a/feed", "app", at(7, 0))
	require.ErrorIs(t, err, broken, "it is not acknowledged")
	got, err := s.Load(t.Context(), "a/feed", "app")
	require.NoError(t, err)
	consumer, err := table.Consumer(t.Context(), ConsumerID("a/feed", "app"))
	require.NoError(t, err)
	require.LessOrEqual(t, consumer.NextSnapshot, got.Snapshot)
	on = false
	_, err = s.Save(t.Context(), "a/feed", "app", at(7, 0))
	require.NoError(t, err, "the same position again")
	consumer, err = table.Consumer(t.Context(), ConsumerID("a/feed", "app"))
	require.NoError(t, err)
	require.EqualValues(t, 7, consumer.NextSnapshot)
}

// Acknowledgements that come while one is written are written together.
func TestSavesAreGathered(t *testing.T) {
	const waiting = 20
	_, table, mem := newStore(t)
	begun, gate := make(chan struct{}, 100), make(chan struct{})
	writes := 0
	store := &failing{Store: mem, fail: func(name string) error {
		if name != table.ConsumerPath(ConsumerID("a/feed", "app")) {
			writes++
			begun <- struct{}{}
			<-gate
		}
		return nil
	}}
	s := reopen(store, func(ctx context.Context) (*paimon.Table, error) { return paimon.Open(ctx, store, table.Path, "") })
	results := make(chan error, waiting+1)
	save := func(n int64) {
		_, err := s.Save(t.Context(), "a/feed", "app", at(n, 0))
		results <- err
	}
	go save(1)
	<-begun
	for n := range int64(waiting) {
		go save(n + 2)
	}
	require.Eventually(t, func() bool { // all have come to wait
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.locks[[2]string{"a/feed", "app"}].users == waiting+1
	}, 10*time.Second, time.Millisecond)
	close(gate)
	for range waiting + 1 {
		require.NoError(t, <-results)
	}
	require.Equal(t, 2, writes, "the first, and all that came meanwhile")
	got, err := s.Load(t.Context(), "a/feed", "app")
	require.NoError(t, err)
	require.EqualValues(t, waiting+1, got.Snapshot)
}

// A caller that gives up does not end the write that others wait for.
func TestCallerGivesUp(t *testing.T) {
	s, _, _ := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := s.Save(ctx, "a/feed", "app", at(4, 0))
	require.NoError(t, err)
	require.Equal(t, at(4, 0), got)
}

// Two gateways of one consumer do not move it back.
func TestTwoGateways(t *testing.T) {
	a, _, mem := newStore(t)
	b := reopen(mem, a.tables["a/feed"])
	_, err := a.Save(t.Context(), "a/feed", "app", at(9, 0))
	require.NoError(t, err)
	got, err := b.Save(t.Context(), "a/feed", "app", at(5, 0))
	require.NoError(t, err)
	require.Equal(t, at(9, 0), got)
	_, err = b.Save(t.Context(), "a/feed", "../x", at(5, 0))
	var bad *feeds.RequestError
	require.ErrorAs(t, err, &bad)
	require.Error(t, b.Delete(t.Context(), "other", "app"))
	require.Equal(t, feeds.CursorInvalid, feeds.ProblemOf(func() error {
		_, err := b.Save(t.Context(), "a/feed", "app", feeds.Cursor{})
		return err
	}()).Reason)
}
