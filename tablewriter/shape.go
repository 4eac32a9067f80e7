package tablewriter

import (
	"fmt"

	"sluice/lsm/merge"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// shape is what a table is, as its writer needs it: checked once at Open and
// then not changed.
type shape struct {
	schema   *paimon.Schema
	typ      *rowdata.RowType
	keyed    bool
	buckets  int // -1: append table without buckets
	bucketer *rowdata.Bucketer
	bucket   []int // columns of the bucket key
	part     []int // partition columns
	order    merge.Order
	function merge.Function
	producer producer.Producer

	notNull            []nullCheck
	defaults           []*rowdata.Vector // by column; nil: none
	kindColumn         int               // rowkind.field, or -1
	ignoreDelete       bool
	ignoreUpdateBefore bool
	seqFromSnapshot    bool // write.sequence-number-init-mode=snapshot
	writeOnly          bool
}

// newShape checks that the table can be written (format section 16.1) and
// returns an [*UnsupportedError] or another typed error if it cannot.
func newShape(s *paimon.Schema) (*shape, error) {
	if err := s.Options.Check(); err != nil {
		return nil, err
	}
	if err := refuseFeatures(s); err != nil {
		return nil, err
	}
	h := &shape{schema: s, typ: s.RowType(), keyed: s.HasPrimaryKey(), part: s.PartitionCols(), kindColumn: -1}
	h.writeOnly, _ = s.Options.Bool(paimon.OptWriteOnly)
	if err := h.useBuckets(); err != nil {
		return nil, err
	}
	if err := h.useRows(); err != nil {
		return nil, err
	}
	if !h.keyed {
		h.producer = producer.None{}
		return h, nil
	}
	return h, h.useEngine()
}

// refuseFeatures refuses options that change what a file or a commit must hold
// in ways that are not built.
func refuseFeatures(s *paimon.Schema) error {
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
	if s.HasPrimaryKey() && !writeOnly {
		for _, key := range []string{paimon.OptDeletionVectorsEnabled, paimon.OptForceLookup} {
			if on, _ := o.Bool(key); on {
				return &UnsupportedError{Option: key, What: "rows stay invisible until they are compacted, which is not built yet: set write-only=true and run a compaction job"}
			}
		}
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
	if h.function, err = merge.NewFunction(string(s.MergeEngine()), h.ignoreDelete); err != nil {
		return err
	}
	if h.producer, err = producer.New(string(s.ChangelogProducer()), h.writeOnly); err != nil {
		return err
	}
	mode, err := s.Options.Enum(paimon.OptWriteSequenceInitMode)
	h.seqFromSnapshot = mode == "snapshot"
	return err
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
