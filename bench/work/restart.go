package main

import (
	"context"
	"errors"
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

// restart opens the writer of a table that looks up what a key held before, and
// commits 1,000 upserts: without an index, which is built first, then with the one
// that a writer left when it was closed, and with one as it is when the process of
// its writer is killed.
type restart struct{ millions uint64 }

const restartRows = 1_000

func (r restart) prepare(ctx context.Context, h *home) error {
	return lookups(r.millions, false).prepare(ctx, h)
}

func (r restart) run(ctx context.Context, h *home, verify bool) (_ *result, err error) {
	from, err := lookups(r.millions, false).table(ctx, h)
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
	h.caches++
	dir := filepath.Join(h.Scratch(), "restart-index")
	killed := dir + "-killed"
	defer func() { err = errors.Join(err, os.RemoveAll(dir), os.RemoveAll(killed)) }()

	keys := h.scaled(r.millions * million)
	s := &restarts{
		h: h, t: t, keys: keys, written: keys, next: orders.NewUpserts(h.seed, keys), total: meter.New(),
		res: &result{Notes: map[string]any{}},
	}
	if err := s.open(ctx, "lost", dir, nil); err != nil {
		return nil, err
	}
	// What the process leaves behind if it ends while the index is in use.
	leave := func() error { return os.CopyFS(killed, os.DirFS(dir)) }
	if err := s.open(ctx, "closed", dir, leave); err != nil {
		return nil, err
	}
	if err := s.open(ctx, "killed", killed, nil); err != nil {
		return nil, err
	}
	res := newResult(s.rows, s.bytes, s.total)
	for name, value := range s.res.Notes {
		res.note(name, value)
	}
	res.note("fsync", h.fsync)
	if verify {
		if err := digests(ctx, t, newest+1, res); err != nil {
			return nil, err
		}
	}
	return res, h.Drop(t)
}

// restarts are the writers of a run, one after the other.
type restarts struct {
	h             *home
	t             *paimon.Table
	keys, written uint64
	next          interface{ Next() uint64 }
	rows          uint64
	bytes         int64
	total         *meter.Meter
	res           *result
}

// open opens a writer and commits once. before is called before the writer and its
// indexes are closed.
func (s *restarts) open(ctx context.Context, how, dir string, before func() error) (err error) {
	m := meter.New()
	begin := time.Now()
	m.Start()
	cache, err := lookup.OpenCache(lookup.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	built := int64(0)
	w, err := tables.NewWriterWith(ctx, s.t, tablewriter.Options{Lookup: cache, OnRebuild: func(_ string, rows int64) { built = rows }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	r := &rows{typ: w.Type(), seed: s.h.seed}
	for range s.h.scaled(restartRows) {
		r.add(s.next.Next(), s.written)
		s.written++
	}
	if err := w.WriteCommitWith(ctx, r.filled(), tablewriter.CompactWait); err != nil {
		return err
	}
	m.Stop()
	s.rows += s.h.scaled(restartRows)
	s.bytes += r.bytes
	s.total.Wall, s.total.CPU, s.total.GC = s.total.Wall+m.Wall, s.total.CPU+m.CPU, s.total.GC+m.GC
	s.res.note(how+"_ms", meter.Millis(time.Since(begin))).note(how+"_cpu_ms", meter.Millis(m.CPU)).note(how+"_rebuilt_rows", built)
	if before != nil {
		return before()
	}
	return nil
}
