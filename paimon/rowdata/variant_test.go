package rowdata

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVariant has JSON texts with the bytes that Java makes of them and the text
// it makes of these.
func TestVariant(t *testing.T) {
	for _, c := range [][4]string{
		{`null`, `00`, `010000`, `null`},
		{`true`, `04`, `010000`, `true`},
		{`1`, `0c01`, `010000`, `1`},
		{`-70000`, `1490eefeff`, `010000`, `-70000`},
		{`300`, `102c01`, `010000`, `300`},
		{`123456789012`, `18141a99be1c000000`, `010000`, `123456789012`},
		{`1.5`, `20010f000000`, `010000`, `1.5`},
		{`-0.05`, `2002fbffffff`, `010000`, `-0.05`},
		{`12345678901234567890.5`, `2801396c362f819f4eb10600000000000000`, `010000`, `12345678901234567890.5`},
		{`1e10`, `1c000000205fa00242`, `010000`, `1.0E10`},
		{`1.0E-3`, `1cfca9f1d24d62503f`, `010000`, `0.001`},
		{`99999999999999999999`, `2800ffff0f632d5ec76b0500000000000000`, `010000`, `99999999999999999999`},
		{`100000000000000000000000000000000000000000`, `1ce7191a37fa5d7248`, `010000`, `1.0E41`},
		{`"x"`, `0578`, `010000`, `"x"`},
		{`""`, `01`, `010000`, `""`},
		{`[]`, `030000`, `010000`, `[]`},
		{`{}`, `020000`, `010000`, `{}`},
		{`[1,[2,"a"],null]`, `030300020b0c0c0103020002040c02056100`, `010000`, `[1,[2,"a"],null]`},
		{`{"b":{"a":true},"a":-70000,"c":[1.25]}`, `020301000206000b150201010001041490eefeff0301000620027d000000`, `010300010203626163`, `{"a":-70000,"b":{"a":true},"c":[1.25]}`},
		{`{"é":1,"z":2,"🎉":3,"\uffff":4}`, `02040100020302000406080c010c020c030c04`, `0104000203070ac3a97af09f8e89efbfbf`, "{\"z\":2,\"é\":1,\"🎉\":3,\"\uffff\":4}"},
		{`1.50`, `200296000000`, `010000`, `1.5`},
		{`0.0`, `200100000000`, `010000`, `0`},
		{`12345678.901`, `2403351cdcdf02000000`, `010000`, `12345678.901`},
		{`-9223372036854775808`, `180000000000000080`, `010000`, `-9223372036854775808`},
		{`123456789.123456789`, `2409155fd0ac4b9bb601`, `010000`, `123456789.123456789`},
		{`2.50e2`, `1c0000000000406f40`, `010000`, `250.0`},
	} {
		v := NewVector(mustType(t, "VARIANT"), 1)
		require.NoError(t, AppendFromJSON(v, c[0]), c[0])
		require.Equal(t, c[1], hex.EncodeToString(v.Children[0].Bytes(0)), c[0])
		require.Equal(t, c[2], hex.EncodeToString(v.Children[1].Bytes(0)), c[0])
		require.Equal(t, c[3], string(AppendText(nil, v, 0)), c[0])
	}
	for _, c := range [][2]string{
		{`2c0c4d0000`, `"2024-01-02"`},
		{`3040e2010000000000`, `"1970-01-01 00:00:00.123456+00:00"`},
		{`3440e2010000000000`, `"1970-01-01 00:00:00.123456"`},
		{`380000c03f`, `1.5`},
		{`3c03000000010203`, `"AQID"`},
		{`1c000000000000f87f`, `"NaN"`},
		{`50000102030405060708090a0b0c0d0e0f`, `"00010203-0405-0607-0809-0a0b0c0d0e0f"`},
		{`4440e2010000000000`, `"00:00:00.123456"`},
		{`4840e2010000000000`, `"1970-01-01 00:00:00.000123456+00:00"`},
		{`4c40e2010000000000`, `"1970-01-01 00:00:00.000123456"`},
	} {
		out, err := AppendVariantText(nil, unhex(t, c[0]), unhex(t, "010000"))
		require.NoError(t, err)
		require.Equal(t, c[1], string(out))
	}
}

// TestVariantLarge has more members, longer texts and deeper values than one
// byte can count.
func TestVariantLarge(t *testing.T) {
	var members []string
	for i := range 300 {
		members = append(members, fmt.Sprintf(`"f%03d":["%s",%d]`, i, strings.Repeat("x", i), i))
	}
	text := "{" + strings.Join(members, ",") + "}"
	v := NewVector(mustType(t, "VARIANT"), 1)
	require.NoError(t, AppendFromJSON(v, text))
	require.Equal(t, text, string(AppendText(nil, v, 0)))

	text = "[" + strings.Repeat("0,", 299) + "0]"
	require.NoError(t, AppendFromJSON(v, text))
	require.Equal(t, text, string(AppendText(nil, v, 1)))

	// A value may also be given as JSON, not as text.
	require.NoError(t, AppendFromJSON(v, decodeJSON(t, `{"a":[1,true]}`)))
	require.Equal(t, `{"a":[1,true]}`, string(AppendText(nil, v, 2)))
	require.Equal(t, `"{\"a\":[1,true]}"`, string(AppendJSON(nil, v, 2)))
}

func TestVariantErrors(t *testing.T) {
	v := NewVector(mustType(t, "VARIANT"), 1)
	for _, s := range []string{"", "x", "{", "[1", `{"a":1,"a":2}`, "1 2", "1e999", strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		var e *ValueError
		require.ErrorAs(t, AppendFromJSON(v, s), &e, s)
		v.SetLen(0)
	}
	for _, c := range [][2]string{
		{"", "010000"},
		{"00", ""},
		{"00", "020000"},
		{"10", "010000"},
		{"0d61", "010000"},
		{"fc", "010000"},
		{"0201000001", "010000"},
		{"0301", "010000"},
		{"034000", "010000"},
		{"40ffffffff", "010000"},
		{"2027000000", "010000"},
		{"1302000000000000", "010000"},
	} {
		_, err := AppendVariantText(nil, unhex(t, c[0]), unhex(t, c[1]))
		require.Error(t, err, c[0])
	}
	v.Children[0].AppendBytes(nil)
	v.Children[1].AppendBytes(nil)
	v.CloseStruct()
	require.Equal(t, `"null"`, string(AppendJSON(nil, v, 0)))
}

// TestVariantBomb has arrays whose elements all share the same bytes.
func TestVariantBomb(t *testing.T) {
	value := []byte{0x0c, 1}
	for range 12 {
		// 100 elements at offset 0, behind 101 offsets of 2 bytes.
		outer := append([]byte{variantArray | 1<<2, 100}, make([]byte, 202)...)
		value = append(outer, value...)
	}
	_, err := AppendVariantText(nil, value, []byte{1, 0, 0})
	require.Error(t, err)
}
