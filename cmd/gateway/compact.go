package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/gctarget"
	"sluice/paimon"
	"sluice/tablewriter"
)

type compactFlags struct {
	full      bool
	watch     bool
	poll      time.Duration
	user      string
	lookupDir string
	limits    compactionFlags
}

func (a *app) compactCommand() *cobra.Command {
	var f compactFlags
	cmd := a.tableCmd("compact DB.T", "Compact the files of a table, once or for as long as it runs", cobra.ExactArgs(1), func(cmd *cobra.Command, t *paimon.Table, _ []string) error {
		if f.poll <= 0 {
			return usagef("--poll %v: want a time above 0", f.poll)
		}
		return a.compact(cmd, t, &f)
	})
	cmd.Long = `Compact the files of a table, once or for as long as it runs.

It runs beside the table's writers, of this or another engine. For tables whose
writers are write-only, it makes the changelog of the producers lookup and
full-compaction. Where somebody else compacts the same bucket at the same time,
one of the two finds that out when it commits, and does its work again.

What compactions take of the machine is bounded by --compactions,
--compaction-memory and --compaction-rate.`
	fl := cmd.Flags()
	fl.BoolVar(&f.full, "full", false, "merge each bucket into one sorted run (default: what the table's strategy asks for)")
	fl.BoolVar(&f.watch, "watch", false, "go on with what is written, until Ctrl-C")
	fl.DurationVar(&f.poll, "poll", time.Second, "how often --watch looks for new snapshots")
	fl.StringVar(&f.user, "user", "", "commit user (default: a new one)")
	fl.StringVar(&f.lookupDir, "lookup-dir", "", "folder of the lookup indexes, a cache (default: in the user's cache folder)")
	f.limits.register(fl)
	return cmd
}

func (a *app) compact(cmd *cobra.Command, t *paimon.Table, f *compactFlags) (err error) {
	ctx := cmd.Context()
	limits, err := f.limits.limits()
	if err != nil {
		return err
	}
	total := tablewriter.JobRound{}
	gctarget.Set(0)
	job, err := tablewriter.OpenJob(ctx, t, tablewriter.JobOptions{
		Full: f.full, Poll: f.poll, Writer: tablewriter.Options{User: f.user, LookupDir: f.lookupDir, CompactionLimits: limits},
		OnRound: func(r tablewriter.JobRound) {
			total.Snapshot, total.BytesIn, total.BytesOut = r.Snapshot, total.BytesIn+r.BytesIn, total.BytesOut+r.BytesOut
			total.Changelog, total.Conflicts, total.Took = total.Changelog+r.Changelog, total.Conflicts+r.Conflicts, total.Took+r.Took
			total.Waited += r.Waited
			// A line that cannot be written is no reason to end the job.
			_ = a.printRound(cmd, r)
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if closeErr := job.Close(closing); err == nil {
			err = closeErr
		}
	}()
	if f.watch {
		if err := job.Watch(ctx); err != nil {
			return err
		}
		return a.summarize(cmd, total)
	}
	r, err := job.Run(ctx)
	if err != nil {
		return err
	}
	return a.summarize(cmd, r)
}

// closeTimeout bounds how long the end of a command waits for what it drops.
const closeTimeout = 5 * time.Second

func (a *app) printRound(cmd *cobra.Command, r tablewriter.JobRound) error {
	if a.json {
		return writeJSON(cmd.OutOrStdout(), roundJSON(r))
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), roundText(r))
	return err
}

func (a *app) summarize(cmd *cobra.Command, r tablewriter.JobRound) error {
	if r.Snapshot == 0 {
		return a.done(cmd, roundJSON(r), "nothing to compact")
	}
	return a.done(cmd, roundJSON(r), "%s", roundText(r))
}

func roundJSON(r tablewriter.JobRound) map[string]any {
	return map[string]any{
		"snapshot": r.Snapshot, "bytesRead": r.BytesIn, "bytesWritten": r.BytesOut, "changelogRows": r.Changelog, "conflicts": r.Conflicts, "millis": r.Took.Milliseconds(),
		"waitedMillis": r.Waited.Milliseconds(),
	}
}

func roundText(r tablewriter.JobRound) string {
	text := fmt.Sprintf("snapshot %d: %s read, %s written, %d changelog rows, %v", r.Snapshot, size(r.BytesIn), size(r.BytesOut), r.Changelog, r.Took.Round(time.Millisecond))
	if waited := r.Waited.Round(time.Millisecond); waited > 0 {
		text += fmt.Sprintf(", %v of waiting for the limits of compactions", waited)
	}
	if r.Conflicts > 0 {
		text += fmt.Sprintf(", %d conflicts with others", r.Conflicts)
	}
	return text
}

// tableHealth prints the state of each bucket and what a compaction would do.
func (a *app) tableHealth(cmd *cobra.Command, t *paimon.Table) error {
	buckets, err := tablewriter.Health(cmd.Context(), t, time.Now())
	if err != nil {
		return err
	}
	g := newGrid("bucket", "runs", "levels", "files", "small", "size", "next")
	for i := range buckets {
		b := &buckets[i]
		if a.json {
			if err := writeJSON(cmd.OutOrStdout(), b); err != nil {
				return err
			}
			continue
		}
		levels, files, bytes := "", 0, int64(0)
		for _, l := range b.Levels {
			if levels != "" {
				levels += ", "
			}
			levels += fmt.Sprintf("%d: %d (%s)", l.Level, l.Files, size(l.Bytes))
			files += l.Files
			bytes += l.Bytes
		}
		next := "nothing to do"
		if n := b.Next; n != nil {
			next = fmt.Sprintf("%d runs (%s) to level %d: %s", n.Runs, size(n.Bytes), n.Output, n.Reason)
		}
		g.add(fmt.Sprintf("%sbucket-%d", b.Partition, b.Bucket), b.Runs, levels, files, b.SmallFiles, size(bytes), next)
	}
	if a.json {
		return nil
	}
	if len(buckets) == 0 {
		return a.done(cmd, nil, "no files yet")
	}
	return g.flush(cmd.OutOrStdout())
}
