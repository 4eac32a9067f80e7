package paimon

import (
	"slices"
	"strings"

	"sluice/paimon/rowdata"
)

// Names that columns may not have (format section 2.4).
const keyColumnPrefix = "_KEY_"

var systemColumns = []string{"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"}

// namesText lists names as the original does: [a, b].
func namesText(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

func duplicates(names []string) []string {
	var dup []string
	for i, n := range names {
		if slices.Contains(names[:i], n) && !slices.Contains(dup, n) {
			dup = append(dup, n)
		}
	}
	return dup
}

func containsAll(names, of []string) bool {
	return !slices.ContainsFunc(of, func(n string) bool { return !slices.Contains(names, n) })
}

// checkNames checks names of columns and keys against each other.
func (s *Schema) checkNames() error {
	names := s.RowType().Names()
	if len(names) == 0 {
		return refuse("A table needs at least one column.")
	}
	if dup := duplicates(names); dup != nil {
		return refuseColumn(dup[0], "Table column %s must not contain duplicate fields. Found: %s", namesText(names), namesText(dup))
	}
	if dup := duplicates(s.PartitionKeys); dup != nil {
		return refuseColumn(dup[0], "Partition key constraint %s must not contain duplicate columns. Found: %s", namesText(s.PartitionKeys), namesText(dup))
	}
	if !containsAll(names, s.PartitionKeys) {
		return refuse("Table column %s should include all partition fields %s", namesText(names), namesText(s.PartitionKeys))
	}
	if dup := duplicates(s.PrimaryKeys); dup != nil {
		return refuseColumn(dup[0], "Primary key constraint %s must not contain duplicate columns. Found: %s", namesText(s.PrimaryKeys), namesText(dup))
	}
	if !containsAll(names, s.PrimaryKeys) {
		return refuse("Table column %s should include all primary key constraint %s", namesText(names), namesText(s.PrimaryKeys))
	}
	if s.HasPrimaryKey() && len(s.TrimmedPrimaryKeys()) == 0 {
		return refuse("Primary key constraint %s should not be same with partition fields %s, this will result in only one record in a partition",
			namesText(s.PrimaryKeys), namesText(s.PartitionKeys))
	}
	for _, n := range names {
		switch {
		case slices.Contains(systemColumns, n):
			return refuseColumn(n, "Field name[%s] in schema cannot be exist in %s", n, namesText(systemColumns))
		case strings.HasPrefix(n, keyColumnPrefix):
			return refuseColumn(n, "Field name[%s] in schema cannot start with [%s]", n, keyColumnPrefix)
		case n == "":
			return refuse("A column has an empty name.")
		}
	}
	return walkFields(s.Fields, func(f *rowdata.Field) error {
		if dup := duplicates((&rowdata.RowType{Fields: f.Type.Fields}).Names()); dup != nil {
			return refuseColumn(f.Name, "Row %s must not contain duplicate fields. Found: %s", f.Name, namesText(dup))
		}
		return nil
	})
}

// Validate checks the definition as a whole: keys, options, and how they go
// together (semantics sections 1.5 and 3.6, format sections 7.1 and 13). The
// error is a [*ValidationError] or an [*OptionError].
func (s *Schema) Validate() error {
	if err := s.Options.Check(); err != nil {
		return err
	}
	if _, err := checkFieldIDs(s.Fields); err != nil {
		return refuse("%s", err)
	}
	for _, check := range []func() error{
		s.checkTableType, s.checkKeyTypes, s.checkBuckets, s.checkFormats, s.checkFieldOptions, s.checkSequenceField,
		s.checkSequenceGroups, s.checkChangelogProducer, s.checkRetention, s.checkMergeEngine, s.checkAggregates,
		s.checkDeletionVectors, s.checkRowKindField, s.checkRecordExpiry, s.checkPartitionExpiry, s.checkScan,
		s.checkUpsertKey, s.checkSnapshotOrdering, s.checkRowTracking, s.checkClusteringOverride, s.checkChainTable, s.checkDefaults,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// on reads a boolean option that was checked before.
func (s *Schema) on(key string) bool {
	v, _ := s.Options.Bool(key)
	return v
}

func (s *Schema) number(key string) int {
	v, _ := s.Options.Int(key)
	return v
}

func (s *Schema) checkTableType() error {
	if t, _ := s.Options.Enum(OptType); t != "table" && t != "materialized-table" {
		return refuseOption(OptType, "Tables of type %s have another layout; want table or materialized-table.", t)
	}
	return nil
}

// checkKeyTypes: keys and partitions are of atomic types.
func (s *Schema) checkKeyTypes() error {
	for _, k := range []struct {
		what  string
		names []string
	}{{"primary key", s.PrimaryKeys}, {"partition", s.PartitionKeys}} {
		for _, n := range k.names {
			if t := s.Fields[s.Index(n)].Type; t.IsNested() || t.Root == rowdata.Blob {
				return refuseColumn(n, "The type %s in %s field %s is unsupported", t, k.what, n)
			}
		}
	}
	return nil
}

// checkBuckets holds the rules of format section 7.1.
func (s *Schema) checkBuckets() error {
	n := s.Buckets()
	keys := s.Options.List(OptBucketKey)
	if v, ok := s.Options[OptBucketKey]; ok && v != strings.Join(keys, ",") {
		// The original does not trim these.
		return refuseOption(OptBucketKey, "The list '%s' has blanks or empty parts; want '%s'.", v, strings.Join(keys, ","))
	}
	switch {
	case n == UnawareBuckets && len(keys) > 0:
		return refuseOption(OptBucketKey, "Cannot define 'bucket-key' with bucket = -1, please remove the 'bucket-key' setting or specify a bucket number.")
	case n == UnawareBuckets && !s.HasPrimaryKey() && s.Options.Has(OptFullCompactionDeltaCommits):
		return refuseOption(OptFullCompactionDeltaCommits, "AppendOnlyTable of unaware or dynamic bucket does not support 'full-compaction.delta-commits'")
	case n == PostponeBuckets && !s.HasPrimaryKey():
		return refuseOption(OptBucket, "Bucket -2 (postpone) is only for tables with a primary key.")
	case n < 1 && n != UnawareBuckets && n != PostponeBuckets:
		return refuseOption(OptBucket, "The number of buckets needs to be greater than 0.")
	case n > 0 && !s.HasPrimaryKey() && len(keys) == 0:
		return refuseOption(OptBucketKey, "You should define a 'bucket-key' for bucketed append mode.")
	}
	return s.checkBucketKey(keys)
}

func (s *Schema) checkBucketKey(keys []string) error {
	if dup := duplicates(keys); dup != nil {
		return refuseOption(OptBucketKey, "Bucket key %s must not contain duplicate columns. Found: %s", namesText(keys), namesText(dup))
	}
	var nested []string
	for _, k := range keys {
		i := s.Index(k)
		switch {
		case i < 0:
			return refuseOption(OptBucketKey, "Field names %s should contains all bucket keys %s.", namesText(s.RowType().Names()), namesText(keys))
		case slices.Contains(s.PartitionKeys, k):
			return refuseOption(OptBucketKey, "Bucket keys %s should not in partition keys %s.", namesText(keys), namesText(s.PartitionKeys))
		case s.HasPrimaryKey() && !slices.Contains(s.PrimaryKeys, k):
			return refuseOption(OptBucketKey, "Primary keys %s should contains all bucket keys %s.", namesText(s.PrimaryKeys), namesText(keys))
		case s.Fields[i].Type.IsNested():
			nested = append(nested, k)
		}
	}
	if nested != nil {
		return refuseOption(OptBucketKey, "nested type can not in bucket-key, in your table these key are %s", namesText(nested))
	}
	if s.BucketFunction() != "mod" || s.Buckets() < 1 {
		return nil
	}
	types := s.BucketKeyTypes()
	if len(types) != 1 || types[0].Root != rowdata.Int && types[0].Root != rowdata.BigInt {
		return refuseOption(OptBucketFunctionType, "bucket-function.type mod needs exactly one bucket key of type INT or BIGINT, but bucket key is %s.", namesText(s.BucketKeys()))
	}
	return nil
}

// checkDefaults: default values can be cast to the type of their column.
func (s *Schema) checkDefaults() error {
	return walkFields(s.Fields, func(f *rowdata.Field) error {
		if f.Default == nil {
			return nil
		}
		if err := rowdata.AppendParsed(rowdata.NewVector(f.Type, 1), *f.Default); err != nil {
			return refuseColumn(f.Name, "Unsupported default value `%s` for type %s of column %s: %s", *f.Default, f.Type, f.Name, err)
		}
		return nil
	})
}
