package main

import (
	"context"

	"sluice/bench/tables"
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
	m, err := tables.CompactFully(ctx, t)
	if err != nil {
		return nil, err
	}
	res := newResult(runs*h.scaled(rowsPerRun), before, m)
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
