package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"sluice/paimon"
	"sluice/snapshotreader"
)

type readFlags struct {
	snapshot int64
	tag, at  string
	columns  []string
	where    string
	limit    int64
}

func (a *app) readCommand() *cobra.Command {
	var f readFlags
	cmd := a.tableCmd("read DB.T", "Print the rows of a table at a snapshot", cobra.ExactArgs(1), func(cmd *cobra.Command, t *paimon.Table, _ []string) error {
		return a.read(cmd, t, &f)
	})
	fl := cmd.Flags()
	fl.Int64Var(&f.snapshot, "snapshot", 0, "number of the snapshot (default: the newest)")
	fl.StringVar(&f.tag, "tag", "", "read what a tag names")
	fl.StringVar(&f.at, "at", "", "read the newest snapshot at a time: 2026-11-30T12:00:00, epoch milliseconds, or -5m")
	fl.StringSliceVar(&f.columns, "columns", nil, "columns to print, in this order")
	fl.StringVar(&f.where, "where", "", `rows to print, such as "amount > 10 AND status IN ('NEW', 'PAID')"`)
	fl.Int64Var(&f.limit, "limit", 0, "print at most so many rows")
	cmd.MarkFlagsMutuallyExclusive("snapshot", "tag", "at")
	return cmd
}

// snapshotOf finds the snapshot that the flags name; nil: the table is empty.
func (f *readFlags) snapshotOf(ctx context.Context, t *paimon.Table) (*paimon.Snapshot, error) {
	var s *paimon.Snapshot
	var err error
	switch {
	case f.snapshot != 0:
		return t.Snapshot(ctx, f.snapshot)
	case f.tag != "":
		tag, err := t.Tag(ctx, f.tag)
		if err != nil {
			return nil, err
		}
		return tag.Snapshot, nil
	case f.at != "":
		at, err := parseTime(f.at, time.Now())
		if err != nil {
			return nil, err
		}
		if s, err = t.SnapshotAtOrBefore(ctx, at); err != nil {
			return nil, fmt.Errorf("at %s: %w", at.Format(time.RFC3339), err)
		}
		return s, nil
	}
	s, err = t.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, nil
	}
	return s, err
}

func (a *app) read(cmd *cobra.Command, t *paimon.Table, f *readFlags) error {
	ctx := cmd.Context()
	s, err := f.snapshotOf(ctx, t)
	if err != nil {
		return err
	}
	if s == nil {
		return nil
	}
	// A read of the newest snapshot has the newest schema, time travel that of
	// its snapshot, as with the original.
	schema := t.Schema()
	if f.snapshot != 0 || f.tag != "" || f.at != "" {
		if schema, err = t.SchemaByID(ctx, s.SchemaID); err != nil {
			return err
		}
	}
	if err := checkColumns(schema, f.columns); err != nil {
		return err
	}
	spec := snapshotreader.ScanSpec{Schema: schema, Columns: f.columns}
	if f.where != "" {
		if spec.Filter, err = snapshotreader.ParseFilter(f.where, schema); err != nil {
			return &usageError{fmt.Errorf("--where: %w", err)}
		}
	}
	scan, err := snapshotreader.Scan(ctx, t, s, spec)
	if err != nil {
		return err
	}
	defer scan.Close()
	out := newRowPrinter(cmd.OutOrStdout(), a.json, false)
	for {
		b, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for i := range b.Rows.N {
			if f.limit > 0 && out.count >= f.limit {
				return out.flush()
			}
			if err := out.print(&b.Rows.Batch, b.Rows.Kind(i), i); err != nil {
				return err
			}
		}
	}
	if err := out.flush(); err != nil || a.json {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "(%d rows, snapshot %d)\n", out.count, s.ID)
	return err
}
