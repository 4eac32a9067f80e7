//go:build interop

package paimonjava

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// evolution is what becomes of a table, step by step.
var evolution = []string{
	"add column n BIGINT AFTER k",
	"rename column a to a2",
	"alter column a2 type BIGINT",
	"drop column b",
	"add column b INT FIRST",
	"alter column c type DECIMAL(20,2)",
	"alter column d type TIMESTAMP(6)",
	"add column r.z DOUBLE",
	"rename column r.x to xx",
	"alter column r.xx type BIGINT",
	"drop column r.y",
	"add column r.y DATE",
	"add column l.element.w STRING",
	"alter column l.element.p type BIGINT",
	"add column m.value.v INT",
	"alter column f type DOUBLE",
	"alter column n first",
	"alter column a2 comment 'was a'",
	"alter column t type STRING",
	"alter column a2 type STRING",
	"add column e DECIMAL(38,10)",
	"alter column e default '7.5'",
	"alter column x nullable",
	"set option snapshot.num-retained.min=20",
	"alter column c type DECIMAL(24,4)",
	"drop column d",
}

// TestEvolution changes a table in every way, by either side, between writes of
// either side.
func TestEvolution(t *testing.T) {
	for i, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			options := maps.Clone(l.options)
			if i%3 == 2 {
				options["file.format"] = "avro"
			}
			f := ours(t, paimon.SchemaSpec{
				Schema: paimon.ColumnsSpec{
					Fields: []string{
						"k INT NOT NULL", "p STRING NOT NULL", "q DATE NOT NULL", "s BIGINT NOT NULL",
						"a INT", "b STRING", "c DECIMAL(9,2)", "d TIMESTAMP(3)", "t DATE", "f FLOAT", "x SMALLINT NOT NULL",
						"r ROW<x INT, y STRING>", "l ARRAY<ROW<p INT, q DECIMAL(5,1)>>", "m MAP<STRING, ROW<q INT>>",
					},
					PK: l.pk, Partition: l.parts,
				},
				Options: options,
			})
			r := newValues(t)
			g := &history{table: f, values: r, layout: l, keys: 40}
			g.byUs(12)
			for step, change := range evolution {
				if r.chance(2) {
					f.alter(change)
				} else {
					f.java("alter", f.dir, change)
				}
				if r.chance(2) {
					g.byUs(8)
				} else {
					g.byJava(8)
				}
				if step%9 == 8 {
					f.java("compact", f.dir, "--full")
				}
				if step%3 == 2 && sometimes(step/3, 2) {
					g.sameSince()
				}
			}
			g.byUs(8)
			g.byJava(8)
			f.agree()
			g.sameSelections()
		})
	}
}

// history writes random changes of few keys to a table, as one side or the other.
type history struct {
	*table
	*values
	layout layout
	keys   int
	seen   int64 // snapshots whose changes were compared

	settlings int // calls of settled
}

// changes makes n changes of the columns that the table has now.
func (g *history) changes(n int) []change {
	typ := g.open("").Schema().RowType()
	out := make([]change, n)
	for i := range out {
		row := g.row(typ, -1, 0)
		number := g.IntN(g.keys)
		for c, f := range typ.Fields {
			switch f.Name {
			case "k":
				row[c] = number
			case "s":
				row[c] = number % 7
			case "p":
				row[c] = []string{"a", "b c", "é/="}[number%3]
			case "q":
				row[c] = []string{"2024-02-29", "1969-12-31"}[number%2]
			}
		}
		out[i] = change{"+I", row}
		if g.layout.pk != nil {
			out[i].Kind = pick(g.values, "+I", "+U", "+U", "-U", "-D", "-D")
		}
	}
	return out
}

// sameSince compares the rows, and the changes since the last call.
func (g *history) sameSince() {
	g.Helper()
	from, to := g.span("")
	if from > g.seen+1 {
		from++ // what the oldest one replaced is gone
	}
	g.sameRows(where{}, "")
	g.sameChanges("", max(from, g.seen+1), to)
	g.seen = to
}

func (g *history) byUs(n int) { g.Helper(); g.write(g.changes(n)...) }

// sameSelections compares with values that are there, whatever types they had
// when their file was written.
func (g *history) sameSelections() {
	g.Helper()
	rows := g.rows(where{}, "")
	for i, f := range g.open("").Schema().Fields {
		cs := []condition{{f.Name + " is null", f.Name + " IS NULL"}, {f.Name + " is not null", f.Name + " IS NOT NULL"}}
		var row map[string]json.RawMessage
		require.NoError(g, json.Unmarshal([]byte(pick(g.values, rows...)), &row))
		if text := string(row[f.Name]); comparable(f.Type, text) {
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			var value any
			require.NoError(g, d.Decode(&value))
			for _, op := range []string{"=", "<", ">="} {
				cs = append(cs, condition{f.Name + " " + op + " " + text, f.Name + " " + op + " " + literal(f.Type, value)})
			}
		}
		for _, c := range few(cs, i, 3) {
			g.same(c.ours, g.javaRows(where{}, c.java), g.rows(where{}, c.ours))
		}
	}
}

// comparable tells whether both sides compare a value the same: filters of Java
// tell -0.0 from 0.0.
func comparable(t *rowdata.Type, text string) bool {
	switch {
	case t.IsNested(), text == "null":
		return false
	case t.Root == rowdata.Float, t.Root == rowdata.Double:
		return !strings.HasPrefix(text, `"`) && text != "0.0" && text != "-0.0"
	}
	return true
}
