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
	Commits   int64 // made
	Snapshots int64 // made by them: two by a commit that compacts, unless the rows went straight above level 0
	newest    int64
}

// NewWriter opens the writer of a table. onCommit may be nil.
func NewWriter(ctx context.Context, t *paimon.Table, onCommit func(*paimon.Snapshot)) (*Writer, error) {
	return NewWriterWith(ctx, t, tablewriter.Options{OnCommit: onCommit})
}

// NewWriterWith is NewWriter with options of the writer; when it commits is not
// among them.
func NewWriterWith(ctx context.Context, t *paimon.Table, o tablewriter.Options) (*Writer, error) {
	newest, err := t.LatestID(ctx)
	if err != nil && !errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, err
	}
	o.User, o.CommitInterval, o.CommitRows, o.CommitBytes = "bench", 24*time.Hour, 1<<40, 1<<40
	w, err := tablewriter.Open(ctx, t, o)
	if err != nil {
		return nil, err
	}
	return &Writer{Writer: w, newest: newest}, nil
}

// WriteCommit hands batches over and returns when they are committed, in a
// snapshot of their own. Their memory is the caller's again.
func (w *Writer) WriteCommit(ctx context.Context, batches []*rowdata.Changes) error {
	return w.WriteCommitWith(ctx, batches, tablewriter.CompactNone)
}

// WriteCommitWith is WriteCommit of a commit that does so much about compaction.
func (w *Writer) WriteCommitWith(ctx context.Context, batches []*rowdata.Changes, mode tablewriter.CompactMode) error {
	for _, b := range batches {
		if _, err := w.Write(ctx, b, tablewriter.Position{}); err != nil {
			return err
		}
	}
	id, err := w.CommitWith(ctx, mode)
	if err != nil {
		return err
	}
	w.Commits++
	if id != w.newest+1 && id != w.newest+2 {
		return fmt.Errorf("commit %d made snapshot %d after %d, which makes not one commit of it", w.Commits, id, w.newest)
	}
	w.Snapshots += id - w.newest
	w.newest = id
	return nil
}
