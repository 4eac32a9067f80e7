package client

import (
	"encoding/binary"
	"math/big"
	"strings"
	"time"

	sluicev1 "sluice/proto/sluice/v1"
)

// Entry is an entry of a MAP, or an element of a MULTISET with its count.
type Entry struct{ Key, Value any }

// Variant is a VARIANT in its binary form.
type Variant struct{ Value, Metadata []byte }

// Value returns row i of a column as a Go value: nil for NULL, bool, int64 for all
// integers, float32, float64, string for text and for DECIMAL, []byte, time.Time
// in UTC for DATE and TIMESTAMP, time.Duration for TIME, []any for ARRAY, []Entry
// for MAP and MULTISET, map[string]any for ROW, Variant.
func (c *Column) Value(i int) any {
	if c.IsNull(i) {
		return nil
	}
	switch c.Type.Root {
	case sluicev1.TypeRoot_TYPE_ROOT_BOOLEAN:
		return c.Int64(i) != 0
	case sluicev1.TypeRoot_TYPE_ROOT_TINYINT, sluicev1.TypeRoot_TYPE_ROOT_SMALLINT, sluicev1.TypeRoot_TYPE_ROOT_INT, sluicev1.TypeRoot_TYPE_ROOT_BIGINT:
		return c.Int64(i)
	case sluicev1.TypeRoot_TYPE_ROOT_FLOAT:
		return float32(c.Float64(i))
	case sluicev1.TypeRoot_TYPE_ROOT_DOUBLE:
		return c.Float64(i)
	case sluicev1.TypeRoot_TYPE_ROOT_DECIMAL:
		return c.Decimal(i)
	case sluicev1.TypeRoot_TYPE_ROOT_CHAR, sluicev1.TypeRoot_TYPE_ROOT_VARCHAR:
		return c.String(i)
	case sluicev1.TypeRoot_TYPE_ROOT_BINARY, sluicev1.TypeRoot_TYPE_ROOT_VARBINARY, sluicev1.TypeRoot_TYPE_ROOT_BLOB:
		return c.Bytes(i)
	case sluicev1.TypeRoot_TYPE_ROOT_DATE, sluicev1.TypeRoot_TYPE_ROOT_TIMESTAMP, sluicev1.TypeRoot_TYPE_ROOT_TIMESTAMP_LTZ:
		return c.Time(i)
	case sluicev1.TypeRoot_TYPE_ROOT_TIME:
		return time.Duration(c.Int64(i)) * time.Millisecond
	case sluicev1.TypeRoot_TYPE_ROOT_VARIANT:
		return Variant{Value: c.children[0].Bytes(i), Metadata: c.children[1].Bytes(i)}
	case sluicev1.TypeRoot_TYPE_ROOT_ROW:
		row := make(map[string]any, len(c.children))
		for k := range c.children {
			row[c.Type.Fields[k].Name] = c.children[k].Value(i)
		}
		return row
	}
	from, to := c.List(i)
	if len(c.children) == 1 {
		list := make([]any, 0, to-from)
		for k := from; k < to; k++ {
			list = append(list, c.children[0].Value(k))
		}
		return list
	}
	list := make([]Entry, 0, to-from)
	for k := from; k < to; k++ {
		list = append(list, Entry{Key: c.children[0].Value(k), Value: c.children[1].Value(k)})
	}
	return list
}

// Time returns a DATE or TIMESTAMP in UTC.
func (c *Column) Time(i int) time.Time {
	switch {
	case c.Type.Root == sluicev1.TypeRoot_TYPE_ROOT_DATE:
		return time.Unix(c.Int64(i)*86_400, 0).UTC()
	case c.Type.hasNanos():
		nanos := int32(binary.LittleEndian.Uint32(c.nanos[4*i:]))
		return time.UnixMilli(c.Int64(i)).Add(time.Duration(nanos)).UTC()
	case c.width != 8:
		return time.Time{}
	case c.Type.Precision > 3:
		return time.UnixMicro(c.Int64(i)).UTC()
	}
	return time.UnixMilli(c.Int64(i)).UTC()
}

// Decimal returns a DECIMAL as text with all digits of its scale.
func (c *Column) Decimal(i int) string {
	if c.Type.Root != sluicev1.TypeRoot_TYPE_ROOT_DECIMAL {
		return ""
	}
	x := big.NewInt(c.Int64(i))
	if c.width == 16 {
		b := c.fixed[16*i:]
		x.SetInt64(int64(binary.LittleEndian.Uint64(b[8:])))
		x.Lsh(x, 64).Add(x, new(big.Int).SetUint64(binary.LittleEndian.Uint64(b)))
	}
	text := new(big.Int).Abs(x).String()
	if scale := min(max(c.Type.Scale, 0), 64); scale > 0 {
		if len(text) <= scale {
			text = strings.Repeat("0", scale+1-len(text)) + text
		}
		text = text[:len(text)-scale] + "." + text[len(text)-scale:]
	}
	if x.Sign() < 0 {
		text = "-" + text
	}
	return text
}
