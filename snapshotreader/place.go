package snapshotreader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/paimon"
)

// place finds positions in the history of a table.
type place struct {
	table  *paimon.Table
	branch uint32
}

// cursor returns the boundary before the delivery of a snapshot.
func (p place) cursor(phase Phase, id int64) Cursor {
	return Cursor{Table: p.table.Identity(), Branch: p.branch, Phase: phase, Snapshot: id}
}

// latest returns the newest snapshot, nil if there is none.
func (p place) latest(ctx context.Context) (*paimon.Snapshot, error) {
	snap, err := p.table.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, nil
	}
	return snap, err
}

// earliest returns the oldest id whose changes can be read, 1 in an empty table.
func (p place) earliest(ctx context.Context) (int64, error) {
	oldest, err := p.table.EarliestID(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return paimon.FirstSnapshotID, nil
	}
	if err != nil {
		return 0, err
	}
	long, err := p.table.EarliestChangelogID(ctx)
	if errors.Is(err, paimon.ErrChangelogNotFound) {
		return oldest, nil
	}
	return min(long, oldest), err
}

// changes returns the snapshot whose changes come at c, or nil if it is the one
// that will be committed next. Errors are *CursorExpiredError, *CursorAheadError
// and those of identity.
func (p place) changes(ctx context.Context, c Cursor) (*paimon.Snapshot, error) {
	snap, _, err := p.table.SnapshotOrChangelog(ctx, c.Snapshot)
	if !errors.Is(err, paimon.ErrSnapshotNotFound) {
		return snap, err
	}
	newest, err := p.latest(ctx)
	if err != nil {
		return nil, err
	}
	head := int64(0)
	if newest != nil {
		head = newest.ID
	}
	switch {
	case c.Snapshot == head+1:
		return nil, p.identity(ctx, c)
	case c.Snapshot > head:
		if err := p.identity(ctx, c); err != nil {
			return nil, err
		}
		return nil, &CursorAheadError{Cursor: c, Latest: head}
	}
	// It may have been committed since it was first looked for.
	snap, _, err = p.table.SnapshotOrChangelog(ctx, c.Snapshot)
	if errors.Is(err, paimon.ErrSnapshotNotFound) {
		return nil, p.expired(ctx, c, nil)
	}
	return snap, err
}

// image returns the snapshot whose image comes at c.
func (p place) image(ctx context.Context, c Cursor) (*paimon.Snapshot, error) {
	snap, err := imageSnapshot(ctx, p.table, c.Snapshot)
	if !errors.Is(err, paimon.ErrSnapshotNotFound) {
		return snap, err
	}
	if err := p.identity(ctx, c); err != nil {
		return nil, err
	}
	newest, err := p.latest(ctx)
	switch {
	case err != nil:
		return nil, err
	case newest == nil:
		return nil, &CursorAheadError{Cursor: c}
	case c.Snapshot > newest.ID:
		return nil, &CursorAheadError{Cursor: c, Latest: newest.ID}
	}
	return nil, p.expired(ctx, c, nil)
}

// identity tells whether the table is still the one that the cursor names.
func (p place) identity(ctx context.Context, c Cursor) error {
	id, err := p.table.CurrentIdentity(ctx)
	switch {
	case errors.Is(err, paimon.ErrTableNotFound):
		return fmt.Errorf("table %s: %w", p.table.Path, ErrTableDropped)
	case err != nil:
		return err
	case id != c.Table:
		return &CursorMismatchError{Cursor: c, Reason: "the table was dropped and another one made under its name"}
	}
	return nil
}

// owns tells whether a cursor is of this table and branch.
func (p place) owns(c Cursor) error {
	switch {
	case c.Table != p.table.Identity():
		return &CursorMismatchError{Cursor: c, Reason: "it was made for another table, or for one that was dropped and made anew"}
	case c.Branch != p.branch:
		return &CursorMismatchError{Cursor: c, Reason: "it was made for another branch than " + p.table.Branch}
	}
	return nil
}

// lineage tells whether the history around a position is the one that the cursor
// was made in. snap is the snapshot that the cursor names, nil if it is not there
// yet. What has expired cannot be compared.
func (p place) lineage(ctx context.Context, c Cursor, snap *paimon.Snapshot) error {
	switch c.markOf {
	case markNone:
		return nil
	case markPrevious:
		var err error
		snap, _, err = p.table.SnapshotOrChangelog(ctx, c.Snapshot-1)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if snap == nil || fingerprint(snap) == c.mark {
		return nil
	}
	return &CursorMismatchError{Cursor: c, Reason: fmt.Sprintf("snapshot %d is not the one it was made in: the table was rolled back or restored, and written on", snap.ID)}
}

// expired describes a position that cannot be read any more.
func (p place) expired(ctx context.Context, c Cursor, cause error) error {
	e := &CursorExpiredError{Cursor: c, Err: cause}
	ids, err := p.table.SnapshotIDs(ctx)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		e.Latest = ids[len(ids)-1]
	}
	if c.Phase == Changes {
		long, err := p.table.ChangelogIDs(ctx)
		if err != nil {
			return err
		}
		ids = append(ids, long...)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if id > c.Snapshot || id == c.Snapshot && cause == nil {
			e.Earliest = id
			break
		}
	}
	return e
}

// resolve turns a start into a cursor, and finds out at once whether it can be
// read.
func (p place) resolve(ctx context.Context, s Start) (Cursor, error) {
	c, err := p.locate(ctx, s)
	var expired *CursorExpiredError
	if s.OrEarliest && errors.As(err, &expired) {
		return p.resolve(ctx, Start{Mode: StartEarliest})
	}
	return c, err
}

// earliestTries bounds how often the oldest snapshot is looked for while others
// expire snapshots.
const earliestTries = 16

func (p place) locate(ctx context.Context, s Start) (Cursor, error) {
	switch s.Mode {
	case StartEarliest:
		var err error
		for range earliestTries {
			var id int64
			if id, err = p.earliest(ctx); err != nil {
				return Cursor{}, err
			}
			c := p.cursor(Changes, id)
			if _, err = p.changes(ctx, c); err == nil {
				return c, nil
			}
			var expired *CursorExpiredError
			if !errors.As(err, &expired) {
				return Cursor{}, err
			}
		}
		return Cursor{}, err
	case StartLatest, StartFull:
		newest, err := p.latest(ctx)
		if err != nil {
			return Cursor{}, err
		}
		if newest == nil {
			return p.cursor(Changes, paimon.FirstSnapshotID), nil
		}
		if s.Mode == StartFull {
			return p.cursor(Image, newest.ID), nil
		}
		return afterSnapshot(p.cursor(Changes, 0), newest), nil
	case StartSnapshot:
		c := p.cursor(Changes, s.Snapshot)
		_, err := p.changes(ctx, c)
		return c, err
	case StartSnapshotFull:
		c := p.cursor(Image, s.Snapshot)
		_, err := p.image(ctx, c)
		return c, err
	case StartTime:
		return p.atTime(ctx, s)
	case StartTag, StartTagFull:
		tag, err := p.table.Tag(ctx, s.Tag)
		if err != nil {
			return Cursor{}, err
		}
		if s.Mode == StartTagFull {
			return p.cursor(Image, tag.Snapshot.ID), nil
		}
		c := afterSnapshot(p.cursor(Changes, 0), tag.Snapshot)
		_, err = p.changes(ctx, c)
		return c, err
	case StartConsumer:
		consumer, err := p.table.Consumer(ctx, s.Consumer)
		if errors.Is(err, paimon.ErrConsumerNotFound) {
			return p.locate(ctx, Start{Mode: StartFull})
		}
		if err != nil {
			return Cursor{}, err
		}
		c := p.cursor(Changes, consumer.NextSnapshot)
		_, err = p.changes(ctx, c)
		return c, err
	case StartCursor:
		return s.Cursor, p.atCursor(ctx, s.Cursor)
	}
	return Cursor{}, fmt.Errorf("start mode %s is not known", s.Mode)
}

// atTime finds the first snapshot that was made at or after a time.
func (p place) atTime(ctx context.Context, s Start) (Cursor, error) {
	before, err := p.table.SnapshotBefore(ctx, s.Time)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return p.cursor(Changes, paimon.FirstSnapshotID), nil
	}
	if err != nil {
		return Cursor{}, err
	}
	if before != nil {
		return afterSnapshot(p.cursor(Changes, 0), before), nil
	}
	return p.beforeSnapshots(ctx, s)
}

// beforeSnapshots finds the start for a time that all snapshots are later than:
// among long-lived changelogs, or the oldest there is.
func (p place) beforeSnapshots(ctx context.Context, s Start) (Cursor, error) {
	oldest, err := p.table.EarliestID(ctx)
	if err != nil {
		return Cursor{}, err
	}
	ids, err := p.table.ChangelogIDs(ctx)
	if err != nil {
		return Cursor{}, err
	}
	for _, id := range slices.Backward(ids) {
		if id >= oldest {
			continue
		}
		long, err := p.table.Changelog(ctx, id)
		if errors.Is(err, paimon.ErrChangelogNotFound) {
			break // expired just now, as those before it
		}
		if err != nil {
			return Cursor{}, err
		}
		if long.TimeMillis < s.Time.UnixMilli() {
			return afterSnapshot(p.cursor(Changes, 0), long), nil
		}
		oldest = id
	}
	return p.cursor(Changes, oldest), nil
}

// atCursor tells whether a cursor can be read on from.
func (p place) atCursor(ctx context.Context, c Cursor) error {
	if c.IsZero() {
		return &CursorInvalidError{Reason: "it is empty"}
	}
	if err := p.owns(c); err != nil {
		return err
	}
	var snap *paimon.Snapshot
	var err error
	if c.Phase == Image {
		snap, err = p.image(ctx, c)
	} else {
		snap, err = p.changes(ctx, c)
	}
	if err != nil {
		return err
	}
	if snap == nil && (c.Unit > 0 || c.Row > 0) {
		return &CursorAheadError{Cursor: c, Latest: c.Snapshot - 1}
	}
	return p.lineage(ctx, c, snap)
}
