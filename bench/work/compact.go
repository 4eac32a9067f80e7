package main

import (
	"context"
	"errors"

	"sluice/bench/meter"
	"sluice/bench/tables"
	"sluice/tablewriter"
)

// compact compacts the eight sorted runs into one.
func compact(ctx context.Context, h *home, verify bool) (*result, error) {
	from, err := scan{}.table(ctx, h)
	if err != nil {
		return nil, err
	}
	t, err := h.CopyOf(ctx, tables.Folder(from))
	if err != nil {
		return nil, err
	}
	before, err := tables.Size(t)
	if err != nil {
		return nil, err
	}
	w, err := tables.NewWriterWith(ctx, t, tablewriter.Options{Job: true})
	if err != nil {
		return nil, err
	}
	m := meter.New()
	m.Start()
	_, err = w.CommitWith(ctx, tablewriter.CompactFull)
	m.Stop()
	res := newResult(runs*h.scaled(rowsPerRun), before, m)
	if err = errors.Join(err, w.Close(ctx)); err != nil {
		return nil, err
	}
	after, err := tables.Size(t)
	if err != nil {
		return nil, err
	}
	res.note("disk_mb", (after-before+500_000)/million).note("fsync", h.fsync)
	if verify {
		d, err := tableDigest(ctx, t)
		if err != nil {
			return nil, err
		}
		res.digest("table", d)
	}
	return res, h.Drop(t)
}
