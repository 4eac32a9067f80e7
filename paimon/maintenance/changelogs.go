package maintenance

import (
	"context"
	"errors"
	"fmt"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// ExpireChangelogs deletes old long-lived changelogs and the files that only
// they need (format section 12.3). The newest one always stays, and so do those
// that a consumer has yet to read. Like [ExpireSnapshots] it can be repeated.
func ExpireChangelogs(ctx context.Context, t *paimon.Table, o ExpireOptions) (*Expired, error) {
	x, err := expireChangelogs(ctx, t, &o)
	if err != nil {
		return nil, fmt.Errorf("expire changelogs of table %s: %w", t.Path, err)
	}
	return x, nil
}

func expireChangelogs(ctx context.Context, t *paimon.Table, o *ExpireOptions) (*Expired, error) {
	if _, err := t.ReloadSchema(ctx); err != nil {
		return nil, err
	}
	r, err := o.retention(t, paimon.OptChangelogNumRetainedMin, paimon.OptChangelogNumRetainedMax, paimon.OptChangelogTimeRetained)
	if err != nil {
		return nil, err
	}
	ids, err := t.ChangelogIDs(ctx)
	if err != nil || len(ids) == 0 {
		return &Expired{}, err
	}
	latest, err := t.LatestID(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return &Expired{}, nil
	}
	if err != nil {
		return nil, err
	}
	end, err := changelogsEnd(ctx, t, r, ids, latest)
	if err != nil {
		return nil, err
	}
	x := &Expired{First: ids[0], End: max(ids[0], end)}
	var expired []*paimon.Snapshot
	for _, id := range ids {
		if id >= x.End {
			break
		}
		c, err := t.Changelog(ctx, id)
		if errors.Is(err, paimon.ErrChangelogNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		expired = append(expired, c)
	}
	if len(expired) == 0 {
		return x, nil
	}
	d, err := planChangelogs(ctx, t, expired, x.End)
	if err != nil {
		return nil, err
	}
	x.DataFiles, x.MetaFiles = d.data.sorted(), d.metaFiles()
	if o.DryRun {
		return x, nil
	}
	return x, deleteChangelogs(ctx, t, expired, d)
}

// changelogsEnd returns the first id that stays. Age is that of the changelog
// itself.
func changelogsEnd(ctx context.Context, t *paimon.Table, r retention, ids []int64, latest int64) (int64, error) {
	first, last := ids[0], ids[len(ids)-1]
	end := min(latest-r.min+1, first+r.deletesMax, last)
	next, ok, err := t.MinNextSnapshot(ctx)
	if err != nil {
		return 0, err
	}
	if ok {
		end = min(end, next)
	}
	start := max(latest-r.max+1, first)
	for _, id := range ids {
		if id < start || id >= end {
			continue
		}
		c, err := t.Changelog(ctx, id)
		if errors.Is(err, paimon.ErrChangelogNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if c.TimeMillis >= r.young {
			return id, nil
		}
	}
	return end, nil
}

// planChangelogs finds the files that only the expired changelogs need.
func planChangelogs(ctx context.Context, t *paimon.Table, expired []*paimon.Snapshot, end int64) (*doomed, error) {
	d := newDoomed()
	for _, c := range expired {
		if err := doomChangelog(ctx, t, c, d); err != nil {
			return nil, fmt.Errorf("changelog %d: %w", c.ID, err)
		}
	}
	// Whoever stays: the first snapshot, whose base has the manifests of all
	// before it, tags, the other changelogs, other branches.
	earliest, err := t.EarliestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := eachMeta(ctx, t, earliest, partAll, strict, d.spareMeta); err != nil {
		return nil, err
	}
	if len(d.data) > 0 {
		if err := eachLive(ctx, t, earliest, d.data.spare); err != nil {
			return nil, err
		}
	}
	tags, err := t.Tags(ctx)
	if err != nil {
		return nil, err
	}
	for _, tag := range tags {
		if err := d.spareState(ctx, t, tag.Snapshot); err != nil {
			return nil, fmt.Errorf("tag %s: %w", tag.Name, err)
		}
	}
	if err := d.spareChangelogs(ctx, t, func(id int64) bool { return id < end }); err != nil {
		return nil, err
	}
	return d, d.spareBranches(ctx, t)
}

// doomChangelog takes what a long-lived changelog refers to, as far as it is
// there: its changelog files, or else the data files that its snapshot deleted,
// which were kept for the changelogs before it.
func doomChangelog(ctx context.Context, t *paimon.Table, c *paimon.Snapshot, d *doomed) error {
	if c.HasChangelog() {
		entries, err := t.ChangelogEntries(ctx, c)
		if err != nil && !errors.Is(err, objstore.ErrNotExist) {
			return err
		}
		eachAdded(t, entries, d.data.add)
		return eachMeta(ctx, t, c, partChangelog, remains, d.addMeta)
	}
	delta, err := t.DeltaEntries(ctx, c)
	if err != nil && !errors.Is(err, objstore.ErrNotExist) {
		return err
	}
	for i := range delta {
		if delta[i].Kind == manifest.Delete {
			eachFile(t, &delta[i], d.data.add)
		}
	}
	eachAdded(t, delta, d.data.spare)
	return eachMeta(ctx, t, c, partBase|partDelta, remains, d.addMeta)
}

// deleteChangelogs deletes files first and the changelogs that tell of them last.
func deleteChangelogs(ctx context.Context, t *paimon.Table, expired []*paimon.Snapshot, d *doomed) error {
	if err := d.delete(ctx, t.Store); err != nil {
		return err
	}
	for _, c := range expired {
		if err := t.Store.Delete(ctx, t.ChangelogPath(c.ID)); err != nil {
			return fmt.Errorf("delete changelog %d: %w", c.ID, err)
		}
	}
	return t.UpdateChangelogHints(ctx)
}
