package generate

import (
	"maps"

	"sluice/interop/histories/model"
	"sluice/paimon"
	"sluice/paimon/rowdata"
)

// table draws options and columns.
func (g *generator) table() {
	g.engine = pick(g, "deduplicate", "deduplicate", "partial-update", "aggregation", "aggregation", "first-row")
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
	if g.bound = g.chance(0.4); g.bound {
		g.option("num-levels", 2+g.IntN(4))
	}
	if g.chance(0.3) {
		g.option("changelog-producer.row-deduplicate", true)
	}
	if g.writeOnly = g.chance(0.2); g.writeOnly {
		g.option("write-only", true)
	}
	if g.producer == "lookup" && g.chance(0.3) {
		g.option("lookup-compact", "gentle")
		if g.chance(0.7) {
			g.option("lookup-compact.max-interval", 1+g.IntN(4))
		}
	}
	if g.producer == "lookup" && g.chance(0.2) {
		g.option("lookup-wait", false)
	}
	g.keys = pick(g, 3, 8, 40)
	g.columns = []column{{name: "k", typ: "INT NOT NULL", role: key}}
	g.c.Schema.PK = []string{"k"}
	if g.parts = g.chance(0.3); g.parts {
		g.columns = append(g.columns, column{name: "p", typ: "STRING NOT NULL", role: partition})
		g.c.Schema.PK, g.c.Schema.Partition = []string{"p", "k"}, []string{"p"}
	}
	switch g.engine {
	case "deduplicate":
		g.retracts = true
		g.columns = append(g.columns, column{name: "v", typ: "STRING"}, column{name: "w", typ: "INT"})
	case "first-row":
		g.columns = append(g.columns, column{name: "v", typ: "STRING"})
	case "partial-update":
		g.partial()
	case "aggregation":
		g.aggregation()
	}
	g.filters()
	g.order()
	if g.chance(0.12) {
		g.columns = append(g.columns, column{name: "t", typ: "INT", role: moment})
		g.option("record-level.expire-time", "1 d")
		g.option("record-level.time-field", "t")
		if g.engine == "aggregation" {
			g.option("fields.t.aggregate-function", "last_value")
		}
	}
	for _, c := range g.columns {
		g.c.Schema.Fields = append(g.c.Schema.Fields, c.name+" "+c.typ)
	}
	if !g.parts && !g.writeOnly && !g.has("lookup-compact") && g.chance(0.2) {
		g.writers()
	}
}

// filters draws which rows are not taken at all.
func (g *generator) filters() {
	removes := g.has("partial-update.remove-record-on-delete") || g.has("partial-update.remove-record-on-sequence-group") ||
		g.has("aggregation.remove-record-on-delete")
	if !removes && g.chance(0.12) {
		g.option("ignore-delete", true)
		g.retracts = true
	}
	if g.chance(0.12) {
		g.option("ignore-update-before", true)
	}
}

// order draws sequence fields.
func (g *generator) order() {
	if g.engine == "first-row" || !g.chance(0.35) {
		return
	}
	g.columns = append(g.columns, column{name: "s", typ: "INT", role: named})
	g.option("sequence.field", "s")
	if g.chance(0.4) {
		g.columns = append(g.columns, column{name: "s2", typ: "INT", role: named})
		g.option("sequence.field", pick(g, "s,s2", "s2,s"))
	}
	if g.chance(0.4) {
		g.option("sequence.field.sort-order", "descending")
	}
}

func (g *generator) partial() {
	g.columns = append(g.columns, column{name: "v", typ: "STRING"}, column{name: "w", typ: "INT"})
	switch g.IntN(3) {
	case 0:
		g.option("partial-update.remove-record-on-delete", true)
		g.retracts = true
	case 1:
		g.columns[len(g.columns)-2].role, g.columns[len(g.columns)-1].role = named, named
		g.columns = append(g.columns, column{name: "g", typ: "INT", role: named})
		group := "g"
		if g.chance(0.3) {
			g.columns = append(g.columns, column{name: "h", typ: "INT", role: named})
			group = "g,h"
		}
		g.option("fields."+group+".sequence-group", "v,w")
		g.option("fields.w.aggregate-function", pick(g, "sum", "last_value", "last_non_null_value"))
		if group == "g" && g.chance(0.5) {
			g.option("partial-update.remove-record-on-sequence-group", "g")
		}
		g.retracts = true
	}
}

func (g *generator) aggregation() {
	g.columns = append(g.columns, column{name: "v", typ: "STRING", role: named}, column{name: "w", typ: "BIGINT", role: named}, column{name: "x", typ: "INT", role: named})
	g.option("fields.v.aggregate-function", pick(g, "last_value", "last_non_null_value"))
	g.option("fields.w.aggregate-function", "sum")
	g.option("fields.x.aggregate-function", pick(g, "max", "min"))
	removes := g.chance(0.3)
	silent := []string{"x"} // columns whose functions take nothing back
	if g.chance(0.6) {
		switch f := pick(g, "collect", "nested_update", "nested_update", "nested_partial_update", "rbm32", "theta_sketch", "hll_sketch", "merge_map"); f {
		case "collect":
			g.columns = append(g.columns, column{name: "y", typ: "ARRAY<INT>", role: named, function: f})
			if g.chance(0.5) {
				g.option("fields.y.distinct", true)
			}
		case "nested_update", "nested_partial_update":
			g.columns = append(g.columns, column{name: "y", typ: "ARRAY<ROW<a INT, b STRING, c INT>>", role: named, function: f})
			keyed := f == "nested_partial_update" || g.chance(0.6)
			if keyed {
				g.option("fields.y.nested-key", pick(g, "a", "a,b"))
				g.hashed = true
				delete(g.c.Options, "changelog-producer.row-deduplicate")
			} else if g.chance(0.3) {
				g.option("fields.y.count-limit", 1+g.IntN(5))
			}
			if f == "nested_partial_update" {
				silent = append(silent, "y")
			} else if keyed && g.chance(0.4) {
				g.option("fields.y.nested-sequence-field", "c")
			}
		case "merge_map":
			g.columns = append(g.columns, column{name: "y", typ: "MAP<STRING, INT>", role: named, function: f})
		default:
			g.columns = append(g.columns, column{name: "y", typ: "BYTES", role: named, function: f})
			silent = append(silent, "y")
		}
		g.option("fields.y.aggregate-function", g.columns[len(g.columns)-1].function)
	}
	if removes {
		g.option("aggregation.remove-record-on-delete", true)
		return
	}
	for _, name := range silent {
		g.option("fields."+name+".ignore-retract", true)
	}
	g.retracts = true
}

// valueOf draws a value for a function.
func (g *generator) valueOf(c column) any {
	list := func(most int, of func() any) []any {
		out := []any{}
		for range g.IntN(most + 1) {
			out = append(out, of())
		}
		return out
	}
	maybe := func(x any) any {
		if g.chance(0.15) {
			return nil
		}
		return x
	}
	switch c.function {
	case "collect":
		return list(3, func() any { return number(g.IntN(4)) })
	case "merge_map":
		return map[string]any{pick(g, "a", "b"): number(g.IntN(4)), pick(g, "c", "d"): maybe(number(g.IntN(4)))}
	case "nested_update", "nested_partial_update":
		return list(3, func() any {
			return map[string]any{"a": maybe(number(g.IntN(3))), "b": maybe(pick(g, "r", "s")), "c": maybe(number(g.IntN(5)))}
		})
	}
	var entries []uint64
	for range 1 + g.IntN(3) {
		e := uint64(1 + g.IntN(7))
		switch c.function {
		case "theta_sketch":
			e *= 0x0123_4567_89ab_cdef // below the greatest that is kept
		case "hll_sketch":
			e = (e << 26) | e*977
		}
		entries = append(entries, e)
	}
	return model.Sketch(c.function, entries...)
}

// writers gives each of two buckets a writer of its own.
func (g *generator) writers() {
	g.option("bucket", 2)
	s, err := paimon.NewSchema(paimon.SchemaSpec{Schema: g.c.Schema, Options: maps.Clone(g.c.Options)}, 0)
	if err != nil {
		panic(err) // the generator made a table that cannot be
	}
	b, err := rowdata.NewBucketer(s.BucketFunction(), s.BucketKeyTypes(), 2)
	if err != nil {
		panic(err)
	}
	keys := rowdata.NewVector(s.BucketKeyTypes()[0], 0)
	g.of = make([][]int, 2)
	for k := 1; k <= g.keys || len(g.of[0]) == 0 || len(g.of[1]) == 0; k++ {
		keys.AppendI32(int32(k))
		at := b.Bucket([]*rowdata.Vector{keys}, k-1)
		g.of[at] = append(g.of[at], k)
	}
}
