package tablewriter

import (
	"context"
	"time"

	"sluice/lsm"
	"sluice/paimon/commit"
)

// group is the batches that one commit makes durable together.
type group struct {
	rows, bytes int64
	batches     int
	positions   map[string]string // newest of each source
	deadline    time.Time         // when it is cut at the latest
	touched     bool              // rows came, be it that all were ignored
	forced      bool              // it is cut as soon as can be
	mode        CompactMode       // the greatest that was asked for

	// What follows is set when the group is cut.
	wait       bool // for compaction
	full       bool // of the buckets with rows or, without any, of all
	dirtyFull  bool // of all buckets with rows since their last one
	all        func(context.Context) ([]destination, error)
	results    chan prepared // one of each shard
	identifier int64

	done     chan struct{} // closed when the two below are set
	snapshot int64
	err      error
}

// CompactMode says what a commit does about compaction.
type CompactMode uint8

// The modes. Of those that several callers ask for in one commit, the last in
// this order counts.
const (
	// CompactAuto is what the table's options say: tables whose changelog is
	// looked up, or whose level 0 is not read, wait for it unless lookup-wait is
	// false; full-compaction.delta-commits asks for a full compaction now and
	// then; all others compact beside writing.
	CompactAuto CompactMode = iota
	// CompactNone waits for nothing and forces nothing. Compactions go on beside
	// writing.
	CompactNone
	// CompactWait makes the compaction that is due now a part of the commit.
	CompactWait
	// CompactFull compacts fully, as a part of the commit, the buckets that rows
	// were written to; all buckets of the table if there are no rows.
	CompactFull
)

// compactsFully tells whether the group asks for a full compaction of a bucket.
func (g *group) compactsFully(b *bucket) bool {
	return g.full && (b.rows || g.all != nil) || g.dirtyFull && b.dirty
}

// everything returns the buckets that must be opened although no rows come: all
// of the table, if a full compaction of all is asked for.
func (g *group) everything(ctx context.Context) ([]destination, error) {
	if g.all == nil {
		return nil, nil
	}
	return g.all(ctx)
}

func newGroup(shards int) *group {
	return &group{results: make(chan prepared, shards), done: make(chan struct{})}
}

// finish answers the receipts of the group.
func (g *group) finish(snapshot int64, err error) {
	g.snapshot, g.err = snapshot, err
	close(g.done)
}

// hasContent tells whether there is anything to commit.
func (g *group) hasContent() bool { return g.rows > 0 || len(g.positions) > 0 }

// prepared is what a shard made of its part of a group.
type prepared struct {
	messages []commit.Message
	held     bool // rows are in what compactions made and nowhere else
	flushed  bool // rows are in files of level 0
	stats    lsm.Stats
	err      error
}

// Receipt stands for a batch that was taken.
type Receipt struct{ group *group }

// Wait waits until the batch is committed and returns the snapshot that has it.
// After an error the batch may be in the table or not (see [FailedError]); the
// error of ctx only says that it is not known yet.
func (r *Receipt) Wait(ctx context.Context) (snapshot int64, err error) {
	select {
	case <-r.group.done:
	default:
		select {
		case <-r.group.done:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return r.group.snapshot, r.group.err
}

// Done is closed when Wait would not wait any more.
func (r *Receipt) Done() <-chan struct{} { return r.group.done }
