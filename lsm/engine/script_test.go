package engine

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata print into them")

// TestScripts runs the scripts in testdata: blocks of a command with lines of
// input, a line ----, and the output wanted.
//
//	table     columns "name TYPE", options "key = value"; the first column is the key
//	merge     records "KIND [k, ...]" as JSON lists, in the order in which they came
//
// Records of merge are merged three ways: as one run, as a run of each record, and
// of two runs whose batches have one record; all three must agree. A key with one
// record is printed as it is, since the engine is not asked about it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var s script
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimRight(string(data), "\n"), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		head, want, _ := strings.Cut(block, "\n----")
		want = strings.TrimPrefix(want, "\n")
		var input []string
		for _, line := range strings.Split(head, "\n") {
			fmt.Fprintln(&out, line)
			if !strings.HasPrefix(line, "#") {
				input = append(input, line)
			}
		}
		if len(input) == 0 {
			continue
		}
		got := strings.TrimRight(s.run(t, input[0], input[1:]), "\n")
		fmt.Fprintln(&out, "----")
		if got != "" {
			fmt.Fprintln(&out, got)
		}
		if !*rewrite {
			require.Equal(t, want, got, "%s: %s", file, head)
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
}

type script struct {
	schema *paimon.Schema
	engine merge.Engine
}

func (s *script) run(t *testing.T, cmd string, input []string) string {
	switch cmd {
	case "table":
		return s.newTable(t, input)
	case "merge":
		records := s.records(t, input)
		first := s.merge(records, 1, len(input))
		require.Equal(t, first, s.merge(records, len(input), 1), "each record a run")
		require.Equal(t, first, s.merge(records, 2, 1), "two runs")
		return first
	}
	require.FailNow(t, "unknown command", cmd)
	return ""
}

// newTable checks the options as create does, and makes the engine.
func (s *script) newTable(t *testing.T, input []string) string {
	s.engine = merge.Engine{}
	s.schema = &paimon.Schema{Version: paimon.SchemaVersion, Options: paimon.Options{"bucket": "1"}}
	for _, line := range input {
		if key, value, ok := strings.Cut(line, " = "); ok {
			s.schema.Options[key] = strings.Trim(value, `"`)
			continue
		}
		name, text, _ := strings.Cut(line, " ")
		typ, err := rowdata.ParseType(text)
		require.NoError(t, err)
		if len(s.schema.Fields) == 0 {
			typ = typ.AsNotNull()
			s.schema.PrimaryKeys = []string{name}
		}
		s.schema.Fields = append(s.schema.Fields, rowdata.Field{Name: name, Type: typ})
	}
	next := 0
	number(s.schema.Fields, &next)
	err := s.schema.Validate()
	if err == nil {
		s.engine, err = For(s.schema)
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return ""
}

// number gives each field an id of its own.
func number(fields []rowdata.Field, next *int) {
	for i := range fields {
		fields[i].ID = *next
		*next++
		for t := fields[i].Type; t != nil; t = t.Elem {
			number(t.Fields, next)
		}
	}
}

func (s *script) records(t *testing.T, lines []string) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(s.schema.RowType(), 0)
	for seq, line := range lines {
		kind, rest, _ := strings.Cut(line, " ")
		k, err := rowdata.ParseRowKind(kind)
		require.NoError(t, err)
		appendJSON(t, kv, rest)
		kv.Seq, kv.Kinds = append(kv.Seq, int64(seq)), append(kv.Kinds, k)
	}
	return kv
}

// merge merges the records in so many runs, dealt in turn.
func (s *script) merge(records *rowdata.KeyValues, runs, batch int) string {
	var sources []merge.Source
	key := rowdata.NewComparer(s.schema.TrimmedKey())
	order := merge.Order{Fields: s.schema.SequenceFields(), Descending: s.schema.SequenceDescending()}
	for run := range runs {
		kv := rowdata.NewKeyValues(records.Type, 0)
		for i := run; i < records.N; i += runs {
			kv.AppendFrom(records, i)
		}
		sources = append(sources, &sortedRun{kv: sorted(kv, key, order), batch: batch})
	}
	it := merge.NewIter(sources, key, order, s.engine, merge.Options{})
	out, dst := "", rowdata.NewKeyValues(records.Type, 0)
	for {
		_, err := it.Next(dst)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			return out + "error: " + err.Error()
		}
		for i := range dst.N {
			out += fmt.Sprintf("%s #%d %s\n", dst.Kinds[i], dst.Seq[i], rowdata.AppendJSONArray(nil, &dst.Batch, i))
		}
	}
}
