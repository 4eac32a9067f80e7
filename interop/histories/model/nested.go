package model

import (
	"slices"
	"strings"
)

// nested is what nested_update and nested_partial_update know of their rows.
type nested struct {
	key      []int // fields; none: rows are appended
	sequence []int
	limit    int // of rows that are appended; negative: none
}

func newNested(c column, prefix string, options map[string]string) (nested, error) {
	n := nested{limit: -1}
	fields := func(name string) (out []int) {
		if s := options[prefix+name]; s != "" {
			for _, f := range strings.Split(s, ",") {
				out = append(out, slices.IndexFunc(c.fields, func(x column) bool { return x.name == strings.TrimSpace(f) }))
			}
		}
		return out
	}
	n.key, n.sequence = fields("nested-key"), fields("nested-sequence-field")
	if err := number(options, prefix+"count-limit", &n.limit); err != nil {
		return n, err
	}
	if n.limit >= 0 && len(n.key) > 0 {
		return n, &UnknownError{"count-limit with nested-key"}
	}
	if s := options[prefix+"nested-key-null-strategy"]; s != "" && s != "merge" {
		return n, &UnknownError{"nested-key-null-strategy"}
	}
	return n, nil
}

// add puts rows behind others, or in the place of those with the same key.
func (n *nested) add(acc, in []any, partial bool) any {
	if len(n.key) == 0 {
		out := slices.DeleteFunc(slices.Clone(acc), isNull)
		for _, r := range in {
			if !isNull(r) && (n.limit < 0 || len(out) < n.limit) {
				out = append(out, r)
			}
		}
		return out
	}
	var out []any
	for _, r := range slices.Concat(acc, in) {
		if isNull(r) {
			continue
		}
		i := n.find(out, r)
		switch {
		case i < 0:
			out = append(out, r)
		case partial:
			row := slices.Clone(out[i].([]any))
			for f, v := range r.([]any) {
				if v != nil {
					row[f] = v
				}
			}
			out[i] = row
		case n.newer(r.([]any), out[i].([]any)):
			out[i] = r
		}
	}
	return out
}

// retract takes rows away: those with the same key or, without one, all that are
// equal.
func (n *nested) retract(acc, in []any) any {
	out := []any{}
	if len(n.key) > 0 {
		out = append(out, n.add(nil, acc, false).([]any)...)
	} else {
		out = append(out, acc...)
	}
	out = slices.DeleteFunc(out, isNull)
	for _, r := range in {
		if isNull(r) {
			continue
		}
		out = slices.DeleteFunc(out, func(x any) bool {
			if len(n.key) > 0 {
				return n.find([]any{x}, r) == 0
			}
			return same(x, r)
		})
	}
	return out
}

func (n *nested) find(rows []any, r any) int {
	return slices.IndexFunc(rows, func(x any) bool {
		return !slices.ContainsFunc(n.key, func(k int) bool { return !same(x.([]any)[k], r.([]any)[k]) })
	})
}

// newer tells whether a row may take the place of another.
func (n *nested) newer(r, held []any) bool {
	for _, s := range n.sequence {
		if c := compare(r[s], held[s]); c != 0 {
			return c > 0
		}
	}
	return true
}

func isNull(x any) bool { return x == nil }
