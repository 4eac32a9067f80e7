package tablewriter

import (
	"context"

	"sluice/lsm"
	"sluice/lsm/merge"
	"sluice/paimon/manifest"
	"sluice/paimon/tablefile"
)

// openFile opens a file of a bucket's levels.
func (s *shard) openFile(ctx context.Context, to destination, f *lsm.File) (merge.Source, error) {
	return s.openEntry(ctx, &manifest.Entry{Partition: []byte(to.partition), Bucket: to.bucket, File: f.DataFile})
}

// openEntry opens a data or changelog file in the columns that the table has now.
func (s *shard) openEntry(ctx context.Context, e *manifest.Entry) (*tablefile.File, error) {
	h := s.shape
	return tablefile.Open(ctx, s.table, e, tablefile.Spec{Schema: h.schema, Cols: h.cols, Want: h.typ, System: true, BatchRows: readBatchRows})
}

// readBatchRows is how many rows of a file are read at a time.
const readBatchRows = 4096
