package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sluice/paimon/rowdata"
)

// JSONL reads JSON lines: {"kind":"+U","row":{…}} is a change, a bare object or
// list is an upsert (+I), {"commit":true} ends a commit. Rows are objects by
// column name, where a missing column is NULL or its default, or lists of all
// values in order. Unknown columns are refused.
type JSONL struct {
	in lines
	t  *rowdata.RowType
}

// NewJSONL returns a decoder of JSON lines for a table with these columns.
func NewJSONL(r io.Reader, t *rowdata.RowType) *JSONL { return &JSONL{in: newLines(r), t: t} }

// Decode implements [Decoder].
func (d *JSONL) Decode(dst *rowdata.Changes) (Mark, error) {
	line, err := d.in.next()
	if err != nil {
		return Mark{}, err
	}
	at := Mark{Line: d.in.n}
	x, err := decodeJSON(line)
	if err != nil {
		return Mark{}, &RecordError{Line: at.Line, Err: err}
	}
	kind := rowdata.Insert
	if o, ok := x.(map[string]any); ok {
		row, hasRow := o["row"]
		commit, hasCommit := o["commit"]
		switch {
		case hasRow && d.t.Index("row") < 0:
			for k := range o {
				if k != "row" && k != "kind" {
					return Mark{}, &RecordError{Line: at.Line, Err: fmt.Errorf("unknown member %q: a change has kind and row", k)}
				}
			}
			x = row
			if k, ok := o["kind"]; ok {
				text, _ := k.(string)
				if kind, err = rowdata.ParseRowKind(text); err != nil {
					return Mark{}, &RecordError{Line: at.Line, Err: err}
				}
			}
		case hasCommit && len(o) == 1 && d.t.Index("commit") < 0:
			if commit != true {
				return Mark{}, &RecordError{Line: at.Line, Err: errors.New(`commit must be true: write {"commit":true}`)}
			}
			at.Commit = true
			return at, nil
		}
	}
	if list, ok := x.([]any); ok && len(list) != len(d.t.Fields) {
		return Mark{}, &RecordError{Line: at.Line, Err: fmt.Errorf("a list of %d values for %d columns: give all, or an object by column name", len(list), len(d.t.Fields))}
	}
	n := dst.N
	if err := rowdata.AppendJSONRow(&dst.Batch, x); err != nil {
		undo(dst, n)
		return Mark{}, &RecordError{Line: at.Line, Err: err}
	}
	dst.Kinds = append(dst.Kinds, kind)
	return at, nil
}

// decodeJSON reads one JSON value with numbers kept as text.
func decodeJSON(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value on the line")
	}
	return x, nil
}
