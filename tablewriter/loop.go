package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
// be, 0 if the group has no batch.
func (w *Writer) cutGroup() (g *group, wait time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g = w.open
	overwrite := w.opts.Overwrite != nil
	switch {
	case w.closing && g.batches == 0 && !overwrite:
		return nil, 0, ErrClosed
	case w.closing, g.forced, w.full(g):
	case g.batches == 0, overwrite:
		return nil, 0, nil
	default:
		if wait = time.Until(g.deadline); wait > 0 {
			return nil, wait, nil
		}
	}
	w.open, w.committing = newGroup(len(w.shards)), g
	for _, s := range w.shards {
		s.queue.push(task{cut: g})
	}
	close(w.cut)
	w.cut = make(chan struct{})
	return g, 0, nil
}

// commit makes the snapshot of a group and answers its receipts.
func (w *Writer) commit(ctx context.Context, g *group) error {
	begin := time.Now()
	messages, err := w.collect(g)
	if err != nil {
		return err
	}
	positions := merged(w.positions, g.positions)
	if !g.hasContent() && w.opts.Overwrite == nil {
		w.answer(g, nil, positions)
		return nil
	}
	snap, err := w.commitRequest(ctx, commit.Request{
		User: w.user, NewUser: w.newUser, Identifier: w.identifier, Messages: messages, Properties: properties(w.session, positions),
		Overwrite: w.opts.Overwrite, IgnoreEmpty: !g.hasContent(),
	})
	if err != nil {
		return err
	}
	if snap != nil {
		w.seqs.committed(snap.ID)
		w.counters.committed(g, time.Since(begin))
		if w.opts.OnCommit != nil {
			w.opts.OnCommit(snap)
		}
	}
	w.answer(g, snap, positions)
	return nil
}

// collect waits for the shards' parts of a group.
func (w *Writer) collect(g *group) (messages []commit.Message, err error) {
	for range w.shards {
		p := <-g.results
		if p.err != nil && err == nil {
			err = p.err
		}
		messages = append(messages, p.messages...)
		w.counters.add(p)
	}
	return messages, err
}

// answer tells the receipts of a group that it is committed.
func (w *Writer) answer(g *group, snap *paimon.Snapshot, positions map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if snap != nil {
		w.snapshot = snap.ID
		w.identifier++
	}
	w.positions, w.committing = positions, nil
	g.finish(w.snapshot, nil)
}

// commitRequest commits and tries again, with the same identifier, after errors
// that may pass or leave the outcome open, until it is known or time is up.
func (w *Writer) commitRequest(ctx context.Context, req commit.Request) (*paimon.Snapshot, error) {
	deadline := time.Now().Add(w.opts.CommitTimeout)
	wait := w.opts.RetryWaitMin
	for {
		result, err := w.committer.Commit(ctx, req)
		if err == nil {
			return w.own(req, result)
		}
		if final := finalError(err); final != nil {
			return nil, final
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

// own returns the snapshot of a commit, nil if there was nothing to overwrite. It
// makes sure that the snapshot is this writer's: one that was found
// with the same user and identifier may be that of another writer.
func (w *Writer) own(req commit.Request, result *commit.Result) (*paimon.Snapshot, error) {
	snap := result.Last()
	if snap == nil && w.opts.Overwrite != nil {
		return nil, nil // of partitions with new rows, and there are none
	}
	if snap == nil {
		return nil, errors.New("commit made no snapshot")
	}
	if snap.Properties[PropertyWriter] != w.session {
		return nil, &FencedError{User: w.user, Identifier: req.Identifier}
	}
	return snap, nil
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
