package rowdata

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestJSONForms(t *testing.T) {
	for _, c := range []struct{ typ, in, out string }{
		{"BOOLEAN", "true", "true"},
		{"BOOLEAN", `"False"`, "false"},
		{"TINYINT", "-128", "-128"},
		{"SMALLINT", `"7"`, "7"},
		{"INT", "1.0", "1"},
		{"INT", "1e3", "1000"},
		{"BIGINT", "9223372036854775807", "9223372036854775807"},
		{"FLOAT", "1.1", "1.1"},
		{"FLOAT", "16777216", "1.6777216E7"},
		{"FLOAT", `"NaN"`, `"NaN"`},
		{"FLOAT", "1.4e-45", "1.4E-45"},
		{"DOUBLE", "-0.0", "-0.0"},
		{"DOUBLE", "1e10", "1.0E10"},
		{"DOUBLE", "100", "100.0"},
		{"DOUBLE", "0.001", "0.001"},
		{"DOUBLE", "0.00012", "1.2E-4"},
		{"DOUBLE", "9999999", "9999999.0"},
		{"DOUBLE", "1e7", "1.0E7"},
		{"DOUBLE", "4.9e-324", "4.9E-324"},
		{"DOUBLE", `"-Infinity"`, `"-Infinity"`},
		{"DECIMAL(9,2)", "1.5", `"1.50"`},
		{"DECIMAL(9,2)", `"-0.005"`, `"-0.01"`},
		{"DECIMAL(9,0)", "1e2", `"100"`},
		{"DECIMAL(38,38)", `"-0.00000000000000000000000000000000000001"`, `"-0.00000000000000000000000000000000000001"`},
		{"DECIMAL(38,0)", `"-99999999999999999999999999999999999999"`, `"-99999999999999999999999999999999999999"`},
		{"DECIMAL(38,0)", `"100000000000000000000000000000000000000e-1"`, `"10000000000000000000000000000000000000"`},
		{"CHAR(5)", `"ab"`, `"ab"`},
		{"STRING", `"q\"b\\n\nt\tb\bf\fr\r\u0001\u001f/é🎉\u2028"`, "\"q\\\"b\\\\n\\nt\\tb\\bf\\fr\\r\\u0001\\u001F/é🎉\u2028\""},
		{"STRING", "7", `"7"`},
		{"BYTES", `"/w=="`, `"/w=="`},
		{"DATE", `"2024-02-29"`, `"2024-02-29"`},
		{"DATE", "19724", `"2024-01-02"`},
		{"DATE", `"+12345-01-01"`, `"+12345-01-01"`},
		{"DATE", `"-0044-03-15"`, `"-0044-03-15"`},
		{"DATE", "-2147483648", `"-5877641-06-23"`},
		{"TIME(0)", `"12:34:56"`, `"12:34:56"`},
		{"TIME(9)", `"12:34:56.7"`, `"12:34:56.700"`},
		{"TIME(0)", "1", `"00:00:00.001000000"`},
		{"TIMESTAMP(0)", `"2024-02-29T01:02:03"`, `"2024-02-29T01:02:03"`},
		{"TIMESTAMP(6)", `"2024-02-29 01:02:03.4"`, `"2024-02-29T01:02:03.400000"`},
		{"TIMESTAMP(9)", `"1969-12-31T23:59:59.999999999"`, `"1969-12-31T23:59:59.999999999"`},
		{"TIMESTAMP(0)", `"2024-02-29T01:02:03.456"`, `"2024-02-29T01:02:03.456000000"`},
		{"TIMESTAMP_LTZ(3)", `"2024-02-29T01:02:03.456Z"`, `"2024-02-29T01:02:03.456Z"`},
		{"ARRAY<STRING>", `["a",null]`, `["a",null]`},
		{"ARRAY<STRING>", "null", "null"},
		{"MAP<STRING, INT>", `{"b":1,"a":null}`, `{"a":null,"b":1}`},
		{"MAP<STRING, INT>", `[["a",1],["a",2]]`, `{"a":2}`},
		{"MAP<STRING, INT>", `[["\uffff",1],["🎉",2]]`, "{\"🎉\":2,\"\uffff\":1}"},
		{"MAP<STRING, INT>", `[[null,1]]`, `[[null,1]]`},
		{"MAP<INT, STRING>", `[[2,"x"],[10,"y"]]`, `[[10,"y"],[2,"x"]]`},
		{"MULTISET<STRING>", `{"x":3}`, `{"x":3}`},
		{"VECTOR<DOUBLE, 2>", `[1,2.5]`, `[1.0,2.5]`},
		{"ROW<a INT, b ROW<c STRING>>", `{"b":["x"]}`, `{"a":null,"b":{"c":"x"}}`},
	} {
		v := column(t, c.typ, c.in)
		require.Equal(t, c.out, string(AppendJSON(nil, v, 0)), c.typ)
		// What comes out goes in again, to the same value if it has each key once.
		again := column(t, c.typ, c.out)
		require.Equal(t, c.in != `[["a",1],["a",2]]`, Equal(v, 0, again, 0), "%s %s", c.typ, c.out)
	}
}

func TestJSONErrors(t *testing.T) {
	for _, c := range []struct{ typ, in string }{
		{"BOOLEAN", "1"},
		{"BOOLEAN", "[]"},
		{"TINYINT", "128"},
		{"TINYINT", "1.5"},
		{"INT", `"x"`},
		{"INT", "true"},
		{"BIGINT", "9223372036854775808"},
		{"INT", "1e30"},
		{"FLOAT", "1e39"},
		{"DOUBLE", `"x"`},
		{"DOUBLE", `"0x1p3"`},
		{"DECIMAL(3,2)", "10"},
		{"DECIMAL(3,2)", `"1,0"`},
		{"DECIMAL(3,2)", `""`},
		{"BYTES", `"*"`},
		{"DATE", `"2024"`},
		{"DATE", `"2024-02-30"`},
		{"DATE", `"19724"`},
		{"DATE", "1.5"},
		{"DATE", `"999999999-01-01"`},
		{"TIME(3)", "86400000"},
		{"TIME(3)", `"24:00:00"`},
		{"TIMESTAMP(3)", "0"},
		{"TIMESTAMP(3)", `"2023-02-29T00:00:00"`},
		{"TIMESTAMP(3)", `"2024-01-01T25:00:00"`},
		{"TIMESTAMP(6)", `"+999999-01-01T00:00:00"`},
		{"ARRAY<INT>", `{"a":1}`},
		{"ARRAY<INT>", `[1,"x"]`},
		{"ARRAY<ARRAY<INT>>", `[[1],[2,"x"]]`},
		{"MAP<INT,INT>", `[[1]]`},
		{"MAP<INT,INT>", `{"x":1}`},
		{"MAP<INT,INT>", "1"},
		{"VECTOR<INT, 2>", "[1]"},
		{"VECTOR<INT, 2>", "[1,null]"},
		{"ROW<a INT>", `{"b":1}`},
		{"ROW<a INT>", `[1,2]`},
		{"ROW<a INT>", "1"},
	} {
		v := column(t, c.typ, "null")
		require.Error(t, AppendFromJSON(v, decodeJSON(t, c.in)), "%s %s", c.typ, c.in)
		v.SetLen(1) // nothing was left behind
	}
}

func TestJSONRow(t *testing.T) {
	five := "5"
	r := &RowType{Fields: []Field{
		{Name: "a", Type: mustType(t, "INT")}, {Name: `b"c`, Type: mustType(t, "ARRAY<STRING>")}, {Name: "d", Type: mustType(t, "INT"), Default: &five},
	}}
	b := NewBatch(r, 0)
	for _, s := range []string{`{"a":1,"b\"c":["x"]}`, `[2]`, `{"d":null}`, `[3,null,4]`} {
		require.NoError(t, AppendJSONRow(b, decodeJSON(t, s)), s)
	}
	for s, want := range map[string]string{
		`{"a":1,"z":2,"y":3}`: `no column "y", "z"`, `{"a":1,"b\"c":["x",[]]}`: `column b"c: element 1`, `[1,2,3,4]`: "4 values for 3 columns", `7`: "a number", `null`: "null", `[[]]`: "column a",
	} {
		require.ErrorContains(t, AppendJSONRow(b, decodeJSON(t, s)), want)
	}
	bad := "x"
	r.Fields[2].Default = &bad
	require.ErrorContains(t, AppendJSONRow(b, map[string]any{}), "default of column d")
	require.Equal(t, 4, b.N)
	for _, v := range b.Cols {
		v.SetLen(4)
	}
	require.Equal(t, `{"a":1,"b\"c":["x"],"d":5}`, string(AppendJSONObject(nil, b, 0)))
	e := NewJSONEncoder(r.Fields)
	for i := range b.N {
		require.Equal(t, string(AppendJSONObject(nil, b, i)), string(e.AppendObject(nil, b.Cols, i)))
	}
	require.Equal(t, "{}", string(NewJSONEncoder(nil).AppendObject(nil, nil, 0)))
	require.Equal(t, `[2,null,5]`, string(AppendJSONArray(nil, b, 1)))
	require.Equal(t, `{"a":null,"b\"c":null,"d":null}`, string(AppendJSONObject(nil, b, 2)))
}

// TestJSONString compares with the standard library, invalid UTF-8 included.
func TestJSONString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, "b")
		out := AppendJSONString(nil, b)
		require.True(t, utf8.Valid(out))
		require.Equal(t, out, AppendJSONString(nil, string(b)))
		var got, want string
		require.NoError(t, json.Unmarshal(out, &got))
		std, _ := json.Marshal(string(b))
		require.NoError(t, json.Unmarshal(std, &want))
		require.Equal(t, want, got)
	})
}

func TestFloatTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64().Draw(t, "x")
		y, err := strconv.ParseFloat(string(appendFloat(nil, x, 64)), 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(x), math.Float64bits(y))
		f := rapid.Float32().Draw(t, "f")
		g, err := strconv.ParseFloat(string(appendFloat(nil, float64(f), 32)), 32)
		require.NoError(t, err)
		require.Equal(t, f, float32(g))
	})
}

// TestValuesRoundTrip sends random values of all types through all forms.
func TestValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(rapid.SampledFrom(append(append([]string{}, keyTypes...), nestedTypes...)), 1, 4).Draw(t, "types")
		b := randomBatch(t, types, 3, true)
		fromRow, fromJSON, copied := NewBatch(b.Type, 0), NewBatch(b.Type, 0), NewBatch(b.Type, 0)
		copied.AppendRange(b, 0, 1)
		copied.Gather(b, []int32{1})
		copied.AppendFrom(b, 2)
		for i := range b.N {
			row := AppendBinaryRow(nil, b.Cols, i)
			require.Zero(t, len(row)%8)
			require.NoError(t, DecodeBinaryRow(row, fromRow.Cols))
			fromRow.CloseRow()
			require.Equal(t, row, AppendBinaryRow(nil, fromRow.Cols, i))

			text := AppendJSONObject(nil, b, i)
			require.True(t, json.Valid(text), string(text))
			var x any
			d := newDecoder(text)
			require.NoError(t, d.Decode(&x))
			require.NoError(t, AppendJSONRow(fromJSON, x))
			for c, v := range b.Cols {
				v.SetLen(b.N)
				copied.Cols[c].SetLen(b.N)
				require.True(t, Equal(v, i, fromRow.Cols[c], i), string(text))
				require.True(t, Equal(v, i, fromJSON.Cols[c], i), "%s\n%s", text, AppendJSONObject(nil, fromJSON, i))
				require.True(t, Equal(v, i, copied.Cols[c], i))
				require.True(t, Equal(v, i, v.Slice(i), 0))
				require.Zero(t, Compare(v, i, copied.Cols[c], i))
			}
		}
		copied.Reset()
		copied.AppendRange(b, 1, 3)
		for c := range b.Cols {
			copied.Cols[c].SetLen(2)
			copied.Cols[c].Truncate(1)
			copied.Cols[c].SetLen(1)
			require.True(t, Equal(b.Cols[c], 1, copied.Cols[c], 0))
		}
	})
}
