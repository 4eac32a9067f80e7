package pqt

import (
	"sluice/paimon/rowdata"
)

// readNode is a position of a column that is wanted, matched with the file.
type readNode struct {
	kind     nodeKind
	missing  bool // not in the file: NULL
	typ      *rowdata.Type
	path     string
	def      byte // an entry with this level is not NULL here
	rowDef   byte // an entry is a row here if it reaches this level and
	rowRep   byte // is not a repetition deeper than this
	elemDef  byte // listNode: an entry with this level is an element
	children []*readNode
	leaf     *leafReader // leafNode
	levels   *leafReader // a leaf below
	own      bool        // levels is there for this node only: no child is in the file
}

// planner matches wanted types with the nodes of a file.
type planner struct {
	leaves []*leafReader
	index  []int // of each leaf in the file
	held   int   // what leaves share: leafReader.held
}

// field plans a top-level column or a member; f is nil if the file lacks it.
func (p *planner) field(path string, t *rowdata.Type, f *fileNode, rowDef, rowRep byte) (*readNode, error) {
	n := &readNode{typ: t, path: path, rowDef: rowDef, rowRep: rowRep}
	if f == nil {
		n.missing = true
		return n, nil
	}
	n.def = f.def
	if f.elem.repetition == repeated && f.def > rowDef && t.Storage() == rowdata.StoreList {
		n.def-- // a list in one level is never NULL
	}
	return n, p.fill(n, f)
}

func (p *planner) fill(n *readNode, f *fileNode) error {
	var err error
	switch n.typ.Storage() {
	case rowdata.StoreStruct:
		n.kind = structNode
		err = p.members(n, f)
	case rowdata.StoreList:
		n.kind = listNode
		r, elem, ok := f.elements(n.rowDef)
		if !ok {
			return mismatch(n, f)
		}
		n.elemDef = r.def
		err = p.children(n, r, filePosition{"element", n.typ.Elem, elem})
	case rowdata.StoreMap:
		n.kind = listNode
		r, key, value, ok := f.entries()
		if !ok {
			return mismatch(n, f)
		}
		n.elemDef = r.def
		kt, vt := n.typ.Key, n.typ.Elem
		if n.typ.Root == rowdata.Multiset {
			kt, vt = n.typ.Elem, &rowdata.Type{Root: rowdata.Int, NotNull: true}
		}
		err = p.children(n, r, filePosition{"key", kt, key}, filePosition{"value", vt, value})
	default:
		n.kind = leafNode
		if f.leaf < 0 || f.elem.repetition == repeated && f.def > n.rowDef {
			return mismatch(n, f)
		}
		conv := conversionTo(n.typ, f.elem)
		if conv == convNone {
			return mismatch(n, f)
		}
		n.leaf = p.leaf(n.path, f)
		n.leaf.conv = conv
		n.levels = n.leaf
	}
	if err != nil || n.levels != nil {
		return err
	}
	for _, c := range n.children {
		if !c.missing {
			n.levels = c.levels
			return nil
		}
	}
	first := f.firstLeaf()
	if first == nil {
		return mismatch(n, f)
	}
	n.levels = p.leaf(n.path, first)
	n.levels.only, n.own = true, true
	return nil
}

type filePosition struct {
	name string
	typ  *rowdata.Type
	file *fileNode
}

// children plans what is in a list or map whose repeated node is r.
func (p *planner) children(n *readNode, r *fileNode, positions ...filePosition) error {
	for _, c := range positions {
		child, err := p.field(n.path+"."+c.name, c.typ, c.file, r.def, r.rep)
		if err != nil {
			return err
		}
		n.children = append(n.children, child)
	}
	return nil
}

func (p *planner) members(n *readNode, f *fileNode) error {
	if f.leaf >= 0 || f.elem.repetition == repeated && f.def > n.rowDef {
		return mismatch(n, f)
	}
	fields := n.typ.Fields
	if n.typ.Root == rowdata.Variant {
		if f.child("typed_value") != nil {
			return &UnsupportedError{Column: n.path, What: "shredded VARIANT"}
		}
		binary := &rowdata.Type{Root: rowdata.Varbinary, Length: rowdata.MaxLength, NotNull: true}
		fields = []rowdata.Field{{Name: "value", Type: binary}, {Name: "metadata", Type: binary}}
	}
	for i := range fields {
		c, err := p.field(n.path+"."+fields[i].Name, fields[i].Type, f.child(fields[i].Name), n.rowDef, n.rowRep)
		if err != nil {
			return err
		}
		n.children = append(n.children, c)
	}
	return nil
}

func (p *planner) leaf(path string, f *fileNode) *leafReader {
	l := &leafReader{path: path, phys: f.elem.phys, typeLen: int(f.elem.typeLength), maxDef: f.def, maxRep: f.rep, unit: timeUnit(f.elem), held: &p.held}
	l.values.phys, l.values.width = l.phys, l.phys.width()
	if l.phys == physFixed {
		l.values.width = l.typeLen
	}
	p.leaves, p.index = append(p.leaves, l), append(p.index, f.leaf)
	return l
}

func mismatch(n *readNode, f *fileNode) error {
	file := f.elem.describe()
	if f.elem.repetition == repeated {
		file = "repeated " + file
	}
	return &MismatchError{Column: n.path, Want: n.typ.String(), File: file}
}
