package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/objstore"
	"sluice/paimon"
)

// RollbackToSnapshot makes a snapshot the newest one again: later snapshots, tags
// and long-lived changelogs go, with the files that only they need. There must be
// no writer meanwhile. If it fails, the table ends somewhere between, whole, and
// it can be repeated. [paimon.ErrSnapshotNotFound].
func RollbackToSnapshot(ctx context.Context, t *paimon.Table, id int64) error {
	s, err := t.Snapshot(ctx, id)
	if err == nil {
		err = rollback(ctx, t, s, false)
	}
	if err != nil {
		return fmt.Errorf("roll table %s back to snapshot %d: %w", t.Path, id, err)
	}
	return nil
}

// RollbackToTag is [RollbackToSnapshot] to the snapshot of a tag, which comes back
// if it has expired. [paimon.ErrTagNotFound].
func RollbackToTag(ctx context.Context, t *paimon.Table, name string) error {
	tag, err := t.Tag(ctx, name)
	if err != nil {
		return err
	}
	exists, err := t.SnapshotExists(ctx, tag.Snapshot.ID)
	if err == nil {
		err = rollback(ctx, t, tag.Snapshot, !exists)
	}
	if err != nil {
		return fmt.Errorf("roll table %s back to tag %q: %w", t.Path, name, err)
	}
	return nil
}

// rollback removes what is newer than the target. restore: the target has to be
// written again.
func rollback(ctx context.Context, t *paimon.Table, target *paimon.Snapshot, restore bool) error {
	r := &rollbackPlan{t: t, target: target, doomed: newDoomed()}
	if err := r.plan(ctx); err != nil {
		return err
	}
	if restore {
		data, err := target.Marshal()
		if err != nil {
			return err
		}
		if err := t.Store.PutIfAbsent(ctx, t.SnapshotPath(target.ID), data); err != nil && !errors.Is(err, objstore.ErrExists) {
			return err
		}
		if err := t.WriteEarliestHint(ctx, target.ID, false); err != nil {
			return err
		}
	}
	// First the hint: readers list as long as there is a newer one.
	if err := t.WriteLatestHint(ctx, target.ID); err != nil {
		return err
	}
	// Newest first, so that what is left has no gap.
	for _, name := range r.gone {
		if err := t.Store.Delete(ctx, name); err != nil {
			return fmt.Errorf("delete %s: %w", name, err)
		}
	}
	if err := t.UpdateChangelogHints(ctx); err != nil {
		return err
	}
	return r.doomed.delete(ctx, t.Store)
}

type rollbackPlan struct {
	t      *paimon.Table
	target *paimon.Snapshot
	gone   []string // snapshots, tags and changelogs, in the order in which they are deleted
	doomed *doomed
}

func (r *rollbackPlan) plan(ctx context.Context) error {
	snapshots, err := r.t.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(snapshots) {
		if id <= r.target.ID {
			break
		}
		s, err := r.t.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		r.gone = append(r.gone, r.t.SnapshotPath(id))
		if err := r.doom(ctx, s, true); err != nil {
			return err
		}
	}
	tags, err := r.t.Tags(ctx)
	if err != nil {
		return err
	}
	for _, tag := range slices.Backward(tags) {
		if tag.Snapshot.ID <= r.target.ID {
			break
		}
		r.gone = append(r.gone, r.t.TagPath(tag.Name))
		if err := r.doom(ctx, tag.Snapshot, true); err != nil {
			return err
		}
	}
	changelogs, err := r.t.ChangelogIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(changelogs) {
		if id <= r.target.ID {
			break
		}
		c, err := r.t.Changelog(ctx, id)
		if err != nil {
			return err
		}
		r.gone = append(r.gone, r.t.ChangelogPath(id))
		if err := r.doom(ctx, c, false); err != nil {
			return err
		}
	}
	return r.spare(ctx)
}

// doom takes what a snapshot after the target refers to: the files it added, for
// the state too what a tag alone keeps, its changelog and its metadata.
func (r *rollbackPlan) doom(ctx context.Context, s *paimon.Snapshot, state bool) error {
	tolerate := func(err error) error {
		if errors.Is(err, objstore.ErrNotExist) {
			return nil
		}
		return err
	}
	delta, err := r.t.DeltaEntries(ctx, s)
	if err := tolerate(err); err != nil {
		return err
	}
	eachAdded(r.t, delta, r.doomed.data.add)
	changelog, err := r.t.ChangelogEntries(ctx, s)
	if err := tolerate(err); err != nil {
		return err
	}
	eachAdded(r.t, changelog, r.doomed.data.add)
	if state {
		if err := tolerate(eachLive(ctx, r.t, s, r.doomed.data.add)); err != nil {
			return err
		}
	}
	return eachMeta(ctx, r.t, s, partAll, remains, r.doomed.addMeta)
}

// spare spares what stays: the target, the snapshots before it, tags up to it,
// changelogs and other branches.
func (r *rollbackPlan) spare(ctx context.Context) error {
	if err := r.doomed.spareState(ctx, r.t, r.target); err != nil {
		return err
	}
	ids, err := r.t.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id > r.target.ID {
			break
		}
		s, err := r.t.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		if err := eachMeta(ctx, r.t, s, partAll, strict, r.doomed.spareMeta); err != nil {
			return err
		}
		// A file that the target does not have any more may still be of an earlier one.
		if id == ids[0] {
			if err := eachLive(ctx, r.t, s, r.doomed.data.spare); err != nil {
				return err
			}
		}
		if err := r.doomed.spareChanges(ctx, r.t, s); err != nil {
			return err
		}
	}
	tags, err := r.t.Tags(ctx)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if tag.Snapshot.ID <= r.target.ID {
			if err := r.doomed.spareState(ctx, r.t, tag.Snapshot); err != nil {
				return fmt.Errorf("tag %s: %w", tag.Name, err)
			}
		}
	}
	if err := r.doomed.spareChangelogs(ctx, r.t, func(id int64) bool { return id > r.target.ID }); err != nil {
		return err
	}
	return r.doomed.spareBranches(ctx, r.t)
}
