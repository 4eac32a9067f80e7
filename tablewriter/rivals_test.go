package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/faultstore"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/rowdata"
)

// rivals work on one table, each through a table of its own, and their rows are
// those of one history.
type rivals struct {
	t       *testing.T
	store   objstore.Store
	history *history
	before  func() // each snapshot that is put through hooked; nil: nothing

	mu   sync.Mutex // of history and made
	made map[string]int64
}

func newRivals(t *testing.T, seed uint64, options ...string) *rivals {
	store := memory()
	newTable(t, store, spec([]string{"p STRING", "k STRING", "s INT", "v STRING"}, []string{"p", "k"}, nil, append([]string{"bucket", "2"}, options...)...))
	return &rivals{t: t, store: store, history: newHistory(openTable(t, store), seed), made: map[string]int64{}}
}

func (r *rivals) plain() *paimon.Table { return openTable(r.t, r.store) }

// hooked opens the table so that others come first: before each snapshot that is
// put through it.
func (r *rivals) hooked() *paimon.Table {
	rule := faultstore.Rule{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Name: "snapshot-*", Mode: faultstore.Pass, Hook: func(faultstore.Call) {
		if r.before != nil {
			r.before()
		}
	}}
	return openTable(r.t, faultstore.New(r.store, rule))
}

// once lets others come first once.
func (r *rivals) once(fn func() error) {
	r.before = func() {
		r.before = nil
		if err := fn(); err != nil {
			r.t.Error(err)
		}
	}
}

func (r *rivals) writer(table *paimon.Table, user string, straightOff bool) *Writer {
	return openWriter(r.t, table, Options{
		User: user, CommitInterval: time.Hour, LookupDir: r.t.TempDir(), StraightOff: straightOff,
		Commit: commit.Options{Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }},
	})
}

func (r *rivals) job(table *paimon.Table, user string) *Job {
	j, err := OpenJob(r.t.Context(), table, JobOptions{Full: true, Writer: Options{
		User: user, LookupDir: r.t.TempDir(),
		Commit: commit.Options{Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }},
	}})
	require.NoError(r.t, err)
	return j
}

// write makes a numbered commit of random rows whose keys are kept. It may be called
// by several goroutines.
func (r *rivals) write(w *Writer, keep func(key string) bool, mode CompactMode) error {
	r.mu.Lock()
	rows := r.history.batch(r.t, w.Type(), keep)
	r.made[w.User()]++
	position := Position{Source: w.User(), Value: strconv.FormatInt(r.made[w.User()], 10)}
	r.mu.Unlock()
	if _, err := w.Write(r.t.Context(), rows, position); err != nil {
		return err
	}
	_, err := w.CommitWith(r.t.Context(), mode)
	return err
}

// complete checks rows and pairs, and that each user's commits are all there in
// order.
func (r *rivals) complete() {
	r.t.Helper()
	j := r.job(r.plain(), "last")
	_, err := j.Run(r.t.Context())
	require.NoError(r.t, err)
	require.NoError(r.t, j.Close(r.t.Context()))
	r.history.complete(r.t)
	seen := map[string]int64{}
	for id := int64(1); id <= r.history.seen; id++ {
		s, err := r.history.table.Snapshot(r.t.Context(), id)
		require.NoError(r.t, err)
		text, ok := s.Properties[PropertyPosition+s.CommitUser]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		require.NoError(r.t, err)
		if n != seen[s.CommitUser] { // the compact part of a commit repeats it
			require.Equal(r.t, seen[s.CommitUser]+1, n, "commits of %s", s.CommitUser)
			seen[s.CommitUser] = n
		}
	}
	require.Equal(r.t, r.made, seen, "commits by user")
}

// inBucket tells which keys are in a bucket.
func (r *rivals) inBucket(bucket int32) func(key string) bool {
	h, err := newShape(r.history.table.Schema(), false)
	require.NoError(r.t, err)
	keys := map[string]bool{}
	for p := range 2 {
		for k := range 80 {
			c := &rowdata.Changes{Batch: *rowdata.NewBatch(h.typ, 0)}
			part, key := fmt.Sprint("p", p), fmt.Sprintf("key-of-table-%d", k)
			require.NoError(r.t, appendJSON(&c.Batch, fmt.Sprintf("[%q,%q,1,null]", part, key)))
			var route router
			route.bucket(h, c)
			keys[part+key] = route.buckets[0] == bucket
		}
	}
	return func(key string) bool { return keys[key] }
}

var rivalTables = []struct {
	name    string
	options []string
}{
	{"lookup", []string{"changelog-producer", "lookup"}},
	{"lookup beside writing", []string{"changelog-producer", "lookup", "lookup-wait", "false", "num-sorted-run.compaction-trigger", "2"}},
	{"full-compaction", []string{"changelog-producer", "full-compaction", "full-compaction.delta-commits", "1"}},
}

// TestTwoWritersTwoBuckets: writers that compact by themselves, each with the rows
// of one bucket, lose races for snapshots, but no compaction, and no commit.
func TestTwoWritersTwoBuckets(t *testing.T) {
	for _, tc := range rivalTables {
		t.Run(tc.name, func(t *testing.T) {
			r := newRivals(t, 1, tc.options...)
			keys := []func(string) bool{r.inBucket(0), r.inBucket(1)}
			writers := []*Writer{r.writer(r.hooked(), "first", false), r.writer(r.plain(), "second", true)}
			for i := range 8 { // by turns: the second is always faster
				mode := []CompactMode{CompactAuto, CompactWait}[i%2]
				r.once(func() error { return r.write(writers[1], keys[1], mode) })
				require.NoError(t, r.write(writers[0], keys[0], mode))
				require.Nil(t, r.before)
			}
			var writing sync.WaitGroup
			for i, w := range writers { // at once
				writing.Go(func() {
					for n := range 10 {
						if err := r.write(w, keys[i], []CompactMode{CompactAuto, CompactNone, CompactWait}[n%3]); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			writing.Wait()
			for _, w := range writers {
				require.Zero(t, w.Metrics().Conflicts)
				require.NoError(t, w.Close(t.Context()))
			}
			r.complete()
		})
	}
}

// TestWriterBesideCompactor: a writer that compacts by itself and a job that
// compacts the same buckets fully. Each loses now and then, by turns for certain
// and at once perhaps, takes in what the other did and goes on.
func TestWriterBesideCompactor(t *testing.T) {
	for _, tc := range rivalTables {
		for _, straightOff := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, straight off %t", tc.name, straightOff), func(t *testing.T) {
				r := newRivals(t, 2, tc.options...)
				w, j := r.writer(r.hooked(), "writer", straightOff), r.job(r.hooked(), "job")
				run := func() error {
					_, err := j.Run(t.Context())
					return err
				}
				for range 6 {
					require.NoError(t, r.write(w, nil, CompactNone))
					r.once(run) // the job is first
					require.NoError(t, r.write(w, nil, CompactFull))
					require.NoError(t, r.write(w, nil, CompactNone))
					r.once(func() error { return r.write(w, nil, CompactFull) }) // the writer is first
					require.NoError(t, run())
					r.before = nil
				}
				require.Positive(t, w.Metrics().Conflicts+j.Metrics().Conflicts)
				ended := make(chan error, 1)
				done := make(chan struct{})
				go func() {
					for {
						err := run()
						if err != nil && !isConflict(err) { // of a job that is too slow too often
							ended <- err
							return
						}
						select {
						case <-done:
							ended <- nil
							return
						default:
						}
					}
				}()
				for range 10 {
					require.NoError(t, r.write(w, nil, CompactAuto))
				}
				close(done)
				require.NoError(t, <-ended)
				require.NoError(t, w.Close(t.Context()))
				require.NoError(t, j.Close(t.Context()))
				r.complete()
			})
		}
	}
}

// TestTwoCompactors: of two jobs that compact the same bucket one loses. It finds
// nothing left to do; or, if it loses again and again, says so with an error that
// tells who was first and where, and goes on when it is asked again.
func TestTwoCompactors(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		t.Run(producer, func(t *testing.T) {
			r := newRivals(t, 3, "changelog-producer", producer, "write-only", "true")
			w := r.writer(r.plain(), "writer", false)
			slow, fast := r.job(r.hooked(), "slow"), r.job(r.plain(), "fast")
			run := func() error {
				_, err := fast.Run(t.Context())
				return err
			}
			for range 4 {
				require.NoError(t, r.write(w, nil, CompactAuto))
				before := slow.Metrics().Conflicts
				r.once(run)
				_, err := slow.Run(t.Context())
				require.NoError(t, err)
				require.Nil(t, r.before)
				require.Greater(t, slow.Metrics().Conflicts, before)
			}
			times := 0
			r.before = func() {
				times++
				if err := errors.Join(run(), r.write(w, nil, CompactAuto)); err != nil {
					t.Error(err)
				}
			}
			require.NoError(t, r.write(w, nil, CompactAuto))
			_, err := slow.Run(t.Context())
			var conflict *commit.ConflictError
			require.ErrorAs(t, err, &conflict)
			require.Greater(t, times, conflictsMax)
			r.before = nil
			require.NoError(t, r.write(w, nil, CompactAuto))
			made, err := slow.Run(t.Context())
			require.NoError(t, err)
			require.Positive(t, made.Snapshot)
			for _, close := range []func(context.Context) error{w.Close, slow.Close, fast.Close} {
				require.NoError(t, close(t.Context()))
			}
			r.complete()
		})
	}
}
