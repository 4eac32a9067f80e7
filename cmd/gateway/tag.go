package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/paimon"
)

func (a *app) tagCommand() *cobra.Command {
	var snapshot int64
	var retain time.Duration
	var replace bool
	create := a.tableCmd("create DB.T NAME", "Tag a snapshot, which keeps its rows readable", cobra.ExactArgs(2), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
		tag, err := t.CreateTag(cmd.Context(), rest[0], paimon.TagOptions{Snapshot: snapshot, Retained: retain, Replace: replace})
		if err != nil {
			return err
		}
		return a.done(cmd, map[string]any{"tag": tag.Name, "snapshot": tag.Snapshot.ID}, "tag %s is snapshot %d", tag.Name, tag.Snapshot.ID)
	})
	create.Flags().Int64Var(&snapshot, "snapshot", 0, "number of the snapshot (default: the newest)")
	create.Flags().DurationVar(&retain, "retain", 0, "time to live of the tag (default: for ever)")
	create.Flags().BoolVar(&replace, "replace", false, "replace a tag of that name")
	return group("tag", "List, create and delete tags",
		a.tableCmd("list DB.T", "List the tags", cobra.ExactArgs(1), a.tagList), create,
		a.tableCmd("delete DB.T NAME", "Delete a tag and the files that only it kept", cobra.ExactArgs(2), a.tagDelete))
}

func (a *app) tagList(cmd *cobra.Command, t *paimon.Table, _ []string) error {
	tags, err := t.Tags(cmd.Context())
	if err != nil {
		return err
	}
	g := newGrid("tag", "snapshot", "committed", "rows", "expires")
	for _, tag := range tags {
		expires := ""
		if at, ok := tag.ExpiresAt(); ok {
			expires = at.Format("2006-01-02 15:04:05")
		}
		if a.json {
			line := map[string]any{"tag": tag.Name, "snapshot": tag.Snapshot.ID, "timeMillis": tag.Snapshot.TimeMillis}
			if expires != "" {
				line["expires"] = expires
			}
			if err := writeJSON(cmd.OutOrStdout(), line); err != nil {
				return err
			}
			continue
		}
		g.add(tag.Name, tag.Snapshot.ID, millisText(tag.Snapshot.TimeMillis), countText(tag.Snapshot.TotalRecordCount), expires)
	}
	if a.json {
		return nil
	}
	return g.flush(cmd.OutOrStdout())
}

// done reports the effect of a command: a JSON line, or a sentence.
func (a *app) done(cmd *cobra.Command, line map[string]any, format string, args ...any) error {
	if a.json {
		return writeJSON(cmd.OutOrStdout(), line)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
	return err
}

func (a *app) branchCommand() *cobra.Command {
	var tag string
	create := a.tableCmd("create DB.T NAME", "Make a branch, from a tag or without rows", cobra.ExactArgs(2), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
		if err := t.CreateBranch(cmd.Context(), rest[0], tag); err != nil {
			return err
		}
		return a.done(cmd, map[string]any{"branch": rest[0]}, "branch %s was created", rest[0])
	})
	create.Flags().StringVar(&tag, "tag", "", "tag to begin at (default: an empty branch)")
	return group("branch", "List, create, delete and fast-forward branches",
		a.tableCmd("list DB.T", "List the branches", cobra.ExactArgs(1), func(cmd *cobra.Command, t *paimon.Table, _ []string) error {
			names, err := t.Branches(cmd.Context())
			if err != nil {
				return err
			}
			for _, n := range names {
				if err := a.done(cmd, map[string]any{"branch": n}, "%s", n); err != nil {
					return err
				}
			}
			return nil
		}), create,
		a.tableCmd("delete DB.T NAME", "Delete a branch", cobra.ExactArgs(2), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
			if err := t.DeleteBranch(cmd.Context(), rest[0]); err != nil {
				return err
			}
			return a.done(cmd, map[string]any{"deleted": rest[0]}, "branch %s was deleted", rest[0])
		}),
		a.tableCmd("fast-forward DB.T NAME", "Put main where the branch is", cobra.ExactArgs(2), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
			if err := t.FastForward(cmd.Context(), rest[0]); err != nil {
				return err
			}
			return a.done(cmd, map[string]any{"main": rest[0]}, "main is now where branch %s is", rest[0])
		}))
}

func (a *app) consumerCommand() *cobra.Command {
	var next int64
	reset := a.tableCmd("reset DB.T ID", "Set the next snapshot that a consumer needs", cobra.ExactArgs(2), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
		if next < 1 {
			return usagef("name the next snapshot with --next N")
		}
		err := t.ResetConsumer(cmd.Context(), rest[0], next)
		if errors.Is(err, paimon.ErrConsumerNotFound) {
			err = t.SetConsumer(cmd.Context(), rest[0], next)
		}
		if err != nil {
			return err
		}
		return a.done(cmd, map[string]any{"consumer": rest[0], "nextSnapshot": next}, "consumer %s goes on with snapshot %d", rest[0], next)
	})
	reset.Flags().Int64Var(&next, "next", 0, "number of the next snapshot to read")
	return group("consumer", "List, reset and delete consumers",
		a.tableCmd("list DB.T", "List the consumers and what they keep from expiring", cobra.ExactArgs(1), a.consumerList), reset,
		a.tableCmd("delete DB.T ID", "Forget a consumer", cobra.ExactArgs(2), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
			if _, err := t.Consumer(cmd.Context(), rest[0]); err != nil { // a misspelled one must not pass for deleted
				return err
			}
			if err := t.DeleteConsumer(cmd.Context(), rest[0]); err != nil {
				return err
			}
			return a.done(cmd, map[string]any{"deleted": rest[0]}, "consumer %s was deleted", rest[0])
		}))
}

func (a *app) consumerList(cmd *cobra.Command, t *paimon.Table, _ []string) error {
	all, err := t.Consumers(cmd.Context())
	if err != nil {
		return err
	}
	g := newGrid("consumer", "next snapshot", "stored")
	for _, c := range all {
		if a.json {
			if err := writeJSON(cmd.OutOrStdout(), map[string]any{"consumer": c.ID, "nextSnapshot": c.NextSnapshot, "timeMillis": c.ModTime.UnixMilli()}); err != nil {
				return err
			}
			continue
		}
		g.add(c.ID, c.NextSnapshot, c.ModTime.Format("2006-01-02 15:04:05"))
	}
	if a.json {
		return nil
	}
	return g.flush(cmd.OutOrStdout())
}
