package main

import (
	"context"
	"fmt"

	"sluice/bench/meter"
	"sluice/bench/orders"
	"sluice/bench/tables"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// commits makes n small commits and returns how long each took.
func commits(ctx context.Context, y *tiny, n int) (l meter.Latencies, err error) {
	for range n {
		d, err := y.commit(ctx)
		if err != nil {
			return nil, err
		}
		l.Add(d)
	}
	return l, nil
}

// commit makes small commits, as many as the limit.
func commit(ctx context.Context, e *env) (figures, error) {
	t, err := e.New(ctx, tinySpec())
	if err != nil {
		return nil, err
	}
	y, err := newTiny(ctx, t, 0, nil)
	if err != nil {
		return nil, err
	}
	n := e.scaled(window)
	m := meter.New()
	m.Start()
	l, err := commits(ctx, y, n)
	if err != nil {
		return nil, err
	}
	m.Stop()
	return figures{"p50-ms": l.Millis(0.5), "p99-ms": l.Millis(0.99), "cpu-ms": meter.Millis(m.CPU) / float64(n)}, y.w.Close(ctx)
}

// window is how many commits a median is taken of, which are as many as the
// limit's.
const window = 100

// commitGrowth compares commits after few and many others, and on few and many
// rows.
func commitGrowth(ctx context.Context, e *env) (figures, error) {
	t, err := e.New(ctx, tinySpec())
	if err != nil {
		return nil, err
	}
	y, err := newTiny(ctx, t, 0, nil)
	if err != nil {
		return nil, err
	}
	if _, err := commits(ctx, y, 10); err != nil {
		return nil, err
	}
	early, err := commits(ctx, y, e.scaled(window))
	if err != nil {
		return nil, err
	}
	if _, err := commits(ctx, y, max(0, 5_000/e.divide-window-10)); err != nil {
		return nil, err
	}
	late, err := commits(ctx, y, e.scaled(window))
	if err != nil {
		return nil, err
	}
	if err := y.w.Close(ctx); err != nil {
		return nil, err
	}
	few, err := e.commitsOn(ctx, e.scaled(10_000))
	if err != nil {
		return nil, err
	}
	many, err := e.commitsOn(ctx, e.scaled(10_000_000))
	if err != nil {
		return nil, err
	}
	return figures{
		"after-10-p50-ms": early.Millis(0.5), "after-5000-p50-ms": late.Millis(0.5), "snapshots-ratio": late.Millis(0.5) / early.Millis(0.5),
		"on-10^4-rows-p50-ms": few.Millis(0.5), "on-10^7-rows-p50-ms": many.Millis(0.5), "rows-ratio": many.Millis(0.5) / few.Millis(0.5),
	}, nil
}

// commitsOn makes small commits on a table that has so many rows.
func (e *env) commitsOn(ctx context.Context, n int) (meter.Latencies, error) {
	full, err := e.Prepared(ctx, fmt.Sprintf("tiny-%d", n), tinySpec(), func(t *paimon.Table) error { return fillTiny(ctx, t, n) })
	if err != nil {
		return nil, err
	}
	t, err := e.CopyOf(ctx, tables.Folder(full))
	if err != nil {
		return nil, err
	}
	y, err := newTiny(ctx, t, uint64(n), nil)
	if err != nil {
		return nil, err
	}
	if _, err := commits(ctx, y, 10); err != nil {
		return nil, err
	}
	l, err := commits(ctx, y, e.scaled(window))
	if err != nil {
		return nil, err
	}
	if err := y.w.Close(ctx); err != nil {
		return nil, err
	}
	return l, e.Drop(t)
}

// fillTiny writes n rows in commits of 200,000.
func fillTiny(ctx context.Context, t *paimon.Table, n int) error {
	w, err := tables.NewWriter(ctx, t, nil)
	if err != nil {
		return err
	}
	for at := 0; at < n; at += 200_000 {
		if err := w.WriteCommit(ctx, peerRows(w.Type(), at, min(n, at+200_000))); err != nil {
			return err
		}
	}
	return w.Close(ctx)
}

// peerRows are rows from..to of the peer's, in batches.
func peerRows(typ *rowdata.RowType, from, to int) (batches []*rowdata.Changes) {
	for at := from; at < to; at += batchRows {
		b := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, batchRows)}
		for i := at; i < min(to, at+batchRows); i++ {
			orders.Append(&b.Batch, orders.Seed, orders.Key(orders.Seed, uint64(i)), uint64(i))
		}
		batches = append(batches, b)
	}
	return batches
}
