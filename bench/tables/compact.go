package tables

import (
	"context"
	"errors"

	"sluice/bench/meter"
	"sluice/paimon"
	"sluice/tablewriter"
)

// CompactFully compacts all buckets of a table fully, as a compaction job does, and
// returns what that took.
func CompactFully(ctx context.Context, t *paimon.Table) (*meter.Meter, error) {
	w, err := NewWriterWith(ctx, t, tablewriter.Options{Job: true})
	if err != nil {
		return nil, err
	}
	m := meter.New()
	m.Start()
	_, err = w.CommitWith(ctx, tablewriter.CompactFull)
	m.Stop()
	return m, errors.Join(err, w.Close(ctx))
}
