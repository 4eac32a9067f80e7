// Package generate makes random histories with what the other engine's generator
// does not have: crashes, a lookup index that is gone, damaged or behind the table,
// a compactor beside a writer that only writes, two writers, overwrites that may
// change the number of buckets, schema changes of all kinds in the middle, patient
// compaction, rows that grow too old, nested rows and sketches, several buckets and
// partitions at once, and commits of many rows.
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

// role is what a column is there for, which decides about its values and about what
// schema changes may do to it.
type role int

const (
	free  role = iota // no option names it
	named             // options name it
	key
	partition
	moment // record-level.time-field
)

type column struct {
	name, typ string
	role      role
	function  string // if values are made for it
}

type generator struct {
	*rand.Rand
	c         *casefile.Case
	columns   []column
	engine    string
	producer  string
	retracts  bool
	writeOnly bool // and a compactor
	idle      bool // write-only for now
	parts     bool
	keys      int
	of        [][]int  // keys by the writer that has them; nil: one writer
	bound     bool     // num-levels does not hang on the trigger
	fresh     int      // number of the next name
	hashed    bool     // the order of rows in a list is that of a hash table, so that they cannot be compared
	dropped   []string // names of columns that there were
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) option(name string, value any) { g.c.Options[name] = fmt.Sprint(value) }

func (g *generator) has(option string) bool { return g.c.Options[option] != "" }

// commits draws rows and what happens between commits.
func (g *generator) commits() {
	altered, saved := 0, false
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
		case p < 0.52 && !g.writeOnly && !g.idle && g.of == nil:
			s.Mode = "overwrite"
			if !g.parts && !g.has("record-level.expire-time") && g.chance(0.4) {
				s.Alter = []string{fmt.Sprintf("set option bucket=%d", 1+g.IntN(4))}
			}
		case p < 0.64 && altered < 3 && !g.has("record-level.expire-time"):
			s.Alter = g.alter()
			altered++
		case p < 0.68:
			rows = 100 + g.IntN(200)
		}
		full := g.producer == "full-compaction" && g.chance(0.5) || g.chance(0.1)
		if full && s.Mode == "" && !g.idle && (!g.writeOnly || s.User != "") {
			s.Compact = "full"
		}
		if g.of != nil {
			s.Writer = g.IntN(len(g.of))
		}
		commit := []casefile.Row{}
		for range rows {
			commit = append(commit, g.row(s))
		}
		g.c.Commits, g.c.Steps = append(g.c.Commits, commit), append(g.c.Steps, s)
	}
	if g.parts || g.c.Options["bucket"] != "1" {
		g.c.Order = "any"
	}
}

func (g *generator) row(s casefile.Step) casefile.Row {
	insert := s.Mode != ""
	r := casefile.Row{Kind: pick(g, "+I", "+I", "+U", "-D", "-U")}
	if r.Kind[0] == '-' && !g.retracts || insert {
		r.Kind = "+I"
	}
	if g.c.Options["aggregation.remove-record-on-delete"] == "true" && g.chance(0.2) && !insert {
		r.Kind = "-D"
	}
	for _, c := range g.columns {
		r.Row = append(r.Row, g.value(c, s.Writer))
	}
	return r
}

func number(n int) any { return json.Number(strconv.Itoa(n)) }

func (g *generator) value(c column, writer int) any {
	switch {
	case c.role == key && g.of != nil:
		return number(pick(g, g.of[writer]...))
	case c.role == key:
		return number(1 + g.IntN(g.keys))
	case c.role == partition:
		return pick(g, "x", "y")
	case c.role == moment:
		return pick(g, number(longAgo), number(farAway), number(farAway), nil)
	case g.chance(0.2):
		return nil
	case c.function != "":
		return g.valueOf(c)
	case c.typ == "STRING":
		return pick(g, "a", "b", "", "a text that is too long to stand in a fixed part")
	}
	return number(g.IntN(12) - 2)
}

// Seconds that are too old whenever a test runs, and such that are not.
const (
	longAgo = 1_000
	farAway = 2_147_480_000
)
