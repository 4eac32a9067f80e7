package rowdata

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// AppendJSONRow appends the row that x stands for, as decoded by encoding/json
// with UseNumber: an object by column name or a list of values in column order.
// Columns that are missing get their default, or NULL. An error names the column
// and leaves the batch as it was.
func AppendJSONRow(b *Batch, x any) error {
	if err := appendMembers(b.Type.Fields, b.Cols, x); err != nil {
		for _, v := range b.Cols {
			v.Truncate(b.N)
		}
		return err
	}
	b.N++
	return nil
}

// appendMembers appends one value to each column.
func appendMembers(fields []Field, cols []*Vector, x any) error {
	switch row := x.(type) {
	case []any:
		if len(row) > len(fields) {
			return fmt.Errorf("row of %d values for %d columns", len(row), len(fields))
		}
		for i := range fields {
			if i < len(row) {
				if err := AppendFromJSON(cols[i], row[i]); err != nil {
					return fmt.Errorf("column %s: %w", fields[i].Name, err)
				}
			} else if err := appendDefault(cols[i], &fields[i]); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		known := 0
		for i := range fields {
			value, ok := row[fields[i].Name]
			if !ok {
				if err := appendDefault(cols[i], &fields[i]); err != nil {
					return err
				}
				continue
			}
			known++
			if err := AppendFromJSON(cols[i], value); err != nil {
				return fmt.Errorf("column %s: %w", fields[i].Name, err)
			}
		}
		if known < len(row) {
			return unknownColumn(fields, row)
		}
		return nil
	}
	return fmt.Errorf("row is %s, want an object or a list", jsonKind(x))
}

func unknownColumn(fields []Field, row map[string]any) error {
	var unknown []string
	for name := range row {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	slices.Sort(unknown)
	return fmt.Errorf("there is no column %s", strings.Join(unknown, ", "))
}

func appendDefault(v *Vector, f *Field) error {
	if f.Default == nil {
		v.AppendNull()
		return nil
	}
	if err := AppendParsed(v, *f.Default); err != nil {
		return fmt.Errorf("default of column %s: %w", f.Name, err)
	}
	return nil
}

func jsonKind(x any) string {
	switch x.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// AppendFromJSON appends the value that x stands for, as decoded by
// encoding/json with UseNumber. It takes the forms that [AppendJSON] makes;
// numbers also for DECIMAL, as text also for numbers; dates as day numbers and
// times as milliseconds; rows also as lists, maps also as lists of pairs, a
// VARIANT as any value (a string is parsed as JSON text). Nothing is cut, padded
// or rounded but the fraction of a DECIMAL: what does not fit is a
// [*ValueError], which leaves the vector as it was.
func AppendFromJSON(v *Vector, x any) error {
	if x == nil {
		v.AppendNull()
		return nil
	}
	n := v.n
	err := appendFromJSON(v, x)
	if err != nil && v.Type.IsNested() {
		v.Truncate(n)
	}
	return err
}

// jsonText returns the text of a string, number or boolean.
func jsonText(x any) (string, bool) {
	switch x := x.(type) {
	case string:
		return x, true
	case json.Number:
		return string(x), true
	case bool:
		return strconv.FormatBool(x), true
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), true
	case int, int64, uint64:
		return fmt.Sprint(x), true
	}
	return "", false
}

func appendFromJSON(v *Vector, x any) error {
	t := v.Type
	if t.IsNested() {
		return appendNestedJSON(v, x)
	}
	s, ok := jsonText(x)
	if !ok {
		return valueError(t, jsonKind(x), "")
	}
	_, quoted := x.(string)
	switch t.Root {
	case Boolean:
		b, ok := map[string]bool{"true": true, "false": false}[strings.ToLower(s)]
		if !ok {
			return valueError(t, s, "")
		}
		v.AppendBool(b)
	case TinyInt, SmallInt, Int, BigInt:
		n, err := jsonInteger(t, s)
		if err != nil {
			return err
		}
		if t.Root == BigInt {
			v.AppendI64(n)
		} else {
			v.AppendI32(int32(n))
		}
	case Float, Double:
		f, ok := parseFloat(s, 32<<b2i(t.Root == Double))
		if !ok || math.IsInf(f, 0) && !strings.HasSuffix(s, "Infinity") {
			return valueError(t, s, "")
		}
		if t.Root == Double {
			v.AppendF64(f)
		} else {
			v.AppendF32(float32(f))
		}
	case Decimal:
		d, fits, valid := parseDecimal(s, t.Precision, t.Scale)
		if !valid || !fits {
			return valueError(t, s, map[bool]string{true: "it has too many digits"}[valid])
		}
		appendDecimalValue(v, d)
	case Char, Varchar:
		v.AppendString(s)
	case Binary, Varbinary, Blob:
		data, err := base64.StdEncoding.AppendDecode(v.Data, []byte(s))
		if err != nil {
			return valueError(t, s, "want base64")
		}
		v.Data = data
		v.closeBytes()
		v.appended()
	default:
		return appendTimeJSON(v, s, quoted)
	}
	return nil
}

// jsonInteger reads a whole number, also one written 1.0 or 1e3.
func jsonInteger(t *Type, s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		d, fits, valid := parseDecimal(s, 38, 18)
		whole, exact := d.rescale(18, 0, 38)
		back, _ := whole.rescale(0, 18, 38)
		if !valid || !fits || !exact || back != d || !whole.IsInt64() {
			return 0, valueError(t, s, "")
		}
		n = int64(whole.Lo)
	}
	if shift := 64 - integerBits(t); n<<shift>>shift != n {
		return 0, valueError(t, s, "it is out of range")
	}
	return n, nil
}

func appendTimeJSON(v *Vector, s string, quoted bool) error {
	t := v.Type
	if !quoted && (t.Root == Date || t.Root == Time) {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || t.Root == Time && (n < 0 || n >= millisPerDay) {
			return valueError(t, s, "")
		}
		v.AppendI32(int32(n))
		return nil
	}
	if !quoted || isInteger(s) {
		return valueError(t, s, "want an ISO text")
	}
	switch t.Root {
	case Date:
		days, ok := parseYMD(s, false)
		if !ok || strings.Count(strings.TrimPrefix(s, "-"), "-") != 2 || days != int64(int32(days)) {
			return valueError(t, s, "want yyyy-mm-dd")
		}
		v.AppendI32(int32(days))
	case Time:
		ms, ok := parseTime(s)
		if !ok {
			return valueError(t, s, "want hh:mm:ss.fff")
		}
		v.AppendI32(ms)
	default:
		ms, ns, ok := parseStamp(s, t, false)
		if !ok || !stampFits(v, ms) {
			return valueError(t, s, "want yyyy-mm-ddThh:mm:ss.fff")
		}
		v.AppendTimestamp(ms, ns)
	}
	return nil
}

func appendNestedJSON(v *Vector, x any) error {
	t := v.Type
	switch t.Root {
	case Row:
		if err := appendMembers(t.Fields, v.Children, x); err != nil {
			return err
		}
		v.CloseStruct()
		return nil
	case Map, Multiset:
		return appendMapJSON(v, x)
	case Variant:
		s, ok := x.(string)
		if !ok {
			b, err := json.Marshal(x)
			if err != nil {
				return valueError(t, jsonKind(x), err.Error())
			}
			s = string(b)
		}
		return appendVariantFromText(v, s)
	}
	list, ok := x.([]any)
	if !ok {
		return valueError(t, jsonKind(x), "want a list")
	}
	if t.Root == Vec && len(list) != t.Length {
		return valueError(t, fmt.Sprintf("a list of %d values", len(list)), "")
	}
	for k, e := range list {
		if e == nil && t.Root == Vec {
			return valueError(t, "null", "elements cannot be NULL")
		}
		if err := AppendFromJSON(v.Children[0], e); err != nil {
			return fmt.Errorf("element %d: %w", k, err)
		}
	}
	v.CloseList()
	return nil
}

func appendMapJSON(v *Vector, x any) error {
	keys, values := v.Children[0], v.Children[1]
	pair := func(k, e any) error {
		if err := AppendFromJSON(keys, k); err != nil {
			return fmt.Errorf("key: %w", err)
		}
		if err := AppendFromJSON(values, e); err != nil {
			return fmt.Errorf("value of %v: %w", k, err)
		}
		return nil
	}
	switch m := x.(type) {
	case map[string]any:
		names := make([]string, 0, len(m))
		for name := range m {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if err := pair(name, m[name]); err != nil {
				return err
			}
		}
	case []any:
		for k, e := range m {
			p, ok := e.([]any)
			if !ok || len(p) != 2 {
				return valueError(v.Type, jsonKind(e), fmt.Sprintf("entry %d: want [key, value]", k))
			}
			if err := pair(p[0], p[1]); err != nil {
				return err
			}
		}
	default:
		return valueError(v.Type, jsonKind(x), "want an object or a list of pairs")
	}
	v.CloseList()
	return nil
}
