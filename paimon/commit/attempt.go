package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/objstore"
	"sluice/paimon"
)

const (
	// aftermathMax bounds what is done about a try after its context has ended:
	// reading back, cleaning up.
	aftermathMax = 10 * time.Second
)

// outcome is what is known of a try to create a snapshot.
type outcome uint8

const (
	won     outcome = iota
	lost            // somebody else has the number
	unknown         // the store failed, and the snapshot may appear yet
	refused         // certainly not created
)

// commitPart makes one snapshot. It tries until it wins or may not go on.
func (c *Committer) commitPart(ctx context.Context, p *part) (*paimon.Snapshot, error) {
	started := c.o.Now()
	for ; ; p.tries++ {
		if p.tries > 0 {
			if err := c.pause(ctx, p.tries-1, started); err != nil {
				return nil, c.giveUp(ctx, p, err)
			}
			if err := c.refresh(ctx); err != nil {
				return nil, c.giveUp(ctx, p, err)
			}
		}
		s, err := c.wonBefore(ctx, p)
		if s != nil || err != nil {
			return s, err
		}
		plan, err := c.plan(ctx, p, true)
		if err != nil {
			var conflict *ConflictError
			if before := c.head.id(); p.tries == 0 && errors.As(err, &conflict) {
				// The head may be behind, as it is not looked at between two parts.
				if err := c.refresh(ctx); err != nil {
					return nil, c.giveUp(ctx, p, err)
				}
				if c.head.id() != before {
					continue
				}
			}
			return nil, c.giveUp(ctx, p, err)
		}
		staged, err := c.writeFiles(ctx, plan)
		if err != nil {
			return nil, c.giveUp(ctx, p, err)
		}
		result, err := c.publish(ctx, plan, staged[0])
		staged[0].Discard()
		if result == won {
			c.advance(ctx, plan, c.headAfter(plan), true)
			return plan.snapshot, nil
		}
		if err := c.settle(ctx, p, plan, result, err); err != nil {
			return nil, err
		}
	}
}

// commitTogether makes the first try of two parts at once, which takes little
// more time than one: all files are written together, then one snapshot is
// created after the other. It returns how many of them are done. What is not is
// left to commitPart.
func (c *Committer) commitTogether(ctx context.Context, first, second *part) (snapshots []*paimon.Snapshot, err error) {
	before := c.head
	plans := make([]*plan, 2)
	if plans[0], err = c.plan(ctx, first, true); err != nil {
		return nil, c.giveUp(ctx, first, err)
	}
	// The second plan follows a head that is not there yet: what it needs to know
	// of the one before is read now.
	if c.load(ctx, second) != nil {
		return nil, nil
	}
	c.head = c.headAfter(plans[0])
	heads := []*head{c.head, nil}
	if plans[1], err = c.plan(ctx, second, false); err == nil {
		heads[1] = c.headAfter(plans[1])
	}
	c.head = before
	before.live = nil // it has gone on
	if err != nil {
		return nil, nil // commitPart finds out whether that is so
	}
	staged, err := c.writeFiles(ctx, plans...)
	if err != nil {
		return nil, c.giveUp(ctx, first, err)
	}
	defer func() {
		for _, s := range staged {
			s.Discard()
		}
	}()
	for i, p := range []*part{first, second} {
		result, err := c.publish(ctx, plans[i], staged[i])
		if result == won {
			c.advance(ctx, plans[i], heads[i], i == 1)
			snapshots = append(snapshots, plans[i].snapshot)
			continue
		}
		if i == 0 { // the second one was never tried
			c.remove(ctx, plans[1].own)
			c.dropDelta(ctx, second, plans[1])
		} else {
			c.head.live = nil // the second one is in it already
			c.writeHint(ctx, c.head.id())
		}
		p.tries++
		return snapshots, c.settle(ctx, p, plans[i], result, err)
	}
	return snapshots, nil
}

// load reads what the plan of a part needs to know of the head.
func (c *Committer) load(ctx context.Context, p *part) error {
	if _, err := c.loadLive(ctx, p.changes.partitions()); err != nil {
		return err
	}
	_, err := c.indexEntries(ctx)
	return err
}

// settle does what follows a try that has not won. It returns an error if there
// must not be another.
func (c *Committer) settle(ctx context.Context, p *part, plan *plan, result outcome, err error) error {
	switch result {
	case lost:
		c.remove(ctx, plan.own)
		c.dropDelta(ctx, p, plan)
		if c.o.Events.LostRace != nil {
			c.o.Events.LostRace(plan.snapshot.ID)
		}
		return nil
	case unknown:
		p.unknown = &UnknownOutcomeError{Snapshot: plan.snapshot.ID, Err: err}
		if c.o.Events.Unknown != nil {
			c.o.Events.Unknown(plan.snapshot.ID, err)
		}
		if ctx.Err() != nil {
			return p.unknown
		}
		return nil
	}
	c.remove(ctx, plan.own)
	c.dropDelta(ctx, p, plan)
	return c.giveUp(ctx, p, err)
}

// giveUp cleans up after a part that will not be tried again, and returns the
// error that says so.
func (c *Committer) giveUp(ctx context.Context, p *part, err error) error {
	if p.unknown != nil { // a try may have succeeded
		return &UnknownOutcomeError{Snapshot: p.unknown.Snapshot, Err: errors.Join(err, p.unknown.Err)}
	}
	if p.shared != nil && p.shared.written {
		c.remove(ctx, p.shared.files)
	}
	return err
}

// dropDelta removes the delta of a try that lost, unless the next try uses it.
func (c *Committer) dropDelta(ctx context.Context, p *part, plan *plan) {
	if p.shared == nil {
		c.remove(ctx, plan.delta.files)
	}
}

// pause waits before a retry, or says that there is none.
func (c *Committer) pause(ctx context.Context, retry int, started time.Time) error {
	limit, least, most, timeout := c.o.MaxRetries, c.o.MinRetryWait, c.o.MaxRetryWait, c.o.Timeout
	if limit == 0 {
		limit = c.set.maxRetries
	}
	if least == 0 {
		least = c.set.minWait
	}
	if most == 0 {
		most = c.set.maxWait
	}
	if timeout == 0 {
		timeout = c.set.timeout
	}
	if retry >= limit {
		return fmt.Errorf("gave up after %d retries: %w", retry, ErrLostRaces)
	}
	if spent := c.o.Now().Sub(started); timeout > 0 && spent >= timeout {
		return fmt.Errorf("after %s: %w", spent, ErrTimeout)
	}
	wait := most
	if retry < 32 {
		wait = min(most, least<<retry)
	}
	return c.o.Wait(ctx, wait+c.o.Jitter(wait))
}

// wonBefore returns the snapshot of an earlier try that has succeeded after all,
// or of another committer of the same request.
func (c *Committer) wonBefore(ctx context.Context, p *part) (*paimon.Snapshot, error) {
	same, err := c.committed(ctx, p.req, false)
	if err != nil {
		return nil, c.giveUp(ctx, p, err)
	}
	for _, s := range same {
		if isCompact(s.CommitKind) != isCompact(p.changes.kind) {
			continue
		}
		if d := p.shared; d != nil && d.written && p.unknown == nil && s.DeltaManifestList != d.list.name {
			c.remove(ctx, d.files)
		}
		return s, nil
	}
	return nil, nil
}

// writeFiles writes all metadata of some plans at once, and prepares their
// snapshots meanwhile. After an error nothing of it is left.
func (c *Committer) writeFiles(ctx context.Context, plans ...*plan) ([]objstore.Staged, error) {
	var fresh []file
	for _, p := range plans {
		fresh = append(fresh, p.own...)
		if !p.delta.written {
			fresh = append(fresh, p.delta.files...)
		}
	}
	objects := make([]objstore.Object, len(fresh))
	for i, f := range fresh {
		objects[i] = objstore.Object{Name: c.table.ManifestPath(f.name), Data: f.data}
	}
	staged := make([]objstore.Staged, len(plans))
	errs := make([]error, len(plans)+1)
	var wg sync.WaitGroup // all of it ends before this function does
	for i, p := range plans {
		wg.Go(func() {
			staged[i], errs[i] = objstore.Stage(ctx, c.table.Store, c.table.SnapshotPath(p.snapshot.ID), p.content)
		})
	}
	errs[len(plans)] = objstore.PutAll(ctx, c.table.Store, objects)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, s := range staged {
			if s != nil {
				s.Discard()
			}
		}
		c.remove(ctx, fresh)
		return nil, fmt.Errorf("write metadata of snapshot %d: %w", plans[0].snapshot.ID, err)
	}
	for _, p := range plans {
		p.delta.written = true
	}
	return staged, nil
}

// publish creates the snapshot. It is the commit. The head must still be there:
// meanwhile others may have committed and expired so much that the number of the
// plan is free again, below the snapshots that are left.
func (c *Committer) publish(ctx context.Context, plan *plan, staged objstore.Staged) (outcome, error) {
	if c.head.snapshot != nil {
		if same, err := c.sameHead(ctx); err != nil {
			return refused, err
		} else if !same {
			return lost, nil
		}
	}
	name := c.table.SnapshotPath(plan.snapshot.ID)
	err := staged.Publish(ctx)
	if err == nil {
		return won, nil
	}
	var badName *objstore.NameError
	if errors.As(err, &badName) {
		return refused, err
	}
	// The answer is not the truth: look at what is there.
	after, cancel := aftermath(ctx)
	defer cancel()
	got, readErr := objstore.ReadAll(after, c.table.Store, name)
	switch {
	case readErr == nil && bytes.Equal(got, plan.content):
		return won, nil
	case readErr == nil:
		return lost, nil
	}
	return unknown, errors.Join(fmt.Errorf("create snapshot %d: %w", plan.snapshot.ID, err), fmt.Errorf("read it back: %w", readErr))
}

// headAfter returns what the head is once the snapshot of a plan is there. The
// live files of the head go over to it.
func (c *Committer) headAfter(plan *plan) *head {
	h := &head{snapshot: plan.snapshot, metas: plan.metas, live: c.head.live}
	if h.live != nil {
		h.live.apply(plan.delta.entries)
	}
	switch {
	case plan.index != nil:
		h.index, h.hasIndex = plan.index, true
	case plan.snapshot.IndexManifest == nil:
		h.hasIndex = true
	default:
		h.index, h.hasIndex = c.head.index, c.head.hasIndex
	}
	return h
}

// advance makes a snapshot that was just created the head, and writes the hint.
func (c *Committer) advance(ctx context.Context, plan *plan, h *head, hint bool) {
	s := plan.snapshot
	c.head = h
	c.past.add(s)
	c.recent.keep(plan.delta.metas, plan.delta.entries)
	if m := plan.merged; m.read > 0 && c.o.Events.Merged != nil {
		size := int64(0)
		for _, f := range m.files {
			size += int64(len(f.data))
		}
		c.o.Events.Merged(m.read, len(m.files), size)
	}
	// The commit is done. What follows helps readers and the next commit, and must
	// not turn it into a failure.
	if hint {
		c.writeHint(ctx, s.ID)
	}
	after, cancel := aftermath(ctx)
	defer cancel()
	// If this fails, info matches no file, and the head is read anew next time.
	h.info, _ = c.table.Store.Stat(after, c.table.SnapshotPath(s.ID))
}

func (c *Committer) writeHint(ctx context.Context, id int64) {
	after, cancel := aftermath(ctx)
	defer cancel()
	dir, _ := objstore.SplitName(c.table.SnapshotPath(id))
	err := objstore.PutHint(after, c.table.Store, objstore.JoinName(dir, "LATEST"), strconv.AppendInt(nil, id, 10))
	if err != nil && c.o.Events.HintFailed != nil {
		c.o.Events.HintFailed(id, err)
	}
}

// remove deletes metadata files that are certainly ours and certainly invisible.
func (c *Committer) remove(ctx context.Context, files []file) {
	after, cancel := aftermath(ctx)
	defer cancel()
	for _, f := range files {
		name := c.table.ManifestPath(f.name)
		if err := c.table.Store.Delete(after, name); err != nil && c.o.Events.CleanFailed != nil {
			c.o.Events.CleanFailed(name, err)
		}
	}
}

// aftermath returns a context for what must be done although the caller's has
// ended.
func aftermath(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), aftermathMax)
}

// isInsideAnother tells whether a name may be that of a range in a compacted
// changelog file, which is not a file of its own (format section 10.3).
func isInsideAnother(name string) bool {
	return strings.HasPrefix(name, "compacted-changelog-") && strings.Contains(name, "$")
}
