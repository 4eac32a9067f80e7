package main

import (
	"context"
	"errors"
	"os"
	"runtime/pprof"

	"sluice/bench/meter"
	"sluice/tablewriter"
)

// bufferBytes is the default of the option write-buffer-size.
const bufferBytes = 256 << 20

// memoryWriter streams rows into a table, in commits as the writer cuts them.
func memoryWriter(ctx context.Context, e *env) (figures, error) {
	t, err := e.New(ctx, tinySpec())
	if err != nil {
		return nil, err
	}
	w, err := tablewriter.Open(ctx, t, tablewriter.Options{User: "bench"})
	if err != nil {
		return nil, err
	}
	n := e.scaled(10_000_000)
	m := meter.New()
	m.Start()
	for at := 0; at < n; at += batchRows {
		if _, err := w.Write(ctx, peerRows(w.Type(), at, min(n, at+batchRows))[0], tablewriter.Position{}); err != nil {
			return nil, err
		}
	}
	if err := w.Close(ctx); err != nil {
		return nil, err
	}
	m.Stop()
	peak := meter.PeakRSS()
	return figures{
		"peak-rss-mb": float64(peak) / 1e6, "above-buffer-mb": float64(max(0, peak-bufferBytes)) / 1e6,
		"commits": float64(w.Metrics().Commits), "rows/s": float64(n) / m.Wall.Seconds(),
	}, nil
}

// perReceiver tells what n idle receivers cost the gateway.
func (e *env) perReceiver(ctx context.Context, n int, unit, role string, args func(g *gateway) []any) (figures, error) {
	_, g, err := e.newTinyTable(ctx)
	if err != nil {
		return nil, err
	}
	// One of them before, for what is there once.
	first, err := startChild(ctx, role, args(g)...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(first.goOn(), first.wait(nil)); err != nil {
		return nil, err
	}
	before, rss := meter.LiveBytes(), meter.RSS()
	all, err := startChild(ctx, role, args(g)...)
	if err != nil {
		return nil, err
	}
	after, rssAfter := meter.LiveBytes(), meter.RSS()
	if err := e.writeHeap(); err != nil {
		return nil, err
	}
	if have := g.feed.Stats().Subscriptions; have < n {
		return nil, errors.New("some subscriptions are not there")
	}
	if err := errors.Join(all.goOn(), all.wait(nil)); err != nil {
		return nil, err
	}
	return figures{
		unit + "-kb": float64(after-before) / float64(n) / 1e3, unit + "-rss-kb": float64(rssAfter-rss) / float64(n) / 1e3,
	}, g.close(ctx)
}

// writeHeap writes a profile of what is on the heap, if it is wanted.
func (e *env) writeHeap() error {
	if e.heap == "" {
		return nil
	}
	f, err := os.Create(e.heap)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

func memoryGRPC(ctx context.Context, e *env) (figures, error) {
	n := e.scaled(2_000)
	return e.perReceiver(ctx, n, "stream", "receive-grpc", func(g *gateway) []any {
		return []any{g.grpcAddr, "latest", "columns", n, 20, 100, 0, 1}
	})
}

func memoryWebSocket(ctx context.Context, e *env) (figures, error) {
	n := e.scaled(2_000)
	return e.perReceiver(ctx, n, "socket", "receive-websocket", func(g *gateway) []any { return []any{g.httpAddr, n, 0} })
}
