package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sluice/client"
	"sluice/internal/config"
	"sluice/internal/demo"
	"sluice/internal/server"
	"sluice/paimon"
	"sluice/paimon/maintenance"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

type demoFlags struct {
	dir   string
	rate  int
	span  time.Duration
	quiet bool
}

// Addresses of the demo; a taken one is replaced by a free one.
const (
	demoGRPC = "127.0.0.1:7070"
	demoHTTP = "127.0.0.1:7071"
	demoNATS = "127.0.0.1:4222"
	anyAddr  = "127.0.0.1:0"
)

// demoRateMax bounds the rate: one batch a tick is held in memory.
const demoRateMax = 1_000_000

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A table, a change stream and all transports in one process",
		Long: `Creates a warehouse with a table shop.orders, replays the changes that Debezium
captured of a real PostgreSQL, then generated ones, and shows them as a
subscriber gets them. gRPC, WebSocket, HTTP and an embedded NATS server listen
on loopback; the commands to look at them are printed.

Ctrl-C stops it with nothing lost. Started again, it goes on from there.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.rate < 1 || f.rate > demoRateMax {
				return usagef("--rate %d: want 1 to %d changes a second", f.rate, demoRateMax)
			}
			if f.span < 0 {
				return usagef("--for %v: want a time to run, such as 10s", f.span)
			}
			if cmd.Flags().Changed("warehouse") {
				return usagef("the demo has a warehouse of its own: name its folder with --dir")
			}
			return a.demo(cmd, &f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.dir, "dir", "sluice-demo", "folder of the demo, made if there is none")
	fl.IntVar(&f.rate, "rate", 20, "changes a second")
	fl.DurationVar(&f.span, "for", 0, "end after so much time (default: at Ctrl-C)")
	fl.BoolVar(&f.quiet, "quiet", false, "do not print the changes")
	return cmd
}

// demoRun is a running demo.
type demoRun struct {
	f      *demoFlags
	out    io.Writer
	srv    *server.Server
	table  *paimon.Table
	w      *tablewriter.Writer
	stream *demo.Stream

	told     atomic.Int64  // changes that the snapshots tell
	commits  atomic.Int64  // snapshots made
	last     atomic.Int64  // newest snapshot made here
	shown    atomic.Int64  // rows that the subscriber got
	seen     atomic.Int64  // newest snapshot that the subscriber has got whole
	lag      atomic.Int64  // of the last commit, from its time to the subscriber, nanoseconds
	caughtUp chan struct{} // signalled when seen moves
}

func (a *app) demo(cmd *cobra.Command, f *demoFlags) (err error) {
	ctx := cmd.Context()
	r := &demoRun{f: f, out: &syncWriter{w: cmd.OutOrStdout()}, caughtUp: make(chan struct{}, 1)}
	if err := r.open(ctx); err != nil {
		return errors.Join(err, r.release(ctx))
	}
	// The server outlives ctx: first the writer commits, then the subscriber gets
	// what was committed, then the server stops.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	var serveErr, viewErr error
	tasks.Go(func() { serveErr = r.srv.Run(serving) })
	viewing, stopViewing := context.WithCancel(context.WithoutCancel(ctx))
	subscribed := make(chan struct{})
	tasks.Go(func() { viewErr = r.view(viewing, subscribed, a.json) })
	defer func() {
		stopViewing()
		stopServing()
		tasks.Wait()
		r.stream.Close()
		err = errors.Join(err, serveErr, viewErr)
		if err == nil {
			err = r.summary(cmd, a)
		}
	}()
	select {
	case <-subscribed:
	case <-time.After(5 * time.Second):
		return errors.Join(errors.New("the demo's subscriber could not subscribe"), r.w.Close(ctx))
	}
	if !a.json {
		r.greet()
	}
	writing, cancel := ctx, context.CancelFunc(func() {})
	if f.span > 0 {
		writing, cancel = context.WithTimeout(ctx, f.span)
	}
	defer cancel()
	writeErr := r.write(writing)
	closing, cancelClosing := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancelClosing()
	if err := errors.Join(writeErr, r.w.Close(closing)); err != nil {
		return err
	}
	return r.await(closing)
}

// open makes what is missing and opens the table, the server and the stream.
func (r *demoRun) open(ctx context.Context) error {
	warehouse := filepath.Join(r.f.dir, "warehouse")
	if err := os.MkdirAll(warehouse, 0o755); err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	srv, err := server.New(ctx, demoConfig(r.f.dir, warehouse, freeAddr), quiet)
	if errors.Is(err, syscall.EADDRINUSE) { // somebody took one since it was looked at
		srv, err = server.New(ctx, demoConfig(r.f.dir, warehouse, func(string) string { return anyAddr }), quiet)
	}
	if err != nil {
		return err
	}
	r.srv = srv
	if err := r.openTable(ctx); err != nil {
		return err
	}
	r.w, err = tablewriter.Open(ctx, r.table, tablewriter.Options{
		User: "sluice-demo", CommitInterval: 100 * time.Millisecond, LookupDir: filepath.Join(r.f.dir, "lookup"),
		OnCommit: func(s *paimon.Snapshot) {
			r.commits.Add(1)
			if s.ChangelogRecordCount != nil {
				r.told.Add(*s.ChangelogRecordCount)
			}
			r.last.Store(s.ID)
			srv.Committed(demo.Table)
		},
	})
	if err != nil {
		return err
	}
	point, err := r.w.Restore(ctx)
	if err != nil {
		return err
	}
	stored, _ := point.Position("demo")
	at, err := demo.ParsePosition(stored.Value)
	if err != nil {
		return err
	}
	next, done, err := r.rows(ctx)
	if err != nil {
		return err
	}
	defer done()
	r.stream, err = demo.Open(r.w.Type(), at, next, time.Now)
	return err
}

// release gives up what open has opened before it failed.
func (r *demoRun) release(ctx context.Context) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	var err error
	if r.w != nil {
		err = r.w.Close(ctx)
	}
	if r.srv != nil {
		err = errors.Join(err, r.srv.Run(over))
	}
	return err
}

func (r *demoRun) openTable(ctx context.Context) error {
	cat := r.srv.Catalog()
	t, err := cat.OpenTable(ctx, demo.Table)
	if errors.Is(err, paimon.ErrTableNotFound) || errors.Is(err, paimon.ErrDatabaseNotFound) {
		if err := cat.CreateDatabase(ctx, "shop"); err != nil && !errors.Is(err, paimon.ErrDatabaseExists) {
			return err
		}
		t, err = cat.CreateTable(ctx, demo.Table, paimon.SchemaSpec{
			Schema:  paimon.ColumnsSpec{Fields: demo.Fields(), PK: []string{"id"}},
			Options: map[string]string{"bucket": "1", "changelog-producer": "lookup", "snapshot.time-retained": "10 min"},
		})
	}
	r.table = t
	return err
}

// rows reads the table as the stream wants it.
func (r *demoRun) rows(ctx context.Context) (next func() (*rowdata.Batch, error), done func(), err error) {
	s, err := r.table.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return func() (*rowdata.Batch, error) { return nil, io.EOF }, func() {}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	scan, err := snapshotreader.Scan(ctx, r.table, s, snapshotreader.ScanSpec{})
	if err != nil {
		return nil, nil, err
	}
	return func() (*rowdata.Batch, error) {
		b, err := scan.Next(ctx)
		if err != nil {
			return nil, err
		}
		return &b.Rows.Batch, nil
	}, func() { _ = scan.Close() }, nil
}

func demoConfig(dir, warehouse string, addr func(wanted string) string) *config.Config {
	c := &config.Config{
		Warehouse: warehouse,
		Listen:    config.Listen{GRPC: addr(demoGRPC), HTTP: addr(demoHTTP)},
		NATS:      config.NATS{Embedded: config.EmbeddedNATS{Enabled: true, Listen: addr(demoNATS), StoreDir: filepath.Join(dir, "jetstream")}},
		Feeds:     []config.Feed{{Table: demo.Table, NATS: &config.FeedNATS{Stream: "ORDERS", EnsureStream: true}}},
	}
	c.SetDefaults()
	return c
}

// freeAddr returns the address, or one with another port if it is taken.
func freeAddr(addr string) string {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return anyAddr
	}
	_ = l.Close()
	return addr
}

// tick is how often changes are made, expireEvery how often old snapshots go.
const (
	tick        = 50 * time.Millisecond
	expireEvery = 30 * time.Second
)

// write makes changes at the rate until ctx ends.
func (r *demoRun) write(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	expire := time.NewTicker(expireEvery)
	defer expire.Stop()
	due := 1.0 // the first change at once
	for {
		if n := int(due); n > 0 {
			due -= float64(n)
			if err := r.batch(ctx, n); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case now := <-expire.C:
			if _, err := maintenance.ExpireDue(ctx, r.table, now); err != nil && ctx.Err() == nil {
				return fmt.Errorf("expire snapshots: %w", err)
			}
		case <-ticker.C:
			due += float64(r.f.rate) * tick.Seconds()
		}
	}
}

// batch writes n changes with the position after them.
func (r *demoRun) batch(ctx context.Context, n int) error {
	rows := &rowdata.Changes{Batch: *rowdata.NewBatch(r.w.Type(), 2*n)}
	for range n {
		if err := r.stream.Next(rows); err != nil {
			return err
		}
	}
	_, err := r.w.Write(ctx, rows, tablewriter.Position{Source: "demo", Value: r.stream.Position().String()})
	return err
}

// view subscribes like any client and prints what it gets.
func (r *demoRun) view(ctx context.Context, subscribed chan<- struct{}, asJSON bool) error {
	c, err := client.Dial(r.srv.GRPCAddr())
	if err != nil {
		return err
	}
	defer c.Close()
	sub := c.Subscribe(demo.Table, client.From("latest"), client.JSON())
	defer sub.Close()
	lines := &changeLines{w: r.out, json: asJSON, color: isTerminal(os.Stdout)}
	status := newStatus(r)
	for {
		e, err := sub.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the demo's subscriber: %w", err)
		}
		switch e.Kind {
		case client.EventSubscribed:
			if subscribed != nil {
				close(subscribed)
				subscribed = nil
			}
		case client.EventRows:
			r.shown.Add(int64(e.Rows.Len()))
			for i := 0; i < e.Rows.Len() && !r.f.quiet; i++ {
				if err := lines.write(e.Rows.Snapshot, e.Rows.Kind(i).String(), e.Rows.JSON(i), e.Rows.Cursor(i+1)); err != nil {
					return err
				}
			}
		case client.EventCommitEnd:
			r.seen.Store(e.Commit.Snapshot)
			r.lag.Store(int64(time.Since(e.Commit.Time)))
			select {
			case r.caughtUp <- struct{}{}:
			default:
			}
		}
		if !asJSON {
			status.show()
		}
	}
}

// await waits until the subscriber has got what was committed.
func (r *demoRun) await(ctx context.Context) error {
	for r.seen.Load() < r.last.Load() {
		select {
		case <-r.caughtUp:
		case <-ctx.Done():
			return fmt.Errorf("the subscriber is at snapshot %d, the table at %d", r.seen.Load(), r.last.Load())
		}
	}
	return nil
}

func (r *demoRun) greet() {
	fmt.Fprintf(r.out, `table shop.orders in %s, changelog producer %s, %d changes a second. In other terminals:

  gateway tail shop.orders --server %s --from full
  grpcurl -plaintext -d '{"feed":"shop.orders","start":{"earliest":{}},"format":"FORMAT_JSON"}' %s sluice.v1.FeedService/Subscribe
  websocat -n --protocol sluice.v1.json ws://%s/v1/ws <<< '{"type":"subscribe","feed":"shop.orders","start":"latest"}'
  nats --server %s subscribe 'chg.shop.orders.>'
  curl 'http://%s/v1/tables/shop.orders/rows?limit=5'
  gateway read shop.orders --warehouse %s --where "status = 'NEW'"

`, filepath.Join(r.f.dir, "warehouse"), r.table.Schema().ChangelogProducer(), r.f.rate, r.srv.GRPCAddr(), r.srv.GRPCAddr(), r.srv.HTTPAddr(), r.srv.NATSURL(), r.srv.HTTPAddr(), filepath.Join(r.f.dir, "warehouse"))
}

// summary says what was done, and that all of it arrived.
func (r *demoRun) summary(cmd *cobra.Command, a *app) error {
	if r.shown.Load() != r.told.Load() {
		return fmt.Errorf("%d changes were committed, the subscriber got %d", r.told.Load(), r.shown.Load())
	}
	return a.done(cmd, map[string]any{"rows": r.told.Load(), "commits": r.commits.Load(), "snapshot": r.last.Load(), "delivered": r.shown.Load()},
		"-- %d rows in %d commits, newest snapshot %d; the subscriber got each of them once. Start the demo again to go on.",
		r.told.Load(), r.commits.Load(), r.last.Load())
}

// syncWriter lets several goroutines write whole lines.
type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
