package tablewriter

import (
	"context"
	"errors"
	"slices"

	"sluice/lookup"
	"sluice/lsm"
	"sluice/paimon/commit"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// idleCommitsMax is the number of commits of the writer after which a bucket that
// nobody writes, and that owes nothing, is forgotten.
const idleCommitsMax = 16

// bucket is what a shard knows of one bucket between commits.
type bucket struct {
	to      destination
	message commit.Message // of the commit being made; its place is always set

	writer  bucketWriter // takes the rows of the open group; nil if there are none
	spare   *lsm.Writer  // the last one, which is empty and may be used again
	flushed bool         // rows of the writer are in files already, for want of memory
	held    *lsm.Buffer  // rows that were merged straight above level 0; kept until that is committed

	// The rest is for buckets that are compacted.
	levels   *lsm.Levels // committed files, and those that are about to be
	picker   *lsm.Picker
	version  int64       // of the committed files that levels were made of
	pending  pending     // of the next message
	running  *compaction // beside writing, or nil
	rebuilds int         // of the index, since a compaction beside writing has succeeded
	again    bool        // a pick waits until what is pending is committed
	dirty    bool        // rows were written since the last full compaction
	touched  bool        // rows that are all ignored came since the last commit
	rows     bool        // rows are in the commit being made
	full     bool        // the commit being made has a full compaction of the bucket

	index    *lookup.Index
	stages   []*lookup.Stage // of compactions that are not committed, the oldest first
	sent     int             // of these, those of the commit being made
	producer producer.Producer
	expired  func(kv *rowdata.KeyValues, i int) bool // of the compaction that runs, if records expire

	sentFiles [16]byte // fingerprint of the files above level 0 after the commit being made

	idle int // commits since it had rows
}

// clean tells whether all of the bucket that is known is committed.
func (b *bucket) clean() bool {
	return b.pending.isEmpty() && b.running == nil && b.held == nil && len(b.stages) == 0
}

// above returns the names of the files above level 0.
func (b *bucket) above(yield func(string) bool) {
	for f := range b.levels.Files() {
		if f.Level > 0 && !yield(f.FileName) {
			return
		}
	}
}

// restore takes the levels from what is committed.
func (s *shard) restore(b *bucket) error {
	files, version := s.state.filesOf(b.to)
	levels, err := lsm.NewLevels(s.shape.keyType, s.shape.strategy.numLevels, files)
	if err != nil {
		return s.inBucket(b, err)
	}
	b.levels, b.version = levels, version
	if b.picker == nil {
		b.picker = lsm.NewPicker(s.shape.strategy.pick, levels.LastFull())
	}
	return nil
}

// refresh takes in what others have committed in the meantime, unless something of
// ours is under way: then the commit finds out whether the two agree.
func (s *shard) refresh(b *bucket) error {
	if !b.clean() || s.state.versionOf(b.to) == b.version {
		return nil
	}
	return s.restore(b)
}

// take adds the result of a compaction to what the next commit does.
func (s *shard) take(ctx context.Context, b *bucket, r *lsm.CompactResult, stage *lookup.Stage) error {
	if stage != nil {
		b.stages = append(b.stages, stage)
	}
	if err := b.levels.Update(r.Before, r.After); err != nil {
		return s.inBucket(b, err)
	}
	unused := b.pending.add(r.Before, r.After, r.Changelog)
	return s.deleteFiles(ctx, b.to, unused)
}

// deleteFiles removes files that no snapshot names or will name.
func (s *shard) deleteFiles(ctx context.Context, to destination, files []manifest.DataFile) error {
	if len(files) == 0 {
		return nil
	}
	return s.committer.Abort(ctx, []commit.Message{{Partition: []byte(to.partition), Bucket: to.bucket, CompactAfter: files}})
}

// dropResult removes what a compaction made that failed or is of no use.
func (s *shard) dropResult(ctx context.Context, b *bucket, r *lsm.CompactResult) error {
	p := pending{before: r.Before, after: r.After, changelog: r.Changelog}
	return s.deleteFiles(ctx, b.to, p.made())
}

// giveUp forgets all that is not committed but rows: running and finished
// compactions, and what they would have changed in the index.
func (s *shard) giveUp(ctx context.Context, b *bucket) error {
	errs := []error{s.cancelRunning(ctx, b)}
	for _, stage := range b.stages {
		stage.Discard()
	}
	b.stages, b.sent, b.again = nil, 0, false
	m := &b.message
	lost := pending{before: m.CompactBefore, after: m.CompactAfter, changelog: m.CompactChangelog}
	m.CompactBefore, m.CompactAfter, m.CompactChangelog = nil, nil, nil
	errs = append(errs, s.deleteFiles(ctx, b.to, lost.made()), s.deleteFiles(ctx, b.to, b.pending.made()))
	b.pending = pending{}
	return errors.Join(errs...)
}

// drain moves what is pending into the message of the commit being made.
func (b *bucket) drain() {
	b.message.CompactBefore, b.message.CompactAfter, b.message.CompactChangelog = b.pending.before, b.pending.after, b.pending.changelog
	b.pending = pending{}
	if b.sent = len(b.stages); b.sent > 0 {
		b.sentFiles = lookup.Fingerprint(b.above)
	}
}

func isEmpty(m *commit.Message) bool {
	return len(m.NewFiles) == 0 && len(m.Changelog) == 0 && len(m.CompactBefore) == 0 && len(m.CompactAfter) == 0 && len(m.CompactChangelog) == 0
}

// settle notes that the commit being made is in the table, as that snapshot.
func (s *shard) settle(ctx context.Context, b *bucket, snapshot int64) {
	b.release()
	b.clearMessage()
	if b.full {
		b.dirty = false
	}
	if b.rows {
		b.idle = 0
	} else {
		b.idle++
	}
	b.rows, b.full = false, false
	s.commitStages(ctx, b, snapshot)
}

// release gives the memory of rows that were merged straight above level 0 back.
func (b *bucket) release() {
	if b.held != nil {
		b.held.Release()
		b.held = nil
	}
}

func (b *bucket) clearMessage() {
	b.message = commit.Message{Partition: b.message.Partition, Bucket: b.message.Bucket, TotalBuckets: b.message.TotalBuckets}
}

// canForget tells whether nothing is lost if the bucket is restored when it is
// needed again.
func (b *bucket) canForget() bool {
	return b.idle > idleCommitsMax && b.clean() && b.writer == nil && !b.again && !b.dirty
}

// dropSpare closes the writer that is kept for the next rows. It holds nothing, so
// that its error does not matter.
func (b *bucket) dropSpare() {
	if b.spare != nil {
		_ = b.spare.Close()
		b.spare = nil
	}
}

// forget closes what the bucket holds.
func (s *shard) forget(b *bucket) {
	b.dropSpare()
	s.closeIndex(b)
	s.state.release(b.to)
	delete(s.buckets, b.to)
	s.open = slices.DeleteFunc(s.open, func(x *bucket) bool { return x == b })
}
