package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/failpoint"
	"sluice/lookup"
	"sluice/lsm"
	"sluice/lsm/merge"
	"sluice/paimon/datafile"
)

// compaction is one that runs beside writing, or has ended and is not looked at
// yet.
type compaction struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the rest is set
	result lsm.CompactResult
	stage  *lookup.Stage
	err    error
}

// ended tells whether the compaction has.
func (c *compaction) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// compactFor does what the group asks of a bucket whose rows are flushed or held:
// it takes results of compactions that ran beside writing, and compacts or begins
// to.
func (s *shard) compactFor(ctx context.Context, g *group, b *bucket) error {
	buffer := b.held
	full := g.compactsFully(b)
	stalled := b.levels.NumRuns() > s.shape.strategy.stopRuns
	must := g.wait || full || stalled || buffer != nil
	if err := s.collect(ctx, b, must, stalled && !g.wait); err != nil || b.running != nil {
		return err
	}
	runs := func() []lsm.Run {
		if buffer == nil {
			return b.levels.Runs()
		}
		return append([]lsm.Run{buffer.Run()}, b.levels.Runs()...)
	}
	if full {
		b.full = true
		if pick, ok := lsm.PickFull(runs(), b.levels.Top(), s.shape.rewritesAt(time.Now())); ok {
			if err := s.compactNow(ctx, b, runs(), pick); err != nil {
				return err
			}
			buffer = nil
		}
	}
	pick, ok := b.picker.PickStraight(runs(), b.levels.Top(), time.Now())
	switch {
	case !ok:
		return nil
	case must:
		return s.compactNow(ctx, b, runs(), pick)
	}
	return s.compactBeside(ctx, b, runs(), pick)
}

// collect takes the result of a compaction that ran beside writing. It waits for
// it if must is set; stalled says that writing waits for want of speed.
func (s *shard) collect(ctx context.Context, b *bucket, must, stalled bool) error {
	c := b.running
	if c == nil || !must && !c.ended() {
		return nil
	}
	if !c.ended() {
		if stalled {
			defer s.stalls.begin(s.place(b.to), b.levels.NumRuns())()
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	b.running = nil
	if c.err == nil {
		b.rebuilds = 0
		return s.take(ctx, b, &c.result, c.stage)
	}
	if err := s.dropResult(ctx, b, &c.result); err != nil {
		return errors.Join(c.err, err)
	}
	if !errors.Is(c.err, lookup.ErrRebuild) || b.rebuilds == rebuildsMax || ctx.Err() != nil {
		return c.err
	}
	b.rebuilds++ // nothing is lost: what is due is picked again
	return s.inBucket(b, s.rebuildDirty(ctx, b))
}

// compactNow compacts and takes the result at once.
func (s *shard) compactNow(ctx context.Context, b *bucket, runs []lsm.Run, pick lsm.Pick) error {
	plan := s.plan(b, runs, pick)
	if plan.IsEmpty() {
		return nil
	}
	if !b.pending.isEmpty() { // the plan may read what was written just now
		if err := s.finisher.finish(ctx); err != nil {
			return s.inBucket(b, err)
		}
	}
	for try := 0; ; try++ {
		stage, err := s.prepareIndex(ctx, b)
		if err != nil {
			return s.inBucket(b, err)
		}
		result, err := s.runCompaction(ctx, b, plan, stage, s.create(b.to, &s.finisher), &s.scratch)
		if err == nil {
			return s.take(ctx, b, &result, stage)
		}
		if stage != nil {
			stage.Discard()
		}
		rebuild := errors.Is(err, lookup.ErrRebuild) && try < rebuildsMax && ctx.Err() == nil
		err = errors.Join(err, s.finisher.finish(ctx), s.dropResult(ctx, b, &result))
		if !rebuild {
			return s.inBucket(b, err)
		}
		if err := s.rebuildDirty(ctx, b); err != nil {
			return s.inBucket(b, err)
		}
	}
}

// plan decides how a pick is compacted.
func (s *shard) plan(b *bucket, runs []lsm.Run, pick lsm.Pick) *lsm.Compaction {
	now := time.Now()
	s.shape.expireAt(b, now)
	return lsm.NewCompaction(runs, b.levels.Top(), pick, s.resolver(b), s.shape.compactionAt(now))
}

// rebuildsMax bounds how often an index that fails during a compaction is built
// anew for it, or during compactions beside writing one after the other.
const rebuildsMax = 2

// compactBeside begins a compaction that the next commits do not wait for. One that
// reads the index waits until all changes of the index before it are committed.
func (s *shard) compactBeside(ctx context.Context, b *bucket, runs []lsm.Run, pick lsm.Pick) error {
	if len(b.stages) > 0 {
		b.again = true
		return nil
	}
	plan := s.plan(b, runs, pick)
	if plan.IsEmpty() {
		return nil
	}
	stage, err := s.prepareIndex(ctx, b)
	if err != nil {
		return s.inBucket(b, err)
	}
	running, cancel := context.WithCancel(ctx)
	c := &compaction{cancel: cancel, done: make(chan struct{}), stage: stage}
	b.running = c
	go func() { // waited for by whoever takes or cancels it
		defer s.queue.push(task{compacted: b})
		defer close(c.done)
		defer cancel()
		var files finisher
		c.result, c.err = s.runCompaction(running, b, plan, stage, s.create(b.to, &files), nil)
		c.err = errors.Join(c.err, files.finish(running))
		if c.err != nil {
			c.err = s.inBucket(b, c.err)
			if stage != nil {
				stage.Discard()
			}
		}
	}()
	return nil
}

// cancelRunning ends a compaction beside writing and drops what it made.
func (s *shard) cancelRunning(ctx context.Context, b *bucket) error {
	c := b.running
	if c == nil {
		return nil
	}
	c.cancel()
	<-c.done
	b.running = nil
	if c.err == nil && c.stage != nil {
		c.stage.Discard()
	}
	return s.dropResult(ctx, b, &c.result)
}

// compacted is told that a compaction beside writing has ended. Unless the index
// must be committed first, the next one begins if there is need.
func (s *shard) compacted(ctx context.Context, b *bucket) error {
	if b.running == nil || !b.running.ended() {
		return nil // a commit took it already
	}
	if err := s.collect(ctx, b, false, false); err != nil {
		return err
	}
	if !b.pending.isEmpty() {
		s.owe()
	}
	return s.pickBeside(ctx, b)
}

// pickBeside begins a compaction if there is need of one.
func (s *shard) pickBeside(ctx context.Context, b *bucket) error {
	pick, ok := b.picker.Pick(b.levels.Runs(), b.levels.Top(), time.Now())
	if !ok {
		return nil
	}
	return s.compactBeside(ctx, b, b.levels.Runs(), pick)
}

// runCompaction runs a compaction when the process has a place for it. scratch is
// memory that nobody else uses meanwhile, or nil.
func (s *shard) runCompaction(ctx context.Context, b *bucket, plan *lsm.Compaction, stage *lookup.Stage, create lsm.Create, scratch *lsm.Scratch) (lsm.CompactResult, error) {
	memory := s.shape.compactionBytes(plan)
	if err := s.compactions.enter(ctx, memory); err != nil {
		return lsm.CompactResult{}, err
	}
	defer s.compactions.leave(memory)
	begin := time.Now()
	level, err := s.shape.filesOn(plan.Plan.Output)
	if err != nil {
		return lsm.CompactResult{}, err
	}
	job := &lsm.Job{
		Layout: s.lsm.Layout, Order: s.lsm.Order, Engine: s.lsm.Engine, Resolver: s.resolver(b),
		Data:      lsm.Files{Options: level.data, Name: s.lsm.Data.Name},
		Changelog: lsm.Files{Options: level.changelog, Name: s.lsm.Changelog.Name},
		Create:    s.compactions.limited(create),
		Open:      func(ctx context.Context, f *lsm.File) (merge.Source, error) { return s.openFile(ctx, b.to, f) },
		RunsMax:   s.shape.mergeRuns, Spill: s.spill, Scratch: scratch,
	}
	if stage != nil {
		job.Index = stage
	}
	if s.shape.expiry != nil {
		job.Expired = b.isExpired
	}
	result, err := plan.Run(ctx, job)
	failpoint.Here(failpoint.CompactionDone)
	if err == nil && stage != nil {
		err = stage.Finish() // later lookups see it, before it is committed
		failpoint.Here(failpoint.StageFinished)
	}
	if err == nil {
		s.counters.compacted(&result.Stats, time.Since(begin))
	}
	return result, err
}

// resolver returns the changelog producer of a bucket.
func (s *shard) resolver(b *bucket) compactionProducer {
	if b.producer == nil {
		b.producer = s.shape.newProducer(b)
	}
	return b.producer
}

// compactionProducer is what planning and running need of a changelog producer.
type compactionProducer interface {
	lsm.Resolver
	lsm.Upgrader
}

// levelFiles say how the files of a level are made.
type levelFiles struct{ data, changelog datafile.Options }

// filesOn returns how the files of a level are made.
func (h *shape) filesOn(level int32) (levelFiles, error) {
	var f levelFiles
	var err error
	if f.data, err = fileOptions(h.schema.Options, datafile.DataFiles, level); err == nil {
		f.changelog, err = fileOptions(h.schema.Options, datafile.ChangelogFiles, level)
	}
	return f, err
}

// place names a bucket in errors and events.
func (s *shard) place(to destination) string {
	return fmt.Sprintf("%sbucket-%d", s.table.PartitionText([]byte(to.partition)), to.bucket)
}

// inBucket says which bucket an error is about.
func (s *shard) inBucket(b *bucket, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("compaction of %s: %w", s.place(b.to), err)
}
