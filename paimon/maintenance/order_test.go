package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/race"
	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// errDeath ends an operation in a test.
var errDeath = errors.New("the process has died")

// death is a way in which an operation ends at the deletion of one file.
type death struct {
	name string
	// last: everything else that can be deleted before the file is gone; else the
	// file goes as early as it can, and nothing after it.
	last bool
	done bool // the file itself is gone
}

var deaths = []death{
	{"last, and it stays", true, false},
	{"last", true, true},
	{"first, and it stays", false, false},
	{"first", false, true},
}

// scheduler is a store that decides in which order files are deleted that are
// deleted at the same time. It works in a bubble of synctest alone: when all
// goroutines wait, the calls that wait are all that can come next.
type scheduler struct {
	objstore.Store
	mu    sync.Mutex
	calls []*deletion
}

type deletion struct {
	name   string
	answer chan error
}

func (s *scheduler) Delete(ctx context.Context, name string) error {
	d := &deletion{name, make(chan error)}
	s.mu.Lock()
	s.calls = append(s.calls, d)
	s.mu.Unlock()
	err := <-d.answer
	if err != nil {
		return err
	}
	if err := s.Store.Delete(ctx, name); err != nil {
		return err
	}
	return <-d.answer
}

// take removes a waiting call: that of the victim at once, or else after all
// others.
func (s *scheduler) take(victim string, last bool) *deletion {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		return nil
	}
	at := slices.IndexFunc(s.calls, func(d *deletion) bool { return (d.name == victim) != last })
	at = max(at, 0)
	d := s.calls[at]
	s.calls = slices.Delete(s.calls, at, at+1)
	return d
}

// die runs fn until it deletes the victim, and lets it fail from there. It returns
// the names that were to be deleted, in the order in which they went.
func die(fn func() error, s *scheduler, victim string, how death) (names []string, err error) {
	end := make(chan error, 1)
	go func() { end <- fn() }()
	dead := false
	for {
		synctest.Wait()
		d := s.take(victim, how.last)
		if d == nil {
			return names, <-end
		}
		names = append(names, d.name)
		if dead || d.name == victim && !how.done {
			dead = true
			d.answer <- errDeath
			continue
		}
		d.answer <- nil
		synctest.Wait() // it is deleted
		if d.name == victim {
			dead = true
			d.answer <- errDeath
		} else {
			d.answer <- nil
		}
	}
}

// eventful is a table of five snapshots with index files, a tag, a merged manifest
// and a compaction.
func eventful(t *testing.T, options map[string]string) *world {
	t.Helper()
	w := testWorld(t, options)
	for i := range 4 {
		c := change{kind: paimon.CommitAppend, delta: []manifest.Entry{w.file("data-", 0, 0, manifest.SourceAppend)}, index: i%2 == 0, merge: i == 2}
		if options["changelog-producer"] != "" {
			c.changelog = []manifest.Entry{w.file("changelog-", 0, 0, manifest.SourceAppend)}
		}
		w.commit(w.table, c)
		if i == 1 {
			_, err := w.table.CreateTag(w.ctx, "t", paimon.TagOptions{})
			require.NoError(t, err)
			require.NoError(t, w.store.Put(w.ctx, w.table.Path+"/tag/tag-success-file/t_SUCCESS", nil))
		}
	}
	live := w.live(w.table)
	w.commit(w.table, change{kind: paimon.CommitCompact, delta: []manifest.Entry{deleted(live[0]), deleted(live[1]), w.file("data-", 0, 5, manifest.SourceCompact)}})
	return w
}

// operation is something that deletes files of an eventful table.
type operation struct {
	name     string
	options  map[string]string
	expired  bool // of the snapshots only the last is there when it begins
	run      func(w *world, t *paimon.Table) error
	rootGoes bool // what names the files goes first, so that what is left are orphans
}

func operations() []operation {
	o := func(w *world) ExpireOptions {
		return ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1, DeletesMax: 1000, Now: w.clock}
	}
	snapshots := func(w *world, t *paimon.Table) error { _, err := ExpireSnapshots(w.ctx, t, o(w)); return err }
	changelogs := func(w *world, t *paimon.Table) error { _, err := ExpireChangelogs(w.ctx, t, o(w)); return err }
	input := map[string]string{"changelog-producer": "input"}
	inputLonger := map[string]string{"changelog-producer": "input", "changelog.num-retained.min": "11"}
	longer := map[string]string{"changelog.num-retained.min": "11"}
	return []operation{
		{"snapshots", nil, false, snapshots, false},
		{"snapshots with changelogs", input, false, snapshots, false},
		{"snapshots whose changelogs live longer", inputLonger, false, snapshots, false},
		{"snapshots whose changes live longer", longer, false, snapshots, false},
		{"changelogs", inputLonger, true, changelogs, false},
		{"changes", longer, true, changelogs, false},
		{"tag", nil, true, func(w *world, t *paimon.Table) error { return DeleteTag(w.ctx, t, "t") }, true},
		{"rollback", input, false, func(w *world, t *paimon.Table) error { return RollbackToSnapshot(w.ctx, t, 2) }, true},
	}
}

// TestDeletionsInAnyOrder lets every operation die at each file that it deletes,
// with as many of the others gone as can be, and with as few: what stays is whole,
// and nothing is left for ever.
func TestDeletionsInAnyOrder(t *testing.T) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			var want, names []string
			synctest.Test(t, func(t *testing.T) {
				w, s := op.begin(t)
				var err error
				names, err = die(func() error { return op.run(w, w.through(s)) }, s, "", deaths[0])
				require.NoError(t, err)
				op.end(t, w)
				want = w.all()
			})
			require.GreaterOrEqual(t, len(names), 4)
			for i, d := range deaths {
				for v := i % race.Stride; v < len(names); v += race.Stride {
					synctest.Test(t, func(t *testing.T) { op.dies(t, names[v], d, want) })
				}
			}
		})
	}
}

func (op *operation) begin(t *testing.T) (*world, *scheduler) {
	t.Helper()
	w := eventful(t, op.options)
	if op.expired {
		w.expireAll(w.table, 1)
	}
	return w, &scheduler{Store: w.store}
}

func (op *operation) dies(t *testing.T, victim string, d death, want []string) {
	t.Helper()
	w, s := op.begin(t)
	who := fmt.Sprintf("death at %s, %s", victim, d.name)
	_, err := die(func() error { return op.run(w, w.through(s)) }, s, victim, d)
	require.ErrorIs(t, err, errDeath, who)
	latest, err := w.table.LatestSnapshot(w.ctx)
	require.NoError(t, err, who)
	w.checkState(w.table, latest, who)
	if op.rootGoes {
		w.check()
	}
	err = op.run(w, w.table)
	if !op.rootGoes || !errors.Is(err, paimon.ErrTagNotFound) {
		require.NoError(t, err, who)
	}
	op.end(t, w)
	require.Equal(t, want, w.all(), who)
}

// end lets orphans go. They are none as long as a manifest of the table tells
// that they are deleted.
func (op *operation) end(t *testing.T, w *world) {
	t.Helper()
	w.check()
	if !op.rootGoes {
		return
	}
	w.commit(w.table, change{kind: paimon.CommitAppend, merge: true})
	w.expireAll(w.table, 1)
	_, err := CleanOrphans(w.ctx, w.table, OrphanOptions{OlderThan: w.now.Add(time.Hour), Unsafe: true, Now: w.clock})
	require.NoError(t, err)
	w.check()
}

// through opens the table through another store.
func (w *world) through(s objstore.Store) *paimon.Table {
	t, err := paimon.OpenWith(w.ctx, s, w.table.Path, "", w.options())
	require.NoError(w.t, err)
	return t
}
