package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sluice/ingest"
	"sluice/internal/gctarget"
	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/maintenance"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

type writeFlags struct {
	format   string
	rows     int
	interval time.Duration
	user     string
	decimals string

	overwrite string
	lookupDir string
	limits    compactionFlags
}

func (a *app) writeCommand() *cobra.Command {
	var f writeFlags
	cmd := a.tableCmd("write DB.T [FILE|-]", "Write records from a file or standard input", cobra.RangeArgs(1, 2), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
		return a.write(cmd, t, rest, &f)
	})
	cmd.Long = `Write records from a file or standard input.

JSON lines are {"kind":"+U","row":{…}} or a bare object, which is an upsert;
{"commit":true} ends a commit. Everything is committed at the end of the input.
With --user and a file the position is stored with each commit: running the same
command again after a failure goes on after the last committed line. A file is
known by its full path: give one with new content another name.

The garbage collector keeps memory near write-buffer-size of the table and some
200 MB; set GOMEMLIMIT to choose another limit.`
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "jsonl", "jsonl, csv or debezium-json")
	fl.IntVar(&f.rows, "commit-rows", 0, "commit after so many rows (default: at commit marks and at the end)")
	fl.DurationVar(&f.interval, "commit-interval", 0, "commit after so much time")
	fl.StringVar(&f.user, "user", "", "commit user; one of your own makes the command restartable (default: a new one)")
	fl.StringVar(&f.overwrite, "overwrite", "", "replace rows in one commit without changelog: all, or those of the partitions that occur (partitions)")
	fl.StringVar(&f.lookupDir, "lookup-dir", "", "folder of the lookup indexes, a cache (default: in the user's cache folder)")
	f.limits.register(fl)
	fl.StringVar(&f.decimals, "decimals", "base64", "how Debezium wrote DECIMAL: base64 (decimal.handling.mode=precise) or text")
	return cmd
}

func newDecoder(r io.Reader, t *rowdata.RowType, f *writeFlags) (ingest.Decoder, error) {
	switch f.format {
	case "jsonl":
		return ingest.NewJSONL(r, t), nil
	case "csv":
		return ingest.NewCSV(r, t), nil
	case "debezium-json":
		o := ingest.DebeziumOptions{}
		switch f.decimals {
		case "base64":
		case "text":
			o.Decimals = ingest.DecimalText
		default:
			return nil, usagef("--decimals %q: want base64 or text", f.decimals)
		}
		return ingest.NewDebezium(r, t, o), nil
	}
	return nil, usagef("--format %q: want jsonl, csv or debezium-json", f.format)
}

// expireCommits is after how many commits old snapshots are looked for.
const expireCommits = 100

// tableSink writes batches of one source to a table.
type tableSink struct {
	w      *tablewriter.Writer
	source string
	rows   *rowdata.RowType
}

// Write implements ingest.Sink. The pump reuses its batch, which the writer
// keeps until it is committed, so the rows are copied.
func (s *tableSink) Write(ctx context.Context, rows *rowdata.Changes, position string) error {
	own := &rowdata.Changes{Kinds: append([]rowdata.RowKind(nil), rows.Kinds...), Batch: *rowdata.NewBatch(s.rows, rows.N)}
	own.AppendRange(&rows.Batch, 0, rows.N)
	_, err := s.w.Write(ctx, own, s.position(position))
	return err
}

// Commit implements ingest.Sink: an empty batch carries the position, which may
// have moved since the last rows.
func (s *tableSink) Commit(ctx context.Context, position string) (int64, error) {
	if s.source != "" {
		none := &rowdata.Changes{Batch: *rowdata.NewBatch(s.rows, 0)}
		if _, err := s.w.Write(ctx, none, s.position(position)); err != nil {
			return 0, err
		}
	}
	return s.w.Commit(ctx)
}

// position is zero for a source that does not start again.
func (s *tableSink) position(value string) tablewriter.Position {
	if s.source == "" {
		return tablewriter.Position{}
	}
	return tablewriter.Position{Source: s.source, Value: value}
}

// sourceOf names a file as a source. Files of one name in different folders are
// different sources.
func sourceOf(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if source := "file:" + filepath.ToSlash(abs); len(source) <= tablewriter.SourceBytesMax {
		return source, nil
	}
	return fmt.Sprintf("file:%x", sha256.Sum256([]byte(abs))), nil
}

func (a *app) write(cmd *cobra.Command, t *paimon.Table, rest []string, f *writeFlags) (err error) {
	ctx := cmd.Context()
	if f.rows < 0 || f.interval < 0 {
		return usagef("--commit-rows %d, --commit-interval %v: want 0 or more", f.rows, f.interval)
	}
	in, name, source := cmd.InOrStdin(), "standard input", ""
	if len(rest) == 1 && rest[0] != "-" {
		file, err := os.Open(rest[0])
		if err != nil {
			return err
		}
		defer file.Close()
		in, name = file, rest[0]
		if f.user != "" {
			if source, err = sourceOf(name); err != nil {
				return err
			}
		}
	}
	bar := a.newProgress(cmd, "written")
	// Rows wait for a commit of ours, not for the writer's clock.
	gctarget.Set(writerBudget(t))
	o := tablewriter.Options{
		User: f.user, CommitInterval: 24 * time.Hour, CommitRows: 1 << 40, LookupDir: f.lookupDir, StallWait: -1,
		OnStall: func(s tablewriter.Stall) {
			if !s.Over {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s has %d sorted runs: waiting for compaction\n", s.Bucket, s.Runs)
			}
		},
		OnRebuild: func(bucket string, rows int64) { bar.update("lookup index of %s, %d rows", bucket, rows) },
	}
	if o.CompactionLimits, err = f.limits.limits(); err != nil {
		return err
	}
	if o.Overwrite, err = overwriteOf(f.overwrite); err != nil {
		return err
	}
	w, err := tablewriter.Open(ctx, t, o)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithCancel(ctx)
		defer cancel()
		if err != nil {
			cancel() // drops what the pump did not commit
		}
		if closeErr := w.Close(closing); err == nil {
			err = closeErr
		}
	}()
	skip := int64(0)
	if source != "" {
		point, err := w.Restore(ctx)
		if err != nil {
			return err
		}
		if p, ok := point.Position(source); ok {
			if skip, err = strconv.ParseInt(p.Value, 10, 64); err != nil {
				return fmt.Errorf("stored position %q of %s: %w", p.Value, source, err)
			}
		}
	}
	dec, err := newDecoder(in, w.Type(), f)
	if err != nil {
		return err
	}
	expire := func() error { // as every writer that is not write-only does after its commits
		if writeOnly, err := t.Options().Bool(paimon.OptWriteOnly); err != nil || writeOnly {
			return err
		}
		_, err := maintenance.ExpireDue(ctx, t, time.Now())
		return err
	}
	var expireErr error
	done, err := ingest.NewPump(dec, &tableSink{w: w, source: source, rows: w.Type()}, w.Type(), ingest.PumpOptions{
		CommitRows: f.rows, CommitInterval: f.interval, Skip: skip,
		OnCommit: func(p ingest.Progress) {
			bar.update("%d rows in %d commits", p.Rows, p.Commits)
			if p.Commits%expireCommits == 0 && expireErr == nil {
				expireErr = expire()
			}
		},
	}).Run(ctx)
	bar.clear()
	if err != nil {
		return fmt.Errorf("%s: %w (committed: %d rows, up to snapshot %d)", name, err, done.Rows, done.Snapshot)
	}
	if err := cmp.Or(expireErr, expire()); err != nil {
		return fmt.Errorf("%d rows are committed, but expiring old snapshots failed: %w", done.Rows, err)
	}
	return a.done(cmd, map[string]any{"rows": done.Rows, "commits": done.Commits, "snapshot": done.Snapshot, "skipped": skip},
		"%d rows in %d commits, newest snapshot %d%s", done.Rows, done.Commits, done.Snapshot, skippedText(skip))
}

// overwriteOf reads the flag --overwrite.
func overwriteOf(text string) (*commit.Overwrite, error) {
	switch text {
	case "":
		return nil, nil
	case "all":
		return &commit.Overwrite{}, nil
	case "partitions":
		return &commit.Overwrite{Dynamic: true}, nil
	}
	return nil, usagef("--overwrite %q: want all or partitions", text)
}

func skippedText(skip int64) string {
	if skip == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d records were committed before)", skip)
}
