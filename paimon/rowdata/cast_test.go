package rowdata

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// schemaType reads a type in the form of schema files, which has ids.
func schemaType(t testing.TB, s string) *Type {
	t.Helper()
	typ := new(Type)
	require.NoError(t, json.Unmarshal([]byte(s), typ))
	return typ
}

func TestCastNested(t *testing.T) {
	row := func(fields string) string { return `{"type":"ROW","fields":[` + fields + `]}` }
	a, bInt, bText := `{"id":2,"name":"a","type":"STRING"}`, `{"id":3,"name":"b","type":"INT"}`, `{"id":3,"name":"renamed","type":"STRING"}`
	added := `{"id":9,"name":"b","type":"INT"}`
	for _, c := range []struct{ name, from, to, in, out string }{
		{"array", `{"type":"ARRAY","element":"INT"}`, `{"type":"ARRAY","element":"BIGINT"}`, `[1,null,-3]`, `[1,null,-3]`},
		{"array of narrower", `{"type":"ARRAY","element":"INT"}`, `{"type":"ARRAY","element":"TINYINT NOT NULL"}`, `[129]`, `[-127]`},
		{"map value", `{"type":"MAP","key":"INT","value":"INT"}`, `{"type":"MAP","key":"INT NOT NULL","value":"STRING"}`, `[[1,10],[2,null]]`, `[[1,"10"],[2,null]]`},
		{"multiset", `{"type":"MULTISET","element":"INT"}`, `{"type":"MULTISET","element":"BIGINT"}`, `[[1,2]]`, `[[1,2]]`},
		{"vector", `"VECTOR<INT, 2>"`, `"VECTOR<DOUBLE, 2>"`, `[1,2]`, `[1.0,2.0]`},
		{"renamed, moved, cast", row(a + "," + bInt), row(bText + "," + a), `{"a":"x","b":7}`, `{"renamed":"7","a":"x"}`},
		{"added under an old name", row(a + "," + bInt), row(a + "," + added), `{"a":"x","b":7}`, `{"a":"x","b":null}`},
		{"all members unknown", row(bInt), row(added), `{"b":7}`, `null`},
		{"no ids: by name", `"ROW<x INT, y STRING>"`, `"ROW<y STRING, x BIGINT, z INT>"`, `[1,"a"]`, `{"y":"a","x":1,"z":null}`},
		{"deep", `{"type":"ARRAY","element":` + row(bInt) + `}`, `{"type":"ARRAY","element":` + row(bText) + `}`, `[null,{"b":1}]`, `[null,{"renamed":"1"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := schemaType(t, c.from), schemaType(t, c.to)
			require.True(t, CanCast(from, to, true))
			require.Equal(t, c.out, castOneText(t, from, to, c.in))
		})
	}
	for _, c := range [][2]string{
		{"MAP<INT, INT>", "MAP<BIGINT, INT>"},
		{"VECTOR<INT, 2>", "VECTOR<INT, 3>"},
		{"ARRAY<INT>", "ARRAY<ARRAY<INT>>"},
		{"ARRAY<INT>", "MAP<INT, INT>"},
		{"ROW<a INT>", "ROW<a ARRAY<INT>>"},
		{"BLOB", "STRING"},
		{"INT", "DATE"},
		{"DATE", "INT"},
		{"DOUBLE", "BOOLEAN"},
		{"TIME(0)", "DATE"},
		{"FLOAT", "TIMESTAMP(3)"},
		{"TIMESTAMP(3)", "FLOAT"},
		{"BOOLEAN", "DATE"},
		{"INT", "BYTES"},
		{"INT", "ARRAY<INT>"},
	} {
		from, to := mustType(t, c[0]), mustType(t, c[1])
		require.False(t, CanCast(from, to, true), c)
		src, dst := NewVector(from, 1), NewVector(to, 1)
		src.AppendNull()
		src.AppendFrom(src, 0)
		if from.IsNested() && to.IsNested() && from.Elem != nil && to.Elem != nil && from.Root == to.Root && from.Root == Array {
			src = column(t, c[0], "[1]")
		}
		var e *CastError
		require.ErrorAs(t, Cast(dst, src), &e, c)
		dst.SetLen(0)
	}
}

// TestCastSame expects a copy where nothing changes.
func TestCastSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(append(append([]string{}, keyTypes...), nestedTypes...)).Draw(t, "type")
		b := randomBatch(t, []string{typ}, 3, true)
		require.True(t, CanCast(b.Cols[0].Type, b.Cols[0].Type, false))
		dst := NewVector(b.Cols[0].Type.AsNotNull(), 0)
		require.NoError(t, Cast(dst, b.Cols[0]))
		dst.SetLen(3)
		for i := range 3 {
			require.True(t, Equal(b.Cols[0], i, dst, i))
		}
	})
}

func TestCastNumbers(t *testing.T) {
	src := NewVector(mustType(t, "DOUBLE"), 0)
	for _, x := range []float64{math.MaxInt64, -math.MaxInt64, 9007199254740993, -0.9} {
		src.AppendF64(x)
	}
	dst := NewVector(mustType(t, "BIGINT"), 0)
	require.NoError(t, Cast(dst, src))
	require.Equal(t, []string{"9223372036854775807", "-9223372036854775808", "9007199254740992", "0"}, texts(dst))

	// An integer beyond what BIGINT holds in microseconds is no timestamp.
	big := column(t, "BIGINT", "9000000000000000", "-1")
	stamp := NewVector(mustType(t, "TIMESTAMP(6)"), 0)
	require.NoError(t, Cast(stamp, big))
	require.Equal(t, []string{"null", `"1969-12-31T23:59:59.000000"`}, texts(stamp))

	// Only the lowest bits of a BIGINT being zero does not make it false.
	flag := NewVector(mustType(t, "BOOLEAN"), 0)
	require.NoError(t, Cast(flag, column(t, "BIGINT", "4294967296", "0", "null")))
	require.Equal(t, []string{"true", "false", "null"}, texts(flag))
}

func TestAppendParsed(t *testing.T) {
	for _, c := range []struct{ typ, in, out string }{
		{"INT", ".5", "0"},
		{"INT", "", "error"},
		{"INT", ".", "error"},
		{"INT", "-.", "error"},
		{"INT", "1_000", "error"},
		{"INT", "-0", "0"},
		{"INT", "1.x", "error"},
		{"BIGINT", "-9223372036854775808", "-9223372036854775808"},
		{"DECIMAL(4,1)", "99.96", `"100.0"`},
		{"DECIMAL(4,1)", "999.95", "null"},
		{"DECIMAL(38,0)", "1e37", `"10000000000000000000000000000000000000"`},
		{"DECIMAL(38,0)", "1e999999999", "null"},
		{"DECIMAL(38,0)", "1e-999999999", `"0"`},
		{"DECIMAL(38,0)", "0e999999999", `"0"`},
		{"DECIMAL(5,0)", "e5", "error"},
		{"DECIMAL(5,0)", "1e", "error"},
		{"DECIMAL(5,0)", "-", "error"},
		{"DECIMAL(38,30)", "0.0000000000000000000000000000000000000000000001", `"0.000000000000000000000000000000"`},
		{"DECIMAL(38,2)", "-0.005", `"-0.01"`},
		{"DECIMAL(38,2)", "123456789012345678901234567890123456.785", `"123456789012345678901234567890123456.79"`},
		{"BOOLEAN", "Y", "true"},
		{"BOOLEAN", "", "error"},
		{"DATE", "2024-02", `"2024-02-01"`},
		{"DATE", "2024-00-01", "error"},
		{"DATE", "x", "error"},
		{"DATE", "99999999999", "error"},
		{"TIME(3)", "23:59:59.9999", `"23:59:59.999"`},
		{"TIME(3)", "24:00", "error"},
		{"TIME(3)", "1:2:3:4", "error"},
		{"TIMESTAMP(0)", "9223372036854775807", "error"},
		{"TIMESTAMP(6)", "-1", `"1969-12-31T23:59:59.999999"`},
		{"TIMESTAMP(6)", "2024-04-31 00:00:00", `"2024-04-30T00:00:00.000000"`},
		{"TIMESTAMP(6)", "2024-04-32", "error"},
		{"TIMESTAMP(3)", "2024-04-01 24:00:01", "error"},
		{"CHAR(3)", "é", `"é  "`},
		{"VARCHAR(2)", "éèa", `"éè"`},
		{"BINARY(2)", "a", `"YQA="`},
		{"ARRAY<INT>", "[1, null]", "[1,null]"},
		{"ARRAY<INT>", "[1, x]", "error"},
		{"ARRAY<INT>", "1", "error"},
		{"ARRAY<ARRAY<INT>>", "[[1, 2], []]", "[[1,2],[]]"},
		{"ARRAY<INT>", "[[1]", "error"},
		{"ARRAY<STRING>", `["a, b", c]`, `["a, b","c"]`},
		{"MAP<STRING, ARRAY<INT>>", "{a -> [1, 2], b -> null}", `{"a":[1,2],"b":null}`},
		{"MAP<STRING, INT>", "{a}", "error"},
		{"ROW<a INT, b STRING>", "{1, x}", `{"a":1,"b":"x"}`},
		{"ROW<a INT, b STRING>", "{1}", "error"},
		{"VARIANT", `{"a":1}`, `"{\"a\":1}"`},
		{"MULTISET<INT>", "{}", "error"},
	} {
		v := NewVector(mustType(t, c.typ), 1)
		got := "error"
		if err := AppendParsed(v, c.in); err == nil {
			v.SetLen(1)
			got = texts(v)[0]
		} else {
			var e *ValueError
			require.ErrorAs(t, err, &e)
			v.SetLen(0)
		}
		require.Equal(t, c.out, got, "%s as %s", c.in, c.typ)
	}
}

// TestTextReadsBack parses what AppendText prints.
func TestTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]string{"BOOLEAN", "TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(38,5)", "STRING", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)"}).Draw(t, "type")
		b := randomBatch(t, []string{typ}, 1, false)
		v, back := b.Cols[0], NewVector(b.Cols[0].Type, 1)
		require.NoError(t, AppendParsed(back, string(AppendText(nil, v, 0))))
		require.True(t, Equal(v, 0, back, 0), "%s %s", texts(v), texts(back))
	})
}

// TestCastAsRead has rows of a Parquet file and what Java reads them as after
// the columns' types were changed.
func TestCastAsRead(t *testing.T) {
	xy := `{"type":"ROW","fields":[{"id":3,"name":"x","type":"INT"},{"id":4,"name":"y","type":"STRING"}]}`
	for _, c := range []struct{ from, to, in, out string }{
		{`{"type":"ARRAY","element":"INT"}`, `{"type":"ARRAY","element":"BIGINT"}`, `[1,2]`, `[1,2]`},
		{`{"type":"MAP","key":"STRING","value":"INT"}`, `{"type":"MAP","key":"STRING","value":"STRING"}`, `{"a":5}`, `{"a":"5"}`},
		{xy, `{"type":"ROW","fields":[{"id":3,"name":"x","type":"STRING"},{"id":4,"name":"z","type":"STRING"}]}`, `{"x":1,"y":"p"}`, `{"x":"1","z":"p"}`},
		{xy, `{"type":"ROW","fields":[{"id":9,"name":"n","type":"INT"}]}`, `{"x":1,"y":"p"}`, `null`},
		{xy, `{"type":"ROW","fields":[{"id":9,"name":"n","type":"INT"}]}`, `{"x":null,"y":null}`, `null`},
		{`"DECIMAL(10,2)"`, `"DECIMAL(6,1)"`, `"123.45"`, `"123.5"`},
		{`"DECIMAL(10,2)"`, `"DECIMAL(6,1)"`, `"99999999.99"`, `null`},
		{`"STRING"`, `"INT"`, `"7.9"`, `7`},
		{`"DOUBLE"`, `"INT"`, `-2.5`, `-2`},
		{`"DECIMAL(18,4)"`, `"DOUBLE"`, `"96143578345110.7000"`, `9.614357834511069E13`}, // unscaled value to double, then divided
		{`"DECIMAL(19,4)"`, `"DOUBLE"`, `"96143578345110.7000"`, `9.61435783451107E13`},
		{`"TIMESTAMP(6)"`, `"TIMESTAMP(0)"`, `"1969-12-31T23:59:59.999999"`, `"1970-01-01T00:00:00"`},
		{`"TIMESTAMP(6)"`, `"TIMESTAMP(0)"`, `"2024-02-29T01:02:03.456789"`, `"2024-02-29T01:02:03"`},
	} {
		require.Equal(t, c.out, castOneText(t, schemaType(t, c.from), schemaType(t, c.to), c.in), "%s to %s", c.from, c.to)
	}
}
