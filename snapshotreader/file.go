package snapshotreader

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/dv"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// fileReader reads the rows of one file, as a projection wants them. It is a
// merge.Source.
type fileReader struct {
	src  objstore.Reader
	data *datafile.Reader
	name string // in the store
	seq  int64  // replaces the sequence number of each row, if fixed
	fix  bool
}

// fileSpec says how a file is read.
type fileSpec struct {
	want      *rowdata.RowType
	system    bool // sequence numbers and kinds are wanted
	batchRows int
	skip      int64      // rows to pass over, deleted ones not counted
	deleted   *dv.Vector // positions that are no rows any more; nil: none
}

// openFile opens the file of a manifest entry.
func openFile(ctx context.Context, t *paimon.Table, e *manifest.Entry, p *projection, spec fileSpec) (*fileReader, error) {
	place := datafile.Resolve(e.File.FileName)
	fileSchema, err := t.SchemaByID(ctx, e.File.SchemaID)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", e.File.FileName, err)
	}
	r := &fileReader{name: filePath(t, e, place)}
	if r.src, err = t.Store.Open(ctx, r.name); err != nil {
		return nil, fmt.Errorf("file %s: %w", r.name, err)
	}
	if err := r.open(t, e, p, place, fileSchema, spec); err != nil {
		return nil, errors.Join(err, r.src.Close())
	}
	return r, nil
}

func (r *fileReader) open(t *paimon.Table, e *manifest.Entry, p *projection, place datafile.Location, fileSchema *paimon.Schema, spec fileSpec) (err error) {
	var src io.ReaderAt = r.src
	size := r.src.Size()
	if place.Length >= 0 {
		if place.Offset > size || place.Length > size-place.Offset {
			return fmt.Errorf("file %s: %s names %d bytes from %d of %d", r.name, e.File.FileName, place.Length, place.Offset, size)
		}
		src, size = io.NewSectionReader(r.src, place.Offset, place.Length), place.Length
	}
	read := datafile.ReadSpec{
		Want: spec.want, File: fileSchema.RowType(), System: spec.system, BatchRows: spec.batchRows,
		Constants: p.constants(t.DecodePartition(e.Partition), len(spec.want.Fields)),
	}
	if e.File.HasWriteCols {
		read.WriteCols = e.File.WriteCols
	}
	if spec.deleted != nil {
		read.DV = spec.deleted
	}
	if r.data, err = datafile.Open(src, size, e.File.FileName, read); err != nil {
		return unsupportedFile(fmt.Errorf("file %s: %w", r.name, err))
	}
	if skip := physicalRow(spec.deleted, spec.skip); skip > 0 {
		if err := r.data.SkipRows(skip); err != nil {
			return fmt.Errorf("file %s: skip %d rows: %w", r.name, skip, errors.Join(err, r.data.Close()))
		}
	}
	if ordered, _ := p.schema.Options.Bool(paimon.OptSequenceSnapshotOrdering); ordered && e.File.Source != nil && *e.File.Source == manifest.SourceAppend {
		r.seq, r.fix = e.File.MinSeq, true
	}
	return nil
}

// Next resets dst and fills it with the next rows; 0 and io.EOF at the end.
func (r *fileReader) Next(dst *rowdata.KeyValues) (int, error) {
	n, err := r.data.Next(dst)
	if err != nil && err != io.EOF {
		return 0, fmt.Errorf("file %s: %w", r.name, err)
	}
	if r.fix {
		for i := range dst.Seq {
			dst.Seq[i] = r.seq
		}
	}
	return n, err
}

// Close closes the file.
func (r *fileReader) Close() error { return errors.Join(r.data.Close(), r.src.Close()) }

// filePath returns the name in the store of a file of the table. A part of a
// compacted changelog may lie in the folder of another bucket (format section 10.3).
func filePath(t *paimon.Table, e *manifest.Entry, place datafile.Location) string {
	path := t.DataFilePath(e)
	if place.BucketDir == "" {
		return path
	}
	dir, _ := objstore.SplitName(path)
	parent, _ := objstore.SplitName(dir)
	return objstore.JoinName(objstore.JoinName(parent, place.BucketDir), place.Name)
}

// unsupportedFile turns what datafile says of a format that it does not read into
// the error of this package.
func unsupportedFile(err error) error {
	var format *datafile.UnsupportedFormatError
	if errors.As(err, &format) {
		return &UnsupportedError{What: "file format " + format.Format, Err: err}
	}
	return err
}
