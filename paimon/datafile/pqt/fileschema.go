package pqt

import (
	"errors"
	"fmt"
)

// fileNode is a node of the schema of a file being read.
type fileNode struct {
	elem     *schemaElement
	children []*fileNode
	def, rep byte
	leaf     int // number of the column; -1: a group
}

var errSchema = errors.New("the schema is not a tree")

// parseSchema makes a tree of the list in the footer and returns it with its
// number of leaves.
func parseSchema(elements []schemaElement) (root *fileNode, leaves int, err error) {
	p := schemaParser{rest: elements}
	root = p.node(0, 0, 0)
	if p.err == nil && (len(p.rest) > 0 || root.leaf >= 0) {
		p.err = errSchema
	}
	return root, p.leaves, p.err
}

type schemaParser struct {
	rest   []schemaElement
	leaves int
	err    error
}

func (p *schemaParser) node(def, rep byte, depth int) *fileNode {
	if len(p.rest) == 0 || depth > schemaDepthMax {
		p.err = errSchema
		return &fileNode{leaf: -1, elem: &schemaElement{phys: noPhysical}}
	}
	e := &p.rest[0]
	p.rest = p.rest[1:]
	n := &fileNode{elem: e, def: def, rep: rep, leaf: -1}
	if depth > 0 {
		switch e.repetition {
		case optional:
			n.def++
		case repeated:
			n.def++
			n.rep++
		}
	}
	if e.phys != noPhysical {
		if e.numChildren != 0 || e.phys == physFixed && (e.typeLength <= 0 || e.typeLength > 1<<20) {
			p.err = fmt.Errorf("column %q: %w", e.name, errSchema)
		}
		n.leaf = p.leaves
		p.leaves++
		return n
	}
	if e.numChildren < 0 || int(e.numChildren) > len(p.rest) {
		p.err = errSchema
		return n
	}
	for range e.numChildren {
		if p.err != nil {
			break
		}
		n.children = append(n.children, p.node(n.def, n.rep, depth+1))
	}
	return n
}

// child returns the child of that name, or nil.
func (n *fileNode) child(name string) *fileNode {
	for _, c := range n.children {
		if c.elem.name == name {
			return c
		}
	}
	return nil
}

// firstLeaf returns the first leaf below n, or nil.
func (n *fileNode) firstLeaf() *fileNode {
	if n.leaf >= 0 {
		return n
	}
	for _, c := range n.children {
		if l := c.firstLeaf(); l != nil {
			return l
		}
	}
	return nil
}

// elements returns what an element of a list is in a file, and the repeated node
// that makes it a list. Lists are written in three levels; older writers left out
// one or two. rowDef is the level at which there is a row of n.
func (n *fileNode) elements(rowDef byte) (repeatedNode, element *fileNode, ok bool) {
	if n.elem.repetition == repeated && n.def > rowDef {
		return n, n, true
	}
	if len(n.children) != 1 || n.children[0].elem.repetition != repeated {
		return nil, nil, false
	}
	r := n.children[0]
	if r.leaf >= 0 || len(r.children) != 1 || r.elem.name == "array" || r.elem.name == n.elem.name+"_tuple" {
		return r, r, true
	}
	return r, r.children[0], true
}

// entries returns the repeated group of a map with its key and value; value is
// nil if the file has none.
func (n *fileNode) entries() (repeatedNode, key, value *fileNode, ok bool) {
	if len(n.children) != 1 || n.children[0].elem.repetition != repeated {
		return nil, nil, nil, false
	}
	r := n.children[0]
	switch len(r.children) {
	case 1:
		return r, r.children[0], nil, true
	case 2:
		return r, r.children[0], r.children[1], true
	}
	return nil, nil, nil, false
}
