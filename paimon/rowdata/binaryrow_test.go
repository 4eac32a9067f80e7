package rowdata

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// rowVectors are the golden rows of the format: columns as "TYPE" and JSON
// value, the raw row, its hash, and the buckets of 2, 4, 5 and 16.
var rowVectors = []struct {
	cols    [][2]string
	row     string
	hash    int32
	buckets [4]int
}{
	{[][2]string{{"INT", "1"}}, "0000000000000000 0100000000000000", 1465514398, [4]int{0, 2, 3, 14}},
	{[][2]string{{"BIGINT", "1"}}, "0000000000000000 0100000000000000", 1465514398, [4]int{0, 2, 3, 14}},
	{[][2]string{{"BOOLEAN", "true"}}, "0000000000000000 0100000000000000", 1465514398, [4]int{0, 2, 3, 14}},
	{[][2]string{{"INT", "0"}}, "0000000000000000 0000000000000000", -300363099, [4]int{1, 3, 4, 11}},
	{[][2]string{{"INT", "-1"}}, "0000000000000000 ffffffff00000000", 1133687267, [4]int{1, 3, 2, 3}},
	{[][2]string{{"INT", "42"}}, "0000000000000000 2a00000000000000", 907821237, [4]int{1, 1, 2, 5}},
	{[][2]string{{"BIGINT", "-1"}}, "0000000000000000 ffffffffffffffff", -821098432, [4]int{0, 0, 2, 0}},
	{[][2]string{{"BIGINT", "9223372036854775807"}}, "0000000000000000 ffffffffffffff7f", -1566569095, [4]int{1, 3, 0, 7}},
	{[][2]string{{"TINYINT", "-1"}}, "0000000000000000 ff00000000000000", 2004758659, [4]int{1, 3, 4, 3}},
	{[][2]string{{"SMALLINT", "-1"}}, "0000000000000000 ffff000000000000", 2143727727, [4]int{1, 3, 2, 15}},
	{[][2]string{{"INT", "null"}}, "0001000000000000 0000000000000000", -1748325344, [4]int{0, 0, 4, 0}},
	{[][2]string{{"STRING", "null"}}, "0001000000000000 0000000000000000", -1748325344, [4]int{0, 0, 4, 0}},
	{[][2]string{{"STRING", `""`}}, "0000000000000000 0000000000000080", 302122119, [4]int{1, 3, 4, 7}},
	{[][2]string{{"STRING", `"a"`}}, "0000000000000000 6100000000000081", 943281246, [4]int{0, 2, 1, 14}},
	{[][2]string{{"STRING", `"abcdefg"`}}, "0000000000000000 6162636465666787", -1431907323, [4]int{1, 3, 3, 11}},
	{[][2]string{{"STRING", `"abcdefgh"`}}, "0000000000000000 0800000010000000 6162636465666768", -843760178, [4]int{0, 2, 3, 2}},
	{[][2]string{{"STRING", `"hello world"`}}, "0000000000000000 0b00000010000000 68656c6c6f20776f726c640000000000", 161593394, [4]int{0, 2, 4, 2}},
	{[][2]string{{"STRING", `"你好"`}}, "0000000000000000 e4bda0e5a5bd0086", 1309276358, [4]int{0, 2, 3, 6}},
	{[][2]string{{"BYTES", `"AQID"`}}, "0000000000000000 0102030000000083", 1066645297, [4]int{1, 1, 2, 1}},
	{[][2]string{{"DOUBLE", "1.5"}}, "0000000000000000 000000000000f83f", 1860889473, [4]int{1, 1, 3, 1}},
	{[][2]string{{"FLOAT", "1.5"}}, "0000000000000000 0000c03f00000000", -173842779, [4]int{1, 3, 4, 11}},
	{[][2]string{{"DATE", `"2024-01-02"`}}, "0000000000000000 0c4d000000000000", 1827046836, [4]int{0, 0, 1, 4}},
	{[][2]string{{"DECIMAL(10,2)", `"123.45"`}}, "0000000000000000 3930000000000000", 767607022, [4]int{0, 2, 2, 14}},
	{[][2]string{{"DECIMAL(20,2)", `"123.45"`}}, "0000000000000000 0200000010000000 30390000000000000000000000000000", -118192725, [4]int{1, 1, 0, 5}},
	{[][2]string{{"DECIMAL(20,2)", `"-1.00"`}}, "0000000000000000 0100000010000000 9c000000000000000000000000000000", -2092338868, [4]int{0, 0, 3, 4}},
	{[][2]string{{"DECIMAL(20,2)", "null"}}, "0001000000000000 0000000010000000 00000000000000000000000000000000", -1380280760, [4]int{0, 0, 0, 8}},
	{[][2]string{{"TIMESTAMP(3)", `"2023-11-14T22:13:20.123"`}}, "0000000000000000 7b68e5cf8b010000", -1285420957, [4]int{1, 1, 2, 13}},
	{[][2]string{{"TIMESTAMP(6)", `"2023-11-14T22:13:20.123456"`}}, "0000000000000000 40f5060010000000 7b68e5cf8b010000", 1196670069, [4]int{1, 1, 4, 5}},
	{[][2]string{{"TIMESTAMP(6)", "null"}}, "0001000000000000 0000000010000000 0000000000000000", -340882661, [4]int{1, 1, 1, 5}},
	{[][2]string{{"INT", "7"}, {"STRING", `"order-0001"`}}, "0000000000000000 0700000000000000 0a00000018000000 6f726465722d30303031000000000000", -235887286, [4]int{0, 2, 1, 6}},
	{
		[][2]string{{"INT", "42"}, {"STRING", `"hello"`}, {"BIGINT", "null"}, {"STRING", `"hello, paimon"`}},
		"0004000000000000 2a00000000000000 68656c6c6f000085 0000000000000000 0d00000028000000 68656c6c6f2c207061696d6f6e000000", 485409505,
		[4]int{1, 1, 0, 1},
	},
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func columns(t testing.TB, cols [][2]string) []*Vector {
	t.Helper()
	var out []*Vector
	for _, c := range cols {
		out = append(out, column(t, c[0], c[1]))
	}
	return out
}

func emptyLike(cols []*Vector) []*Vector {
	out := make([]*Vector, len(cols))
	for i, v := range cols {
		out[i] = NewVector(v.Type, 0)
	}
	return out
}

func TestBinaryRowVectors(t *testing.T) {
	for _, c := range rowVectors {
		t.Run(fmt.Sprint(c.cols), func(t *testing.T) {
			cols, want := columns(t, c.cols), unhex(t, c.row)
			require.Equal(t, hex.EncodeToString(want), hex.EncodeToString(AppendBinaryRow(nil, cols, 0)))
			require.Equal(t, c.hash, Murmur32(want, 42))
			require.Equal(t, c.hash, HashRow(cols, 0))

			back := emptyLike(cols)
			require.NoError(t, DecodeBinaryRow(want, back))
			for i := range cols {
				back[i].SetLen(1)
				require.True(t, Equal(cols[i], 0, back[i], 0), "column %d: %s", i, texts(back[i]))
			}

			var types []*Type
			for _, v := range cols {
				types = append(types, v.Type)
			}
			for k, n := range []int{2, 4, 5, 16} {
				b, err := NewBucketer("default", types, n)
				require.NoError(t, err)
				require.Equal(t, c.buckets[k], b.Bucket(cols, 0), n)
				require.Equal(t, []int32{int32(c.buckets[k])}, b.Buckets(nil, cols, 1), n)
			}
		})
	}
}

func TestBinaryRowPayloads(t *testing.T) {
	for _, c := range []struct{ typ, value, slot, payload string }{
		{"ARRAY<INT>", "[1,null,3]", "1800000010000000", "03000000 02000000 01000000 00000000 03000000 00000000"},
		{
			"MAP<STRING,INT>", `{"k1":1,"k2":2}`, "2c00000010000000",
			"18000000 02000000 00000000 6b31000000000082 6b32000000000082 02000000 00000000 01000000 02000000 00000000",
		},
		{"ROW<a INT, b STRING>", `[5,"x"]`, "1800000010000000", "0000000000000000 0500000000000000 7800000000000081"},
		{"ARRAY<BIGINT>", "[0,2]", "1800000010000000", "02000000 00000000 0000000000000000 0200000000000000"},
		{"ARRAY<BOOLEAN>", "[true,false,null]", "1000000010000000", "03000000 04000000 01000000 00000000"},
		{"ARRAY<SMALLINT>", "[-1,2]", "1000000010000000", "02000000 00000000 ffff0200 00000000"},
		{
			"ARRAY<DECIMAL(20,0)>", `[null,"1"]`, "3800000010000000",
			"02000000 01000000 0000000018000000 0100000028000000 00000000000000000000000000000000 01000000000000000000000000000000",
		},
		{"VECTOR<FLOAT, 2>", "[1.5,2.5]", "0c00000010000000", "02000000 0000c03f 00002040 00000000"},
	} {
		t.Run(c.typ, func(t *testing.T) {
			cols := []*Vector{column(t, c.typ, c.value)}
			row := AppendBinaryRow(nil, cols, 0)
			want := unhex(t, "0000000000000000"+c.slot+c.payload)
			require.Equal(t, hex.EncodeToString(want), hex.EncodeToString(row))
			back := emptyLike(cols)
			require.NoError(t, DecodeBinaryRow(row, back))
			require.Equal(t, texts(cols[0]), texts(back[0]))
		})
	}
}

func TestManifestRow(t *testing.T) {
	require.Equal(t, make([]byte, 12), EmptyManifestRow())
	require.Equal(t, EmptyManifestRow(), AppendManifestRow(nil, nil, 0))
	require.NoError(t, DecodeManifestRow(EmptyManifestRow(), nil))

	row := unhex(t, "00000005 0000000000000000 66616c7365000085 87ffffff00000000 3890ffff00000000 3a1816783245f7c0 1000000030000000 41206361742073617420497420776173")
	into := []*Vector{}
	for _, typ := range []string{"STRING", "INT", "INT", "DOUBLE", "STRING"} {
		into = append(into, NewVector(mustType(t, typ), 1))
	}
	require.NoError(t, DecodeManifestRow(row, into))
	require.Equal(t, "false", string(into[0].Bytes(0)))
	require.Equal(t, int32(-121), into[1].I32[0])
	require.Equal(t, int32(-28616), into[2].I32[0])
	require.Equal(t, "A cat sat It was", string(into[4].Bytes(0)))
	require.Equal(t, row, AppendManifestRow(nil, into, 0))

	require.Error(t, DecodeManifestRow(row, into[:4]))
	require.Error(t, DecodeManifestRow(row[:3], into))
	require.Error(t, DecodeManifestRow(row[:40], into))
}

// TestBinaryRowWide has more fields than one null word holds.
func TestBinaryRowWide(t *testing.T) {
	for _, n := range []int{0, 1, 56, 57, 120, 121} {
		cols := make([]*Vector, n)
		for i := range cols {
			cols[i] = column(t, "INT", []string{"null", fmt.Sprint(i)}[i%2])
		}
		row := AppendBinaryRow(nil, cols, 0)
		require.Len(t, row, (n+71)/64*8+8*n)
		back := emptyLike(cols)
		require.NoError(t, DecodeBinaryRow(row, back))
		for i := range cols {
			require.True(t, Equal(cols[i], 0, back[i], 0))
		}
	}
}

func TestBinaryRowHostile(t *testing.T) {
	for _, c := range []struct{ name, typ, row, want string }{
		{"too short", "INT", "0000000000000000 00000000", "too short"},
		{"offset beyond the end", "STRING", "0000000000000000 0800000011000000 6162636465666768", "outside"},
		{"negative offset", "DECIMAL(38,0)", "0000000000000000 08000000f0ffffff", "outside"},
		{"negative length", "STRING", "0000000000000000 ffffffff10000000", "outside"},
		{"inline too long", "STRING", "0000000000000000 00000000000000ff", "inline"},
		{"decimal too long", "DECIMAL(38,0)", "0000000000000000 1100000010000000 000000000000000000000000000000000000000000000000", "17 bytes"},
		{"empty decimal", "DECIMAL(38,0)", "0000000000000000 0000000010000000", "0 bytes"},
		{"nanoseconds", "TIMESTAMP(9)", "0000000000000000 40420f0010000000 0000000000000000", "nanoseconds"},
		{"timestamp without millis", "TIMESTAMP(9)", "0000000000000000 0000000010000000", "outside"},
		{"timestamp overflow", "TIMESTAMP(6)", "0000000000000000 0000000010000000 ffffffffffffff7f", "range"},
		{"array count", "ARRAY<TINYINT>", "0000000000000000 0800000010000000 ffffff7f00000000", "elements"},
		{"array without header", "ARRAY<TINYINT>", "0000000000000000 0200000010000000 ffff000000000000", "array of 2 bytes"},
		{"map of unequal halves", "MAP<INT,INT>", "0000000000000000 1c00000010000000 10000000 01000000 00000000 07000000 00000000 00000000 00000000 00000000", "more values"},
		{"map key length", "MAP<INT,INT>", "0000000000000000 0800000010000000 ffffffff 00000000", "map of"},
		{"vector count", "VECTOR<FLOAT, 2>", "0000000000000000 0800000010000000 0300000000000000", "vector of"},
		{"overlap", "ARRAY<ARRAY<INT>>", "0000000000000000 2800000010000000 03000000 00000000 1c00000000000000 1c00000000000000 1c00000000000000 0000000000000000", "overlap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := column(t, c.typ, "null")
			err := DecodeBinaryRow(unhex(t, c.row), []*Vector{v})
			require.ErrorContains(t, err, c.want)
			var re *RowError
			require.ErrorAs(t, err, &re)
			v.SetLen(1)
			require.Equal(t, []string{"null"}, texts(v))
		})
	}
}

func TestHiveAndModBuckets(t *testing.T) {
	for _, c := range []struct {
		function, typ, value string
		n, want              int
	}{
		{"hive", "STRING", `"a"`, 4, 1},
		{"hive", "INT", "-1", 4, 3},
		{"hive", "BIGINT", "4294967296", 4, 1},
		{"hive", "DECIMAL(10,2)", `"1.50"`, 100, (31*15 + 1) % 100},
		{"hive", "DECIMAL(38,2)", `"-1.00"`, 100, (-31 & 0x7fffffff) % 100},
		{"hive", "DECIMAL(10,2)", `"0.00"`, 4, 0},
		{"hive", "FLOAT", "-0.0", 4, 0},
		{"hive", "INT", "null", 4, 0},
		{"mod", "INT", "-1", 4, 3},
		{"mod", "BIGINT", "-9", 4, 3},
		{"mod", "INT", "null", 4, 0},
	} {
		v := column(t, c.typ, c.value)
		b, err := NewBucketer(c.function, []*Type{v.Type}, c.n)
		require.NoError(t, err)
		require.Equal(t, c.want, b.Bucket([]*Vector{v}, 0), "%+v", c)
		require.Equal(t, []int32{int32(c.want)}, b.Buckets(nil, []*Vector{v}, 1), "%+v", c)
	}
	for _, c := range []struct {
		function string
		types    []string
		n        int
	}{
		{"default", []string{"INT"}, 0},
		{"mod", []string{"STRING"}, 1},
		{"mod", []string{"INT", "INT"}, 1},
		{"hive", []string{"TIMESTAMP(3)"}, 1},
		{"default", []string{"ARRAY<INT>"}, 1},
		{"other", []string{"INT"}, 1},
	} {
		var types []*Type
		for _, s := range c.types {
			types = append(types, mustType(t, s))
		}
		_, err := NewBucketer(c.function, types, c.n)
		require.Error(t, err, "%+v", c)
	}
}

// TestBucketsMatchRows compares the paths for single columns with the rows.
func TestBucketsMatchRows(t *testing.T) {
	long := `"` + strings.Repeat("é", 40) + `x"`
	for _, v := range []*Vector{
		column(t, "BIGINT", "1", "null", "-5", "9000000000"),
		column(t, "INT", "1", "null", "-5"),
		column(t, "DATE", "1", "null", "-5"),
		column(t, "TINYINT", "1", "null", "-5"),
		column(t, "STRING", `""`, "null", `"abcdefg"`, `"abcdefgh"`, `"abcdefghi"`, long),
		column(t, "DECIMAL(10,1)", "1.5", "null"),
		column(t, "TIMESTAMP(6)", `"2024-01-02T03:04:05.123456"`, "null"),
	} {
		b, err := NewBucketer("", []*Type{v.Type}, 1000)
		require.NoError(t, err)
		got := b.Buckets(nil, []*Vector{v}, v.Len())
		for i := range v.Len() {
			h := Murmur32(AppendBinaryRow(nil, []*Vector{v}, i), 42) % 1000
			require.Equal(t, max(h, -h), got[i], "%s row %d", v.Type, i)
		}
	}
}

// TestBinaryRowDamaged changes bytes of good rows: they decode to something or
// are refused, and never to much.
func TestBinaryRowDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(rapid.SampledFrom(append(append([]string{}, keyTypes...), nestedTypes...)), 1, 4).Draw(t, "types")
		b := randomBatch(t, types, 1, true)
		row := AppendBinaryRow(nil, b.Cols, 0)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(row)-1).Draw(t, "at")
			row[at] = rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 1, 8, 0x7f, 0x80, 0xff})).Draw(t, "byte")
		}
		row = row[:rapid.IntRange(len(row)*3/4, len(row)).Draw(t, "cut")]
		into := emptyLike(b.Cols)
		err := DecodeBinaryRow(row, into)
		size := 0
		for _, v := range into {
			v.SetLen(b2i(err == nil))
			if err == nil {
				AppendJSON(nil, v, 0)
				size += v.MemSize()
			}
		}
		require.LessOrEqual(t, size, 64*len(row)+1024)
	})
}
