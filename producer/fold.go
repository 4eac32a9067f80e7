package producer

import (
	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// fold calls the engine for the records of a key, in merge order, and returns the
// record that stands for it, if any.
func (r *resolver) fold(members []ref) (ref, error) {
	if r.folder != nil {
		return r.build(members)
	}
	stands := nothing
	for _, m := range members {
		switch kind := r.kind(m); r.opts.Engine.Keep.Verdict(stands.ok(), kind) {
		case merge.Take:
			stands = m
		case merge.Refuse:
			return nothing, r.atKey(r.opts.Engine.Refusal(kind), m)
		}
	}
	return stands, nil
}

// build lets the folder make a row of the records.
func (r *resolver) build(members []ref) (ref, error) {
	r.folder.Begin()
	for _, m := range members {
		if err := merge.AddLent(r.folder, r.batches[m.batch], int(m.row)); err != nil {
			return nothing, r.atKey(err, m)
		}
	}
	row := int32(r.built.N)
	ok, err := r.folder.Result(r.built)
	if err != nil {
		return nothing, r.atKey(err, members[0])
	}
	if !ok {
		return nothing, nil
	}
	return ref{inBuilt, row}, nil
}

func (r *resolver) atKey(err error, m ref) error {
	return merge.AtKey(err, &r.batches[m.batch].Batch, r.opts.Key, int(m.row))
}

// before tells whether record x comes before record y of the same key.
func (r *resolver) before(x, y ref) bool {
	return r.opts.Order.Compare(r.batches[x.batch], int(x.row), r.batches[y.batch], int(y.row)) < 0
}

// span is the records of one key in a batch of groups.
type span struct {
	from, to int32
	high     ref  // the newest record above level 0, if there is one
	level0   bool // there is a record of level 0
}

// spanOf looks at the levels of records from..to.
func spanOf(levels []int32, from, to int32) span {
	s := span{from: from, to: to, high: nothing}
	least := int32(0)
	for i := from; i < to; i++ {
		switch level := levels[i]; {
		case level <= 0:
			s.level0 = true
		case least == 0 || level < least:
			least, s.high = level, ref{inGroups, i}
		}
	}
	return s
}

// members lists the records of a key that count: those of level 0 and the newest
// above it, which may be a hit of the index (semantics section 4.4, steps 1 to 3).
// A hit stands before the first record that is greater.
func (r *resolver) members(dst []ref, g *merge.Groups, s span) []ref {
	hit := nothing
	if s.high.ok() && s.high.batch != inGroups {
		hit = s.high
	}
	for i := s.from; i < s.to; i++ {
		m := ref{inGroups, i}
		if g.Levels[i] > 0 && m != s.high {
			continue
		}
		if hit.ok() && r.before(hit, m) {
			dst = append(dst, hit)
			hit = nothing
		}
		dst = append(dst, m)
	}
	if hit.ok() {
		dst = append(dst, hit)
	}
	return dst
}

// isRetract tells whether there is a record, and it takes a row back.
func (r *resolver) isRetract(x ref) bool { return x.ok() && r.kind(x).IsRetract() }

// lone tells whether a record of that kind, if it is the only one of its key, stands
// for it as it is: the engine need not be asked.
func (r *resolver) lone(kind rowdata.RowKind) bool { return r.dedup && (!r.ignores || kind.IsAdd()) }
