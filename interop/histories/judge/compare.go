package judge

import (
	"fmt"
	"slices"
	"strings"

	"sluice/interop/casefile"
)

// difference is a place where two answers part.
type difference struct {
	commit int // from 1; 0: the rows at the end
	text   string
}

// compare returns all differences of two answers to a case.
func compare(c *casefile.Case, want, got *casefile.Answer) (out []difference) {
	add := func(commit int, format string, args ...any) {
		out = append(out, difference{commit, fmt.Sprintf(format, args...)})
	}
	if w, g := failure(want), failure(got); w != g {
		add(0, "error: want %s, got %s", w, g)
	}
	r := newRows(c)
	for i := range max(len(want.Changelog), len(got.Changelog)) {
		if i >= len(want.Changelog) || i >= len(got.Changelog) {
			add(i+1, "answered %d commits, want %d", len(got.Changelog), len(want.Changelog))
			break
		}
		w, g := r.byBucket(want.Changelog[i]), r.byBucket(got.Changelog[i])
		for _, at := range union(w, g) {
			if !slices.Equal(w[at], g[at]) {
				add(i+1, "changelog of commit %d%s: want %s, got %s", i+1, at, list(w[at]), list(g[at]))
			}
		}
	}
	if want.Error == nil && got.Error == nil {
		w, g := r.set(want.Final), r.set(got.Final)
		if !slices.Equal(w, g) {
			add(0, "final rows: want %s, got %s", list(without(w, g)), list(without(g, w)))
		}
	}
	return out
}

func failure(a *casefile.Answer) string {
	if a.Error == nil {
		return "none"
	}
	return "at " + a.Error.At + ": " + casefile.Meaning(a.Error.Message+" "+a.Error.Chain)
}

// rows renders rows so that equal ones have equal texts: numbers by value, maps as
// sets, arrays that collect builds as multisets.
type rows struct{ collected []int }

func newRows(c *casefile.Case) *rows {
	r := &rows{}
	for i, f := range c.Schema.Fields {
		name, _, _ := strings.Cut(f, " ")
		if c.Options["fields."+name+".aggregate-function"] == "collect" {
			r.collected = append(r.collected, i)
		}
	}
	return r
}

func (r *rows) text(x any) string {
	row, ok := x.([]any)
	if !ok {
		return casefile.Canonical(x)
	}
	for _, i := range r.collected {
		if list, ok := row[i].([]any); ok {
			row, list = slices.Clone(row), slices.Clone(list)
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(casefile.Canonical(a), casefile.Canonical(b)) })
			row[i] = list
		}
	}
	return casefile.Canonical(row)
}

func (r *rows) byBucket(changes []casefile.Change) map[string][]string {
	out := map[string][]string{}
	for _, c := range changes {
		at := ""
		if c.Partition != "" || c.Bucket != 0 {
			at = fmt.Sprintf(" in %s bucket %d", c.Partition, c.Bucket)
		}
		out[at] = append(out[at], c.Kind+r.text(c.Row))
	}
	return out
}

func (r *rows) set(list []any) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = r.text(list[i])
	}
	slices.Sort(out)
	return out
}

func union(a, b map[string][]string) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// without returns what a has and b has not; both are sorted.
func without(a, b []string) (out []string) {
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); !ok {
			out = append(out, x)
		}
	}
	return out
}

func list(lines []string) string {
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, " ")
}
