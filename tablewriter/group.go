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
	forced      bool              // it is cut as soon as can be

	results chan prepared // one of each shard, once the group is cut

	done     chan struct{} // closed when the two below are set
	snapshot int64
	err      error
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
