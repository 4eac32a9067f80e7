package paimon

import (
	"slices"

	"sluice/paimon/rowdata"
)

// MergeEngine says how rows of one key become one row.
type MergeEngine string

// The merge engines.
const (
	Deduplicate   MergeEngine = "deduplicate"
	PartialUpdate MergeEngine = "partial-update"
	Aggregation   MergeEngine = "aggregation"
	FirstRow      MergeEngine = "first-row"
)

// ChangelogProducer says where the changelog of a table comes from.
type ChangelogProducer string

// The changelog producers.
const (
	ProducerNone           ChangelogProducer = "none"
	ProducerInput          ChangelogProducer = "input"
	ProducerLookup         ChangelogProducer = "lookup"
	ProducerFullCompaction ChangelogProducer = "full-compaction"
)

// BucketMode says how rows find their bucket (format section 7.1).
type BucketMode uint8

// The bucket modes.
const (
	HashFixed     BucketMode = iota // hash of the bucket key
	HashDynamic                     // HASH index files
	KeyDynamic                      // the primary key lacks partition columns
	BucketUnaware                   // append table without buckets
	PostponeMode                    // bucket -2 until compaction
)

var bucketModeText = [...]string{"HASH_FIXED", "HASH_DYNAMIC", "KEY_DYNAMIC", "BUCKET_UNAWARE", "POSTPONE_MODE"}

// String returns the mode in capitals, such as HASH_FIXED.
func (m BucketMode) String() string {
	if int(m) < len(bucketModeText) {
		return bucketModeText[m]
	}
	return "BUCKET_MODE?"
}

// Special values of the option bucket, of _BUCKET and _TOTAL_BUCKETS.
const (
	UnawareBuckets  = -1
	PostponeBuckets = -2
	PostponeBucket  = -2 // number of the bucket whose folder is bucket-postpone
)

// RowType returns the columns of the table.
func (s *Schema) RowType() *rowdata.RowType { return &rowdata.RowType{Fields: s.Fields} }

// Index returns the position of the column of that name, or -1.
func (s *Schema) Index(name string) int {
	return slices.IndexFunc(s.Fields, func(f rowdata.Field) bool { return f.Name == name })
}

// Positions returns the positions of the columns of these names; unknown names
// are left out.
func (s *Schema) Positions(names []string) []int {
	cols := make([]int, 0, len(names))
	for _, n := range names {
		if i := s.Index(n); i >= 0 {
			cols = append(cols, i)
		}
	}
	return cols
}

// HasPrimaryKey tells a primary-key table from an append table.
func (s *Schema) HasPrimaryKey() bool { return len(s.PrimaryKeys) > 0 }

// PartitionCols returns the positions of the partition columns in the order of
// the folders.
func (s *Schema) PartitionCols() []int { return s.Positions(s.PartitionKeys) }

// PartitionTypes returns the types of the partition columns.
func (s *Schema) PartitionTypes() []*rowdata.Type { return s.types(s.PartitionCols()) }

// KeyCols returns the positions of the whole primary key.
func (s *Schema) KeyCols() []int { return s.Positions(s.PrimaryKeys) }

// TrimmedPrimaryKeys returns the primary key without partition columns, in
// primary key order.
func (s *Schema) TrimmedPrimaryKeys() []string {
	var names []string
	for _, k := range s.PrimaryKeys {
		if !slices.Contains(s.PartitionKeys, k) {
			names = append(names, k)
		}
	}
	return names
}

// TrimmedKey returns the positions of the primary key without partition
// columns, in primary key order: the key of data files. Nil for append tables.
func (s *Schema) TrimmedKey() []int {
	if !s.HasPrimaryKey() {
		return nil
	}
	return s.Positions(s.TrimmedPrimaryKeys())
}

// CrossPartition tells whether a key may move from one partition to another:
// the primary key lacks a partition column.
func (s *Schema) CrossPartition() bool {
	if !s.HasPrimaryKey() {
		return false
	}
	return slices.ContainsFunc(s.PartitionKeys, func(p string) bool { return !slices.Contains(s.PrimaryKeys, p) })
}

// BucketKeys returns the columns whose hash is the bucket, in hashing order: the
// option bucket-key or else the trimmed primary key.
func (s *Schema) BucketKeys() []string {
	if keys := s.Options.List(OptBucketKey); len(keys) > 0 {
		return keys
	}
	return s.TrimmedPrimaryKeys()
}

// BucketKey returns the positions of [Schema.BucketKeys].
func (s *Schema) BucketKey() []int { return s.Positions(s.BucketKeys()) }

// BucketKeyTypes returns the types of [Schema.BucketKeys].
func (s *Schema) BucketKeyTypes() []*rowdata.Type { return s.types(s.BucketKey()) }

// BucketFunction returns the option bucket-function.type.
func (s *Schema) BucketFunction() string {
	f, _ := s.Options.Enum(OptBucketFunctionType)
	return f
}

// Buckets returns the option bucket: a count, -1 or -2.
func (s *Schema) Buckets() int {
	n, _ := s.Options.Int(OptBucket)
	return n
}

// BucketMode returns how rows find their bucket.
func (s *Schema) BucketMode() BucketMode {
	switch n := s.Buckets(); {
	case n == PostponeBuckets:
		return PostponeMode
	case n != UnawareBuckets:
		return HashFixed
	case !s.HasPrimaryKey():
		return BucketUnaware
	case s.CrossPartition():
		return KeyDynamic
	}
	return HashDynamic
}

// SequenceFields returns the positions of the columns of sequence.field.
func (s *Schema) SequenceFields() []int { return s.Positions(s.Options.List(OptSequenceField)) }

// SequenceDescending tells whether the smallest sequence value is the latest.
func (s *Schema) SequenceDescending() bool {
	o, _ := s.Options.Enum(OptSequenceFieldSortOrder)
	return o == "descending"
}

// MergeEngine returns the option merge-engine.
func (s *Schema) MergeEngine() MergeEngine {
	e, _ := s.Options.Enum(OptMergeEngine)
	return MergeEngine(e)
}

// ChangelogProducer returns the option changelog-producer.
func (s *Schema) ChangelogProducer() ChangelogProducer {
	p, _ := s.Options.Enum(OptChangelogProducer)
	return ChangelogProducer(p)
}

// DeletionVectors tells whether the table keeps deletion vectors.
func (s *Schema) DeletionVectors() bool {
	on, _ := s.Options.Bool(OptDeletionVectorsEnabled)
	return on
}

// checkCoreOptions reads the options whose accessors return no error, so that a
// schema that was loaded has valid ones.
func (s *Schema) checkCoreOptions() error {
	if _, err := s.Options.Int(OptBucket); err != nil {
		return err
	}
	for _, key := range []string{OptMergeEngine, OptChangelogProducer, OptSequenceFieldSortOrder, OptBucketFunctionType} {
		if _, err := s.Options.Enum(key); err != nil {
			return err
		}
	}
	_, err := s.Options.Bool(OptDeletionVectorsEnabled)
	return err
}

func (s *Schema) types(cols []int) []*rowdata.Type {
	types := make([]*rowdata.Type, len(cols))
	for i, c := range cols {
		types[i] = s.Fields[c].Type
	}
	return types
}
