package snapshotreader

import (
	"fmt"
	"slices"

	"sluice/lsm/engine"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// projection says which columns are decoded: first those that are delivered,
// then those that only a filter needs, then those that only a merge needs.
type projection struct {
	schema *paimon.Schema
	want   *rowdata.RowType // what a merge decodes
	raw    *rowdata.RowType // what is decoded of files that need no merge: the first columns of want
	cols   []int            // position in the schema of each wanted column
	out    *rowdata.RowType // what is delivered: the first columns of raw
	key    []int            // positions in want of the trimmed primary key; nil without need
	seq    []int            // positions in want of the sequence fields
	filter []int            // positions in want of the filter's columns
}

// newProjection projects to the columns of these names, nil being all, in their
// order. filter names the columns that a filter looks at; with merge the columns
// that a merge compares are decoded too.
func newProjection(s *paimon.Schema, columns, filter []string, merge bool) (*projection, error) {
	p := &projection{schema: s}
	if columns == nil {
		p.cols = make([]int, len(s.Fields))
		for i := range p.cols {
			p.cols[i] = i
		}
	} else {
		for _, name := range columns {
			i := s.Index(name)
			if i < 0 {
				return nil, fmt.Errorf("schema %d has no column %q", s.ID, name)
			}
			if slices.Contains(p.cols, i) {
				return nil, fmt.Errorf("column %q is asked for twice", name)
			}
			p.cols = append(p.cols, i)
		}
	}
	out := len(p.cols)
	for _, name := range filter {
		i := s.Index(name)
		if i < 0 {
			return nil, fmt.Errorf("filter: schema %d has no column %q", s.ID, name)
		}
		p.filter = append(p.filter, p.position(i))
	}
	raw := len(p.cols)
	if merge {
		for _, i := range s.TrimmedKey() {
			p.key = append(p.key, p.position(i))
		}
		for _, i := range s.SequenceFields() {
			p.seq = append(p.seq, p.position(i))
		}
		for _, i := range engine.Needs(s, p.cols) {
			p.position(i)
		}
	}
	p.want = s.RowType().Project(p.cols)
	p.raw = &rowdata.RowType{Fields: p.want.Fields[:raw]}
	p.out = &rowdata.RowType{Fields: p.want.Fields[:out]}
	return p, nil
}

// position returns where column i of the schema is among the wanted ones, and
// adds it if it is not.
func (p *projection) position(i int) int {
	at := slices.Index(p.cols, i)
	if at < 0 {
		at = len(p.cols)
		p.cols = append(p.cols, i)
	}
	return at
}

// deliver returns the part of a decoded batch that is delivered. It shares the
// columns.
func (p *projection) deliver(b *rowdata.Batch) rowdata.Batch {
	n := len(p.out.Fields)
	if n == len(b.Cols) {
		return *b
	}
	return rowdata.Batch{Type: p.out, Cols: b.Cols[:n:n], N: b.N}
}
