package rowdata

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzColumns are columns of every storage, nested ones included.
func fuzzColumns() []*Vector {
	var out []*Vector
	for _, s := range []string{
		"STRING", "DECIMAL(38,2)", "TIMESTAMP(6)", "TIMESTAMP(9)", "BOOLEAN", "ARRAY<ARRAY<STRING>>", "MAP<STRING, ROW<a INT, b ARRAY<DECIMAL(30,0)>>>", "VARIANT", "VECTOR<INT, 2>", "MULTISET<TIMESTAMP(9)>",
	} {
		out = append(out, NewVector(parsed(s), 0))
	}
	return out
}

func FuzzDecodeBinaryRow(f *testing.F) {
	cols := fuzzColumns()
	for i, s := range []string{
		`"hello, world"`, "1.5", `"2024-01-02T03:04:05.123456"`, `"2024-01-02T03:04:05.123456789"`, "true",
		`[["a","longer than seven"],null]`, `{"k":{"a":1,"b":["7",null]}}`, `"{\"a\":1}"`, "[1,2]", `[["2024-01-02T03:04:05.000000001",2]]`,
	} {
		require.NoError(f, AppendFromJSON(cols[i], decodeJSON(f, s)))
	}
	f.Add(AppendBinaryRow(nil, cols, 0))
	for _, v := range cols {
		v.AppendNull()
	}
	f.Add(AppendBinaryRow(nil, cols, 1))
	f.Fuzz(func(t *testing.T, row []byte) {
		into := fuzzColumns()
		if DecodeBinaryRow(row, into) != nil {
			for _, v := range into {
				v.SetLen(0)
			}
			return
		}
		// What was read can be rendered, and written so that it reads the same.
		size, again := 0, fuzzColumns()
		require.NoError(t, DecodeBinaryRow(AppendBinaryRow(nil, into, 0), again))
		for i, v := range into {
			v.SetLen(1)
			require.True(t, Equal(v, 0, again[i], 0))
			require.True(t, json.Valid(AppendJSON(nil, v, 0)))
			if !v.IsNull(0) {
				AppendText(nil, v, 0)
			}
			size += v.MemSize()
		}
		require.LessOrEqual(t, size, 64*len(row)+1024)
	})
}

func FuzzDecodeOrderedKey(f *testing.F) {
	cols := []*Vector{NewVector(parsed("STRING"), 0), NewVector(parsed("DOUBLE"), 0), NewVector(parsed("TIMESTAMP(9)"), 0)}
	cols[0].AppendString("a\x00b")
	cols[1].AppendF64(1.5)
	cols[2].AppendTimestamp(1, 2)
	f.Add(AppendOrderedKey(nil, cols, 0))
	f.Fuzz(func(t *testing.T, key []byte) {
		into := emptyLike(cols)
		if DecodeOrderedKey(key, into) == nil {
			again := emptyLike(cols)
			require.NoError(t, DecodeOrderedKey(AppendOrderedKey(nil, into, 0), again))
			for i := range into {
				require.True(t, Equal(into[i], 0, again[i], 0))
			}
		}
	})
}

func FuzzParseType(f *testing.F) {
	for _, s := range append(append([]string{"INT NOT NULL ARRAY", "ROW<`a``b` INT 'it''s', c MAP<INT, VECTOR<FLOAT, 3>>>", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"}, keyTypes...), nestedTypes...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typ, err := ParseType(s)
		if err != nil {
			return
		}
		again, err := ParseType(typ.String())
		require.NoError(t, err)
		require.True(t, typ.Equal(again), "%s, %s", typ, again)
		data, err := json.Marshal(typ)
		require.NoError(t, err)
		var back Type
		require.NoError(t, json.Unmarshal(data, &back))
		NewVector(typ, 0)
	})
}

func FuzzJSON(f *testing.F) {
	for i, s := range []string{`"é"`, `"1.5"`, `"2024-01-02T03:04:05.123456"`, `"x"`, "true", `[["a"],null]`, `{"k":{"a":1,"b":["7",null]}}`, `{"a":[1,1e3,-2.5]}`, "[1,2]", `[["2024-01-02T03:04:05Z",2]]`} {
		f.Add(s, uint8(i))
	}
	f.Fuzz(func(t *testing.T, s string, column uint8) {
		var x any
		if newDecoder([]byte(s)).Decode(&x) != nil {
			return
		}
		cols := fuzzColumns()
		v := cols[int(column)%len(cols)]
		if AppendFromJSON(v, x) != nil {
			v.SetLen(0)
			return
		}
		v.SetLen(1)
		out := AppendJSON(nil, v, 0)
		require.True(t, json.Valid(out), string(out))
		again := NewVector(v.Type, 0)
		require.NoError(t, AppendFromJSON(again, decodeJSON(t, string(out))), string(out))
		if v.Type.Root != Variant { // 1e3 is a double there, 1000.0 a decimal
			require.Equal(t, string(out), string(AppendJSON(nil, again, 0)))
		}
	})
}

func FuzzAppendParsed(f *testing.F) {
	for i, s := range []string{"x", "1.5e3", "2024-01-02 03:04:05.1", "1700000000", "yes", "[[a], null]", "{k -> {1, [2]}}", `{"a":1}`} {
		f.Add(s, uint8(i))
	}
	f.Fuzz(func(t *testing.T, s string, column uint8) {
		cols := append(fuzzColumns(), NewVector(parsed("DATE"), 0), NewVector(parsed("TIME(3)"), 0), NewVector(parsed("DOUBLE"), 0), NewVector(parsed("BIGINT"), 0))
		v := cols[int(column)%len(cols)]
		if AppendParsed(v, s) != nil {
			v.SetLen(0)
			return
		}
		v.SetLen(1)
		require.True(t, json.Valid(AppendJSON(nil, v, 0)))
	})
}

func FuzzVariantText(f *testing.F) {
	f.Add(unhex(f, "020301000206000b150201010001041490eefeff0301000620027d000000"), unhex(f, "010300010203626163"))
	f.Fuzz(func(t *testing.T, value, metadata []byte) {
		out, err := AppendVariantText(nil, value, metadata)
		if err == nil {
			require.True(t, json.Valid(out), string(out))
		}
	})
}
