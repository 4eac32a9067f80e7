package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// scenario is a table with some history and a commit that does everything a
// commit can do.
type scenario struct {
	*fixture
	req    Request
	before []string // live files
	after  []string
}

func newScenario(t *testing.T, overwrite bool) *scenario {
	f := newFixture(t, spec(map[string]string{"manifest.merge-min-count": "3", "changelog-producer": "lookup"}))
	c := New(f.table, quick())
	var files []manifest.DataFile
	for i := range 3 {
		file := f.dataFile(int64(i + 1))
		files = append(files, file)
		f.commit(c, Request{User: "history", Identifier: int64(i), Messages: []Message{{
			NewFiles: []manifest.DataFile{file},
			NewIndex: []manifest.IndexEntry{{Type: manifest.IndexHash, FileName: fmt.Sprintf("index-%d", i), RowCount: 1}},
		}}})
	}
	fresh, big := f.dataFile(9), withLevel(f.dataFile(15), 5)
	s := &scenario{fixture: f, before: f.live()}
	s.req = Request{User: "writer", Identifier: 1, Messages: []Message{{
		NewFiles: []manifest.DataFile{fresh}, Changelog: []manifest.DataFile{f.dataFile(4)},
		NewIndex:      []manifest.IndexEntry{{Type: manifest.IndexHash, FileName: "index-9", RowCount: 1}},
		CompactBefore: append(files, fresh), CompactAfter: []manifest.DataFile{big}, CompactChangelog: []manifest.DataFile{f.dataFile(3)},
	}}}
	if overwrite {
		s.req.Overwrite = &Overwrite{}
		s.req.Messages[0].CompactBefore = []manifest.DataFile{fresh}
	}
	s.after = []string{"0/5 " + big.FileName}
	return s
}

// open opens the table through a store that fails, without counting the calls of
// opening.
func (s *scenario) open(faulty *faultstore.Store, rules ...faultstore.Rule) *Committer {
	faulty.SetRules()
	table, err := paimon.OpenWith(s.t.Context(), faulty, s.table.Path, "", paimon.OpenOptions{
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	require.NoError(s.t, err)
	faulty.SetRules(rules...)
	return New(table, quick())
}

// TestEveryFailure makes every single call of a commit fail, in every way, once
// or from then on, and checks that the commit is there as a whole, or its first
// part is, or nothing; that no snapshot names a file that is missing; and that a
// retry, by the same committer or after a restart, ends in exactly one commit.
func TestEveryFailure(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		for _, lasting := range []bool{false, true} {
			for _, mode := range []faultstore.Mode{faultstore.FailBefore, faultstore.FailAfter, faultstore.Torn, faultstore.StaleList, faultstore.Pass} {
				t.Run(fmt.Sprintf("overwrite=%t/lasting=%t/%s", overwrite, lasting, mode), func(t *testing.T) {
					points := 0
					for n := 1; ; n++ {
						if !failOnce(t, overwrite, lasting, mode, n) {
							break
						}
						points++
					}
					require.Greater(t, points, 20, "injection points")
				})
			}
		}
	}
}

// failOnce runs the scenario with the n-th call failing; false if there are not
// so many calls.
func failOnce(t *testing.T, overwrite, lasting bool, mode faultstore.Mode, n int) bool {
	s := newScenario(t, overwrite)
	rule := faultstore.Rule{Call: n, Mode: mode, HideNewest: 2}
	if lasting {
		rule = faultstore.Rule{Skip: n - 1, Mode: mode, HideNewest: 2}
	}
	faulty := faultstore.New(s.store)
	c := s.open(faulty, rule)
	result, err := c.Commit(t.Context(), s.req)
	fired, calls := faulty.Fired(), faulty.Calls()
	where := fmt.Sprintf("%v", calls[max(0, min(n, len(calls))-1):min(n, len(calls))])

	snapshots := checkTable(t, s.store, s.table.Path)
	visible := snapshots[3:]
	live := s.live()
	switch len(visible) {
	case 0:
		require.Equal(t, s.before, live, where)
	case 1:
		require.NotEqual(t, s.after, live, where)
	case 2:
		require.Equal(t, s.after, live, where)
	}
	require.LessOrEqual(t, len(visible), 2, where)
	if err == nil {
		require.Len(t, visible, 2, where)
		require.Equal(t, snapshots[3:], result.Snapshots, where)
	} else {
		require.GreaterOrEqual(t, len(visible), len(result.Snapshots), "a snapshot that was returned is there: %s", where)
		var lost *UnknownOutcomeError
		if !errors.As(err, &lost) {
			require.Len(t, visible, len(result.Snapshots), "an error that is no unknown outcome says what happened: %s: %v", where, err)
			if !lasting {
				all, used := metadataFiles(t, s.store, s.table.Path)
				require.ElementsMatch(t, all, used, "nothing is left over: %s", where)
			}
		}
	}

	// The same committer, if it lives on, or one after a restart finishes it.
	faulty.SetRules()
	retry := c
	if n%2 == 0 {
		retry = New(s.reopen(s.store), quick())
	}
	result, err = retry.Commit(t.Context(), s.req)
	require.NoError(t, err, where)
	require.Len(t, result.Snapshots, 2)
	require.Equal(t, len(visible) == 2, result.Repeated, where)
	snapshots = checkTable(t, s.store, s.table.Path)
	require.Len(t, snapshots, 5, where)
	require.Equal(t, snapshots[3:], result.Snapshots)
	require.Equal(t, s.after, s.live(), where)
	index, err := s.table.IndexEntries(t.Context(), snapshots[4])
	require.NoError(t, err)
	require.Len(t, index, 1)
	require.Equal(t, "index-9", index[0].FileName)
	return fired > 0
}

// TestLateSnapshot has a create fail that succeeds later, when the committer has
// tried again already: the first try must be found, and its files kept.
func TestLateSnapshot(t *testing.T) {
	s := newScenario(t, false)
	var held objstore.Object
	capture := &capturingStore{Store: s.store, name: s.table.SnapshotPath(4), held: &held}
	table, err := paimon.Open(t.Context(), capture, s.table.Path, "")
	require.NoError(t, err)
	result, err := New(table, quick()).Commit(t.Context(), s.req)
	require.NoError(t, err)
	require.Equal(t, "4 APPEND, 5 COMPACT", kinds(result.Snapshots))
	require.True(t, capture.released)
	got, err := objstore.ReadAll(t.Context(), s.store, held.Name)
	require.NoError(t, err)
	require.Equal(t, string(held.Data), string(got), "the first try is the one that counts")
	require.Len(t, checkTable(t, s.store, s.table.Path), 5)
}

// capturingStore loses a create at first, and makes up for it when the same name
// is created again.
type capturingStore struct {
	objstore.Store
	name     string
	held     *objstore.Object
	released bool
}

var errGone = errors.New("connection lost")

func (c *capturingStore) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if name != c.name || c.released {
		return c.Store.PutIfAbsent(ctx, name, data)
	}
	if c.held.Name == "" {
		*c.held = objstore.Object{Name: name, Data: append([]byte{}, data...)}
		return errGone
	}
	c.released = true
	if err := c.Store.PutIfAbsent(ctx, name, c.held.Data); err != nil {
		return err
	}
	return c.Store.PutIfAbsent(ctx, name, data)
}

func TestUnknownOutcomeKeepsFiles(t *testing.T) {
	s := newScenario(t, false)
	faulty := faultstore.New(s.store)
	ctx, cancel := context.WithCancel(t.Context())
	unknown := 0
	c := s.open(faulty, faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Mode: faultstore.FailBefore, Hook: func(faultstore.Call) { cancel() }})
	c.o.Events.Unknown = func(id int64, err error) {
		require.EqualValues(t, 4, id)
		require.ErrorIs(t, err, faultstore.ErrInjected)
		unknown++
	}
	_, err := c.Commit(ctx, s.req)
	var lost *UnknownOutcomeError
	require.ErrorAs(t, err, &lost)
	require.EqualValues(t, 4, lost.Snapshot)
	require.Equal(t, 1, unknown)
	all, used := metadataFiles(t, s.store, s.table.Path)
	require.Greater(t, len(all), len(used), "the snapshot may appear yet, so its files are kept")
}

func TestHintFailureIsNoFailure(t *testing.T) {
	s := newScenario(t, false)
	faulty := faultstore.New(s.store)
	c := s.open(faulty, faultstore.Rule{Name: "LATEST", Ops: []faultstore.Op{faultstore.Put}})
	var failed []int64
	c.o.Events.HintFailed = func(id int64, err error) { failed = append(failed, id) }
	_, err := c.Commit(t.Context(), s.req)
	require.NoError(t, err)
	require.Equal(t, []int64{5}, failed)
	latest, err := s.reopen(s.store).LatestID(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, latest, "a stale hint is harmless")
}

func TestRetryLimits(t *testing.T) {
	f := newFixture(t, spec(map[string]string{"commit.min-retry-wait": "10 ms", "commit.max-retry-wait": "50 ms", "commit.max-retries": "6"}))
	other := New(f.table, quick())
	n := int64(0)
	// Somebody else wins every race.
	faulty := faultstore.New(f.store, faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Mode: faultstore.Pass, Hook: func(faultstore.Call) {
		n++
		_, err := other.Commit(t.Context(), Request{User: "other", Identifier: n})
		require.NoError(t, err)
	}})
	table := f.reopen(faulty)
	var waits []time.Duration
	o := quick()
	o.Wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	o.Jitter = func(d time.Duration) time.Duration { return d / 10 }
	lost := 0
	o.Events.LostRace = func(int64) { lost++ }
	_, err := New(table, o).Commit(t.Context(), Request{User: "loser", Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{f.dataFile(1)}}}})
	require.ErrorIs(t, err, ErrLostRaces)
	require.Equal(t, 7, lost)
	ms := time.Millisecond
	require.Equal(t, []time.Duration{11 * ms, 22 * ms, 44 * ms, 55 * ms, 55 * ms, 55 * ms}, waits)
	all, used := metadataFiles(t, f.store, f.table.Path)
	require.ElementsMatch(t, all, used, "nothing is left over")

	now := time.UnixMilli(0)
	o.Timeout, o.MaxRetries = 100*ms, 1000
	o.Now = func() time.Time { return now }
	o.Wait = func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }
	_, err = New(table, o).Commit(t.Context(), Request{User: "loser", Identifier: 2})
	require.ErrorIs(t, err, ErrTimeout)
	checkTable(t, f.store, f.table.Path)
}

// TestReplacedHead rolls the table back behind the back of a committer, and lets
// somebody else commit the same numbers again.
func TestReplacedHead(t *testing.T) {
	now := time.UnixMilli(1)
	store := memstore.New(memstore.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	f := newFixtureOn(t, store, spec(nil))
	c := New(f.table, quick())
	for i := range int64(4) {
		f.commit(c, Request{Identifier: i, Messages: []Message{{NewFiles: []manifest.DataFile{f.dataFile(1)}}}})
	}
	for id := int64(4); id > 2; id-- {
		require.NoError(t, store.Delete(t.Context(), f.table.SnapshotPath(id)))
	}
	require.NoError(t, store.Put(t.Context(), f.table.Path+"/snapshot/LATEST", []byte("2")))
	f.commit(New(f.reopen(store), quick()), Request{User: "other", Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("other-3", 1)}}}})
	f.commit(New(f.reopen(store), quick()), Request{User: "other", Identifier: 2, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("other-4", 1)}}}})
	result := f.commit(c, Request{Identifier: 4, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("mine", 1)}}}})
	require.EqualValues(t, 5, result.Last().ID)
	require.Equal(t, []string{"0/0 data-1.parquet", "0/0 data-2.parquet", "0/0 mine", "0/0 other-3", "0/0 other-4"}, f.live())
	checkTable(t, store, f.table.Path)
}

// TestSlowCommitter lets others commit and expire, between a committer's look at
// the head and its try, so much that the number of the try is free again.
func TestSlowCommitter(t *testing.T) {
	store := memstore.New(memstore.Options{})
	f := newFixtureOn(t, store, spec(nil))
	f.commit(New(f.table, quick()), Request{Identifier: 1, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("one", 1)}}}})
	slow := &beforeStage{Store: store}
	slow.run = func() {
		slow.run = nil // once
		other := New(f.reopen(store), quick())
		for i := range int64(3) {
			f.commit(other, Request{User: "other", Identifier: i, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile(fmt.Sprintf("other-%d", i), 1)}}}})
		}
		for id := int64(1); id <= 3; id++ {
			require.NoError(t, store.Delete(t.Context(), f.table.SnapshotPath(id)))
		}
		require.NoError(t, f.table.WriteEarliestHint(t.Context(), 4, false))
	}
	o := quick()
	lost := []int64(nil)
	o.Events.LostRace = func(id int64) { lost = append(lost, id) }
	result := f.commit(New(f.reopen(slow), o), Request{Identifier: 2, Messages: []Message{{NewFiles: []manifest.DataFile{namedFile("slow", 1)}}}})
	require.EqualValues(t, 5, result.Last().ID)
	require.Equal(t, []int64{2}, lost)
	require.Equal(t, []string{"0/0 one", "0/0 other-0", "0/0 other-1", "0/0 other-2", "0/0 slow"}, f.live())
	ok, err := f.table.SnapshotExists(t.Context(), 2)
	require.NoError(t, err)
	require.False(t, ok, "nothing below the earliest")
}

// beforeStage runs something before the files of a try are written.
type beforeStage struct {
	*memstore.Store
	run func()
}

func (s *beforeStage) Put(ctx context.Context, name string, data []byte) error {
	if s.run != nil && strings.Contains(name, "/manifest-list-") {
		s.run()
	}
	return s.Store.Put(ctx, name, data)
}
