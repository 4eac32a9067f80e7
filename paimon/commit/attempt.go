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
	// staleAfter is how long a plan may take before the head is looked at again: in
	// that time others may have committed and expired so much that the number of the
	// plan is free again, below the snapshots that are left.
	staleAfter = time.Second
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
func (c *Committer) commitPart(ctx context.Context, req *Request, changes *changes) (*paimon.Snapshot, error) {
	p := &part{req: req, changes: changes}
	started := c.o.Now()
	var unknownErr *UnknownOutcomeError // of a try that may have succeeded
	fail := func(err error) (*paimon.Snapshot, error) {
		if unknownErr != nil {
			return nil, &UnknownOutcomeError{Snapshot: unknownErr.Snapshot, Err: errors.Join(err, unknownErr.Err)}
		}
		if p.shared != nil && p.shared.written {
			c.remove(ctx, p.shared.files)
		}
		return nil, err
	}
	for try := 0; ; try++ {
		if try > 0 {
			if err := c.pause(ctx, try-1, started); err != nil {
				return fail(err)
			}
			if err := c.refresh(ctx); err != nil {
				return fail(err)
			}
		}
		s, err := c.wonBefore(ctx, req, changes.kind)
		if err != nil {
			return fail(err)
		}
		if s != nil {
			// Made by an earlier try, or by another committer of the same request.
			if d := p.shared; d != nil && d.written && unknownErr == nil && s.DeltaManifestList != d.list.name {
				c.remove(ctx, d.files)
			}
			return s, nil
		}
		planned := c.o.Now()
		plan, err := c.plan(ctx, p)
		if err != nil {
			var conflict *ConflictError
			if before := c.head.id(); try == 0 && errors.As(err, &conflict) {
				// The head may be behind, as it is not looked at between two parts.
				if err := c.refresh(ctx); err != nil {
					return fail(err)
				}
				if c.head.id() != before {
					continue
				}
			}
			return fail(err)
		}
		staged, err := c.writeFiles(ctx, plan)
		if err != nil {
			return fail(err)
		}
		result, err := c.publish(ctx, plan, staged, planned)
		staged.Discard()
		switch result {
		case won:
			c.advance(ctx, plan)
			return plan.snapshot, nil
		case refused:
			c.remove(ctx, plan.own)
			return fail(err)
		case lost:
			c.remove(ctx, plan.own)
			c.dropDelta(ctx, p, plan)
			if c.o.Events.LostRace != nil {
				c.o.Events.LostRace(plan.snapshot.ID)
			}
		case unknown:
			unknownErr = &UnknownOutcomeError{Snapshot: plan.snapshot.ID, Err: err}
			if c.o.Events.Unknown != nil {
				c.o.Events.Unknown(plan.snapshot.ID, err)
			}
			if ctx.Err() != nil {
				return nil, unknownErr
			}
		}
	}
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

// wonBefore returns the snapshot of an earlier try that has succeeded after all.
func (c *Committer) wonBefore(ctx context.Context, req *Request, kind paimon.CommitKind) (*paimon.Snapshot, error) {
	same, err := c.committed(ctx, req, false)
	if err != nil {
		return nil, err
	}
	for _, s := range same {
		if isCompact(s.CommitKind) == isCompact(kind) {
			return s, nil
		}
	}
	return nil, nil
}

// writeFiles writes all metadata of a plan at once, and prepares the snapshot
// meanwhile. After an error nothing of it is left.
func (c *Committer) writeFiles(ctx context.Context, plan *plan) (objstore.Staged, error) {
	var objects []objstore.Object
	add := func(files []file) {
		for _, f := range files {
			objects = append(objects, objstore.Object{Name: c.table.ManifestPath(f.name), Data: f.data})
		}
	}
	add(plan.own)
	if !plan.delta.written {
		add(plan.delta.files)
	}
	var staged objstore.Staged
	var stageErr error
	var wg sync.WaitGroup
	wg.Go(func() { // ends before this function does
		staged, stageErr = objstore.Stage(ctx, c.table.Store, c.table.SnapshotPath(plan.snapshot.ID), plan.content)
	})
	err := objstore.PutAll(ctx, c.table.Store, objects)
	wg.Wait()
	if err == nil && stageErr == nil {
		plan.delta.written = true
		return staged, nil
	}
	if stageErr == nil {
		staged.Discard()
	}
	c.remove(ctx, plan.own)
	if !plan.delta.written {
		c.remove(ctx, plan.delta.files)
	}
	return nil, fmt.Errorf("write metadata of snapshot %d: %w", plan.snapshot.ID, errors.Join(err, stageErr))
}

// publish creates the snapshot. It is the commit.
func (c *Committer) publish(ctx context.Context, plan *plan, staged objstore.Staged, planned time.Time) (outcome, error) {
	if c.head.snapshot != nil && c.o.Now().Sub(planned) > staleAfter {
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

// advance makes a snapshot that was just created the head, and writes the hint.
func (c *Committer) advance(ctx context.Context, plan *plan) {
	s := plan.snapshot
	h := &head{snapshot: s, metas: plan.metas, live: c.head.live}
	if h.live != nil {
		h.live.apply(plan.delta.entries)
	}
	switch {
	case plan.index != nil:
		h.index, h.hasIndex = plan.index, true
	case s.IndexManifest == nil:
		h.hasIndex = true
	default:
		h.index, h.hasIndex = c.head.index, c.head.hasIndex
	}
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
	after, cancel := aftermath(ctx)
	defer cancel()
	name := c.table.SnapshotPath(s.ID)
	dir, _ := objstore.SplitName(name)
	hint := objstore.JoinName(dir, "LATEST")
	if err := objstore.PutHint(after, c.table.Store, hint, strconv.AppendInt(nil, s.ID, 10)); err != nil && c.o.Events.HintFailed != nil {
		c.o.Events.HintFailed(s.ID, err)
	}
	// If this fails, info matches no file, and the head is read anew next time.
	h.info, _ = c.table.Store.Stat(after, name)
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
