package paimon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// javaCase is a line of testdata/java-*.jsonl: what the released Java does with a
// definition or with changes of one.
type javaCase struct {
	Name string
	SchemaSpec
	Alter     []string
	Snapshots bool // the table has some when it is altered
	// Refused is Java's message when the table is created or altered,
	// RefusedOnWrite that of the first write.
	Refused, RefusedOnWrite string
	SameText                bool // our message contains Java's
	Result                  json.RawMessage
	Ours                    string // accepted or refused, where we decide otherwise
	Why                     string
}

func eachJavaCase(t *testing.T, file string, fn func(t *testing.T, c *javaCase)) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var c javaCase
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		t.Run(c.Name, func(t *testing.T) { fn(t, &c) })
	}
	require.Greater(t, n, 300)
}

// check compares our decision with Java's.
func (c *javaCase) check(t *testing.T, err error) {
	t.Helper()
	java := c.Refused + c.RefusedOnWrite
	want := java != ""
	switch c.Ours {
	case "accepted":
		want = false
	case "refused":
		want = true
	}
	if c.Ours != "" {
		require.NotEmpty(t, c.Why)
	}
	if !want {
		require.NoError(t, err)
		return
	}
	require.Error(t, err, java)
	var ve *ValidationError
	var oe *OptionError
	ok := errors.As(err, &ve) || errors.As(err, &oe)
	require.True(t, ok, "the error is typed: %v", err)
	if c.SameText {
		require.ErrorContains(t, err, java)
	}
}

func TestCreateDecidesAsJava(t *testing.T) {
	eachJavaCase(t, "testdata/java-create.jsonl", func(t *testing.T, c *javaCase) {
		_, err := NewSchema(c.SchemaSpec, 0)
		c.check(t, err)
	})
}

func TestAlterDecidesAsJava(t *testing.T) {
	eachJavaCase(t, "testdata/java-alter.jsonl", func(t *testing.T, c *javaCase) {
		s, err := NewSchema(c.SchemaSpec, 0)
		require.NoError(t, err)
		for _, text := range c.Alter {
			change, perr := ParseChange(text)
			require.NoError(t, perr)
			if s, err = Evolve(s, []Change{change}, EvolveOptions{HasSnapshots: c.Snapshots}); err != nil {
				break
			}
		}
		c.check(t, err)
		if err != nil || c.Result == nil || c.Why != "" {
			return
		}
		s.TimeMillis = 0
		text, err := s.MarshalJSON()
		require.NoError(t, err)
		require.JSONEq(t, strings.Replace(string(c.Result), "{", `{"timeMillis":0,`, 1), string(text))
	})
}

// TestTypeChangesAsJava checks every pair of types against what Java allows.
func TestTypeChangesAsJava(t *testing.T) {
	data, err := os.ReadFile("testdata/type-changes.txt")
	require.NoError(t, err)
	type row struct {
		from               string
		explicit, implicit string
	}
	var rows []row
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
		require.Len(t, parts, 3, line)
		rows = append(rows, row{parts[0], ";" + strings.ReplaceAll(parts[1], "; ", ";") + ";", ";" + strings.ReplaceAll(parts[2], "; ", ";") + ";"})
	}
	require.Len(t, rows, 23)
	for _, from := range rows {
		for _, to := range rows {
			for _, disabled := range []string{"false", "true"} {
				allowed := from.explicit
				if disabled == "true" {
					allowed = from.implicit
				}
				s, err := NewSchema(SchemaSpec{
					Schema:  ColumnsSpec{Fields: []string{"k INT NOT NULL", "v " + from.from}, PK: []string{"k"}},
					Options: map[string]string{"bucket": "1", OptDisableExplicitTypeCasting: disabled},
				}, 0)
				require.NoError(t, err)
				change, err := ParseChange("alter column v type " + to.from)
				require.NoError(t, err)
				next, err := Evolve(s, []Change{change}, EvolveOptions{HasSnapshots: true})
				// The same type again is no change, which Java refuses for some.
				want := strings.Contains(allowed, ";"+to.from+";") || from.from == to.from
				require.Equal(t, want, err == nil, "%s to %s, explicit casts disabled: %s: %v", from.from, to.from, disabled, err)
				if err == nil {
					typ, err := rowdata.ParseType(to.from)
					require.NoError(t, err)
					require.Equal(t, typ.String(), next.Fields[1].Type.String())
				}
			}
		}
	}
}
