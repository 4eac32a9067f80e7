package producer

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/script"
	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// TestScripts runs the scripts in testdata. Records are of a table with the columns
// k INT (its key), f INT and v INT, written "KIND k f v #number", - is NULL.
//
//	producer lookup|first-row|full [engine=deduplicate|first-row|sum] [seq] [desc] [ignore-delete] [silent] [row-deduplicate] [ignore=v]
//	plan [output=N] [top=N] [above] [drop]
//	index    the records above level 0 that are not among the inputs; a line with a
//	         trailing ! is too old to count
//	resolve  records in merge order, each behind the level it comes from; prints
//	         what is stored, told, asked and changed in the index
//	upgrade  from=N [deletes] [format]
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T) func(string, []string) string {
		s := &producerScript{t: t}
		return func(command string, input []string) string { return s.run(strings.Fields(command), input) }
	})
}

type producerScript struct {
	t        *testing.T
	producer Producer
	index    *memory
	plan     merge.Plan
	out      *merge.Result
}

func (s *producerScript) run(cmd, input []string) string {
	switch cmd[0] {
	case "producer":
		s.newProducer(cmd[1], cmd[2:])
	case "plan":
		s.plan = merge.Plan{Output: 5, Top: 5}
		for _, o := range cmd[1:] {
			switch name, value, _ := strings.Cut(o, "="); name {
			case "output":
				s.plan.Output = number(s.t, value)
			case "top":
				s.plan.Top = number(s.t, value)
			case "bottom":
				s.plan.Bottom = number(s.t, value)
			case "above":
				s.plan.Above = true
			case "drop":
				s.plan.DropDelete = true
			default:
				require.FailNow(s.t, "unknown option", o)
			}
		}
	case "index":
		s.index.set(s.t, input)
	case "resolve":
		return s.resolve(input)
	case "upgrade":
		u := merge.Upgrade{Plan: s.plan}
		for _, o := range cmd[1:] {
			switch name, value, _ := strings.Cut(o, "="); name {
			case "from":
				u.From = number(s.t, value)
			case "deletes":
				u.Deletes = true
			case "format":
				u.OtherFormat = true
			default:
				require.FailNow(s.t, "unknown option", o)
			}
		}
		return []string{"move", "move and report", "rewrite"}[s.producer.Upgrade(u)] + "\n"
	default:
		require.FailNow(s.t, "unknown command", cmd[0])
	}
	return ""
}

func (s *producerScript) newProducer(name string, options []string) {
	o := Options{Engine: merge.Engine{Name: "deduplicate", Keep: merge.Deduplicate{}}, Key: []int{0}}
	ignore := false
	for _, option := range options {
		switch option {
		case "engine=deduplicate":
		case "engine=first-row":
			o.Engine = merge.Engine{Name: "first-row", Keep: merge.FirstRow{}}
		case "engine=sum":
			o.Engine = merge.Engine{Name: "sum", Build: func() merge.Folder { return &summer{} }}
		case "seq":
			o.Order.Fields = []int{1}
		case "desc":
			o.Order.Descending = true
		case "ignore-delete":
			ignore = true
		case "silent":
			o.Silent = true
		case "row-deduplicate":
			o.RowDeduplicate = true
		case "ignore=v":
			o.Ignore = []int{2}
		default:
			require.FailNow(s.t, "unknown option", option)
		}
	}
	if ignore {
		switch o.Engine.Keep.(type) {
		case merge.Deduplicate:
			o.Engine.Keep = merge.Deduplicate{IgnoreDelete: true}
		case merge.FirstRow:
			o.Engine.Keep = merge.FirstRow{IgnoreDelete: true}
		}
	}
	s.index, s.plan = &memory{}, merge.Plan{Output: 5, Top: 5}
	o.Expired = func(kv *rowdata.KeyValues, i int) bool { return s.index.old[kv.Cols[0].I32[i]] }
	switch name {
	case "lookup":
		s.producer = NewLookup(o, s.index)
	case "first-row":
		s.producer = NewFirstRow(o, s.index)
	case "full":
		s.producer = NewFullCompaction(o)
	default:
		require.FailNow(s.t, "unknown producer", name)
	}
	s.out = merge.NewResult(scriptType)
	require.False(s.t, s.producer.Wants(merge.Plan{Flush: true}))
}

func (s *producerScript) resolve(input []string) string {
	g := merge.NewGroups(scriptType, s.plan)
	for i, line := range input {
		level, rest, _ := strings.Cut(line, " ")
		g.Levels = append(g.Levels, number(s.t, strings.TrimPrefix(level, "L")))
		appendRecord(s.t, g.Records, rest)
		if i > 0 && g.Records.Cols[0].I32[i] != g.Records.Cols[0].I32[i-1] {
			g.Ends = append(g.Ends, int32(i))
		}
	}
	g.Ends = append(g.Ends, int32(len(input)))
	s.index.asked = nil
	if !s.producer.Wants(s.plan) {
		return "not wanted\n"
	}
	if err := s.producer.Resolve(s.t.Context(), g, s.out); err != nil {
		return "error: " + err.Error() + "\n"
	}
	out := ""
	for i := range s.out.Data.N {
		out += "stored  " + text(s.out.Data, i) + "\n"
	}
	for i := range s.out.Changelog.N {
		out += "told    " + text(s.out.Changelog, i) + "\n"
	}
	if len(s.index.asked) > 0 {
		out += fmt.Sprintln("asked  ", strings.Trim(fmt.Sprint(s.index.asked), "[]"))
	}
	for _, c := range s.out.Index {
		for i := c.From; i < c.To; i++ {
			if c.Delete {
				out += fmt.Sprintln("deleted", g.Records.Cols[0].I32[i])
			} else {
				out += "put     " + text(s.out.Data, int(i)) + "\n"
			}
		}
	}
	return out
}

var scriptType = &rowdata.RowType{Fields: []rowdata.Field{
	{ID: 0, Name: "k", Type: &rowdata.Type{Root: rowdata.Int, NotNull: true}},
	{ID: 1, Name: "f", Type: &rowdata.Type{Root: rowdata.Int}},
	{ID: 2, Name: "v", Type: &rowdata.Type{Root: rowdata.Int}},
}}

func number(t *testing.T, s string) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	require.NoError(t, err)
	return int32(n)
}

func appendRecord(t *testing.T, kv *rowdata.KeyValues, line string) {
	f := strings.Fields(line)
	require.Len(t, f, 5, line)
	kind, err := rowdata.ParseRowKind(f[0])
	require.NoError(t, err)
	seq, err := strconv.ParseInt(strings.TrimPrefix(f[4], "#"), 10, 64)
	require.NoError(t, err)
	kv.Kinds, kv.Seq = append(kv.Kinds, kind), append(kv.Seq, seq)
	for i, value := range f[1:4] {
		if value == "-" {
			kv.Cols[i].AppendNull()
		} else {
			require.NoError(t, rowdata.AppendParsed(kv.Cols[i], value))
		}
	}
	kv.CloseRow()
}

func text(kv *rowdata.KeyValues, i int) string {
	out := kv.Kinds[i].String()
	for _, c := range kv.Cols {
		if c.IsNull(i) {
			out += " -"
		} else {
			out += fmt.Sprint(" ", c.I32[i])
		}
	}
	return out + fmt.Sprint(" #", kv.Seq[i])
}

// memory is a state above level 0.
type memory struct {
	records *rowdata.KeyValues
	old     map[int32]bool
	asked   []int32
}

func (m *memory) set(t *testing.T, lines []string) {
	m.records, m.old = rowdata.NewKeyValues(scriptType, 0), map[int32]bool{}
	for _, line := range lines {
		appendRecord(t, m.records, strings.TrimSuffix(line, "!"))
		if strings.HasSuffix(line, "!") {
			m.old[m.records.Cols[0].I32[m.records.N-1]] = true
		}
	}
}

func (m *memory) Lookup(_ context.Context, b *rowdata.Batch, rows []int32, dst *rowdata.KeyValues, found []int32) error {
	last := int32(-1 << 31)
	for i, row := range rows {
		key := b.Cols[0].I32[row]
		if key <= last {
			return fmt.Errorf("key %d after %d", key, last)
		}
		last = key
		m.asked = append(m.asked, key)
		found[i] = -1
		for k := 0; m.records != nil && k < m.records.N; k++ {
			if m.records.Cols[0].I32[k] == key {
				found[i] = int32(dst.N)
				dst.AppendFrom(m.records, k)
			}
		}
	}
	return nil
}

// summer adds v of adds and takes that of retracts away.
type summer struct {
	sum int32
	kv  *rowdata.KeyValues
	n   int
}

func (s *summer) Begin() { s.sum, s.n = 0, 0 }

func (s *summer) Add(kv *rowdata.KeyValues, i int) error {
	if s.kv == nil {
		s.kv = rowdata.NewKeyValues(scriptType, 1)
	}
	s.kv.Reset()
	s.kv.AppendFrom(kv, i)
	s.n++
	if v := kv.Cols[2].I32[i]; v == 666 {
		return fmt.Errorf("666 cannot be added")
	} else if kv.Kinds[i].IsAdd() {
		s.sum += v
	} else {
		s.sum -= v
	}
	return nil
}

func (s *summer) Result(dst *rowdata.KeyValues) (bool, error) {
	if s.sum == 999 {
		return false, nil
	}
	s.kv.Kinds[0] = rowdata.Insert
	s.kv.Cols[2].I32[0] = s.sum
	dst.AppendFrom(s.kv, 0)
	return true, nil
}
