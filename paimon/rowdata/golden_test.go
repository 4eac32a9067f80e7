package rowdata

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// expectedTable is the part of expected.json of a golden table that this
// package can check: the rows of each snapshot as another implementation has
// read and rendered them.
type expectedTable struct {
	Fields    RowType `json:"fields"`
	Snapshots []struct {
		ID       int               `json:"id"`
		SchemaID int               `json:"schemaId"`
		Rows     []json.RawMessage `json:"rows"`
	} `json:"snapshots"`
	SchemaID int `json:"schemaId"`
}

// TestGoldenRows reads the rows of all golden tables and expects to render them
// the same to the byte, after a walk through a binary row.
func TestGoldenRows(t *testing.T) {
	files, err := filepath.Glob("../../testdata/golden/*/expected.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	rows := 0
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if name == "agg-numbers" {
			continue // has sums of decimals that are wider than their type, which are no input
		}
		var table expectedTable
		require.NoError(t, json.Unmarshal(data, &table), name)
		for _, s := range table.Snapshots {
			if s.SchemaID != table.SchemaID {
				continue // rows of another schema
			}
			b, through := NewBatch(&table.Fields, len(s.Rows)), NewBatch(&table.Fields, len(s.Rows))
			for i, raw := range s.Rows {
				require.NoError(t, AppendJSONRow(b, decodeJSON(t, string(raw))), "%s snapshot %d row %d", name, s.ID, i)
				row := AppendManifestRow(nil, b.Cols, i)
				require.NoError(t, DecodeManifestRow(row, through.Cols), name)
				through.CloseRow()
				sameRow(t, through, i, raw)
				for c := range b.Cols {
					require.True(t, Equal(b.Cols[c], i, through.Cols[c], i), name)
				}
				require.Equal(t, row, AppendManifestRow(nil, through.Cols, i), name)
				rows++
			}
		}
	}
	require.Greater(t, rows, 1000)
}

// sameRow expects the JSON text of a row, or other digits of the same float: the
// tables were rendered by a Java that does not always find the shortest text.
func sameRow(t *testing.T, b *Batch, i int, want []byte) {
	t.Helper()
	if got := AppendJSONArray(nil, b, i); string(got) != string(want) {
		var values []json.RawMessage
		require.NoError(t, json.Unmarshal(want, &values))
		for c, v := range b.Cols {
			if got := string(AppendJSON(nil, v, i)); !isFloat(v.Type) || !sameFloat(got, string(values[c]), v.Type) {
				require.Equal(t, string(values[c]), got)
			}
		}
	}
}

// TestGoldenSchemas reads and writes the fields of all schema files.
func TestGoldenSchemas(t *testing.T) {
	files, err := filepath.Glob("../../testdata/golden*/*/table/schema/schema-*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var schema struct{ Fields json.RawMessage }
		require.NoError(t, json.Unmarshal(data, &schema))
		var r RowType
		require.NoError(t, json.Unmarshal(schema.Fields, &r), file)
		require.NotEmpty(t, r.Fields)
		out, err := json.Marshal(r)
		require.NoError(t, err)
		require.JSONEq(t, string(schema.Fields), string(out), file)
		// The display form reads back, too, but for what it does not show.
		for _, f := range r.Fields {
			back, err := ParseType(f.Type.String())
			require.NoError(t, err)
			require.Equal(t, f.Type.String(), back.String())
		}
	}
}

// castCase is a line of testdata/casts.jsonl: what Java makes of values of one
// type when it reads them as another.
type castCase struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Implicit bool   `json:"implicit"`
	Explicit bool   `json:"explicit"`
	Executor bool   `json:"executor"`
	Cases    [][]json.RawMessage
}

// laxer are texts that are read as dates and times here, but not by Java: ISO
// forms, blanks around, years beyond 9999, more digits than kept.
var laxer = []string{
	`"-0001-01-01"`, `"+10000-01-01"`, `" 2024-01-02 "`, `"2024-01-02 "`, `"2024-01-02T"`, `"2024-01-02T03:04:05"`,
	`"2024-01-02 03:04:05.1234567891"`, `"2024-01-02 03:04:05.123456Z"`, `"2024-01-02 03:04"`, `"1970-01-01 00:00:00 "`,
}

// castDiffers tells why another result than Java's is meant; "" if it is not.
func castDiffers(from, to *Type, in, got, want string) string {
	switch {
	case from.Root == to.Root && from.Length == to.Length && (from.Root == Char || from.Root == Binary), sameValues(from, to) && from.IsBinary():
		return "values longer or shorter than their own type stay as they are"
	case to.IsString() && isFloat(from) && in == "1.0E+23":
		return "the shortest text that reads back, as Java from version 19 on"
	case isFloat(to) && got == "1.0E23" || isFloat(to) && sameFloat(got, want, to):
		return "likewise"
	case to.Root == Decimal && isFloat(from) && want == "error" && got == "null":
		return "NaN and infinity do not fit: NULL, not an unreadable file"
	case from.IsString() && want == "error" && (isStamp(to) || to.Root == Date) && slices.Contains(laxer, in):
		return "more forms are read"
	case from.Root == Date && to.IsString() && in == `"+10000-01-01"`:
		return "five digits of year are kept"
	case from.Root == Timestamp && to.Root == Time && want == "error":
		return "the time of day before 1970 is not negative"
	case isStamp(from) && isStamp(to) && in == `"1970-01-01T00:00:00.000000001"`:
		return "the first millisecond of 1970 is cut like any other"
	}
	return ""
}

func sameFloat(a, b string, t *Type) bool {
	x, ok1 := parseFloat(a, 32<<b2i(t.Root == Double))
	y, ok2 := parseFloat(b, 32<<b2i(t.Root == Double))
	return ok1 && ok2 && x == y
}

func TestGoldenCasts(t *testing.T) {
	f, err := os.Open("testdata/casts.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	cases, differ := 0, 0
	for lines.Scan() {
		var c castCase
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		from, to := mustType(t, c.From), mustType(t, c.To)
		if from.Root != to.Root || !from.IsNested() {
			able := c.Executor || from.Root == to.Root
			require.Equal(t, c.Implicit && able, CanCast(from, to, false), "%s to %s", from, to)
			require.Equal(t, c.Explicit && able, CanCast(from, to, true), "%s to %s", from, to)
		}
		if !c.Executor && from.Root != to.Root {
			var e *CastError
			require.ErrorAs(t, Cast(NewVector(to, 1), NewVector(from, 1)), &e, "%s to %s", from, to)
		}
		for _, p := range c.Cases {
			in, want := string(p[0]), string(p[1])
			if bytes.HasPrefix(p[1], []byte(`{"error"`)) {
				want = "error"
			}
			got := castOneText(t, from, to, in)
			if cases++; got == want {
				continue
			}
			differ++
			require.NotEmpty(t, castDiffers(from, to, in, got, want), "%s to %s: %s becomes %s, want %s", from, to, in, got, want)
		}
	}
	require.NoError(t, lines.Err())
	require.Greater(t, cases, 3000)
	t.Logf("%d casts, %d differ from Java's on purpose", cases, differ)
}

// castOneText casts one value among others, the first and last of them NULL.
func castOneText(t *testing.T, from, to *Type, in string) string {
	src, dst := NewVector(from, 3), NewVector(to, 4)
	dst.AppendNull()
	src.AppendNull()
	require.NoError(t, AppendFromJSON(src, decodeJSON(t, in)))
	src.AppendNull()
	if err := Cast(dst, src); err != nil {
		dst.SetLen(1)
		require.Equal(t, []string{"null"}, texts(dst))
		return "error"
	}
	dst.SetLen(4)
	out := texts(dst)
	require.Equal(t, []string{"null", "null", "null"}, []string{out[0], out[1], out[3]}, "%s to %s", from, to)
	return out[2]
}
