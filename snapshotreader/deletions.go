package snapshotreader

import (
	"context"
	"errors"
	"fmt"

	"sluice/paimon"
	"sluice/paimon/dv"
	"sluice/paimon/manifest"
)

// vectors finds the deletion vectors of a snapshot by data file. Names of data
// files are unique in a table.
type vectors struct {
	table  *paimon.Table
	ranges map[string]vectorRange
}

type vectorRange struct {
	index *manifest.IndexEntry
	at    manifest.DVRange
}

// loadVectors reads which files of a snapshot have deletion vectors, not the
// vectors themselves.
func loadVectors(ctx context.Context, t *paimon.Table, snap *paimon.Snapshot) (*vectors, error) {
	v := &vectors{table: t}
	if snap.IndexManifest == nil {
		return v, nil
	}
	entries, err := t.IndexEntries(ctx, snap)
	if err != nil {
		return nil, fmt.Errorf("deletion vectors of snapshot %d: %w", snap.ID, err)
	}
	for i := range entries {
		e := &entries[i]
		if e.Type != manifest.IndexDeletionVectors || e.Kind != manifest.Add {
			continue
		}
		if v.ranges == nil {
			v.ranges = make(map[string]vectorRange)
		}
		for _, at := range e.DVRanges {
			v.ranges[at.DataFile] = vectorRange{index: e, at: at}
		}
	}
	return v, nil
}

// of returns the deletions of a data file, nil if there are none.
func (v *vectors) of(ctx context.Context, e *manifest.Entry) (*dv.Vector, error) {
	r, ok := v.ranges[e.File.FileName]
	if !ok {
		return nil, nil
	}
	name := v.table.IndexPath(r.index)
	src, err := v.table.Store.Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("deletion vector of file %s: %w", e.File.FileName, err)
	}
	vec, err := dv.Read(src, src.Size(), r.at)
	if err = errors.Join(err, src.Close()); err != nil {
		return nil, fmt.Errorf("file %s: %w", name, err)
	}
	if vec.Cardinality() == 0 {
		return nil, nil
	}
	return vec, nil
}
