package subscriber

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/client"
	"sluice/paimon/rowdata"
	sluicev1 "sluice/proto/sluice/v1"
)

// clientColumns is the schema as text.
func clientColumns(s *client.Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", s.ID)
	for _, f := range s.Fields {
		fmt.Fprintf(&b, " %d %s %s,", f.ID, f.Name, f.Type.Text)
	}
	fmt.Fprintf(&b, " key %v, partitions %v", s.PrimaryKey, s.PartitionKey)
	return b.String()
}

// appendClientRow renders a row that the client has in columns in the JSON form
// that gateways give.
func appendClientRow(dst []byte, r *client.Rows, i int) ([]byte, error) {
	for c, f := range r.Schema.Fields {
		dst = append(rowdata.AppendJSONString(append(dst, "{,"[min(c, 1)]), f.Name), ':')
		var err error
		if dst, err = appendValue(dst, f.Type, r.Column(c).Value(i)); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, t *client.Type, x any) ([]byte, error) {
	switch v := x.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case string:
		return rowdata.AppendJSONString(dst, v), nil
	case []byte:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v), '"'), nil
	case time.Time:
		return fmt.Appendf(dst, "%q", v.Format(layoutOf(t))), nil
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendValue(dst, t.Elem, e); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	return nil, fmt.Errorf("value %T of type %s is not rendered", x, t.Text)
}

func layoutOf(t *client.Type) string {
	if t.Root == sluicev1.TypeRoot_TYPE_ROOT_DATE {
		return time.DateOnly
	}
	layout := "2006-01-02T15:04:05"
	if t.Precision > 0 {
		layout += "." + strings.Repeat("0", t.Precision)
	}
	if t.Root == sluicev1.TypeRoot_TYPE_ROOT_TIMESTAMP_LTZ {
		layout += "Z"
	}
	return layout
}
