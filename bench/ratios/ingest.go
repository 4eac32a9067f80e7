package main

import (
	"context"

	"sluice/bench/meter"
	"sluice/bench/tables"
)

// flushRows is how many rows the limit sorts at a time, and a commit has here.
const flushRows = 250_000

// ingest writes the rows of the limits in commits of equal size.
func ingest(producer string) func(context.Context, *env) (figures, error) {
	return func(ctx context.Context, e *env) (figures, error) {
		t, err := e.New(ctx, ordersSpec(producer))
		if err != nil {
			return nil, err
		}
		w, err := tables.NewWriter(ctx, t, nil)
		if err != nil {
			return nil, err
		}
		n := e.scaled(limitRows)
		commits := commitsOf(ordersRows(w.Type(), n), e.scaled(flushRows))
		m := meter.New()
		m.Start()
		for _, batches := range commits {
			if err := w.WriteCommit(ctx, batches); err != nil {
				return nil, err
			}
		}
		m.Stop()
		if err := w.Close(ctx); err != nil {
			return nil, err
		}
		bytes, err := tables.Size(t)
		return figures{
			"rows/cpu-s": perSecond(n, m), "rows/s": float64(n) / m.Wall.Seconds(), "bytes/row": float64(bytes) / float64(n),
			"peak-rss-mb": float64(meter.PeakRSS() >> 20),
		}, err
	}
}

// perSecond is a rate by CPU time.
func perSecond(n int, m *meter.Meter) float64 { return float64(n) / m.CPU.Seconds() }
