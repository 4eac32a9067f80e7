package snapshotreader

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// cursorLine writes a cursor as a line of testdata/cursors.txt.
func cursorLine(c Cursor) string {
	return fmt.Sprintf("%s table=%016x branch=%d snapshot=%d phase=%s unit=%d row=%d skip=%d mark=%08x of=%d", c, c.Table, c.Branch, c.Snapshot, c.Phase, c.Unit, c.Row, c.Skip, c.mark, c.markOf)
}

func goldenCursors() []Cursor {
	return []Cursor{
		{Snapshot: 1, Phase: Changes},
		{Table: 0x0123456789abcdef, Snapshot: 1, Phase: Image},
		{Table: 0x0123456789abcdef, Snapshot: 42, Phase: Changes, mark: 0xdeadbeef, markOf: markPrevious},
		{Table: 0x0123456789abcdef, Snapshot: 42, Phase: Changes, Unit: 3, Row: 1000, mark: 0xdeadbeef, markOf: markSelf},
		{Table: 0x0123456789abcdef, Snapshot: 42, Phase: Changes, Unit: 3, Row: 1000, Skip: 17, mark: 0xdeadbeef, markOf: markSelf},
		{Table: math.MaxUint64, Branch: math.MaxUint32, Snapshot: math.MaxInt64, Phase: Changes, Unit: math.MaxUint32, Row: math.MaxInt64, mark: math.MaxUint32, markOf: markSelf},
		{Table: 0xfedcba9876543210, Branch: branchID("dev"), Snapshot: 300, Phase: Image, Unit: 7, Row: 123456789},
	}
}

// The text of a cursor lives for ever in the hands of clients: lines of this file
// may be added, never changed.
func TestCursorGolden(t *testing.T) {
	f, err := os.Open("testdata/cursors.txt")
	require.NoError(t, err)
	defer f.Close()
	var got []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && line[0] != '#' {
			got = append(got, line)
			text, _, _ := strings.Cut(line, " ")
			c, err := ParseCursor(text)
			require.NoError(t, err, line)
			require.Equal(t, line, cursorLine(c))
		}
	}
	var want []string
	for _, c := range goldenCursors() {
		want = append(want, cursorLine(c))
	}
	require.Equal(t, want, got)
}

func drawCursor(t *rapid.T) Cursor {
	c := Cursor{
		Table: rapid.Uint64().Draw(t, "table"), Branch: rapid.Uint32().Draw(t, "branch"), Snapshot: rapid.Int64Range(1, math.MaxInt64).Draw(t, "snapshot"),
		Phase: rapid.SampledFrom([]Phase{Image, Changes}).Draw(t, "phase"), Unit: rapid.Uint32().Draw(t, "unit"), Row: rapid.Uint64Range(0, math.MaxInt64).Draw(t, "row"),
		Skip: rapid.Uint32Range(0, MaxSkipRows).Draw(t, "skip"), markOf: rapid.SampledFrom([]markOf{markNone, markSelf, markPrevious}).Draw(t, "of"),
	}
	if c.markOf != markNone {
		c.mark = rapid.Uint32().Draw(t, "mark")
	}
	return c
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCursor(t)
		text := c.String()
		base, _, _ := strings.Cut(text, "+")
		require.LessOrEqual(t, len(base), 64)
		got, err := ParseCursor(text)
		require.NoError(t, err)
		require.Equal(t, c, got)
		require.Zero(t, c.Compare(got))

		data, err := json.Marshal(map[string]Cursor{"at": c})
		require.NoError(t, err)
		var back map[string]Cursor
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, c, back["at"])
	})
}

func TestCursorTextLengthAtBoundary(t *testing.T) {
	c := Cursor{Table: math.MaxUint64, Branch: math.MaxUint32, Snapshot: math.MaxInt64, Phase: Changes, mark: 1, markOf: markPrevious}
	require.True(t, c.AtBoundary())
	require.LessOrEqual(t, len(c.String()), 64)
	require.LessOrEqual(t, len(Cursor{Table: math.MaxUint64, Snapshot: 1_000_000, Phase: Changes, mark: 1, markOf: markPrevious}.String()), 32)
}

// A change of any single bit or character must be seen.
func TestCursorDamage(t *testing.T) {
	for _, c := range goldenCursors() {
		c.Skip = 0
		text := c.String()
		raw, err := base64.RawURLEncoding.DecodeString(text)
		require.NoError(t, err)
		for bit := range 8 * len(raw) {
			bad := append([]byte(nil), raw...)
			bad[bit/8] ^= 1 << (bit % 8)
			_, err := ParseCursor(base64.RawURLEncoding.EncodeToString(bad))
			var invalid *CursorInvalidError
			require.ErrorAs(t, err, &invalid)
		}
		for n := range len(text) {
			_, err := ParseCursor(text[:n])
			require.Error(t, err)
		}
	}
}

func TestParseCursorErrors(t *testing.T) {
	good := goldenCursors()[3].String()
	for _, tt := range []struct{ name, text, reason string }{
		{"empty", "", "empty"},
		{"only skip", "+3", "empty"},
		{"too long", strings.Repeat("A", 64), "too long"},
		{"huge", strings.Repeat("A", 1<<20), "too long"},
		{"padding", good + "=", "base64"},
		{"standard alphabet", strings.Repeat("/", 20), "base64"},
		{"line break inside", good[:8] + "\n" + good[8:], "canonical"},
		{"other version", base64.RawURLEncoding.EncodeToString([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "version"},
		{"short", base64.RawURLEncoding.EncodeToString([]byte{1, 0, 0}), "cut off"},
		{"skip empty", good + "+", "after +"},
		{"skip negative", good + "+-1", "after +"},
		{"skip signed", good + "++1", "after +"},
		{"skip zeros", good + "+01", "after +"},
		{"skip too many", good + "+1048577", "after +"},
		{"skip overflow", good + "+99999999999999999999", "after +"},
		{"space for plus", good + " 17", "base64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseCursor(tt.text)
			var invalid *CursorInvalidError
			require.ErrorAs(t, err, &invalid)
			require.Contains(t, err.Error(), tt.reason)
			require.Less(t, len(err.Error()), 300)
		})
	}
}

// Forms whose checksum is right and whose content is not.
func TestDecodeCursorContent(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Cursor
		edit func([]byte) []byte
	}{
		{"snapshot 0", Cursor{Table: 1, Phase: Changes}, nil},
		{"unknown flag", Cursor{Snapshot: 1}, func(b []byte) []byte { b[1] |= 0x80; return b }},
		{"unknown mark", Cursor{Snapshot: 1, markOf: 3}, nil},
		{"rest", Cursor{Snapshot: 1}, func(b []byte) []byte { return append(b, 0) }},
		{"mark missing", Cursor{Snapshot: 1}, func(b []byte) []byte { b[1] |= byte(markSelf) << flagMarkBit; return b }},
		{"long number", Cursor{Snapshot: 1}, func(b []byte) []byte { return append(b[:10], 0x80, 0, 1, 0, 0) }},
		{"negative snapshot", Cursor{Snapshot: -1}, nil},
		{"branch too large", Cursor{Snapshot: 1}, func(b []byte) []byte { return append(b[:10], 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0, 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw := tt.c.append(nil)
			if tt.edit != nil {
				raw = sumCursor(tt.edit(raw[:len(raw)-4]))
			}
			_, err := ParseCursor(base64.RawURLEncoding.EncodeToString(raw))
			require.Error(t, err)
		})
	}
}

func TestCursorSkipForms(t *testing.T) {
	c := goldenCursors()[3]
	got, err := ParseCursor(c.String() + "+17")
	require.NoError(t, err)
	require.Equal(t, uint32(17), got.Skip)
	require.Equal(t, c.String()+"+17", got.String())
	got, err = ParseCursor(c.String() + "+0")
	require.NoError(t, err)
	require.Equal(t, c, got)
}

func TestCursorCompare(t *testing.T) {
	inOrder := []Cursor{
		{Snapshot: 1, Phase: Changes},
		{Snapshot: 1, Phase: Changes, Row: 1},
		{Snapshot: 1, Phase: Changes, Row: 1, Skip: 5},
		{Snapshot: 1, Phase: Changes, Row: 7},
		{Snapshot: 1, Phase: Changes, Unit: 1},
		{Snapshot: 1, Phase: Image},
		{Snapshot: 1, Phase: Image, Unit: 2, Row: 9},
		{Snapshot: 2, Phase: Changes},
		{Snapshot: 2, Phase: Image},
		{Snapshot: 1, Branch: 1},
		{Snapshot: 1, Table: 1},
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			require.Equal(t, want, a.Compare(b), "%d %d", i, j)
		}
	}
	require.True(t, Cursor{}.IsZero())
	require.Empty(t, Cursor{}.String())
	require.False(t, inOrder[0].IsZero())
	require.Equal(t, uint64(8), inOrder[3].After(1).Row)
	marked := inOrder[4]
	marked.mark, marked.markOf = 1, markSelf
	require.Zero(t, marked.Compare(inOrder[4]))
}

func TestCursorExplain(t *testing.T) {
	c := goldenCursors()[4]
	require.Equal(t, `next      17 rows after row 1000 of unit 3 of the changes of snapshot 42
table     0123456789abcdef
branch    main
snapshot  42
phase     changes
unit      3
row       1000
skip      17 rows
lineage   deadbeef of snapshot 42
version   1
`, c.Explain().String())
	c = goldenCursors()[2]
	require.Equal(t, "the first row of the changes of snapshot 42", c.Explain().Next)
	require.Equal(t, int64(41), c.Explain().LineageOf)
	require.True(t, c.Explain().Boundary)
	data, err := json.Marshal(goldenCursors()[6].Explain())
	require.NoError(t, err)
	require.JSONEq(t, `{"version":1,"table":"fedcba9876543210","branch":"#`+fmt.Sprintf("%08x", branchID("dev"))+`","snapshot":300,"phase":"image","unit":7,"row":123456789,"skipRows":0,"commitBoundary":false,"text":"`+goldenCursors()[6].String()+`","next":"row 123456789 of unit 7 of the image of snapshot 300"}`, string(data))
}

func FuzzParseCursor(f *testing.F) {
	for _, c := range goldenCursors() {
		f.Add(c.String())
	}
	f.Add("")
	f.Add("AQA")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text)
		if err != nil {
			return
		}
		require.False(t, c.IsZero())
		_ = c.Explain().String()
		back, err := ParseCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c, back)
		if !strings.HasSuffix(text, "+0") {
			require.Equal(t, text, c.String())
		}
	})
}

// FuzzDecodeCursor puts a right checksum to any bytes.
func FuzzDecodeCursor(f *testing.F) {
	for _, c := range goldenCursors() {
		raw := c.append(nil)
		f.Add(raw[:len(raw)-4])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text := base64.RawURLEncoding.EncodeToString(sumCursor(raw))
		if c, err := ParseCursor(text); err == nil {
			require.Equal(t, text, c.String())
		}
	})
}
