package snapshotreader

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Defaults of ScanSpec and Options.
const (
	BatchRowsDefault  = 4096
	BatchBytesDefault = 1 << 20
)

// ScanSpec says what of a snapshot is read. The zero value is all that a batch
// reader sees.
type ScanSpec struct {
	// Schema is what rows are delivered in; nil: the schema of the snapshot.
	Schema *paimon.Schema
	// Columns are delivered, in this order; nil: all.
	Columns []string
	// Filter selects rows; nil: all.
	Filter Filter
	// Partitions selects partitions by their values, a vector of one row for
	// each partition column; nil: all.
	Partitions func(values []*rowdata.Vector) bool
	// Buckets selects buckets by number and by how many there were when the
	// file was written, -1 if that means nothing; nil: all.
	Buckets func(bucket, total int32) bool
	// Levels of primary-key tables.
	Levels Levels
	// BatchRows is how many rows a batch has at most; 4096 if 0.
	BatchRows int
	// BatchBytes is about how many bytes a batch takes at most; 1 MiB if 0.
	BatchBytes int
	// Kinds keeps the kinds of rows that were merged, +I or +U as stored. Without
	// it every row is +I.
	Kinds bool
	// Keep makes each batch own its memory.
	Keep bool
}

// Scan prepares reading the rows of a snapshot: the newest version of each key,
// deleted ones left out, or all rows of an append table. Rows come in the order of
// partition values, bucket numbers, then by key, or in append tables by file: the
// same every time.
//
// Memory is bounded by a batch of each sorted run of one section of one bucket. A
// feature that is not read yet is an *UnsupportedError.
func Scan(ctx context.Context, t *paimon.Table, snap *paimon.Snapshot, spec ScanSpec) (*Scanner, error) {
	schema := spec.Schema
	if schema == nil {
		var err error
		if schema, err = t.SchemaByID(ctx, snap.SchemaID); err != nil {
			return nil, fmt.Errorf("scan snapshot %d: %w", snap.ID, err)
		}
	}
	s := &Scanner{table: t, snap: snap, schema: schema, spec: spec, limits: limitsOf(spec.BatchRows, spec.BatchBytes)}
	var err error
	if s.proj, err = newProjection(schema, spec.Columns, filterColumns(spec.Filter), true); err != nil {
		return nil, fmt.Errorf("scan snapshot %d: %w", snap.ID, err)
	}
	if s.units, err = planState(ctx, t, snap, schema, spec); err != nil {
		return nil, fmt.Errorf("scan snapshot %d: %w", snap.ID, err)
	}
	return s, nil
}

func limitsOf(rows, bytes int) batchLimits {
	l := batchLimits{rows: rows, bytes: bytes}
	if l.rows <= 0 {
		l.rows = BatchRowsDefault
	}
	if l.bytes <= 0 {
		l.bytes = BatchBytesDefault
	}
	return l
}

// planState finds the units of the state of a snapshot: a group of files each.
func planState(ctx context.Context, t *paimon.Table, snap *paimon.Snapshot, schema *paimon.Schema, spec ScanSpec) ([]unit, error) {
	if err := checkReadable(schema); err != nil {
		return nil, err
	}
	entries, err := t.LiveEntries(ctx, snap, liveFilter(t, schema, spec))
	if err != nil {
		return nil, err
	}
	files := make([]*manifest.Entry, len(entries))
	for i := range entries {
		files[i] = &entries[i]
	}
	groups, err := groupFiles(files, schema.PartitionTypes())
	if err != nil {
		return nil, err
	}
	vecs, err := loadVectors(ctx, t, snap)
	if err != nil {
		return nil, err
	}
	levels := spec.Levels.resolve(schema)
	units := make([]unit, 0, len(groups))
	for i := range groups {
		g := &groups[i]
		if schema.HasPrimaryKey() {
			keepLevels(g, levels, topLevel(g.files, schema))
		}
		if spec.Filter != nil {
			if err := pruneGroup(ctx, t, g, schema, levels, spec.Filter); err != nil {
				return nil, err
			}
		}
		if len(g.files) > 0 {
			units = append(units, unit{partition: g.partition, bucket: g.bucket, group: g, vectors: vecs})
		}
	}
	return units, nil
}

// liveFilter makes the selections that each entry answers by itself. Rows that
// wait in the postpone bucket are no part of the state yet.
func liveFilter(t *paimon.Table, s *paimon.Schema, spec ScanSpec) paimon.Filter {
	var f paimon.Filter
	if spec.Partitions != nil {
		f.Partition = func(row []byte) bool { return spec.Partitions(t.DecodePartition(row)) }
	}
	if s.HasPrimaryKey() {
		f.Bucket = func(bucket, total int32) bool {
			return bucket >= 0 && (spec.Buckets == nil || spec.Buckets(bucket, total))
		}
	} else {
		f.Bucket = spec.Buckets
	}
	return f
}

// keepLevels drops the files of other levels from a group.
func keepLevels(g *group, levels Levels, top int32) {
	kept := g.files[:0]
	for _, e := range g.files {
		if levels.keeps(e.File.Level, top) {
			kept = append(kept, e)
		}
	}
	g.files = kept
}

// checkReadable refuses tables whose state this version cannot read.
func checkReadable(s *paimon.Schema) error {
	for _, o := range []string{paimon.OptDataEvolution, paimon.OptPKClusteringOverride, paimon.OptChainTable} {
		if on, _ := s.Options.Bool(o); on {
			return &UnsupportedError{What: "option " + o}
		}
	}
	if !s.HasPrimaryKey() {
		return nil
	}
	_, err := mergeEngine(&projection{schema: s, cols: identity(len(s.Fields))})
	return err
}

// Scanner reads the rows of a snapshot. It is used by one goroutine.
type Scanner struct {
	table  *paimon.Table
	snap   *paimon.Snapshot
	schema *paimon.Schema
	spec   ScanSpec
	proj   *projection
	limits batchLimits

	units []unit
	at    int // unit
	rows  *unitReader
	row   uint64 // of the unit
	buf   *rowdata.KeyValues
	pick  []int32 // rows that the filter takes
	err   error   // sticky
}

// Schema returns what rows are delivered in.
func (s *Scanner) Schema() *paimon.Schema { return s.schema }

// Columns returns the columns that are delivered.
func (s *Scanner) Columns() *rowdata.RowType { return s.proj.out }

// Next returns the next rows, at least one, or io.EOF at the end. Cursors of the
// batch are not set. The batch is valid until the next call, or for ever with
// ScanSpec.Keep. After an error the scan is over, but when ctx ended.
func (s *Scanner) Next(ctx context.Context) (*Batch, error) {
	if s.err != nil {
		return nil, s.err
	}
	b, err := s.next(ctx)
	if paused := (*pausedError)(nil); errors.As(err, &paused) {
		return nil, paused.cause
	}
	if err != nil {
		s.err = err
		if err != io.EOF {
			s.err = fmt.Errorf("scan snapshot %d: %w", s.snap.ID, err)
		}
		s.err = joinClose(s.err, s.closeUnit())
	}
	return b, s.err
}

func (s *Scanner) next(ctx context.Context) (*Batch, error) {
	for {
		if s.rows == nil {
			if s.at == len(s.units) {
				return nil, io.EOF
			}
			var err error
			if s.rows, err = openUnit(s.table, s.proj, &s.units[s.at], s.limits, 0); err != nil {
				return nil, err
			}
		}
		buf := s.buf
		if s.spec.Keep {
			buf = nil
		}
		kv, err := s.rows.next(ctx, buf)
		if err == io.EOF {
			if err := s.closeUnit(); err != nil {
				return nil, err
			}
			s.at++
			continue
		}
		if err != nil {
			return nil, err
		}
		s.buf = kv
		b, err := s.batch(kv)
		if b != nil || err != nil {
			return b, err
		}
	}
}

// batch makes a batch of decoded rows; nil if the filter takes none.
func (s *Scanner) batch(kv *rowdata.KeyValues) (*Batch, error) {
	u := &s.units[s.at]
	b := &Batch{Snapshot: s.snap, Schema: s.schema, Partition: u.partition, Bucket: u.bucket}
	kinds := kv.Kinds
	if !s.spec.Kinds || !s.rows.cur.kinds {
		kinds = nil
	}
	b.Rows = rowdata.Changes{Kinds: kinds, Batch: s.proj.deliver(&kv.Batch)}
	if s.spec.Filter == nil {
		return b, nil
	}
	var err error
	if s.pick, err = s.filter(s.pick[:0], kv); err != nil || len(s.pick) == 0 {
		return nil, err
	}
	if len(s.pick) < kv.N {
		picked := rowdata.NewBatch(b.Rows.Type, len(s.pick))
		picked.Gather(&b.Rows.Batch, s.pick)
		b.Rows.Batch = *picked
		if kinds != nil {
			b.Rows.Kinds = make([]rowdata.RowKind, len(s.pick))
			for k, i := range s.pick {
				b.Rows.Kinds[k] = kinds[i]
			}
		}
	}
	return b, nil
}

func (s *Scanner) filter(dst []int32, kv *rowdata.KeyValues) ([]int32, error) {
	cols := make([]*rowdata.Vector, len(s.proj.filter))
	for i, at := range s.proj.filter {
		cols[i] = kv.Cols[at]
	}
	return s.spec.Filter.Select(dst, cols, kv.N)
}

func (s *Scanner) closeUnit() error {
	r := s.rows
	s.rows = nil
	if r == nil {
		return nil
	}
	return r.close()
}

// Close ends the scan. It may be called at any time, and again.
func (s *Scanner) Close() error {
	if s.err == nil {
		s.err = ErrClosed
	}
	s.buf = nil
	return s.closeUnit()
}

// joinClose adds the error of closing to one that is to be returned.
func joinClose(err, closed error) error {
	switch {
	case closed == nil:
		return err
	case err == io.EOF:
		return closed
	}
	return errors.Join(err, closed)
}
