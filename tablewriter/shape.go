package tablewriter

import (
	"fmt"
	"slices"

	"sluice/lsm"
	"sluice/lsm/engine"
	"sluice/lsm/merge"
	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// shape is what a table is, as its writer needs it: checked once at Open and
// then not changed.
type shape struct {
	schema   *paimon.Schema
	typ      *rowdata.RowType
	cols     []int // 0, 1, ...: all columns of typ
	keyed    bool
	buckets  int // -1: append table without buckets
	bucketer *rowdata.Bucketer
	bucket   []int // columns of the bucket key
	part     []int // partition columns
	order    merge.Order
	engine   merge.Engine
	flush    producer.Producer // what a flush makes changelog of
	strategy *strategy
	silent   bool // compactions make no changelog

	keyType        *rowdata.RowType // columns of the trimmed primary key
	indexed        bool             // compactions ask what keys held before
	keyOnly        bool             // and only whether they held anything
	exactChangelog bool             // the changelog tells all that changes in the index
	straight       bool             // rows of a commit may be merged straight above level 0
	compaction     lsm.CompactionOptions
	expiry         *engine.Expiry // of single records; nil: none
	mergeRuns      int            // sorted runs that are merged at once; 0: the default

	notNull            []nullCheck
	defaults           []*rowdata.Vector // by column; nil: none
	kindColumn         int               // rowkind.field, or -1
	ignoreDelete       bool
	ignoreUpdateBefore bool
	seqFromSnapshot    bool // write.sequence-number-init-mode=snapshot
}

// newShape checks that the table can be written (format section 16.1) and
// returns an [*UnsupportedError] or another typed error if it cannot.
func newShape(s *paimon.Schema, job bool) (*shape, error) {
	if err := s.Options.Check(); err != nil {
		return nil, err
	}
	if err := refuseFeatures(s, job); err != nil {
		return nil, err
	}
	h := &shape{schema: s, typ: s.RowType(), keyed: s.HasPrimaryKey(), part: s.PartitionCols(), kindColumn: -1}
	for c := range h.typ.Fields {
		h.cols = append(h.cols, c)
	}
	if err := h.useBuckets(); err != nil {
		return nil, err
	}
	if err := h.useRows(); err != nil {
		return nil, err
	}
	if !h.keyed {
		h.flush, h.strategy = producer.None{}, &strategy{}
		return h, nil
	}
	var err error
	if h.strategy, err = newStrategy(s, job); err != nil {
		return nil, err
	}
	return h, h.useEngine()
}

// refuseFeatures refuses options that change what a file or a commit must hold
// in ways that are not built.
func refuseFeatures(s *paimon.Schema, job bool) error {
	o := s.Options
	if typ, _ := o.Enum(paimon.OptType); typ != "table" {
		return &UnsupportedError{Option: paimon.OptType, What: typ + " is not a table of this format"}
	}
	for _, f := range []struct{ key, what string }{
		{paimon.OptPKClusteringOverride, "files sorted by other columns than the key are not supported"},
		{paimon.OptDataEvolution, "data evolution is not supported"},
		{paimon.OptRowTracking, "row tracking is not supported"},
		{paimon.OptSequenceSnapshotOrdering, "sequence numbers from snapshots are not supported"},
		{paimon.OptChainTable, "chain tables are not supported"},
	} {
		if on, _ := o.Bool(f.key); on {
			return &UnsupportedError{Option: f.key, What: f.what}
		}
	}
	for _, key := range []string{paimon.OptBlobField, paimon.OptBlobDescriptorField, paimon.OptBlobViewField} {
		if o.Has(key) {
			return &UnsupportedError{Option: key, What: "BLOB columns are not supported"}
		}
	}
	for _, f := range s.Fields {
		if f.Type.Root == rowdata.Blob {
			return &UnsupportedError{What: "column " + f.Name + " is a BLOB, which is not supported"}
		}
	}
	if strategy, _ := o.Enum(paimon.OptDataFileExternalStrategy); strategy != "none" && o.Has(paimon.OptDataFileExternalPaths) {
		return &UnsupportedError{Option: paimon.OptDataFileExternalPaths, What: "writing to paths outside the table is not supported"}
	}
	writeOnly, _ := o.Bool(paimon.OptWriteOnly)
	if on, _ := o.Bool(paimon.OptDeletionVectorsEnabled); on && s.HasPrimaryKey() && (job || !writeOnly) {
		return &UnsupportedError{Option: paimon.OptDeletionVectorsEnabled, What: "compactions that write deletion vectors are not built yet: set write-only=true and run a compaction job of another engine"}
	}
	return nil
}

// useBuckets finds out how rows find their bucket.
func (h *shape) useBuckets() error {
	s := h.schema
	h.buckets = s.Buckets()
	switch mode := s.BucketMode(); mode {
	case paimon.BucketUnaware:
		h.buckets = paimon.UnawareBuckets
		return nil
	case paimon.HashFixed:
	case paimon.PostponeMode:
		return &UnsupportedError{Option: paimon.OptBucket, What: "postponed buckets (-2) are not supported: set a number of buckets"}
	default:
		return &UnsupportedError{Option: paimon.OptBucket, What: "dynamic buckets (-1) of a table with a primary key are not supported: set a number of buckets"}
	}
	if s.CrossPartition() {
		return &UnsupportedError{Option: paimon.OptBucket, What: "a primary key without all partition columns needs dynamic buckets, which are not supported"}
	}
	h.bucket = s.BucketKey()
	if len(h.bucket) == 0 {
		return &UnsupportedError{Option: paimon.OptBucketKey, What: "a table without a primary key and with buckets needs a bucket key"}
	}
	var err error
	h.bucketer, err = rowdata.NewBucketer(s.BucketFunction(), s.BucketKeyTypes(), h.buckets)
	return err
}

// useEngine finds out how rows of a key become one.
func (h *shape) useEngine() (err error) {
	s := h.schema
	h.order = merge.Order{Fields: s.SequenceFields(), Descending: s.SequenceDescending()}
	if h.engine, err = engine.For(s); err != nil {
		return err
	}
	h.flush = producer.None{}
	if s.ChangelogProducer() == paimon.ProducerInput {
		h.flush = producer.Input{}
	}
	mode, err := s.Options.Enum(paimon.OptWriteSequenceInitMode)
	h.seqFromSnapshot = mode == "snapshot"
	if err != nil || !h.strategy.compacts {
		return err
	}
	return h.useCompaction()
}

// useCompaction finds out how buckets are compacted.
func (h *shape) useCompaction() error {
	s, r := h.schema, optionReader{options: h.schema.Options}
	h.keyType = h.typ.Project(s.TrimmedKey())
	full := s.ChangelogProducer() == paimon.ProducerFullCompaction
	first := s.MergeEngine() == paimon.FirstRow
	var err error
	if h.expiry, err = engine.ExpiryOf(s); err != nil {
		return err
	}
	// Whether what is there is too old, only its row tells.
	h.indexed, h.keyOnly = h.strategy.lookup && !full, first && h.expiry == nil
	rowDeduplicate := r.bool(paimon.OptChangelogRowDeduplicate, false)
	h.exactChangelog = s.ChangelogProducer() == paimon.ProducerLookup && !rowDeduplicate &&
		(first || s.MergeEngine() == paimon.Deduplicate && len(h.order.Fields) == 0)
	// Readers of other producers follow the files of level 0.
	h.straight = h.indexed && s.ChangelogProducer() == paimon.ProducerLookup && h.strategy.pick.Force == lsm.ForceRadical
	force := r.bool("compaction.force-rewrite-all-files", false)
	small, err := h.smallBytes()
	if err != nil {
		return err
	}
	h.compaction = lsm.CompactionOptions{SmallBytes: small, ForceRewrite: force}
	var formats []string // by level
	for level := range int32(h.strategy.numLevels) {
		f, err := h.filesOn(level)
		if err != nil {
			return err
		}
		formats = append(formats, f.data.Format)
	}
	if slices.ContainsFunc(formats, func(f string) bool { return f != formats[0] }) {
		h.compaction.Format = func(level int32) string { return formats[min(int(level), len(formats)-1)] }
	}
	h.mergeRuns = r.int("sort-spill-threshold", 0)
	return r.err
}

// smallBytes returns the size below which a compaction merges a file with its
// neighbours.
func (h *shape) smallBytes() (int64, error) {
	r := optionReader{options: h.schema.Options}
	return int64(float64(r.memory("target-file-size", datafile.TargetBytesKeyed)) * r.float("compaction.small-file-ratio", 0.7)), r.err
}

// useRows finds out what each row is checked for.
func (h *shape) useRows() error {
	s := h.schema
	h.ignoreDelete, _ = s.Options.Bool(paimon.OptIgnoreDelete)
	h.ignoreUpdateBefore, _ = s.Options.Bool(paimon.OptIgnoreUpdateBefore)
	h.defaults = make([]*rowdata.Vector, len(s.Fields))
	for i, f := range s.Fields {
		h.notNull = appendNullChecks(h.notNull, i, f)
		if f.Default == nil {
			continue
		}
		v := rowdata.NewVector(f.Type, 1)
		if err := rowdata.AppendParsed(v, *f.Default); err != nil {
			return fmt.Errorf("default value of column %s: %w", f.Name, err)
		}
		h.defaults[i] = v
	}
	name := s.Options.Text(paimon.OptRowKindField)
	if name == "" {
		return nil
	}
	h.kindColumn = s.Index(name)
	switch {
	case h.kindColumn < 0:
		return &paimon.ValidationError{Option: paimon.OptRowKindField, Reason: "Rowkind field: '" + name + "' can not be found in table schema."}
	case !s.Fields[h.kindColumn].Type.IsString():
		return &paimon.ValidationError{Option: paimon.OptRowKindField, Reason: "only support string type for row-kind, but " + name + " is " + s.Fields[h.kindColumn].Type.String() + "."}
	}
	return nil
}
