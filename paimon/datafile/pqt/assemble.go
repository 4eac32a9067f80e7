package pqt

import (
	"errors"

	"sluice/paimon/rowdata"
)

var errEntries = errors.New("the columns of a nested value do not have the same entries")

// assemble builds n rows of a nested column in out, which is empty, from the
// entries that its leaves have read. The values of leaves are in their vectors
// already, without places for NULLs.
func (r *readNode) assemble(out *rowdata.Vector, n int) error {
	if r.missing {
		appendNulls(out, n)
		return nil
	}
	if r.kind == leafNode {
		return r.assembleLeaf(out, n)
	}
	rep, def := r.levels.batchRep, r.levels.batchDef
	valid := make([]byte, 0, n)
	elements := 0
	for i, d := range def {
		if rep[i] <= r.rowRep && d >= r.rowDef {
			var v byte
			if d >= r.def {
				v = 1
			}
			valid = append(valid, v)
			if r.kind == listNode && len(valid) > 1 {
				out.Offs = append(out.Offs, uint32(elements))
			}
		}
		if r.kind == listNode && rep[i] <= r.rowRep+1 && d >= r.elemDef {
			elements++
		}
	}
	if len(valid) != n {
		return r.levels.corrupt("data page", errEntries)
	}
	rows := n
	if r.kind == listNode {
		if rows = elements; n > 0 {
			out.Offs = append(out.Offs, uint32(elements))
		}
	}
	for i, c := range r.children {
		if err := c.assemble(out.Children[i], rows); err != nil {
			return err
		}
	}
	setValid(out, valid)
	out.SetLen(n)
	return nil
}

func (r *readNode) assembleLeaf(out *rowdata.Vector, n int) error {
	rep, def := r.leaf.batchRep, r.leaf.batchDef
	valid := make([]byte, 0, n)
	values := 0
	for i, d := range def {
		if rep[i] <= r.rowRep && d >= r.rowDef {
			var v byte
			if d == r.leaf.maxDef {
				v = 1
				values++
			}
			valid = append(valid, v)
		}
	}
	if len(valid) != n {
		return r.leaf.corrupt("data page", errEntries)
	}
	spread(out, 0, values, valid)
	setValid(out, valid)
	out.SetLen(n)
	return nil
}

// appendNulls puts n NULLs into an empty vector.
func appendNulls(out *rowdata.Vector, n int) {
	for range n {
		out.AppendNull()
	}
}

// read reads n rows of a column into out, which is empty.
func (r *readNode) read(out *rowdata.Vector, n int) error {
	switch {
	case r.missing:
		appendNulls(out, n)
		return nil
	case r.leaf != nil && r.leaf.flat:
		return r.leaf.readFlat(out, n)
	}
	if err := r.readLeaves(out, n); err != nil {
		return err
	}
	return r.assemble(out, n)
}

// readLeaves reads the entries of n rows of all leaves.
func (r *readNode) readLeaves(out *rowdata.Vector, n int) error {
	switch {
	case r.missing:
		return nil
	case r.own:
		return r.levels.readBatch(nil, n)
	case r.kind == leafNode:
		return r.leaf.readBatch(out, n)
	}
	for i, c := range r.children {
		if err := c.readLeaves(out.Children[i], n); err != nil {
			return err
		}
	}
	return nil
}

func (l *leafReader) readBatch(out *rowdata.Vector, n int) error {
	if err := l.settle(); err != nil {
		return err
	}
	l.batchRep, l.batchDef = l.batchRep[:0], l.batchDef[:0]
	return l.readEntries(int64(n), out)
}
