package pqt

import (
	"bytes"
	"fmt"

	"sluice/paimon/rowdata"
)

// slots are the entries of a column at one level of nesting: for each the
// repetition level, the definition level reached so far, and which row of the
// vector of that level it is; noRow if the entry ended above, with a NULL or an
// empty list.
type slots struct {
	rep, def []byte
	row      []uint32
}

const noRow = ^uint32(0)

func (s *slots) reset() { s.rep, s.def, s.row = s.rep[:0], s.def[:0], s.row[:0] }

func (s *slots) add(rep, def byte, row uint32) {
	s.rep, s.def, s.row = append(s.rep, rep), append(s.def, def), append(s.row, row)
}

// shredder takes nested vectors apart into the levels and values of their leaves.
// It holds scratch: slots for each level of nesting.
type shredder struct {
	levels []*slots
	top    slots
}

func (s *shredder) level(depth int) *slots {
	for len(s.levels) <= depth {
		s.levels = append(s.levels, new(slots))
	}
	s.levels[depth].reset()
	return s.levels[depth]
}

// appendRows appends rows from..to of a column that has other columns in it.
func (s *shredder) appendRows(n *node, v *rowdata.Vector, from, to int) error {
	s.top.reset()
	for i := from; i < to; i++ {
		s.top.add(0, 0, uint32(i))
	}
	return s.visit(n, v, &s.top, 0)
}

// visit appends the entries in to everything below n, whose values are in v.
func (s *shredder) visit(n *node, v *rowdata.Vector, in *slots, depth int) error {
	if n.optional {
		out := s.level(depth)
		depth++
		for i, row := range in.row {
			switch {
			case row == noRow:
				out.add(in.rep[i], in.def[i], noRow)
			case v.Valid != nil && v.Valid[row] == 0:
				out.add(in.rep[i], in.def[i], noRow)
			default:
				out.add(in.rep[i], n.def, row)
			}
		}
		in = out
	} else if v.Valid != nil && bytes.IndexByte(v.Valid, 0) >= 0 {
		for _, row := range in.row {
			if row != noRow && v.Valid[row] == 0 {
				return fmt.Errorf("column %q: %w", n.path, ErrNull)
			}
		}
	}
	if n.kind == leafNode {
		return n.leaf.appendSlots(v, in)
	}
	if n.kind == listNode {
		out := s.level(depth)
		depth++
		s.elements(n, v, in, out)
		in = out
	}
	for i, c := range n.children {
		if err := s.visit(c, v.Children[i], in, depth); err != nil {
			return err
		}
	}
	return nil
}

// elements makes an entry of every element of the lists in.
func (s *shredder) elements(n *node, v *rowdata.Vector, in, out *slots) {
	for i, row := range in.row {
		if row == noRow || v.Offs[row] == v.Offs[row+1] {
			out.add(in.rep[i], in.def[i], noRow)
			continue
		}
		rep := in.rep[i]
		for e := v.Offs[row]; e < v.Offs[row+1]; e++ {
			out.add(rep, n.def+1, e)
			rep = n.rep + 1
		}
	}
}

// appendSlots appends entries of a leaf that is part of another column.
func (c *column) appendSlots(v *rowdata.Vector, in *slots) error {
	c.entries += len(in.row)
	c.def, c.hasDef = append(c.def, in.def...), c.maxDef > 0
	if c.maxRep > 0 {
		c.rep = append(c.rep, in.rep...)
		for _, r := range in.rep {
			if r == 0 {
				c.rows++
			}
		}
	} else {
		c.rows += len(in.row)
	}
	// Neighbours in the entries are mostly neighbours in the vector.
	for i := 0; i < len(in.row); {
		row := in.row[i]
		i++
		if row == noRow {
			continue
		}
		end := row + 1
		for i < len(in.row) && in.row[i] == end {
			end++
			i++
		}
		if err := c.appendValues(v, int(row), int(end)); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf returns about how many bytes of values rows from..to of v hold, of all
// leaves below n.
func sizeOf(n *node, v *rowdata.Vector, from, to int) int {
	switch n.kind {
	case leafNode:
		size := (to - from) * n.leaf.valueBytes()
		if n.leaf.class == classBytes {
			size += int(v.Offs[to] - v.Offs[from])
		}
		return size
	case listNode:
		from, to = int(v.Offs[from]), int(v.Offs[to])
	}
	size := 0
	for i, c := range n.children {
		size += sizeOf(c, v.Children[i], from, to)
	}
	return size
}
