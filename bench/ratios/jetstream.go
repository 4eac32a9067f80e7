package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"sluice/bench/meter"
	"sluice/bench/tables"
	"sluice/feeds"
	"sluice/feeds/natsfeed"
	"sluice/internal/embeddednats"
)

// jetStream publishes a table to a stream of a server in this process, and stops
// the clock when all of it is acknowledged.
func jetStream(eventsPerMessage, rows int) func(context.Context, *env) (figures, error) {
	return func(ctx context.Context, e *env) (_ figures, err error) {
		n := e.scaled(rows)
		t, err := e.wideTable(ctx, n)
		if err != nil {
			return nil, err
		}
		server, err := embeddednats.Start(ctx, embeddednats.Options{Addr: "127.0.0.1:0", StoreDir: filepath.Join(e.Scratch(), "nats")})
		if err != nil {
			return nil, err
		}
		defer server.Close()
		nc, err := nats.Connect(server.URL(), nats.WriteBufferSize(natsfeed.WriteBufferBytes))
		if err != nil {
			return nil, err
		}
		defer nc.Close()
		g, err := e.serve(t)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, g.close(ctx)) }()
		p, err := natsfeed.New(nc, g.feed, tables.Name, natsfeed.Options{
			Stream: "BENCH", EnsureStream: true, EventsPerMessage: eventsPerMessage, Start: feeds.Start{Mode: feeds.StartEarliest},
			AckTimeout: time.Minute, // a busy machine is slow, but loses nothing
			Events:     natsfeed.Events{Retry: func(_ string, err error) { fmt.Fprintln(os.Stderr, "publishing again:", err) }},
		})
		if err != nil {
			return nil, err
		}
		m := meter.New()
		m.Start()
		running, stop := context.WithCancel(ctx)
		defer stop()
		done := make(chan error, 1)
		go func() { done <- p.Run(running) }() // ends with stop
		if err := awaitRows(ctx, p, n, done); err != nil {
			return nil, err
		}
		m.Stop()
		stop()
		if err := <-done; err != nil {
			return nil, err
		}
		s, sent := p.Stats(), g.feed.Stats()
		if s.Rows != uint64(n) || s.Sessions != 1 {
			return nil, fmt.Errorf("%d rows of %d were published in %d sessions", s.Rows, n, s.Sessions)
		}
		return figures{
			"events/cpu-s": perSecond(n, m), "events/s": float64(n) / m.Wall.Seconds(),
			"bytes/event": float64(sent.Bytes) / float64(n), "messages": float64(s.Messages),
		}, ctx.Err()
	}
}

// awaitRows waits until so many rows are acknowledged.
func awaitRows(ctx context.Context, p *natsfeed.Publisher, n int, done <-chan error) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for p.Stats().Rows < uint64(n) {
		select {
		case <-tick.C:
		case err := <-done:
			return errors.Join(errors.New("the publisher ended"), err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
