package producer

import (
	"context"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// Lookup makes changelog when records leave level 0: it compares what stands for
// a key afterwards with the newest record above level 0, which is among the
// records or is looked up in an index (semantics section 4.4).
//
// What it tells is what is stored: the engine is asked for every key with a record
// of level 0, also if that record is the only one, and its answer is both written
// and told. A key without such a record keeps its newest record as it is and tells
// nothing; older ones above level 0 were merged into it before.
type Lookup struct {
	resolver
	asker
	spans []span
	key   []ref // scratch
}

// NewLookup returns a producer that asks prev for records that are not among those
// to be merged.
func NewLookup(o Options, prev Previous) *Lookup {
	return &Lookup{resolver: newResolver(o), asker: asker{prev: prev}}
}

// Wants implements [Producer].
func (l *Lookup) Wants(p merge.Plan) bool { return !p.Flush }

// Resolve implements [Producer].
func (l *Lookup) Resolve(ctx context.Context, g *merge.Groups, out *merge.Result) error {
	l.begin(g, out)
	if err := l.find(ctx, g); err != nil {
		return err
	}
	for _, s := range l.spans {
		if !s.level0 {
			l.keep(g, s, out)
			continue
		}
		after, err := l.after(g, s)
		if err != nil {
			return err
		}
		l.store(g, s, after, out)
		l.report(s.high, after)
	}
	l.finish(out)
	return nil
}

// find cuts the batch into keys and looks up what is missing.
func (l *Lookup) find(ctx context.Context, g *merge.Groups) error {
	l.spans, l.ask = l.spans[:0], l.ask[:0]
	from := int32(0)
	for i, to := range g.Ends {
		s := spanOf(g.Levels, from, to)
		if s.level0 && !s.high.ok() && g.Plan.Above {
			l.ask = append(l.ask, question{int32(i), from})
		}
		l.spans = append(l.spans, s)
		from = to
	}
	hits, err := l.lookup(ctx, g.Records)
	if err != nil || hits == nil {
		return err
	}
	l.batches[inHits] = hits
	for i, q := range l.ask {
		if row := l.found[i]; row >= 0 && (l.opts.Expired == nil || !l.opts.Expired(hits, int(row))) {
			l.spans[q.group].high = ref{inHits, row}
		}
	}
	return nil
}

// after returns what stands for a key with a record of level 0.
func (l *Lookup) after(g *merge.Groups, s span) (ref, error) {
	if s.to == s.from+1 && !s.high.ok() && l.lone(g.Records.Kinds[s.from]) {
		return ref{inGroups, s.from}, nil
	}
	l.key = l.members(l.key[:0], g, s)
	return l.fold(l.key)
}

// store writes what stands for a key with a record of level 0.
func (l *Lookup) store(g *merge.Groups, s span, after ref, out *merge.Result) {
	if !after.ok() || g.Plan.DropDelete && l.isRetract(after) {
		if s.high.ok() {
			out.Delete(s.from)
		}
		return
	}
	row := l.write(after)
	if after != s.high {
		out.Put(row)
	}
}

// keep writes the newest record of a key that has none of level 0.
func (l *Lookup) keep(g *merge.Groups, s span, out *merge.Result) {
	if g.Plan.DropDelete && l.isRetract(s.high) {
		out.Delete(s.from)
		return
	}
	l.write(s.high)
}

// Upgrade implements [Producer].
func (l *Lookup) Upgrade(u merge.Upgrade) merge.UpgradeAction {
	switch {
	case u.From != 0:
		return merge.Move
	case u.OtherFormat, l.folder != nil, l.opts.DeletionVectors && u.Deletes, !l.dedup, l.ignores && u.Deletes:
		return merge.Rewrite
	case u.Above && len(l.opts.Order.Fields) > 0:
		return merge.Rewrite // the record above may be the newer one
	}
	return merge.MoveAndReport
}

// question is a key to be looked up.
type question struct{ group, row int32 }

// asker looks keys up, batch by batch.
type asker struct {
	prev  Previous
	ask   []question
	rows  []int32
	found []int32
	hits  *rowdata.KeyValues
}

// lookup answers all questions: found holds for each the row of its hit, or -1. It
// returns the hits, or nil if there was nothing to ask.
func (a *asker) lookup(ctx context.Context, records *rowdata.KeyValues) (*rowdata.KeyValues, error) {
	if len(a.ask) == 0 {
		return nil, nil
	}
	if a.hits == nil {
		a.hits = rowdata.NewKeyValues(records.Type, 0)
	}
	a.hits.Reset()
	a.rows, a.found = a.rows[:0], a.found[:0]
	for _, q := range a.ask {
		a.rows, a.found = append(a.rows, q.row), append(a.found, -1)
	}
	return a.hits, a.prev.Lookup(ctx, &records.Batch, a.rows, a.hits, a.found)
}
