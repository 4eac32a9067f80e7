package main

import (
	"context"
	"time"

	"sluice/bench/meter"
	"sluice/bench/orders"
	"sluice/bench/tables"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// generate makes rows and digests them: what the other works spend outside of
// what they measure.
func generate(ctx context.Context, h *home, _ bool) (*result, error) {
	typ, err := rowType()
	if err != nil {
		return nil, err
	}
	making, hashing := meter.New(), meter.New()
	r := &rows{typ: typ, seed: h.seed}
	var d orders.Digest
	const step = 50_000
	n := h.scaled(million)
	for from := uint64(0); from < n && ctx.Err() == nil; from += step {
		making.Start()
		r.reset()
		for i := from; i < min(n, from+step); i++ {
			r.add(i, i)
		}
		making.Stop()
		hashing.Start()
		for _, b := range r.filled() {
			d.Add(&b.Batch, nil)
		}
		hashing.Stop()
	}
	res := newResult(n, r.bytes, making).digest("rows", d)
	return res.note("digest_ns_per_row", hashing.Wall.Nanoseconds()/int64(n)), ctx.Err()
}

// rowType is that of the tables.
func rowType() (*rowdata.RowType, error) {
	t := &rowdata.RowType{}
	for i, f := range orders.Fields() {
		field, err := paimon.ParseField(f)
		if err != nil {
			return nil, err
		}
		field.ID = i
		t.Fields = append(t.Fields, field)
	}
	return t, nil
}

// ingest writes rows with new keys in commits of equal size.
type ingest struct{ producer string }

const (
	ingestRows       = 5 * million
	ingestCommitRows = 200_000
)

func (g ingest) run(ctx context.Context, h *home, verify bool) (_ *result, err error) {
	t, err := h.New(ctx, table("changelog-producer", g.producer))
	if err != nil {
		return nil, err
	}
	n, commitRows := h.scaled(ingestRows), h.scaled(ingestCommitRows)
	w, err := tables.NewWriter(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	r := &rows{typ: w.Type(), seed: h.seed}
	var commits meter.Latencies
	m := meter.New()
	for written := uint64(0); written < n; {
		r.reset()
		for i := uint64(0); i < commitRows && written < n; i++ {
			r.add(written, written)
			written++
		}
		begin := time.Now()
		m.Start()
		if err := w.WriteCommit(ctx, r.filled()); err != nil {
			return nil, err
		}
		m.Stop()
		commits.Add(time.Since(begin))
	}
	res := newResult(n, r.bytes, m)
	if err := w.Close(ctx); err != nil {
		return nil, err
	}
	bytes, err := tables.Size(t)
	if err != nil {
		return nil, err
	}
	res.note("commits", len(commits)).note("commit_ms_first", meter.Millis(commits[0])).
		note("commit_ms_p50", commits.Millis(0.5)).note("commit_ms_max", commits.Millis(1)).
		note("snapshots", w.Snapshots).note("disk_mb", (bytes+500_000)/million).note("fsync", h.fsync)
	if verify {
		d, err := tableDigest(ctx, t)
		if err != nil {
			return nil, err
		}
		res.digest("table", d)
		if g.producer != "none" {
			if d, err = changesDigest(ctx, t, 1); err != nil {
				return nil, err
			}
			res.digest("changelog", d)
		}
	}
	return res, h.Drop(t)
}
