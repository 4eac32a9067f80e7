package snapshotreader

import (
	"context"
	"errors"

	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/dv"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/paimon/tablefile"
)

// fileSpec says how a file is read.
type fileSpec struct {
	want      *rowdata.RowType // the first columns of the projection
	system    bool             // sequence numbers and kinds are wanted
	batchRows int
	skip      int64      // rows to pass over, deleted ones not counted
	deleted   *dv.Vector // positions that are no rows any more; nil: none
}

// openFile opens the file of a manifest entry, as a projection wants it.
func openFile(ctx context.Context, t *paimon.Table, e *manifest.Entry, p *projection, spec fileSpec) (*tablefile.File, error) {
	f, err := tablefile.Open(ctx, t, e, tablefile.Spec{
		Schema: p.schema, Cols: p.cols[:len(spec.want.Fields)], Want: spec.want,
		System: spec.system, BatchRows: spec.batchRows, Skip: spec.skip, Deleted: spec.deleted,
	})
	return f, unsupportedFile(err)
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
