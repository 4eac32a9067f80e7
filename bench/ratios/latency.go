package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/bench/meter"
	"sluice/bench/tables"
	"sluice/paimon"
)

// pause is what lies between the begins of two commits.
const pause = 10 * time.Millisecond

// latency takes the time from the moment that a commit is durable until a
// subscriber in another process has all its rows. The writer is in the process of
// the gateway, which it gives a hint, or in a third one, and the gateway polls.
func latency(polled bool) func(context.Context, *env) (figures, error) {
	return func(ctx context.Context, e *env) (figures, error) {
		t, g, err := e.newTinyTable(ctx)
		if err != nil {
			return nil, err
		}
		n := e.scaled(1_000)
		to, err := startChild(ctx, "receive-times", g.grpcAddr, n)
		if err != nil {
			return nil, err
		}
		commit := g.commitHere
		if polled {
			commit = commitElsewhere
		}
		durable, err := commit(ctx, t, n)
		if err != nil {
			return nil, err
		}
		var arrived []seen
		if err := to.wait(&arrived); err != nil {
			return nil, err
		}
		l, err := between(durable, arrived)
		if err != nil {
			return nil, err
		}
		return figures{"p50-ms": l.Millis(0.5), "p90-ms": l.Millis(0.9), "p99-ms": l.Millis(0.99), "max-ms": l.Millis(1)}, g.close(ctx)
	}
}

// commitHere commits in this process and tells the feed.
func (g *gateway) commitHere(ctx context.Context, t *paimon.Table, n int) (durable []seen, err error) {
	y, err := newTiny(ctx, t, 0, func(s *paimon.Snapshot) {
		durable = append(durable, seen{s.ID, time.Now().UnixNano()})
		g.feed.Poke()
	})
	if err != nil {
		return nil, err
	}
	err = errors.Join(y.commitEvery(ctx, n, pause), y.w.Close(ctx))
	return durable, err
}

// commitElsewhere commits in another process.
func commitElsewhere(ctx context.Context, t *paimon.Table, n int) (durable []seen, err error) {
	from, err := startChild(ctx, "write-times", tables.Folder(t), n, pause.Milliseconds())
	if err != nil {
		return nil, err
	}
	if err := from.goOn(); err != nil {
		return nil, err
	}
	err = from.wait(&durable)
	return durable, err
}

// between returns how long each commit was on its way. All must have arrived, in
// order. Clocks are those of one host; a commit may be seen before its writer
// has looked at the clock, which is 0.
func between(durable, arrived []seen) (l meter.Latencies, err error) {
	if len(durable) != len(arrived) {
		return nil, fmt.Errorf("%d commits were made and %d arrived", len(durable), len(arrived))
	}
	for i, d := range durable {
		if arrived[i].Snapshot != d.Snapshot {
			return nil, fmt.Errorf("commit %d arrived in place of %d", arrived[i].Snapshot, d.Snapshot)
		}
		l.Add(max(0, time.Duration(arrived[i].Nanos-d.Nanos)))
	}
	return l, nil
}
