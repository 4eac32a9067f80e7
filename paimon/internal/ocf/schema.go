package ocf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of what a schema from outside may ask for.
const (
	SchemaMaxBytes = 16 << 20
	schemaMaxDepth = 64
)

// ErrCorrupt says that bytes are no Avro file, or a damaged one. Errors about
// content wrap it.
var ErrCorrupt = errors.New("corrupt avro data")

func corrupt(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrCorrupt)...)
}

// Kind is the kind of an Avro type.
type Kind uint8

// The Avro types.
const (
	Null Kind = iota + 1
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Record
	Enum
	Array
	Map
	Union
	Fixed
)

var kindText = [...]string{"", "null", "boolean", "int", "long", "float", "double", "bytes", "string", "record", "enum", "array", "map", "union", "fixed"}

// String returns the name of the type in a schema.
func (k Kind) String() string {
	if int(k) < len(kindText) {
		return kindText[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Schema is a type of a file. Do not change it: it may be shared, and it may
// contain itself.
type Schema struct {
	Kind Kind
	Name string // full name of a record, enum or fixed

	LogicalType string // "" if none
	Precision   int    // of the logical type decimal
	Scale       int

	Fields   []Field   // Record, in file order
	Elem     *Schema   // Array: items; Map: values
	Branches []*Schema // Union
	Symbols  []string  // Enum
	Size     int       // Fixed, bytes

	Props map[string]json.RawMessage // attributes this package does not know
}

// Field is a field of a record.
type Field struct {
	Name  string
	Type  *Schema
	Props map[string]json.RawMessage
}

// Field returns the field of that name, or nil.
func (s *Schema) Field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// Optional takes apart a union of null and one other type: it returns that type
// and the index of null. Any other type is returned as it is, with -1.
func (s *Schema) Optional() (value *Schema, null int) {
	if s.Kind == Union && len(s.Branches) == 2 {
		for i, b := range s.Branches {
			if b.Kind == Null {
				return s.Branches[1-i], i
			}
		}
	}
	return s, -1
}

// ParseSchema reads the JSON form of a schema. The error wraps [ErrCorrupt].
func ParseSchema(text []byte) (*Schema, error) {
	if len(text) > SchemaMaxBytes {
		return nil, corrupt("avro schema of %d bytes, %d are allowed", len(text), SchemaMaxBytes)
	}
	p := schemaParser{named: map[string]*Schema{}}
	s, err := p.parse(text, "", 0)
	if err != nil {
		return nil, err
	}
	return s, nil
}

type schemaParser struct {
	named map[string]*Schema
}

func (p *schemaParser) parse(text []byte, space string, depth int) (*Schema, error) {
	if depth > schemaMaxDepth {
		return nil, corrupt("avro schema is nested deeper than %d", schemaMaxDepth)
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil, corrupt("avro schema is empty")
	}
	switch text[0] {
	case '"':
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, corrupt("avro schema: %v", err)
		}
		return p.byName(name, space)
	case '[':
		var branches []json.RawMessage
		if err := json.Unmarshal(text, &branches); err != nil {
			return nil, corrupt("avro schema: %v", err)
		}
		s := &Schema{Kind: Union}
		for _, b := range branches {
			branch, err := p.parse(b, space, depth+1)
			if err != nil {
				return nil, err
			}
			s.Branches = append(s.Branches, branch)
		}
		if len(s.Branches) == 0 {
			return nil, corrupt("avro schema has an empty union")
		}
		return s, nil
	case '{':
		return p.object(text, space, depth)
	}
	return nil, corrupt("avro schema begins with %q", text[0])
}

// byName returns a primitive type, or a type that was defined before.
func (p *schemaParser) byName(name, space string) (*Schema, error) {
	if s := p.named[qualify(name, space)]; s != nil {
		return s, nil
	}
	if s := p.named[name]; s != nil {
		return s, nil
	}
	if k := slices.Index(kindText[:], name); k >= int(Null) && k <= int(String) {
		return &Schema{Kind: Kind(k)}, nil
	}
	return nil, corrupt("avro schema names the unknown type %q", name)
}

func qualify(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}

// attributes are those of a type that this package understands.
type attributes struct {
	name, namespace, logicalType string
	precision, scale, size       int
	symbols                      []string
}

func readAttributes(attrs map[string]json.RawMessage) (o attributes, err error) {
	for key, to := range map[string]any{
		"name": &o.name, "namespace": &o.namespace, "logicalType": &o.logicalType, "precision": &o.precision,
		"scale": &o.scale, "size": &o.size, "symbols": &o.symbols,
	} {
		if raw, ok := attrs[key]; ok {
			if err := json.Unmarshal(raw, to); err != nil {
				return o, corrupt("avro schema: %s: %v", key, err)
			}
		}
	}
	return o, nil
}

// object reads a type that is written as a JSON object.
func (p *schemaParser) object(text []byte, space string, depth int) (*Schema, error) {
	var attrs map[string]json.RawMessage
	if err := json.Unmarshal(text, &attrs); err != nil {
		return nil, corrupt("avro schema: %v", err)
	}
	o, err := readAttributes(attrs)
	if err != nil {
		return nil, err
	}
	var typeName string
	if err := json.Unmarshal(attrs["type"], &typeName); err != nil {
		// {"type": {...}} and {"type": [...]} wrap a type.
		return p.parse(attrs["type"], space, depth+1)
	}
	s := &Schema{LogicalType: o.logicalType, Precision: o.precision, Scale: o.scale}
	if o.namespace != "" {
		space = o.namespace
	} else if i := strings.LastIndexByte(o.name, '.'); i >= 0 {
		space = o.name[:i]
	}
	define := func(kind Kind) error {
		s.Kind, s.Name = kind, qualify(o.name, space)
		if o.name == "" {
			return corrupt("avro schema has a %s without a name", kind)
		}
		if p.named[s.Name] != nil {
			return corrupt("avro schema defines %q twice", s.Name)
		}
		p.named[s.Name] = s
		return nil
	}
	switch typeName {
	case "record", "error":
		if err = define(Record); err == nil {
			err = p.fields(s, attrs["fields"], space, depth)
		}
	case "enum":
		s.Symbols = o.symbols
		err = define(Enum)
	case "fixed":
		s.Size = o.size
		if err = define(Fixed); err == nil && s.Size < 0 {
			err = corrupt("avro schema has a fixed of %d bytes", s.Size)
		}
	case "array":
		s.Kind = Array
		s.Elem, err = p.parse(attrs["items"], space, depth+1)
	case "map":
		s.Kind = Map
		s.Elem, err = p.parse(attrs["values"], space, depth+1)
	default:
		var base *Schema
		if base, err = p.byName(typeName, space); err == nil {
			if base.Kind > String { // a reference has no attributes of its own
				return base, nil
			}
			s.Kind = base.Kind
		}
	}
	if err != nil {
		return nil, err
	}
	s.Props = rest(attrs, "type", "name", "namespace", "logicalType", "precision", "scale", "size", "symbols", "fields", "items", "values", "doc", "aliases")
	return s, nil
}

func (p *schemaParser) fields(s *Schema, text []byte, space string, depth int) error {
	var fields []map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return corrupt("avro schema: fields of %q: %v", s.Name, err)
	}
	for _, attrs := range fields {
		var f Field
		if err := json.Unmarshal(attrs["name"], &f.Name); err != nil || f.Name == "" {
			return corrupt("avro schema: %q has a field without a name", s.Name)
		}
		if s.Field(f.Name) != nil {
			return corrupt("avro schema: %q has the field %q twice", s.Name, f.Name)
		}
		var err error
		if f.Type, err = p.parse(attrs["type"], space, depth+1); err != nil {
			return err
		}
		f.Props = rest(attrs, "name", "type", "default", "doc", "order", "aliases")
		s.Fields = append(s.Fields, f)
	}
	return nil
}

// rest returns the attributes without those named.
func rest(attrs map[string]json.RawMessage, known ...string) map[string]json.RawMessage {
	for _, k := range known {
		delete(attrs, k)
	}
	if len(attrs) == 0 {
		return nil
	}
	return attrs
}
