package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// alter applies schema changes. Stored rows are those of the new schema from then
// on: a reader casts what it reads.
func (m *Model) alter(changes []string) error {
	for _, text := range changes {
		if err := m.change(text); err != nil {
			return err
		}
	}
	m.evolved = true
	return m.build(m.options)
}

func (m *Model) change(text string) error {
	if pair, ok := strings.CutPrefix(text, "set option "); ok {
		name, value, _ := strings.Cut(pair, "=")
		m.options[name] = value
		return nil
	}
	if name, ok := strings.CutPrefix(text, "reset option "); ok {
		delete(m.options, name)
		return nil
	}
	words := strings.SplitN(text, " ", 4)
	if len(words) < 3 || words[1] != "column" {
		return &UnknownError{"alter: " + text}
	}
	rest := ""
	if len(words) == 4 {
		rest = words[3]
	}
	if words[0] == "add" {
		return m.addColumn(words[2], rest)
	}
	i := slices.IndexFunc(m.engine.columns, func(c column) bool { return c.name == words[2] })
	if i < 0 {
		return fmt.Errorf("alter: no column %s", words[2])
	}
	switch words[0] {
	case "drop":
		m.engine.columns = slices.Delete(slices.Clone(m.engine.columns), i, i+1)
		m.rewrite(func(row []any) []any { return slices.Delete(row, i, i+1) })
		return nil
	case "rename":
		m.rename(i, strings.TrimPrefix(rest, "to "))
		return nil
	case "alter":
		return m.alterColumn(i, rest)
	}
	return &UnknownError{"alter: " + text}
}

// addColumn adds a column at the end, or where the text says.
func (m *Model) addColumn(name, rest string) error {
	at := len(m.engine.columns)
	typ, after, ok := strings.Cut(rest, " AFTER ")
	if ok {
		at = 1 + slices.IndexFunc(m.engine.columns, func(c column) bool { return c.name == after })
	} else if typ, ok = strings.CutSuffix(rest, " FIRST"); ok {
		at = 0
	}
	c, err := parseColumn(name + " " + typ)
	if err != nil {
		return err
	}
	m.engine.columns = slices.Insert(slices.Clone(m.engine.columns), at, c)
	m.rewrite(func(row []any) []any { return slices.Insert(row, at, any(nil)) })
	return nil
}

// rename gives a column another name, also where options name it.
func (m *Model) rename(i int, to string) {
	from := m.engine.columns[i].name
	m.engine.columns = slices.Clone(m.engine.columns)
	m.engine.columns[i].name = to
	list := func(text string) string {
		names := strings.Split(text, ",")
		for i, n := range names {
			if strings.TrimSpace(n) == from {
				names[i] = to
			}
		}
		return strings.Join(names, ",")
	}
	options := map[string]string{}
	for k, v := range m.options {
		switch {
		case k == "sequence.field", k == "record-level.time-field", k == "partial-update.remove-record-on-sequence-group",
			k == "changelog-producer.row-deduplicate-ignore-fields":
			v = list(v)
		case strings.HasPrefix(k, "fields."):
			name, option, _ := strings.Cut(strings.TrimPrefix(k, "fields."), ".")
			if k = "fields." + list(name) + "." + option; option == "sequence-group" {
				v = list(v)
			}
		}
		options[k] = v
	}
	m.options = options
}

// alterColumn changes what a column is.
func (m *Model) alterColumn(i int, what string) error {
	m.engine.columns = slices.Clone(m.engine.columns)
	c := &m.engine.columns[i]
	typ, isType := strings.CutPrefix(what, "type ")
	switch {
	case strings.HasPrefix(what, "comment "):
		return nil
	case what == "nullable":
		c.notNull, c.text = false, strings.TrimSuffix(c.text, " NOT NULL")
		return nil
	case !isType:
		return &UnknownError{"alter column: " + what}
	}
	if c.notNull {
		typ += " NOT NULL"
	}
	wide, err := parseColumn(c.name + " " + typ)
	if err != nil {
		return err
	}
	cast, ok := map[[2]string]func(any) any{
		{"INT", "BIGINT"}: func(v any) any { return v },
		{"INT", "DOUBLE"}: func(v any) any { return float64(v.(int64)) },
		{"INT", "STRING"}: func(v any) any { return strconv.FormatInt(v.(int64), 10) },
	}[[2]string{c.root, wide.root}]
	if !ok {
		return &UnknownError{fmt.Sprintf("cast of %s to %s", c.root, wide.root)}
	}
	*c = wide
	m.rewrite(func(row []any) []any {
		if row[i] != nil {
			row[i] = cast(row[i])
		}
		return row
	})
	return nil
}

// rewrite changes all stored rows; change may change the row that it is given.
func (m *Model) rewrite(change func(row []any) []any) {
	for at, states := range m.buckets {
		for i, b := range states {
			next := &bucket{next: b.next, waited: b.waited}
			for _, r := range b.runs {
				w := run{level: r.level}
				for _, k := range r.records {
					clone := *k
					clone.vals = change(slices.Clone(k.vals))
					w.records = append(w.records, &clone)
				}
				next.runs = append(next.runs, w)
			}
			m.buckets[at][i] = next
		}
	}
}
