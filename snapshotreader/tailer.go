package snapshotreader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/objstore"
	"sluice/paimon"
)

// Tailer reads a stream: an image if the start asks for one, then the changes of
// each snapshot as it is committed. It is used by one goroutine; only Poke may be
// called from others. It must be closed.
type Tailer struct {
	place
	opts   Options
	pos    Cursor
	until  Until
	open   *delivery
	closed bool

	proj    *projection // of the schema used last
	commits int64       // whose changes were delivered to their end

	wake    chan struct{} // hints of Poke, at most one waiting
	quiet   time.Time     // since when nothing has come
	checked time.Time     // when it was last made sure that more can come
}

// Open opens a stream of the table's branch. What the start names must be
// available: errors are *CursorInvalidError, *CursorExpiredError,
// *CursorMismatchError, *CursorAheadError, *UnsupportedError, [ErrTableDropped], and
// those of a tag or snapshot that does not exist. The position is fixed when Open
// returns: what is committed after that is in the stream.
func Open(ctx context.Context, t *paimon.Table, s Start, o Options) (*Tailer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	tl := &Tailer{
		place: place{table: t, branch: branchID(t.Branch)},
		opts:  o, until: o.Until, wake: make(chan struct{}, 1),
	}
	if tl.pos, err = tl.resolve(ctx, s); err != nil {
		return nil, fmt.Errorf("start at %s: %w", s, err)
	}
	if tl.until.Mode == UntilLatest {
		newest, err := tl.latest(ctx)
		if err != nil {
			return nil, err
		}
		tl.until = Until{Mode: UntilSnapshot}
		if newest != nil {
			tl.until.Snapshot = newest.ID
		}
	}
	if tl.pos.Phase == Image {
		if tl.open, err = tl.openImage(ctx); err != nil {
			return nil, fmt.Errorf("start at %s: %w", s, err)
		}
	}
	tl.quiet = o.Now()
	return tl, nil
}

// Cursor names what the next call of Next returns the first row of.
func (t *Tailer) Cursor() Cursor { return t.pos }

// Poke says that a snapshot was committed: a waiting Next looks at once. It may be
// called by any goroutine, never blocks, and may be forgotten or wrong.
func (t *Tailer) Poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Close gives up what is open. Next then returns [ErrClosed].
func (t *Tailer) Close() error {
	t.closed = true
	return t.drop()
}

// Next returns the next batch and moves the cursor behind it. It waits for the next
// snapshot if there is none, until ctx is done. It returns io.EOF at the bound.
//
// Errors are those of [Open], and of reading. None of them moves the cursor: the
// call may be repeated, and reads from the same row again.
func (t *Tailer) Next(ctx context.Context) (*Batch, error) {
	if t.closed {
		return nil, ErrClosed
	}
	b, err := t.next(ctx)
	if err == nil || err == io.EOF {
		return b, err
	}
	if paused := (*pausedError)(nil); errors.As(err, &paused) {
		return nil, paused.cause
	}
	return nil, joinClose(t.diagnose(ctx, err), t.drop())
}

func (t *Tailer) next(ctx context.Context) (*Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if t.open == nil {
			d, err := t.openNext(ctx)
			if err != nil {
				return nil, err
			}
			t.open = d
		}
		b, err := t.open.next(ctx)
		if err != nil {
			return nil, err
		}
		broken := t.open.broken
		if b.Last {
			if b.Phase == Changes {
				t.commits++
			}
			t.quiet = t.opts.Now()
		}
		if b.Last || broken {
			if err := t.drop(); err != nil {
				return nil, err
			}
		}
		skip := t.pos.Skip
		t.pos = b.Next
		if skip == 0 {
			return b, nil
		}
		n := min(int(skip), b.Rows.N)
		if n == b.Rows.N {
			t.pos.Skip = skip - uint32(n)
			continue
		}
		b.cut(n)
		return b, nil
	}
}

// openNext opens the delivery at the position, after waiting for its snapshot. It
// returns io.EOF if the position is behind the bound.
func (t *Tailer) openNext(ctx context.Context) (*delivery, error) {
	if t.pos.Phase == Image {
		return t.openImage(ctx)
	}
	if t.until.Mode == UntilSnapshot && t.pos.Snapshot > t.until.Snapshot || t.until.Mode == UntilCommits && t.commits >= t.until.Commits {
		return nil, io.EOF
	}
	snap, err := t.await(ctx)
	if err != nil {
		return nil, err
	}
	if t.until.Mode == UntilTime && snap.Time().After(t.until.Time) {
		return nil, io.EOF
	}
	proj, err := t.projection(ctx, snap)
	if err != nil {
		return nil, err
	}
	units, err := planChanges(ctx, t.table, snap, proj.schema, t.opts.StreamOverwrite)
	if err != nil {
		return nil, fmt.Errorf("changes of snapshot %d: %w", snap.ID, err)
	}
	return newDelivery(t.table, snap, proj, units, t.pos, limitsOf(t.opts.BatchRows, t.opts.BatchBytes))
}

func (t *Tailer) openImage(ctx context.Context) (*delivery, error) {
	snap, err := t.image(ctx, t.pos)
	if err != nil {
		return nil, err
	}
	if err := t.verify(ctx, snap); err != nil {
		return nil, err
	}
	proj, err := t.projection(ctx, snap)
	if err != nil {
		return nil, err
	}
	units, err := planImage(ctx, t.table, snap, proj.schema)
	if err != nil {
		return nil, fmt.Errorf("image of snapshot %d: %w", snap.ID, err)
	}
	return newDelivery(t.table, snap, proj, units, t.pos, limitsOf(t.opts.BatchRows, t.opts.BatchBytes))
}

// projection returns how rows of a snapshot are delivered: in its schema.
func (t *Tailer) projection(ctx context.Context, snap *paimon.Snapshot) (*projection, error) {
	if t.proj != nil && t.proj.schema.ID == snap.SchemaID {
		return t.proj, nil
	}
	s, err := t.table.SchemaByID(ctx, snap.SchemaID)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", snap.ID, err)
	}
	p, err := newProjection(s, t.opts.Columns, nil, true)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", snap.ID, err)
	}
	t.proj = p
	return p, nil
}

// await returns the snapshot at the position as soon as it is there.
func (t *Tailer) await(ctx context.Context) (*paimon.Snapshot, error) {
	t.checked = time.Time{}
	for {
		now := t.opts.Now()
		snap, err := t.look(ctx, now)
		if err != nil {
			return nil, err
		}
		if snap != nil {
			return snap, t.verify(ctx, snap)
		}
		if t.until.Mode == UntilTime && now.After(t.until.Time) {
			return nil, io.EOF
		}
		if err := t.wait(ctx, t.opts.pause(now.Sub(t.quiet))); err != nil {
			return nil, err
		}
	}
}

// look returns the snapshot at the position, nil if it is not there yet.
func (t *Tailer) look(ctx context.Context, now time.Time) (*paimon.Snapshot, error) {
	snap, err := t.table.Snapshot(ctx, t.pos.Snapshot)
	if !errors.Is(err, paimon.ErrSnapshotNotFound) {
		return snap, err
	}
	if !t.checked.IsZero() && now.Sub(t.checked) < t.opts.CheckInterval {
		return nil, nil
	}
	t.checked = now
	return t.changes(ctx, t.pos)
}

// wait pauses, less if somebody pokes.
func (t *Tailer) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.wake:
		t.quiet = t.opts.Now()
	case <-timer.C:
	}
	return nil
}

// verify makes sure that a snapshot that was found is the next one of the history
// that was read so far, and not of one that took its place.
func (t *Tailer) verify(ctx context.Context, snap *paimon.Snapshot) error {
	if err := t.identity(ctx, t.pos); err != nil {
		return err
	}
	return t.lineage(ctx, t.pos, snap)
}

// diagnose finds out why a file that a snapshot names is missing.
func (t *Tailer) diagnose(ctx context.Context, err error) error {
	var known *CursorExpiredError
	if !errors.Is(err, objstore.ErrNotExist) || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, paimon.ErrSnapshotNotFound) {
		return t.expired(ctx, t.pos, err) // the state before an overwrite
	}
	if gone := t.identity(ctx, t.pos); gone != nil {
		return gone
	}
	var missing error
	if t.pos.Phase == Image {
		_, missing = imageSnapshot(ctx, t.table, t.pos.Snapshot)
	} else {
		_, _, missing = t.table.SnapshotOrChangelog(ctx, t.pos.Snapshot)
	}
	if errors.Is(missing, paimon.ErrSnapshotNotFound) {
		return t.expired(ctx, t.pos, err)
	}
	return err
}

// drop closes the open delivery. The next call opens it at the position again.
func (t *Tailer) drop() error {
	d := t.open
	t.open = nil
	if d == nil {
		return nil
	}
	return d.close()
}
