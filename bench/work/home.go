package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sluice/bench/orders"
	"sluice/bench/tables"
	"sluice/paimon"
)

// home has the settings and the tables.
type home struct {
	*settings
	*tables.Home
	caches int // folders of indexes so far
}

// table is the definition of every table; the rest are Paimon's defaults.
func table(more ...string) paimon.SchemaSpec {
	o := map[string]string{
		"bucket": "1", "file.format": "parquet", "file.compression": "zstd", "file.compression.zstd-level": "1",
		"write-only": "true",
	}
	for i := 0; i < len(more); i += 2 {
		o[more[i]] = more[i+1]
	}
	return paimon.SchemaSpec{Schema: paimon.ColumnsSpec{Fields: orders.Fields(), PK: []string{"id"}}, Options: o}
}

// prepare returns the prepared table of that name for the seed.
func (h *home) prepare(ctx context.Context, name string, spec paimon.SchemaSpec, fill func(*paimon.Table) error) (*paimon.Table, error) {
	return h.Prepared(ctx, fmt.Sprintf("%s-seed-%d", name, h.seed), spec, fill)
}

// peerTable returns the folder of a table that the peer prepared for a work: the
// newest, should several builds of the peer have made it.
func (h *home) peerTable(name, work string) (string, error) {
	name = fmt.Sprintf("%s-seed-%d", name, h.seed)
	marks, err := filepath.Glob(filepath.Join(h.peer, "data-*", "fixtures", name, tables.Ready))
	if err != nil {
		return "", err
	}
	if len(marks) == 0 {
		return "", fmt.Errorf("no table %s in the peer's home %s: run `bench/peer/bench-paimon --divide %d --warmup 0 --reps 1 %s`, which prepares it", name, h.peer, h.divide, work)
	}
	newest := marks[0]
	for _, m := range marks[1:] {
		if modified(m) > modified(newest) {
			newest = m
		}
	}
	return filepath.Dir(newest), nil
}

func modified(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}
