package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/lsm"
	"sluice/lsm/merge"
	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// tableFile reads a data or changelog file of the table in the columns that the
// table has now.
type tableFile struct {
	data *datafile.Reader
	obj  objstore.Reader
	name string
}

// Next implements [merge.Source].
func (f *tableFile) Next(dst *rowdata.KeyValues) (int, error) {
	n, err := f.data.Next(dst)
	if err != nil && err != io.EOF {
		return 0, fmt.Errorf("file %s: %w", f.name, err)
	}
	return n, err
}

// Close closes the file.
func (f *tableFile) Close() error { return errors.Join(f.data.Close(), f.obj.Close()) }

var _ merge.Source = (*tableFile)(nil)

// openFile opens a file of a bucket's levels.
func (s *shard) openFile(ctx context.Context, to destination, f *lsm.File) (merge.Source, error) {
	e := &manifest.Entry{Partition: []byte(to.partition), Bucket: to.bucket, File: f.DataFile}
	return openTableFile(ctx, s.table, s.shape, e)
}

func openTableFile(ctx context.Context, t *paimon.Table, h *shape, e *manifest.Entry) (_ *tableFile, err error) {
	name := t.DataFilePath(e)
	defer func() {
		if err != nil {
			err = fmt.Errorf("file %s: %w", name, err)
		}
	}()
	schema, err := t.SchemaByID(ctx, e.File.SchemaID)
	if err != nil {
		return nil, err
	}
	spec := datafile.ReadSpec{Want: h.typ, File: schema.RowType(), System: true, BatchRows: readBatchRows}
	if e.File.HasWriteCols {
		spec.WriteCols = e.File.WriteCols
	}
	if len(h.part) > 0 {
		spec.Constants = make([]*rowdata.Vector, len(h.typ.Fields))
		for i, v := range t.DecodePartition(e.Partition) {
			spec.Constants[h.part[i]] = v
		}
	}
	obj, err := t.Store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := datafile.Open(obj, obj.Size(), e.File.FileName, spec)
	if err != nil {
		return nil, errors.Join(err, obj.Close())
	}
	return &tableFile{data: r, obj: obj, name: name}, nil
}

// readBatchRows is how many rows of a file are read at a time.
const readBatchRows = 4096
