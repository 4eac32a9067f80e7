package producer

import (
	"context"

	"sluice/lsm/merge"
)

// FirstRow keeps the first record of each key for good (semantics section 4.5):
// a key that exists above level 0 takes no new record and tells nothing. A new key
// is told by its record, kind included. The index is asked for existence alone.
type FirstRow struct {
	resolver
	asker
	spans []span
	key   []ref
}

// NewFirstRow returns a producer that asks prev whether keys exist. Only the
// positions that prev sets count, not the records, unless Options.Expired is set.
func NewFirstRow(o Options, prev Previous) *FirstRow {
	return &FirstRow{resolver: newResolver(o), asker: asker{prev: prev}}
}

// Wants implements [Producer].
func (f *FirstRow) Wants(p merge.Plan) bool { return !p.Flush }

// Resolve implements [Producer].
func (f *FirstRow) Resolve(ctx context.Context, g *merge.Groups, out *merge.Result) error {
	f.begin(g, out)
	f.spans, f.ask = f.spans[:0], f.ask[:0]
	from := int32(0)
	for _, to := range g.Ends {
		if err := f.first(g, from, to); err != nil {
			return err
		}
		from = to
	}
	hits, err := f.lookup(ctx, g.Records)
	if err != nil {
		return err
	}
	at := 0
	for i := range f.spans {
		s := &f.spans[i]
		if at < len(f.ask) && f.ask[at].group == int32(i) {
			at++
			if hit := f.found[at-1]; hit >= 0 && (f.opts.Expired == nil || !f.opts.Expired(hits, int(hit))) {
				continue // it exists: the record is dropped
			}
		}
		row := f.write(s.high)
		if !s.level0 {
			continue
		}
		out.Put(row)
		if !f.opts.Silent {
			f.changes = append(f.changes, change{s.high, f.kind(s.high)})
		}
	}
	f.finish(out)
	return nil
}

// first finds the record that would stand for a key. It adds a span whose high is
// that record, and whose level0 says that the key is new as far as the records
// tell; then the index is asked.
func (f *FirstRow) first(g *merge.Groups, from, to int32) error {
	s := spanOf(g.Levels, from, to)
	known := s.high.ok()
	if !(to == from+1 && known) {
		f.key = f.key[:0]
		for i := from; i < to; i++ {
			f.key = append(f.key, ref{inGroups, i})
		}
		stands, err := f.fold(f.key)
		if err != nil {
			return err
		}
		if !stands.ok() {
			return nil
		}
		s.high = stands
	}
	s.level0 = !known
	if s.level0 && g.Plan.Above {
		f.ask = append(f.ask, question{int32(len(f.spans)), s.high.row})
	}
	f.spans = append(f.spans, s)
	return nil
}

// Upgrade implements [Producer].
func (f *FirstRow) Upgrade(u merge.Upgrade) merge.UpgradeAction {
	switch {
	case u.From != 0:
		return merge.Move
	case u.OtherFormat, u.Deletes, u.Above:
		return merge.Rewrite // a key above would be there twice
	}
	return merge.MoveAndReport
}
