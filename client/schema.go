package client

import sluicev1 "sluice/proto/sluice/v1"

// Schema is the columns that a subscription gets.
type Schema struct {
	ID           int64
	Fields       []Field
	PrimaryKey   []string
	PartitionKey []string
}

// Field is a column, or a member of a ROW.
type Field struct {
	ID   int
	Name string
	Type *Type
}

// Type is the type of a column, member or element.
type Type struct {
	Root      sluicev1.TypeRoot
	NotNull   bool
	Length    int // CHAR, VARCHAR, BINARY, VARBINARY: greatest length; VECTOR: exact length
	Precision int // DECIMAL; digits of the fraction of TIME and TIMESTAMP
	Scale     int // DECIMAL
	Key       *Type
	Elem      *Type
	Fields    []Field
	Text      string // such as "DECIMAL(10, 2) NOT NULL"
}

// Index returns the position of a column, -1 if there is none of that name.
func (s *Schema) Index(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// typeDepthMax bounds how deep types are nested.
const typeDepthMax = 64

func schemaOf(m *sluicev1.Schema) *Schema {
	if m == nil {
		return nil
	}
	return &Schema{ID: m.GetId(), Fields: fieldsOf(m.GetFields(), 0), PrimaryKey: m.GetPrimaryKey(), PartitionKey: m.GetPartitionKey()}
}

func fieldsOf(in []*sluicev1.Field, depth int) []Field {
	out := make([]Field, len(in))
	for i, f := range in {
		out[i] = Field{ID: int(f.GetId()), Name: f.GetName(), Type: typeOf(f.GetType(), depth)}
	}
	return out
}

// typeOf returns an unspecified type for none, which has no values.
func typeOf(m *sluicev1.Type, depth int) *Type {
	if m == nil || depth > typeDepthMax {
		return &Type{}
	}
	t := &Type{
		Root: m.GetRoot(), NotNull: m.GetNotNull(), Length: int(m.GetLength()), Precision: int(m.GetPrecision()), Scale: int(m.GetScale()), Text: m.GetText(),
	}
	switch t.Root {
	case sluicev1.TypeRoot_TYPE_ROOT_MAP:
		t.Key = typeOf(m.GetKey(), depth+1)
		t.Elem = typeOf(m.GetElement(), depth+1)
	case sluicev1.TypeRoot_TYPE_ROOT_ARRAY, sluicev1.TypeRoot_TYPE_ROOT_VECTOR, sluicev1.TypeRoot_TYPE_ROOT_MULTISET:
		t.Elem = typeOf(m.GetElement(), depth+1)
	case sluicev1.TypeRoot_TYPE_ROOT_ROW:
		t.Fields = fieldsOf(m.GetFields(), depth+1)
	}
	return t
}
