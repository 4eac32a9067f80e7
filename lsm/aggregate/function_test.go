package aggregate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func vectorOf(t *testing.T, typ *rowdata.Type, texts ...string) *rowdata.Vector {
	t.Helper()
	v := rowdata.NewVector(typ, len(texts))
	for _, text := range texts {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var x any
		require.NoError(t, d.Decode(&x), text)
		require.NoError(t, rowdata.AppendFromJSON(v, x), text)
	}
	return v
}

func typeOf(t *testing.T, text string) *rowdata.Type {
	t.Helper()
	typ, err := rowdata.ParseType(text)
	require.NoError(t, err)
	return typ
}

// TestFunctions: words are operations: a value is added, ~ one is added as older, ! one is
// retracted.
func TestFunctions(t *testing.T) {
	for _, tc := range []struct {
		name string
		spec Spec
		typ  string
		ops  []string
		want string // or the text of the error
	}{
		{"sum", Spec{}, "INT", []string{"1", "2", "!5", "~10", "null", "!null"}, "8"},
		{"sum", Spec{}, "SMALLINT", []string{"32767", "1"}, "SMALLINT overflow: 32767 + 1"},
		{"sum", Spec{}, "BIGINT", []string{"!-9223372036854775808"}, "BIGINT overflow: 0 - -9223372036854775808"},
		{"sum", Spec{}, "DOUBLE", []string{"0.1", "0.2"}, "0.30000000000000004"},
		{"sum", Spec{}, "DECIMAL(3,1)", []string{`"99.9"`, `"0.1"`}, "DECIMAL(3, 1) overflow: 99.9 + 0.1"},
		{"sum", Spec{Lenient: true}, "DECIMAL(3,1)", []string{`"99.9"`, `"0.1"`}, `"100.0"`},
		{"sum", Spec{Lenient: true}, "DECIMAL(20,0)", []string{`"99999999999999999999"`, `"1"`}, `null`},
		{"product", Spec{}, "INT", []string{"7", "3", "!2"}, "10"},
		{"product", Spec{}, "TINYINT", []string{"-128", "!-1"}, "TINYINT overflow: -128 / -1"},
		{"product", Spec{}, "BIGINT", []string{"-9223372036854775807", "2"}, "BIGINT overflow: -9223372036854775807 * 2"},
		{"product", Spec{}, "DECIMAL(4,2)", []string{`"1.05"`, `"1.05"`}, `"1.10"`},
		{"product", Spec{}, "DECIMAL(4,2)", []string{`"-1.05"`, `"1.10"`}, `"-1.16"`},
		{"product", Spec{}, "DECIMAL(20,2)", []string{`"10.00"`, `!"4.00"`}, `"2.50"`},
		{"min", Spec{}, "STRING", []string{`"b"`, `"a"`, `~"c"`, "null"}, `"a"`},
		{"max", Spec{}, "DATE", []string{`"2020-01-01"`, `"2024-01-01"`, `~"2030-01-01"`}, `"2030-01-01"`},
		{"max", Spec{IgnoreRetract: true}, "INT", []string{"1", "!5"}, "1"},
		{"first_value", Spec{}, "INT", []string{"null", "1"}, "null"},
		{"first_value", Spec{}, "INT", []string{"2", "~1", "3"}, "1"},
		{"first_non_null_value", Spec{}, "INT", []string{"null", "1", "2"}, "1"},
		{"last_value", Spec{}, "INT", []string{"1", "null"}, "null"},
		{"last_value", Spec{}, "INT", []string{"1", "~2"}, "1"},
		{"last_non_null_value", Spec{}, "INT", []string{"null", "~2", "~3"}, "2"},
		{"primary-key", Spec{}, "INT", []string{"1", "~2", "!3"}, "3"},
		{"bool_and", Spec{}, "BOOLEAN", []string{"true", "null", "~false"}, "false"},
		{"bool_or", Spec{}, "BOOLEAN", []string{"false", "true"}, "true"},
		{"listagg", Spec{Delimiter: ","}, "STRING", []string{`"b"`, `~"a"`, `""`, `"c"`}, `"a,b,c"`},
		{"listagg", Spec{Delimiter: ", ", Distinct: true}, "STRING", []string{`"b"`, `"a, b, a"`}, `"b, a"`},
		{"collect", Spec{}, "ARRAY<INT>", []string{"[1]", "~[2]", "[1]", "![1, 9]"}, "[2,1]"},
		{"collect", Spec{Distinct: true}, "ARRAY<ROW<a INT>>", []string{"[[9], [1]]", "[[1], [3]]"}, `[{"a":9},{"a":1},{"a":3}]`},
		{"collect", Spec{Distinct: true}, "ARRAY<STRING>", []string{"null", "null"}, "null"},
		{"merge_map", Spec{}, "MAP<STRING, INT>", []string{`{"a": 1}`, `~{"a": 2, "b": 3}`, `!{"b": 9}`}, `{"a":1}`},
		{"merge_map_with_keytime", Spec{TimeField: "s"}, "MAP<STRING, ROW<s STRING, v INT>>", []string{`{"a": ["2", 1]}`, `{"a": ["10", 2]}`}, `{"a":{"s":"2","v":1}}`},
		{"nested_update", Spec{CountLimit: -1}, "ARRAY<ROW<a INT>>", []string{"[[1]]", "[[1], [2]]", "![[1]]"}, `[{"a":2}]`},
		{"nested_update", Spec{CountLimit: 2}, "ARRAY<ROW<a INT>>", []string{"[[1]]", "[[1], [2]]", "[[3]]"}, `[{"a":1},{"a":1}]`},
		{"listagg", Spec{}, "STRING", []string{`!"a"`}, (&RetractError{Function: "listagg"}).Error()},
		{"nested_partial_update", Spec{}, "ARRAY<ROW<a INT>>", nil, "nested-key must be set for a column of type ARRAY<ROW<`a` INT>>"},
		{"nested_update", Spec{NestedKey: []string{"b"}}, "ARRAY<ROW<a INT>>", nil, "nested-key: b is no field of ROW<`a` INT>"},
		{"sum", Spec{}, "STRING", nil, "aggregate function sum takes a numeric type and not STRING"},
		{"max", Spec{}, "ARRAY<INT>", nil, "aggregate function max takes a type with an order and not ARRAY<INT>"},
		{"median", Spec{}, "INT", nil, "there is no aggregate function median"},
	} {
		t.Run(tc.name+" "+tc.typ, func(t *testing.T) {
			tc.spec.Function, tc.spec.Type = tc.name, typeOf(t, tc.typ)
			f, err := New(tc.spec)
			if err != nil {
				require.EqualError(t, err, tc.want)
				return
			}
			acc := vectorOf(t, tc.spec.Type, "null")
			for range 2 { // the second key is like the first
				f.Reset()
				SetNull(acc)
				err = nil
				for _, op := range tc.ops {
					switch {
					case strings.HasPrefix(op, "~"):
						err = f.AddOlder(acc, vectorOf(t, tc.spec.Type, "null", op[1:]), 1)
					case strings.HasPrefix(op, "!"):
						err = f.Retract(acc, vectorOf(t, tc.spec.Type, "null", op[1:]), 1)
					default:
						err = f.Add(acc, vectorOf(t, tc.spec.Type, "null", op), 1)
					}
					if err != nil {
						require.EqualError(t, err, tc.want)
						break
					}
				}
				if err == nil {
					require.Equal(t, tc.want, string(rowdata.AppendJSON(nil, acc, 0)))
				}
			}
		})
	}
}

// TestTableOrder: a table grows at three quarters, and values that share a place keep
// their order.
func TestTableOrder(t *testing.T) {
	require.Equal(t, []int{16, 16, 32, 64}, []int{places(0), places(12), places(13), places(25)})
	hash := []int32{17, 1, 33, 0, -1}
	order := []int32{0, 1, 2, 3, 4}
	inTableOrder(order, hash, 5)
	require.Equal(t, []int32{3, 4, 0, 1, 2}, order, "-1 spreads to place 0")
	order = []int32{0, 1, 2, 3, 4}
	inTableOrder(order, hash, 13)
	require.Equal(t, []int32{3, 4, 1, 2, 0}, order)
}
