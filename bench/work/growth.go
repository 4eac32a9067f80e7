package main

import (
	"context"
	"fmt"
	"time"

	"sluice/bench/meter"
	"sluice/bench/orders"
	"sluice/bench/tables"
)

// growth makes commits of ten upserts, one after another, on a compacted table:
// what one costs after 10, 100, 1,000 and 5,000 others.
type growth struct{ keys uint64 }

const window = 50 // commits that are looked at after a mark

var marks = []int{10, 100, 1_000, 5_000}

func (g growth) prepare(_ context.Context, h *home) error {
	_, err := g.from(h)
	return err
}

// from is the folder of the compacted table.
func (g growth) from(h *home) (string, error) {
	work := "commit-10k-write-only"
	if g.keys == million {
		work = "commit-1m-write-only"
	}
	return h.peerTable(fmt.Sprintf("keys-%d-none", h.scaled(g.keys)), work)
}

func (g growth) run(ctx context.Context, h *home, verify bool) (*result, error) {
	from, err := g.from(h)
	if err != nil {
		return nil, err
	}
	t, err := h.CopyOf(ctx, from)
	if err != nil {
		return nil, err
	}
	before, err := tables.Size(t)
	if err != nil {
		return nil, err
	}
	w, err := tables.NewWriter(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	last := max(marks[0], marks[len(marks)-1]/int(h.divide))
	keys := h.scaled(g.keys)
	upserts, ordinal := orders.NewUpserts(h.seed, keys), keys
	r := &rows{typ: w.Type(), seed: h.seed}
	var commits meter.Latencies
	cpu := []time.Duration{0} // after so many commits
	m := meter.New()
	for range last + window {
		r.reset()
		for range tinyRows {
			r.add(upserts.Next(), ordinal)
			ordinal++
		}
		m.Start()
		begin := time.Now()
		if err := w.WriteCommit(ctx, r.filled()); err != nil {
			return nil, err
		}
		commits.Add(time.Since(begin))
		m.Stop()
		cpu = append(cpu, m.CPU)
	}
	res := newResult(uint64(len(commits))*tinyRows, r.bytes, m)
	if err := w.Close(ctx); err != nil {
		return nil, err
	}
	after, err := tables.Size(t)
	if err != nil {
		return nil, err
	}
	res.note("commits", len(commits)).note("ms_max", commits.Millis(1)).note("snapshots", w.Snapshots).
		note("disk_mb", (after-before+500_000)/million).note("fsync", h.fsync)
	for _, mark := range marks {
		if mark <= last {
			part := commits[mark : mark+window]
			res.note(fmt.Sprint("ms_p50_after_", mark), part.Millis(0.5)).note(fmt.Sprint("ms_p90_after_", mark), part.Millis(0.9)).
				note(fmt.Sprint("cpu_ms_after_", mark), thousandths(meter.Millis(cpu[mark+window]-cpu[mark])/window))
		}
	}
	if verify {
		d, err := tableDigest(ctx, t)
		if err != nil {
			return nil, err
		}
		res.digest("table", d)
	}
	return res, h.Drop(t)
}
