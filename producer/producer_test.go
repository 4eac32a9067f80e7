package producer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// TestWants tells which steps go through which producer.
func TestWants(t *testing.T) {
	o := Options{Engine: merge.Engine{Keep: merge.Deduplicate{}}}
	flush, below, top := merge.Plan{Flush: true}, merge.Plan{Output: 4, Top: 5}, merge.Plan{Output: 5, Top: 5}
	for _, tc := range []struct {
		producer          Producer
		flush, below, top bool
	}{
		{None{}, false, false, false},
		{Input{}, true, false, false},
		{NewLookup(o, nil), false, true, true},
		{NewFirstRow(o, nil), false, true, true},
		{NewFullCompaction(o), false, false, true},
	} {
		require.Equal(t, tc.flush, tc.producer.Wants(flush), "%T", tc.producer)
		require.Equal(t, tc.below, tc.producer.Wants(below), "%T", tc.producer)
		require.Equal(t, tc.top, tc.producer.Wants(top), "%T", tc.producer)
	}
	for _, plain := range []Producer{None{}, Input{}} {
		require.Equal(t, merge.Move, plain.Upgrade(merge.Upgrade{Plan: top, OtherFormat: true}))
		require.Error(t, plain.Resolve(t.Context(), merge.NewGroups(scriptType, top), merge.NewResult(scriptType)))
	}
}

// TestSame compares values as row-deduplicate does: each value with itself and
// all others.
func TestSame(t *testing.T) {
	for _, tc := range []struct {
		typ    string
		values []string
		equal  [][2]int // beside each value and itself
		never  []int    // values that are not even equal to themselves
	}{
		{"INT", []string{"null", "0", "1"}, nil, nil},
		{"STRING", []string{"null", `""`, `"a"`}, nil, nil},
		{"DOUBLE", []string{"null", "0.0", "-0.0", "1.5", `"NaN"`}, [][2]int{{1, 2}}, []int{4}},
		{"FLOAT", []string{"null", "0.0", "-0.0", `"NaN"`}, [][2]int{{1, 2}}, []int{3}},
		{"ARRAY<DOUBLE>", []string{"null", "[]", "[0.0]", "[-0.0]", "[null]", `["NaN"]`, "[0.0,1.0]"}, [][2]int{{2, 3}}, []int{5}},
		{"ROW<a DOUBLE, b INT>", []string{"null", "[null,null]", "[0.0,1]", "[-0.0,1]", `["NaN",1]`}, [][2]int{{2, 3}}, []int{4}},
		{"MAP<STRING, DOUBLE>", []string{"null", "{}", `{"a":0.0,"b":1}`, `{"b":1,"a":-0.0}`, `{"a":"NaN"}`, `{"a":0.0}`, `{"c":0.0}`}, [][2]int{{2, 3}}, []int{4}},
	} {
		typ, err := rowdata.ParseType(tc.typ)
		require.NoError(t, err)
		v := rowdata.NewVector(typ, 0)
		for _, text := range tc.values {
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			var value any
			require.NoError(t, d.Decode(&value))
			require.NoError(t, rowdata.AppendFromJSON(v, value), "%s: %s", tc.typ, text)
		}
		for i := range tc.values {
			for j := range tc.values {
				want := i == j
				for _, e := range tc.equal {
					want = want || e == [2]int{min(i, j), max(i, j)}
				}
				for _, n := range tc.never {
					want = want && n != i
				}
				require.Equal(t, want, same(v, i, v, j), "%s: %s, %s", tc.typ, tc.values[i], tc.values[j])
			}
		}
	}
}
