package engine

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/script"
	"sluice/lsm/merge"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// TestScripts runs the scripts in testdata.
//
//	table     columns "name TYPE", options "key = value"; the first column is the key
//	merge     records "KIND [k, ...]" as JSON lists, in the order in which they came
//
// Records of merge are merged three ways: as one run, as a run of each record, and
// of two runs whose batches have one record; all three must agree. A key with one
// record is printed as it is, since the engine is not asked about it.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T) func(string, []string) string {
		var s engineScript
		return func(command string, input []string) string { return s.run(t, command, input) }
	})
}

type engineScript struct {
	schema *paimon.Schema
	engine merge.Engine
}

func (s *engineScript) run(t *testing.T, cmd string, input []string) string {
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
func (s *engineScript) newTable(t *testing.T, input []string) string {
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

func (s *engineScript) records(t *testing.T, lines []string) *rowdata.KeyValues {
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
func (s *engineScript) merge(records *rowdata.KeyValues, runs, batch int) string {
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
