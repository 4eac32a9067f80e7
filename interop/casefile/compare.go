package casefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Decode reads JSON as encoding/json does with UseNumber.
func Decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var x any
	err := d.Decode(&x)
	return x, err
}

// Canonical returns a text that equal values share: numbers by value, members of
// objects by name.
func Canonical(x any) string {
	switch v := x.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		if f, _, err := big.ParseFloat(v.String(), 10, 200, big.ToNearestEven); err == nil {
			if f.Sign() == 0 {
				return "0" // and not -0
			}
			return f.Text('g', 40)
		}
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = Canonical(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for k, m := range v {
			parts = append(parts, fmt.Sprintf("%q:%s", k, Canonical(m)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	text, _ := json.Marshal(x)
	return string(text)
}

// CanonicalAny is Canonical of a value as YAML or JSON gives it.
func CanonicalAny(x any) (string, error) {
	y, err := asJSON(x)
	if err != nil {
		return "", err
	}
	return Canonical(y), nil
}

// Differ compares two lists of lines and says where they part; "" if nowhere.
func Differ(what string, want, got []string, anyOrder bool) string {
	if anyOrder {
		want, got = slices.Clone(want), slices.Clone(got)
		slices.Sort(want)
		slices.Sort(got)
	}
	if slices.Equal(want, got) {
		return ""
	}
	return fmt.Sprintf("%s: expected %s, got %s", what, list(want), list(got))
}

func list(lines []string) string {
	if len(lines) == 0 {
		return "nothing"
	}
	if len(lines) > 12 {
		lines = append(slices.Clone(lines[:12]), fmt.Sprintf("… %d in all", len(lines)))
	}
	return strings.Join(lines, " ")
}

// ChangeLines renders the expected changes of one commit. One that names its
// bucket is rendered with its place.
func ChangeLines(x any) ([]string, error) {
	if x == nil || x == "none" {
		return nil, nil
	}
	y, err := asJSON(x)
	if err != nil {
		return nil, err
	}
	rows, ok := y.([]any)
	if !ok {
		return nil, fmt.Errorf("changelog %v: want a list or none", x)
	}
	var out []string
	for _, r := range rows {
		o, ok := r.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("change %v: want {kind, row}", r)
		}
		c := Change{Kind: fmt.Sprint(o["kind"]), Row: o["row"]}
		bucket, placed := o["bucket"]
		if !placed {
			out = append(out, c.Text())
			continue
		}
		if c.Bucket, err = strconv.Atoi(fmt.Sprint(bucket)); err != nil {
			return nil, fmt.Errorf("change %v: bucket: %w", r, err)
		}
		c.Partition, _ = o["partition"].(string)
		out = append(out, c.Placed())
	}
	return out, nil
}

// Placed tells whether an expected change of the commit names its bucket; then all
// must.
func Placed(x any) bool {
	rows, _ := x.([]any)
	return slices.ContainsFunc(rows, func(r any) bool {
		o, _ := r.(map[string]any)
		return o["bucket"] != nil
	})
}
