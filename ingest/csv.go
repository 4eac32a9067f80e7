package ingest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"sluice/paimon/rowdata"
)

// CSVKindColumn is the name of an optional column of a CSV file that holds the
// kind of each row. Without it every row is +I.
const CSVKindColumn = "_kind"

// CSV reads comma-separated values with a header line of column names, in any
// order; a column that is not named is NULL or its default. An empty field is
// NULL, an empty field in quotes cannot be told from it. Values are parsed as
// CAST(text AS type); nested types are not supported.
type CSV struct {
	r     *csv.Reader
	t     *rowdata.RowType
	cols  []int // position in the table for each field, -1 the kind
	rest  []int // table columns that the file lacks
	count int64
}

// NewCSV returns a decoder of CSV for a table with these columns.
func NewCSV(r io.Reader, t *rowdata.RowType) *CSV {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	return &CSV{r: c, t: t}
}

func (d *CSV) header() error {
	names, err := d.r.Read()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, name := range names {
		at := d.t.Index(name)
		if at < 0 && name != CSVKindColumn {
			return &RecordError{Line: 1, Column: name, Err: errors.New("the table has no such column")}
		}
		if seen[name] {
			return &RecordError{Line: 1, Column: name, Err: errors.New("named twice in the header")}
		}
		seen[name] = true
		d.cols = append(d.cols, at)
	}
	for i := range d.t.Fields {
		if f := &d.t.Fields[i]; !seen[f.Name] {
			d.rest = append(d.rest, i)
		} else if f.Type.IsNested() {
			return &RecordError{Line: 1, Column: f.Name, Err: fmt.Errorf("CSV cannot hold %s: use JSON lines", f.Type)}
		}
	}
	return nil
}

// Decode implements [Decoder].
func (d *CSV) Decode(dst *rowdata.Changes) (Mark, error) {
	if d.cols == nil {
		if err := d.header(); err != nil {
			return Mark{}, wrapCSV(err)
		}
	}
	rec, err := d.r.Read()
	if err != nil {
		return Mark{}, wrapCSV(err)
	}
	line, _ := d.r.FieldPos(0)
	n := dst.N
	kind, col, err := d.row(&dst.Batch, rec)
	if err != nil {
		undo(dst, n)
		return Mark{}, &RecordError{Line: int64(line), Column: col, Err: err}
	}
	dst.CloseRow()
	dst.Kinds = append(dst.Kinds, kind)
	d.count++
	return Mark{Line: d.count, At: int64(line)}, nil
}

// row appends one value to each column and names the column of an error.
func (d *CSV) row(b *rowdata.Batch, rec []string) (kind rowdata.RowKind, column string, err error) {
	for i, at := range d.cols {
		switch {
		case at < 0:
			if kind, err = rowdata.ParseRowKind(rec[i]); err != nil {
				return 0, CSVKindColumn, err
			}
		case rec[i] == "":
			b.Cols[at].AppendNull()
		default:
			if err := rowdata.AppendParsed(b.Cols[at], rec[i]); err != nil {
				return 0, d.t.Fields[at].Name, err
			}
		}
	}
	for _, at := range d.rest {
		b.Cols[at].AppendNull()
	}
	return kind, "", nil
}

func wrapCSV(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return &RecordError{Line: int64(p.Line), Err: p.Err}
	}
	return err
}
