package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/objstore"
	"sluice/paimon"
)

// OrphanAgeMin is the youngest age at which a file may be taken for an orphan:
// whatever a writer writes must be committed earlier than that after it.
const OrphanAgeMin = 24 * time.Hour

// OrphanOptions say which files are orphans.
type OrphanOptions struct {
	// OlderThan: files that were modified at or after this time stay; default a day
	// ago. A later time than that is refused unless Unsafe, since commits that are on
	// their way would lose their files.
	OlderThan time.Time
	Unsafe    bool
	// ExternalPaths looks for orphans under the option data-file.external-paths
	// too. These folders must not be shared with another table, whose files nothing
	// here refers to.
	ExternalPaths bool
	// DryRun lists the orphans and deletes none.
	DryRun bool
	// Now tells the time; default time.Now.
	Now func() time.Time
}

// Orphans are files of a table's folder that nothing refers to.
type Orphans struct {
	Files []objstore.Info // sorted by name
	Bytes int64           // together
}

// CleanOrphans deletes files that no snapshot, tag or long-lived changelog of any
// branch refers to, and leftovers of writers that died (format section 12.5).
// Files are compared by their own name alone. It deletes nothing if any of what
// could refer to files cannot be read.
func CleanOrphans(ctx context.Context, t *paimon.Table, o OrphanOptions) (*Orphans, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	latest := o.Now().Add(-OrphanAgeMin)
	if o.OlderThan.IsZero() {
		o.OlderThan = latest
	}
	if o.OlderThan.After(latest) && !o.Unsafe {
		return nil, fmt.Errorf("clean orphans of table %s: files must be older than a day, want a time of %s or earlier", t.Path, latest.UTC().Format(time.RFC3339))
	}
	found, err := cleanOrphans(ctx, t, &o)
	if err != nil {
		return nil, fmt.Errorf("clean orphans of table %s: %w", t.Path, err)
	}
	return found, nil
}

func cleanOrphans(ctx context.Context, t *paimon.Table, o *OrphanOptions) (*Orphans, error) {
	if _, err := t.ReloadSchema(ctx); err != nil {
		return nil, err
	}
	// Candidates first: what is committed after that refers to files that are
	// younger, or that are referred to already.
	candidates, err := findCandidates(ctx, t, o)
	if err != nil {
		return nil, err
	}
	used := nameSet{}
	if err := collectUsed(ctx, t, used); err != nil {
		return nil, err
	}
	found := &Orphans{}
	var names []string
	for _, c := range candidates {
		if _, base := objstore.SplitName(c.info.Name); !c.leftover && used.has(base) {
			continue
		}
		found.Files = append(found.Files, c.info)
		found.Bytes += c.info.Size
		names = append(names, c.info.Name)
	}
	if o.DryRun {
		return found, nil
	}
	return found, deleteAll(ctx, t.Store, names)
}

type candidate struct {
	info     objstore.Info
	leftover bool // of a writer; nothing can refer to it
}

// findCandidates lists the old files in all places where orphans can be.
func findCandidates(ctx context.Context, t *paimon.Table, o *OrphanOptions) ([]candidate, error) {
	var found []candidate
	take := func(i objstore.Info, leftover bool) {
		if i.ModTime.Before(o.OlderThan) {
			found = append(found, candidate{i, leftover})
		}
	}
	for _, dir := range []string{"manifest", "index", "statistics"} {
		objects, _, err := t.Store.ListDir(ctx, t.Path+"/"+dir)
		if err != nil {
			return nil, fmt.Errorf("list %s/%s: %w", t.Path, dir, err)
		}
		for _, i := range objects {
			take(i, false)
		}
	}
	roots := []string{t.DataRoot()}
	if o.ExternalPaths {
		for _, uri := range t.Options().List(paimon.OptDataFileExternalPaths) {
			root, err := objstore.NameOfURI(uri)
			if err != nil {
				return nil, fmt.Errorf("option %s: %w", paimon.OptDataFileExternalPaths, err)
			}
			if d := t.Options().Text(paimon.OptDataFilePathDirectory); d != "" {
				root += "/" + d
			}
			roots = append(roots, root)
		}
	}
	levels := len(t.Schema().PartitionKeys)
	for _, root := range roots {
		if err := eachBucketFile(ctx, t.Store, root, levels, func(i objstore.Info) { take(i, false) }); err != nil {
			return nil, err
		}
	}
	if err := findLeftovers(ctx, t, func(i objstore.Info) { take(i, true) }); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b candidate) int { return strings.Compare(a.info.Name, b.info.Name) })
	return slices.CompactFunc(found, func(a, b candidate) bool { return a.info.Name == b.info.Name }), nil
}

// eachBucketFile calls fn for the files in folders named bucket-*, below as many
// folders named *=* as there are partition columns.
func eachBucketFile(ctx context.Context, store objstore.Store, dir string, levels int, fn func(objstore.Info)) error {
	_, dirs, err := store.ListDir(ctx, dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, d := range dirs {
		_, base := objstore.SplitName(d)
		switch {
		case levels > 0 && strings.Contains(base, "="):
			if err := eachBucketFile(ctx, store, d, levels-1, fn); err != nil {
				return err
			}
		case levels == 0 && strings.HasPrefix(base, "bucket-"):
			if err := store.List(ctx, d, func(i objstore.Info) error { fn(i); return nil }); err != nil {
				return fmt.Errorf("list %s: %w", d, err)
			}
		}
	}
	return nil
}

// findLeftovers calls fn for what writers that died left: in the folders of
// snapshots and changelogs of all branches what is neither one nor a hint, and
// everywhere what the store knows to be temporary.
func findLeftovers(ctx context.Context, t *paimon.Table, fn func(objstore.Info)) error {
	branches, err := allBranches(ctx, t)
	if err != nil {
		return err
	}
	for _, b := range branches {
		for _, prefix := range []string{b.SnapshotPath(0), b.ChangelogPath(0)} {
			dir, base := objstore.SplitName(prefix)
			base = strings.TrimSuffix(base, "0")
			objects, _, err := t.Store.ListDir(ctx, dir)
			if err != nil {
				return fmt.Errorf("list %s: %w", dir, err)
			}
			for _, i := range objects {
				if _, name := objstore.SplitName(i.Name); !strings.HasPrefix(name, base) && name != "LATEST" && name != "EARLIEST" {
					fn(i)
				}
			}
		}
	}
	if lister, ok := t.Store.(objstore.TempLister); ok {
		if err := lister.ListTemp(ctx, t.Path, func(i objstore.Info) error { fn(i); return nil }); err != nil {
			return fmt.Errorf("list temporary files of %s: %w", t.Path, err)
		}
	}
	return nil
}

// allBranches opens the main branch and all others.
func allBranches(ctx context.Context, t *paimon.Table) ([]*paimon.Table, error) {
	names, err := t.Branches(ctx)
	if err != nil {
		return nil, err
	}
	var tables []*paimon.Table
	for _, name := range append(names, paimon.MainBranch) {
		b, err := t.OpenBranch(ctx, name)
		if errors.Is(err, paimon.ErrBranchNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		tables = append(tables, b)
	}
	return tables, nil
}

// collectUsed adds the names, without folders, of all files that any branch
// refers to.
func collectUsed(ctx context.Context, t *paimon.Table, used nameSet) error {
	branches, err := allBranches(ctx, t)
	if err != nil {
		return err
	}
	for _, b := range branches {
		u := &usedFiles{t: b, used: used, read: nameSet{}}
		if err := u.branch(ctx); err != nil {
			return fmt.Errorf("branch %s: %w", b.Branch, err)
		}
	}
	return nil
}

// usedFiles collects what a branch refers to. Manifests that several snapshots
// share are read once.
type usedFiles struct {
	t    *paimon.Table
	used nameSet
	read nameSet
}

func (u *usedFiles) add(name string) {
	_, base := objstore.SplitName(name)
	u.used.add(base)
}

func (u *usedFiles) branch(ctx context.Context) error {
	snapshots, err := u.t.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range snapshots {
		s, err := u.t.Snapshot(ctx, id)
		if err == nil {
			err = u.snapshot(ctx, s, strict)
		}
		if err != nil {
			// It may have expired since it was listed. Its changelog is read below.
			if exists, serr := u.t.SnapshotExists(ctx, id); serr != nil || exists {
				return errors.Join(err, serr)
			}
		}
	}
	tags, err := u.t.Tags(ctx)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if err := u.snapshot(ctx, tag.Snapshot, strict); err != nil {
			return fmt.Errorf("tag %s: %w", tag.Name, err)
		}
	}
	changelogs, err := u.t.ChangelogIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range changelogs {
		c, err := u.t.Changelog(ctx, id)
		if errors.Is(err, paimon.ErrChangelogNotFound) {
			continue
		}
		if err == nil {
			err = u.snapshot(ctx, c, remains)
		}
		if err != nil {
			return fmt.Errorf("changelog %d: %w", id, err)
		}
	}
	return nil
}

// snapshot adds what a snapshot refers to: metadata, and all files of all of its
// manifests, whether they are added or deleted.
func (u *usedFiles) snapshot(ctx context.Context, s *paimon.Snapshot, missing parts) error {
	if err := eachMeta(ctx, u.t, s, partAll, missing, func(f metaFile) { u.add(f.name) }); err != nil {
		return err
	}
	lists := map[parts]string{partBase: s.BaseManifestList, partDelta: s.DeltaManifestList}
	if s.HasChangelog() {
		lists[partChangelog] = *s.ChangelogManifestList
	}
	for part, list := range lists {
		mayMiss := missing&part != 0
		metas, err := u.t.ManifestList(ctx, list)
		if mayMiss && errors.Is(err, objstore.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for j := range metas {
			if err := u.manifest(ctx, metas[j].FileName, mayMiss); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *usedFiles) manifest(ctx context.Context, name string, mayMiss bool) error {
	if u.read.has(name) {
		return nil
	}
	entries, err := u.t.ReadManifest(ctx, name)
	if mayMiss && errors.Is(err, objstore.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	u.read.add(name)
	for i := range entries {
		eachFile(u.t, &entries[i], u.add)
	}
	return nil
}
