package avrofile

import (
	"sluice/paimon/internal/ocf"
	"sluice/paimon/rowdata"
)

// decOp says how the bytes of a place become a value.
type decOp uint8

const (
	decSkip decOp = iota // nobody wants it
	decBool
	decI32
	decI64
	decF32
	decF64
	decF32AsF64
	decBytes
	decFixed
	decDecimal
	decDecimalFixed
	decMillis
	decMicros
	decNanos
	decNull
	decList
	decMap   // native map: string keys
	decPairs // array of key-value records
	decRecord
)

// decoder reads the values of one place of the file's schema.
type decoder struct {
	op      decOp
	null    int8        // branch of the union that is null, -1: it is no union
	typ     *ocf.Schema // of the value, the union taken off
	kids    []decoder   // list: element; map: value; pairs, record: fields in the order of the file
	into    []int       // pairs, record: child of the vector for each of kids, -1 to skip
	missing []int       // pairs, record: children that the file does not have
}

// count is the type of how often an element is in a MULTISET.
var count = &rowdata.Type{Root: rowdata.Int, NotNull: true}

// newDecoder compiles the reading of t, as the file has it, into values of want.
func newDecoder(t *ocf.Schema, want *rowdata.Type, path string) (decoder, error) {
	value, null := t.Optional()
	d := decoder{null: int8(null), typ: value}
	if d.op = scalarOp(value, want); d.op != decSkip {
		return d, nil
	}
	var err error
	switch {
	case value.Kind == ocf.Array && want.Storage() == rowdata.StoreList:
		d.op, d.kids = decList, make([]decoder, 1)
		d.kids[0], err = newDecoder(value.Elem, want.Elem, join(path, "element"))
	case value.Kind == ocf.Map && want.Root == rowdata.Multiset && want.Elem.IsString():
		d.op, d.kids = decMap, make([]decoder, 1)
		d.kids[0], err = newDecoder(value.Elem, count, join(path, "count"))
	case value.Kind == ocf.Map && want.Root == rowdata.Map && want.Key.IsString():
		d.op, d.kids = decMap, make([]decoder, 1)
		d.kids[0], err = newDecoder(value.Elem, want.Elem, join(path, "value"))
	case value.Kind == ocf.Array && value.Elem.Kind == ocf.Record && want.Storage() == rowdata.StoreMap:
		pair := []rowdata.Field{{Name: "key", Type: want.Key}, {Name: "value", Type: want.Elem}}
		if want.Root == rowdata.Multiset {
			pair = []rowdata.Field{{Name: "key", Type: want.Elem}, {Name: "value", Type: count}}
		}
		d.op = decPairs
		err = d.members(value.Elem, pair, path)
	case value.Kind == ocf.Record && want.Root == rowdata.Row:
		d.op = decRecord
		err = d.members(value, want.Fields, path)
	default:
		err = &MismatchError{Column: path, Avro: typeText(t), Type: want}
	}
	return d, err
}

// scalarOp returns how a value that is not nested is read, decSkip if it is
// nested or the types don't fit.
func scalarOp(t *ocf.Schema, want *rowdata.Type) decOp {
	switch t.Kind {
	case ocf.Null:
		return decNull
	case ocf.Boolean:
		if want.Root == rowdata.Boolean {
			return decBool
		}
	case ocf.Int:
		switch {
		case want.Storage() == rowdata.StoreI32 && want.Root != rowdata.Boolean:
			return decI32
		case want.Root == rowdata.BigInt:
			return decI64
		}
	case ocf.Long:
		switch {
		case want.Root == rowdata.BigInt:
			return decI64
		case want.Root == rowdata.Timestamp || want.Root == rowdata.TimestampLTZ:
			return timestampOp(t, want)
		case want.Root == rowdata.Int || want.Root == rowdata.SmallInt || want.Root == rowdata.TinyInt:
			return decI32
		}
	case ocf.Float:
		switch want.Root {
		case rowdata.Float:
			return decF32
		case rowdata.Double:
			return decF32AsF64
		}
	case ocf.Double:
		if want.Root == rowdata.Double {
			return decF64
		}
	case ocf.String, ocf.Bytes, ocf.Fixed:
		decimal := want.Root == rowdata.Decimal && t.Kind != ocf.String && (t.LogicalType != "decimal" || t.Scale == want.Scale)
		fixed := t.Kind == ocf.Fixed
		switch {
		case decimal && fixed:
			return decDecimalFixed
		case decimal:
			return decDecimal
		case want.Storage() != rowdata.StoreBytes:
		case fixed:
			return decFixed
		default:
			return decBytes
		}
	}
	return decSkip
}

// timestampOp converts from the unit of the file. Without one it is the unit
// that the precision of the column says.
func timestampOp(t *ocf.Schema, want *rowdata.Type) decOp {
	direct := want.Storage() == rowdata.StoreI64
	switch t.LogicalType {
	case "timestamp-millis", "local-timestamp-millis":
		if direct && want.Precision <= 3 {
			return decI64
		}
		return decMillis
	case "timestamp-micros", "local-timestamp-micros":
		if direct && want.Precision > 3 {
			return decI64
		}
		return decMicros
	case "timestamp-nanos", "local-timestamp-nanos":
		return decNanos
	}
	if direct {
		return decI64
	}
	return decSkip
}

// members compiles the fields of a record of the file by their names.
func (d *decoder) members(t *ocf.Schema, want []rowdata.Field, path string) error {
	d.kids, d.into = make([]decoder, len(t.Fields)), make([]int, len(t.Fields))
	found := make([]bool, len(want))
	for i, f := range t.Fields {
		d.into[i] = -1
		d.kids[i] = decoder{op: decSkip, typ: f.Type}
		for k := range want {
			if want[k].Name != f.Name || found[k] {
				continue
			}
			kid, err := newDecoder(f.Type, want[k].Type, join(path, f.Name))
			if err != nil {
				return err
			}
			d.kids[i], d.into[i], found[k] = kid, k, true
			break
		}
	}
	for k, ok := range found {
		if !ok {
			d.missing = append(d.missing, k)
		}
	}
	return nil
}

// value reads one value and appends it to v. After an error of c, v is not to be
// used any more.
func (d *decoder) value(c *ocf.Decoder, v *rowdata.Vector) {
	if d.null >= 0 {
		switch b := c.Long(); {
		case b == int64(d.null):
			v.AppendNull()
			return
		case b != 1-int64(d.null):
			c.Fail("avro union has no branch %d", b)
			return
		}
	}
	switch d.op {
	case decBool:
		v.AppendBool(c.Bool())
	case decI32:
		v.AppendI32(c.Int())
	case decI64:
		v.AppendI64(c.Long())
	case decF32:
		v.AppendF32(c.Float())
	case decF64:
		v.AppendF64(c.Double())
	case decF32AsF64:
		v.AppendF64(float64(c.Float()))
	case decBytes:
		v.AppendBytes(c.Bytes())
	case decFixed:
		v.AppendBytes(c.Fixed(d.typ.Size))
	case decDecimal:
		appendUnscaled(c, v, c.Bytes())
	case decDecimalFixed:
		appendUnscaled(c, v, c.Fixed(d.typ.Size))
	case decMillis:
		v.AppendTimestamp(c.Long(), 0)
	case decMicros:
		ms, rest := floorDiv(c.Long(), 1000)
		v.AppendTimestamp(ms, int32(rest)*1000)
	case decNanos:
		ms, rest := floorDiv(c.Long(), 1_000_000)
		v.AppendTimestamp(ms, int32(rest))
	case decNull:
		v.AppendNull()
	case decRecord:
		if d.record(c, v) {
			v.CloseStruct()
		}
	default:
		if d.list(c, v) {
			v.CloseList()
		}
	}
}

// record reads the fields of a record into the children of v, and tells whether
// that went well.
func (d *decoder) record(c *ocf.Decoder, v *rowdata.Vector) bool {
	for i := range d.kids {
		if k := d.into[i]; k >= 0 {
			d.kids[i].value(c, v.Children[k])
		} else {
			c.Skip(d.kids[i].typ)
		}
		if c.Err() != nil {
			return false
		}
	}
	for _, k := range d.missing {
		v.Children[k].AppendNull()
	}
	return true
}

// list reads the blocks of an array or map into the children of v, and tells
// whether that went well.
func (d *decoder) list(c *ocf.Decoder, v *rowdata.Vector) bool {
	for n := c.Count(); n > 0; n = c.Count() {
		for range n {
			switch d.op {
			case decList:
				d.kids[0].value(c, v.Children[0])
			case decMap:
				v.Children[0].AppendBytes(c.Bytes())
				d.kids[0].value(c, v.Children[1])
			default:
				d.record(c, v)
			}
			if c.Err() != nil {
				return false
			}
		}
	}
	return c.Err() == nil
}

func appendUnscaled(c *ocf.Decoder, v *rowdata.Vector, b []byte) {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	x, ok := rowdata.Int128FromBytes(b)
	wide := v.Storage() == rowdata.StoreI128
	switch {
	case !ok || !wide && !x.IsInt64():
		c.Fail("avro decimal of %d bytes is none of type %s", len(b), v.Type)
	case wide:
		v.AppendI128(x)
	default:
		v.AppendI64(int64(x.Lo))
	}
}

func floorDiv(x, by int64) (q, rest int64) {
	q, rest = x/by, x%by
	if rest < 0 {
		q, rest = q-1, rest+by
	}
	return q, rest
}

// typeText names a type of the file in errors.
func typeText(t *ocf.Schema) string {
	value, null := t.Optional()
	text := value.Kind.String()
	if value.LogicalType != "" {
		text += " (" + value.LogicalType + ")"
	}
	if null >= 0 {
		text = "nullable " + text
	}
	return text
}
