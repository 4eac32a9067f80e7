package ingest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"sluice/paimon/rowdata"
)

// DecimalForm says how Debezium wrote DECIMAL columns (decimal.handling.mode).
type DecimalForm int

// The forms of a DECIMAL in Debezium JSON.
const (
	DecimalBase64 DecimalForm = iota // precise, Debezium's default: base64 of the unscaled big-endian bytes
	DecimalText                      // string or double: plain text or a number
)

// DebeziumOptions configures [NewDebezium].
type DebeziumOptions struct {
	// Decimals is how DECIMAL values are written where the messages carry no
	// schema. The default is Debezium's.
	Decimals DecimalForm
	// NoUpdateBefore leaves out the image before of an update. By default it is
	// delivered where the message has it.
	NoUpdateBefore bool
}

// Debezium reads change events of Debezium as JSON lines: envelopes
// ({"before":…,"after":…,"op":…}), with or without schemas, or records of a
// topic dump whose member "value" holds the envelope, as text or object. A null
// value (a tombstone) adds nothing. Columns of the event that the table lacks
// are passed over; columns that the event lacks are NULL.
type Debezium struct {
	in   lines
	t    *rowdata.RowType
	opts DebeziumOptions
}

// NewDebezium returns a decoder of Debezium JSON for a table with these columns.
func NewDebezium(r io.Reader, t *rowdata.RowType, o DebeziumOptions) *Debezium {
	return &Debezium{in: newLines(r), t: t, opts: o}
}

// unavailable is what Debezium writes for a large value that an update did not
// touch and the database did not send.
const unavailable = "__debezium_unavailable_value"

// envelope is the part of a change event that matters here.
type envelope struct {
	Before, After map[string]any
	Op            string
	semantic      map[string]string // column → name of its Connect schema; nil: the message has no schema
	microTimes    bool              // the connector writes TIME of any precision in microseconds
}

// Decode implements [Decoder].
func (d *Debezium) Decode(dst *rowdata.Changes) (Mark, error) {
	line, err := d.in.next()
	if err != nil {
		return Mark{}, err
	}
	at := Mark{Line: d.in.n}
	env, err := parseEnvelope(line)
	if err != nil {
		return Mark{}, &RecordError{Line: at.Line, Err: err}
	}
	if env == nil {
		return at, nil // a tombstone follows a delete that was delivered
	}
	n := dst.N
	if column, err := d.apply(dst, env); err != nil {
		undo(dst, n)
		return Mark{}, &RecordError{Line: at.Line, Column: column, Err: err}
	}
	return at, nil
}

func (d *Debezium) apply(dst *rowdata.Changes, env *envelope) (column string, err error) {
	add := func(kind rowdata.RowKind, row, other map[string]any) (string, error) {
		if row == nil {
			return "", fmt.Errorf("operation %q without its row image", env.Op)
		}
		if col, err := d.row(&dst.Batch, row, other, env); err != nil {
			return col, err
		}
		dst.Kinds = append(dst.Kinds, kind)
		return "", nil
	}
	switch env.Op {
	case "r", "c":
		return add(rowdata.Insert, env.After, nil)
	case "u":
		if env.Before != nil && !d.opts.NoUpdateBefore {
			if col, err := add(rowdata.UpdateBefore, env.Before, nil); err != nil {
				return col, err
			}
		}
		return add(rowdata.UpdateAfter, env.After, env.Before)
	case "d":
		return add(rowdata.Delete, env.Before, nil)
	case "t":
		return "", errors.New("TRUNCATE cannot be applied to a table that keeps its history: exclude it with skipped.operations=t")
	case "m":
		return "", nil // a logical decoding message is no change of a row
	}
	return "", fmt.Errorf("unknown operation %q: want r, c, u or d", env.Op)
}

// parseEnvelope finds the change event in a line; nil for a tombstone.
func parseEnvelope(line []byte) (*envelope, error) {
	x, err := decodeJSON(line)
	if err != nil {
		return nil, err
	}
	o, ok := x.(map[string]any)
	if !ok {
		if x == nil {
			return nil, nil
		}
		return nil, errors.New("want an object with before, after and op")
	}
	if v, ok := o["value"]; ok && o["op"] == nil && o["payload"] == nil {
		switch v := v.(type) {
		case nil:
			return nil, nil
		case string:
			return parseEnvelope([]byte(v))
		case map[string]any:
			o = v
		}
	}
	var semantic map[string]string
	if p, ok := o["payload"]; ok {
		if p == nil {
			return nil, nil
		}
		if semantic, err = columnSchemas(o["schema"]); err != nil {
			return nil, err
		}
		if o, ok = p.(map[string]any); !ok {
			return nil, errors.New("payload is not an object")
		}
	}
	op, ok := o["op"].(string)
	if !ok {
		return nil, errors.New("no op: want a Debezium change event (not unwrapped by a transform)")
	}
	env := &envelope{Op: op, semantic: semantic}
	if source, ok := o["source"].(map[string]any); ok {
		env.microTimes = source["connector"] == "mysql" || source["connector"] == "mariadb"
	}
	env.Before, _ = o["before"].(map[string]any)
	env.After, _ = o["after"].(map[string]any)
	return env, nil
}

// columnSchemas maps the columns of the row images to the names of their
// Connect schemas, such as io.debezium.time.MicroTimestamp.
func columnSchemas(schema any) (map[string]string, error) {
	if schema == nil {
		return nil, nil
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	type node struct {
		Field  string `json:"field"`
		Name   string `json:"name"`
		Type   string `json:"type"`
		Fields []node `json:"fields"`
	}
	var root node
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	names := map[string]string{}
	for _, image := range root.Fields {
		if image.Field == "after" || image.Field == "before" {
			for _, f := range image.Fields {
				names[f.Field] = f.Name
				if f.Name == "" {
					names[f.Field] = f.Type
				}
			}
		}
	}
	return names, nil
}

// row appends one row image. A value that the database did not send is taken
// from the other image if that has it.
func (d *Debezium) row(b *rowdata.Batch, image, other map[string]any, env *envelope) (column string, err error) {
	for i := range d.t.Fields {
		f := &d.t.Fields[i]
		x := image[f.Name]
		if x == unavailable {
			if x = other[f.Name]; x == nil || x == unavailable {
				return f.Name, errors.New("the database did not send this unchanged value: set REPLICA IDENTITY FULL on the source table")
			}
		}
		if x == nil {
			b.Cols[i].AppendNull()
			continue
		}
		if err := d.value(b.Cols[i], x, env.semanticOf(f)); err != nil {
			return f.Name, fmt.Errorf("value %v for %s: %w", x, f.Type, err)
		}
	}
	b.CloseRow()
	return "", nil
}

const microTime = "io.debezium.time.MicroTime"

// semanticOf returns the name of the Connect schema of a column, or "".
func (e *envelope) semanticOf(f *rowdata.Field) string {
	if e.semantic == nil && e.microTimes && f.Type.Root == rowdata.Time {
		return microTime
	}
	return e.semantic[f.Name]
}

// value appends x, converted from the form that Debezium gives its type. The
// semantic name decides where it is known, else the type of the column.
func (d *Debezium) value(v *rowdata.Vector, x any, semantic string) error {
	t := v.Type
	switch t.Root {
	case rowdata.Decimal:
		s, isText := x.(string)
		if isText && (semantic == "org.apache.kafka.connect.data.Decimal" || semantic == "" && d.opts.Decimals == DecimalBase64) {
			return appendUnscaled(v, s)
		}
		return rowdata.AppendParsed(v, fmt.Sprint(x))
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		return appendInstant(v, x, semantic)
	case rowdata.Date:
		if n, err := integer(x); err == nil {
			v.AppendI32(int32(n))
			return nil
		}
	case rowdata.Time:
		if n, err := integer(x); err == nil {
			if semantic == microTime || semantic == "" && t.Precision > 3 {
				n /= 1000
			}
			v.AppendI32(int32(n))
			return nil
		}
	case rowdata.Boolean:
		if n, err := integer(x); err == nil { // MySQL's BOOLEAN is a TINYINT(1)
			v.AppendBool(n != 0)
			return nil
		}
	case rowdata.Char, rowdata.Varchar:
		if _, ok := x.(string); !ok {
			raw, err := json.Marshal(x)
			if err != nil {
				return err
			}
			x = string(raw)
		}
	}
	return rowdata.AppendFromJSON(v, x)
}

func integer(x any) (int64, error) {
	n, ok := x.(json.Number)
	if !ok {
		return 0, errors.New("want a number")
	}
	return n.Int64()
}

// appendUnscaled reads the base64 of a two's complement unscaled value, which
// has the scale of the column.
func appendUnscaled(v *rowdata.Vector, s string) error {
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return fmt.Errorf("not base64 (%w): if decimal.handling.mode is string or double, say so", err)
	}
	if len(raw) == 0 || len(raw) > 17 {
		return errors.New("an unscaled decimal has 1 to 17 bytes")
	}
	n := new(big.Int).SetBytes(raw)
	if raw[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	if limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.Type.Precision)), nil); n.CmpAbs(limit) >= 0 {
		return fmt.Errorf("unscaled %s has more than %d digits", n, v.Type.Precision)
	}
	if v.Storage() == rowdata.StoreI64 {
		v.AppendI64(n.Int64())
		return nil
	}
	x, _ := rowdata.Int128FromBig(n)
	v.AppendI128(x)
	return nil
}

// appendInstant reads a number of milliseconds, microseconds or nanoseconds
// since the epoch, or ISO text with a zone.
func appendInstant(v *rowdata.Vector, x any, semantic string) error {
	if s, ok := x.(string); ok {
		if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
			ms := at.UnixMilli()
			v.AppendTimestamp(ms, int32(at.UnixNano()-ms*1_000_000))
			return nil
		}
		return rowdata.AppendParsed(v, strings.TrimSuffix(s, "Z"))
	}
	n, err := integer(x)
	if err != nil {
		return err
	}
	perMilli := int64(1)
	switch {
	case strings.HasSuffix(semantic, "MicroTimestamp"), semantic == "" && v.Type.Precision > 3 && v.Type.Precision <= 6:
		perMilli = 1000
	case strings.HasSuffix(semantic, "NanoTimestamp"), semantic == "" && v.Type.Precision > 6:
		perMilli = 1_000_000
	}
	ms, rest := n/perMilli, n%perMilli
	if rest < 0 {
		ms, rest = ms-1, rest+perMilli
	}
	v.AppendTimestamp(ms, int32(rest*(1_000_000/perMilli)))
	return nil
}
