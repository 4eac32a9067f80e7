package client

import (
	"encoding/binary"
	"fmt"
	"math"

	sluicev1 "sluice/proto/sluice/v1"
)

// Kind says what a change does to a row.
type Kind uint8

// The kinds of change.
const (
	Insert       Kind = 0 // +I
	UpdateBefore Kind = 1 // -U: the row before an update
	UpdateAfter  Kind = 2 // +U: the row after it
	Delete       Kind = 3 // -D
)

// String returns +I, -U, +U or -D.
func (k Kind) String() string { return [...]string{"+I", "-U", "+U", "-D"}[k&3] }

// Rows is consecutive rows of one commit, partition and bucket. It refers to the
// received message and is never changed.
type Rows struct {
	Schema    *Schema
	Snapshot  int64
	Partition string // as "day=2026-11-29/hour=7/"
	Bucket    int32
	cursor    string
	kinds     []byte
	n         int
	json      [][]byte
	cols      []Column
}

// Len returns the number of rows.
func (r *Rows) Len() int { return r.n }

// Kind returns the kind of row i.
func (r *Rows) Kind(i int) Kind {
	if len(r.kinds) == 0 {
		return Insert
	}
	return Kind(r.kinds[i])
}

// Cursor returns the position of row i; that of row Len is the one after all.
func (r *Rows) Cursor(i int) string { return Advance(r.cursor, uint64(i)) }

// JSON returns row i as JSON text if the subscription asked for JSON, else nil.
func (r *Rows) JSON(i int) []byte {
	if r.json == nil {
		return nil
	}
	return r.json[i]
}

// Column returns a column of the schema, nil if the subscription asked for JSON.
func (r *Rows) Column(i int) *Column {
	if r.json != nil {
		return nil
	}
	return &r.cols[i]
}

// rowsOf checks that a frame fits the schema, so that no access to a value can
// fail later.
func rowsOf(m *sluicev1.Rows, s *Schema) (*Rows, error) {
	r := &Rows{Schema: s, Snapshot: m.GetSnapshot(), Partition: m.GetPartition(), Bucket: m.GetBucket(), cursor: m.GetCursor(), kinds: m.GetKinds(), n: int(m.GetCount())}
	if s == nil || m.GetSchemaId() != s.ID {
		return nil, fmt.Errorf("%w: rows of schema %d, which was not announced", ErrCorrupt, m.GetSchemaId())
	}
	if len(r.kinds) != 0 && len(r.kinds) != r.n {
		return nil, fmt.Errorf("%w: %d kinds for %d rows", ErrCorrupt, len(r.kinds), r.n)
	}
	for _, k := range r.kinds {
		if k > byte(Delete) {
			return nil, fmt.Errorf("%w: kind %d", ErrCorrupt, k)
		}
	}
	switch p := m.GetPayload().(type) {
	case *sluicev1.Rows_Json:
		if r.json = p.Json.GetRows(); len(r.json) != r.n {
			return nil, fmt.Errorf("%w: %d JSON texts for %d rows", ErrCorrupt, len(r.json), r.n)
		}
	case *sluicev1.Rows_Columns:
		cols := p.Columns.GetColumns()
		if len(cols) != len(s.Fields) {
			return nil, fmt.Errorf("%w: %d columns, the schema has %d", ErrCorrupt, len(cols), len(s.Fields))
		}
		r.cols = make([]Column, len(cols))
		for i, c := range cols {
			if err := r.cols[i].read(c, s.Fields[i].Type, r.n, 0); err != nil {
				return nil, fmt.Errorf("%w: column %s: %w", ErrCorrupt, s.Fields[i].Name, err)
			}
		}
	default:
		return nil, fmt.Errorf("%w: rows without values", ErrCorrupt)
	}
	return r, nil
}

// Column is the values of a column. Methods for values of another type than the
// column's return zero values.
type Column struct {
	Type     *Type
	n        int
	width    int
	valid    []byte
	fixed    []byte
	nanos    []byte
	offsets  []byte
	data     []byte
	children []Column
}

// Len returns the number of rows.
func (c *Column) Len() int { return c.n }

// IsNull tells whether row i is NULL.
func (c *Column) IsNull(i int) bool {
	return len(c.valid) > 0 && c.valid[i/8]>>(i%8)&1 == 0
}

// width returns the bytes of a value of fixed width, 0 for other types.
func (t *Type) width() int {
	switch t.Root {
	case sluicev1.TypeRoot_TYPE_ROOT_BOOLEAN, sluicev1.TypeRoot_TYPE_ROOT_TINYINT:
		return 1
	case sluicev1.TypeRoot_TYPE_ROOT_SMALLINT:
		return 2
	case sluicev1.TypeRoot_TYPE_ROOT_INT, sluicev1.TypeRoot_TYPE_ROOT_DATE, sluicev1.TypeRoot_TYPE_ROOT_TIME, sluicev1.TypeRoot_TYPE_ROOT_FLOAT:
		return 4
	case sluicev1.TypeRoot_TYPE_ROOT_BIGINT, sluicev1.TypeRoot_TYPE_ROOT_DOUBLE, sluicev1.TypeRoot_TYPE_ROOT_TIMESTAMP, sluicev1.TypeRoot_TYPE_ROOT_TIMESTAMP_LTZ:
		return 8
	case sluicev1.TypeRoot_TYPE_ROOT_DECIMAL:
		if t.Precision <= 18 {
			return 8
		}
		return 16
	}
	return 0
}

// Types of the parts of nested values that have none of their own.
func intType() *Type   { return &Type{Root: sluicev1.TypeRoot_TYPE_ROOT_INT, NotNull: true} }
func bytesType() *Type { return &Type{Root: sluicev1.TypeRoot_TYPE_ROOT_VARBINARY, NotNull: true} }

// childTypes returns the types of the columns that a column is made of.
func (t *Type) childTypes() (types []*Type, list bool) {
	switch t.Root {
	case sluicev1.TypeRoot_TYPE_ROOT_ARRAY, sluicev1.TypeRoot_TYPE_ROOT_VECTOR:
		return []*Type{t.Elem}, true
	case sluicev1.TypeRoot_TYPE_ROOT_MAP:
		return []*Type{t.Key, t.Elem}, true
	case sluicev1.TypeRoot_TYPE_ROOT_MULTISET:
		return []*Type{t.Elem, intType()}, true
	case sluicev1.TypeRoot_TYPE_ROOT_VARIANT:
		return []*Type{bytesType(), bytesType()}, false
	case sluicev1.TypeRoot_TYPE_ROOT_ROW:
		for i := range t.Fields {
			types = append(types, t.Fields[i].Type)
		}
	}
	return types, false
}

// hasBytes tells whether values are of variable width.
func (t *Type) hasBytes() bool {
	switch t.Root {
	case sluicev1.TypeRoot_TYPE_ROOT_CHAR, sluicev1.TypeRoot_TYPE_ROOT_VARCHAR, sluicev1.TypeRoot_TYPE_ROOT_BINARY, sluicev1.TypeRoot_TYPE_ROOT_VARBINARY, sluicev1.TypeRoot_TYPE_ROOT_BLOB:
		return true
	}
	return false
}

// read refers to a message after it has compared the lengths of all parts with
// the type and the number of rows.
func (c *Column) read(m *sluicev1.Column, t *Type, n, depth int) error {
	*c = Column{Type: t, n: n, width: t.width(), valid: m.GetValid(), fixed: m.GetFixed(), nanos: m.GetNanos(), offsets: m.GetOffsets(), data: m.GetData()}
	types, list := t.childTypes()
	switch {
	case depth > typeDepthMax:
		return fmt.Errorf("nested deeper than %d", typeDepthMax)
	case c.width == 0 && !t.hasBytes() && len(types) == 0 && t.Root != sluicev1.TypeRoot_TYPE_ROOT_ROW:
		return fmt.Errorf("type %s is not known", t.Root)
	case len(c.valid) != 0 && len(c.valid) != (n+7)/8:
		return fmt.Errorf("%d bytes of validity for %d rows", len(c.valid), n)
	case len(c.fixed) != n*c.width:
		return fmt.Errorf("%d bytes for %d values of %d", len(c.fixed), n, c.width)
	case t.hasNanos() && len(c.nanos) != 4*n:
		return fmt.Errorf("%d bytes of nanoseconds for %d rows", len(c.nanos), n)
	case len(m.GetChildren()) != len(types):
		return fmt.Errorf("%d children, want %d", len(m.GetChildren()), len(types))
	}
	elements := n
	if list || t.hasBytes() {
		end := len(c.data)
		if list {
			if end = 0; n > 0 && len(c.offsets) == 4*(n+1) {
				end = int(binary.LittleEndian.Uint32(c.offsets[4*n:]))
			}
		}
		if err := c.checkOffsets(end); err != nil {
			return err
		}
		elements = end
	}
	c.children = make([]Column, len(types))
	for i, child := range m.GetChildren() {
		if err := c.children[i].read(child, types[i], elements, depth+1); err != nil {
			return fmt.Errorf("child %d: %w", i, err)
		}
	}
	return nil
}

func (c *Column) checkOffsets(end int) error {
	if c.n == 0 && end == 0 {
		return nil
	}
	if len(c.offsets) != 4*(c.n+1) || binary.LittleEndian.Uint32(c.offsets) != 0 {
		return fmt.Errorf("%d bytes of offsets for %d rows", len(c.offsets), c.n)
	}
	last := uint32(0)
	for b := c.offsets; len(b) > 0; b = b[4:] {
		o := binary.LittleEndian.Uint32(b)
		if o < last || uint64(o) > uint64(end) {
			return fmt.Errorf("offset %d after %d, with %d in all", o, last, end)
		}
		last = o
	}
	if uint64(last) != uint64(end) {
		return fmt.Errorf("offsets end with %d, want %d", last, end)
	}
	return nil
}

func (t *Type) hasNanos() bool {
	return (t.Root == sluicev1.TypeRoot_TYPE_ROOT_TIMESTAMP || t.Root == sluicev1.TypeRoot_TYPE_ROOT_TIMESTAMP_LTZ) && t.Precision > 6
}

// Int64 returns an integer, the unscaled value of a DECIMAL of up to 18 digits, 1
// for true, the days of a DATE, the milliseconds of a TIME, or the milliseconds or
// (4 to 6 digits) microseconds of a TIMESTAMP.
func (c *Column) Int64(i int) int64 {
	b := c.fixed[i*c.width:]
	switch c.width {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case 8, 16:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Float64 returns a FLOAT or DOUBLE.
func (c *Column) Float64(i int) float64 {
	switch c.Type.Root {
	case sluicev1.TypeRoot_TYPE_ROOT_FLOAT:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(c.fixed[4*i:])))
	case sluicev1.TypeRoot_TYPE_ROOT_DOUBLE:
		return math.Float64frombits(binary.LittleEndian.Uint64(c.fixed[8*i:]))
	}
	return 0
}

// Bytes returns text or bytes. They belong to the message: they stay as they are,
// and must not be changed.
func (c *Column) Bytes(i int) []byte {
	if !c.Type.hasBytes() {
		return nil
	}
	from, to := c.span(i)
	return c.data[from:to]
}

// String returns text or bytes as a string.
func (c *Column) String(i int) string { return string(c.Bytes(i)) }

// List returns the elements of row i: rows from..to of the child columns. An ARRAY
// and a VECTOR have one, a MAP keys and values, a MULTISET elements and counts.
func (c *Column) List(i int) (from, to int) {
	if len(c.offsets) == 0 || len(c.children) == 0 {
		return 0, 0
	}
	return c.span(i)
}

// Child returns a child column: elements, keys, values, or members of a ROW.
func (c *Column) Child(i int) *Column { return &c.children[i] }

func (c *Column) span(i int) (from, to int) {
	return int(binary.LittleEndian.Uint32(c.offsets[4*i:])), int(binary.LittleEndian.Uint32(c.offsets[4*i+4:]))
}
