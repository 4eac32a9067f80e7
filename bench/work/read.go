package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/bench/meter"
	"sluice/bench/orders"
	"sluice/bench/tables"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

// sink is what timed reads hand their rows to.
type sink struct {
	hash  bool
	sum   orders.Digest
	count uint64
}

// add takes a batch; kinds nil is a table's row.
func (s *sink) add(b *rowdata.Batch, kinds []rowdata.RowKind) {
	s.count += uint64(b.N)
	if s.hash {
		s.sum.Add(b, kinds)
	}
}

func (s *sink) name() string {
	if s.hash {
		return "digest"
	}
	return "count"
}

// readTable hands the merged rows of the newest snapshot to the sink.
func readTable(ctx context.Context, t *paimon.Table, s *sink) (err error) {
	snap, err := t.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	r, err := snapshotreader.Scan(ctx, t, snap, snapshotreader.ScanSpec{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.add(&b.Rows.Batch, nil)
	}
}

// readChanges hands the changes from a snapshot to the newest one to the sink.
func readChanges(ctx context.Context, t *paimon.Table, first int64, s *sink) (err error) {
	r, err := snapshotreader.Open(ctx, t, snapshotreader.Start{Mode: snapshotreader.StartSnapshot, Snapshot: first},
		snapshotreader.Options{Until: snapshotreader.Until{Mode: snapshotreader.UntilLatest}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.add(&b.Rows.Batch, b.Rows.Kinds)
	}
}

func tableDigest(ctx context.Context, t *paimon.Table) (orders.Digest, error) {
	s := &sink{hash: true}
	err := readTable(ctx, t, s)
	return s.sum, err
}

func changesDigest(ctx context.Context, t *paimon.Table, first int64) (orders.Digest, error) {
	s := &sink{hash: true}
	err := readChanges(ctx, t, first, s)
	return s.sum, err
}

func prepareTail(ctx context.Context, h *home) error {
	_, err := level0Input(ctx, h)
	return err
}

// level0Input is the table that ingest-input leaves.
func level0Input(ctx context.Context, h *home) (*paimon.Table, error) {
	n, commitRows := h.scaled(ingestRows), h.scaled(ingestCommitRows)
	return h.prepare(ctx, fmt.Sprintf("level0-%d-input", n), table("changelog-producer", "input"), func(t *paimon.Table) error {
		return fill(ctx, h, t, n, commitRows, func(ordinal uint64) uint64 { return ordinal })
	})
}

// tail reads the whole changelog of a table.
func tail(ctx context.Context, h *home, _ bool) (*result, error) {
	t, err := level0Input(ctx, h)
	if err != nil {
		return nil, err
	}
	s := &sink{hash: h.digest}
	m := meter.New()
	m.Start()
	if err := readChanges(ctx, t, 1, s); err != nil {
		return nil, err
	}
	m.Stop()
	return readResult(t, s.count, 2, m, s, "changelog")
}

// readResult is that of a timed read of one of so many equal shares of a table.
func readResult(t *paimon.Table, rows uint64, share int64, m *meter.Meter, s *sink, digest string) (*result, error) {
	res := newResult(rows, 0, m).note("consumer", s.name()).note("rows_out", s.count)
	bytes, err := tables.Size(t)
	res.Bytes = bytes / share
	if s.hash {
		res.digest(digest, s.sum)
	}
	return res, err
}

// scan reads the merged rows of eight sorted runs, or of what their compaction
// left.
type scan struct{ compacted bool }

const (
	runs       = 8
	rowsPerRun = 500_000
)

func (c scan) prepare(ctx context.Context, h *home) error {
	_, err := c.table(ctx, h)
	return err
}

func (c scan) table(ctx context.Context, h *home) (*paimon.Table, error) {
	n := h.scaled(rowsPerRun)
	name := fmt.Sprintf("runs-%dx%d", runs, n)
	if c.compacted {
		dir, err := h.peerTable("runs-compacted"+name[len("runs"):], "scan-compacted")
		if err != nil {
			return nil, err
		}
		return h.At(ctx, dir)
	}
	return h.prepare(ctx, name, table(), func(t *paimon.Table) error {
		return fill(ctx, h, t, runs*n, n, newRunKeys(n).index)
	})
}

// runKeys names the keys of the runs' rows: new ones, and in each run but the
// first 3 of 10 that update an earlier run's.
type runKeys struct{ perRun, created, earlier, walk uint64 }

func newRunKeys(perRun uint64) *runKeys { return &runKeys{perRun: perRun} }

// index is to be called for the rows in their order.
func (k *runKeys) index(ordinal uint64) uint64 {
	run, j := ordinal/k.perRun, ordinal%k.perRun
	if j == 0 {
		k.earlier, k.walk = k.created, 0
	}
	if run > 0 && j%10 < 3 {
		k.walk++
		return (k.walk - 1) * 1_000_003 % k.earlier
	}
	k.created++
	return k.created - 1
}

func (c scan) run(ctx context.Context, h *home, _ bool) (*result, error) {
	t, err := c.table(ctx, h)
	if err != nil {
		return nil, err
	}
	s := &sink{hash: h.digest}
	m := meter.New()
	m.Start()
	if err := readTable(ctx, t, s); err != nil {
		return nil, err
	}
	m.Stop()
	snap, err := t.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if snap.TotalRecordCount == nil {
		return nil, fmt.Errorf("snapshot %d does not tell how many rows its files have", snap.ID)
	}
	return readResult(t, uint64(*snap.TotalRecordCount), 1, m, s, "table")
}
