package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/internal/failpoint"
	"sluice/paimon"
	"sluice/paimon/commit"
)

// run is the commit loop: it cuts groups and commits them one after the other.
// It owns the shards' goroutines and ends when the writer is closed and drained,
// or when a commit has failed.
func (w *Writer) run(ctx context.Context) {
	defer close(w.finished)
	var shards sync.WaitGroup
	for _, s := range w.shards {
		shards.Go(func() { s.run(ctx) })
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	err := ErrClosed
	for {
		g, stop := w.next(ctx, timer)
		if stop != nil {
			err = stop
			break
		}
		if failure := w.commit(ctx, g); failure != nil {
			err = &FailedError{Err: failure}
			break
		}
		if w.opts.Overwrite != nil {
			break // one commit is all there is
		}
	}
	w.end(err)
	w.cancel() // what a shard still does is of no use
	for _, s := range w.shards {
		s.queue.close()
	}
	shards.Wait()
	if err := w.shared.lookups.close(); err != nil {
		w.counters.indexErrors.Add(1) // a cache: it is built anew
	}
}

// next waits until a group is to be committed and cuts it. The error says why
// there will be none: [ErrClosed] if all is committed.
func (w *Writer) next(ctx context.Context, timer *time.Timer) (*group, error) {
	for {
		g, wait, err := w.cutGroup()
		if g != nil || err != nil {
			return g, err
		}
		var due <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-w.wake:
		case <-due:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w before all was committed: %w", ErrClosed, ctx.Err())
		}
	}
}

// cutGroup cuts the open group if it is time; else it tells how long that will
// be, 0 if there is nothing to do.
func (w *Writer) cutGroup() (g *group, wait time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g = w.open
	overwrite := w.opts.Overwrite != nil
	switch {
	case w.closing && g.batches == 0 && !g.forced && !overwrite:
		return nil, 0, ErrClosed
	case w.closing, g.forced, w.full(g):
	case overwrite:
		return nil, 0, nil
	default:
		due := w.owed
		if g.batches > 0 {
			due = g.deadline
		}
		if due.IsZero() {
			return nil, 0, nil
		}
		if wait = time.Until(due); wait > 0 {
			return nil, wait, nil
		}
	}
	w.decide(g)
	w.open, w.committing, w.owed = newGroup(len(w.shards)), g, time.Time{}
	for _, s := range w.shards {
		s.queue.push(task{cut: g})
	}
	close(w.cut)
	w.cut = make(chan struct{})
	return g, 0, nil
}

// decide says what a group that is cut does about compaction (semantics sections
// 1.6 and 1.9).
func (w *Writer) decide(g *group) {
	st := w.shape.strategy
	g.identifier = w.identifier
	if !st.compacts {
		return
	}
	switch g.mode {
	case CompactAuto:
		g.wait = st.wait || w.opts.Overwrite != nil
		commits := st.fullCommits > 0 && w.identifier%st.fullCommits == 0
		if time := time.Now(); commits || st.fullInterval > 0 && time.Sub(w.lastFull) >= st.fullInterval {
			g.wait, g.dirtyFull = true, true
			w.lastFull = time
		}
	case CompactWait:
		g.wait = true
		if w.opts.Job {
			g.all = once(w.state.changed)
		}
	case CompactFull:
		g.wait, g.full = true, true
		switch {
		case w.opts.Job:
			g.all = once(w.state.changed)
		case !g.touched:
			g.all = once(w.state.all)
		}
	}
	if w.opts.Overwrite != nil {
		g.dirtyFull, g.full, g.all = false, g.full && g.touched, nil
	}
}

// conflictsMax bounds how often the compact part of a commit is made anew because
// others compacted the same buckets.
const conflictsMax = 3

// commit makes the snapshots of a group and answers its receipts.
func (w *Writer) commit(ctx context.Context, g *group) error {
	begin := time.Now()
	messages, err := w.collectAll(g)
	if err != nil {
		return err
	}
	if w.opts.beforeCommit != nil {
		w.opts.beforeCommit()
	}
	positions := merged(w.positions, g.positions)
	var snapshots []*paimon.Snapshot
	var refused error
	for conflicts := 0; ; {
		if !g.hasContent() && w.opts.Overwrite == nil && len(messages) == 0 {
			break
		}
		named, straight := inOneSnapshot(messages)
		result, err := w.commitRequest(ctx, commit.Request{
			User: w.user, NewUser: w.newUser, Identifier: g.identifier, Messages: named, Properties: properties(w.session, positions),
			Overwrite: w.opts.Overwrite, IgnoreEmpty: !g.hasContent() || compacts(named), CheckConflicts: straight,
		})
		if result != nil {
			snapshots = result.Snapshots
			w.state.committed(snapshots, named)
		}
		if err == nil {
			break
		}
		if !isCompactConflict(err, named, straight) || w.opts.Overwrite != nil {
			return err
		}
		w.counters.conflicts.Add(1)
		if conflicts++; conflicts > 2*conflictsMax {
			return err
		}
		if conflicts > conflictsMax && !g.hasContent() {
			refused = err // nothing but compaction was asked for
		}
		if err := w.state.sync(ctx); err != nil {
			return err
		}
		again := g.wait && conflicts <= conflictsMax
		if !again {
			w.owe()
		}
		for _, s := range w.shards {
			s.queue.push(task{redo: &redo{group: g, again: again}})
		}
		if messages, _, err = w.collect(g); err != nil {
			return err
		}
	}
	if len(snapshots) > 0 {
		w.counters.committed(g, len(snapshots), time.Since(begin))
	}
	w.afterCommit(snapshots)
	w.answer(g, snapshots, positions, refused)
	return nil
}

// afterCommit tells the shards, and who else wants to know.
func (w *Writer) afterCommit(snapshots []*paimon.Snapshot) {
	t := &settled{snapshot: w.snapshot}
	if len(snapshots) > 0 {
		t.snapshot = snapshots[len(snapshots)-1].ID
	}
	for _, s := range w.shards {
		s.queue.push(task{settled: t})
	}
	if w.opts.OnCommit != nil {
		for _, snap := range snapshots {
			w.opts.OnCommit(snap)
		}
	}
}

// inOneSnapshot moves what compactions added into the append part where nothing was
// deleted: rows that went straight above level 0 are an append like any other.
// The conflict check is needed then: files of one level must not overlap.
func inOneSnapshot(messages []commit.Message) (_ []commit.Message, straight bool) {
	for i := range messages {
		m := &messages[i]
		if len(m.NewFiles) > 0 || len(m.Changelog) > 0 || len(m.CompactBefore) > 0 {
			return messages, false
		}
	}
	if len(messages) == 0 {
		return messages, false
	}
	out := slices.Clone(messages)
	for i := range out {
		m := &out[i]
		m.NewFiles, m.Changelog, m.CompactAfter, m.CompactChangelog = m.CompactAfter, m.CompactChangelog, nil, nil
	}
	return out, true
}

// compacts tells whether the messages have a compact part.
func compacts(messages []commit.Message) bool {
	for i := range messages {
		m := &messages[i]
		if len(m.CompactBefore)+len(m.CompactAfter)+len(m.CompactChangelog) > 0 {
			return true
		}
	}
	return false
}

// isCompactConflict tells whether a commit failed because others have compacted,
// or replaced, what its compact part is about: the rest of it can be committed.
func isCompactConflict(err error, messages []commit.Message, straight bool) bool {
	return (straight || compacts(messages)) && isConflict(err)
}

// isConflict tells whether an error says that others were first in a bucket.
func isConflict(err error) bool {
	var c *commit.ConflictError
	if !errors.As(err, &c) {
		return false
	}
	return c.Kind == commit.ConflictDelete || c.Kind == commit.ConflictKeyRange || c.Kind == commit.ConflictAdd
}

// owe makes sure that a commit follows soon even if no rows come, as compaction
// has something for it.
func (w *Writer) owe() {
	w.mu.Lock()
	if w.owed.IsZero() {
		w.owed = time.Now().Add(w.opts.CommitInterval)
	}
	w.mu.Unlock()
	w.nudge()
}

// collectAll is the first collect of a commit. Where rows of some buckets are on
// level 0 and those of others went straight above it, the latter go to level 0 as
// well: the commit makes two snapshots, of which the first one has the source
// position, and with it must have all rows.
func (w *Writer) collectAll(g *group) ([]commit.Message, error) {
	messages, mixed, err := w.collect(g)
	if err != nil || !mixed {
		return messages, err
	}
	for _, s := range w.shards {
		s.queue.push(task{redo: &redo{group: g, again: true, level0: true}})
	}
	messages, _, err = w.collect(g)
	return messages, err
}

// collect waits for what the shards have for a commit. It is mixed if rows are in
// files of level 0 and others only in what compactions made.
func (w *Writer) collect(g *group) (messages []commit.Message, mixed bool, err error) {
	var held, flushed bool
	for range w.shards {
		p := <-g.results
		held, flushed = held || p.held, flushed || p.flushed
		if p.err != nil && err == nil {
			err = p.err
		}
		messages = append(messages, p.messages...)
		w.counters.add(p)
	}
	return messages, held && flushed, err
}

// answer tells the receipts of a group that it is committed, or why it was not
// though the writer goes on.
func (w *Writer) answer(g *group, snapshots []*paimon.Snapshot, positions map[string]string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(snapshots) > 0 {
		w.snapshot = snapshots[len(snapshots)-1].ID
		w.identifier++
	}
	w.positions, w.committing = positions, nil
	failpoint.Here(failpoint.Acknowledges)
	g.finish(w.snapshot, err)
	failpoint.Here(failpoint.Acknowledged)
}

// commitRequest commits and tries again, with the same identifier, after errors
// that may pass or leave the outcome open, until it is known or time is up.
// The result has the snapshots that were made, also with an error.
func (w *Writer) commitRequest(ctx context.Context, req commit.Request) (*commit.Result, error) {
	deadline := time.Now().Add(w.opts.CommitTimeout)
	wait := w.opts.RetryWaitMin
	for {
		failpoint.Here(failpoint.CommitBegins)
		result, err := w.committer.Commit(ctx, req)
		failpoint.Here(failpoint.CommitEnds)
		if err == nil {
			return result, w.own(req, result)
		}
		if final := finalError(err); final != nil {
			return result, final
		}
		if ctx.Err() != nil || time.Now().Add(wait).After(deadline) {
			return nil, err
		}
		w.counters.retries.Add(1)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(err, ctx.Err())
		}
		wait = min(2*wait, w.opts.RetryWaitMax)
	}
}

// finalError returns what to tell of an error that no repetition will mend, or
// nil.
func finalError(err error) error {
	var older *commit.IdentifierError
	if errors.As(err, &older) {
		return &FencedError{User: older.User, Identifier: older.Newest}
	}
	var (
		conflict    *commit.ConflictError
		request     *commit.RequestError
		unsupported *commit.UnsupportedError
		missing     *commit.MissingFilesError
	)
	if errors.As(err, &conflict) || errors.As(err, &request) || errors.As(err, &unsupported) || errors.As(err, &missing) {
		return err
	}
	return nil
}

// own makes sure that the snapshots of a commit are this writer's: those that were
// found with the same user and identifier may be of another writer.
func (w *Writer) own(req commit.Request, result *commit.Result) error {
	if len(result.Snapshots) == 0 {
		if w.opts.Overwrite != nil || req.IgnoreEmpty {
			return nil // of partitions with new rows, and there are none
		}
		return errors.New("commit made no snapshot")
	}
	for _, snap := range result.Snapshots {
		if snap.Properties[PropertyWriter] != w.session {
			return &FencedError{User: w.user, Identifier: req.Identifier}
		}
	}
	return nil
}

// end answers everything that is not committed with the error, which every later
// batch gets too.
func (w *Writer) end(err error) {
	w.gate.close(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	if w.committing != nil {
		w.committing.finish(0, err)
		w.committing = nil
	}
	w.open.finish(0, err)
	close(w.cut)
}
