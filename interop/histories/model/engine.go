package model

import (
	"slices"
	"strings"

	"sluice/interop/casefile"
)

// record is a change of a key as it is stored. Records are never changed.
type record struct {
	key  []any
	seq  int64
	kind string
	vals []any
}

func (r *record) adds() bool { return r.kind == "+I" || r.kind == "+U" }

// group is a sequence group of partial-update.
type group struct{ sequence, protected []int }

// engine folds the records of a key.
type engine struct {
	name         string
	columns      []column
	key          []int // positions of the primary key
	groups       []group
	groupOf      []int       // of each column the group, or -1
	aggregates   []aggregate // of each column; function "" for none
	removeDelete bool        // remove-record-on-delete
	removeGroup  []int       // sequence columns of remove-record-on-sequence-group
	ignoreDelete bool
}

// merge folds records that are in merge order: the convention of lookup
// compactions, which always ask the engine (semantics section 3).
func (e *engine) merge(records []*record) (*record, error) {
	switch e.name {
	case "deduplicate":
		return records[len(records)-1], nil
	case "first-row":
		for _, r := range records {
			if !r.adds() {
				return nil, failed(casefile.MeansFirstRowRetract)
			}
		}
		return records[0], nil
	case "partial-update":
		return e.partial(records)
	}
	return e.aggregated(records)
}

// reduce is the other convention: a lone record is left as it is.
func (e *engine) reduce(records []*record) (*record, error) {
	if len(records) == 1 {
		return records[0], nil
	}
	return e.merge(records)
}

func (e *engine) fresh() []aggregate { return slices.Clone(e.aggregates) }

// aggregated is semantics section 3.5.
func (e *engine) aggregated(records []*record) (*record, error) {
	row, kind, state := make([]any, len(e.columns)), "+I", e.fresh()
	for _, r := range records {
		if e.removeDelete && r.kind == "-D" {
			row, kind = slices.Clone(r.vals), "-D"
			continue
		}
		kind = "+I"
		for i := range row {
			var err error
			if r.adds() {
				row[i], err = state[i].add(row[i], r.vals[i])
			} else {
				row[i], err = state[i].retract(row[i], r.vals[i])
			}
			if err != nil {
				return nil, err
			}
		}
	}
	last := records[len(records)-1]
	return &record{key: last.key, seq: last.seq, kind: kind, vals: row}, nil
}

// partial is semantics sections 3.3 and 3.4.
func (e *engine) partial(records []*record) (*record, error) {
	row, state := make([]any, len(e.columns)), e.fresh()
	var deleted, sawAdd, begun bool
	seq := int64(0)
	for _, r := range records {
		deleted = false
		if r.adds() {
			seq, sawAdd, begun = r.seq, true, true
			if err := e.update(row, r.vals, state); err != nil {
				return nil, err
			}
			continue
		}
		if !begun {
			begun = true
			copy(row, r.vals)
		}
		if e.ignoreDelete {
			continue
		}
		seq = r.seq
		switch {
		case len(e.groups) > 0:
			gone, err := e.retractGroups(row, r, state)
			if err != nil {
				return nil, err
			}
			if gone {
				deleted, row = true, slices.Clone(r.vals)
			}
		case e.removeDelete:
			if r.kind == "-D" {
				deleted, row = true, slices.Clone(r.vals)
			}
		default:
			return nil, failed(casefile.MeansPartialRetract)
		}
	}
	kind := "+I"
	if deleted || !sawAdd {
		kind = "-D"
	}
	return &record{key: records[0].key, seq: seq, kind: kind, vals: row}, nil
}

// update applies a record that adds.
func (e *engine) update(row, in []any, state []aggregate) error {
	for i := range row {
		g := e.groupOf[i]
		if g < 0 {
			if state[i].function != "" {
				var err error
				if row[i], err = state[i].add(row[i], in[i]); err != nil {
					return err
				}
			} else if in[i] != nil {
				row[i] = in[i]
			}
			continue
		}
		order, any := e.newer(e.groups[g], row, in)
		if !any {
			continue
		}
		var err error
		switch sequence := slices.Contains(e.groups[g].sequence, i); {
		case order && sequence:
			for _, s := range e.groups[g].sequence {
				row[s] = in[s]
			}
		case order && state[i].function != "":
			row[i], err = state[i].add(row[i], in[i])
		case order:
			row[i] = in[i]
		case !sequence && state[i].function != "":
			row[i], err = state[i].reversed(row[i], in[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// retractGroups applies a record that takes back; gone tells that the row is
// removed.
func (e *engine) retractGroups(row []any, r *record, state []aggregate) (gone bool, err error) {
	for i := range row {
		g := e.groupOf[i]
		if g < 0 {
			continue
		}
		newer, any := e.newer(e.groups[g], row, r.vals)
		if !any {
			continue
		}
		sequence := slices.Contains(e.groups[g].sequence, i)
		switch {
		case sequence && newer:
			if r.kind == "-D" && slices.Contains(e.removeGroup, i) {
				return true, nil
			}
			for _, s := range e.groups[g].sequence {
				row[s] = r.vals[s]
			}
		case sequence:
		case state[i].function != "":
			if row[i], err = state[i].retract(row[i], r.vals[i]); err != nil {
				return false, err
			}
		case newer:
			row[i] = nil
		}
	}
	return false, nil
}

// newer compares the sequence of a record with what is stored; any is false if
// the record has none.
func (e *engine) newer(g group, row, in []any) (newer, any bool) {
	order := 0
	for _, s := range g.sequence {
		any = any || in[s] != nil
		if order == 0 {
			order = compare(in[s], row[s])
		}
	}
	return order >= 0, any
}

// build reads the options of the engine.
func (e *engine) build(options map[string]string, sequence []int, wraps bool) error {
	position := func(name string) int {
		return slices.IndexFunc(e.columns, func(c column) bool { return c.name == strings.TrimSpace(name) })
	}
	positions := func(list string) (out []int) {
		for _, name := range strings.Split(list, ",") {
			out = append(out, position(name))
		}
		return out
	}
	e.name = options["merge-engine"]
	if e.name == "" {
		e.name = "deduplicate"
	}
	e.ignoreDelete = options["ignore-delete"] == "true"
	e.groups, e.removeGroup = nil, nil
	e.groupOf, e.aggregates = make([]int, len(e.columns)), make([]aggregate, len(e.columns))
	for i, c := range e.columns {
		e.groupOf[i] = -1
		prefix := "fields." + c.name + "."
		e.aggregates[i] = aggregate{
			column: c, function: e.function(i, options, sequence), wraps: wraps, delimiter: ",",
			distinct: options[prefix+"distinct"] == "true", ignoreRetract: options[prefix+"ignore-retract"] == "true",
		}
		if d, ok := options[prefix+"list-agg-delimiter"]; ok {
			e.aggregates[i].delimiter = d
		}
		if c.elem == "ROW" {
			n, err := newNested(c, prefix, options)
			if err != nil {
				return err
			}
			e.aggregates[i].nested = n
		}
	}
	for name, value := range options {
		if s, ok := strings.CutSuffix(name, ".sequence-group"); ok && strings.HasPrefix(s, "fields.") {
			g := group{sequence: positions(strings.TrimPrefix(s, "fields.")), protected: positions(value)}
			for _, i := range append(slices.Clone(g.sequence), g.protected...) {
				e.groupOf[i] = len(e.groups)
			}
			e.groups = append(e.groups, g)
		}
	}
	e.removeDelete = options["partial-update.remove-record-on-delete"] == "true" && e.name == "partial-update" ||
		options["aggregation.remove-record-on-delete"] == "true" && e.name == "aggregation"
	if s, ok := options["partial-update.remove-record-on-sequence-group"]; ok {
		e.removeGroup = positions(s)
	}
	return nil
}

// function returns the name of a column's aggregate function, "" for none.
func (e *engine) function(i int, options map[string]string, sequence []int) string {
	named := options["fields."+e.columns[i].name+".aggregate-function"]
	if named == "first_not_null_value" {
		named = "first_non_null_value"
	}
	if named == "" {
		named = options["fields.default-aggregate-function"]
	}
	key := slices.Contains(e.key, i)
	if e.name == "partial-update" {
		if key || named == "" {
			return ""
		}
		return named
	}
	switch {
	case key:
		return "primary-key"
	case slices.Contains(sequence, i):
		return "last_value"
	case named == "":
		return "last_non_null_value"
	}
	return named
}
