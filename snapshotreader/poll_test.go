package snapshotreader

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore"
	"sluice/objstore/memstore"
	"sluice/paimon"
)

// history is a golden table in memory whose snapshots come and go as a test says.
type history struct {
	objstore.Store
	t   *testing.T
	dir string // table/ of the golden table

	mu     sync.Mutex
	opened []string
}

// newHistory puts a golden table into memory, up to a snapshot.
func newHistory(t *testing.T, name string, upTo int64) *history {
	t.Helper()
	return newHistoryOf(t, filepath.Join(goldenDir, name, "table"), upTo)
}

// newHistoryOf is newHistory of the table in a folder.
func newHistoryOf(t *testing.T, dir string, upTo int64) *history {
	t.Helper()
	h := &history{Store: memstore.New(memstore.Options{}), t: t, dir: dir}
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(h.dir, path)
		if err != nil {
			return err
		}
		dir, base := filepath.Split(rel)
		id, isSnapshot := strings.CutPrefix(base, "snapshot-")
		if dir == "snapshot/" && !isSnapshot {
			return nil // hints
		}
		if n, err := strconv.ParseInt(id, 10, 64); isSnapshot && err == nil && n > upTo {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return h.Put(t.Context(), "t/"+rel, data)
	}))
	return h
}

// Open opens and takes it down.
func (h *history) Open(ctx context.Context, name string) (objstore.Reader, error) {
	h.mu.Lock()
	h.opened = append(h.opened, name)
	h.mu.Unlock()
	return h.Store.Open(ctx, name)
}

// names returns what has been opened so far.
func (h *history) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.opened)
}

func (h *history) table() *paimon.Table {
	h.t.Helper()
	table, err := paimon.Open(h.t.Context(), h, "t", "")
	require.NoError(h.t, err)
	return table
}

// commit makes the next snapshot visible.
func (h *history) commit(id int64) {
	h.t.Helper()
	name := "/snapshot/snapshot-" + strconv.FormatInt(id, 10)
	data, err := os.ReadFile(h.dir + name)
	require.NoError(h.t, err)
	require.NoError(h.t, h.PutIfAbsent(h.t.Context(), "t"+name, data))
}

// edit replaces text in a file.
func (h *history) edit(name, from, to string) {
	h.t.Helper()
	data, err := objstore.ReadAll(h.t.Context(), h, "t/"+name)
	require.NoError(h.t, err)
	require.Contains(h.t, string(data), from)
	require.NoError(h.t, h.Put(h.t.Context(), "t/"+name, []byte(strings.ReplaceAll(string(data), from, to))))
}

func (h *history) remove(names ...string) {
	h.t.Helper()
	for _, n := range names {
		require.NoError(h.t, h.Delete(h.t.Context(), "t/"+n))
	}
}

func snapshotFile(id int64) string { return "snapshot/snapshot-" + strconv.FormatInt(id, 10) }

// result is what a call of Next in another goroutine came to.
type result struct {
	batch *Batch
	err   error
	after time.Duration
}

// nextLater calls Next in a goroutine.
func nextLater(ctx context.Context, tl *Tailer) <-chan result {
	c := make(chan result, 1)
	begun := time.Now()
	go func() {
		b, err := tl.Next(ctx)
		c <- result{b, err, time.Since(begun)}
	}()
	return c
}

func openAt(t *testing.T, h *history, start string, o Options) *Tailer {
	t.Helper()
	s, err := ParseStart(start)
	require.NoError(t, err)
	tl, err := Open(t.Context(), h.table(), s, o)
	require.NoError(t, err)
	return tl
}

func TestPollFindsCommit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		quiet time.Duration // before the commit
		most  time.Duration // how long it may take to be seen
	}{
		{"at once", 0, 2 * time.Millisecond},
		{"after 8 ms", 8 * time.Millisecond, 2 * time.Millisecond},
		{"after 200 ms", 200 * time.Millisecond, 26 * time.Millisecond},
		{"after an hour", time.Hour, 50 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(t, "dedup-input", 3)
				tl := openAt(t, h, "latest", Options{})
				defer tl.Close()
				got := nextLater(t.Context(), tl)
				synctest.Wait()
				if tt.quiet > 0 {
					time.Sleep(tt.quiet) // of the bubble's clock
				}
				h.commit(4)
				r := <-got
				require.NoError(t, r.err)
				require.Equal(t, int64(4), r.batch.Snapshot.ID)
				require.LessOrEqual(t, r.after-tt.quiet, tt.most)
			})
		})
	}
}

func TestPollIsCheapWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, "dedup-input", 8)
		tl := openAt(t, h, "latest", Options{})
		defer tl.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		before := len(h.names())
		_, err := tl.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		// A look each 50 ms, and a few more each second.
		looks := len(h.names()) - before
		require.Less(t, looks, 3600*(20+8))
		require.Greater(t, looks, 3600*20)
	})
}

func TestPause(t *testing.T) {
	o, err := Options{PollMin: 10 * time.Millisecond, PollMax: time.Second}.withDefaults()
	require.NoError(t, err)
	for silence, want := range map[time.Duration]time.Duration{
		0: 10 * time.Millisecond, 80 * time.Millisecond: 10 * time.Millisecond, 160 * time.Millisecond: 20 * time.Millisecond,
		8 * time.Second: time.Second, time.Hour: time.Second, -time.Second: 10 * time.Millisecond,
	} {
		require.Equal(t, want, o.pause(silence))
	}
}

func TestOptionsRefused(t *testing.T) {
	for _, o := range []Options{{BatchRows: -1}, {BatchBytes: -1}, {PollMin: -1}, {PollMin: 2, PollMax: 1}, {CheckInterval: -1}} {
		_, err := Open(t.Context(), newHistory(t, "dedup-input", 1).table(), Start{}, o)
		require.ErrorContains(t, err, "snapshot reader options")
	}
}

func TestPokeLooksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, "dedup-input", 3)
		tl := openAt(t, h, "latest", Options{PollMin: time.Minute, PollMax: time.Minute})
		defer tl.Close()
		got := nextLater(t.Context(), tl)
		synctest.Wait()
		tl.Poke() // a hint that is wrong
		synctest.Wait()
		h.commit(4)
		tl.Poke()
		tl.Poke()
		tl.Poke()
		r := <-got
		require.NoError(t, r.err)
		require.Equal(t, int64(4), r.batch.Snapshot.ID)
		require.Zero(t, r.after)
	})
}

func TestCancelEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, "dedup-input", 3)
		tl := openAt(t, h, "latest", Options{PollMin: time.Minute, PollMax: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		got := nextLater(ctx, tl)
		synctest.Wait()
		cancel()
		r := <-got
		require.ErrorIs(t, r.err, context.Canceled)
		require.Zero(t, r.after)
		_, err := tl.Next(ctx)
		require.ErrorIs(t, err, context.Canceled)
		// Nothing is lost by that.
		h.commit(4)
		b, err := tl.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(4), b.Snapshot.ID)
		require.NoError(t, tl.Close())
		_, err = tl.Next(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.NoError(t, tl.Close())
	})
}

func TestUntil(t *testing.T) {
	ids := func(t *testing.T, h *history, start string, u Until) []int64 {
		s, err := ParseStart(start)
		require.NoError(t, err)
		var out []int64
		for _, b := range readBatches(t, h.table(), s, Options{Until: u}) {
			if b.Last {
				id := b.Snapshot.ID
				if b.Phase == Image {
					id = -id
				}
				out = append(out, id)
			}
		}
		return out
	}
	h := newHistory(t, "dedup-input", 5)
	at := func(id int64) time.Time {
		snap, err := h.table().Snapshot(t.Context(), id)
		require.NoError(t, err)
		return snap.Time()
	}
	require.Equal(t, []int64{1, 2, 3, 4, 5}, ids(t, h, "earliest", Until{Mode: UntilLatest}))
	require.Equal(t, []int64{3, 4}, ids(t, h, "snapshot:3", Until{Mode: UntilSnapshot, Snapshot: 4}))
	require.Empty(t, ids(t, h, "snapshot:3", Until{Mode: UntilSnapshot, Snapshot: 2}))
	require.Equal(t, []int64{-5}, ids(t, h, "full", Until{Mode: UntilLatest}))
	require.Equal(t, []int64{-2, 3}, ids(t, h, "snapshot-full:2", Until{Mode: UntilSnapshot, Snapshot: 3}))
	require.Equal(t, []int64{2, 3}, ids(t, h, "snapshot:2", Until{Mode: UntilCommits, Commits: 2}))
	require.Equal(t, []int64{-2, 3, 4}, ids(t, h, "snapshot-full:2", Until{Mode: UntilCommits, Commits: 2}))
	require.Empty(t, ids(t, h, "latest", Until{Mode: UntilLatest}))
	require.Equal(t, []int64{1, 2, 3, 4, 5}, ids(t, h, "earliest", Until{Mode: UntilTime, Time: at(5)}))
	if before := at(4).Add(-1); at(3).Before(before) {
		require.Equal(t, []int64{1, 2, 3}, ids(t, h, "earliest", Until{Mode: UntilTime, Time: before}))
	}
	require.Empty(t, ids(t, newHistory(t, "no-snapshot", 0), "full", Until{Mode: UntilLatest}))
}

func TestUntilSnapshotWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, "dedup-input", 3)
		tl := openAt(t, h, "latest", Options{Until: Until{Mode: UntilSnapshot, Snapshot: 4}})
		defer tl.Close()
		got := nextLater(t.Context(), tl)
		time.Sleep(time.Minute)
		h.commit(4)
		h.commit(5)
		r := <-got
		require.NoError(t, r.err)
		for !r.batch.Last {
			r.batch, r.err = tl.Next(t.Context())
			require.NoError(t, r.err)
		}
		_, err := tl.Next(t.Context())
		require.Equal(t, io.EOF, err)
		_, err = tl.Next(t.Context())
		require.Equal(t, io.EOF, err)
	})
}

// At the bound of a time the stream ends as soon as that time is over, and not
// before.
func TestUntilTimeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, "dedup-input", 3)
		end := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		now := func() time.Time {
			return end.Add(-time.Minute).Add(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
		}
		tl := openAt(t, h, "latest", Options{Until: Until{Mode: UntilTime, Time: end}, Now: now})
		defer tl.Close()
		r := <-nextLater(t.Context(), tl)
		require.Equal(t, io.EOF, r.err)
		require.Greater(t, r.after, time.Minute)
		require.Less(t, r.after, time.Minute+100*time.Millisecond)
	})
}

// What can go wrong with a table while a reader waits for its next snapshot, or
// between a cursor's making and its use.
func TestTableChangesUnderReader(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(h *history)
		check  func(t *testing.T, err error)
	}{
		{
			name:   "rolled back",
			change: func(h *history) { h.remove(snapshotFile(4), snapshotFile(3)) },
			check: func(t *testing.T, err error) {
				var ahead *CursorAheadError
				require.ErrorAs(t, err, &ahead)
				require.Equal(t, int64(2), ahead.Latest)
				require.Equal(t, int64(5), ahead.Cursor.Snapshot)
			},
		},
		{
			name: "rolled back and written on",
			change: func(h *history) {
				h.edit(snapshotFile(4), "manifest-list-", "manifest-list-other-")
				h.commit(5)
			},
			check: func(t *testing.T, err error) {
				var mismatch *CursorMismatchError
				require.ErrorAs(t, err, &mismatch)
				require.ErrorContains(t, err, "snapshot 4 is not the one")
			},
		},
		{
			name: "expired while nobody looked",
			change: func(h *history) {
				for id := int64(5); id <= 8; id++ {
					h.commit(id)
				}
				h.remove(snapshotFile(1), snapshotFile(2), snapshotFile(3), snapshotFile(4), snapshotFile(5), snapshotFile(6))
			},
			check: func(t *testing.T, err error) {
				var expired *CursorExpiredError
				require.ErrorAs(t, err, &expired)
				require.Equal(t, int64(5), expired.Cursor.Snapshot)
				require.Equal(t, int64(7), expired.Earliest)
				require.Equal(t, int64(8), expired.Latest)
			},
		},
		{
			name: "a gap",
			change: func(h *history) {
				for id := int64(5); id <= 8; id++ {
					h.commit(id)
				}
				h.remove(snapshotFile(5))
			},
			check: func(t *testing.T, err error) {
				var expired *CursorExpiredError
				require.ErrorAs(t, err, &expired)
				require.Equal(t, int64(6), expired.Earliest)
			},
		},
		{
			name:   "dropped",
			change: func(h *history) { require.NoError(h.t, h.DeleteDir(h.t.Context(), "t")) },
			check:  func(t *testing.T, err error) { require.ErrorIs(t, err, ErrTableDropped) },
		},
		{
			name: "dropped and made anew, empty",
			change: func(h *history) {
				h.remove(snapshotFile(1), snapshotFile(2), snapshotFile(3), snapshotFile(4))
				h.edit("schema/schema-0", `"timeMillis" : `, `"timeMillis" : 9`)
			},
			check: func(t *testing.T, err error) {
				var mismatch *CursorMismatchError
				require.ErrorAs(t, err, &mismatch)
			},
		},
		{
			name: "dropped and made anew, with the snapshot",
			change: func(h *history) {
				h.commit(5)
				h.edit("schema/schema-0", `"timeMillis" : `, `"timeMillis" : 9`)
			},
			check: func(t *testing.T, err error) {
				var mismatch *CursorMismatchError
				require.ErrorAs(t, err, &mismatch)
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(t, "dedup-input", 4)
				table := h.table()
				tl := openAt(t, h, "latest", Options{})
				defer tl.Close()
				at := tl.Cursor()
				got := nextLater(t.Context(), tl)
				synctest.Wait()
				tt.change(h)
				r := <-got
				tt.check(t, r.err)
				require.LessOrEqual(t, r.after, 1100*time.Millisecond)
				require.Equal(t, at, tl.Cursor())

				// A cursor from before tells the same when it is used, at once.
				begun := time.Now()
				_, err := Open(t.Context(), table, At(at), Options{})
				if err == nil {
					tl, err := Open(t.Context(), table, At(at), Options{})
					require.NoError(t, err)
					_, err = tl.Next(t.Context())
					tt.check(t, err)
					require.NoError(t, tl.Close())
				} else {
					tt.check(t, err)
				}
				require.Zero(t, time.Since(begun))
			})
		})
	}
}

// A snapshot that expires while its changelog lives on is read from the long-lived
// changelog, with and without a producer; its image is gone.
func TestLongLivedChangelogs(t *testing.T) {
	for _, name := range []string{"dedup-none", "dedup-input", "dedup-lookup", "append-bucketed"} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t, name, 100)
			o := Options{Until: Until{Mode: UntilLatest}}
			want, err := readStream(t.Context(), t, h.table(), Start{}, o)
			require.NoError(t, err)
			for id := int64(1); id <= 3; id++ {
				data, err := objstore.ReadAll(t.Context(), h, "t/"+snapshotFile(id))
				require.NoError(t, err)
				require.NoError(t, h.Put(t.Context(), "t/changelog/changelog-"+strconv.FormatInt(id, 10), data))
				// In the middle of that there are both.
				got, err := readStream(t.Context(), t, h.table(), Start{}, o)
				require.NoError(t, err)
				require.Equal(t, want, got)
				h.remove(snapshotFile(id))
				got, err = readStream(t.Context(), t, h.table(), Start{}, o)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			_, err = Open(t.Context(), h.table(), Start{Mode: StartSnapshotFull, Snapshot: 2}, o)
			var expired *CursorExpiredError
			require.ErrorAs(t, err, &expired)
			require.Equal(t, int64(4), expired.Earliest)
		})
	}
}

// A reader that is behind goes on from snapshots to changelogs and back, whatever
// expires while it reads.
func TestExpiryWhileReading(t *testing.T) {
	h := newHistory(t, "dedup-lookup", 100)
	o := Options{Until: Until{Mode: UntilLatest}, BatchRows: 1}
	want, err := readStream(t.Context(), t, h.table(), Start{}, o)
	require.NoError(t, err)
	table := h.table()
	tl, err := Open(t.Context(), table, Start{}, o)
	require.NoError(t, err)
	defer tl.Close()
	var got []change
	for moved := int64(1); ; {
		b, err := tl.Next(t.Context())
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		got = append(got, changesOf(t, table, b)...)
		if moved < 12 { // the reader is at, before and behind the one that goes
			data, err := objstore.ReadAll(t.Context(), h, "t/"+snapshotFile(moved))
			require.NoError(t, err)
			require.NoError(t, h.Put(t.Context(), "t/changelog/changelog-"+strconv.FormatInt(moved, 10), data))
			h.remove(snapshotFile(moved))
			moved++
		}
	}
	require.Equal(t, want, got)
}
