//go:build interop

package paimonjava

import "strconv"

// known is what the model of a table knows of a key.
type known struct {
	vals   []any // columns beside the key; nil: there is no row
	newest int   // greatest sequence that a change of the key had
	gone   int   // turn in which the row was removed last
}

// mergeEngine is a merge engine written as plainly as its documentation has it: a
// change at a time, applied to the row that is there. The changes that it draws
// mean the same whatever compactions merge first, and however long tombstones
// live, for both hang on the sizes of files: nobody takes back what is not there,
// and where a tombstone's values or sequence would count, the next row brings all
// columns and a greater sequence.
type mergeEngine struct {
	name    string
	fields  []string // beside the key
	options map[string]string
	draw    func(r *values, k *known, turn int) []change // rows without the key
	apply   func(k *known, kind string, in []any)
}

func adds(kind string) bool { return kind == "+I" || kind == "+U" }

// mergeEngines are those that the turns use, some with several sets of options.
func mergeEngines() map[string]mergeEngine {
	out := map[string]mergeEngine{}
	for _, e := range []mergeEngine{
		{name: "deduplicate", fields: []string{"v STRING", "n BIGINT"}, draw: drawLast, apply: applyLast},
		{
			name: "deduplicate by sequence", fields: []string{"g INT", "v STRING"},
			options: map[string]string{"sequence.field": "g"}, draw: drawSequence, apply: applySequence,
		},
		{
			name: "partial-update", fields: partialFields, draw: drawPartial(false), apply: applyPartial(false),
			options: map[string]string{"fields.g.sequence-group": "a,b"},
		},
		{
			name: "partial-update with removal", fields: partialFields, draw: drawPartial(true), apply: applyPartial(true),
			options: map[string]string{"fields.g.sequence-group": "a,b", "partial-update.remove-record-on-sequence-group": "g"},
		},
		{
			name: "aggregation", fields: sumFields, draw: drawSum(false), apply: applySum(false),
			options: sumOptions("fields.most.ignore-retract", "fields.names.ignore-retract"),
		},
		{
			name: "aggregation with removal", fields: sumFields, draw: drawSum(true), apply: applySum(true),
			options: sumOptions("aggregation.remove-record-on-delete"),
		},
		{
			name: "first-row", fields: []string{"v STRING", "n BIGINT"}, draw: drawFirst, apply: applyFirst,
			options: map[string]string{"ignore-delete": "true"},
		},
	} {
		out[e.name] = e
	}
	return out
}

func (r *values) word() any {
	return pick[any](r, "a", "bc", "def", "x"+strconv.Itoa(r.IntN(1000)), nil)
}

func (r *values) small() any {
	if r.chance(6) {
		return nil
	}
	return r.IntN(2000) - 1000
}

// drawLast draws for the engine that keeps the last row: writes, updates in two
// parts, deletes with the old row or another one, and deletes of absent keys.
func drawLast(r *values, k *known, _ int) []change {
	next := []any{r.word(), r.small()}
	switch {
	case k.vals == nil && r.chance(8):
		return []change{{pick(r, "-D", "-U"), next}}
	case k.vals == nil:
		return []change{{pick(r, "+I", "+U"), next}}
	case r.chance(4):
		return []change{{"-D", pick(r, k.vals, next)}}
	case r.chance(5):
		return []change{{"-U", k.vals}, {"+U", next}}
	}
	return []change{{pick(r, "+I", "+U"), pick(r, next, next, next, k.vals)}}
}

func applyLast(k *known, kind string, in []any) {
	if k.vals = nil; adds(kind) {
		k.vals = in
	}
}

// drawSequence draws rows that come late, too: they count for nothing.
func drawSequence(r *values, k *known, _ int) []change {
	g := k.newest + 1 + r.IntN(3)
	if k.vals != nil {
		g = max(0, k.vals[0].(int)+r.IntN(6)-2)
	}
	kind := pick(r, "+I", "+U", "+U", "-D")
	return []change{{kind, []any{g, r.word()}}}
}

func applySequence(k *known, kind string, in []any) {
	g := in[0].(int)
	k.newest = max(k.newest, g)
	if k.vals == nil || g >= k.vals[0].(int) {
		applyLast(k, kind, in)
	}
}

// partialFields: g orders a and b; c is the last that is not NULL.
var partialFields = []string{"g INT", "a STRING", "b BIGINT", "c STRING"}

func drawPartial(removal bool) func(r *values, k *known, turn int) []change {
	return func(r *values, k *known, _ int) []change {
		late := change{pick(r, "+I", "+U"), []any{nil, nil, nil, r.word()}}
		if k.vals == nil {
			full := change{pick(r, "+I", "+U"), []any{k.newest + 1 + r.IntN(3), "full", r.IntN(100), "row"}}
			if k.newest == 0 && r.chance(3) {
				return []change{late}
			}
			return []change{full}
		}
		stored, _ := k.vals[0].(int)
		g := max(1, stored+r.IntN(6)-2)
		switch {
		case r.chance(4):
			kind := pick(r, "-D", "-U")
			if removal { // an old one would remove what came with it, if merged alone
				kind, g = "-D", max(g, stored)
			}
			return []change{{kind, []any{g, r.word(), r.small(), nil}}}
		case r.chance(3):
			return []change{late}
		}
		return []change{{pick(r, "+I", "+U"), []any{g, r.word(), r.small(), r.word()}}}
	}
}

func applyPartial(removal bool) func(k *known, kind string, in []any) {
	return func(k *known, kind string, in []any) {
		next := make([]any, len(partialFields))
		copy(next, k.vals)
		newer := false
		if in[0] != nil {
			g := in[0].(int)
			k.newest = max(k.newest, g)
			newer = next[0] == nil || g >= next[0].(int)
		}
		switch {
		case adds(kind):
			if newer {
				copy(next, in[:3])
			}
			if in[3] != nil {
				next[3] = in[3]
			}
		case newer && removal:
			k.vals = nil
			return
		case newer:
			next[0], next[1], next[2] = in[0], nil, nil
		}
		k.vals = next
	}
}

var sumFields = []string{"total BIGINT", "most INT", "latest STRING", "names STRING"}

func sumOptions(on ...string) map[string]string {
	out := map[string]string{
		"fields.total.aggregate-function": "sum", "fields.most.aggregate-function": "max",
		"fields.latest.aggregate-function": "last_value", "fields.names.aggregate-function": "listagg",
	}
	for _, name := range on {
		out[name] = "true"
	}
	return out
}

// drawSum draws deletes that remove, which have no values and are the last change
// of their key in a turn, or retractions.
func drawSum(removal bool) func(r *values, k *known, turn int) []change {
	return func(r *values, k *known, turn int) []change {
		next := []any{r.small(), r.small(), r.word(), r.word()}
		switch {
		case k.vals == nil && k.gone == turn && turn > 0:
			return nil
		case k.vals != nil && removal && r.chance(5):
			return []change{{"-D", make([]any, len(sumFields))}}
		case k.vals != nil && !removal && r.chance(4):
			return []change{{pick(r, "-D", "-U"), next}}
		}
		return []change{{pick(r, "+I", "+U"), next}}
	}
}

func applySum(removal bool) func(k *known, kind string, in []any) {
	return func(k *known, kind string, in []any) {
		if !adds(kind) && removal {
			k.vals = nil
			return
		}
		sign := 1
		if !adds(kind) {
			sign = -1
		}
		next := make([]any, len(sumFields))
		copy(next, k.vals)
		if in[0] != nil {
			sum, _ := next[0].(int)
			next[0] = sum + sign*in[0].(int)
		}
		if next[2] = nil; adds(kind) {
			next[2] = in[2]
			if most, ok := next[1].(int); in[1] != nil && (!ok || in[1].(int) > most) {
				next[1] = in[1]
			}
			switch names, ok := next[3].(string); {
			case in[3] == nil:
			case ok:
				next[3] = names + "," + in[3].(string)
			default:
				next[3] = in[3]
			}
		}
		k.vals = next
	}
}

// drawFirst draws rows of which all but the first of a key count for nothing, and
// deletes that are ignored.
func drawFirst(r *values, _ *known, _ int) []change {
	return []change{{pick(r, "+I", "+I", "+U", "-D"), []any{r.word(), r.small()}}}
}

func applyFirst(k *known, kind string, in []any) {
	if k.vals == nil && adds(kind) {
		k.vals = in
	}
}
