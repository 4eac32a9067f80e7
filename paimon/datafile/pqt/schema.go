package pqt

import (
	"fmt"

	"sluice/paimon/rowdata"
)

// valueClass is how the values of a column are kept in memory on their way to
// and from a file: a storage of rowdata and a physical type of Parquet.
type valueClass uint8

const (
	classBool      valueClass = iota + 1 // I32 to BOOLEAN
	classI32                             // I32 to INT32
	classI64                             // I64 to INT64
	classDecimal32                       // I64 to INT32: DECIMAL(p<=9)
	classF32
	classF64
	classI128  // I128 to FIXED_LEN_BYTE_ARRAY: DECIMAL(p>18)
	classNanos // I64 and I32 to INT96: TIMESTAMP(7..9)
	classBytes
)

// decimalWidth holds the bytes of a DECIMAL by precision, from 19.
var decimalWidth = [...]int32{9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16}

// leafType returns how Paimon stores an atomic type (format section 9.4).
func leafType(t *rowdata.Type) (valueClass, schemaElement, error) {
	e := schemaElement{converted: convertedNone}
	switch t.Root {
	case rowdata.Boolean:
		e.phys = physBoolean
		return classBool, e, nil
	case rowdata.TinyInt:
		e.phys, e.converted = physInt32, convertedInt8
		e.logical = logicalType{kind: logicalInt, bits: 8, signed: true}
		return classI32, e, nil
	case rowdata.SmallInt:
		e.phys, e.converted = physInt32, convertedInt16
		e.logical = logicalType{kind: logicalInt, bits: 16, signed: true}
		return classI32, e, nil
	case rowdata.Int:
		e.phys = physInt32
		return classI32, e, nil
	case rowdata.BigInt:
		e.phys = physInt64
		return classI64, e, nil
	case rowdata.Float:
		e.phys = physFloat
		return classF32, e, nil
	case rowdata.Double:
		e.phys = physDouble
		return classF64, e, nil
	case rowdata.Date:
		e.phys, e.converted, e.logical.kind = physInt32, convertedDate, logicalDate
		return classI32, e, nil
	case rowdata.Time:
		e.phys, e.converted = physInt32, convertedTimeMillis
		e.logical = logicalType{kind: logicalTime, utc: true, unit: unitMillis}
		return classI32, e, nil
	case rowdata.Char, rowdata.Varchar:
		e.phys, e.converted, e.logical.kind = physByteArray, convertedUTF8, logicalString
		return classBytes, e, nil
	case rowdata.Binary, rowdata.Varbinary, rowdata.Blob:
		e.phys = physByteArray
		return classBytes, e, nil
	case rowdata.Decimal:
		return decimalLeaf(t, e)
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		if t.Precision > 6 {
			e.phys = physInt96
			return classNanos, e, nil
		}
		e.phys, e.converted = physInt64, convertedTimestampMillis
		e.logical = logicalType{kind: logicalTimestamp, utc: t.Root == rowdata.TimestampLTZ, unit: unitMillis}
		if t.Precision > 3 {
			e.converted, e.logical.unit = convertedTimestampMicros, unitMicros
		}
		return classI64, e, nil
	}
	return 0, e, fmt.Errorf("type %s has no parquet form", t)
}

func decimalLeaf(t *rowdata.Type, e schemaElement) (valueClass, schemaElement, error) {
	if t.Precision < 1 || t.Precision > 38 {
		return 0, e, fmt.Errorf("type %s: precision must be 1 to 38", t)
	}
	e.scale, e.precision, e.converted = int32(t.Scale), int32(t.Precision), convertedDecimal
	e.logical = logicalType{kind: logicalDecimal, scale: e.scale, precision: e.precision}
	switch {
	case t.Precision <= 9:
		e.phys = physInt32
		return classDecimal32, e, nil
	case t.Precision <= 18:
		e.phys = physInt64
		return classI64, e, nil
	}
	e.phys, e.typeLength = physFixed, decimalWidth[t.Precision-19]
	return classI128, e, nil
}

type nodeKind uint8

const (
	leafNode   nodeKind = iota + 1
	structNode          // ROW, VARIANT
	listNode            // ARRAY, MULTISET, MAP, VECTOR: the children hold the elements
)

// node is a column, or a position within one, of a file being written.
type node struct {
	kind     nodeKind
	path     string
	optional bool
	def      byte // definition level of a value here that is not NULL; elements of a list have one more
	rep      byte // repetition level; elements of a list have one more
	children []*node
	leaf     *column
}

// Field ids of positions that have none in the schema are counted up or down
// from the middle of the ids that users may have (format section 9.4).
const (
	derivedIDBase  = 536870911
	derivedIDRange = 1024
)

// schemaBuilder makes the tree of a file's columns and the flat list that the
// footer has of it.
type schemaBuilder struct {
	elements []schemaElement
	leaves   []*column
	path     []string
}

// field adds a top-level column or a member of a ROW.
func (b *schemaBuilder) field(f *rowdata.Field, def, rep byte) (*node, error) {
	return b.add(f.Name, f.Type, int32(f.ID), !f.Type.NotNull, def, rep, int32(f.ID), 0)
}

// add adds a position of type t. owner is the id of the column or member around
// it and depth the number of containers in between.
func (b *schemaBuilder) add(name string, t *rowdata.Type, id int32, opt bool, def, rep byte, owner, depth int32) (*node, error) {
	if len(b.path) >= schemaDepthMax {
		return nil, fmt.Errorf("column %q: types nest deeper than %d", b.path[0], schemaDepthMax)
	}
	b.path = append(b.path, name)
	defer func(n int) { b.path = b.path[:n] }(len(b.path) - 1)
	n := &node{path: dotted(b.path), optional: opt, def: def, rep: rep}
	e := schemaElement{name: name, phys: noPhysical, converted: convertedNone, fieldID: id, hasFieldID: true}
	if opt {
		n.def++
		e.repetition = optional
	}
	at := len(b.elements)
	b.elements = append(b.elements, e)
	var err error
	switch t.Storage() {
	case rowdata.StoreStruct:
		n.kind = structNode
		err = b.members(n, t)
		b.elements[at].numChildren = int32(len(n.children))
	case rowdata.StoreList:
		n.kind = listNode
		b.elements[at].numChildren, b.elements[at].converted, b.elements[at].logical.kind = 1, convertedList, logicalList
		err = b.elementsOf(n, "list", owner, depth+1, position{"element", t.Elem, !t.Elem.NotNull, +1})
	case rowdata.StoreMap:
		n.kind = listNode
		b.elements[at].numChildren, b.elements[at].converted, b.elements[at].logical.kind = 1, convertedMap, logicalMap
		if t.Root == rowdata.Multiset {
			count := &rowdata.Type{Root: rowdata.Int, NotNull: true}
			err = b.elementsOf(n, "key_value", owner, depth+1, position{"key", t.Elem, false, -1}, position{"value", count, false, +1})
		} else {
			err = b.elementsOf(n, "key_value", owner, depth+1, position{"key", t.Key, false, -1}, position{"value", t.Elem, !t.Elem.NotNull, +1})
		}
	default:
		n.kind = leafNode
		var class valueClass
		var leaf schemaElement
		if class, leaf, err = leafType(t); err != nil {
			return nil, fmt.Errorf("column %q: %w", n.path, err)
		}
		leaf.name, leaf.fieldID, leaf.hasFieldID, leaf.repetition = name, id, true, e.repetition
		b.elements[at] = leaf
		n.leaf = &column{node: n, typ: t, class: class, elem: leaf, path: append([]string(nil), b.path...), maxDef: n.def, maxRep: rep}
		b.leaves = append(b.leaves, n.leaf)
	}
	return n, err
}

// members adds the members of a ROW or the two binaries of a VARIANT.
func (b *schemaBuilder) members(n *node, t *rowdata.Type) error {
	fields := t.Fields
	if t.Root == rowdata.Variant {
		binary := &rowdata.Type{Root: rowdata.Varbinary, Length: rowdata.MaxLength, NotNull: true}
		fields = []rowdata.Field{{ID: 0, Name: "value", Type: binary}, {ID: 1, Name: "metadata", Type: binary}}
	}
	if len(fields) == 0 {
		return fmt.Errorf("column %q: a ROW without members has no parquet form", n.path)
	}
	for i := range fields {
		c, err := b.field(&fields[i], n.def, n.rep)
		if err != nil {
			return err
		}
		n.children = append(n.children, c)
	}
	return nil
}

type position struct {
	name     string
	typ      *rowdata.Type
	optional bool
	side     int32 // +1: ids are counted up; -1: down
}

// elementsOf adds the repeated group of a list or map and what is in it.
func (b *schemaBuilder) elementsOf(n *node, group string, owner, depth int32, positions ...position) error {
	b.elements = append(b.elements, schemaElement{
		name: group, phys: noPhysical, converted: convertedNone,
		repetition: repeated, numChildren: int32(len(positions)),
	})
	b.path = append(b.path, group)
	defer func(n int) { b.path = b.path[:n] }(len(b.path) - 1)
	for _, p := range positions {
		id := derivedIDBase + p.side*(derivedIDRange*owner+depth)
		c, err := b.add(p.name, p.typ, id, p.optional, n.def+1, n.rep+1, owner, depth)
		if err != nil {
			return err
		}
		n.children = append(n.children, c)
	}
	return nil
}

func dotted(path []string) string {
	s := path[0]
	for _, p := range path[1:] {
		s += "." + p
	}
	return s
}
