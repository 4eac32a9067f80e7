package lsm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/script"
	"sluice/lsm/aggregate"
	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// TestScripts runs the scripts in testdata. The table has the columns k INT (its
// key), f INT and v STRING.
//
//	table [sum | partial | first-row] [append] [seq] [desc] [input] [ignore-delete] [buffer=BYTES] [disk=BYTES] [nospill] [changelog=FORMAT] [next=N]
//	write    rows "KIND k f v", - is NULL
//	shrink   lets the buffer give its memory back
//	prepare  flushes and prints the files, with their rows
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T) func(string, []string) string {
		s := &writerScript{t: t}
		t.Cleanup(s.close)
		return func(command string, input []string) string { return s.run(strings.Fields(command), input) }
	})
}

var scriptType = &rowdata.RowType{Fields: []rowdata.Field{
	{ID: 0, Name: "k", Type: &rowdata.Type{Root: rowdata.Int, NotNull: true}},
	{ID: 1, Name: "f", Type: intType},
	{ID: 2, Name: "v", Type: textType},
}}

type bucket interface {
	Append(ctx context.Context, rows *rowdata.Changes, idx []int32) error
	Prepare(ctx context.Context) (Increment, error)
	shrink(ctx context.Context) error
	NextSequence() int64
	Close() error
}

type writerScript struct {
	t     *testing.T
	pool  *Pool
	table *Table
	w     bucket
	files map[string]*bytes.Buffer
	names int
	dir   string
}

func (s *writerScript) close() {
	if s.w != nil {
		require.NoError(s.t, s.w.Close())
		require.Zero(s.t, s.pool.Used())
		require.Zero(s.t, s.pool.spilled)
		require.Empty(s.t, s.pool.members)
		s.pool.Close()
	}
}

func (s *writerScript) run(cmd, input []string) string {
	ctx := s.t.Context()
	switch cmd[0] {
	case "table":
		s.newTable(cmd[1:])
		return ""
	case "write":
		before := s.pool.stats
		if err := s.w.Append(ctx, s.rows(input), nil); err != nil {
			return "error: " + err.Error()
		}
		return s.effects(before)
	case "shrink":
		before := s.pool.stats
		require.NoError(s.t, s.w.shrink(ctx))
		return s.effects(before)
	case "prepare":
		inc, err := s.w.Prepare(ctx)
		if err != nil {
			return "error: " + err.Error()
		}
		return s.show("", inc.NewFiles) + s.show("", inc.Changelog) + fmt.Sprintln("next", s.w.NextSequence())
	}
	require.FailNow(s.t, "unknown command", cmd[0])
	return ""
}

func (s *writerScript) effects(before Stats) string {
	out := ""
	if n := s.pool.stats.Spills - before.Spills; n > 0 {
		out += fmt.Sprintln("spilled", n)
	}
	if n := s.pool.stats.EarlyFlushes - before.EarlyFlushes; n > 0 {
		out += fmt.Sprintln("flushed early", n)
	}
	return out
}

func (s *writerScript) newTable(options []string) {
	s.close()
	s.files, s.names, s.dir = map[string]*bytes.Buffer{}, 0, s.t.TempDir()
	name := func(prefix string) func() string {
		return func() string { s.names++; return fmt.Sprintf("%s-%d", prefix, s.names) }
	}
	s.table = &Table{
		Layout: datafile.Layout{Schema: scriptType, Key: []int{0}}, Producer: producer.None{}, Engine: merge.Engine{Keep: merge.Deduplicate{}},
		Data: Files{Name: name("data")}, Changelog: Files{Name: name("changelog")},
	}
	limit, spill, next, appends := int64(1<<20), SpillOptions{Dir: s.dir}, int64(0), false
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "append":
			appends, s.table.Layout.Key = true, nil
		case "seq":
			s.table.Order.Fields = []int{1}
		case "desc":
			s.table.Order.Descending = true
		case "input":
			s.table.Producer = producer.Input{}
		case "sum", "partial", "first-row":
			s.table.Engine = engines(s.t)[key]
		case "ignore-delete":
			s.table.Engine.Keep = merge.Deduplicate{IgnoreDelete: true}
		case "buffer":
			limit = n
		case "disk":
			spill.BytesMax = n
		case "runs":
			spill.FilesMax = int(n)
		case "nospill":
			spill.Dir = ""
		case "changelog":
			s.table.Changelog.Options.Format = value
		case "target-rows":
			s.table.Data.Options.TargetRows, s.table.Changelog.Options.TargetRows = n, n
		case "next":
			next = n
		default:
			require.FailNow(s.t, "unknown option", o)
		}
	}
	s.pool = NewPool(limit, spill)
	create := func(_ context.Context, name string) (datafile.Sink, error) { return &memoryFile{s: s, name: name}, nil }
	if appends {
		s.w = NewAppender(s.table, s.pool, create, next)
	} else {
		s.w = NewWriter(s.table, s.pool, create, next)
	}
}

// engines are those of the options: sum adds f and keeps the last v, partial puts the
// newest values together.
func engines(t testing.TB) map[string]merge.Engine {
	spec := func(function string, c int) *aggregate.Spec {
		return &aggregate.Spec{Function: function, Type: scriptType.Fields[c].Type}
	}
	sum, err := merge.Aggregation{
		Type: scriptType, Columns: []*aggregate.Spec{spec("primary-key", 0), spec("sum", 1), spec("last_value", 2)},
	}.Engine()
	require.NoError(t, err)
	partial, err := merge.PartialUpdate{Type: scriptType, Columns: make([]*aggregate.Spec, 3), RemoveOnDelete: true}.Engine()
	require.NoError(t, err)
	return map[string]merge.Engine{
		"sum": sum, "partial": partial, "first-row": {Name: "first-row", Keep: merge.FirstRow{}},
	}
}

// memoryFile is a file that is there once it is finished.
type memoryFile struct {
	bytes.Buffer
	s    *writerScript
	name string
}

func (f *memoryFile) Finish(context.Context) error { f.s.files[f.name] = &f.Buffer; return nil }
func (f *memoryFile) Abort() error                 { return nil }

func (s *writerScript) rows(lines []string) *rowdata.Changes {
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(scriptType, 0)}
	for _, line := range lines {
		f := strings.Fields(line)
		kind, err := rowdata.ParseRowKind(f[0])
		require.NoError(s.t, err)
		c.Kinds = append(c.Kinds, kind)
		for i, text := range f[1:] {
			if text == "-" {
				c.Cols[i].AppendNull()
				continue
			}
			require.NoError(s.t, rowdata.AppendParsed(c.Cols[i], text))
		}
		c.CloseRow()
	}
	return c
}

func (s *writerScript) show(out string, files []manifest.DataFile) string {
	for _, f := range files {
		data := s.files[f.FileName]
		require.NotNil(s.t, data, "%s is not finished", f.FileName)
		require.Equal(s.t, int64(data.Len()), f.FileSize)
		out += fmt.Sprintf("%s level %d: %d rows, %d retract, numbers %d..%d\n", f.FileName, f.Level, f.RowCount, *f.DeleteRowCount, f.MinSeq, f.MaxSeq)
		keyed := s.table.Layout.Key != nil
		r, err := datafile.Open(bytes.NewReader(data.Bytes()), f.FileSize, f.FileName, datafile.ReadSpec{Want: scriptType, File: scriptType, System: keyed})
		require.NoError(s.t, err)
		kv := rowdata.NewKeyValues(scriptType, 0)
		for {
			n, err := r.Next(kv)
			if err == io.EOF {
				break
			}
			require.NoError(s.t, err)
			for i := range n {
				out += "  "
				if keyed {
					out += fmt.Sprintf("%s #%d ", kv.Kinds[i], kv.Seq[i])
				}
				out += string(rowdata.AppendJSONArray(nil, &kv.Batch, i)) + "\n"
			}
		}
		require.NoError(s.t, r.Close())
	}
	return out
}
