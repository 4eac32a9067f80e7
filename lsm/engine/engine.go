package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/lsm/aggregate"
	"sluice/lsm/merge"
	"sluice/paimon"
)

// For returns the merge engine of a table with a primary key, for whoever writes
// records: a number that its column cannot hold is an error. Errors of the options
// are [*paimon.ValidationError] and [*paimon.OptionError]; an engine that is not
// known is an [*UnsupportedError].
func For(s *paimon.Schema) (merge.Engine, error) {
	cols := make([]int, len(s.Fields))
	for i := range cols {
		cols[i] = i
	}
	return build(s, cols, false)
}

// ForReading is [For] for whoever merges on read what others wrote, in records that
// have the columns cols of the schema, in that order: sums and products of decimals
// that are too large are what the original makes of them. cols must include what
// [Needs] returns of it.
func ForReading(s *paimon.Schema, cols []int) (merge.Engine, error) { return build(s, cols, true) }

// Needs returns the columns without which the columns cols of records cannot be
// merged: the sequence columns of their groups, and those of groups that can remove
// the whole row.
func Needs(s *paimon.Schema, cols []int) []int {
	if s.MergeEngine() != paimon.PartialUpdate {
		return nil
	}
	onGroup := s.Options.List(paimon.OptPartialUpdateRemoveOnGroup)
	var out []int
	for _, g := range s.SequenceGroups() {
		needed := slices.ContainsFunc(g.By, func(n string) bool { return slices.Contains(onGroup, n) })
		for _, c := range append(s.Positions(g.Columns), s.Positions(g.By)...) {
			needed = needed || slices.Contains(cols, c)
		}
		if needed {
			out = append(out, s.Positions(g.By)...)
		}
	}
	return out
}

func build(s *paimon.Schema, cols []int, reading bool) (merge.Engine, error) {
	ignore, err := s.Options.Bool(paimon.OptIgnoreDelete)
	if err != nil {
		return merge.Engine{}, err
	}
	name := string(s.MergeEngine())
	switch s.MergeEngine() {
	case paimon.Deduplicate:
		return merge.Engine{Name: name, Keep: merge.Deduplicate{IgnoreDelete: ignore}}, nil
	case paimon.FirstRow:
		return merge.Engine{Name: name, Keep: merge.FirstRow{IgnoreDelete: ignore}}, nil
	case paimon.PartialUpdate:
		return partialUpdate(s, cols, ignore, reading)
	case paimon.Aggregation:
		return aggregation(s, cols, reading)
	}
	return merge.Engine{}, &UnsupportedError{Engine: name}
}

func aggregation(s *paimon.Schema, cols []int, reading bool) (merge.Engine, error) {
	remove, err := s.Options.Bool(paimon.OptAggregationRemoveOnDelete)
	if err != nil {
		return merge.Engine{}, err
	}
	if err := s.CheckRetracts(); err != nil {
		return merge.Engine{}, err
	}
	specs, err := columnSpecs(s, cols, reading)
	if err != nil {
		return merge.Engine{}, err
	}
	e, err := merge.Aggregation{Type: s.RowType().Project(cols), Columns: specs, RemoveOnDelete: remove}.Engine()
	e.Shadows = needsLookup(s)
	return e, err
}

func partialUpdate(s *paimon.Schema, cols []int, ignore, reading bool) (merge.Engine, error) {
	remove, err := s.Options.Bool(paimon.OptPartialUpdateRemoveOnDelete)
	if err != nil {
		return merge.Engine{}, err
	}
	specs, err := columnSpecs(s, cols, reading)
	if err != nil {
		return merge.Engine{}, err
	}
	e, err := merge.PartialUpdate{
		Type: s.RowType().Project(cols), Columns: specs, Groups: groups(s, cols), IgnoreDelete: ignore, RemoveOnDelete: remove,
	}.Engine()
	e.Shadows = needsLookup(s)
	return e, err
}

// needsLookup tells whether compactions look up what they replace (semantics
// section 2.2).
func needsLookup(s *paimon.Schema) bool {
	force, _ := s.Options.Bool(paimon.OptForceLookup)
	return force || s.ChangelogProducer() == paimon.ProducerLookup || s.DeletionVectors()
}

// groups returns the sequence groups of the columns. A group of which nothing is
// there is kept without columns: it makes the table one with groups.
func groups(s *paimon.Schema, cols []int) []merge.SequenceGroup {
	onGroup := s.Options.List(paimon.OptPartialUpdateRemoveOnGroup)
	var out []merge.SequenceGroup
	for _, g := range s.SequenceGroups() {
		group := merge.SequenceGroup{Columns: positions(cols, s.Positions(g.Columns))}
		if by := positions(cols, s.Positions(g.By)); len(by) == len(g.By) {
			group.By = by
			group.Remove = slices.ContainsFunc(g.By, func(n string) bool { return slices.Contains(onGroup, n) })
		}
		out = append(out, group)
	}
	return out
}

// positions returns where columns of the schema are among cols; those that are not
// are left out.
func positions(cols, want []int) []int {
	var out []int
	for _, c := range want {
		if at := slices.Index(cols, c); at >= 0 {
			out = append(out, at)
		}
	}
	return out
}

// columnSpecs reads the options fields.<column>.* of the columns.
func columnSpecs(s *paimon.Schema, cols []int, reading bool) ([]*aggregate.Spec, error) {
	specs := make([]*aggregate.Spec, len(cols))
	for at, c := range cols {
		f := s.Fields[c]
		function := s.AggregateFunction(f.Name)
		if function == "" {
			continue
		}
		spec, err := columnSpec(s, f.Name, function)
		if err != nil {
			return nil, err
		}
		spec.Type, spec.Lenient = f.Type, reading
		specs[at] = spec
	}
	return specs, nil
}

func columnSpec(s *paimon.Schema, column, function string) (*aggregate.Spec, error) {
	spec := &aggregate.Spec{Function: function, Delimiter: ",", CountLimit: -1, NullKeys: aggregate.NullKeysMerge}
	if function == "primary-key" {
		return spec, nil
	}
	r := columnReader{schema: s, column: column}
	spec.IgnoreRetract, spec.Distinct = r.bool("ignore-retract"), r.bool("distinct")
	if d, ok := s.ColumnOption(column, "list-agg-delimiter"); ok {
		spec.Delimiter = d
	}
	spec.NestedKey, spec.NestedSequence = r.list("nested-key"), r.list("nested-sequence-field")
	spec.TimeField, _ = s.ColumnOption(column, "ts-field")
	spec.CountLimit = r.limit("count-limit")
	if v, ok := s.ColumnOption(column, "nested-key-null-strategy"); ok {
		spec.NullKeys = aggregate.NullKeys(strings.ToLower(v))
		if !slices.Contains([]aggregate.NullKeys{aggregate.NullKeysMerge, aggregate.NullKeysIgnore, aggregate.NullKeysError}, spec.NullKeys) {
			r.fail("nested-key-null-strategy", v, "merge, ignore or error")
		}
	}
	return spec, r.err
}

// columnReader reads the options of a column and keeps the first error.
type columnReader struct {
	schema *paimon.Schema
	column string
	err    error
}

func (r *columnReader) fail(name, value, want string) {
	if r.err == nil {
		r.err = &paimon.OptionError{Key: "fields." + r.column + "." + name, Value: value, Want: want}
	}
}

func (r *columnReader) bool(name string) bool {
	v, ok := r.schema.ColumnOption(r.column, name)
	if !ok {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "true":
		return true
	case "false":
		return false
	}
	r.fail(name, v, "true or false")
	return false
}

func (r *columnReader) list(name string) []string {
	v, _ := r.schema.ColumnOption(r.column, name)
	var out []string
	for n := range strings.SplitSeq(v, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// limit returns a number, or -1 if it is not set.
func (r *columnReader) limit(name string) int {
	v, ok := r.schema.ColumnOption(r.column, name)
	if !ok {
		return -1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
	if err != nil || n < 0 {
		r.fail(name, v, "a number of elements")
	}
	return int(n)
}

// UnsupportedError says that a merge engine is not known.
type UnsupportedError struct {
	Engine string // as the option merge-engine names it
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("merge engine %s is not supported", e.Engine)
}
