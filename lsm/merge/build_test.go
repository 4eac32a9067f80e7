package merge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/lsm/aggregate"
	"sluice/paimon/rowdata"
)

// num is an INT or NULL.
type num struct {
	set bool
	x   int32
}

func (n num) String() string {
	if !n.set {
		return "-"
	}
	return fmt.Sprint(n.x)
}

// numRow is a record of a table of INT columns, the first being the key.
type numRow struct {
	kind rowdata.RowKind
	seq  int64
	cols []num
}

func (r numRow) String() string { return fmt.Sprintf("%s #%d %v", r.kind, r.seq, r.cols) }

func numType(n int) *rowdata.RowType {
	t := &rowdata.RowType{}
	for c := range n {
		t.Fields = append(t.Fields, rowdata.Field{ID: c, Name: fmt.Sprintf("c%d", c), Type: &rowdata.Type{Root: rowdata.Int}})
	}
	return t
}

func numBatch(t *rowdata.RowType, rows []numRow) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(t, len(rows))
	for _, r := range rows {
		for c, v := range r.cols {
			if v.set {
				kv.Cols[c].AppendI32(v.x)
			} else {
				kv.Cols[c].AppendNull()
			}
		}
		kv.Seq, kv.Kinds = append(kv.Seq, r.seq), append(kv.Kinds, r.kind)
		kv.CloseRow()
	}
	return kv
}

func numRows(kv *rowdata.KeyValues) []numRow {
	var out []numRow
	for i := range kv.N {
		r := numRow{kind: kv.Kinds[i], seq: kv.Seq[i]}
		for _, v := range kv.Cols {
			r.cols = append(r.cols, num{!v.IsNull(i), v.I32[i]})
		}
		out = append(out, r)
	}
	return out
}

// model is a merge engine written down record by record, in the words of semantics
// sections 3.3 to 3.5 and without regard to speed.
type model struct {
	functions []string // "" for none
	groups    [][2][]int
	remove    []bool // groups that remove the row
	partial   bool
	ignore    bool
	onDelete  bool

	row     []num
	first   []bool
	filled  bool
	added   bool
	deleted bool
	seq     int64
}

func (m *model) begin(n int) {
	m.row, m.first = make([]num, n), make([]bool, n)
	m.filled, m.added, m.deleted, m.seq = false, false, false, 0
}

func (m *model) agg(c int, acc, in num) num {
	switch m.functions[c] {
	case "sum":
		switch {
		case !in.set:
			return acc
		case !acc.set:
			return in
		}
		return num{true, acc.x + in.x}
	case "max":
		if !in.set || acc.set && acc.x >= in.x {
			return acc
		}
		return in
	case "last_value", "primary-key":
		return in
	case "last_non_null_value":
		if in.set {
			return in
		}
		return acc
	case "first_value":
		if m.first[c] {
			return acc
		}
		m.first[c] = true
		return in
	}
	panic(m.functions[c])
}

// retract has ignore-retract for max and first_value.
func (m *model) retract(c int, acc, in num) num {
	switch m.functions[c] {
	case "sum":
		switch {
		case !in.set:
			return acc
		case !acc.set:
			return num{true, -in.x}
		}
		return num{true, acc.x - in.x}
	case "last_value":
		return num{}
	case "primary-key":
		return in
	case "last_non_null_value":
		if in.set {
			return num{}
		}
	}
	return acc
}

func (m *model) groupOf(c int) (g int, sequence bool) {
	for g, group := range m.groups {
		if slices.Contains(group[0], c) {
			return g, true
		}
		if slices.Contains(group[1], c) {
			return g, false
		}
	}
	return -1, false
}

// silent tells whether all sequence columns of a group are NULL.
func (m *model) silent(g int, r numRow) bool {
	for _, c := range m.groups[g][0] {
		if r.cols[c].set {
			return false
		}
	}
	return true
}

// newer compares the record with the row.
func (m *model) newer(g int, r numRow) bool {
	rank := func(n num) int64 {
		if !n.set {
			return -1 << 40
		}
		return int64(n.x)
	}
	for _, c := range m.groups[g][0] {
		if a, b := rank(r.cols[c]), rank(m.row[c]); a != b {
			return a > b
		}
	}
	return true
}

func (m *model) add(r numRow) {
	if !m.partial {
		m.seq = r.seq
		m.deleted = m.onDelete && r.kind == rowdata.Delete
		if m.deleted {
			m.row = slices.Clone(r.cols)
			return
		}
		for c := range m.row {
			if r.kind.IsRetract() {
				m.row[c] = m.retract(c, m.row[c], r.cols[c])
			} else {
				m.row[c] = m.agg(c, m.row[c], r.cols[c])
			}
		}
		return
	}
	m.deleted = false
	if r.kind.IsRetract() {
		if !m.filled {
			m.row, m.filled = slices.Clone(r.cols), true
		}
		if m.ignore {
			return
		}
		m.seq = r.seq
		if len(m.groups) > 0 {
			m.retractGroups(r)
		} else if r.kind == rowdata.Delete {
			m.deleted, m.row = true, slices.Clone(r.cols)
		}
		return
	}
	m.seq, m.added, m.filled = r.seq, true, true
	for c := range m.row {
		g, sequence := m.groupOf(c)
		switch {
		case g < 0 && m.functions[c] != "":
			m.row[c] = m.agg(c, m.row[c], r.cols[c])
		case g < 0:
			if r.cols[c].set {
				m.row[c] = r.cols[c]
			}
		case m.silent(g, r):
		case !m.newer(g, r):
			if m.functions[c] != "" {
				m.row[c] = m.agg(c, r.cols[c], m.row[c])
			}
		case sequence:
			for _, s := range m.groups[g][0] {
				m.row[s] = r.cols[s]
			}
		case m.functions[c] != "":
			m.row[c] = m.agg(c, m.row[c], r.cols[c])
		default:
			m.row[c] = r.cols[c]
		}
	}
}

func (m *model) retractGroups(r numRow) {
	for c := range m.row {
		g, sequence := m.groupOf(c)
		switch {
		case g < 0 || m.silent(g, r):
		case !m.newer(g, r):
			if m.functions[c] != "" {
				m.row[c] = m.retract(c, m.row[c], r.cols[c])
			}
		case sequence && m.remove[g] && r.kind == rowdata.Delete:
			m.deleted, m.row = true, slices.Clone(r.cols)
			return
		case sequence:
			for _, s := range m.groups[g][0] {
				m.row[s] = r.cols[s]
			}
		case m.functions[c] != "":
			m.row[c] = m.retract(c, m.row[c], r.cols[c])
		default:
			m.row[c] = num{}
		}
	}
}

func (m *model) result() numRow {
	kind := rowdata.Insert
	if m.deleted || m.partial && !m.added {
		kind = rowdata.Delete
	}
	return numRow{kind: kind, seq: m.seq, cols: m.row}
}

// randomModel draws an engine and returns it in both forms.
func randomModel(r *rand.Rand, t *rowdata.RowType) (*model, Engine) {
	n := len(t.Fields)
	m := &model{functions: make([]string, n), partial: r.IntN(2) == 0}
	names := []string{"sum", "max", "last_value", "last_non_null_value", "first_value"}
	pick := func() string { return names[r.IntN(len(names))] }
	m.functions[0] = "primary-key"
	if m.partial && r.IntN(3) > 0 {
		cols := r.Perm(n - 1)
		for len(cols) >= 3 && len(m.groups) < 2 {
			by := 1 + r.IntN(2)
			protected := 1 + r.IntN(len(cols)-by)
			group := [2][]int{}
			for i, c := range cols[:by+protected] {
				if i < by {
					group[0] = append(group[0], c+1)
					continue
				}
				group[1] = append(group[1], c+1)
				if r.IntN(2) == 0 {
					m.functions[c+1] = pick()
				}
			}
			cols = cols[by+protected:]
			m.groups, m.remove = append(m.groups, group), append(m.remove, r.IntN(3) == 0)
		}
	}
	switch {
	case !m.partial:
		for c := 1; c < n; c++ {
			m.functions[c] = pick()
		}
		m.onDelete = r.IntN(2) == 0
	case len(m.groups) == 0:
		m.ignore = r.IntN(2) == 0
		m.onDelete = !m.ignore
	default:
		m.ignore = !slices.Contains(m.remove, true) && r.IntN(4) == 0
	}
	specs := make([]*aggregate.Spec, n)
	for c, f := range m.functions {
		if f != "" {
			specs[c] = &aggregate.Spec{Function: f, Type: t.Fields[c].Type, IgnoreRetract: f == "max" || f == "first_value"}
		}
	}
	var e Engine
	var err error
	if m.partial {
		p := PartialUpdate{Type: t, Columns: specs, IgnoreDelete: m.ignore, RemoveOnDelete: m.onDelete}
		for g, group := range m.groups {
			p.Groups = append(p.Groups, SequenceGroup{By: group[0], Columns: group[1], Remove: m.remove[g]})
		}
		e, err = p.Engine()
	} else {
		e, err = Aggregation{Type: t, Columns: specs, RemoveOnDelete: m.onDelete}.Engine()
	}
	if err != nil {
		panic(err)
	}
	return m, e
}

// leveledRun is a run of one level, or none.
type leveledRun struct {
	sliceSource
	level int32
}

func (l *leveledRun) Level() int32 { return l.level }

// TestBuildModel merges random records with random engines, in runs of random
// batches and levels, and compares with the model.
func TestBuildModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		typ := numType(2 + r.IntN(6))
		m, engine := randomModel(r, typ)
		engine.Shadows = r.IntN(2) == 0
		runs, keys := 1+r.IntN(6), 1+r.IntN(20)
		byKey := make([][]numRow, keys)
		levels := make(map[int64]int32)
		var sources []Source
		seq := int64(0)
		for range runs {
			var rows []numRow
			level := int32(r.IntN(4))
			for k := range keys {
				for range r.IntN(3) {
					row := numRow{kind: rowdata.RowKind(r.IntN(4)), seq: seq, cols: []num{{true, int32(k)}}}
					for range len(typ.Fields) - 1 {
						row.cols = append(row.cols, num{r.IntN(3) > 0, int32(r.IntN(6))})
					}
					levels[seq] = level
					seq++
					rows = append(rows, row)
					byKey[k] = append(byKey[k], row)
					if level > 0 {
						break // a file has a key once
					}
				}
			}
			sources = append(sources, &leveledRun{sliceSource{kv: numBatch(typ, rows), size: 1 + r.IntN(7)}, level})
		}
		drop := r.IntN(2) == 0
		var want []numRow
		for _, rows := range byKey {
			want = append(want, m.merge(rows, levels, engine.Shadows, drop)...)
		}
		it := NewIter(sources, rowdata.NewComparer([]int{0}), Order{}, engine, Options{BatchRows: 1 + r.IntN(9), DropDeletes: drop})
		var got []numRow
		dst := rowdata.NewKeyValues(typ, 0)
		for {
			if _, err := it.Next(dst); err != nil {
				break
			}
			got = append(got, numRows(dst)...)
		}
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%+v", m)
	})
}

// merge returns what stands for the records of a key.
func (m *model) merge(rows []numRow, levels map[int64]int32, shadows, drop bool) []numRow {
	if len(rows) == 0 {
		return nil
	}
	out := rows[0]
	if len(rows) > 1 {
		lowest := int32(0)
		for _, r := range rows {
			if l := levels[r.seq]; l > 0 && (lowest == 0 || l < lowest) {
				lowest = l
			}
		}
		var count []numRow
		for _, r := range rows {
			if l := levels[r.seq]; !shadows || l == 0 || l == lowest {
				count = append(count, r)
			}
		}
		if out = count[0]; len(count) > 1 {
			m.begin(len(rows[0].cols))
			for _, r := range count {
				m.add(r)
			}
			out = m.result()
		}
	}
	if drop && out.kind.IsRetract() {
		return nil
	}
	return []numRow{out}
}

// benchEngine is 2 million records of as many keys as divides them by four.
func benchFolder(b *testing.B, e Engine, typ *rowdata.RowType) {
	const batch, perKey = 4096, 4
	r := rand.New(rand.NewPCG(1, 1))
	var rows []numRow
	for i := range batch {
		row := numRow{seq: int64(i), cols: []num{{true, int32(i / perKey)}}}
		for range len(typ.Fields) - 1 {
			row.cols = append(row.cols, num{r.IntN(3) > 0, int32(r.IntN(100))})
		}
		rows = append(rows, row)
	}
	kv, dst := numBatch(typ, rows), rowdata.NewKeyValues(typ, batch)
	f := e.Build()
	fold := func() {
		dst.Reset()
		for i := range batch {
			if i%perKey == 0 {
				f.Begin()
			}
			if err := f.Add(kv, i); err != nil {
				b.Fatal(err)
			}
			if i%perKey == perKey-1 {
				if _, err := f.Result(dst); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	fold()
	b.ReportAllocs()
	for b.Loop() {
		fold()
	}
	b.ReportMetric(float64(b.N)*batch/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}

func BenchmarkFolderAdd(b *testing.B) {
	typ := numType(6)
	specs := make([]*aggregate.Spec, len(typ.Fields))
	for c, f := range typ.Fields {
		specs[c] = &aggregate.Spec{Function: "sum", Type: f.Type}
	}
	specs[0].Function = "primary-key"
	sums, err := Aggregation{Type: typ, Columns: specs}.Engine()
	require.NoError(b, err)
	plain, err := PartialUpdate{Type: typ, Columns: make([]*aggregate.Spec, len(typ.Fields))}.Engine()
	require.NoError(b, err)
	groups, err := PartialUpdate{
		Type: typ, Columns: make([]*aggregate.Spec, len(typ.Fields)),
		Groups: []SequenceGroup{{By: []int{1}, Columns: []int{2, 3}}, {By: []int{4}, Columns: []int{5}}},
	}.Engine()
	require.NoError(b, err)
	b.Run("engine=sum", func(b *testing.B) { benchFolder(b, sums, typ) })
	b.Run("engine=partial-update", func(b *testing.B) { benchFolder(b, plain, typ) })
	b.Run("engine=sequence-groups", func(b *testing.B) { benchFolder(b, groups, typ) })
}
