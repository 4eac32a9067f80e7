package avrofile

import (
	"fmt"
	"strconv"
	"unicode"

	"sluice/paimon/rowdata"
)

// Names that the original gives to the record of a row. Members are records
// named after their path: record_r_member.
const (
	recordName  = "record"
	recordSpace = "org.apache.paimon.avro.generated"
)

// Greatest precisions that the Avro logical types in use can hold.
const (
	timePrecisionMax      = 3
	timestampPrecisionMax = 6
)

// schemaWriter builds the JSON text of an Avro schema.
type schemaWriter struct {
	out   []byte
	names map[string]bool // records defined so far
}

// schemaJSON returns the Avro schema of rows with these fields, byte for byte as
// the original writes it.
func schemaJSON(fields []rowdata.Field) (string, error) {
	w := schemaWriter{names: map[string]bool{}}
	if err := w.record(recordName, fields, "", true); err != nil {
		return "", err
	}
	return string(w.out), nil
}

func (w *schemaWriter) text(s string) { w.out = append(w.out, s...) }

// record writes the definition of a record. An Avro name is defined once; two
// paths that give the same name are refused.
func (w *schemaWriter) record(name string, fields []rowdata.Field, path string, top bool) error {
	if err := w.open(name, path, top); err != nil {
		return err
	}
	for i := range fields {
		f := &fields[i]
		if i > 0 {
			w.text(",")
		}
		if err := w.field(f.Name, f.Type, name+"_"+f.Name, join(path, f.Name), true); err != nil {
			return err
		}
	}
	w.text("]}")
	return nil
}

func (w *schemaWriter) open(name, path string, top bool) error {
	if w.names[name] {
		return &UnsupportedTypeError{Column: path, Type: &rowdata.Type{Root: rowdata.Row}, Reason: "another column has the record name " + name + " already"}
	}
	w.names[name] = true
	w.text(`{"type":"record","name":"` + name + `",`)
	if top {
		w.text(`"namespace":"` + recordSpace + `",`)
	}
	w.text(`"fields":[`)
	return nil
}

func (w *schemaWriter) field(name string, t *rowdata.Type, record, path string, withDefault bool) error {
	if !validName(name) {
		return &UnsupportedTypeError{Column: path, Type: t, Reason: "the name is none of Avro, which has letters, digits and underscores"}
	}
	w.text(`{"name":"` + name + `","type":`)
	if err := w.typ(t, record, path); err != nil {
		return err
	}
	if withDefault && !t.NotNull {
		w.text(`,"default":null`)
	}
	w.text("}")
	return nil
}

// typ writes a type: a union with null in front if it is nullable.
func (w *schemaWriter) typ(t *rowdata.Type, record, path string) error {
	if t.NotNull {
		return w.value(t, record, path)
	}
	w.text(`["null",`)
	if err := w.value(t, record, path); err != nil {
		return err
	}
	w.text("]")
	return nil
}

func (w *schemaWriter) value(t *rowdata.Type, record, path string) error {
	refuse := func(reason string) error { return &UnsupportedTypeError{Column: path, Type: t, Reason: reason} }
	switch t.Root {
	case rowdata.Boolean:
		w.text(`"boolean"`)
	case rowdata.TinyInt, rowdata.SmallInt, rowdata.Int:
		w.text(`"int"`)
	case rowdata.BigInt:
		w.text(`"long"`)
	case rowdata.Float:
		w.text(`"float"`)
	case rowdata.Double:
		w.text(`"double"`)
	case rowdata.Char, rowdata.Varchar:
		w.text(`"string"`)
	case rowdata.Binary, rowdata.Varbinary, rowdata.Blob:
		w.text(`"bytes"`)
	case rowdata.Decimal:
		w.text(`{"type":"bytes","logicalType":"decimal","precision":` + strconv.Itoa(t.Precision) + `,"scale":` + strconv.Itoa(t.Scale) + `}`)
	case rowdata.Date:
		w.text(`{"type":"int","logicalType":"date"}`)
	case rowdata.Time:
		if t.Precision > timePrecisionMax {
			return refuse(fmt.Sprintf("the precision of TIME is at most %d", timePrecisionMax))
		}
		w.text(`{"type":"int","logicalType":"time-millis"}`)
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		name, unit := "timestamp", "millis"
		if t.Root == rowdata.TimestampLTZ {
			name = "local-timestamp" // the other way round than one would think
		}
		if t.Precision > 3 {
			unit = "micros"
		}
		if t.Precision > timestampPrecisionMax {
			return refuse(fmt.Sprintf("the precision of timestamps is at most %d", timestampPrecisionMax))
		}
		w.text(`{"type":"long","logicalType":"` + name + "-" + unit + `"}`)
	case rowdata.Array, rowdata.Vec:
		w.text(`{"type":"array","items":`)
		if err := w.typ(t.Elem, record, join(path, "element")); err != nil {
			return err
		}
		w.text("}")
	case rowdata.Map:
		if !t.Key.IsString() {
			return w.pairs(t, record, path)
		}
		w.text(`{"type":"map","values":`)
		if err := w.typ(t.Elem, record, join(path, "value")); err != nil {
			return err
		}
		w.text("}")
	case rowdata.Multiset:
		if !t.Elem.IsString() {
			return refuse("the elements of a MULTISET are strings")
		}
		w.text(`{"type":"map","values":["null","int"]}`)
	case rowdata.Row:
		return w.record(record, t.Fields, path, false)
	default:
		return refuse("there is no such Avro type")
	}
	return nil
}

// pairs writes a map whose keys are no strings: Avro has none, so it is an array
// of records of key and value.
func (w *schemaWriter) pairs(t *rowdata.Type, record, path string) error {
	w.text(`{"type":"array","items":`)
	if err := w.open(record, path, false); err != nil {
		return err
	}
	if err := w.field("key", t.Key, record+"_key", join(path, "key"), false); err != nil {
		return err
	}
	w.text(",")
	if err := w.field("value", t.Elem, record+"_value", join(path, "value"), true); err != nil {
		return err
	}
	w.text(`]},"logicalType":"map"}`)
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// validName tells whether the original's Avro library takes the name: letters of
// any script, digits after the first, and underscores.
func validName(name string) bool {
	for i, c := range name {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return name != ""
}
