package producer

import (
	"context"

	"sluice/lsm/merge"
)

// FullCompaction makes changelog when records reach the highest level: what
// stands for a key afterwards is compared with the record that was there (semantics
// section 4.6), or on the level that was the highest before num-levels was raised.
// Compactions to other levels fold and tell nothing.
//
// A key with a single record does not meet the engine.
type FullCompaction struct {
	resolver
	key []ref
}

// NewFullCompaction returns the producer.
func NewFullCompaction(o Options) *FullCompaction { return &FullCompaction{resolver: newResolver(o)} }

// Wants implements [Producer].
func (f *FullCompaction) Wants(p merge.Plan) bool { return !p.Flush && p.Output == p.Top }

// Resolve implements [Producer].
func (f *FullCompaction) Resolve(_ context.Context, g *merge.Groups, out *merge.Result) error {
	f.begin(g, out)
	from := int32(0)
	for _, to := range g.Ends {
		before, after, err := f.resolve(g, from, to)
		if err != nil {
			return err
		}
		if before.ok() && !f.isAdd(before) {
			before = nothing // an overwrite moves rows that delete up, too
		}
		if f.isAdd(after) {
			f.write(after)
		}
		if lone := to == from+1; !lone || !before.ok() {
			f.report(before, after)
		}
		from = to
	}
	f.finish(out)
	return nil
}

// resolve returns the record of a key that was told, and the one that stands for
// the key afterwards.
func (f *FullCompaction) resolve(g *merge.Groups, from, to int32) (before, after ref, err error) {
	before = nothing
	image := g.Plan.Image()
	for i := from; i < to; i++ {
		if g.Levels[i] != image {
			continue
		}
		if before.ok() {
			return before, nothing, f.atKey(&CorruptLevelError{Level: image}, ref{inGroups, i})
		}
		before = ref{inGroups, i}
	}
	if to == from+1 {
		return before, ref{inGroups, from}, nil
	}
	f.key = f.key[:0]
	for i := from; i < to; i++ {
		f.key = append(f.key, ref{inGroups, i})
	}
	after, err = f.fold(f.key)
	return before, after, err
}

// Upgrade implements [Producer].
func (f *FullCompaction) Upgrade(u merge.Upgrade) merge.UpgradeAction {
	if u.Output == u.Top && u.From != u.Image() {
		return merge.MoveAndReport
	}
	return merge.Move
}
