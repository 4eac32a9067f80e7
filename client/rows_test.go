package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"sluice/feeds"
	"sluice/feeds/wire"
	"sluice/paimon/rowdata"
	sluicev1 "sluice/proto/sluice/v1"
)

func TestAdvance(t *testing.T) {
	c := feeds.Cursor{Table: 0xfedcba9876543210, Branch: 7, Snapshot: 1 << 40, Phase: feeds.Changes, Unit: 300, Row: 126}
	for _, n := range []uint64{0, 1, 2, 1000, 1 << 20} {
		require.Equal(t, c.After(int(n)).String(), Advance(c.String(), n))
	}
	require.Equal(t, "abc+3", Advance("abc", 3), "a layout that is not known here")
	require.Equal(t, "abc+8", Advance("abc+5", 3))
	require.Equal(t, "abc+x+3", Advance("abc+x", 3))
	broken := []byte(c.String())
	broken[5] ^= 1
	require.Equal(t, string(broken)+"+3", Advance(string(broken), 3))
}

func FuzzAdvance(f *testing.F) {
	f.Add(feeds.Cursor{Table: 1, Snapshot: 5, Phase: feeds.Changes, Row: 9}.String(), uint64(3))
	f.Add("abc+1", uint64(1))
	f.Fuzz(func(t *testing.T, text string, n uint64) {
		got := Advance(text, n)
		c, err := feeds.ParseCursor(text)
		if err != nil || n > 1<<19 || c.Row > 1<<60 {
			return
		}
		again, err := feeds.ParseCursor(got)
		if c.Skip > 0 && uint64(c.Skip)+n > 1<<20 {
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.Row+uint64(c.Skip)+n, again.Row+uint64(again.Skip))
	})
}

var typeTexts = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(38, 10)", "CHAR(3)", "STRING", "BYTES",
	"DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "ARRAY<STRING>", "MAP<STRING, BIGINT>", "MULTISET<STRING>", "ROW<a INT, b ROW<c STRING>>",
	"DECIMAL(3, 3)", "VECTOR<FLOAT, 2>",
}

const rowText = `[true, -1, -2, -3, -4, 1.5, -2.5, "-12.34", "-1234567890123456789012345678.0123456789", "abc", "grüß", "AQID", "2024-02-29", "12:34:56.789", "1969-12-31T23:59:59.999", "1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999999", "2024-02-29T01:02:03.456Z", ["x", null], {"a": 1, "b": null}, {"m": 2}, {"a": 7, "b": {"c": "in"}}, "-0.007", [0.5, 2]]`

// rowsFrame encodes a row of each type, and a row of NULLs, as the gateway does.
func rowsFrame(t testing.TB) (*sluicev1.Rows, *sluicev1.Schema) {
	s := &feeds.Schema{ID: 4, Row: &rowdata.RowType{}}
	for i, text := range typeTexts {
		typ, err := rowdata.ParseType(text)
		require.NoError(t, err, text)
		s.Row.Fields = append(s.Row.Fields, rowdata.Field{ID: i, Name: fmt.Sprint("c", i), Type: typ})
	}
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(s.Row, 0), Kinds: []rowdata.RowKind{rowdata.UpdateAfter, rowdata.Delete}}
	for _, text := range []string{rowText, "[" + strings.Repeat("null, ", len(typeTexts)-1) + "null]"} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var x any
		require.NoError(t, d.Decode(&x))
		require.NoError(t, rowdata.AppendJSONRow(&c.Batch, x))
	}
	e := &feeds.Event{Frame: &feeds.Frame{Kind: feeds.FrameRows, Commit: &feeds.Commit{Snapshot: 3}, Rows: c, At: feeds.Cursor{Table: 1, Snapshot: 3, Phase: feeds.Changes}}, Schema: s, Cols: c.Cols, To: 2}
	b, err := wire.Columns{}.Append(nil, e)
	require.NoError(t, err)
	var m sluicev1.SubscribeResponse
	require.NoError(t, proto.Unmarshal(b, &m))
	return m.Frames[0].GetRows(), wire.Schema(s)
}

func TestValues(t *testing.T) {
	m, schema := rowsFrame(t)
	r, err := rowsOf(m, schemaOf(schema))
	require.NoError(t, err)
	require.Equal(t, UpdateAfter, r.Kind(0))
	require.Equal(t, "-D", r.Kind(1).String())
	nano := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	want := []any{
		true, int64(-1), int64(-2), int64(-3), int64(-4), float32(1.5), -2.5, "-12.34", "-1234567890123456789012345678.0123456789", "abc", "grüß",
		[]byte{1, 2, 3},
		time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), 12*time.Hour + 34*time.Minute + 56*time.Second + 789*time.Millisecond,
		nano.Truncate(time.Millisecond), nano.Truncate(time.Microsecond), nano, time.Date(2024, 2, 29, 1, 2, 3, 456_000_000, time.UTC),
		[]any{"x", nil},
		[]Entry{{"a", int64(1)}, {"b", nil}},
		[]Entry{{"m", int64(2)}},
		map[string]any{"a": int64(7), "b": map[string]any{"c": "in"}},
		"-0.007",
		[]any{float32(0.5), float32(2)},
	}
	for i := range want {
		require.Equal(t, want[i], r.Column(i).Value(0), typeTexts[i])
		require.True(t, r.Column(i).IsNull(1))
		require.Nil(t, r.Column(i).Value(1))
		touch(r.Column(i))
	}
}

// touch calls every method for every row: none may fail for a column that was let
// in.
func touch(c *Column) {
	for i := range c.Len() {
		c.IsNull(i)
		c.Value(i)
		c.Int64(i)
		c.Float64(i)
		_ = c.String(i)
		c.Time(i)
		c.Decimal(i)
		c.List(i)
	}
	for i := range c.children {
		touch(c.Child(i))
	}
}

// Whatever a gateway sends, rows are refused or can be read.
func FuzzRows(f *testing.F) {
	m, schema := rowsFrame(f)
	b, err := proto.Marshal(m)
	require.NoError(f, err)
	sb, err := proto.Marshal(schema)
	require.NoError(f, err)
	f.Add(b, sb)
	f.Fuzz(func(t *testing.T, rows, schema []byte) {
		var m sluicev1.Rows
		var s sluicev1.Schema
		if proto.Unmarshal(rows, &m) != nil || proto.Unmarshal(schema, &s) != nil {
			return
		}
		if m.Count > 1<<16 {
			return
		}
		r, err := rowsOf(&m, schemaOf(&s))
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		for i := range r.cols {
			touch(&r.cols[i])
		}
		for i := range r.Len() {
			r.Kind(i)
			r.JSON(i)
		}
	})
}
