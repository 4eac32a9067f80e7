package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/client"
	"sluice/interop/subscriber"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/maintenance"
	"sluice/tablewriter"
)

// gateway is the configuration of a gateway that is killed and started again, at
// the same addresses.
type gateway struct {
	t      *testing.T
	config string
	grpc   string
	http   string
	p      *process
}

// newGateway writes the configuration of a gateway with one feed; nats is the
// address of the NATS server that it publishes to, empty for none.
func newGateway(t *testing.T, r *rand.Rand, warehouse, nats string) *gateway {
	t.Helper()
	g := &gateway{t: t, config: filepath.Join(t.TempDir(), "sluice.yaml"), grpc: freePort(t, r), http: freePort(t, r)}
	feed := fmt.Sprintf("- {table: %s, poll-min: 2ms, poll-max: 20ms}\n", tableName)
	text := fmt.Sprintf("warehouse: %s\nlisten: {grpc: %q, http: %q}\nlog: {level: warn}\n", warehouse, g.grpc, g.http)
	if nats != "" {
		feed = fmt.Sprintf("- {table: %s, poll-min: 2ms, poll-max: 20ms, nats: {stream: %s, ensure-stream: true}}\n", tableName, streamName)
		text += fmt.Sprintf("nats: {url: %q}\n", nats)
	}
	require.NoError(t, os.WriteFile(g.config, []byte(text+"feeds:\n"+feed), 0o600))
	return g
}

const streamName = "CHANGES"

// start starts the gateway and waits until it serves.
func (g *gateway) start() {
	g.t.Helper()
	g.p = start(g.t, nil, gatewayBinary(g.t), "serve", "--config", g.config, "--json")
	var said struct{ GRPC, HTTP string }
	require.NoError(g.t, json.Unmarshal([]byte(g.p.line("{")), &said))
	require.Equal(g.t, g.grpc, said.GRPC)
	require.Equal(g.t, g.http, said.HTTP)
}

// writing is a writer in this process, which outlives all gateways.
type writing struct {
	end  func()   // ends it and waits
	last int64    // newest snapshot; after end
	rows chan int // what was committed
}

// write writes operations of all sources, a commit every few milliseconds.
func write(t *testing.T, table *paimon.Table) *writing {
	t.Helper()
	w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: user, CommitInterval: time.Millisecond})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	out := &writing{rows: make(chan int, 1<<16)}
	ended := make(chan error, 1)
	go func() { ended <- writeTill(ctx, w, out.rows) }()
	out.end = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, w.Close(t.Context()))
		out.last, err = table.LatestID(t.Context())
		require.NoError(t, err)
	})
	t.Cleanup(out.end)
	return out
}

func writeTill(ctx context.Context, w *tablewriter.Writer, committed chan<- int) error {
	tick := time.NewTicker(8 * time.Millisecond)
	defer tick.Stop()
	var n [sources]int64
	for {
		for s := range sources {
			to := n[s] + 1 + rand.Int64N(4)
			rows, pos := batch(w.Type(), s, n[s], to)
			count := rows.N
			r, err := w.Write(context.WithoutCancel(ctx), rows, pos)
			if err != nil {
				return err
			}
			if _, err := r.Wait(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			n[s] = to
			select {
			case committed <- count:
			default:
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// follower is a subscriber that goes on at its cursor whenever its stream breaks.
type follower struct {
	name string
	run  func(ctx context.Context, got func(subscriber.Change), done func(snapshot int64) bool) error

	mu      sync.Mutex
	changes []subscriber.Change
	breaks  int
	acks    int
}

func (g *gateway) transports() []subscriber.Transport {
	return []subscriber.Transport{
		subscriber.GRPC{Addr: g.grpc}, subscriber.GRPC{Addr: g.grpc, JSON: true}, subscriber.WebSocket{Addr: g.http}, subscriber.WebSocket{Addr: g.http, Proto: true},
	}
}

// consumers are subscribers over each transport that leave their position to the
// gateway, all from the earliest change.
func consumers(g *gateway) []*follower {
	var out []*follower
	for _, tr := range g.transports() {
		f := &follower{name: tr.Name() + " consumer"}
		f.run = func(ctx context.Context, got func(subscriber.Change), done func(int64) bool) error {
			return f.consume(ctx, tr, got, done)
		}
		out = append(out, f)
	}
	return out
}

// followers are consumers, and subscribers that keep their position themselves.
func followers(g *gateway) []*follower {
	out := consumers(g)
	for _, tr := range g.transports() {
		f := &follower{name: tr.Name()}
		f.run = func(ctx context.Context, got func(subscriber.Change), done func(int64) bool) error {
			return f.resume(ctx, tr, got, done)
		}
		out = append(out, f)
	}
	auto := &follower{name: "client"}
	auto.run = func(ctx context.Context, got func(subscriber.Change), done func(int64) bool) error {
		return auto.client(ctx, g.grpc, got, done)
	}
	return append(out, auto)
}

// resume keeps the cursor in memory and opens a new connection each time.
func (f *follower) resume(ctx context.Context, tr subscriber.Transport, got func(subscriber.Change), done func(int64) bool) error {
	at := "earliest"
	for {
		s, err := tr.Subscribe(ctx, subscriber.Request{Feed: tableName, Start: at, MaxRows: 3})
		for err == nil {
			var e *subscriber.Event
			if e, err = s.Next(ctx); err != nil {
				break
			}
			if e.Type == subscriber.Row {
				got(e.Change)
			}
			if e.Type != subscriber.Schema {
				at = "cursor:" + e.Cursor
			}
			if e.Type == subscriber.End && done(e.Commit.Snapshot) {
				s.Close()
				return nil
			}
		}
		if s != nil {
			s.Close()
		}
		if err := f.broke(ctx, err); err != nil {
			return err
		}
	}
}

// broke tells whether a broken stream may be tried again, after a little while.
func (f *follower) broke(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var said *subscriber.Error
	if errors.As(err, &said) && said.Reason != "NODE_DRAINING" {
		return err
	}
	f.mu.Lock()
	f.breaks++
	f.mu.Unlock()
	select {
	case <-time.After(10 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// consume keeps nothing: it goes on where its consumer was acknowledged, which it
// does at the end of each commit. What came after the last acknowledgement comes
// again, and is told by its cursor.
func (f *follower) consume(ctx context.Context, tr subscriber.Transport, got func(subscriber.Change), done func(int64) bool) error {
	seen := map[string]bool{}
	name := "consumer-" + tr.Name()
	start := "earliest"
	for {
		s, err := tr.Subscribe(ctx, subscriber.Request{Feed: tableName, Start: start, Consumer: name})
		for err == nil {
			var e *subscriber.Event
			if e, err = s.Next(ctx); err != nil {
				break
			}
			if e.Type == subscriber.Row && !seen[e.Change.At] {
				seen[e.Change.At] = true
				got(e.Change)
			}
			if e.Type == subscriber.End {
				if done(e.Commit.Snapshot) {
					s.Close()
					return nil
				}
				if err = s.Ack(ctx, e.Cursor); err == nil {
					start = "" // from now on the gateway knows
					f.mu.Lock()
					f.acks++
					f.mu.Unlock()
				}
			}
		}
		if s != nil {
			s.Close()
		}
		if err := f.broke(ctx, err); err != nil {
			return err
		}
	}
}

// client leaves it all to package client.
func (f *follower) client(ctx context.Context, addr string, got func(subscriber.Change), done func(int64) bool) error {
	c, err := client.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	sub := c.Subscribe(tableName, client.From("earliest"), client.JSON(), client.WithRetries(1_000_000, time.Millisecond, 20*time.Millisecond))
	defer sub.Close()
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		switch e.Kind {
		case client.EventRows:
			for i := range e.Rows.Len() {
				got(subscriber.Change{
					Snapshot: e.Rows.Snapshot, SchemaID: e.Rows.Schema.ID, Partition: e.Rows.Partition, Bucket: e.Rows.Bucket,
					Kind: e.Rows.Kind(i).String(), Row: string(e.Rows.JSON(i)), At: e.Rows.Cursor(i),
				})
			}
		case client.EventCommitEnd:
			f.mu.Lock()
			f.breaks = int(sub.Resumed())
			f.mu.Unlock()
			if done(e.Commit.Snapshot) {
				return nil
			}
		}
	}
}

// followAll runs followers. moved is signalled when one of them gets something; the
// returned function tells them which snapshot is the last, and waits until they
// have all got it.
func followAll(t *testing.T, fs []*follower, moved chan struct{}) (finish func(last int64)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var ending sync.WaitGroup
	var last lastSnapshot
	errs := make([]error, len(fs))
	for i, f := range fs {
		ending.Go(func() {
			errs[i] = f.run(ctx, func(c subscriber.Change) {
				f.mu.Lock()
				f.changes = append(f.changes, c)
				f.mu.Unlock()
				select {
				case moved <- struct{}{}:
				default:
				}
			}, last.reached)
		})
	}
	return func(id int64) {
		t.Helper()
		last.set(id)
		waitFor(t, &ending, cancel)
		for i, f := range fs {
			require.NoError(t, errs[i], f.name)
		}
	}
}

// anyUnbroken tells whether there is a follower whose stream never broke.
func anyUnbroken(fs []*follower) bool {
	return slices.ContainsFunc(fs, func(f *follower) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.breaks == 0
	})
}

// TestCrashGateway kills a gateway under its subscribers while its table is
// written. Each of them ends with each change once, in order.
func TestCrashGateway(t *testing.T) {
	t.Parallel()
	r := chance(t)
	dir := t.TempDir()
	table := createTable(t, dir)
	g := newGateway(t, r, dir, "")
	g.start()
	w := write(t, table)
	fs := followers(g)
	moved := make(chan struct{}, 1)
	finish := followAll(t, fs, moved)
	// A subscriber that begins late, on a busy machine, has to see a kill too.
	for n, least := 0, kills(t, 6); n < least || n < 20*least && anyUnbroken(fs); n++ {
		await(t, moved) // somebody got something since the last kill
		pause(r, 100*time.Millisecond)
		if r.IntN(8) == 0 {
			g.p.stop()
		} else {
			g.p.kill()
		}
		for len(moved) > 0 {
			<-moved
		}
		g.start()
	}
	w.end()
	kick(t, table) // a commit after the last one, so that nobody waits for what it has seen already
	finish(w.last)
	changes := requireOps(t, table, [sources]int64{})
	want := upTo(changes, w.last)
	for _, f := range fs {
		requireSame(t, want, upTo(f.changes, w.last), f.name)
		require.Positive(t, f.breaks, f.name)
	}
	requireWhole(t, table)
	t.Logf("%d changes in %d snapshots to %d subscribers", len(changes), w.last, len(fs))
}

// TestCrashConsumers kills a gateway whose subscribers leave their positions to it,
// while all snapshots expire that no consumer needs. None of them ever misses one.
func TestCrashConsumers(t *testing.T) {
	t.Parallel()
	r := chance(t)
	dir := t.TempDir()
	table := createTable(t, dir)
	g := newGateway(t, r, dir, "")
	g.start()
	w := write(t, table)
	fs := consumers(g)
	moved := make(chan struct{}, 1)
	finish := followAll(t, fs, moved)
	require.Eventually(t, func() bool { // from then on, the table knows what they need
		return !slices.ContainsFunc(fs, func(f *follower) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.acks == 0
		})
	}, patience, 5*time.Millisecond)
	expired := int64(0)
	for range kills(t, 4) {
		await(t, moved)
		pause(r, 100*time.Millisecond)
		expired += expire(t, table)
		g.p.kill()
		expired += expire(t, table)
		for len(moved) > 0 {
			<-moved
		}
		g.start()
	}
	w.end()
	kick(t, table)
	finish(w.last)
	_, want := expected(t, table, [sources]int64{})
	for _, f := range fs {
		got, missing := byKey(f.changes), 0
		for key, changes := range want {
			n := len(got[key])
			require.Equal(t, changes[:n], append([]string{}, got[key]...), "%s: %s", f.name, key)
			missing += len(changes) - n
		}
		require.LessOrEqual(t, missing, 2, "%s: all but the one operation that came after the end", f.name)
	}
	requireWhole(t, table)
	require.Positive(t, expired)
	t.Logf("%d snapshots to %d consumers, %d of them expired", w.last, len(fs), expired)
}

// expire removes all snapshots but the newest that no consumer needs.
func expire(t *testing.T, table *paimon.Table) int64 {
	t.Helper()
	e, err := maintenance.ExpireSnapshots(t.Context(), table, maintenance.ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1})
	require.NoError(t, err)
	return e.Count()
}

// upTo leaves out changes after a snapshot.
func upTo(changes []subscriber.Change, snapshot int64) []subscriber.Change {
	n := len(changes)
	for n > 0 && changes[n-1].Snapshot > snapshot {
		n--
	}
	return changes[:n]
}

// lastSnapshot is the snapshot that followers end after, once it is known.
type lastSnapshot struct {
	mu sync.Mutex
	id int64
}

func (l *lastSnapshot) set(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = id
}

func (l *lastSnapshot) reached(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id > 0 && id >= l.id
}

// kick makes one more commit.
func kick(t *testing.T, table *paimon.Table) {
	t.Helper()
	w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: user})
	require.NoError(t, err)
	point, err := w.Restore(t.Context())
	require.NoError(t, err)
	n, err := next(&point, 0)
	require.NoError(t, err)
	rows, pos := batch(w.Type(), 0, n, n+1)
	_, err = w.Write(t.Context(), rows, pos)
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		require.Fail(t, "nothing comes any more")
	}
}

// waitFor waits for goroutines, and cancels them if they take too long.
func waitFor(t *testing.T, wg *sync.WaitGroup, cancel context.CancelFunc) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		cancel()
		<-done
	}
}

func openTable(t *testing.T, dir, name string) *paimon.Table {
	t.Helper()
	table, err := catalogOf(local.New("/", local.Options{NoSync: true}), dir).OpenTable(t.Context(), name)
	require.NoError(t, err)
	return table
}
