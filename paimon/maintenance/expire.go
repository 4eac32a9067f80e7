package maintenance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/manifest"
)

// ExpireOptions say which snapshots or changelogs expire. A zero field is taken
// from the options of the table.
type ExpireOptions struct {
	RetainMin    int           // so many of the newest stay whatever their age
	RetainMax    int           // more than that go whatever their age
	TimeRetained time.Duration // younger ones stay; negative: age does not protect
	DeletesMax   int           // at most so many go in one run
	// DryRun finds out what would be deleted and deletes nothing.
	DryRun bool
	// Now tells the time; default time.Now.
	Now func() time.Time
}

// Expired tells what an expiration did, or would have done.
type Expired struct {
	// First and End are the range of expired ids, End exclusive; equal: none.
	First, End int64
	DataFiles  []string // data, changelog and sidecar files
	MetaFiles  []string // manifests and lists, index and statistics files
}

// Count returns the number of ids in the range.
func (e *Expired) Count() int64 { return e.End - e.First }

// retention is what decides which ids go.
type retention struct {
	min, max, deletesMax int64
	young                int64 // commits at or after this time, in epoch milliseconds, are young
}

func (o *ExpireOptions) retention(t *paimon.Table, minKey, maxKey, timeKey string) (r retention, err error) {
	options := t.Options()
	number := func(given int, key, other string) int64 {
		if given != 0 || err != nil {
			return int64(given)
		}
		if !options.Has(key) {
			key = other
		}
		var n int
		n, err = options.Int(key)
		return int64(n)
	}
	r.min = number(o.RetainMin, minKey, paimon.OptSnapshotNumRetainedMin)
	r.max = number(o.RetainMax, maxKey, paimon.OptSnapshotNumRetainedMax)
	r.deletesMax = number(o.DeletesMax, paimon.OptSnapshotExpireLimit, paimon.OptSnapshotExpireLimit)
	if err != nil {
		return r, err
	}
	if r.min < 1 || r.max < r.min || r.deletesMax < 1 {
		return r, fmt.Errorf("expire table %s: retain at least %d and at most %d, delete at most %d: want 1 <= minimum <= maximum and a limit of at least 1",
			t.Path, r.min, r.max, r.deletesMax)
	}
	age := o.TimeRetained
	if age == 0 {
		if !options.Has(timeKey) {
			timeKey = paimon.OptSnapshotTimeRetained
		}
		if age, err = options.Duration(timeKey); err != nil {
			return r, err
		}
	}
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	r.young = now().Add(-max(age, 0)).UnixMilli()
	if age < 0 {
		r.young = 1<<63 - 1
	}
	return r, nil
}

// ExpireSnapshots deletes old snapshots and the files that only they need
// (format sections 12.1 and 12.2). Where changelogs live longer, their part is
// kept and moves to the long-lived changelogs. It deletes nothing that a
// remaining snapshot, a tag, another branch or a consumer needs. If it fails, or
// the process dies, it can be repeated.
func ExpireSnapshots(ctx context.Context, t *paimon.Table, o ExpireOptions) (*Expired, error) {
	x, err := expireSnapshots(ctx, t, &o)
	if err != nil {
		return nil, fmt.Errorf("expire snapshots of table %s: %w", t.Path, err)
	}
	return x, nil
}

func expireSnapshots(ctx context.Context, t *paimon.Table, o *ExpireOptions) (*Expired, error) {
	if _, err := t.ReloadSchema(ctx); err != nil {
		return nil, err
	}
	r, err := o.retention(t, paimon.OptSnapshotNumRetainedMin, paimon.OptSnapshotNumRetainedMax, paimon.OptSnapshotTimeRetained)
	if err != nil {
		return nil, err
	}
	latest, err := t.LatestID(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return &Expired{}, nil
	}
	if err != nil {
		return nil, err
	}
	earliest, err := t.EarliestID(ctx)
	if err != nil {
		return nil, err
	}
	end, err := snapshotsEnd(ctx, t, r, earliest, latest)
	if err != nil {
		return nil, err
	}
	x := &Expired{First: earliest, End: max(earliest, end)}
	if x.Count() == 0 {
		if o.DryRun {
			return x, nil
		}
		return x, t.WriteEarliestHint(ctx, earliest, true)
	}
	e := &expiry{t: t, first: earliest, end: end, doomed: newDoomed()}
	if err := e.plan(ctx); err != nil {
		return nil, err
	}
	x.DataFiles, x.MetaFiles = e.doomed.data.sorted(), e.doomed.metaFiles()
	if o.DryRun {
		return x, nil
	}
	return x, e.run(ctx, x)
}

// snapshotsEnd returns the first id that stays (format section 12.1).
func snapshotsEnd(ctx context.Context, t *paimon.Table, r retention, earliest, latest int64) (int64, error) {
	start := max(latest-r.max+1, earliest)
	end := latest - r.min + 1
	changelogOnly, err := t.Options().Bool(paimon.OptConsumerChangelogOnly)
	if err != nil {
		return 0, err
	}
	if !changelogOnly {
		next, ok, err := t.MinNextSnapshot(ctx)
		if err != nil {
			return 0, err
		}
		if ok {
			end = min(end, next)
		}
	}
	end = min(end, earliest+r.deletesMax)
	for id := start; id < end; id++ {
		// The age is that of the next one: until then this was the newest.
		next, err := t.Snapshot(ctx, id+1)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if next.TimeMillis >= r.young {
			return id, nil
		}
	}
	return end, nil
}

// expiry deletes the snapshots from first to end, exclusive.
type expiry struct {
	t          *paimon.Table
	first, end int64
	expired    []*paimon.Snapshot // those of the range that are there
	decoupled  bool               // changelogs live longer
	producer   paimon.ChangelogProducer
	doomed     *doomed
}

// plan finds the files that nobody needs any more. It must read everything that
// stays; of what goes it takes what is left by a run that was interrupted.
func (e *expiry) plan(ctx context.Context) (err error) {
	if e.decoupled, err = e.t.Options().ChangelogDecoupled(); err != nil {
		return err
	}
	e.producer = e.t.Schema().ChangelogProducer()
	survivor, err := e.t.Snapshot(ctx, e.end)
	if err != nil {
		return err
	}
	for id := e.first; id < e.end; id++ {
		s, err := e.t.Snapshot(ctx, id)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		e.expired = append(e.expired, s)
	}
	for _, s := range append(e.expired[min(1, len(e.expired)):len(e.expired):len(e.expired)], survivor) {
		if err := e.doomDeleted(ctx, s); err != nil {
			return err
		}
	}
	for _, s := range e.expired {
		if err := e.doomOwn(ctx, s); err != nil {
			return err
		}
	}
	if err := eachMeta(ctx, e.t, survivor, partAll, strict, e.doomed.spareMeta); err != nil {
		return err
	}
	if err := e.spareTags(ctx); err != nil {
		return err
	}
	if !e.decoupled && e.producer == paimon.ProducerNone {
		// Left from a time when changelogs lived longer.
		if err := e.doomed.spareChangelogs(ctx, e.t, nil); err != nil {
			return err
		}
	}
	return e.doomed.spareBranches(ctx, e.t)
}

// doomDeleted takes the files that a snapshot deleted, which only earlier ones
// have. Within one delta the same file may be added again, at another level.
func (e *expiry) doomDeleted(ctx context.Context, s *paimon.Snapshot) error {
	delta, err := e.t.DeltaEntries(ctx, s)
	if errors.Is(err, objstore.ErrNotExist) && s.ID < e.end {
		return nil // an earlier run has come as far as this
	}
	if err != nil {
		return err
	}
	for i := range delta {
		f := &delta[i]
		if f.Kind == manifest.Delete && !(e.decoupled && e.producer == paimon.ProducerNone && fromAppend(&f.File)) {
			eachFile(e.t, f, e.doomed.data.add)
		}
	}
	eachAdded(e.t, delta, e.doomed.data.spare)
	return nil
}

// doomOwn takes what an expired snapshot refers to: changelog files and metadata.
func (e *expiry) doomOwn(ctx context.Context, s *paimon.Snapshot) error {
	which := partAll
	switch {
	case !e.decoupled:
		changelog, err := e.t.ChangelogEntries(ctx, s)
		if err != nil && !errors.Is(err, objstore.ErrNotExist) {
			return err
		}
		eachAdded(e.t, changelog, e.doomed.data.add)
	case e.producer == paimon.ProducerNone:
		which = partIndex | partStatistics // lists and manifests are the changelog
	default:
		which = partState
	}
	return eachMeta(ctx, e.t, s, which, remains, e.doomed.addMeta)
}

// spareTags spares what tags need: of those before the end, as later ones have
// none of these files.
func (e *expiry) spareTags(ctx context.Context) error {
	tags, err := e.t.Tags(ctx)
	if err != nil {
		return err
	}
	nearest := 0 // of the tags before the range only the last can have a file that was there until the range
	for i, tag := range tags {
		if tag.Snapshot.ID <= e.first {
			nearest = i
		}
	}
	for i, tag := range tags {
		if tag.Snapshot.ID >= e.end {
			break
		}
		if i < nearest && tag.Snapshot.ID != tags[nearest].Snapshot.ID {
			// Its metadata may still be shared with the range.
			if err := eachMeta(ctx, e.t, tag.Snapshot, partState, strict, e.doomed.spareMeta); err != nil {
				return fmt.Errorf("tag %s: %w", tag.Name, err)
			}
			continue
		}
		if err := e.doomed.spareState(ctx, e.t, tag.Snapshot); err != nil {
			return fmt.Errorf("tag %s: %w", tag.Name, err)
		}
	}
	return nil
}

// run deletes, in the order that lets a run that is interrupted be repeated:
// snapshots last, as they tell what is to be deleted.
func (e *expiry) run(ctx context.Context, x *Expired) error {
	store := e.t.Store
	if err := e.doomed.deleteData(ctx, store); err != nil {
		return err
	}
	if clean, err := e.t.Options().Bool(paimon.OptSnapshotCleanEmptyDirs); err != nil {
		return err
	} else if clean {
		if err := cleanFolders(ctx, e.t, x.DataFiles); err != nil {
			return err
		}
	}
	if err := e.doomed.deleteMeta(ctx, store); err != nil {
		return err
	}
	if e.decoupled {
		if err := e.keepChangelogs(ctx); err != nil {
			return err
		}
	}
	for _, s := range e.expired {
		if err := store.Delete(ctx, e.t.SnapshotPath(s.ID)); err != nil {
			return fmt.Errorf("delete snapshot %d: %w", s.ID, err)
		}
	}
	return e.t.WriteEarliestHint(ctx, e.end, false)
}

// keepChangelogs copies the snapshots to the long-lived changelogs.
func (e *expiry) keepChangelogs(ctx context.Context) error {
	for _, s := range e.expired {
		data, err := objstore.ReadAll(ctx, e.t.Store, e.t.SnapshotPath(s.ID))
		if err != nil {
			return fmt.Errorf("keep changelog %d: %w", s.ID, err)
		}
		if err := e.t.Store.Put(ctx, e.t.ChangelogPath(s.ID), data); err != nil {
			return fmt.Errorf("keep changelog %d: %w", s.ID, err)
		}
	}
	return e.t.UpdateChangelogHints(ctx)
}

// cleanFolders removes the folders that are empty now: of buckets, then of
// partitions up to the table.
func cleanFolders(ctx context.Context, t *paimon.Table, files []string) error {
	root := t.DataRoot()
	dirs := nameSet{}
	for _, f := range files {
		if dir, _ := objstore.SplitName(f); strings.HasPrefix(dir, root+"/") {
			dirs.add(dir)
		}
	}
	for len(dirs) > 0 {
		above := nameSet{}
		for _, dir := range dirs.sorted() {
			if err := t.Store.DeleteEmptyDir(ctx, dir); err != nil {
				return fmt.Errorf("delete folder %s: %w", dir, err)
			}
			if up, _ := objstore.SplitName(dir); strings.HasPrefix(up, root+"/") {
				above.add(up)
			}
		}
		dirs = above
	}
	return nil
}
