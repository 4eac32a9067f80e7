package paimon

import "sync"

type optionKind uint8

const (
	kindText optionKind = iota
	kindInt
	kindLong
	kindFloat
	kindBool
	kindDuration
	kindMemory
	kindEnum
	kindList
	kindMap
)

// optionDef is what is known of an option.
type optionDef struct {
	key       string
	kind      optionKind
	byDefault string   // "": none
	values    []string // of kindEnum
	former    []string // names of earlier versions that still work
	immutable bool     // once the table has a snapshot
}

// IsImmutable tells whether the option may not change once the table has a
// snapshot.
func IsImmutable(key string) bool {
	d := optionOf(key)
	return d != nil && d.immutable
}

// IsKnownOption tells whether the option means something here.
func IsKnownOption(key string) bool { return optionOf(key) != nil }

// optionOf returns the definition of an option, or nil.
func optionOf(key string) *optionDef { return optionIndex()[key] }

// optionIndex finds options by name; it is built once, from the table alone.
var optionIndex = sync.OnceValue(func() map[string]*optionDef {
	index := make(map[string]*optionDef, len(optionTable))
	for i := range optionTable {
		index[optionTable[i].key] = &optionTable[i]
	}
	return index
})

// optionTable lists the options of format section 13 with their defaults.
// Nothing changes it.
var optionTable = []optionDef{
	// 13.1 layout and identity
	{key: OptType, kind: kindEnum, byDefault: "table", immutable: true, values: []string{"table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table"}},
	{key: OptPath},
	{key: OptBranch, byDefault: MainBranch},
	{key: OptBucket, kind: kindInt, byDefault: "-1"},
	{key: OptBucketKey, kind: kindList, immutable: true},
	{key: OptBucketFunctionType, kind: kindEnum, byDefault: "default", values: []string{"default", "mod", "hive"}, immutable: true},
	{key: OptBucketAppendOrdered, kind: kindBool, byDefault: "true"},
	{key: OptPrimaryKey, kind: kindList, immutable: true},
	{key: OptPartition, kind: kindList, immutable: true},
	{key: OptPrimaryKeyNullable, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptUpsertKey, kind: kindList},
	{key: OptPartitionDefaultName, byDefault: "__DEFAULT_PARTITION__"},
	{key: OptPartitionLegacyName, kind: kindBool, byDefault: "true"},
	{key: OptDataFilePathDirectory, immutable: true},
	{key: OptDataFileExternalPaths, kind: kindList},
	{key: OptDataFileExternalStrategy, kind: kindEnum, byDefault: "none", values: []string{"none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"}},
	{key: OptDataFileExternalSpecificFS},
	{key: OptDataFileExternalWeights, kind: kindList},
	{key: OptDataFilePrefix, byDefault: "data-"},
	{key: OptChangelogFilePrefix, byDefault: "changelog-"},
	{key: OptFileSuffixCompression, kind: kindBool, byDefault: "false"},
	{key: OptIndexFileInDataFileDir, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptGlobalIndexExternalPath},
	{key: OptRowTracking, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptDataEvolution, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptBlobField, kind: kindList, immutable: true},
	{key: OptBlobDescriptorField, kind: kindList, immutable: true},
	{key: OptBlobViewField, kind: kindList, immutable: true},
	{key: OptPKClusteringOverride, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptClusteringColumns, kind: kindList},
	{key: OptChainTable, kind: kindBool, byDefault: "false"},

	// 13.2 files
	{key: OptFileFormat, byDefault: "parquet"},
	{key: OptFileCompression, byDefault: "zstd"},
	{key: OptFileCompressionZstdLevel, kind: kindInt, byDefault: "1"},
	{key: OptFileFormatPerLevel, kind: kindMap},
	{key: OptFileCompressionPerLevel, kind: kindMap},
	{key: OptChangelogFileFormat},
	{key: OptChangelogFileCompression},
	{key: OptChangelogFileStatsMode},
	{key: OptFileBlockSize, kind: kindMemory},
	{key: OptThinMode, kind: kindBool, byDefault: "false"},
	{key: OptTargetFileSize, kind: kindMemory},
	{key: OptTargetFileRowNum, kind: kindLong, byDefault: "9223372036854775807"},
	{key: OptStatsMode, byDefault: "truncate(16)"},
	{key: OptStatsModePerLevel, kind: kindMap},
	{key: OptStatsDenseStore, kind: kindBool, byDefault: "true"},
	{key: OptStatsKeepFirstNColumns, kind: kindInt, byDefault: "-1"},
	{key: OptFileIndexInManifestThreshold, kind: kindMemory, byDefault: "500 b"},
	{key: OptFileIndexReadEnabled, kind: kindBool, byDefault: "true"},
	{key: OptDeletionVectorsEnabled, kind: kindBool, byDefault: "false"},
	{key: OptDeletionVectorsBitmap64, kind: kindBool, byDefault: "false"},
	{key: OptDeletionVectorsMergeOnRead, kind: kindBool, byDefault: "false"},
	{key: OptDeletionVectorsModifiable, kind: kindBool, byDefault: "false"},
	{key: OptDeletionVectorTargetSize, kind: kindMemory, byDefault: "2 mb"},
	{key: OptReadBatchSize, kind: kindInt, byDefault: "1024"},
	{key: OptSourceSplitTargetSize, kind: kindMemory, byDefault: "128 mb"},
	{key: OptSourceSplitOpenFileCost, kind: kindMemory, byDefault: "4 mb"},

	// 13.3 manifests and commit
	{key: OptManifestCompression, byDefault: "zstd"},
	{key: OptManifestFormat, byDefault: "avro"},
	{key: OptManifestTargetFileSize, kind: kindMemory, byDefault: "8 mb"},
	{key: OptManifestFullCompactionSize, kind: kindMemory, byDefault: "16 mb"},
	{key: OptManifestMergeMinCount, kind: kindInt, byDefault: "30"},
	{key: OptManifestDeleteFileDropStats, kind: kindBool, byDefault: "false"},
	{key: OptManifestSortEnabled, kind: kindBool, byDefault: "false"},
	{key: OptManifestMergeOptimize, kind: kindBool, byDefault: "true"},
	{key: OptCommitTimeout, kind: kindDuration},
	{key: OptCommitMaxRetries, kind: kindInt, byDefault: "10"},
	{key: OptCommitMinRetryWait, kind: kindDuration, byDefault: "10 ms"},
	{key: OptCommitMaxRetryWait, kind: kindDuration, byDefault: "10 s"},
	{key: OptCommitUserPrefix},
	{key: OptCommitForceCreateSnapshot, kind: kindBool, byDefault: "false"},
	{key: OptCommitForceCompact, kind: kindBool, byDefault: "false"},
	{key: OptCommitDiscardDuplicateFiles, kind: kindBool, byDefault: "false"},
	{key: OptCommitStrictModeLastSnapshot, kind: kindLong},
	{key: OptSnapshotIgnoreEmptyCommit, kind: kindBool},
	{key: OptDynamicPartitionOverwrite, kind: kindBool, byDefault: "true"},
	{key: OptOverwriteUpgrade, kind: kindBool, byDefault: "true"},
	{key: OptWriteSequenceInitMode, kind: kindEnum, byDefault: "scan", values: []string{"scan", "snapshot"}},

	// 13.4 LSM and merging
	{key: OptMergeEngine, kind: kindEnum, byDefault: string(Deduplicate), immutable: true, values: []string{string(Deduplicate), string(PartialUpdate), string(Aggregation), string(FirstRow)}},
	{key: OptIgnoreDelete, kind: kindBool, byDefault: "false", former: []string{"first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"}},
	{key: OptIgnoreUpdateBefore, kind: kindBool, byDefault: "false"},
	{key: OptSequenceField, kind: kindList},
	{key: OptSequenceFieldSortOrder, kind: kindEnum, byDefault: "ascending", values: []string{"ascending", "descending"}},
	{key: OptSequenceSnapshotOrdering, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptRowKindField, immutable: true},
	{key: OptChangelogProducer, kind: kindEnum, byDefault: string(ProducerNone), values: []string{string(ProducerNone), string(ProducerInput), string(ProducerFullCompaction), string(ProducerLookup)}},
	{key: OptChangelogRowDeduplicate, kind: kindBool, byDefault: "false"},
	{key: OptChangelogRowDeduplicateIgnore, kind: kindList},
	{key: OptFullCompactionDeltaCommits, kind: kindInt},
	{key: OptWriteOnly, kind: kindBool, byDefault: "false", former: []string{"write.compaction-skip"}},
	{key: OptWriteBufferSize, kind: kindMemory, byDefault: "256 mb"},
	{key: OptWriteBufferSpillable, kind: kindBool},
	{key: OptPageSize, kind: kindMemory, byDefault: "64 kb"},
	{key: OptNumSortedRunTrigger, kind: kindInt, byDefault: "5"},
	{key: OptNumSortedRunStopTrigger, kind: kindInt},
	{key: OptNumLevels, kind: kindInt},
	{key: OptCompactionMaxSizeAmplification, kind: kindInt, byDefault: "200"},
	{key: OptCompactionSizeRatio, kind: kindInt, byDefault: "1"},
	{key: OptCompactionMinFileNum, kind: kindInt, byDefault: "5"},
	{key: OptCompactionForceUpLevel0, kind: kindBool, byDefault: "false"},
	{key: OptRecordLevelExpireTime, kind: kindDuration},
	{key: OptRecordLevelTimeField},
	{key: OptForceLookup, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptLookupWait, kind: kindBool, byDefault: "true"},
	{key: OptAggregationRemoveOnDelete, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptPartialUpdateRemoveOnDelete, kind: kindBool, byDefault: "false", immutable: true},
	{key: OptPartialUpdateRemoveOnGroup, kind: kindList, immutable: true},
	{key: OptFieldsDefaultAggregate},

	// 13.5 buckets
	{key: OptDynamicBucketTargetRowNum, kind: kindLong, byDefault: "2000000"},
	{key: OptDynamicBucketMaxBuckets, kind: kindInt, byDefault: "-1"},
	{key: OptDynamicBucketInitialBuckets, kind: kindInt, immutable: true},
	{key: OptDynamicBucketAssignerParallelism, kind: kindInt},
	{key: OptPostponeBatchWriteFixedBucket, kind: kindBool, byDefault: "true"},
	{key: OptPostponeDefaultBucketNum, kind: kindInt},
	{key: OptPostponeTargetSizePerBucket, kind: kindMemory, byDefault: "1 gb"},
	{key: OptPostponeMergeOnRead, kind: kindBool, byDefault: "false"},

	// 13.6 retention, scan, tags
	{key: OptSnapshotNumRetainedMin, kind: kindInt, byDefault: "10"},
	{key: OptSnapshotNumRetainedMax, kind: kindInt, byDefault: "2147483647"},
	{key: OptSnapshotTimeRetained, kind: kindDuration, byDefault: "1 h"},
	{key: OptSnapshotExpireLimit, kind: kindInt, byDefault: "50"},
	{key: OptSnapshotExpireExecutionMode, kind: kindEnum, byDefault: "sync", values: []string{"sync", "async"}},
	{key: OptSnapshotCleanEmptyDirs, kind: kindBool, byDefault: "false", former: []string{"snapshot.expire.clean-empty-directories"}},
	{key: OptChangelogNumRetainedMin, kind: kindInt},
	{key: OptChangelogNumRetainedMax, kind: kindInt},
	{key: OptChangelogTimeRetained, kind: kindDuration},
	{key: OptConsumerID},
	{key: OptConsumerMode, kind: kindEnum, byDefault: "exactly-once", values: []string{"exactly-once", "at-least-once"}},
	{key: OptConsumerExpirationTime, kind: kindDuration},
	{key: OptConsumerChangelogOnly, kind: kindBool, byDefault: "false"},
	{key: OptConsumerIgnoreProgress, kind: kindBool, byDefault: "false"},
	{key: OptScanMode, kind: kindEnum, byDefault: "default", former: []string{"log.scan"}, values: []string{
		"default", "latest-full", "full", "latest", "latest-delta", "compacted-full", "from-timestamp", "from-creation-timestamp",
		"from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental",
	}},
	{key: OptScanTimestampMillis, kind: kindLong, former: []string{"log.scan.timestamp-millis"}},
	{key: OptScanTimestamp},
	{key: OptScanSnapshotID, kind: kindLong},
	{key: OptScanTagName},
	{key: OptScanWatermark, kind: kindLong},
	{key: OptScanVersion},
	{key: OptScanFileCreationTime, kind: kindLong},
	{key: OptScanCreationTime, kind: kindLong},
	{key: OptScanFallbackBranch},
	{key: OptIncrementalBetween},
	{key: OptIncrementalBetweenTimestamp},
	{key: OptIncrementalToAutoTag},
	{key: OptStreamingReadOverwrite, kind: kindBool, byDefault: "false"},
	{key: OptStreamingReadAppendOverwrite, kind: kindBool, byDefault: "false"},
	{key: OptTagAutomaticCreation, byDefault: "none"},
	{key: OptTagDefaultTimeRetained, kind: kindDuration},
	{key: OptTagNumRetainedMax, kind: kindInt},
	{key: OptTagCreateSuccessFile, kind: kindBool, byDefault: "false"},
	{key: OptPartitionExpirationTime, kind: kindDuration},
	{key: OptPartitionExpirationInterval, kind: kindDuration, byDefault: "1 h"},
	{key: OptPartitionExpirationStrategy, byDefault: "values-time"},
	{key: OptPartitionTimestampPattern},
	{key: OptPartitionTimestampFormatter},

	// 13.7 schema
	{key: OptAlterNullToNotNullDisabled, kind: kindBool, byDefault: "true"},
	{key: OptDisableExplicitTypeCasting, kind: kindBool, byDefault: "false"},
	{key: OptAddColumnBeforePartition, kind: kindBool, byDefault: "false"},
}
