package rowdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// typeObject is a constructed type in a schema file (format section 2.3).
type typeObject struct {
	Type    string          `json:"type"`
	Element json.RawMessage `json:"element,omitempty"`
	Key     json.RawMessage `json:"key,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Fields  []fieldObject   `json:"fields,omitempty"`
	Length  int             `json:"length,omitempty"`
}

// fieldObject is a field in a schema file.
type fieldObject struct {
	ID          int             `json:"id"`
	Name        string          `json:"name"`
	Type        json.RawMessage `json:"type"`
	Description string          `json:"description,omitempty"`
	Default     *string         `json:"defaultValue,omitempty"`
}

// MarshalJSON returns the type as schema files have it: a string for atomic
// types, an object for constructed ones.
func (t *Type) MarshalJSON() ([]byte, error) {
	o := typeObject{}
	var err error
	switch t.Root {
	default:
		return json.Marshal(t.String())
	case Row:
		o.Type = "ROW"
		// A row without fields still has the key.
		if len(t.Fields) == 0 {
			return json.Marshal(map[string]any{"type": withNull("ROW", t), "fields": []Field{}})
		}
		o.Fields = make([]fieldObject, len(t.Fields))
		for i := range t.Fields {
			if o.Fields[i], err = t.Fields[i].object(); err != nil {
				return nil, err
			}
		}
	case Array, Multiset, Vec:
		o.Type = map[TypeRoot]string{Array: "ARRAY", Multiset: "MULTISET", Vec: "VECTOR"}[t.Root]
		if t.Root == Vec {
			o.Length = t.Length
		}
		if o.Element, err = t.Elem.MarshalJSON(); err != nil {
			return nil, err
		}
	case Map:
		o.Type = "MAP"
		if o.Key, err = t.Key.MarshalJSON(); err != nil {
			return nil, err
		}
		if o.Value, err = t.Elem.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	o.Type = withNull(o.Type, t)
	return json.Marshal(o)
}

func withNull(s string, t *Type) string {
	if t.NotNull {
		return s + " NOT NULL"
	}
	return s
}

// UnmarshalJSON reads a type as schema files have it.
func (t *Type) UnmarshalJSON(b []byte) error {
	p, err := typeOfJSON(b, 0)
	if err != nil {
		return err
	}
	*t = *p
	return nil
}

func typeOfJSON(b []byte, depth int) (*Type, error) {
	if depth >= typeDepthMax {
		return nil, fmt.Errorf("type is nested deeper than %d", typeDepthMax)
	}
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return nil, err
		}
		return ParseType(s)
	}
	var o typeObject
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, err
	}
	// The nullability of constructed types is a matter of containing the words.
	name, upper := "", strings.ToUpper(o.Type)
	t := &Type{NotNull: strings.Contains(upper, "NOT NULL")}
	if f := strings.Fields(upper); len(f) > 0 {
		name = f[0]
	}
	member := func(what string, raw json.RawMessage) (*Type, error) {
		if len(raw) == 0 {
			return nil, fmt.Errorf("type %s has no %q", o.Type, what)
		}
		m, err := typeOfJSON(raw, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", what, name, err)
		}
		return m, nil
	}
	var err error
	switch name {
	case "ARRAY", "MULTISET", "VECTOR":
		t.Root = map[string]TypeRoot{"ARRAY": Array, "MULTISET": Multiset, "VECTOR": Vec}[name]
		if t.Elem, err = member("element", o.Element); err != nil || t.Root != Vec {
			return t, err
		}
		if t.Length = o.Length; t.Length < 1 {
			return nil, fmt.Errorf("type %s has length %d", o.Type, o.Length)
		}
		return t, checkVector(t)
	case "MAP":
		t.Root = Map
		if t.Key, err = member("key", o.Key); err != nil {
			return nil, err
		}
		t.Elem, err = member("value", o.Value)
		return t, err
	case "ROW":
		t.Root = Row
		t.Fields = make([]Field, len(o.Fields))
		for i := range o.Fields {
			if err := t.Fields[i].fromObject(&o.Fields[i], depth+1); err != nil {
				return nil, err
			}
		}
		return t, nil
	}
	return nil, fmt.Errorf("there is no type %q", o.Type)
}

func (f *Field) object() (fieldObject, error) {
	raw, err := f.Type.MarshalJSON()
	return fieldObject{ID: f.ID, Name: f.Name, Type: raw, Description: f.Description, Default: f.Default}, err
}

func (f *Field) fromObject(o *fieldObject, depth int) error {
	if len(o.Type) == 0 {
		return fmt.Errorf("field %q has no type", o.Name)
	}
	t, err := typeOfJSON(o.Type, depth)
	if err != nil {
		return fmt.Errorf("field %q: %w", o.Name, err)
	}
	*f = Field{ID: o.ID, Name: o.Name, Type: t, Description: o.Description, Default: o.Default}
	return nil
}

// MarshalJSON returns the field as schema files have it.
func (f Field) MarshalJSON() ([]byte, error) {
	o, err := f.object()
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// UnmarshalJSON reads a field as schema files have it.
func (f *Field) UnmarshalJSON(b []byte) error {
	var o fieldObject
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	return f.fromObject(&o, 0)
}

// MarshalJSON returns the list of fields of a schema file.
func (r RowType) MarshalJSON() ([]byte, error) {
	if r.Fields == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(r.Fields)
}

// UnmarshalJSON reads the list of fields of a schema file.
func (r *RowType) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &r.Fields) }
