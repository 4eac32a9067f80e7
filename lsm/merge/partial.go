package merge

import (
	"errors"

	"sluice/lsm/aggregate"
	"sluice/paimon/rowdata"
)

// ErrNotNull says that a record has NULL in a column that must have a value.
var ErrNotNull = errors.New("NULL in a NOT NULL column")

// PartialUpdate says how the columns of a table are put together (semantics
// sections 3.3 and 3.4).
type PartialUpdate struct {
	Type *rowdata.RowType
	// Columns has the functions of the columns that have one; nil for others.
	Columns []*aggregate.Spec
	Groups  []SequenceGroup

	IgnoreDelete   bool // the option ignore-delete
	RemoveOnDelete bool // partial-update.remove-record-on-delete
}

// SequenceGroup is columns whose values are as new as the group's sequence.
type SequenceGroup struct {
	By      []int // sequence columns, the most significant first
	Columns []int // columns that they protect
	// Remove says that a delete that is new enough removes the whole row: a column
	// of By is listed in partial-update.remove-record-on-sequence-group.
	Remove bool
}

// Engine returns the engine. The error is a [*ColumnError].
func (p PartialUpdate) Engine() (Engine, error) {
	if _, err := newColumns(p.Type, p.Columns); err != nil {
		return Engine{}, err
	}
	return Engine{Name: "partial-update", Build: func() Folder {
		f := &partialUpdate{
			columns: mustColumns(p.Type, p.Columns), row: newRowState(p.Type),
			lent: make([]place, len(p.Type.Fields)), dirty: true, ignoreDelete: p.IgnoreDelete, removeOnDelete: p.RemoveOnDelete,
		}
		for c, field := range p.Type.Fields {
			f.notNull = append(f.notNull, field.Type.NotNull)
			if f.columns[c].fn != nil {
				f.functions = append(f.functions, f.columns[c].fn)
			}
		}
		if len(p.Groups) == 0 {
			return f
		}
		f.places = make([]groupPlace, len(p.Type.Fields))
		for g := range p.Groups {
			group := &p.Groups[g]
			f.groups = append(f.groups, partialGroup{SequenceGroup: group})
			for _, c := range group.Columns {
				f.places[c] = groupPlace{group: g + 1}
			}
			for _, c := range group.By {
				f.places[c] = groupPlace{group: g + 1, sequence: true}
			}
		}
		return f
	}}, nil
}

// partialUpdate puts the newest value of each column together.
type partialUpdate struct {
	columns        []column
	functions      []aggregate.Function
	notNull        []bool
	groups         []partialGroup
	places         []groupPlace // of each column; nil without groups
	ignoreDelete   bool
	removeOnDelete bool

	row     rowState
	lent    []place // of the newest values, which the row does not have yet; nil: none
	dirty   bool    // the row may have values
	filled  bool    // a record has been merged, or has initialised the row
	added   bool    // an add has been seen
	deleted bool    // the last record removed the row
}

// groupPlace is the part of a column in a group; group is one more than its
// position, and 0 for none.
type groupPlace struct {
	group    int
	sequence bool
}

// partialGroup is a group with what is known of it for the record at hand.
type partialGroup struct {
	*SequenceGroup
	skip bool // all its sequence columns are NULL
}

// place is a value in a record.
type place struct {
	col *rowdata.Vector // nil: none
	row int
}

func (p *partialUpdate) Begin() {
	if p.dirty {
		p.row.clear()
		p.dirty = false
	}
	clear(p.lent)
	p.row.seq = 0
	p.filled, p.added, p.deleted = false, false, false
	for _, f := range p.functions {
		f.Reset()
	}
}

// AddLent implements [Lender]: without groups a value is copied once, into the result.
func (p *partialUpdate) AddLent(kv *rowdata.KeyValues, i int) error {
	if p.groups != nil || kv.Kinds[i].IsRetract() {
		return p.Add(kv, i)
	}
	p.deleted = false
	p.row.seq = kv.Seq[i]
	for c, col := range kv.Cols {
		switch {
		case !col.IsNull(i):
			p.lent[c] = place{col, i}
		case p.notNull[c]:
			return p.columns[c].failed(ErrNotNull)
		}
	}
	p.added, p.filled = true, true
	return nil
}

// settle copies what was lent into the row.
func (p *partialUpdate) settle() {
	p.dirty = true
	for c, x := range p.lent {
		if x.col != nil {
			aggregate.Set(p.row.cells[c], x.col, x.row)
			p.lent[c] = place{}
		}
	}
}

func (p *partialUpdate) Add(kv *rowdata.KeyValues, i int) error {
	p.settle()
	p.deleted = false
	if kv.Kinds[i].IsRetract() {
		return p.retract(kv, i)
	}
	p.row.seq = kv.Seq[i]
	var err error
	if p.groups == nil {
		err = p.overwrite(kv, i)
	} else {
		err = p.update(kv, i)
	}
	p.added, p.filled = true, true
	return err
}

// overwrite takes the values that are not NULL. Without groups the only functions
// are those that do the same.
func (p *partialUpdate) overwrite(kv *rowdata.KeyValues, i int) error {
	for c, cell := range p.row.cells {
		switch col := kv.Cols[c]; {
		case !col.IsNull(i):
			aggregate.Set(cell, col, i)
		case p.notNull[c]:
			return p.columns[c].failed(ErrNotNull)
		}
	}
	return nil
}

// update is overwrite for a table with groups.
func (p *partialUpdate) update(kv *rowdata.KeyValues, i int) error {
	p.beginRecord(kv, i)
	for c, cell := range p.row.cells {
		col, place := &p.columns[c], p.places[c]
		var err error
		switch {
		case place.group == 0 && col.fn != nil:
			err = col.fn.Add(cell, kv.Cols[c], i)
		case place.group == 0:
			if !kv.Cols[c].IsNull(i) {
				aggregate.Set(cell, kv.Cols[c], i)
			}
		default:
			err = p.updateGrouped(c, kv, i)
		}
		if err != nil {
			return col.failed(err)
		}
	}
	return nil
}

func (p *partialUpdate) updateGrouped(c int, kv *rowdata.KeyValues, i int) error {
	group, cell, fn := &p.groups[p.places[c].group-1], p.row.cells[c], p.columns[c].fn
	switch {
	case group.skip:
		return nil
	case !p.newer(group, kv, i):
		if fn != nil {
			return fn.AddOlder(cell, kv.Cols[c], i)
		}
		return nil
	case p.places[c].sequence:
		p.takeSequence(group, kv, i)
		return nil
	case fn != nil:
		return fn.Add(cell, kv.Cols[c], i)
	}
	aggregate.Set(cell, kv.Cols[c], i)
	return nil
}

// beginRecord finds the groups that the record says nothing of.
func (p *partialUpdate) beginRecord(kv *rowdata.KeyValues, i int) {
	for g := range p.groups {
		group := &p.groups[g]
		group.skip = true
		for _, c := range group.By {
			group.skip = group.skip && kv.Cols[c].IsNull(i)
		}
	}
}

// newer tells whether the record is as new as the row in the group, or newer.
func (p *partialUpdate) newer(g *partialGroup, kv *rowdata.KeyValues, i int) bool {
	for _, c := range g.By {
		if order := rowdata.Compare(kv.Cols[c], i, p.row.cells[c], 0); order != 0 {
			return order > 0
		}
	}
	return true
}

func (p *partialUpdate) takeSequence(g *partialGroup, kv *rowdata.KeyValues, i int) {
	for _, c := range g.By {
		aggregate.Set(p.row.cells[c], kv.Cols[c], i)
	}
}

// retract takes a -U or -D. The first record of a key initialises the row with all
// its values, whatever comes of it.
func (p *partialUpdate) retract(kv *rowdata.KeyValues, i int) error {
	if !p.filled {
		p.row.take(kv, i)
		p.filled = true
	}
	if p.ignoreDelete {
		return nil
	}
	p.row.seq = kv.Seq[i]
	switch {
	case p.groups != nil:
		return p.retractGroups(kv, i)
	case !p.removeOnDelete:
		return &RefusedKindError{
			Engine: "partial-update", Kind: kv.Kinds[i],
			Remedy: "set ignore-delete to ignore them, partial-update.remove-record-on-delete to remove the row, " +
				"or sequence groups to retract columns (and partial-update.remove-record-on-sequence-group to remove the row by a group)",
		}
	case kv.Kinds[i] == rowdata.Delete:
		p.remove(kv, i)
	}
	return nil
}

// remove makes the row that of a delete, whose values later records go on from.
func (p *partialUpdate) remove(kv *rowdata.KeyValues, i int) {
	p.deleted = true
	p.row.take(kv, i)
}

func (p *partialUpdate) retractGroups(kv *rowdata.KeyValues, i int) error {
	p.beginRecord(kv, i)
	for c, cell := range p.row.cells {
		place := p.places[c]
		if place.group == 0 {
			continue
		}
		group, col := &p.groups[place.group-1], &p.columns[c]
		var err error
		switch {
		case group.skip:
		case col.fn != nil && !place.sequence:
			err = col.fn.Retract(cell, kv.Cols[c], i)
		case !p.newer(group, kv, i):
		case place.sequence:
			if group.Remove && kv.Kinds[i] == rowdata.Delete {
				p.remove(kv, i)
				return nil
			}
			p.takeSequence(group, kv, i)
		default:
			aggregate.SetNull(cell)
		}
		if err != nil {
			return col.failed(err)
		}
	}
	return nil
}

func (p *partialUpdate) Result(dst *rowdata.KeyValues) (bool, error) {
	p.row.kind = rowdata.Insert
	if p.deleted || !p.added {
		p.row.kind = rowdata.Delete
	}
	for c, x := range p.lent {
		if x.col == nil {
			x = place{p.row.cells[c], 0}
		}
		dst.Cols[c].AppendFrom(x.col, x.row)
	}
	p.row.close(dst)
	return true, nil
}
