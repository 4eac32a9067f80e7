package paimon

import (
	"slices"
	"strings"
)

// SequenceGroup is an option fields.<by>.sequence-group of engine partial-update.
type SequenceGroup struct {
	By      []string // sequence columns, the most significant first
	Columns []string // columns that they protect
}

// SequenceGroups returns the sequence groups, by the names of their options.
func (s *Schema) SequenceGroups() []SequenceGroup {
	var groups []SequenceGroup
	for _, g := range s.Options.sequenceGroups() {
		groups = append(groups, SequenceGroup{By: g.by, Columns: g.columns})
	}
	return groups
}

// ColumnOption returns the option fields.<column>.<name>.
func (s *Schema) ColumnOption(column, name string) (value string, ok bool) {
	return s.Options.Lookup(fieldsPrefix + column + "." + name)
}

// AggregateFunction returns the function of a column as the engines use it
// (semantics section 3.5): "" for none, which only partial-update has.
func (s *Schema) AggregateFunction(column string) string {
	if slices.Contains(s.PrimaryKeys, column) {
		return "primary-key"
	}
	partial := s.MergeEngine() == PartialUpdate
	if partial {
		for _, g := range s.Options.sequenceGroups() {
			if slices.Contains(g.by, column) {
				return ""
			}
		}
	} else if slices.Contains(s.Options.List(OptSequenceField), column) {
		return "last_value"
	}
	for _, key := range []string{fieldsPrefix + column + suffixAggregate, OptFieldsDefaultAggregate} {
		if f := strings.TrimSpace(s.Options.Text(key)); f != "" {
			return f
		}
	}
	if partial {
		return ""
	}
	return "last_non_null_value"
}
