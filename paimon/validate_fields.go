package paimon

import (
	"slices"
	"strconv"
	"strings"

	"sluice/paimon/rowdata"
)

// sequenceGroup is an option fields.<by>.sequence-group = <columns>.
type sequenceGroup struct {
	key     string
	by      []string // sequence columns
	columns []string // protected columns
}

// sequenceGroups returns the sequence groups in order of their keys.
func (o Options) sequenceGroups() []sequenceGroup {
	var groups []sequenceGroup
	for _, key := range sortedKeys(o) {
		names, suffix, ok := cutFieldsOption(key)
		if !ok || suffix != strings.TrimPrefix(suffixSequenceGroup, ".") {
			continue
		}
		g := sequenceGroup{key: key, by: splitNames(names), columns: splitNames(o[key])}
		if len(g.columns) == 0 {
			g.columns = []string{""} // which is no column
		}
		groups = append(groups, g)
	}
	return groups
}

// checkFieldOptions: options that begin with fields. name columns that exist.
func (s *Schema) checkFieldOptions() error {
	for _, key := range sortedKeys(s.Options) {
		if !strings.HasPrefix(key, fieldsPrefix) || key == OptFieldsDefaultAggregate {
			continue
		}
		names, _, ok := cutFieldsOption(key)
		if !ok {
			// An option that is not known may be for anything; only its column counts.
			names, _, _ = strings.Cut(strings.TrimPrefix(key, fieldsPrefix), ".")
		}
		for n := range strings.SplitSeq(names, ",") {
			n = strings.TrimSpace(n)
			if s.Index(n) < 0 {
				return refuseOption(key, "Field %s can not be found in table schema.", n)
			}
		}
	}
	return nil
}

// checkSequenceField holds the rules of semantics section 1.5.
func (s *Schema) checkSequenceField() error {
	names := s.Options.List(OptSequenceField)
	if len(names) == 0 && s.Options.Has(OptSequenceField) {
		names = []string{""}
	}
	for i, n := range names {
		switch {
		case s.Index(n) < 0:
			return refuseOption(OptSequenceField, "Sequence field: '%s' can not be found in table schema.", n)
		case s.Options.Has(fieldsPrefix + n + suffixAggregate):
			return refusePair(OptSequenceField, fieldsPrefix+n+suffixAggregate, "Should not define aggregation on sequence field: '%s'.", n)
		case slices.Contains(names[:i], n):
			return refuseOption(OptSequenceField, "Sequence field '%s' is defined repeatedly.", n)
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case s.MergeEngine() == FirstRow:
		return refusePair(OptSequenceField, OptMergeEngine, "Do not support use sequence field on FIRST_ROW merge engine.")
	case s.CrossPartition():
		return refuseOption(OptSequenceField, "You can not use sequence.field in cross partition update case (Primary key constraint '%s' not include all partition fields '%s').",
			namesText(s.PrimaryKeys), namesText(s.PartitionKeys))
	}
	return nil
}

// checkSequenceGroups holds the rules of semantics section 3.4.
func (s *Schema) checkSequenceGroups() error {
	if s.MergeEngine() != PartialUpdate {
		return nil
	}
	groupOf := make(map[string]sequenceGroup) // protected column to group
	for _, g := range s.Options.sequenceGroups() {
		for _, n := range slices.Concat(g.by, g.columns) {
			switch {
			case s.Index(n) < 0:
				return refuseOption(g.key, "Field %s can not be found in table schema.", n)
			case slices.Contains(s.PrimaryKeys, n) && slices.Contains(g.columns, n):
				return refuseOption(g.key, "The sequence group of %s contains the primary key column %s.", strings.Join(g.by, ","), n)
			}
		}
		for _, n := range g.columns {
			if other, dup := groupOf[n]; dup {
				return refusePair(g.key, other.key, "Field %s is defined repeatedly by multiple groups: %s.", n, namesText([]string{strings.Join(other.by, ","), strings.Join(g.by, ",")}))
			}
			groupOf[n] = g
		}
	}
	return nil
}

// checkAggregates: functions exist, fit the type of their column and, for
// partial-update, stand in a sequence group (semantics sections 3.4 and 3.5).
func (s *Schema) checkAggregates() error {
	engine := s.MergeEngine()
	if engine != Aggregation && engine != PartialUpdate || !s.HasPrimaryKey() {
		return nil
	}
	sequence := s.Options.List(OptSequenceField)
	var protected []string
	for _, g := range s.Options.sequenceGroups() {
		protected = append(protected, g.columns...)
		sequence = append(sequence, g.by...)
	}
	byDefault := s.Options.Text(OptFieldsDefaultAggregate)
	for i := range s.Fields {
		f := &s.Fields[i]
		key := fieldsPrefix + f.Name + suffixAggregate
		function := s.Options.Text(key)
		if slices.Contains(s.PrimaryKeys, f.Name) || slices.Contains(sequence, f.Name) {
			// The function is not used, but must be one.
			if function != "" && !slices.Contains(aggregateFunctions, function) {
				return unknownAggregate(key, function)
			}
			continue
		}
		if function == "" {
			key, function = OptFieldsDefaultAggregate, byDefault
		}
		if function == "" {
			continue
		}
		if engine == PartialUpdate && function != "last_non_null_value" && !slices.Contains(protected, f.Name) {
			return refuseOption(key, "Must use sequence group for aggregation functions but not found for field %s.", f.Name)
		}
		if err := s.checkAggregate(key, function, f); err != nil {
			return err
		}
	}
	return nil
}

// aggregateFunctions are the functions of semantics section 3.5.
var aggregateFunctions = []string{
	"sum", "product", "min", "max", "last_value", "last_non_null_value", "first_value", "first_non_null_value", "first_not_null_value",
	"listagg", "bool_and", "bool_or", "collect", "merge_map", "merge_map_with_keytime", "nested_update", "nested_partial_update",
	"rbm32", "rbm64", "hll_sketch", "theta_sketch", "primary-key",
}

func unknownAggregate(key, function string) error {
	return refuseOption(key, "Could not find any aggregate function for identifier '%s'; want one of %s.", function, strings.Join(aggregateFunctions, ", "))
}

// checkAggregate: the function exists and takes values of the column's type.
func (s *Schema) checkAggregate(key, function string, f *rowdata.Field) error {
	if !slices.Contains(aggregateFunctions, function) {
		return unknownAggregate(key, function)
	}
	want := ""
	t := f.Type
	switch function {
	case "sum", "product":
		if !isNumeric(t) {
			want = "a numeric type"
		}
	case "min", "max":
		if t.IsNested() || t.Root == rowdata.Blob {
			want = "a type with an order"
		}
	case "listagg":
		if t.Root != rowdata.Varchar || t.Length != rowdata.MaxLength {
			want = "STRING"
		}
	case "bool_and", "bool_or":
		if t.Root != rowdata.Boolean {
			want = "BOOLEAN"
		}
	case "collect":
		if t.Root != rowdata.Array {
			want = "ARRAY"
		}
	case "merge_map":
		if t.Root != rowdata.Map {
			want = "MAP"
		}
	case "merge_map_with_keytime":
		if t.Root != rowdata.Map || t.Elem.Root != rowdata.Row || len(t.Elem.Fields) < 2 {
			want = "MAP with values ROW of at least two fields"
		}
	case "nested_update", "nested_partial_update":
		return s.checkNestedAggregate(key, function, f)
	case "rbm32", "rbm64", "hll_sketch", "theta_sketch":
		if t.Root != rowdata.Varbinary && t.Root != rowdata.Binary {
			want = "VARBINARY"
		}
	}
	if function == "merge_map_with_keytime" && want == "" {
		if err := s.checkNestedFields(f.Name, "ts-field", t.Elem); err != nil {
			return err
		}
	}
	if want != "" {
		return refuseOption(key, "Data type for %s column %s must be %s but was '%s'.", function, f.Name, want, t)
	}
	return nil
}

func (s *Schema) checkNestedAggregate(key, function string, f *rowdata.Field) error {
	t := f.Type
	if t.Root != rowdata.Array || t.Elem.Root != rowdata.Row {
		return refuseOption(key, "Data type for %s column %s must be ARRAY<ROW> but was '%s'.", function, f.Name, t)
	}
	for _, option := range []string{"nested-key", "nested-sequence-field"} {
		if err := s.checkNestedFields(f.Name, option, t.Elem); err != nil {
			return err
		}
	}
	nestedKey := fieldsPrefix + f.Name + ".nested-key"
	keys := s.Options.List(nestedKey)
	if v, ok := s.ColumnOption(f.Name, "nested-sequence-field"); ok && v != "" && len(keys) == 0 {
		return refusePair(fieldsPrefix+f.Name+".nested-sequence-field", nestedKey, "A nested sequence field of column %s needs a nested key.", f.Name)
	}
	if v, ok := s.ColumnOption(f.Name, "nested-key-null-strategy"); ok && !slices.Contains(nullKeyStrategies, strings.ToLower(v)) {
		return &OptionError{Key: fieldsPrefix + f.Name + ".nested-key-null-strategy", Value: v, Want: strings.Join(nullKeyStrategies, ", ")}
	}
	if v, ok := s.ColumnOption(f.Name, "count-limit"); ok {
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32); err != nil || n < 0 {
			return &OptionError{Key: fieldsPrefix + f.Name + ".count-limit", Value: v, Want: "a number of elements"}
		}
	}
	if function == "nested_partial_update" && len(keys) == 0 {
		return refusePair(key, nestedKey, "Aggregate function nested_partial_update of column %s needs %s.", f.Name, nestedKey)
	}
	return nil
}

var nullKeyStrategies = []string{"merge", "ignore", "error"}

// checkNestedFields: the fields that an option of a column names are members of its
// rows.
func (s *Schema) checkNestedFields(column, option string, row *rowdata.Type) error {
	key := fieldsPrefix + column + "." + option
	for _, k := range s.Options.List(key) {
		if indexField(row.Fields, k) < 0 {
			return refuseOption(key, "Field %s of %s is not a member of %s.", k, option, row)
		}
	}
	return nil
}

func isNumeric(t *rowdata.Type) bool {
	switch t.Root {
	case rowdata.TinyInt, rowdata.SmallInt, rowdata.Int, rowdata.BigInt, rowdata.Float, rowdata.Double, rowdata.Decimal:
		return true
	}
	return false
}
