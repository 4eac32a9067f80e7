package resume

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/client"
	"sluice/internal/config"
	"sluice/interop/subscriber"
)

// all makes every test try every pair of transports, not some for each row.
var all = os.Getenv("SLUICE_RESUME") == "all"

var tables = []struct {
	name    string
	keyed   bool
	options map[string]string
}{
	{"keyed with changelog", true, map[string]string{"bucket": "2", "changelog-producer": "input"}},
	{"keyed without", true, map[string]string{"bucket": "2", "changelog-producer": "none"}},
	{"append", false, map[string]string{"bucket": "2", "bucket-key": "id"}},
	{"append without buckets", false, map[string]string{}},
}

func keyOf(keyed bool) []string {
	if keyed {
		return []string{"day", "id"}
	}
	return nil
}

// TestCutAtEveryRow reads one stream live over each transport, from the image of a
// table whose first snapshots have expired over several commits, an empty one and
// two changes of the schema. Then it cuts the stream after each row and takes it
// up again at another gateway and over another transport.
func TestCutAtEveryRow(t *testing.T) {
	for _, tt := range tables {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, keyOf(tt.keyed), tt.options)
			s.begin(tt.keyed)
			a := newGateway(t, s.dir, nil)
			live := readLive(t, s, a, tt.keyed)
			uncut := live[0]
			for i, tr := range a.transports() {
				require.NoError(t, checkFrames(live[i]), tr.Name())
				require.Equal(t, lines(uncut), lines(live[i]), "%s differs from %s", tr.Name(), a.transports()[0].Name())
			}
			if tt.options["changelog-producer"] != "none" { // which folds the changes of a commit
				s.requireTruth(imageOf(t, uncut), changesOf(uncut))
			}
			cut(t, uncut, a.transports(), newNarrowGateway(t, s))
		})
	}
}

func imageOf(t *testing.T, events []subscriber.Event) int64 {
	t.Helper()
	for _, e := range events {
		if e.Type == subscriber.Begin {
			require.True(t, e.Commit.Image, "a stream from full begins with an image")
			return e.Commit.Snapshot
		}
	}
	require.Fail(t, "no commit")
	return 0
}

// readLive subscribes over all transports, goes on writing once all positions are
// fixed, and returns what arrived.
func readLive(t *testing.T, s *shop, g *gateway, keyed bool) [][]subscriber.Event {
	t.Helper()
	s.committed = func() { g.Committed(tableName) }
	var subscribed, ended sync.WaitGroup
	live := make([][]subscriber.Event, len(g.transports()))
	errs := make([]error, len(live))
	last := s.latest() + commitsToCome
	for i, tr := range g.transports() {
		subscribed.Add(1)
		pinned := sync.OnceFunc(subscribed.Done)
		ended.Go(func() {
			defer pinned()
			live[i], errs[i] = readUntil(t.Context(), tr, subscriber.Request{Start: "full"}, func(e *subscriber.Event) bool {
				if e.Type == subscriber.Subscribed {
					pinned()
				}
				return e.Type == subscriber.End && e.Commit.Snapshot == last
			})
		})
	}
	subscribed.Wait()
	s.goOn(keyed)
	ended.Wait()
	for i, err := range errs {
		require.NoError(t, err, g.transports()[i].Name())
	}
	require.Equal(t, last, s.latest())
	return live
}

// commitsToCome is how many snapshots goOn makes.
const commitsToCome = 4

// cut cuts the stream after each row, read over a transport of the one gateway, and
// takes it up over each transport of the other.
func cut(t *testing.T, uncut []subscriber.Event, a, b []subscriber.Transport) {
	t.Helper()
	start := "cursor:" + uncut[0].Cursor
	whole := changesOf(uncut)
	require.Greater(t, len(whole), 20)
	for k := range whole {
		for j := range b {
			for i := range a {
				if !all && i != (j+k)%len(a) {
					continue
				}
				from, to := a[i], b[j]
				if k%2 == 1 {
					from, to = b[i], a[j]
				}
				cutOnce(t, uncut, whole, start, k, 1+(k+j)%5, from, to)
			}
		}
	}
	// And at every frame that ends or begins a commit.
	for i, e := range uncut {
		if e.Type != subscriber.Row && e.Type != subscriber.Progress {
			before := len(changesOf(uncut[:i+1]))
			for _, tr := range []subscriber.Transport{a[i%len(a)], b[(i+1)%len(b)]} {
				rest := read(t, tr, subscriber.Request{Start: "cursor:" + e.Cursor, Until: "latest"}, nil)
				require.NoError(t, checkFrames(rest))
				requireRows(t, whole[before:], changesOf(rest), "%s after frame %d, %s", tr.Name(), i, e.Type)
			}
		}
	}
}

// cutOnce cuts after row k.
func cutOnce(t *testing.T, uncut []subscriber.Event, whole []subscriber.Change, start string, k, maxRows int, from, to subscriber.Transport) {
	t.Helper()
	what := fmt.Sprintf("%s, then %s after row %d of %d", from.Name(), to.Name(), k, len(whole))
	n := 0
	first := read(t, from, subscriber.Request{Start: start, MaxRows: maxRows}, func(e *subscriber.Event) bool {
		if e.Type == subscriber.Row {
			n++
		}
		return n > k
	})
	require.NoError(t, checkFrames(first), what)
	last := first[len(first)-1]
	cursor := last.Cursor
	if k%3 == 0 {
		cursor = last.Change.At + "+1" // the form that the protocol has for it
	}
	rest := read(t, to, subscriber.Request{Start: "cursor:" + cursor, Until: "latest", MaxRows: maxRows % 3}, nil)
	require.NoError(t, checkFrames(rest), what)
	joined := append(changesOf(first), changesOf(rest)...)
	requireRows(t, whole, joined, what)
	// The frames around the rows tell the same story.
	want := ends(uncut)
	for _, e := range want {
		if e.Commit.Snapshot > last.Change.Snapshot { // commits without rows too
			require.Contains(t, ends(rest), fmt.Sprint(e.Commit.Snapshot, e.Commit.Image), what)
		}
	}
	for key, e := range ends(rest) {
		w := want[key]
		require.Equal(t, w.Commit, e.Commit, what)
		require.Equal(t, w.Cursor, e.Cursor, what)
		sum := e.Counts
		if e.Commit.Snapshot == last.Change.Snapshot && e.Commit.Image == last.Change.Image {
			for _, c := range changesOf(first) {
				if c.Snapshot == e.Commit.Snapshot && c.Image == e.Commit.Image {
					sum.Add(c.Kind)
				}
			}
		}
		require.Equal(t, w.Counts, sum, what)
	}
	for _, e := range rest {
		if e.Type == subscriber.Begin {
			require.Equal(t, e.Commit.Snapshot == last.Change.Snapshot && e.Commit.Image == last.Change.Image, e.Continued, "%s: %+v after %v: %v", what, e, last.Change, strings.Join(lines(rest), "\n"))
		}
	}
}

// requireRows compares streams and says where they part.
func requireRows(t *testing.T, want, got []subscriber.Change, format string, args ...any) {
	t.Helper()
	if slices.Equal(want, got) {
		return
	}
	for i := range min(len(want), len(got)) {
		require.Equalf(t, want[i].String(), got[i].String(), "row %d: "+format, append([]any{i}, args...)...)
	}
	require.Lenf(t, got, len(want), format, args...)
}

// Advance makes the cursor that the gateway itself gives the next row.
func TestRowsOfAMessageAreNamedAsTheGatewayNamesThem(t *testing.T) {
	s := newShop(t, keyOf(true), tables[0].options)
	s.begin(true)
	g := newGateway(t, s.dir, func(c *config.Config) { c.Listen.HTTP = config.Off })
	tr := subscriber.GRPC{Addr: g.GRPCAddr()}
	one := changesOf(read(t, tr, subscriber.Request{Start: "full", Until: "latest", MaxRows: 1}, nil))
	many := changesOf(read(t, tr, subscriber.Request{Start: "full", Until: "latest"}, nil))
	requireRows(t, one, many, "one row a message, and many")
	require.Equal(t, one[1].At, client.Advance(one[0].At, 1))
}
