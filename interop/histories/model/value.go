package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Values are nil, bool, int64, float64, string, *big.Int (a DECIMAL without its
// point), []any (an ARRAY, or a ROW as the element of one), map[string]any and
// sketch. They are never changed.

// column is a column of the table.
type column struct {
	name    string
	text    string   // the type as it was written, NULL or not included
	root    string   // INT, STRING, DECIMAL, ...
	scale   int      // of DECIMAL
	elem    string   // of ARRAY: root of the elements, of MAP: root of the values
	fields  []column // of ARRAY of ROW: those of the rows
	notNull bool
}

func parseColumn(text string) (column, error) {
	name, typ, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok {
		return column{}, fmt.Errorf("column %q: no type", text)
	}
	c := column{name: name, text: typ, notNull: strings.HasSuffix(typ, "NOT NULL")}
	typ = strings.TrimSpace(strings.TrimSuffix(typ, "NOT NULL"))
	c.root, _, _ = strings.Cut(typ, "(")
	switch {
	case strings.HasPrefix(typ, "ARRAY<ROW<"):
		c.root, c.elem = "ARRAY", "ROW"
		for _, f := range strings.Split(strings.TrimSuffix(typ[10:], ">>"), ",") {
			field, err := parseColumn(f)
			if err != nil {
				return column{}, err
			}
			c.fields = append(c.fields, field)
		}
	case strings.HasPrefix(typ, "ARRAY<"):
		c.root, c.elem = "ARRAY", strings.TrimSuffix(typ[6:], ">")
	case strings.HasPrefix(typ, "MAP<STRING,"):
		c.root, c.elem = "MAP", strings.TrimSpace(strings.TrimSuffix(typ[11:], ">"))
	case c.root == "DECIMAL":
		if _, err := fmt.Sscanf(strings.ReplaceAll(typ, " ", ""), "DECIMAL(%d,%d)", new(int), &c.scale); err != nil {
			return column{}, fmt.Errorf("column %q: %w", text, err)
		}
	}
	switch c.root {
	case "ARRAY", "MAP":
		switch c.elem {
		case "INT", "BIGINT", "STRING", "DOUBLE", "BOOLEAN", "ROW":
			return c, nil
		}
	case "TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "STRING", "DECIMAL", "BYTES":
		return c, nil
	}
	return column{}, &UnknownError{"type " + typ}
}

// parse reads a value as encoding/json gives it with UseNumber.
func (c column) parse(x any) (any, error) {
	switch c.root {
	case "ARRAY":
		list, ok := x.([]any)
		if !ok {
			return scalar(c, x)
		}
		out := make([]any, len(list))
		for i := range list {
			v, err := column{name: c.name, root: c.elem, fields: c.fields}.parse(list[i])
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case "ROW":
		m, ok := x.(map[string]any)
		if !ok {
			return scalar(c, x)
		}
		out := make([]any, len(c.fields))
		for i, f := range c.fields {
			var err error
			if out[i], err = f.parse(m[f.name]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case "MAP":
		m, ok := x.(map[string]any)
		if !ok {
			return scalar(c, x)
		}
		out := map[string]any{}
		for k := range m {
			v, err := column{name: c.name, root: c.elem}.parse(m[k])
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
		return out, nil
	}
	return scalar(c, x)
}

func scalar(c column, x any) (any, error) {
	switch v := x.(type) {
	case nil:
		return nil, nil
	case bool:
		if c.root == "BOOLEAN" {
			return v, nil
		}
	case string:
		switch c.root {
		case "STRING":
			return v, nil
		case "BYTES":
			return parseSketch(v)
		case "DOUBLE":
			return strconv.ParseFloat(strings.Replace(v, "Infinity", "Inf", 1), 64)
		case "DECIMAL":
			return parseDecimal(v, c.scale)
		}
	case json.Number:
		switch c.root {
		case "DOUBLE":
			return v.Float64()
		case "DECIMAL":
			return parseDecimal(v.String(), c.scale)
		case "TINYINT", "SMALLINT", "INT", "BIGINT":
			return v.Int64()
		}
	}
	return nil, fmt.Errorf("column %s: %v is no %s", c.name, x, c.root)
}

func parseDecimal(text string, scale int) (*big.Int, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > scale {
		return nil, fmt.Errorf("decimal %s has more than %d digits of fraction", text, scale)
	}
	n, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", scale-len(fraction)), 10)
	if !ok {
		return nil, fmt.Errorf("decimal %q", text)
	}
	return n, nil
}

// json is the reverse of parse.
func (c column) json(v any) any {
	switch v := v.(type) {
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 0):
			return strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+") + "inity"
		}
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64))
	case *big.Int:
		digits := new(big.Int).Abs(v).String()
		if c.scale > 0 {
			if len(digits) <= c.scale {
				digits = strings.Repeat("0", c.scale+1-len(digits)) + digits
			}
			digits = digits[:len(digits)-c.scale] + "." + digits[len(digits)-c.scale:]
		}
		if v.Sign() < 0 {
			digits = "-" + digits
		}
		return digits
	case []any:
		if c.root == "ROW" {
			out := map[string]any{}
			for i, f := range c.fields {
				out[f.name] = f.json(v[i])
			}
			return out
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = column{root: c.elem, fields: c.fields}.json(v[i])
		}
		return out
	case sketch:
		return v.text()
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = column{root: c.elem}.json(v[k])
		}
		return out
	}
	return v
}

// compare orders two values of a column, NULL first, floats with NaN last and
// -0.0 before 0.0.
func compare(a, b any) int {
	if a == nil || b == nil {
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return -1
		}
		return 1
	}
	switch x := a.(type) {
	case int64:
		return cmp.Compare(x, b.(int64))
	case float64:
		y := b.(float64)
		if math.IsNaN(x) || math.IsNaN(y) {
			switch {
			case math.IsNaN(x) && math.IsNaN(y):
				return 0
			case math.IsNaN(x):
				return 1
			}
			return -1
		}
		if x == 0 && y == 0 && math.Signbit(x) != math.Signbit(y) {
			if math.Signbit(x) {
				return -1
			}
			return 1
		}
		return cmp.Compare(x, y)
	case string:
		return strings.Compare(x, b.(string))
	case bool:
		switch y := b.(bool); {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case *big.Int:
		return x.Cmp(b.(*big.Int))
	}
	panic(fmt.Sprintf("model: %T has no order", a))
}

// same tells whether two values are equal: NULL equals NULL, and floats are
// compared as IEEE 754 says, so that NaN equals nothing and 0.0 equals -0.0.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch x := a.(type) {
	case float64:
		return x == b.(float64)
	case []any:
		return slices.EqualFunc(x, b.([]any), same)
	case sketch:
		y := b.(sketch)
		return x.form == y.form && slices.Equal(x.entries, y.entries)
	case map[string]any:
		y := b.(map[string]any)
		if len(x) != len(y) {
			return false
		}
		for k := range x {
			v, ok := y[k]
			if !ok || !same(x[k], v) {
				return false
			}
		}
		return true
	}
	return compare(a, b) == 0
}
