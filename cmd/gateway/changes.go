package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

func (a *app) changesCommand() *cobra.Command {
	var from, to, limit int64
	var cursor string
	cmd := a.tableCmd("changes DB.T --from N [--to M]", "Print the changes of a range of snapshots, in delivery order", cobra.ExactArgs(1), func(cmd *cobra.Command, t *paimon.Table, _ []string) error {
		start := snapshotreader.Start{Mode: snapshotreader.StartEarliest}
		switch {
		case cursor != "":
			c, err := snapshotreader.ParseCursor(cursor)
			if err != nil {
				return &usageError{err}
			}
			start = snapshotreader.At(c)
		case from > 0:
			start = snapshotreader.Start{Mode: snapshotreader.StartSnapshot, Snapshot: from}
		case cmd.Flags().Changed("from"):
			return usagef("--from %d: want a snapshot number from 1", from)
		}
		return a.changes(cmd, t, start, to, limit)
	})
	fl := cmd.Flags()
	fl.Int64Var(&from, "from", 0, "first snapshot (default: the earliest that is there)")
	fl.Int64Var(&to, "to", 0, "last snapshot (default: the newest)")
	fl.StringVar(&cursor, "cursor", "", "begin at a cursor instead")
	fl.Int64Var(&limit, "limit", 0, "print at most so many changes")
	cmd.MarkFlagsMutuallyExclusive("from", "cursor")
	return cmd
}

func (a *app) changes(cmd *cobra.Command, t *paimon.Table, start snapshotreader.Start, to, limit int64) error {
	ctx := cmd.Context()
	until := "latest"
	if to > 0 {
		until = "snapshot:" + strconv.FormatInt(to, 10)
	}
	bound, err := snapshotreader.ParseUntil(until)
	if err != nil {
		return err
	}
	latest, err := t.LatestID(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil
	}
	if err != nil {
		return err
	}
	if to > latest {
		return fmt.Errorf("--to %d: the newest snapshot is %d", to, latest)
	}
	if start.Mode == snapshotreader.StartSnapshot && start.Snapshot > latest {
		return fmt.Errorf("--from %d: the newest snapshot is %d", start.Snapshot, latest)
	}
	tail, err := snapshotreader.Open(ctx, t, start, snapshotreader.Options{Until: bound})
	if err != nil {
		return err
	}
	defer tail.Close()
	out := &changePrinter{rowPrinter: newRowPrinter(cmd.OutOrStdout(), a.json, true)}
	for {
		b, err := tail.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out.flush()
		}
		if err != nil {
			return err
		}
		for i := range b.Rows.N {
			if limit > 0 && out.count >= limit {
				return out.flush()
			}
			next := b.Cursor(i + 1)
			if i == b.Rows.N-1 {
				next = b.Next
			}
			if err := out.change(b.Snapshot.ID, &b.Rows, i, next.String()); err != nil {
				return err
			}
		}
	}
}

// changePrinter prints changes with their snapshot and the cursor after them.
type changePrinter struct {
	*rowPrinter
	snapshot int64
	schema   *rowdata.RowType
}

func (p *changePrinter) change(snapshot int64, rows *rowdata.Changes, i int, cursor string) error {
	if !p.json {
		if rows.Type != p.schema || snapshot != p.snapshot {
			if err := p.flush(); err != nil {
				return err
			}
			p.grid = nil
			p.schema, p.snapshot = rows.Type, snapshot
			if _, err := fmt.Fprintf(p.w, "-- snapshot %d\n", snapshot); err != nil {
				return err
			}
		}
		return p.print(&rows.Batch, rows.Kind(i), i)
	}
	p.count++
	b := append(p.buf[:0], `{"snapshot":`...)
	b = strconv.AppendInt(b, snapshot, 10)
	b = append(b, `,"kind":"`...)
	b = append(b, rows.Kind(i).String()...)
	b = append(b, `","row":`...)
	b = rowdata.AppendJSONObject(b, &rows.Batch, i)
	b = append(b, `,"cursor":"`...)
	b = append(b, cursor...)
	p.buf = append(b, "\"}\n"...)
	_, err := p.w.Write(p.buf)
	return err
}
