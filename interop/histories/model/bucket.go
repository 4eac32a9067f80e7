package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// run is a sorted run: a file of level 0, or a level. It has a record of a key at
// most.
type run struct {
	level   int
	records []*record
}

// bucket is a state that a bucket may be in. States are never changed.
type bucket struct {
	runs   []run // in the order of picking
	next   int64 // sequence number
	waited int   // picks that found nothing, of those that have patience
}

// text is equal for equal states.
func (b *bucket) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d,%d", b.next, b.waited)
	for _, r := range b.runs {
		fmt.Fprintf(&s, "|%d", r.level)
		for _, k := range r.records {
			fmt.Fprintf(&s, ";%s%d%v", k.kind, k.seq, k.vals)
		}
	}
	return s.String()
}

// change is a row of the stream.
type change struct {
	kind string
	vals []any
}

// step is a state that may come of a commit, and what the commit delivered.
type step struct {
	state     *bucket
	changes   []change
	compacted bool
	err       error
}

// order is the order of records of a key (semantics section 1.5).
func (m *Model) order(a, b *record, descending bool) int {
	for _, s := range m.sequence {
		if c := compare(a.vals[s], b.vals[s]); c != 0 {
			if descending && a.vals[s] != nil && b.vals[s] != nil {
				return -c
			}
			return c
		}
	}
	if c := cmp.Compare(a.seq, b.seq); c != 0 {
		return c
	}
	switch {
	case a.adds() == b.adds():
		return 0
	case b.adds():
		return -1
	}
	return 1
}

func (m *Model) mergeOrder(a, b *record) int { return m.order(a, b, m.descending) }

func compareKeys(a, b *record) int { return slices.CompareFunc(a.key, b.key, compare) }

// flush writes what a commit holds of a bucket to level 0 (semantics section 1.4).
func (m *Model) flush(b *bucket, rows []*record) step {
	rows = slices.Clone(rows)
	next := b.next
	for i, r := range rows {
		clone := *r
		clone.seq = next
		rows[i] = &clone
		next++
	}
	if len(rows) == 0 {
		return step{state: b}
	}
	// The release sorts its buffer ascending whatever the option says.
	descending := m.descending && !m.o.BufferAscending
	slices.SortStableFunc(rows, func(x, y *record) int {
		return cmp.Or(compareKeys(x, y), m.order(x, y, descending))
	})
	s := step{}
	if m.producer == "input" {
		for _, r := range rows {
			s.changes = append(s.changes, change{r.kind, r.vals})
		}
	}
	file := run{}
	for group := range byKey(rows) {
		r, err := m.engine.reduce(group)
		if err != nil {
			return step{err: err}
		}
		file.records = append(file.records, r)
		if m.producer == "none" {
			s.changes = append(s.changes, change{r.kind, r.vals})
		}
	}
	s.state = &bucket{runs: append([]run{file}, b.runs...), next: next, waited: b.waited}
	return s
}

// byKey yields the records of each key of a list that is sorted by key.
func byKey(rows []*record) func(yield func([]*record) bool) {
	return func(yield func([]*record) bool) {
		for i := 0; i < len(rows); {
			j := i + 1
			for j < len(rows) && compareKeys(rows[i], rows[j]) == 0 {
				j++
			}
			if !yield(rows[i:j:j]) {
				return
			}
			i = j
		}
	}
}

// stored is a record with the level it lies on.
type stored struct {
	*record
	level int
}

// merged yields the records of each key of some runs in merge order.
func (m *Model) merged(runs []run) func(yield func([]stored) bool) {
	var all []stored
	for _, r := range runs {
		for _, k := range r.records {
			all = append(all, stored{k, r.level})
		}
	}
	slices.SortStableFunc(all, func(x, y stored) int {
		return cmp.Or(compareKeys(x.record, y.record), m.mergeOrder(x.record, y.record))
	})
	return func(yield func([]stored) bool) {
		for i := 0; i < len(all); {
			j := i + 1
			for j < len(all) && compareKeys(all[i].record, all[j].record) == 0 {
				j++
			}
			if !yield(all[i:j:j]) {
				return
			}
			i = j
		}
	}
}

func plain(group []stored) []*record {
	out := make([]*record, len(group))
	for i := range group {
		out[i] = group[i].record
	}
	return out
}

// lowest leaves one of the records above level 0: that of the smallest level.
func lowest(group []stored) []stored {
	high := -1
	for i, r := range group {
		if r.level > 0 && (high < 0 || r.level < group[high].level) {
			high = i
		}
	}
	var out []stored
	for i, r := range group {
		if r.level == 0 || i == high {
			out = append(out, r)
		}
	}
	return out
}

// combine is the plain merge of a key: of compactions without changelog, and of
// reads.
func (m *Model) combine(group []stored) (*record, error) {
	if m.lookup && m.engine.name != "first-row" && len(group) > 1 {
		group = lowest(group)
		if m.o.Remerges {
			return m.engine.merge(plain(group))
		}
	}
	return m.engine.reduce(plain(group))
}

// read is a batch read of the bucket.
func (m *Model) read(b *bucket) ([]change, error) {
	runs := b.runs
	if m.engine.name == "first-row" {
		runs = slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return r.level == 0 })
	}
	var out []change
	for group := range m.merged(runs) {
		r, err := m.combine(group)
		if err != nil {
			return nil, err
		}
		if r.adds() {
			out = append(out, change{"+I", r.vals})
		}
	}
	return out, nil
}
