package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/paimon"
)

func (a *app) snapshotCommand() *cobra.Command {
	return group("snapshot", "List, show, expire and roll back snapshots",
		a.tableCmd("list DB.T", "List the snapshots that exist, and long-lived changelogs", cobra.ExactArgs(1), a.snapshotList),
		a.tableCmd("show DB.T N", "Show one snapshot as it is stored", cobra.ExactArgs(2), a.snapshotShow),
		a.snapshotExpire(),
		a.snapshotRollback(),
	)
}

func (a *app) snapshotList(cmd *cobra.Command, t *paimon.Table, _ []string) error {
	ctx := cmd.Context()
	ids, err := t.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	expired, err := t.ChangelogIDs(ctx)
	if err != nil {
		return err
	}
	g := newGrid("id", "kind", "time", "schema", "rows", "delta", "changelog", "user", "identifier")
	show := func(s *paimon.Snapshot, kind string) error {
		if a.json {
			return writeJSON(cmd.OutOrStdout(), s)
		}
		g.add(s.ID, kind, millisText(s.TimeMillis), s.SchemaID, countText(s.TotalRecordCount), countText(s.DeltaRecordCount),
			countText(s.ChangelogRecordCount), s.CommitUser, identifierText(s.CommitIdentifier))
		return nil
	}
	for _, id := range expired {
		s, err := t.Changelog(ctx, id)
		if errors.Is(err, paimon.ErrChangelogNotFound) {
			continue // expired meanwhile
		}
		if err == nil {
			err = show(s, "changelog of "+string(s.CommitKind))
		}
		if err != nil {
			return err
		}
	}
	for _, id := range ids {
		s, err := t.Snapshot(ctx, id)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			continue
		}
		if err == nil {
			err = show(s, string(s.CommitKind))
		}
		if err != nil {
			return err
		}
	}
	if a.json {
		return nil
	}
	return g.flush(cmd.OutOrStdout())
}

func countText(n *int64) any {
	if n == nil {
		return ""
	}
	return *n
}

func identifierText(n int64) any {
	if n == paimon.BatchCommitIdentifier {
		return "batch"
	}
	return n
}

func (a *app) snapshotShow(cmd *cobra.Command, t *paimon.Table, rest []string) error {
	id, err := snapshotID(rest[0])
	if err != nil {
		return err
	}
	s, _, err := t.SnapshotOrChangelog(cmd.Context(), id)
	if err != nil {
		return err
	}
	return a.printDocument(cmd, s)
}

// printDocument prints a metadata document as one JSON line, or indented for
// people.
func (a *app) printDocument(cmd *cobra.Command, doc interface{ Marshal() ([]byte, error) }) error {
	if a.json {
		return writeJSON(cmd.OutOrStdout(), doc)
	}
	text, err := doc.Marshal()
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(append(text, '\n'))
	return err
}

func snapshotID(s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("snapshot %q: want a number from 1", s)
	}
	return id, nil
}
