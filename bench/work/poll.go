package main

import (
	"context"
	"errors"
	"time"

	"sluice/bench/meter"
	"sluice/bench/tables"
	"sluice/snapshotreader"
)

// tinyRows is how many rows the small commits of poll and growth have.
const tinyRows = 10

// poll commits few rows at a time and times how a reader finds and reads each
// commit.
func poll(ctx context.Context, h *home, _ bool) (_ *result, err error) {
	t, err := h.New(ctx, table("changelog-producer", "input"))
	if err != nil {
		return nil, err
	}
	w, err := tables.NewWriter(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	r := &rows{typ: w.Type(), seed: h.seed}
	s := &sink{hash: true}
	tailer, err := snapshotreader.Open(ctx, t, snapshotreader.Start{Mode: snapshotreader.StartSnapshot, Snapshot: 1}, snapshotreader.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tailer.Close()) }()
	var commits, reads, empty meter.Latencies
	n := h.scaled(1_000)
	m := meter.New()
	for c := range n {
		r.reset()
		for i := c * tinyRows; i < (c+1)*tinyRows; i++ {
			r.add(i, i)
		}
		begin := time.Now()
		if err := w.WriteCommit(ctx, r.filled()); err != nil {
			return nil, err
		}
		commits.Add(time.Since(begin))

		m.Start()
		begin = time.Now()
		if err := readCommit(ctx, tailer, s); err != nil {
			return nil, err
		}
		m.Stop()
		reads.Add(time.Since(begin))

		begin = time.Now()
		if id, err := t.LatestID(ctx); err != nil || id != int64(c+1) {
			return nil, errors.Join(err, errors.New("the newest snapshot is not the one committed last"))
		}
		empty.Add(time.Since(begin))
	}
	res := newResult(s.count, r.bytes, m)
	if err := w.Close(ctx); err != nil {
		return nil, err
	}
	res.note("commits", n).note("commit_ms_p50", commits.Millis(0.5)).
		note("plan_and_read_ms_p50", reads.Millis(0.5)).note("plan_and_read_ms_p99", reads.Millis(0.99)).
		note("plan_and_read_cpu_ms", thousandths(m.CPU.Seconds()*1e3/float64(n))).
		note("empty_poll_ms_p50", empty.Millis(0.5)).note("empty_poll_ms_p99", empty.Millis(0.99)).
		note("fsync", h.fsync).digest("changelog", s.sum)
	return res, h.Drop(t)
}

// readCommit reads the changes of one snapshot.
func readCommit(ctx context.Context, t *snapshotreader.Tailer, s *sink) error {
	for {
		b, err := t.Next(ctx)
		if err != nil {
			return err
		}
		s.add(&b.Rows.Batch, b.Rows.Kinds)
		if b.Last {
			return nil
		}
	}
}
