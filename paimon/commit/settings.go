package commit

import (
	"errors"
	"math"
	"time"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// settings are what a commit needs of a schema and its options.
type settings struct {
	schema     *paimon.Schema
	partition  []*rowdata.Type
	key        []*rowdata.Type // trimmed primary key; nil: append table
	buckets    int32           // option bucket
	unaware    bool            // append table without buckets
	vectors    bool            // deletion vectors
	upgradeTo  int32           // level of files that overwrite; 0: stay at theirs
	encoding   manifest.Options
	target     int64 // size of a manifest, bytes
	fullSize   int64 // bytes of manifests that must change before all are merged
	minCount   int   // manifests before small ones are merged
	dropStats  bool  // of DELETE entries
	clustering bool  // no order by key within a level

	rowTracking      bool
	snapshotOrdering bool
	keepMaxSequence  bool  // property of snapshots
	checkBuckets     bool  // of plain appends too
	strictAfter      int64 // -1: strict mode is off
	ignoreEmpty      *bool // of batch commits

	maxRetries       int
	minWait, maxWait time.Duration
	timeout          time.Duration // 0: none
}

// optionReader collects the first error of several getters.
type optionReader struct {
	o    paimon.Options
	errs []error
}

func take[T any](r *optionReader, get func(key string) (T, error), key string) T {
	v, err := get(key)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return v
}

func readSettings(s *paimon.Schema) (*settings, error) {
	o := s.Options
	r := &optionReader{o: o}
	flag := func(key string) bool { return take(r, o.Bool, key) }
	c := &settings{
		schema:    s,
		partition: s.PartitionTypes(),
		buckets:   int32(s.Buckets()),
		unaware:   s.BucketMode() == paimon.BucketUnaware,
		vectors:   s.DeletionVectors(),
		encoding:  manifest.Options{Compression: o.Text(paimon.OptManifestCompression), ZstdLevel: take(r, o.Int, paimon.OptFileCompressionZstdLevel)},

		target:     take(r, o.Memory, paimon.OptManifestTargetFileSize),
		fullSize:   take(r, o.Memory, paimon.OptManifestFullCompactionSize),
		minCount:   take(r, o.Int, paimon.OptManifestMergeMinCount),
		dropStats:  flag(paimon.OptManifestDeleteFileDropStats),
		clustering: flag(paimon.OptPKClusteringOverride),

		rowTracking:      flag(paimon.OptRowTracking),
		snapshotOrdering: flag(paimon.OptSequenceSnapshotOrdering),
		keepMaxSequence:  take(r, o.Enum, paimon.OptWriteSequenceInitMode) == "snapshot",
		checkBuckets:     flag(paimon.OptWriteOnly) && s.BucketMode() == paimon.HashFixed,
		strictAfter:      -1,

		maxRetries: take(r, o.Int, paimon.OptCommitMaxRetries),
		minWait:    take(r, o.Duration, paimon.OptCommitMinRetryWait),
		maxWait:    take(r, o.Duration, paimon.OptCommitMaxRetryWait),
		timeout:    take(r, o.Duration, paimon.OptCommitTimeout),
	}
	for _, i := range s.TrimmedKey() {
		c.key = append(c.key, s.Fields[i].Type)
	}
	if s.HasPrimaryKey() && flag(paimon.OptOverwriteUpgrade) {
		levels := take(r, o.Int, paimon.OptNumLevels)
		if !o.Has(paimon.OptNumLevels) {
			levels = take(r, o.Int, paimon.OptNumSortedRunTrigger) + 1
		}
		c.upgradeTo = int32(min(max(levels-1, 0), math.MaxInt32))
	}
	if o.Has(paimon.OptCommitStrictModeLastSnapshot) {
		c.strictAfter = take(r, o.Long, paimon.OptCommitStrictModeLastSnapshot)
	}
	if o.Has(paimon.OptSnapshotIgnoreEmptyCommit) {
		ignore := flag(paimon.OptSnapshotIgnoreEmptyCommit)
		c.ignoreEmpty = &ignore
	}
	if flag(paimon.OptDataEvolution) {
		r.errs = append(r.errs, &UnsupportedError{What: "option " + paimon.OptDataEvolution})
	}
	return c, errors.Join(r.errs...)
}
