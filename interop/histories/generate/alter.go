package generate

import (
	"fmt"
	"slices"
)

// alter draws a schema change, or two.
func (g *generator) alter() []string {
	out := []string{g.change()}
	if g.chance(0.3) {
		out = append(out, g.change())
	}
	return out
}

func (g *generator) change() string {
	switch g.IntN(7) {
	case 0:
		if i, ok := g.column(func(c column) bool { return c.role == free }); ok && g.engine != "first-row" {
			name := g.columns[i].name
			g.dropped = append(g.dropped, name)
			g.columns = slices.Delete(g.columns, i, i+1)
			return "drop column " + name
		}
	case 1:
		if i, ok := g.column(func(c column) bool { return c.role == free || c.role == named && c.function == "" }); ok {
			from := g.columns[i].name
			g.columns[i].name = g.newName()
			return fmt.Sprintf("rename column %s to %s", from, g.columns[i].name)
		}
	case 2:
		if i, ok := g.column(func(c column) bool { return c.typ == "INT" && (c.role == free || c.role == named) }); ok {
			to := "BIGINT"
			if g.columns[i].role == free {
				to = pick(g, "BIGINT", "DOUBLE", "STRING")
			}
			g.columns[i].typ = to
			return fmt.Sprintf("alter column %s type %s", g.columns[i].name, to)
		}
	case 3:
		i, _ := g.column(func(column) bool { return true })
		return fmt.Sprintf("alter column %s comment 'of some use'", g.columns[i].name)
	case 4:
		switch {
		case g.bound && g.chance(0.3):
			return fmt.Sprintf("set option num-levels=%d", 2+g.IntN(5))
		case g.chance(0.4):
			return fmt.Sprintf("set option num-sorted-run.compaction-trigger=%d", 2+g.IntN(3))
		case !g.writeOnly && g.chance(0.3):
			g.idle = !g.idle
			return fmt.Sprintf("set option write-only=%t", g.idle)
		case g.producer == "lookup" && g.of == nil && g.chance(0.4):
			return "set option lookup-compact=" + pick(g, "gentle", "radical")
		case g.hashed:
			return "set option target-file-size=64mb"
		}
		return "set option changelog-producer.row-deduplicate=" + pick(g, "true", "false")
	}
	c := column{name: g.newName(), typ: pick(g, "INT", "STRING", "BIGINT")}
	text := "add column " + c.name + " " + c.typ
	at := len(g.columns)
	switch g.IntN(4) {
	case 0:
		text, at = text+" FIRST", 0
	case 1:
		at = 1 + g.IntN(len(g.columns))
		text += " AFTER " + g.columns[at-1].name
	}
	g.columns = slices.Insert(g.columns, at, c)
	return text
}

// column returns a random one of those that fit.
func (g *generator) column(fits func(column) bool) (int, bool) {
	var all []int
	for i, c := range g.columns {
		if fits(c) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return pick(g, all...), true
}

// newName is a name that no column has; one that there was comes again sometimes.
func (g *generator) newName() string {
	if n := len(g.dropped); n > 0 && g.chance(0.5) {
		name := g.dropped[n-1]
		g.dropped = g.dropped[:n-1]
		return name
	}
	g.fresh++
	return fmt.Sprintf("z%d", g.fresh)
}
