package model

import "slices"

// compact merges the first runs of a bucket (semantics sections 2.5 to 2.7, 4.4 to
// 4.6). There are two outcomes where it is free whether tombstones are kept.
func (m *Model) compact(s step, p pick) []step {
	if p.n == 0 {
		return []step{s}
	}
	in, rest := s.state.runs[:p.n], s.state.runs[p.n:]
	highest := 0
	for _, r := range s.state.runs {
		highest = max(highest, r.level)
	}
	c := &compaction{Model: m, picker: m.picker.on(s.state.runs), image: p.out, rest: rest, out: p.out, drop: p.out >= highest, alone: p.n == 1 && !m.expiry.any(in)}
	if highest > 0 && !m.o.Retells {
		c.image = highest
	}
	for _, r := range in {
		c.zero = c.zero || r.level == 0
	}
	for _, r := range in[0].records {
		c.deletes = c.deletes || !r.adds()
	}
	out := run{level: p.out}
	var changes []change
	free := false
	for group := range m.merged(m.expiry.left(in)) {
		r, ch, err := c.key(group)
		if err != nil {
			return []step{{err: err}}
		}
		changes = append(changes, ch...)
		switch {
		case r == nil:
			continue
		case r.adds():
		case c.alone && !(p.out == c.picker.top && c.deletes):
			// A file that is moved up keeps its tombstones; ours need not.
			free = free || c.drop && !m.o.MovesRaw
		case c.drop:
			continue
		}
		out.records = append(out.records, r)
	}
	result := []step{c.end(s, out, changes)}
	if free {
		out.records = slices.DeleteFunc(slices.Clone(out.records), func(r *record) bool { return !r.adds() })
		result = append(result, c.end(s, out, changes))
	}
	return result
}

type compaction struct {
	*Model
	picker  *picker
	image   int // level whose records full-compaction has told
	rest    []run
	out     int
	drop    bool // deletes are dropped
	zero    bool // level 0 takes part
	alone   bool // of one file
	deletes bool // which has deletes
}

func (c *compaction) end(s step, out run, changes []change) step {
	state := &bucket{next: s.state.next, waited: s.state.waited}
	if len(out.records) > 0 {
		state.runs = append(state.runs, out)
	}
	state.runs = append(state.runs, c.rest...)
	return step{state: state, changes: append(slices.Clone(s.changes), changes...), compacted: true}
}

// key makes of the records of a key the one that is stored, nil for none, and the
// changes.
func (c *compaction) key(group []stored) (*record, []change, error) {
	switch {
	case c.producer == "full-compaction" && c.out == c.picker.top:
		return c.fullChangelog(group)
	case c.lookup && c.zero && c.engine.name == "first-row":
		return c.firstRow(group)
	case c.lookup && c.zero:
		return c.lookupChangelog(group)
	}
	r, err := c.combine(group)
	return r, nil, err
}

func (c *compaction) fullChangelog(group []stored) (*record, []change, error) {
	if len(group) == 1 {
		r := group[0].record
		switch {
		case group[0].level == c.image:
			return r, nil, nil
		case r.adds():
			return r, []change{{"+I", r.vals}}, nil
		}
		return nil, nil, nil
	}
	after, err := c.engine.merge(plain(group))
	if err != nil {
		return nil, nil, err
	}
	var before *record
	for _, r := range group {
		if r.level == c.image {
			before = r.record
		}
	}
	changes := c.transition(before, after)
	if !after.adds() {
		return nil, changes, nil
	}
	return after, changes, nil
}

func (c *compaction) lookupChangelog(group []stored) (*record, []change, error) {
	group = lowest(group)
	var high *record
	zero := false
	for _, r := range group {
		if r.level > 0 {
			high = r.record
		}
		zero = zero || r.level == 0
	}
	if !zero && !c.o.Remerges {
		return high, nil, nil
	}
	if high == nil {
		if high = c.find(group[0].record); high != nil {
			i := slices.IndexFunc(group, func(r stored) bool { return c.mergeOrder(r.record, high) > 0 })
			if i < 0 {
				i = len(group)
			}
			group = slices.Insert(slices.Clone(group), i, stored{high, c.out + 1})
		}
	}
	after, err := c.engine.merge(plain(group))
	if err != nil {
		return nil, nil, err
	}
	var changes []change
	if zero && c.producer == "lookup" {
		changes = c.transition(high, after)
	}
	if c.o.MovesRaw && c.alone && c.moved() {
		return group[slices.IndexFunc(group, func(r stored) bool { return r.level == 0 })].record, changes, nil
	}
	return after, changes, nil
}

// moved tells whether the release moves a file of level 0 up without rewriting it.
func (c *compaction) moved() bool {
	if c.out == c.picker.top {
		return !c.deletes
	}
	return c.engine.name == "deduplicate" && len(c.sequence) == 0
}

func (c *compaction) firstRow(group []stored) (*record, []change, error) {
	after, err := c.engine.merge(plain(group))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range group {
		if r.level > 0 {
			return after, nil, nil
		}
	}
	if c.find(after) != nil {
		return nil, nil, nil
	}
	if c.producer != "lookup" {
		return after, nil, nil
	}
	return after, []change{{after.kind, after.vals}}, nil
}

// find looks a key up in the levels above the output.
func (c *compaction) find(r *record) *record {
	for _, level := range c.rest {
		for _, k := range level.records {
			if level.level > c.out && compareKeys(k, r) == 0 {
				if c.expiry.old(k) {
					return nil
				}
				return k
			}
		}
	}
	return nil
}

// transition is the table of semantics section 4.3.
func (m *Model) transition(before, after *record) []change {
	was := before != nil && before.adds()
	switch {
	case !was && !after.adds():
		return nil
	case !was:
		return []change{{"+I", after.vals}}
	case !after.adds():
		return []change{{"-D", before.vals}}
	}
	if m.rowDeduplicate {
		equal := true
		for i := range before.vals {
			equal = equal && (slices.Contains(m.ignored, i) || same(before.vals[i], after.vals[i]))
		}
		if equal {
			return nil
		}
	}
	return []change{{"-U", before.vals}, {"+U", after.vals}}
}
