package paimon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/objstore"
)

func (t *Table) snapshotFiles() versions {
	return versions{t: t, dir: t.branchDir() + "/snapshot", prefix: "snapshot-"}
}

func (t *Table) changelogFiles() versions {
	return versions{t: t, dir: t.branchDir() + "/changelog", prefix: "changelog-"}
}

// SnapshotPath returns the name of a snapshot's file.
func (t *Table) SnapshotPath(id int64) string { return t.snapshotFiles().path(id) }

// ChangelogPath returns the name of a long-lived changelog's file.
func (t *Table) ChangelogPath(id int64) string { return t.changelogFiles().path(id) }

// LatestID returns the number of the newest snapshot. [ErrNoSnapshot].
func (t *Table) LatestID(ctx context.Context) (int64, error) {
	files := t.snapshotFiles()
	id, err := t.anySnapshot(files.latest(ctx))
	if err != nil {
		return 0, err
	}
	if ok, err := files.exists(ctx, id); err != nil || ok {
		return id, err
	}
	return t.anySnapshot(files.latestByListing(ctx))
}

// EarliestID returns the number of the oldest snapshot. [ErrNoSnapshot].
func (t *Table) EarliestID(ctx context.Context) (int64, error) {
	return t.anySnapshot(t.snapshotFiles().earliest(ctx))
}

func (t *Table) anySnapshot(id int64, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, fmt.Errorf("table %s: %w", t.Path, err)
	case id == 0:
		return 0, fmt.Errorf("table %s: %w", t.Path, ErrNoSnapshot)
	}
	return id, nil
}

// SnapshotIDs lists the snapshots in ascending order.
func (t *Table) SnapshotIDs(ctx context.Context) ([]int64, error) { return t.snapshotFiles().list(ctx) }

// SnapshotExists tells whether there is a snapshot of that number.
func (t *Table) SnapshotExists(ctx context.Context, id int64) (bool, error) {
	return t.snapshotFiles().exists(ctx, id)
}

// Snapshot returns the snapshot of that number. [ErrSnapshotNotFound].
func (t *Table) Snapshot(ctx context.Context, id int64) (*Snapshot, error) {
	s, err := t.snapshotFiles().read(ctx, id)
	if errors.Is(err, objstore.ErrNotExist) {
		return nil, fmt.Errorf("snapshot %d of table %s: %w: %w", id, t.Path, ErrSnapshotNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %d of table %s: %w", id, t.Path, err)
	}
	return s, nil
}

// LatestSnapshot returns the newest snapshot. [ErrNoSnapshot].
func (t *Table) LatestSnapshot(ctx context.Context) (*Snapshot, error) {
	id, err := t.anySnapshot(t.snapshotFiles().latest(ctx))
	if err != nil {
		return nil, err
	}
	s, err := t.Snapshot(ctx, id)
	if !errors.Is(err, ErrSnapshotNotFound) {
		return s, err
	}
	// The hint points beyond the newest snapshot, as it may after a rollback.
	if id, err = t.anySnapshot(t.snapshotFiles().latestByListing(ctx)); err != nil {
		return nil, err
	}
	return t.Snapshot(ctx, id)
}

// EarliestSnapshot returns the oldest snapshot. [ErrNoSnapshot]. If it is
// expired meanwhile, it is the next one that is still there.
func (t *Table) EarliestSnapshot(ctx context.Context) (*Snapshot, error) {
	id, err := t.EarliestID(ctx)
	if err != nil {
		return nil, err
	}
	for next := id; next < id+earliestForward; next++ {
		s, err := t.Snapshot(ctx, next)
		if !errors.Is(err, ErrSnapshotNotFound) {
			return s, err
		}
	}
	return nil, fmt.Errorf("table %s: %d snapshots from %d: %w", t.Path, earliestForward, id, ErrSnapshotNotFound)
}

// EarliestChangelogID returns the number of the oldest long-lived changelog.
// [ErrChangelogNotFound] if there is none.
func (t *Table) EarliestChangelogID(ctx context.Context) (int64, error) {
	return t.anyChangelog(t.changelogFiles().earliest(ctx))
}

// LatestChangelogID returns the number of the newest long-lived changelog.
// [ErrChangelogNotFound] if there is none.
func (t *Table) LatestChangelogID(ctx context.Context) (int64, error) {
	return t.anyChangelog(t.changelogFiles().latest(ctx))
}

func (t *Table) anyChangelog(id int64, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, fmt.Errorf("table %s: %w", t.Path, err)
	case id == 0:
		return 0, fmt.Errorf("table %s: %w", t.Path, ErrChangelogNotFound)
	}
	return id, nil
}

// ChangelogIDs lists the long-lived changelogs in ascending order.
func (t *Table) ChangelogIDs(ctx context.Context) ([]int64, error) {
	return t.changelogFiles().list(ctx)
}

// Changelog returns the long-lived changelog of an expired snapshot: the
// snapshot as it was, whose base cannot be read any more. [ErrChangelogNotFound].
func (t *Table) Changelog(ctx context.Context, id int64) (*Snapshot, error) {
	s, err := t.changelogFiles().read(ctx, id)
	if errors.Is(err, objstore.ErrNotExist) {
		return nil, fmt.Errorf("changelog %d of table %s: %w: %w", id, t.Path, ErrChangelogNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("changelog %d of table %s: %w", id, t.Path, err)
	}
	return s, nil
}

// SnapshotOrChangelog returns the snapshot of that number or, if it is expired,
// its long-lived changelog (format section 3.5). [ErrSnapshotNotFound].
func (t *Table) SnapshotOrChangelog(ctx context.Context, id int64) (s *Snapshot, changelog bool, err error) {
	s, err = t.Snapshot(ctx, id)
	if !errors.Is(err, ErrSnapshotNotFound) {
		return s, false, err
	}
	long, lerr := t.Changelog(ctx, id)
	if errors.Is(lerr, ErrChangelogNotFound) {
		return nil, false, err
	}
	return long, true, lerr
}

// SnapshotAtOrBefore returns the newest snapshot that was committed at or before
// a time. [ErrSnapshotNotFound] if all are later, [ErrNoSnapshot].
func (t *Table) SnapshotAtOrBefore(ctx context.Context, at time.Time) (*Snapshot, error) {
	millis := at.UnixMilli()
	s, err := t.search(ctx, func(s *Snapshot) bool { return s.TimeMillis > millis })
	if err != nil {
		return nil, err
	}
	if s.before == nil {
		return nil, fmt.Errorf("snapshot of table %s at or before %s: the earliest, %d, is of %s: %w", t.Path,
			at.UTC().Format(time.RFC3339Nano), s.first.ID, s.first.Time().UTC().Format(time.RFC3339Nano), ErrSnapshotNotFound)
	}
	return s.before, nil
}

// SnapshotBefore returns the newest snapshot that was committed earlier than a
// time, or nil if there is none. [ErrNoSnapshot].
func (t *Table) SnapshotBefore(ctx context.Context, at time.Time) (*Snapshot, error) {
	millis := at.UnixMilli()
	s, err := t.search(ctx, func(s *Snapshot) bool { return s.TimeMillis >= millis })
	if err != nil {
		return nil, err
	}
	return s.before, nil
}

// SnapshotByWatermark returns the first snapshot whose watermark is at least the
// given one. [ErrSnapshotNotFound] if there is none, [ErrNoSnapshot].
func (t *Table) SnapshotByWatermark(ctx context.Context, watermark int64) (*Snapshot, error) {
	// Watermarks never fall, and snapshots without one come before those with.
	s, err := t.search(ctx, func(s *Snapshot) bool {
		w, ok := s.EventTime()
		return ok && w >= watermark
	})
	if err != nil {
		return nil, err
	}
	if s.from == nil {
		return nil, fmt.Errorf("snapshot of table %s with a watermark of at least %d: %w", t.Path, watermark, ErrSnapshotNotFound)
	}
	return s.from, nil
}

// searched is where a property of snapshots begins to hold.
type searched struct {
	first  *Snapshot // earliest of all
	before *Snapshot // last one without the property, or nil
	from   *Snapshot // first one with it, or nil
}

// search finds the first snapshot with a property that all later ones have too.
func (t *Table) search(ctx context.Context, has func(*Snapshot) bool) (searched, error) {
	first, err := t.EarliestSnapshot(ctx)
	if err != nil {
		return searched{}, err
	}
	last, err := t.LatestSnapshot(ctx)
	if err != nil {
		return searched{}, err
	}
	r := searched{first: first}
	lo, hi := first.ID, last.ID // ids not yet judged
	for lo <= hi {
		mid := lo + (hi-lo)/2
		s, err := t.Snapshot(ctx, mid)
		if errors.Is(err, ErrSnapshotNotFound) && mid < hi {
			lo = mid + 1 // expired since the search began
			continue
		}
		if err != nil {
			return searched{}, err
		}
		if has(s) {
			r.from, hi = s, mid-1
		} else {
			r.before, lo = s, mid+1
		}
	}
	return r, nil
}
