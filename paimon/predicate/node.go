package predicate

import (
	"slices"

	"sluice/paimon/rowdata"
)

type nodeKind uint8

const (
	nodeAnd     nodeKind = iota
	nodeOr               //
	nodeConst            // truth, whatever the row
	nodeValid            // truth where the column is not NULL, else unknown
	nodeNull             // column IS NULL
	nodeCompare          // column op value
	nodeIn               // column IN (values)
	nodeLike             // column LIKE pattern
)

// node is a part of the tree. There is no NOT but the one of a leaf: see
// negate.
type node struct {
	kind   nodeKind
	not    bool // nodeNull, nodeIn, nodeLike
	op     op   // nodeCompare
	truth  truth
	col    int           // -1: none
	typ    *rowdata.Type // of the column
	name   string        // of the column
	values *rowdata.Vector
	unsure bool // nodeIn: the list has a NULL, so that no row is surely not in it
	set    *valueSet
	like   *pattern
	kids   []*node
}

// truth is false, unknown or true, so that AND is the least, OR the greatest and
// NOT the distance from true.
type truth uint8

const (
	isFalse   truth = 0
	isUnknown truth = 1
	isTrue    truth = 2
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

type op uint8

const (
	opEqual op = iota
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
)

var opText = [...]string{"=", "<>", "<", "<=", ">", ">="}

func parseOp(s string) (op, bool) {
	if s == "!=" {
		s = "<>"
	}
	i := slices.Index(opText[:], s)
	return op(i), i >= 0
}

// negated returns the operator that is true where o is false.
func (o op) negated() op {
	return [...]op{opNotEqual, opEqual, opGreaterEqual, opGreater, opLessEqual, opLess}[o]
}

// flipped returns the operator for exchanged sides.
func (o op) flipped() op {
	return [...]op{opEqual, opNotEqual, opGreater, opGreaterEqual, opLess, opLessEqual}[o]
}

// holds tells whether the operator holds for sides that compare like that.
func (o op) holds(c int) bool {
	switch o {
	case opEqual:
		return c == 0
	case opNotEqual:
		return c != 0
	case opLess:
		return c < 0
	case opLessEqual:
		return c <= 0
	case opGreater:
		return c > 0
	}
	return c >= 0
}

// negate returns the tree that is true where n is false, and unknown where n is.
func negate(n *node) *node {
	out := *n
	switch n.kind {
	case nodeAnd, nodeOr:
		out.kind = nodeAnd + nodeOr - n.kind
		out.kids = make([]*node, len(n.kids))
		for i, k := range n.kids {
			out.kids[i] = negate(k)
		}
	case nodeConst, nodeValid:
		out.truth = isTrue - n.truth
	case nodeCompare:
		out.op = n.op.negated()
	default:
		out.not = !n.not
	}
	return &out
}

// join makes an AND or OR of trees and flattens it.
func join(kind nodeKind, nodes ...*node) *node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	out := &node{kind: kind, col: -1}
	for _, n := range nodes {
		if n.kind == kind {
			out.kids = append(out.kids, n.kids...)
		} else {
			out.kids = append(out.kids, n)
		}
	}
	return out
}
