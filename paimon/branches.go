package paimon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/objstore"
)

// Branches lists the branches of the table by name, without the main branch.
func (t *Table) Branches(ctx context.Context) ([]string, error) {
	dir := t.Path + "/branch"
	_, dirs, err := t.Store.ListDir(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var names []string
	for _, d := range dirs {
		_, base := objstore.SplitName(d)
		name, ok := strings.CutPrefix(base, "branch-")
		if !ok || name == "" {
			continue
		}
		// Another one was not made to the end.
		made, err := t.hasBranch(ctx, name)
		if err != nil {
			return nil, err
		}
		if made {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// hasBranch tells whether a branch is complete: it has the first schema, which
// is made last.
func (t *Table) hasBranch(ctx context.Context, name string) (bool, error) {
	ok, err := objstore.Exists(ctx, t.Store, branchDir(t.Path, name)+"/schema/schema-0")
	if err != nil {
		return false, fmt.Errorf("branch %q of table %s: %w", name, t.Path, err)
	}
	return ok, nil
}

// checkBranchName refuses names that a branch may not have (format section 1.3).
func checkBranchName(name string) error {
	if err := checkComponent("branch", name); err != nil {
		return err
	}
	if name == MainBranch {
		return fmt.Errorf("branch name %q is that of the default branch: %w", name, ErrName)
	}
	if strings.Trim(name, "0123456789") == "" {
		return fmt.Errorf("branch name %q is only digits: %w", name, ErrName)
	}
	return nil
}

// CreateBranch makes a branch. With a tag it begins with the tagged snapshot and
// the schemas up to its own; without ("") it has all schemas of the table and
// no snapshot. [ErrBranchExists], [ErrTagNotFound].
func (t *Table) CreateBranch(ctx context.Context, name, tag string) error {
	if err := t.createBranch(ctx, name, tag); err != nil {
		return fmt.Errorf("create branch %q of table %s: %w", name, t.Path, err)
	}
	return nil
}

func (t *Table) createBranch(ctx context.Context, name, tag string) error {
	if err := checkBranchName(name); err != nil {
		return err
	}
	made, err := t.hasBranch(ctx, name)
	if err != nil {
		return err
	}
	if made {
		return ErrBranchExists
	}
	schemas, err := t.SchemaIDs(ctx)
	if err != nil {
		return err
	}
	b := newTable(t.Store, t.Path, name, t.opts, t.cache)
	if tag != "" {
		from, err := t.Tag(ctx, tag)
		if err != nil {
			return err
		}
		schemas = slices.DeleteFunc(schemas, func(id int64) bool { return id > from.Snapshot.SchemaID })
		if err := t.copyMetadata(ctx, t.TagPath(tag), b.TagPath(tag)); err != nil {
			return err
		}
		data, err := from.Snapshot.Marshal()
		if err != nil {
			return err
		}
		if err := t.Store.Put(ctx, b.SnapshotPath(from.Snapshot.ID), data); err != nil {
			return err
		}
	}
	if len(schemas) == 0 {
		return ErrSchemaNotFound
	}
	// Schemas come last, the first one at the very end: the branch is there when it
	// has that, and may be made again until then.
	slices.Reverse(schemas)
	for i, id := range schemas {
		if i < len(schemas)-1 {
			if err := t.copyMetadata(ctx, t.SchemaPath(id), b.SchemaPath(id)); err != nil {
				return err
			}
			continue
		}
		data, err := objstore.ReadAllMax(ctx, t.Store, t.SchemaPath(id), metadataMaxBytes)
		if err != nil {
			return err
		}
		if err := createObject(ctx, t.Store, b.SchemaPath(id), data); errors.Is(err, objstore.ErrExists) {
			return ErrBranchExists
		} else if err != nil {
			return err
		}
	}
	return nil
}

// copyMetadata replaces one metadata file by another.
func (t *Table) copyMetadata(ctx context.Context, from, to string) error {
	data, err := objstore.ReadAllMax(ctx, t.Store, from, metadataMaxBytes)
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if err := t.Store.Put(ctx, to, data); err != nil {
		return fmt.Errorf("copy to %s: %w", to, err)
	}
	return nil
}

// DeleteBranch removes the metadata of a branch. Data files that only the branch
// used become orphans. [ErrBranchNotFound].
func (t *Table) DeleteBranch(ctx context.Context, name string) error {
	if err := checkBranchName(name); err != nil {
		return err
	}
	made, err := t.hasBranch(ctx, name)
	if err != nil {
		return err
	}
	if !made {
		return fmt.Errorf("delete branch %q of table %s: %w", name, t.Path, ErrBranchNotFound)
	}
	if t.Options().Text(OptScanFallbackBranch) == name {
		return refuseOption(OptScanFallbackBranch, "Branch %s is the fallback branch of table %s: reset the option scan.fallback-branch first.", name, t.Path)
	}
	if err := t.Store.DeleteDir(ctx, branchDir(t.Path, name)); err != nil {
		return fmt.Errorf("delete branch %q of table %s: %w", name, t.Path, err)
	}
	return nil
}

// FastForward makes the main branch continue as the branch did: everything of
// main from the branch's first snapshot on is replaced (format section 1.3). It
// is not atomic: until it returns readers of main see the table end earlier, and
// if it fails it can be repeated. There must be no writer meanwhile.
// [ErrBranchNotFound]; [ErrNoSnapshot] if the branch has none.
func (t *Table) FastForward(ctx context.Context, branch string) error {
	if err := t.fastForward(ctx, branch); err != nil {
		return fmt.Errorf("fast-forward table %s to branch %q: %w", t.Path, branch, err)
	}
	return nil
}

func (t *Table) fastForward(ctx context.Context, branch string) error {
	if err := checkBranchName(branch); err != nil {
		return err
	}
	b, err := t.OpenBranch(ctx, branch)
	if err != nil {
		return err
	}
	first, err := b.EarliestSnapshot(ctx)
	if err != nil {
		return err
	}
	main := t
	if t.Branch != MainBranch {
		if main, err = t.OpenBranch(ctx, MainBranch); err != nil {
			return err
		}
	}
	if err := main.cutFrom(ctx, first); err != nil {
		return err
	}
	if err := main.takeOver(ctx, b); err != nil {
		return err
	}
	if err := main.writeHints(ctx); err != nil {
		return err
	}
	_, err = main.reloadSchema(ctx, true)
	return err
}

// cutFrom removes the hint, the snapshots, long-lived changelogs and tags from a
// snapshot on and the schemas from its schema on, the newest first, so that what
// is left is whole at any moment.
func (t *Table) cutFrom(ctx context.Context, first *Snapshot) error {
	var gone []string
	ids, err := t.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		if id >= first.ID {
			gone = append(gone, t.SnapshotPath(id))
		}
	}
	if ids, err = t.ChangelogIDs(ctx); err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		if id >= first.ID {
			gone = append(gone, t.ChangelogPath(id))
		}
	}
	tags, err := t.Tags(ctx)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if tag.Snapshot.ID >= first.ID {
			gone = append(gone, t.TagPath(tag.Name))
		}
	}
	schemas, err := t.SchemaIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(schemas) {
		// The first schema is the table's identity and equal in all branches.
		if id >= first.SchemaID && id > 0 {
			gone = append(gone, t.SchemaPath(id))
		}
	}
	for _, name := range append([]string{t.snapshotFiles().dir + "/" + hintLatest}, gone...) {
		if err := t.Store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// writeHints says which snapshots and long-lived changelogs are the oldest and the
// newest, by listing.
func (t *Table) writeHints(ctx context.Context) error {
	if err := t.UpdateChangelogHints(ctx); err != nil {
		return err
	}
	ids, err := t.SnapshotIDs(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := t.WriteEarliestHint(ctx, ids[0], false); err != nil {
		return err
	}
	return t.WriteLatestHint(ctx, ids[len(ids)-1])
}

// takeOver copies schemas, snapshots in ascending order and tags of a branch.
func (t *Table) takeOver(ctx context.Context, b *Table) error {
	schemas, err := b.SchemaIDs(ctx)
	if err != nil {
		return err
	}
	snapshots, err := b.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	tags, err := b.TagNames(ctx)
	if err != nil {
		return err
	}
	var pairs [][2]string
	for _, id := range schemas {
		pairs = append(pairs, [2]string{b.SchemaPath(id), t.SchemaPath(id)})
	}
	for _, id := range snapshots {
		pairs = append(pairs, [2]string{b.SnapshotPath(id), t.SnapshotPath(id)})
	}
	for _, name := range tags {
		pairs = append(pairs, [2]string{b.TagPath(name), t.TagPath(name)})
	}
	for _, p := range pairs {
		if err := t.copyMetadata(ctx, p[0], p[1]); err != nil {
			return err
		}
	}
	return nil
}
