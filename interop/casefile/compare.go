package casefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var x any
	err := d.Decode(&x)
	return x, err
}

// canonical returns a text that equal values share: numbers by value, members of
// objects by name.
func canonical(x any) string {
	switch v := x.(type) {
	case json.Number:
		if f, _, err := big.ParseFloat(v.String(), 10, 200, big.ToNearestEven); err == nil {
			return f.Text('g', 40)
		}
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = canonical(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for k, m := range v {
			parts = append(parts, fmt.Sprintf("%q:%s", k, canonical(m)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	text, _ := json.Marshal(x)
	return string(text)
}

// differ compares two lists of lines and says where they part; "" if nowhere.
func differ(what string, want, got []string, anyOrder bool) string {
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

// changeLines renders the expected changes of one commit.
func changeLines(x any) ([]string, error) {
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
		out = append(out, fmt.Sprint(o["kind"])+canonical(o["row"]))
	}
	return out, nil
}
