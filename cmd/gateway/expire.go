package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sluice/paimon"
	"sluice/paimon/maintenance"
)

func (a *app) snapshotExpire() *cobra.Command {
	var o maintenance.ExpireOptions
	var changelogs bool
	cmd := a.tableCmd("expire DB.T", "Delete old snapshots and the files that only they need", cobra.ExactArgs(1), func(cmd *cobra.Command, t *paimon.Table, _ []string) error {
		if !cmd.Flags().Changed("older-than") {
			o.TimeRetained = 0
		} else if o.TimeRetained == 0 {
			o.TimeRetained = -1 // age does not protect
		}
		run, what := maintenance.ExpireSnapshots, "snapshots"
		if changelogs {
			run, what = maintenance.ExpireChangelogs, "changelogs"
		}
		e, err := run(cmd.Context(), t, o)
		if err != nil {
			return err
		}
		verb := "were deleted"
		if o.DryRun {
			verb = "would be deleted"
		}
		if e.Count() == 0 {
			return a.done(cmd, map[string]any{"expired": 0, "dryRun": o.DryRun}, "no %s to expire", what)
		}
		return a.done(cmd, map[string]any{
			"expired": e.Count(), "first": e.First, "end": e.End, "dataFiles": len(e.DataFiles), "metadataFiles": len(e.MetaFiles), "dryRun": o.DryRun,
		}, "%s %d to %d, %d data files and %d metadata files %s", what, e.First, e.End-1, len(e.DataFiles), len(e.MetaFiles), verb)
	})
	f := cmd.Flags()
	f.IntVar(&o.RetainMin, "retain-min", 0, "so many of the newest stay whatever their age (default: the table's option)")
	f.IntVar(&o.RetainMax, "retain-max", 0, "more than that go whatever their age (default: the table's option)")
	f.DurationVar(&o.TimeRetained, "older-than", 0, "younger ones stay; 0s: age does not protect (default: the table's option)")
	f.IntVar(&o.DeletesMax, "limit", 0, "at most so many go (default: the table's option)")
	f.BoolVar(&o.DryRun, "dry-run", false, "only say what would be deleted")
	f.BoolVar(&changelogs, "changelogs", false, "expire long-lived changelogs instead")
	return cmd
}

func (a *app) snapshotRollback() *cobra.Command {
	var tag string
	cmd := a.tableCmd("rollback DB.T [N]", "Make a snapshot or tag the newest state again", cobra.RangeArgs(1, 2), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
		switch {
		case tag != "" && len(rest) == 0:
			if err := maintenance.RollbackToTag(cmd.Context(), t, tag); err != nil {
				return err
			}
			return a.done(cmd, map[string]any{"tag": tag}, "the table is at tag %s again", tag)
		case tag == "" && len(rest) == 1:
			id, err := strconv.ParseInt(rest[0], 10, 64)
			if err != nil || id < 1 {
				return usagef("snapshot %q: want a number from 1", rest[0])
			}
			if err := maintenance.RollbackToSnapshot(cmd.Context(), t, id); err != nil {
				return err
			}
			return a.done(cmd, map[string]any{"snapshot": id}, "the table is at snapshot %d again", id)
		}
		return usagef("name a snapshot number or --tag, one of them")
	})
	cmd.Flags().StringVar(&tag, "tag", "", "roll back to a tag")
	return cmd
}

func (a *app) tagDelete(cmd *cobra.Command, t *paimon.Table, rest []string) error {
	if err := maintenance.DeleteTag(cmd.Context(), t, rest[0]); err != nil {
		return err
	}
	return a.done(cmd, map[string]any{"deleted": rest[0]}, "tag %s was deleted", rest[0])
}

func (a *app) orphanCommand() *cobra.Command {
	var age time.Duration
	var dryRun, external, unsafe bool
	clean := a.tableCmd("clean DB.T", "Delete files that nothing refers to", cobra.ExactArgs(1), func(cmd *cobra.Command, t *paimon.Table, _ []string) error {
		if age < maintenance.OrphanAgeMin && !unsafe {
			return usagef("--older-than %v: younger files than %v may be part of a commit that is on its way; --unsafe says that nobody writes", age, maintenance.OrphanAgeMin)
		}
		o := maintenance.OrphanOptions{OlderThan: time.Now().Add(-age), DryRun: dryRun, ExternalPaths: external, Unsafe: unsafe}
		found, err := maintenance.CleanOrphans(cmd.Context(), t, o)
		if err != nil {
			return err
		}
		if a.json {
			for _, f := range found.Files {
				if err := writeJSON(cmd.OutOrStdout(), map[string]any{"file": "/" + f.Name, "size": f.Size, "timeMillis": f.ModTime.UnixMilli(), "deleted": !dryRun}); err != nil {
					return err
				}
			}
			return nil
		}
		g := newGrid("file", "size", "modified")
		for _, f := range found.Files {
			g.add("/"+f.Name, size(f.Size), f.ModTime.Format("2006-01-02 15:04:05"))
		}
		if len(found.Files) > 0 {
			if err := g.flush(cmd.OutOrStdout()); err != nil {
				return err
			}
		}
		verb := "deleted"
		if dryRun {
			verb = "found"
		}
		return a.done(cmd, nil, "%d orphans %s, %s", len(found.Files), verb, size(found.Bytes))
	})
	f := clean.Flags()
	f.DurationVar(&age, "older-than", maintenance.OrphanAgeMin, "younger files stay: they may be part of a commit that is on its way")
	f.BoolVar(&dryRun, "dry-run", false, "only list the orphans")
	f.BoolVar(&external, "external-paths", false, "look in the table's external data paths too; they must not be shared with another table")
	f.BoolVar(&unsafe, "unsafe", false, "allow an age below a day: only if nobody writes")
	return group("orphan", "Find and delete files that nothing refers to", clean)
}
