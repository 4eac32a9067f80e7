package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"sluice/bench/meter"
	"sluice/bench/orders"
	"sluice/lookup"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

// points looks up keys in an index of a compacted table: keys that are there, or
// that are not.
type points struct{ hits bool }

// pointBatch is how many keys are looked up at a time, in their order.
const pointBatch = 1000

func (p points) prepare(ctx context.Context, h *home) error {
	_, err := p.table(ctx, h)
	return err
}

func (points) table(ctx context.Context, h *home) (*paimon.Table, error) {
	return compacted(ctx, h, "none", h.scaled(million), table())
}

func (p points) run(ctx context.Context, h *home, _ bool) (_ *result, err error) {
	t, err := p.table(ctx, h)
	if err != nil {
		return nil, err
	}
	cache, dir, err := openCache(h)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cache.Close(), os.RemoveAll(dir)) }()
	typ := t.Schema().RowType()
	index, err := cache.Open(ctx, lookup.ID{Table: "bench"}, lookup.Spec{Row: typ, Key: []int{0}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	build := meter.New()
	build.Start()
	if err := buildIndex(ctx, t, index); err != nil {
		return nil, err
	}
	build.Stop()

	n := h.scaled(million)
	s := &sink{hash: h.digest}
	m := meter.New()
	m.Start()
	if err := p.look(ctx, h, index, typ, n, s); err != nil {
		return nil, err
	}
	m.Stop()
	res := newResult(n, int64(n)*8, m).note("found", s.count).note("consumer", s.name()).note("batch", pointBatch).
		note("build_s", thousandths(build.Wall.Seconds())).note("build_cpu_s", thousandths(build.CPU.Seconds()))
	if s.hash {
		res.digest("found", s.sum)
	}
	return res, nil
}

// look looks up n keys and hands what it finds to the sink.
func (p points) look(ctx context.Context, h *home, index *lookup.Index, typ *rowdata.RowType, n uint64, s *sink) error {
	next := orders.NewLookups(h.seed, n)
	ids := make([]int64, 0, pointBatch)
	keys, found := rowdata.NewBatch(typ, pointBatch), rowdata.NewKeyValues(typ, pointBatch)
	rows, at := make([]int32, pointBatch), make([]int32, pointBatch)
	for i := range rows {
		rows[i] = int32(i)
	}
	for from := uint64(0); from < n; from += pointBatch {
		ids = ids[:0]
		for range min(pointBatch, n-from) {
			i := next.Next()
			if !p.hits {
				i += n
			}
			ids = append(ids, orders.Key(h.seed, i))
		}
		slices.Sort(ids)
		keys.Reset()
		for _, id := range ids {
			keys.Cols[0].AppendI64(id)
			keys.CloseRow()
		}
		found.Reset()
		if err := index.Lookup(ctx, keys, rows[:len(ids)], found, at[:len(ids)]); err != nil {
			return err
		}
		s.addFound(found, at[:len(ids)])
	}
	return nil
}

// addFound takes the rows of a lookup: a row stands in the answer once for each
// key that asked for it.
func (s *sink) addFound(found *rowdata.KeyValues, at []int32) {
	if !slices.Contains(at, -1) && len(at) == found.N {
		s.add(&found.Batch, nil)
		return
	}
	one := rowdata.NewBatch(found.Type, 1)
	for _, i := range at {
		if i >= 0 {
			one.Reset()
			one.AppendFrom(&found.Batch, int(i))
			s.add(one, nil)
		}
	}
}

// buildIndex puts all rows of a table into an index.
func buildIndex(ctx context.Context, t *paimon.Table, index *lookup.Index) (err error) {
	snap, err := t.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	scan, err := snapshotreader.Scan(ctx, t, snap, snapshotreader.ScanSpec{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scan.Close()) }()
	return index.Rebuild(ctx, lookup.State{Snapshot: snap.ID}, &scanSource{ctx, scan}, nil)
}

// scanSource is the rows of a scan as records.
type scanSource struct {
	ctx  context.Context
	scan *snapshotreader.Scanner
}

// Next implements [lookup.Source].
func (s *scanSource) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	b, err := s.scan.Next(s.ctx)
	if errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	if err != nil {
		return 0, err
	}
	dst.Batch.AppendRange(&b.Rows.Batch, 0, b.Rows.N)
	for range b.Rows.N {
		dst.Seq, dst.Kinds = append(dst.Seq, 0), append(dst.Kinds, rowdata.Insert)
	}
	return b.Rows.N, nil
}
