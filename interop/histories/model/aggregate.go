package model

import (
	"math/big"
	"slices"
	"strings"

	"sluice/interop/casefile"
)

// aggregate is the function of a column and what it holds while the records of
// one key are folded.
type aggregate struct {
	column
	function      string
	distinct      bool
	delimiter     string
	ignoreRetract bool
	wraps         bool // sums of integers wrap around
	nested        nested
	taken         bool // of first_value and first_non_null_value: the first was seen
}

// add returns the column's value after a record that adds.
func (a *aggregate) add(acc, in any) (any, error) {
	switch a.function {
	case "primary-key", "last_value":
		return in, nil
	case "last_non_null_value":
		if in == nil {
			return acc, nil
		}
		return in, nil
	case "first_value":
		if a.taken {
			return acc, nil
		}
		a.taken = true
		return in, nil
	case "first_non_null_value":
		if a.taken || in == nil {
			return acc, nil
		}
		a.taken = true
		return in, nil
	case "listagg":
		return a.listagg(acc, in), nil
	case "collect":
		return a.collect(acc, in), nil
	}
	if acc == nil || in == nil {
		if in == nil {
			return acc, nil
		}
		return in, nil
	}
	switch a.function {
	case "sum", "product":
		return a.arithmetic(acc, in)
	case "min":
		if compare(in, acc) <= 0 {
			return in, nil
		}
		return acc, nil
	case "max":
		if compare(in, acc) > 0 {
			return in, nil
		}
		return acc, nil
	case "bool_and":
		return acc.(bool) && in.(bool), nil
	case "bool_or":
		return acc.(bool) || in.(bool), nil
	case "merge_map":
		out := map[string]any{}
		for k, v := range acc.(map[string]any) {
			out[k] = v
		}
		for k, v := range in.(map[string]any) {
			out[k] = v
		}
		return out, nil
	case "nested_update", "nested_partial_update":
		return a.nested.add(acc.([]any), in.([]any), a.function == "nested_partial_update"), nil
	case "rbm32", "theta_sketch", "hll_sketch":
		return acc.(sketch).union(in.(sketch)), nil
	}
	return nil, &UnknownError{"function " + a.function}
}

// reversed is add for a record that is older than what was folded before.
func (a *aggregate) reversed(acc, in any) (any, error) {
	if a.function == "collect" {
		return a.add(acc, in)
	}
	return a.add(in, acc)
}

// retract returns the column's value after a record that takes back.
func (a *aggregate) retract(acc, in any) (any, error) {
	if a.ignoreRetract {
		return acc, nil
	}
	switch a.function {
	case "primary-key":
		return in, nil
	case "last_value":
		return nil, nil
	case "last_non_null_value":
		if in == nil {
			return acc, nil
		}
		return nil, nil
	case "sum":
		if in == nil {
			return acc, nil
		}
		negated, err := a.negate(in)
		if err != nil || acc == nil {
			return negated, err
		}
		return a.arithmetic(acc, negated)
	case "product":
		if acc == nil || in == nil {
			return acc, nil
		}
		return a.quotient(acc, in)
	case "collect":
		if acc == nil || in == nil {
			return acc, nil
		}
		out := slices.Clone(acc.([]any))
		for _, x := range in.([]any) {
			if i := slices.IndexFunc(out, func(y any) bool { return same(x, y) }); i >= 0 {
				out = slices.Delete(out, i, i+1)
			}
		}
		return out, nil
	case "nested_update":
		if acc == nil || in == nil {
			return acc, nil
		}
		return a.nested.retract(acc.([]any), in.([]any)), nil
	case "merge_map":
		if acc == nil || in == nil {
			return acc, nil
		}
		out := map[string]any{}
		for k, v := range acc.(map[string]any) {
			if _, gone := in.(map[string]any)[k]; !gone {
				out[k] = v
			}
		}
		return out, nil
	}
	return nil, failed("%s%s", casefile.MeansRetract, a.function)
}

func (a *aggregate) arithmetic(x, y any) (any, error) {
	sum := a.function == "sum"
	switch x := x.(type) {
	case int64:
		n := new(big.Int)
		if sum {
			n.Add(big.NewInt(x), big.NewInt(y.(int64)))
		} else {
			n.Mul(big.NewInt(x), big.NewInt(y.(int64)))
		}
		return a.integer(n)
	case float64:
		if sum {
			return x + y.(float64), nil
		}
		return x * y.(float64), nil
	case *big.Int:
		if sum {
			return new(big.Int).Add(x, y.(*big.Int)), nil
		}
	}
	return nil, &UnknownError{a.function + " of " + a.root}
}

// integer fits a number to the column's type.
func (a *aggregate) integer(n *big.Int) (any, error) {
	bits := map[string]uint{"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[a.root]
	limit := new(big.Int).Lsh(big.NewInt(1), bits-1)
	if n.Cmp(limit) < 0 && n.Cmp(new(big.Int).Neg(limit)) >= 0 {
		return n.Int64(), nil
	}
	if !a.wraps {
		return nil, failed(casefile.MeansOverflow)
	}
	low := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1)))
	if low.Cmp(limit) >= 0 {
		low.Sub(low, new(big.Int).Lsh(big.NewInt(1), bits))
	}
	return low.Int64(), nil
}

func (a *aggregate) negate(x any) (any, error) {
	switch x := x.(type) {
	case int64:
		return a.integer(new(big.Int).Neg(big.NewInt(x)))
	case float64:
		return -x, nil
	case *big.Int:
		return new(big.Int).Neg(x), nil
	}
	return nil, &UnknownError{"sum of " + a.root}
}

func (a *aggregate) quotient(x, y any) (any, error) {
	switch x := x.(type) {
	case int64:
		if y.(int64) == 0 {
			return nil, failed(casefile.MeansZero)
		}
		return a.integer(new(big.Int).Quo(big.NewInt(x), big.NewInt(y.(int64))))
	case float64:
		return x / y.(float64), nil
	}
	return nil, &UnknownError{"product of " + a.root}
}

// blank tells whether a text is empty. (Section 3.5 calls white space blank too;
// the release does not.)
func blank(x any) bool { return x.(string) == "" }

func (a *aggregate) listagg(acc, in any) any {
	switch {
	case acc == nil || in == nil:
		if acc == nil {
			return in
		}
		return acc
	case blank(in):
		return acc
	case blank(acc):
		return in
	case !a.distinct:
		return acc.(string) + a.delimiter + in.(string)
	}
	out := acc.(string)
	seen := strings.Split(out, a.delimiter)
	for _, token := range strings.Split(in.(string), a.delimiter) {
		if !blank(token) && !slices.Contains(seen, token) {
			out += a.delimiter + token
			seen = append(seen, token)
		}
	}
	return out
}

func (a *aggregate) collect(acc, in any) any {
	if acc == nil && in == nil {
		return nil
	}
	var all []any
	for _, list := range []any{acc, in} {
		if list != nil {
			all = append(all, list.([]any)...)
		}
	}
	if !a.distinct {
		if acc == nil {
			return in
		}
		return all
	}
	// The order of a set means nothing; it is made the same for equal sets.
	slices.SortFunc(all, compare)
	return slices.CompactFunc(all, same)
}

// unordered tells whether the order of the elements is that of a hash table, or is
// compared as if it were.
func (a *aggregate) unordered() bool {
	return a.function == "collect" || len(a.nested.key) > 0
}
