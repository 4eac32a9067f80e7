package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/objstore"
	"sluice/paimon"
)

// doomed are the files that an operation is about to delete. Whatever is found
// to be needed is spared.
type doomed struct {
	data  nameSet // data and changelog files and their sidecars
	meta  nameSet // files of metadata that name no others of metadata: manifests, index and statistics files
	lists nameSet // files of metadata that name those: manifest lists and index manifests
}

func newDoomed() *doomed { return &doomed{data: nameSet{}, meta: nameSet{}, lists: nameSet{}} }

func (d *doomed) empty() bool { return len(d.data) == 0 && len(d.meta) == 0 && len(d.lists) == 0 }

func (d *doomed) addMeta(f metaFile) {
	if f.list {
		d.lists.add(f.name)
	} else {
		d.meta.add(f.name)
	}
}

func (d *doomed) spareMeta(f metaFile) {
	d.meta.spare(f.name)
	d.lists.spare(f.name)
}

// metaFiles returns the names of all files of metadata.
func (d *doomed) metaFiles() []string {
	names := append(d.meta.sorted(), d.lists.sorted()...)
	slices.Sort(names)
	return names
}

// deleteData deletes the data files. As long as one is there, so is all metadata
// that leads to it.
func (d *doomed) deleteData(ctx context.Context, store objstore.Store) error {
	return deleteAll(ctx, store, d.data.sorted())
}

// deleteMeta deletes the files of metadata, those that name others last: whatever
// could not be deleted is found again by the next run.
func (d *doomed) deleteMeta(ctx context.Context, store objstore.Store) error {
	if err := deleteAll(ctx, store, d.meta.sorted()); err != nil {
		return err
	}
	return deleteAll(ctx, store, d.lists.sorted())
}

// delete deletes everything.
func (d *doomed) delete(ctx context.Context, store objstore.Store) error {
	if err := d.deleteData(ctx, store); err != nil {
		return err
	}
	return d.deleteMeta(ctx, store)
}

// spareState spares what the state of a snapshot consists of.
func (d *doomed) spareState(ctx context.Context, t *paimon.Table, s *paimon.Snapshot) error {
	if err := eachMeta(ctx, t, s, partState, strict, d.spareMeta); err != nil {
		return err
	}
	if len(d.data) == 0 {
		return nil
	}
	return eachLive(ctx, t, s, d.data.spare)
}

// spareBranches spares what the other branches of the table need: their
// metadata is apart, but all files are shared (format section 1.3).
func (d *doomed) spareBranches(ctx context.Context, t *paimon.Table) error {
	if d.empty() {
		return nil
	}
	names, err := t.Branches(ctx)
	if err != nil {
		return err
	}
	for _, name := range append(names, paimon.MainBranch) {
		if name == t.Branch {
			continue
		}
		b, err := t.OpenBranch(ctx, name)
		if errors.Is(err, paimon.ErrBranchNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if err := d.spareBranch(ctx, b); err != nil {
			return fmt.Errorf("what branch %s needs: %w", name, err)
		}
	}
	return nil
}

func (d *doomed) spareBranch(ctx context.Context, b *paimon.Table) error {
	ids, err := b.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	first := true
	for _, id := range ids {
		s, err := b.Snapshot(ctx, id)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			continue // expired meanwhile, and its changelog is read below
		}
		if err != nil {
			return err
		}
		if err := eachMeta(ctx, b, s, partAll, strict, d.spareMeta); err != nil {
			return err
		}
		// All files of all snapshots: those of the first and what came later.
		if first {
			err = eachLive(ctx, b, s, d.data.spare)
			first = false
		}
		if err == nil {
			err = d.spareChanges(ctx, b, s)
		}
		if err != nil {
			return err
		}
	}
	tags, err := b.Tags(ctx)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if err := d.spareState(ctx, b, tag.Snapshot); err != nil {
			return fmt.Errorf("tag %s: %w", tag.Name, err)
		}
	}
	return d.spareChangelogs(ctx, b, nil)
}

// spareChanges spares the files that a snapshot added and its changelog files.
func (d *doomed) spareChanges(ctx context.Context, t *paimon.Table, s *paimon.Snapshot) error {
	added, err := t.DeltaEntries(ctx, s)
	if err != nil {
		return err
	}
	eachAdded(t, added, d.data.spare)
	changelog, err := t.ChangelogEntries(ctx, s)
	if err != nil && !errors.Is(err, objstore.ErrNotExist) {
		return err
	}
	eachAdded(t, changelog, d.data.spare)
	return nil
}

// spareChangelogs spares what the long-lived changelogs need, but for those that
// skip tells: changelog files or, in a table without a changelog producer, the
// files that the delta added.
func (d *doomed) spareChangelogs(ctx context.Context, t *paimon.Table, skip func(id int64) bool) error {
	ids, err := t.ChangelogIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if skip != nil && skip(id) {
			continue
		}
		c, err := t.Changelog(ctx, id)
		if errors.Is(err, paimon.ErrChangelogNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := d.spareChangelog(ctx, t, c); err != nil {
			return fmt.Errorf("changelog %d: %w", id, err)
		}
	}
	return nil
}

func (d *doomed) spareChangelog(ctx context.Context, t *paimon.Table, c *paimon.Snapshot) error {
	if c.HasChangelog() {
		if err := eachMeta(ctx, t, c, partChangelog, strict, d.spareMeta); err != nil {
			return err
		}
		entries, err := t.ChangelogEntries(ctx, c)
		if err != nil {
			return err
		}
		eachAdded(t, entries, d.data.spare)
		return nil
	}
	if t.Schema().ChangelogProducer() != paimon.ProducerNone {
		return nil // there was nothing to deliver, whatever a tag may have kept of it
	}
	if err := eachMeta(ctx, t, c, partBase|partDelta, remains, d.spareMeta); err != nil {
		return err
	}
	delta, err := t.DeltaEntries(ctx, c)
	if errors.Is(err, objstore.ErrNotExist) {
		return nil // not kept, because the table had a changelog producer then
	}
	if err != nil {
		return err
	}
	for i := range delta {
		if fromAppend(&delta[i].File) {
			eachAdded(t, delta[i:i+1], d.data.spare)
		}
	}
	return nil
}
