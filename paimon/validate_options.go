package paimon

import (
	"slices"
	"strings"

	"sluice/paimon/rowdata"
)

// checkChangelogProducer holds the rules of semantics section 3.6 that name the
// producer.
func (s *Schema) checkChangelogProducer() error {
	p := s.ChangelogProducer()
	derived := p == ProducerLookup || p == ProducerFullCompaction
	switch {
	case p != ProducerNone && !s.HasPrimaryKey():
		return refuseOption(OptChangelogProducer, "Can not set changelog-producer on table without primary keys, please define primary keys.")
	case derived && s.on(OptStreamingReadOverwrite):
		return refusePair(OptStreamingReadOverwrite, OptChangelogProducer, "Cannot set streaming-read-overwrite to true when changelog producer is full-compaction or lookup because it will read duplicated changes.")
	case s.on(OptStreamingReadOverwrite) && !s.HasPrimaryKey():
		return refuseOption(OptStreamingReadOverwrite, "Doesn't support streaming read the changes from overwrite when the primary keys are not defined. "+
			"Please use streaming-read-append-overwrite to enable the streaming read overwrite commit for append table.")
	case p == ProducerLookup && s.Options.Has(OptFullCompactionDeltaCommits):
		return refusePair(OptFullCompactionDeltaCommits, OptChangelogProducer, "'full-compaction.delta-commits' is incompatible with 'changelog-producer'='lookup'")
	}
	return nil
}

// checkMergeEngine holds the rules of semantics sections 3.2 to 3.4 and 3.6 that
// name the engine.
func (s *Schema) checkMergeEngine() error {
	switch s.MergeEngine() {
	case FirstRow:
		if p := s.ChangelogProducer(); p != ProducerNone && p != ProducerLookup {
			return refusePair(OptMergeEngine, OptChangelogProducer, "Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge engine")
		}
	case PartialUpdate:
		return s.checkPartialUpdate()
	}
	return nil
}

// CheckRetracts refuses columns that ignore retracts in a table whose deletes remove
// the record (semantics section 3.5). Such a table can be created, as the original
// allows it, but not written.
func (s *Schema) CheckRetracts() error {
	if s.MergeEngine() != Aggregation || !s.on(OptAggregationRemoveOnDelete) {
		return nil
	}
	for _, key := range sortedKeys(s.Options) {
		_, suffix, ok := cutFieldsOption(key)
		if ok && suffix == "ignore-retract" && s.on(key) {
			return conflict(key, OptAggregationRemoveOnDelete)
		}
	}
	return nil
}

func conflict(key, other string) error {
	return refusePair(key, other, "%s and %s have conflicting behavior so should not be enabled at the same time.", other, key)
}

func (s *Schema) checkPartialUpdate() error {
	ignore, remove := s.on(OptIgnoreDelete), s.on(OptPartialUpdateRemoveOnDelete)
	groups := s.Options.sequenceGroups()
	onGroup := s.Options.List(OptPartialUpdateRemoveOnGroup)
	switch {
	case remove && ignore:
		return conflict(OptPartialUpdateRemoveOnDelete, OptIgnoreDelete)
	case remove && len(groups) > 0:
		return conflict(OptPartialUpdateRemoveOnDelete, groups[0].key)
	case len(onGroup) > 0 && ignore:
		return conflict(OptPartialUpdateRemoveOnGroup, OptIgnoreDelete)
	}
	for _, n := range onGroup {
		if !slices.ContainsFunc(groups, func(g sequenceGroup) bool { return slices.Contains(g.by, n) }) {
			return refuseOption(OptPartialUpdateRemoveOnGroup, "field '%s' defined in 'partial-update.remove-record-on-sequence-group' option must be part of sequence groups", n)
		}
	}
	return nil
}

// checkDeletionVectors holds the rules of semantics section 3.6 for tables with
// deletion vectors.
func (s *Schema) checkDeletionVectors() error {
	if !s.DeletionVectors() {
		return nil
	}
	switch {
	case s.ChangelogProducer() == ProducerFullCompaction:
		return refusePair(OptDeletionVectorsEnabled, OptChangelogProducer, "Deletion vectors mode is only supported for NONE/INPUT/LOOKUP changelog producer now.")
	case s.MergeEngine() == FirstRow && !s.on(OptPKClusteringOverride):
		return refusePair(OptDeletionVectorsEnabled, OptMergeEngine, "First row merge engine does not need deletion vectors because there is no deletion of old data in this merge engine.")
	}
	return nil
}

// checkRetention: minima of snapshots and changelogs that are kept.
func (s *Schema) checkRetention() error {
	check := func(minKey, maxKey string, low, high int) error {
		switch {
		case low < 1:
			return refuseOption(minKey, "%s should be at least 1", minKey)
		case low > high:
			return refuseOption(minKey, "%s should not be larger than %s", minKey, maxKey)
		}
		return nil
	}
	low, high := s.number(OptSnapshotNumRetainedMin), s.number(OptSnapshotNumRetainedMax)
	if err := check(OptSnapshotNumRetainedMin, OptSnapshotNumRetainedMax, low, high); err != nil {
		return err
	}
	if s.Options.Has(OptChangelogNumRetainedMin) {
		low = s.number(OptChangelogNumRetainedMin)
	}
	if s.Options.Has(OptChangelogNumRetainedMax) {
		high = s.number(OptChangelogNumRetainedMax)
	}
	return check(OptChangelogNumRetainedMin, OptChangelogNumRetainedMax, low, high)
}

func (s *Schema) checkRowKindField() error {
	n := s.Options.Text(OptRowKindField)
	if n == "" {
		return nil
	}
	i := s.Index(n)
	switch {
	case i < 0:
		return refuseOption(OptRowKindField, "Rowkind field: '%s' can not be found in table schema.", n)
	case !s.Fields[i].Type.IsString():
		return refuseOption(OptRowKindField, "Rowkind field: '%s' is of type %s, want a string.", n, s.Fields[i].Type)
	}
	return nil
}

func (s *Schema) checkRecordExpiry() error {
	if !s.Options.Has(OptRecordLevelExpireTime) && !s.Options.Has(OptRecordLevelTimeField) {
		return nil
	}
	n := s.Options.Text(OptRecordLevelTimeField)
	if n == "" {
		return refuseOption(OptRecordLevelTimeField, "You should set time field for record-level expire.")
	}
	i := s.Index(n)
	if i < 0 {
		return refuseOption(OptRecordLevelTimeField, "Can not find time field %s for record level expire.", n)
	}
	switch t := s.Fields[i].Type; t.Root {
	case rowdata.Int, rowdata.BigInt, rowdata.Timestamp, rowdata.TimestampLTZ:
		return nil
	default:
		return refuseOption(OptRecordLevelTimeField, "The record level time field type should be one of INT, BIGINT, or TIMESTAMP, but field type is %s.", t)
	}
}

func (s *Schema) checkPartitionExpiry() error {
	if s.Options.Has(OptPartitionExpirationTime) && len(s.PartitionKeys) == 0 {
		return refuseOption(OptPartitionExpirationTime, "Can not set 'partition.expiration-time' for non-partitioned table.")
	}
	return nil
}

// positionOptions are the options that say where a scan begins, by the mode that
// takes them.
var positionOptions = []struct {
	mode string
	keys []string
}{
	{"from-timestamp", []string{OptScanTimestampMillis, OptScanTimestamp}},
	{"from-snapshot", []string{OptScanSnapshotID, OptScanTagName, OptScanWatermark, OptScanVersion}},
	{"from-file-creation-time", []string{OptScanFileCreationTime}},
	{"from-creation-timestamp", []string{OptScanCreationTime}},
	{"incremental", []string{OptIncrementalBetween, OptIncrementalBetweenTimestamp, OptIncrementalToAutoTag}},
	{"from-snapshot-full", []string{OptScanSnapshotID}},
}

// checkScan: a scan mode and its position go together (semantics section 6.3).
func (s *Schema) checkScan() error {
	mode, _ := s.Options.Enum(OptScanMode)
	set := func(keys []string) (n int) {
		for _, k := range keys {
			if s.Options.Has(k) {
				n++
			}
		}
		return n
	}
	var want []string
	for _, p := range positionOptions {
		if mode == "default" && set(p.keys) > 0 {
			mode = p.mode
		}
		if mode == p.mode {
			want = p.keys
		}
	}
	switch n := set(want); {
	case len(want) == 1 && n == 0:
		return refuseOption(want[0], "%s can not be null when you use %s for %s", want[0], mode, OptScanMode)
	case len(want) > 1 && n != 1:
		return refuseOption(OptScanMode, "must set only one key in [%s] when you use %s for %s", strings.Join(want, ","), mode, OptScanMode)
	}
	for _, p := range positionOptions {
		for _, k := range p.keys {
			// These two say nothing to other modes.
			if s.Options.Has(k) && !slices.Contains(want, k) && k != OptScanWatermark && k != OptScanCreationTime {
				return refuseOption(k, "%s must be null when you use %s for %s", k, mode, OptScanMode)
			}
		}
	}
	return nil
}

func (s *Schema) checkUpsertKey() error {
	keys := s.Options.List(OptUpsertKey)
	switch {
	case len(keys) == 0:
		return nil
	case s.HasPrimaryKey():
		return refuseOption(OptUpsertKey, "Cannot define 'upsert-key' %s with 'primary-key' %s.", namesText(keys), namesText(s.PrimaryKeys))
	}
	for _, k := range keys {
		if s.Index(k) < 0 {
			return refuseOption(OptUpsertKey, "Field %s can not be found in table schema.", k)
		}
	}
	return nil
}

// checkSnapshotOrdering holds the rules of semantics section 1.5.
func (s *Schema) checkSnapshotOrdering() error {
	switch {
	case !s.on(OptSequenceSnapshotOrdering):
		return nil
	case !s.HasPrimaryKey():
		return refuseOption(OptSequenceSnapshotOrdering, "sequence.snapshot-ordering is only for tables with a primary key.")
	case !s.on(OptWriteOnly):
		return refuseOption(OptSequenceSnapshotOrdering, "sequence.snapshot-ordering needs 'write-only' = 'true', with a dedicated compaction.")
	case s.Options.Has(OptSequenceField):
		return refuseOption(OptSequenceSnapshotOrdering, "sequence.snapshot-ordering and sequence.field cannot be set together.")
	}
	return nil
}

func (s *Schema) checkRowTracking() error {
	tracking, evolution := s.on(OptRowTracking), s.on(OptDataEvolution)
	switch {
	case tracking && s.HasPrimaryKey():
		return refuseOption(OptRowTracking, "Cannot define primary-key for row tracking table.")
	case tracking && s.Buckets() != UnawareBuckets:
		return refuseOption(OptRowTracking, "Cannot define bucket for row tracking table, it only support bucket = -1")
	case evolution && !tracking:
		return refuseOption(OptDataEvolution, "Data evolution config must enabled with row-tracking.enabled")
	case evolution && s.DeletionVectors():
		return refuseOption(OptDataEvolution, "Data evolution config must disabled with deletion-vectors.enabled")
	}
	for _, n := range s.Options.List(OptBlobDescriptorField) {
		if i := s.Index(n); i < 0 || s.Fields[i].Type.Root != rowdata.Blob {
			return refuseOption(OptBlobDescriptorField, "Field '%s' in 'blob-descriptor-field' must be a BLOB field in table schema.", n)
		}
	}
	return s.checkBlobs(evolution)
}

func (s *Schema) checkBlobs(evolution bool) error {
	blobs := 0
	for i := range s.Fields {
		if s.Fields[i].Type.Root == rowdata.Blob {
			blobs++
		}
	}
	switch {
	case blobs == 0:
		return nil
	case !evolution:
		return refuseOption(OptDataEvolution, "Data evolution config must enabled for table with BLOB type column.")
	case blobs == len(s.Fields):
		return refuse("Table with BLOB type column must have other normal columns.")
	}
	return nil
}

func (s *Schema) checkClusteringOverride() error {
	if !s.on(OptPKClusteringOverride) {
		return nil
	}
	p := s.ChangelogProducer()
	switch {
	case !s.Options.Has(OptClusteringColumns):
		return refuseOption(OptPKClusteringOverride, "Cannot support 'pk-clustering-override' mode without 'clustering.columns'.")
	case !s.DeletionVectors():
		return refuseOption(OptPKClusteringOverride, "Cannot support deletion-vectors disabled in 'pk-clustering-override' mode.")
	case s.Options.Has(OptRecordLevelExpireTime):
		return refuseOption(OptPKClusteringOverride, "Cannot support record level expire time enabled in 'pk-clustering-override' mode.")
	case s.MergeEngine() != Deduplicate && s.MergeEngine() != FirstRow:
		return refuseOption(OptPKClusteringOverride, "Cannot support merge engine: %s in 'pk-clustering-override' mode.", s.MergeEngine())
	case s.Options.Has(OptSequenceField):
		return refuseOption(OptPKClusteringOverride, "Cannot support sequence field: %s in 'pk-clustering-override' mode.", s.Options.Text(OptSequenceField))
	case p != ProducerNone && p != ProducerInput:
		return refuseOption(OptPKClusteringOverride, "Cannot support changelog producer: %s in 'pk-clustering-override' mode.", p)
	}
	return nil
}

func (s *Schema) checkChainTable() error {
	if !s.on(OptChainTable) {
		return nil
	}
	p := s.ChangelogProducer()
	fault := ""
	switch {
	case !s.HasPrimaryKey():
		fault = "Primary key is required for chain table."
	case len(s.PartitionKeys) == 0:
		fault = "Chain table must be partition table."
	case s.Buckets() < 1:
		fault = "Bucket number must be greater than 0 for chain table."
	case !s.Options.Has(OptSequenceField):
		fault = "Sequence field is required for chain table."
	case p != ProducerNone && p != ProducerInput:
		fault = "Changelog producer must be none or input for chain table."
	case s.DeletionVectors():
		fault = "Chain table do not support enable deletion vector"
	case !s.Options.Has(OptPartitionTimestampPattern):
		fault = "Partition timestamp pattern is required for chain table."
	case !s.Options.Has(OptPartitionTimestampFormatter):
		fault = "Partition timestamp formatter is required for chain table."
	}
	if fault != "" {
		return refuseOption(OptChainTable, "%s", fault)
	}
	return nil
}
