package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sluice/bench/meter"
	"sluice/bench/orders"
	"sluice/bench/tables"
	"sluice/lookup"
	"sluice/paimon"
	"sluice/tablewriter"
)

// upserts writes into a compacted table, half of the rows to keys that are there.
type upserts struct {
	keys   uint64 // preloaded
	rows   uint64
	name   string   // of the prepared table
	opts   []string // of the table
	zipf   bool
	halves bool   // rows with half of their columns
	every  uint64 // a full compaction after so many commits; 0: each commit waits for what is due
	commit uint64 // rows of a commit; 0: upsertCommitRows
}

const upsertCommitRows = 50_000

func lookups(millions uint64, zipf bool) upserts {
	return upserts{keys: millions * million, rows: million, name: "lookup", opts: []string{"changelog-producer", "lookup"}, zipf: zipf}
}

// smallCommits is what a job writes that commits some ten times a second.
func smallCommits() upserts {
	u := lookups(1, false)
	u.commit = 1_000
	return u
}

// twoBuckets has the same rows in a table of two buckets: two shards work at a time.
func twoBuckets() upserts {
	u := lookups(1, false)
	u.name, u.opts = "lookup-2-buckets", append(u.opts, "bucket", "2")
	return u
}

func fullCompaction(every uint64) upserts {
	return upserts{keys: million, rows: million, name: "full-compaction", opts: []string{"changelog-producer", "full-compaction"}, every: every}
}

func partialUpdate() upserts {
	return upserts{
		keys: million, rows: million / 2, name: "lookup-partial-update", halves: true,
		opts: []string{"changelog-producer", "lookup", "merge-engine", "partial-update"},
	}
}

func aggregation() upserts {
	return upserts{
		keys: million, rows: million / 2, name: "lookup-aggregation",
		opts: []string{
			"changelog-producer", "lookup", "merge-engine", "aggregation", "fields.amount.aggregate-function", "sum",
			"fields.weight.aggregate-function", "max", "fields.score.aggregate-function", "max",
		},
	}
}

func (u upserts) prepare(ctx context.Context, h *home) error {
	_, err := u.table(ctx, h)
	return err
}

func (u upserts) table(ctx context.Context, h *home) (*paimon.Table, error) {
	spec := table(u.opts...)
	delete(spec.Options, "write-only")
	return compacted(ctx, h, u.name, h.scaled(u.keys), spec)
}

// compacted is the table of so many keys, fully compacted.
func compacted(ctx context.Context, h *home, name string, keys uint64, spec paimon.SchemaSpec) (*paimon.Table, error) {
	return h.prepare(ctx, fmt.Sprintf("keys-%d-%s", keys, name), spec, func(t *paimon.Table) (err error) {
		cache, _, err := openCache(h)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cache.Close()) }()
		w, err := tables.NewWriterWith(ctx, t, tablewriter.Options{Job: true, Lookup: cache})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Close(ctx)) }()
		if err := write(ctx, h, w, keys, h.scaled(ingestCommitRows), func(ordinal uint64) uint64 { return ordinal }); err != nil {
			return err
		}
		_, err = w.CommitWith(ctx, tablewriter.CompactFull)
		return err
	})
}

// openCache opens a folder for indexes that nobody has used.
func openCache(h *home) (c *lookup.Cache, dir string, err error) {
	h.caches++
	dir = filepath.Join(h.Scratch(), fmt.Sprint("index-", h.caches))
	c, err = lookup.OpenCache(lookup.Options{Dir: dir})
	return c, dir, err
}

// mode is what a commit does about compaction.
func (u upserts) mode(commit uint64) tablewriter.CompactMode {
	switch {
	case u.every == 0:
		return tablewriter.CompactWait
	case commit%u.every == 0:
		return tablewriter.CompactFull
	}
	return tablewriter.CompactNone
}

// run begins, as the peer does, without an index of what the table holds: the
// first commit builds it.
func (u upserts) run(ctx context.Context, h *home, verify bool) (_ *result, err error) {
	from, err := u.table(ctx, h)
	if err != nil {
		return nil, err
	}
	t, err := h.CopyOf(ctx, tables.Folder(from))
	if err != nil {
		return nil, err
	}
	newest, err := t.LatestID(ctx)
	if err != nil {
		return nil, err
	}
	before, err := tables.Size(t)
	if err != nil {
		return nil, err
	}
	cache, dir, err := openCache(h)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cache.Close(), os.RemoveAll(dir)) }()
	w, err := tables.NewWriterWith(ctx, t, tablewriter.Options{Lookup: cache})
	if err != nil {
		return nil, err
	}
	res, err := u.write(ctx, h, w)
	if err = errors.Join(err, w.Close(ctx)); err != nil {
		return nil, err
	}
	after, err := tables.Size(t)
	if err != nil {
		return nil, err
	}
	index, err := tables.FolderSize(dir)
	if err != nil {
		return nil, err
	}
	res.note("disk_mb", (after-before+500_000)/million).note("index_mb", (index+500_000)/million).
		note("index_written_mb", (cache.Stats().BytesWritten+500_000)/million)
	if verify {
		if err := digests(ctx, t, newest+1, res); err != nil {
			return nil, err
		}
	}
	return res, h.Drop(t)
}

// write is the timed part.
func (u upserts) write(ctx context.Context, h *home, w *tables.Writer) (*result, error) {
	keys, n, commitRows := h.scaled(u.keys), h.scaled(u.rows), h.scaled(cmp.Or(u.commit, upsertCommitRows))
	next := orders.NewUpserts(h.seed, keys)
	if u.zipf {
		next = orders.NewZipfUpserts(h.seed, keys)
	}
	r := &rows{typ: w.Type(), seed: h.seed, halves: u.halves}
	var commits meter.Latencies
	m := meter.New()
	for written, commit := uint64(0), uint64(1); written < n; commit++ {
		r.reset()
		for i := uint64(0); i < commitRows && written < n; i++ {
			r.add(next.Next(), keys+written)
			written++
		}
		begin := time.Now()
		m.Start()
		if err := w.WriteCommitWith(ctx, r.filled(), u.mode(commit)); err != nil {
			return nil, err
		}
		m.Stop()
		commits.Add(time.Since(begin))
	}
	return newResult(n, r.bytes, m).note("commits", len(commits)).note("commit_ms_first", meter.Millis(commits[0])).
		note("commit_ms_p50", commits.Millis(0.5)).note("commit_ms_max", commits.Millis(1)).
		note("snapshots", w.Snapshots).note("fsync", h.fsync), nil
}

// digests adds those of the table and of its changelog from a snapshot on.
func digests(ctx context.Context, t *paimon.Table, first int64, res *result) error {
	rows, err := tableDigest(ctx, t)
	if err != nil {
		return err
	}
	changes, err := changesDigest(ctx, t, first)
	if err != nil {
		return err
	}
	res.digest("table", rows).digest("changelog", changes)
	return nil
}
