// Package generate makes random histories with what the other engine's generator
// does not have: crashes, a lookup index that is gone, damaged or behind the table,
// a compactor beside a writer that only writes, overwrites, columns that are added
// in the middle, several buckets and partitions at once, and commits of many rows.
package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"sluice/interop/casefile"
)

// Case returns the history of a seed: always the same one.
func Case(seed uint64) *casefile.Case {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x51e1ce)), c: &casefile.Case{Name: fmt.Sprintf("own_%d", seed), Options: map[string]string{}}}
	g.table()
	g.commits()
	return g.c
}

type column struct {
	name, typ string
}

type generator struct {
	*rand.Rand
	c         *casefile.Case
	columns   []column
	engine    string
	producer  string
	retracts  bool
	writeOnly bool // and a compactor
	parts     bool
	keys      int
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) option(name string, value any) { g.c.Options[name] = fmt.Sprint(value) }

// table draws options and columns.
func (g *generator) table() {
	g.engine = pick(g, "deduplicate", "deduplicate", "partial-update", "aggregation", "first-row")
	g.producer = pick(g, "lookup", "lookup", "full-compaction")
	if g.engine == "first-row" {
		g.producer = "lookup"
	}
	g.option("merge-engine", g.engine)
	g.option("changelog-producer", g.producer)
	g.option("bucket", pick(g, 1, 1, 2, 3))
	if g.chance(0.5) {
		g.option("num-sorted-run.compaction-trigger", 2+g.IntN(3))
	}
	if g.chance(0.3) {
		g.option("num-levels", 2+g.IntN(4))
	}
	if g.chance(0.3) {
		g.option("changelog-producer.row-deduplicate", true)
	}
	if g.writeOnly = g.chance(0.2); g.writeOnly {
		g.option("write-only", true)
	}
	g.keys = pick(g, 3, 8, 40)
	g.columns = []column{{"k", "INT NOT NULL"}}
	g.c.Schema.PK = []string{"k"}
	if g.parts = g.chance(0.3); g.parts {
		g.columns = append(g.columns, column{"p", "STRING NOT NULL"})
		g.c.Schema.PK, g.c.Schema.Partition = []string{"p", "k"}, []string{"p"}
	}
	switch g.engine {
	case "deduplicate":
		g.retracts = true
		g.columns = append(g.columns, column{"v", "STRING"}, column{"w", "INT"})
	case "first-row":
		g.columns = append(g.columns, column{"v", "STRING"})
	case "partial-update":
		g.partial()
	case "aggregation":
		g.aggregation()
	}
	if g.engine != "first-row" && g.chance(0.3) {
		g.columns = append(g.columns, column{"s", "INT"})
		g.option("sequence.field", "s")
		if g.chance(0.3) {
			g.option("sequence.field.sort-order", "descending")
		}
	}
	for _, c := range g.columns {
		g.c.Schema.Fields = append(g.c.Schema.Fields, c.name+" "+c.typ)
	}
}

func (g *generator) partial() {
	g.columns = append(g.columns, column{"v", "STRING"}, column{"w", "INT"})
	switch g.IntN(3) {
	case 0:
		g.option("partial-update.remove-record-on-delete", true)
		g.retracts = true
	case 1:
		g.columns = append(g.columns, column{"g", "INT"})
		g.option("fields.g.sequence-group", "v,w")
		g.option("fields.w.aggregate-function", pick(g, "sum", "last_value", "last_non_null_value"))
		if g.chance(0.5) {
			g.option("partial-update.remove-record-on-sequence-group", "g")
		}
		g.retracts = true
	}
}

func (g *generator) aggregation() {
	g.columns = append(g.columns, column{"v", "STRING"}, column{"w", "BIGINT"}, column{"x", "INT"})
	g.option("fields.v.aggregate-function", pick(g, "last_value", "last_non_null_value"))
	g.option("fields.w.aggregate-function", "sum")
	g.option("fields.x.aggregate-function", pick(g, "max", "min"))
	g.option("fields.x.ignore-retract", true)
	if g.chance(0.3) {
		delete(g.c.Options, "fields.x.ignore-retract")
		g.option("aggregation.remove-record-on-delete", true)
		return
	}
	g.retracts = true
}

// commits draws rows and what happens between commits.
func (g *generator) commits() {
	altered, saved := false, false
	n := 4 + g.IntN(8)
	if g.chance(0.1) {
		n = 25 // levels fill up
	}
	for i := range n {
		s := casefile.Step{}
		rows := 1 + g.IntN(8)
		switch p := g.Float64(); {
		case i == 0:
		case g.writeOnly && p < 0.35:
			s.User, rows = "compactor", 0
		case p < 0.12:
			s.Reopen = true
		case p < 0.22:
			s.Crash = true
		case p < 0.30 && !saved:
			s.Index, saved = casefile.IndexSave, true
		case p < 0.38 && saved:
			s.Index = casefile.IndexOld
		case p < 0.46:
			s.Index = pick(g, casefile.IndexDelete, casefile.IndexCut, casefile.IndexFlip)
		case p < 0.52 && !g.writeOnly:
			s.Mode = "overwrite"
		case p < 0.58 && !altered:
			s.Alter, altered = []string{"add column z INT"}, true
			g.columns = append(g.columns, column{"z", "INT"})
		case p < 0.62:
			rows = 100 + g.IntN(200)
		}
		full := g.producer == "full-compaction" && g.chance(0.5) || g.chance(0.1)
		if full && s.Mode == "" && (!g.writeOnly || s.User != "") {
			s.Compact = "full"
		}
		commit := []casefile.Row{}
		for range rows {
			commit = append(commit, g.row(s.Mode != ""))
		}
		g.c.Commits, g.c.Steps = append(g.c.Commits, commit), append(g.c.Steps, s)
	}
	if g.parts || g.c.Options["bucket"] != "1" {
		g.c.Order = "any"
	}
}

func (g *generator) row(insert bool) casefile.Row {
	r := casefile.Row{Kind: pick(g, "+I", "+I", "+U", "-D", "-U")}
	if r.Kind[0] == '-' && !g.retracts || insert {
		r.Kind = "+I"
	}
	if g.c.Options["aggregation.remove-record-on-delete"] == "true" && g.chance(0.2) && !insert {
		r.Kind = "-D"
	}
	for _, c := range g.columns {
		r.Row = append(r.Row, g.value(c))
	}
	return r
}

func (g *generator) value(c column) any {
	number := func(n int) any { return json.Number(strconv.Itoa(n)) }
	switch {
	case c.name == "k":
		return number(1 + g.IntN(g.keys))
	case c.name == "p":
		return pick(g, "x", "y")
	case g.chance(0.2):
		return nil
	case c.typ == "STRING":
		return pick(g, "a", "b", "", "a text that is too long to stand in a fixed part")
	}
	return number(g.IntN(12) - 2)
}
