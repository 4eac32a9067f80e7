// Package tablefile opens the data and changelog files of a table by what a
// manifest says of them: where they lie, which columns they have, and what is not
// in the file itself.
package tablefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sluice/objstore"
	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/dv"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Spec says how a file is read.
type Spec struct {
	Schema    *paimon.Schema   // that rows are read in
	Cols      []int            // the columns wanted, as positions in Schema
	Want      *rowdata.RowType // these columns
	System    bool             // sequence numbers and kinds are wanted
	BatchRows int              // of a batch, at most
	Skip      int64            // rows to pass over, deleted ones not counted
	Deleted   *dv.Vector       // positions that are no rows any more; nil: none
}

// File reads the rows of one file, as its [Spec] wants them. It is a merge.Source.
type File struct {
	src  objstore.Reader
	data *datafile.Reader
	name string // in the store
	seq  int64  // replaces the sequence number of each row, if fixed
	fix  bool
}

// Open opens the file of a manifest entry. Errors name the file; one of a format
// that is not read is a [*datafile.UnsupportedFormatError].
func Open(ctx context.Context, t *paimon.Table, e *manifest.Entry, spec Spec) (*File, error) {
	place := datafile.Resolve(e.File.FileName)
	fileSchema, err := t.SchemaByID(ctx, e.File.SchemaID)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", e.File.FileName, err)
	}
	f := &File{name: path(t, e, place)}
	if f.src, err = t.Store.Open(ctx, f.name); err != nil {
		return nil, fmt.Errorf("file %s: %w", f.name, err)
	}
	if err := f.open(t, e, place, fileSchema, &spec); err != nil {
		return nil, errors.Join(err, f.src.Close())
	}
	return f, nil
}

func (f *File) open(t *paimon.Table, e *manifest.Entry, place datafile.Location, fileSchema *paimon.Schema, spec *Spec) (err error) {
	var src io.ReaderAt = f.src
	size := f.src.Size()
	if place.Length >= 0 {
		if place.Offset > size || place.Length > size-place.Offset {
			return fmt.Errorf("file %s: %s names %d bytes from %d of %d", f.name, e.File.FileName, place.Length, place.Offset, size)
		}
		src, size = io.NewSectionReader(f.src, place.Offset, place.Length), place.Length
	}
	read := datafile.ReadSpec{
		Want: spec.Want, File: fileSchema.RowType(), System: spec.System, BatchRows: spec.BatchRows,
		Constants: spec.constants(t.DecodePartition(e.Partition)),
	}
	if e.File.HasWriteCols {
		read.WriteCols = e.File.WriteCols
	}
	if spec.Deleted != nil {
		read.DV = spec.Deleted
	}
	if f.data, err = datafile.Open(src, size, e.File.FileName, read); err != nil {
		return fmt.Errorf("file %s: %w", f.name, err)
	}
	if skip := physicalRow(spec.Deleted, spec.Skip); skip > 0 {
		if err := f.data.SkipRows(skip); err != nil {
			return fmt.Errorf("file %s: skip %d rows: %w", f.name, skip, errors.Join(err, f.data.Close()))
		}
	}
	if ordered, _ := spec.Schema.Options.Bool(paimon.OptSequenceSnapshotOrdering); ordered && e.File.Source != nil && *e.File.Source == manifest.SourceAppend {
		f.seq, f.fix = e.File.MinSeq, true
	}
	return nil
}

// constants returns for each of the wanted columns its value in the partition, or
// nil if it is no partition column: such values come from the manifest, never from
// the file (format section 2.6).
func (s *Spec) constants(values []*rowdata.Vector) []*rowdata.Vector {
	if len(values) == 0 {
		return nil
	}
	c := make([]*rowdata.Vector, len(s.Cols))
	for k, i := range s.Schema.PartitionCols() {
		if at := slices.Index(s.Cols, i); at >= 0 {
			c[at] = values[k]
		}
	}
	return c
}

// physicalRow returns the position in its file of row n, deleted ones not counted.
func physicalRow(d *dv.Vector, n int64) int64 {
	if d == nil || n == 0 {
		return n
	}
	d.Iterate(func(position int64) bool {
		if position > n {
			return false
		}
		n++
		return true
	})
	return n
}

// Next resets dst and fills it with the next rows; 0 and io.EOF at the end.
func (f *File) Next(dst *rowdata.KeyValues) (int, error) {
	n, err := f.data.Next(dst)
	if err != nil && err != io.EOF {
		return 0, fmt.Errorf("file %s: %w", f.name, err)
	}
	if f.fix {
		for i := range dst.Seq {
			dst.Seq[i] = f.seq
		}
	}
	return n, err
}

// Close closes the file.
func (f *File) Close() error { return errors.Join(f.data.Close(), f.src.Close()) }

// Path returns the name in the store of a file of the table. A part of a compacted
// changelog may lie in the folder of another bucket (format section 10.3).
func Path(t *paimon.Table, e *manifest.Entry) string {
	return path(t, e, datafile.Resolve(e.File.FileName))
}

func path(t *paimon.Table, e *manifest.Entry, place datafile.Location) string {
	path := t.DataFilePath(e)
	if place.BucketDir == "" {
		return path
	}
	dir, _ := objstore.SplitName(path)
	parent, _ := objstore.SplitName(dir)
	return objstore.JoinName(objstore.JoinName(parent, place.BucketDir), place.Name)
}
