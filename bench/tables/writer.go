package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// Writer is a writer that commits when it is told to and at no other time, so
// that a run makes the snapshots that its definition says.
type Writer struct {
	*tablewriter.Writer
	Commits int64 // made
	first   int64 // newest snapshot before them
}

// NewWriter opens the writer of a table. onCommit may be nil.
func NewWriter(ctx context.Context, t *paimon.Table, onCommit func(*paimon.Snapshot)) (*Writer, error) {
	first, err := t.LatestID(ctx)
	if err != nil && !errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, err
	}
	w, err := tablewriter.Open(ctx, t, tablewriter.Options{
		User: "bench", CommitInterval: 24 * time.Hour, CommitRows: 1 << 40, CommitBytes: 1 << 40, OnCommit: onCommit,
	})
	if err != nil {
		return nil, err
	}
	return &Writer{Writer: w, first: first}, nil
}

// WriteCommit hands batches over and returns when they are committed, in a
// snapshot of their own. Their memory is the caller's again.
func (w *Writer) WriteCommit(ctx context.Context, batches []*rowdata.Changes) error {
	for _, b := range batches {
		if _, err := w.Write(ctx, b, tablewriter.Position{}); err != nil {
			return err
		}
	}
	id, err := w.Commit(ctx)
	if err != nil {
		return err
	}
	if w.Commits++; id != w.first+w.Commits {
		return fmt.Errorf("commit %d made snapshot %d, not %d", w.Commits, id, w.first+w.Commits)
	}
	return nil
}
