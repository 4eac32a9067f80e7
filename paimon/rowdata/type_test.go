package rowdata

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseType(t *testing.T) {
	for in, want := range map[string]string{
		"boolean": "BOOLEAN", "TINYINT NOT NULL": "TINYINT NOT NULL", "INTEGER": "INT", "INT NULL": "INT", " bigint ": "BIGINT",
		"DOUBLE PRECISION": "DOUBLE", "DECIMAL": "DECIMAL(10, 0)", "DEC(5)": "DECIMAL(5, 0)", "NUMERIC(38,38)": "DECIMAL(38, 38)",
		"CHAR": "CHAR(1)", "CHAR(5)": "CHAR(5)", "VARCHAR": "VARCHAR(1)", "VARCHAR(2147483647)": "STRING", "STRING": "STRING",
		"BINARY": "BINARY(1)", "VARBINARY": "VARBINARY(1)", "VARBINARY(2147483647)": "BYTES", "BYTES NOT NULL": "BYTES NOT NULL",
		"DATE": "DATE", "TIME": "TIME(0)", "TIME(3) WITHOUT TIME ZONE": "TIME(3)", "TIMESTAMP": "TIMESTAMP(6)",
		"TIMESTAMP(9) WITHOUT TIME ZONE": "TIMESTAMP(9)", "TIMESTAMP WITH LOCAL TIME ZONE": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"TIMESTAMP(3) with local time zone not null": "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP_LTZ(0)": "TIMESTAMP(0) WITH LOCAL TIME ZONE",
		"VARIANT": "VARIANT", "BLOB": "BLOB", "INT NOT NULL ARRAY": "ARRAY<INT NOT NULL>", "INT ARRAY NOT NULL MULTISET": "MULTISET<ARRAY<INT> NOT NULL>",
		"ARRAY<INT NOT NULL> NOT NULL": "ARRAY<INT NOT NULL> NOT NULL", "MAP<STRING NOT NULL,DECIMAL(20,2)>": "MAP<STRING NOT NULL, DECIMAL(20, 2)>",
		"VECTOR<FLOAT NOT NULL, 3>": "VECTOR<FLOAT NOT NULL, 3>", "ROW<>": "ROW<>",
		"ROW<a INT, `b ``c` ROW<`INT` STRING 'it''s'> NOT NULL>": "ROW<`a` INT, `b ``c` ROW<`INT` STRING> NOT NULL>",
	} {
		typ, err := ParseType(in)
		require.NoError(t, err, in)
		require.Equal(t, want, typ.String(), in)
		again, err := ParseType(typ.String())
		require.NoError(t, err)
		require.True(t, typ.Equal(again), in)
	}
	row := mustType(t, "ROW<a INT 'it''s a'>")
	require.Equal(t, "it's a", row.Fields[0].Description)
}

func TestParseTypeErrors(t *testing.T) {
	for in, want := range map[string]string{
		"": "name of a type", "FOO": "no type FOO", "INT INT": `"INT" is too much`, "INT NOT": `want "NULL"`, "DECIMAL(39)": "from 1 to 38", "DECIMAL(5,6)": "greater",
		"DECIMAL(0)": "precision", "CHAR(0)": "length", "VARCHAR(2147483648)": "length", "VARCHAR(99999999999999999999)": "length", "TIME(10)": "precision",
		"TIMESTAMP(x)": "precision", "TIMESTAMP(3": `want ")"`, "TIMESTAMP WITH TIME ZONE": `want "LOCAL"`, "ARRAY": `want "<"`, "ARRAY<INT": `want ">"`,
		"MAP<INT>": `want ","`, "VECTOR<STRING, 3>": "vector of STRING", "VECTOR<INT, 0>": "length", "ROW<a>": "name of a type", "ROW<'a' INT>": "name of a member",
		"`INT`": "name of a type", "ROW<`a INT>": "not closed", "GEOMETRY": "no type", "INT\x00": "too much",
		strings.Repeat("ARRAY<", 100) + "INT" + strings.Repeat(">", 100): "deeper",
		"INT" + strings.Repeat(" ARRAY", 100):                            "deeper",
	} {
		_, err := ParseType(in)
		require.ErrorContains(t, err, want, in)
	}
}

func TestTypeJSON(t *testing.T) {
	text := `[{"id":0,"name":"k","type":"INT NOT NULL"},
	  {"id":1,"name":"r","type":{"type":"ROW","fields":[{"id":2,"name":"x","type":"INT"},
	     {"id":4,"name":"y","type":{"type":"ARRAY NOT NULL","element":{"type":"ROW","fields":[{"id":3,"name":"z","type":"STRING"}]}}}]},"description":"a desc"},
	  {"id":5,"name":"m","type":{"type":"MAP","key":"STRING NOT NULL","value":"DECIMAL(20, 2)"}},
	  {"id":6,"name":"d","type":"INT","defaultValue":"5"},
	  {"id":7,"name":"s","type":{"type":"MULTISET","element":"INT"}},
	  {"id":8,"name":"v","type":{"type":"VECTOR","element":"FLOAT NOT NULL","length":3}},
	  {"id":9,"name":"e","type":{"type":"ROW","fields":[]}}]`
	var r RowType
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	require.Equal(t, "a desc", r.Fields[1].Description)
	require.Equal(t, "5", *r.Fields[3].Default)
	require.Equal(t, 3, r.Fields[1].Type.Fields[1].Type.Elem.Fields[0].ID)
	require.True(t, r.Fields[1].Type.Fields[1].Type.NotNull)
	require.Equal(t, 3, r.Fields[5].Type.Length)
	out, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, text, string(out))
	out, err = json.Marshal(&r)
	require.NoError(t, err)
	require.JSONEq(t, text, string(out))
	out, err = json.Marshal(RowType{})
	require.NoError(t, err)
	require.Equal(t, "[]", string(out))

	// Strings may hold constructed types, too, and unknown keys do not matter.
	var f Field
	require.NoError(t, json.Unmarshal([]byte(`{"id":1,"name":"x","type":"VECTOR<FLOAT, 2>","other":[1]}`), &f))
	require.Equal(t, Vec, f.Type.Root)
}

func TestTypeJSONErrors(t *testing.T) {
	deep := strings.Repeat(`{"type":"ARRAY","element":`, 100) + `"INT"` + strings.Repeat("}", 100)
	for in, want := range map[string]string{
		`{"type":"ARRAY"}`: "element", `{"type":"MAP","key":"INT"}`: "value", `{"type":"SET","element":"INT"}`: "SET", `{"type":""}`: "no type", `7`: "cannot unmarshal",
		`{"type":"ROW","fields":[{"name":"a"}]}`: `"a" has no type`, `{"type":"ROW","fields":[{"name":"a","type":"FOO"}]}`: `field "a"`, `null`: "no type",
		`{"type":"VECTOR","element":"INT"}`: "length 0", `{"type":"VECTOR","element":"STRING","length":1}`: "vector of", deep: "deeper",
	} {
		_, err := typeOfJSON([]byte(in), 0)
		require.ErrorContains(t, err, want, in)
	}
}

func TestTypeEqual(t *testing.T) {
	a, b := mustType(t, "ROW<a INT, b MAP<INT, STRING>>"), mustType(t, "ROW<a INT NOT NULL, b MAP<INT, STRING NOT NULL>>")
	require.False(t, a.Equal(b))
	require.True(t, a.EqualIgnoreNull(b))
	require.False(t, a.EqualIgnoreNull(mustType(t, "ROW<a INT, c MAP<INT, STRING>>")))
	require.True(t, a.AsNotNull().NotNull)
	require.True(t, a.AsNotNull().Nullable().Equal(a))
	r := RowType{Fields: a.Fields}
	require.Equal(t, 1, r.Index("b"))
	require.Equal(t, -1, r.Index("c"))
	require.Equal(t, []string{"b"}, r.Project([]int{1}).Names())
}
