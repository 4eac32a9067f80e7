package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/bench/meter"
	"sluice/bench/tables"
	"sluice/paimon"
)

// tailGRPC sends a whole table to one gRPC subscriber.
func tailGRPC(format string) func(context.Context, *env) (figures, error) {
	return func(ctx context.Context, e *env) (figures, error) {
		n := e.scaled(limitRows)
		t, err := e.ordersTable(ctx, n)
		if err != nil {
			return nil, err
		}
		last, err := t.LatestID(ctx)
		if err != nil {
			return nil, err
		}
		g, err := e.serve(t)
		if err != nil {
			return nil, err
		}
		to, err := startChild(ctx, "receive-grpc", g.grpcAddr, "earliest", format, 1, 1, 100, last, 0)
		if err != nil {
			return nil, err
		}
		f, err := g.measure(ctx, n, []*child{to}, to.goOn)
		return rename(f, "events"), errors.Join(err, g.close(ctx))
	}
}

// measure takes the time from begin until all receivers have got their n rows.
func (g *gateway) measure(ctx context.Context, n int, receivers []*child, begin func() error) (figures, error) {
	m := meter.New()
	m.Start()
	if err := begin(); err != nil {
		return nil, err
	}
	for _, c := range receivers {
		if err := c.wait(nil); err != nil {
			return nil, err
		}
	}
	m.Stop()
	s := g.feed.Stats()
	if s.RowsDelivered != int64(n) {
		return nil, fmt.Errorf("%d rows were delivered, not %d", s.RowsDelivered, n)
	}
	return figures{
		"deliveries/cpu-s": perSecond(n, m), "deliveries/s": float64(n) / m.Wall.Seconds(),
		"bytes/delivery": float64(s.Bytes) / float64(n), "read-behind-window": float64(s.ReaderRows),
		"peak-rss-mb": float64(meter.PeakRSS() >> 20),
	}, ctx.Err()
}

// rename calls deliveries what a single subscriber gets.
func rename(f figures, unit string) figures {
	for _, suffix := range []string{"/cpu-s", "/s"} {
		if v, ok := f["deliveries"+suffix]; ok {
			f[unit+suffix] = v
			delete(f, "deliveries"+suffix)
		}
	}
	return f
}

// fanout lets another process commit rows while receivers wait for them.
func (e *env) fanout(ctx context.Context, spec paimon.SchemaSpec, kind string, rows, subscribers int, receive func(g *gateway) (*child, error)) (figures, error) {
	t, err := e.New(ctx, spec)
	if err != nil {
		return nil, err
	}
	g, err := e.serve(t)
	if err != nil {
		return nil, err
	}
	from, err := startChild(ctx, "write-rows", tables.Folder(t), kind, rows)
	if err != nil {
		return nil, err
	}
	to, err := receive(g)
	if err != nil {
		return nil, err
	}
	f, err := g.measure(ctx, rows*subscribers, []*child{from, to}, from.goOn)
	return f, errors.Join(err, g.close(ctx))
}

func fanoutGRPC(ctx context.Context, e *env) (figures, error) {
	const streams = 100
	return e.fanout(ctx, wideSpec(), "wide", e.scaled(300_000), streams, func(g *gateway) (*child, error) {
		return startChild(ctx, "receive-grpc", g.grpcAddr, "latest", "columns", streams, 10, 100, 1, 1)
	})
}

func fanoutWebSocket(ctx context.Context, e *env) (figures, error) {
	clients := e.scaled(1_000)
	return e.fanout(ctx, ordersSpec("input"), "orders", e.scaled(2_000), clients, func(g *gateway) (*child, error) {
		return startChild(ctx, "receive-websocket", g.httpAddr, clients, 1)
	})
}

// newTinyTable is an empty table of small commits, served.
func (e *env) newTinyTable(ctx context.Context) (*paimon.Table, *gateway, error) {
	t, err := e.New(ctx, tinySpec())
	if err != nil {
		return nil, nil, err
	}
	g, err := e.serve(t)
	return t, g, err
}
