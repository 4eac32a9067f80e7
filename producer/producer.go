package producer

import (
	"context"

	"sluice/lsm/merge"
)

// Producer is a changelog producer. What it keeps between calls is memory to
// reuse; that memory serves one goroutine.
type Producer interface {
	// Wants tells whether the step must go through the producer. For a flush it
	// means that every record is copied to the changelog as it came; for a
	// compaction, that its groups go to Resolve instead of being folded by the
	// engine alone.
	Wants(p merge.Plan) bool
	// Resolve decides for each key of a batch what is stored, what is told and
	// what changes in the index. It resets out. Batches of one compaction come in
	// key order.
	Resolve(ctx context.Context, g *merge.Groups, out *merge.Result) error
	// Upgrade says what must be done for a file that could change its level as it
	// stands (semantics section 2.7).
	Upgrade(u merge.Upgrade) merge.UpgradeAction
}

var (
	_ Producer = None{}
	_ Producer = Input{}
	_ Producer = (*Lookup)(nil)
	_ Producer = (*FirstRow)(nil)
	_ Producer = (*FullCompaction)(nil)
)

// None makes no changelog.
type None struct{}

// Wants implements [Producer].
func (None) Wants(merge.Plan) bool { return false }

// Resolve implements [Producer]. It is not called, since nothing is wanted.
func (None) Resolve(context.Context, *merge.Groups, *merge.Result) error { return errNotWanted }

// Upgrade implements [Producer].
func (None) Upgrade(merge.Upgrade) merge.UpgradeAction { return merge.Move }

// Input copies every record to the changelog when it is flushed: all kinds,
// duplicates included, in the order of the buffer. Compactions make none.
type Input struct{ None }

// Wants implements [Producer].
func (Input) Wants(p merge.Plan) bool { return p.Flush }
