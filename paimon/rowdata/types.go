package rowdata

import (
	"strconv"
	"strings"
)

// TypeRoot names a family of types, without parameters.
type TypeRoot uint8

// The type families of schema files (format section 2.3).
const (
	Boolean TypeRoot = iota + 1
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	Varchar // STRING is VARCHAR(2147483647)
	Binary
	Varbinary // BYTES is VARBINARY(2147483647)
	Date
	Time
	Timestamp
	TimestampLTZ
	Variant
	Blob
	Array
	Multiset
	Map
	Row
	Vec // VECTOR<elem, n>: fixed length list
)

// MaxLength is the length of STRING and BYTES.
const MaxLength = 1<<31 - 1

// Type is the type of a column, member or element. It is immutable once it is
// in use and may be shared.
type Type struct {
	Root      TypeRoot
	NotNull   bool    // the zero value is nullable, as in schema files
	Length    int     // CHAR, VARCHAR, BINARY, VARBINARY: maximal length; VECTOR: exact length
	Precision int     // DECIMAL 1..38; TIME, TIMESTAMP, TIMESTAMP_LTZ 0..9
	Scale     int     // DECIMAL
	Key       *Type   // MAP
	Elem      *Type   // ARRAY, MULTISET, VECTOR: element; MAP: value
	Fields    []Field // ROW
}

// Field is a column of a row, or a member of a nested row.
type Field struct {
	ID          int // unique in the whole schema, nested fields included
	Name        string
	Type        *Type
	Description string
	Default     *string // value for a NULL on writing, as text; nil: none
}

// RowType is an ordered set of fields.
type RowType struct {
	Fields []Field
}

// Storage tells which slices of a [Vector] hold the values of a type.
type Storage uint8

// The physical classes of values.
const (
	StoreI32    Storage = iota + 1 // I32: BOOLEAN (0, 1), TINYINT, SMALLINT, INT, DATE (epoch days), TIME (milliseconds of the day)
	StoreI64                       // I64: BIGINT, DECIMAL(p<=18) unscaled, TIMESTAMP(p<=3) epoch milliseconds, TIMESTAMP(4..6) epoch microseconds
	StoreF32                       // F32: FLOAT
	StoreF64                       // F64: DOUBLE
	StoreI128                      // I128: DECIMAL(p>18) unscaled
	StoreNanos                     // I64 epoch milliseconds and I32 nanoseconds within the millisecond (0..999999): TIMESTAMP(7..9)
	StoreBytes                     // Data and Offs: CHAR, VARCHAR, BINARY, VARBINARY, BLOB
	StoreList                      // Offs into Children[0]: ARRAY, VECTOR
	StoreMap                       // Offs into Children[0] (keys) and Children[1] (values): MAP, MULTISET (values INT counts)
	StoreStruct                    // Children, one a field, as long as the vector: ROW; VARIANT as value bytes and metadata bytes
)

// Storage returns the physical class of the type.
func (t *Type) Storage() Storage {
	switch t.Root {
	case Boolean, TinyInt, SmallInt, Int, Date, Time:
		return StoreI32
	case BigInt:
		return StoreI64
	case Float:
		return StoreF32
	case Double:
		return StoreF64
	case Decimal:
		if t.Precision <= 18 {
			return StoreI64
		}
		return StoreI128
	case Timestamp, TimestampLTZ:
		if t.Precision <= 6 {
			return StoreI64
		}
		return StoreNanos
	case Array, Vec:
		return StoreList
	case Map, Multiset:
		return StoreMap
	case Row, Variant:
		return StoreStruct
	}
	return StoreBytes
}

// IsString tells whether values are UTF-8 text.
func (t *Type) IsString() bool { return t.Root == Char || t.Root == Varchar }

// IsBinary tells whether values are plain bytes.
func (t *Type) IsBinary() bool { return t.Root == Binary || t.Root == Varbinary || t.Root == Blob }

// IsNested tells whether values are built of other values: ARRAY, MULTISET,
// MAP, ROW, VECTOR and VARIANT. Such columns have no order and no statistics.
func (t *Type) IsNested() bool { return t.Root >= Array || t.Root == Variant }

// Nullable returns t, or a copy of it that is nullable.
func (t *Type) Nullable() *Type {
	if !t.NotNull {
		return t
	}
	c := *t
	c.NotNull = false
	return &c
}

// AsNotNull returns t, or a copy of it that is NOT NULL.
func (t *Type) AsNotNull() *Type {
	if t.NotNull {
		return t
	}
	c := *t
	c.NotNull = true
	return &c
}

// Equal compares types with parameters, nullability, and the ids, names and
// types of members; descriptions and defaults do not count.
func (t *Type) Equal(o *Type) bool { return t.equal(o, false) }

// EqualIgnoreNull compares like [Type.Equal] but for nullability at any depth.
func (t *Type) EqualIgnoreNull(o *Type) bool { return t.equal(o, true) }

func (t *Type) equal(o *Type, ignoreNull bool) bool {
	if t == o {
		return true
	}
	if t == nil || o == nil || t.Root != o.Root || t.Length != o.Length || t.Precision != o.Precision || t.Scale != o.Scale ||
		!ignoreNull && t.NotNull != o.NotNull || len(t.Fields) != len(o.Fields) ||
		!t.Key.equal(o.Key, ignoreNull) || !t.Elem.equal(o.Elem, ignoreNull) {
		return false
	}
	for i := range t.Fields {
		f, g := &t.Fields[i], &o.Fields[i]
		if f.ID != g.ID || f.Name != g.Name || !f.Type.equal(g.Type, ignoreNull) {
			return false
		}
	}
	return true
}

var rootText = map[TypeRoot]string{
	Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT",
	Float: "FLOAT", Double: "DOUBLE", Date: "DATE", Variant: "VARIANT", Blob: "BLOB",
}

// String returns the canonical text of the type, NOT NULL included: the form of
// schema files for atomic types, angle brackets for constructed ones.
func (t *Type) String() string {
	var b strings.Builder
	t.text(&b)
	return b.String()
}

func (t *Type) text(b *strings.Builder) {
	params := func(name string, p ...int) {
		b.WriteString(name)
		for i, n := range p {
			b.WriteString([]string{"(", ", "}[min(i, 1)])
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteString(")")
	}
	length := func(name, unlimited string) {
		if t.Length == MaxLength {
			b.WriteString(unlimited)
		} else {
			params(name, t.Length)
		}
	}
	switch t.Root {
	case Decimal:
		params("DECIMAL", t.Precision, t.Scale)
	case Char:
		params("CHAR", t.Length)
	case Varchar:
		length("VARCHAR", "STRING")
	case Binary:
		params("BINARY", t.Length)
	case Varbinary:
		length("VARBINARY", "BYTES")
	case Time:
		params("TIME", t.Precision)
	case Timestamp:
		params("TIMESTAMP", t.Precision)
	case TimestampLTZ:
		params("TIMESTAMP", t.Precision)
		b.WriteString(" WITH LOCAL TIME ZONE")
	case Array, Multiset:
		b.WriteString(map[TypeRoot]string{Array: "ARRAY<", Multiset: "MULTISET<"}[t.Root])
		t.Elem.text(b)
		b.WriteByte('>')
	case Vec:
		b.WriteString("VECTOR<")
		t.Elem.text(b)
		b.WriteString(", " + strconv.Itoa(t.Length) + ">")
	case Map:
		b.WriteString("MAP<")
		t.Key.text(b)
		b.WriteString(", ")
		t.Elem.text(b)
		b.WriteByte('>')
	case Row:
		b.WriteString("ROW<")
		for i := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("`" + strings.ReplaceAll(t.Fields[i].Name, "`", "``") + "` ")
			t.Fields[i].Type.text(b)
		}
		b.WriteByte('>')
	default:
		b.WriteString(rootText[t.Root])
	}
	if t.NotNull {
		b.WriteString(" NOT NULL")
	}
}

// Index returns the position of the field of that name, or -1.
func (r *RowType) Index(name string) int {
	for i := range r.Fields {
		if r.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// IndexID returns the position of the field with that id, or -1.
func (r *RowType) IndexID(id int) int {
	for i := range r.Fields {
		if r.Fields[i].ID == id {
			return i
		}
	}
	return -1
}

// Names returns the field names in order.
func (r *RowType) Names() []string {
	names := make([]string, len(r.Fields))
	for i := range r.Fields {
		names[i] = r.Fields[i].Name
	}
	return names
}

// Project returns the row type of the fields at the given positions.
func (r *RowType) Project(cols []int) *RowType {
	p := &RowType{Fields: make([]Field, len(cols))}
	for i, c := range cols {
		p.Fields[i] = r.Fields[c]
	}
	return p
}

// Equal compares field by field as [Type.Equal] does.
func (r *RowType) Equal(o *RowType) bool {
	return (&Type{Root: Row, Fields: r.Fields}).Equal(&Type{Root: Row, Fields: o.Fields})
}

// AsType returns the type of a nested row with these fields.
func (r *RowType) AsType() *Type { return &Type{Root: Row, Fields: r.Fields} }
