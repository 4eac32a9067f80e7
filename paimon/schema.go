package paimon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sluice/paimon/rowdata"
)

// SchemaVersion is the format version that writers put into schema files.
const SchemaVersion = 3

// SystemFieldID is the smallest id of a system field; columns have smaller ones.
const SystemFieldID = 1073741823

// Schema is one version of a table's definition: the content of
// schema/schema-N (format section 2.2). It is immutable once it is in use.
type Schema struct {
	Version        int
	ID             int64
	Fields         []rowdata.Field
	HighestFieldID int // largest field id ever given, nested ones included
	PartitionKeys  []string
	PrimaryKeys    []string // partition keys among them included
	Options        Options
	Comment        *string
	TimeMillis     int64 // when this version was made, epoch milliseconds
}

type schemaJSON struct {
	Version        *int            `json:"version,omitempty"`
	ID             *int64          `json:"id"`
	Fields         []rowdata.Field `json:"fields"`
	HighestFieldID *int            `json:"highestFieldId"`
	PartitionKeys  []string        `json:"partitionKeys"`
	PrimaryKeys    []string        `json:"primaryKeys"`
	Options        optionsJSON     `json:"options"`
	Comment        *string         `json:"comment,omitempty"`
	TimeMillis     *int64          `json:"timeMillis,omitempty"`
}

// optionsJSON reads values that are not strings as their text.
type optionsJSON map[string]string

func (o *optionsJSON) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*o = make(optionsJSON, len(raw))
	for k, v := range raw {
		v = bytes.TrimSpace(v)
		switch {
		case len(v) > 0 && v[0] == '"':
			var s string
			if err := json.Unmarshal(v, &s); err != nil {
				return err
			}
			(*o)[k] = s
		case string(v) == "null":
		case len(v) > 0 && (v[0] == '{' || v[0] == '['):
			return fmt.Errorf("option %s is not a scalar", k)
		default:
			(*o)[k] = string(v)
		}
	}
	return nil
}

func (s *Schema) wire() schemaJSON {
	w := schemaJSON{
		Version: &s.Version, ID: &s.ID, Fields: s.Fields, HighestFieldID: &s.HighestFieldID,
		PartitionKeys: s.PartitionKeys, PrimaryKeys: s.PrimaryKeys, Options: optionsJSON(s.Options),
		Comment: s.Comment, TimeMillis: &s.TimeMillis,
	}
	// The lists and the map are required: never null.
	if w.Fields == nil {
		w.Fields = []rowdata.Field{}
	}
	if w.PartitionKeys == nil {
		w.PartitionKeys = []string{}
	}
	if w.PrimaryKeys == nil {
		w.PrimaryKeys = []string{}
	}
	if w.Options == nil {
		w.Options = optionsJSON{}
	}
	return w
}

// Marshal returns the content of the schema's file, laid out as the original
// does, with options in order of their keys.
func (s *Schema) Marshal() ([]byte, error) { return marshalIndented(s.wire()) }

// MarshalJSON returns the same object without white space.
func (s *Schema) MarshalJSON() ([]byte, error) { return marshalCompact(s.wire()) }

// UnmarshalJSON reads a schema file of any version and adds the options that
// files of older versions imply (format section 2.2). Errors are [ErrCorrupt].
func (s *Schema) UnmarshalJSON(data []byte) error {
	var w schemaJSON
	if err := unmarshalOne(data, &w); err != nil {
		return fmt.Errorf("schema: %w: %w", ErrCorrupt, err)
	}
	got := Schema{Version: 1, Fields: w.Fields, PartitionKeys: w.PartitionKeys, PrimaryKeys: w.PrimaryKeys, Options: Options(w.Options), Comment: w.Comment}
	switch {
	case w.ID == nil:
		return fmt.Errorf("schema: key id is missing: %w", ErrCorrupt)
	case w.Fields == nil:
		return fmt.Errorf("schema: key fields is missing: %w", ErrCorrupt)
	}
	got.ID = *w.ID
	if w.Version != nil {
		got.Version = *w.Version
	}
	if w.TimeMillis != nil {
		got.TimeMillis = *w.TimeMillis
	}
	highest, err := checkFieldIDs(got.Fields)
	if err != nil {
		return fmt.Errorf("schema %d: %w: %w", got.ID, ErrCorrupt, err)
	}
	got.HighestFieldID = highest
	if w.HighestFieldID != nil {
		got.HighestFieldID = max(highest, *w.HighestFieldID)
	}
	if got.Options == nil {
		got.Options = Options{}
	}
	got.impliedOptions()
	for _, keys := range [][]string{got.PartitionKeys, got.PrimaryKeys} {
		for _, k := range keys {
			if got.Index(k) < 0 {
				return fmt.Errorf("schema %d: key column %s is not a field: %w", got.ID, k, ErrCorrupt)
			}
		}
	}
	if err := got.checkCoreOptions(); err != nil {
		return fmt.Errorf("schema %d: %w", got.ID, err)
	}
	*s = got
	return nil
}

// impliedOptions sets what was the default when the file was written.
func (s *Schema) impliedOptions() {
	set := func(key, value string) {
		if _, ok := s.Options[key]; !ok {
			s.Options[key] = value
		}
	}
	if s.Version <= 1 {
		set(OptBucket, "1")
	}
	if s.Version <= 2 {
		set(OptFileFormat, "orc")
	}
}

// ParseSchema reads the content of a schema file.
func ParseSchema(data []byte) (*Schema, error) {
	s := new(Schema)
	if err := s.UnmarshalJSON(bytes.TrimSpace(data)); err != nil {
		return nil, err
	}
	return s, nil
}

// checkFieldIDs returns the largest id of the whole tree. Ids must be unique in
// it and below those of system fields.
func checkFieldIDs(fields []rowdata.Field) (highest int, err error) {
	highest = -1
	seen := make(map[int]string)
	err = walkFields(fields, func(f *rowdata.Field) error {
		switch other, dup := seen[f.ID]; {
		case dup:
			return fmt.Errorf("fields %s and %s have the same id %d", other, f.Name, f.ID)
		case f.ID < 0 || f.ID >= SystemFieldID:
			return fmt.Errorf("field %s has id %d, want 0 to %d", f.Name, f.ID, SystemFieldID-1)
		case f.Type == nil:
			return fmt.Errorf("field %s has no type", f.Name)
		}
		seen[f.ID] = f.Name
		highest = max(highest, f.ID)
		return nil
	})
	return highest, err
}

// walkFields calls fn for each field of the tree, parents first.
func walkFields(fields []rowdata.Field, fn func(*rowdata.Field) error) error {
	for i := range fields {
		if err := fn(&fields[i]); err != nil {
			return err
		}
		if err := walkType(fields[i].Type, fn); err != nil {
			return err
		}
	}
	return nil
}

func walkType(t *rowdata.Type, fn func(*rowdata.Field) error) error {
	if t == nil {
		return nil
	}
	if err := walkFields(t.Fields, fn); err != nil {
		return err
	}
	if err := walkType(t.Key, fn); err != nil {
		return err
	}
	return walkType(t.Elem, fn)
}

// clone returns a copy whose lists and options may be changed. Types are shared.
func (s *Schema) clone() *Schema {
	c := *s
	c.Fields = slices.Clone(s.Fields)
	c.PartitionKeys = slices.Clone(s.PartitionKeys)
	c.PrimaryKeys = slices.Clone(s.PrimaryKeys)
	c.Options = maps.Clone(s.Options)
	if c.Options == nil {
		c.Options = Options{}
	}
	return &c
}
