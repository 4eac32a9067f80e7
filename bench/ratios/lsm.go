package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"sluice/bench/meter"
	"sluice/bench/tables"
	"sluice/lookup"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// compactingSpec is the table of the limits without write-only.
func compactingSpec(producer string) paimon.SchemaSpec {
	s := ordersSpec(producer)
	delete(s.Options, "write-only")
	return s
}

// inserts are the rows of the limits, all of them there.
func inserts(typ *rowdata.RowType, n int) *rowdata.Changes {
	c := ordersRows(typ, n)
	clear(c.Kinds)
	return c
}

// The upserts of the limit PipelineLookupChangelog.
const (
	lookupRows    = 20_000 // of a commit
	lookupCommits = 10
)

// ingestLookup writes upserts, four of five to keys that are there, in commits
// that wait for their changelog. The index of what was there is there before.
func ingestLookup(ctx context.Context, e *env) (_ figures, err error) {
	n := e.scaled(limitRows)
	from, err := e.Prepared(ctx, fmt.Sprintf("compacted-%d", n), compactingSpec("lookup"), func(t *paimon.Table) error {
		return fillCompacted(ctx, e, t, n)
	})
	if err != nil {
		return nil, err
	}
	t, err := e.CopyOf(ctx, tables.Folder(from))
	if err != nil {
		return nil, err
	}
	cache, err := lookup.OpenCache(lookup.Options{Dir: filepath.Join(e.Scratch(), "index")})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	w, err := tables.NewWriterWith(ctx, t, tablewriter.Options{Lookup: cache})
	if err != nil {
		return nil, err
	}
	first, commits := upserts(inserts(w.Type(), n), e.scaled(lookupRows))
	if err := w.WriteCommitWith(ctx, first, tablewriter.CompactWait); err != nil { // builds the index
		return nil, err
	}
	before, err := tables.Size(t)
	if err != nil {
		return nil, err
	}
	rows := len(commits) * e.scaled(lookupRows)
	m := meter.New()
	m.Start()
	for _, batches := range commits {
		if err := w.WriteCommitWith(ctx, batches, tablewriter.CompactWait); err != nil {
			return nil, err
		}
	}
	m.Stop()
	if err := w.Close(ctx); err != nil {
		return nil, err
	}
	after, err := tables.Size(t)
	return figures{
		"rows/cpu-s": perSecond(rows, m), "rows/s": float64(rows) / m.Wall.Seconds(), "bytes/row": float64(after-before) / float64(rows),
		"peak-rss-mb": float64(meter.PeakRSS() >> 20),
	}, err
}

// fillCompacted writes all rows and compacts them.
func fillCompacted(ctx context.Context, e *env, t *paimon.Table, n int) (err error) {
	w, err := tables.NewWriterWith(ctx, t, tablewriter.Options{Job: true, LookupDir: filepath.Join(e.Scratch(), "index-of-prepared")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	for _, batches := range commitsOf(inserts(w.Type(), n), e.scaled(flushRows)) {
		if err := w.WriteCommit(ctx, batches); err != nil {
			return err
		}
	}
	_, err = w.CommitWith(ctx, tablewriter.CompactFull)
	return err
}

// upserts are a commit of one row, and those of the limit: of a key that is
// there, or in one case of five of a new one, the values of any row.
func upserts(all *rowdata.Changes, commitRows int) (first []*rowdata.Changes, commits [][]*rowdata.Changes) {
	r := rand.New(rand.NewPCG(13, 13))
	one := &rowdata.Changes{Batch: *rowdata.NewBatch(all.Type, 1)}
	one.AppendFrom(&all.Batch, 0)
	for range lookupCommits {
		seen := map[int64]bool{}
		var batches []*rowdata.Changes
		var b *rowdata.Changes
		for len(seen) < commitRows {
			key := all.Cols[0].I64[r.IntN(all.N)]
			if r.IntN(5) == 0 {
				key = 1<<40 + r.Int64N(1<<40)
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			if b == nil || b.N == batchRows {
				b = &rowdata.Changes{Batch: *rowdata.NewBatch(all.Type, batchRows)}
				batches = append(batches, b)
			}
			b.AppendFrom(&all.Batch, r.IntN(all.N))
			b.Cols[0].I64[b.N-1] = key
		}
		commits = append(commits, batches)
	}
	return []*rowdata.Changes{one}, commits
}

// compactRuns is how many sorted runs the limit PipelineCompact8 merges.
const compactRuns = 8

// compactAll compacts sorted runs into one: each row is in one of them, and of
// one in four an older version in another.
func compactAll(ctx context.Context, e *env) (figures, error) {
	n := e.scaled(limitRows)
	rows := 0
	spec := ordersSpec("none")
	from, err := e.Prepared(ctx, fmt.Sprintf("runs-%d", n), spec, func(t *paimon.Table) error {
		return write(ctx, t, func(typ *rowdata.RowType) [][]*rowdata.Changes { return runsOf(inserts(typ, n)) })
	})
	if err != nil {
		return nil, err
	}
	t, err := e.CopyOf(ctx, tables.Folder(from))
	if err != nil {
		return nil, err
	}
	snap, err := t.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if snap.TotalRecordCount != nil {
		rows = int(*snap.TotalRecordCount)
	}
	m, err := tables.CompactFully(ctx, t)
	if err != nil {
		return nil, err
	}
	return figures{
		"rows/cpu-s": perSecond(rows, m), "rows/s": float64(rows) / m.Wall.Seconds(), "rows": float64(rows),
		"peak-rss-mb": float64(meter.PeakRSS() >> 20),
	}, nil
}

// runsOf deals rows to commits, each of which becomes a sorted run.
func runsOf(all *rowdata.Changes) [][]*rowdata.Changes {
	r := rand.New(rand.NewPCG(11, 11))
	var runs [compactRuns]*rowdata.Changes
	for k := range runs {
		runs[k] = &rowdata.Changes{Batch: *rowdata.NewBatch(all.Type, all.N/compactRuns)}
	}
	for i := range all.N {
		runs[r.IntN(compactRuns)].AppendFrom(&all.Batch, i)
		if r.IntN(4) == 0 {
			runs[r.IntN(compactRuns)].AppendFrom(&all.Batch, i)
		}
	}
	var commits [][]*rowdata.Changes
	for _, run := range runs {
		commits = append(commits, []*rowdata.Changes{run})
	}
	return commits
}
