package judge

import (
	"fmt"
	"slices"
	"strings"

	"sluice/interop/casefile"
	"sluice/interop/histories/model"
)

// Status is how a comparison ended.
type Status int

// The ways it can end.
const (
	Passed    Status = iota
	Explained        // the answers differ, as a rule says they may or must
	Failed
)

// Rule explains a difference. All rules have in common that the model, told what
// the other engine gets wrong, finds its answer possible, and ours without that.
type Rule string

// The rules.
const (
	// MovedRaw: the other engine stored a lone record as it came while it
	// delivered the merged one; without that fault its answer is impossible.
	MovedRaw Rule = "the release stored another row than it delivered"
	// Remerged: it merged a stored record again, alone, and that changed the row.
	Remerged Rule = "the release merged a stored row again and changed it"
	// Descending: its write buffer sorted ascending in spite of the option.
	Descending Rule = "the release sorts its write buffer ascending"
	// Wraps: its sum or product wrapped around, or may have, where we fail.
	Wraps Rule = "the release lets integers wrap around"
	// Sooner: with producer full-compaction a compaction that nobody asked for
	// reached the highest level in one engine sooner than in the other. The rows at
	// the end are equal, and so is what the changelogs fold to at each commit that
	// asked for a full compaction.
	Sooner Rule = "an unasked compaction reached the highest level at another commit"
	// Tombstone: a tombstone lived longer in one engine than in the other. All keys
	// that differ were deleted by an earlier row of the history, and the table has
	// a sequence field, or an engine to which a tombstone's values matter.
	Tombstone Rule = "a tombstone lived longer"
	// Grouping: partial-update or aggregation, and unasked compactions merged other
	// runs first. The rows that differ have keys with a retract or with sequence
	// fields: without those the order of merging cannot show.
	Grouping Rule = "unasked compactions merged other runs first"
)

// Rules lists them.
func Rules() []Rule {
	return []Rule{MovedRaw, Remerged, Descending, Wraps, Sooner, Tombstone, Grouping}
}

// OfSizes tells whether a difference that the rule explains hangs on the sizes of
// files, and not on a fault of the other engine.
func (r Rule) OfSizes() bool { return r == Sooner || r == Tombstone || r == Grouping }

// SizesMaxPercent is the share of such histories above which something must be
// wrong with the rules or with us.
const SizesMaxPercent = 3

// Outcome of a comparison.
type Outcome struct {
	Status Status
	Rule   Rule   // if Explained
	Detail string // the first differences; the reason of a failure
}

// Compare compares our answer to a case with that of the release.
func Compare(c *casefile.Case, theirs, ours *casefile.Answer) Outcome {
	if len(ours.Folds) > 0 {
		return Outcome{Status: Failed, Detail: "our changelog does not fold: " + strings.Join(ours.Folds, "; ")}
	}
	diffs := compare(c, theirs, ours)
	if f := foldOf(c, ours); f != nil && len(f.problems) > 0 {
		return Outcome{Status: Failed, Detail: "our changelog does not fold: " + strings.Join(f.problems, "; ")}
	}
	if len(diffs) == 0 {
		return Outcome{}
	}
	rule, reason := explain(c, theirs, ours, diffs)
	detail := render(diffs)
	if rule == "" {
		return Outcome{Status: Failed, Detail: detail + "\n  not explained: " + reason}
	}
	return Outcome{Status: Explained, Rule: rule, Detail: detail}
}

func render(diffs []difference) string {
	var b strings.Builder
	for i, d := range diffs {
		if i == 4 {
			fmt.Fprintf(&b, "\n  … %d differences in all", len(diffs))
			break
		}
		if i > 0 {
			b.WriteString("\n  ")
		}
		b.WriteString(d.text)
	}
	return b.String()
}

// explain finds the rule for a difference, or says why there is none.
func explain(c *casefile.Case, theirs, ours *casefile.Answer, diffs []difference) (Rule, string) {
	if why := refused(c, ours, model.Options{}); why != "" {
		return "", "the model of ours: " + why
	}
	if why := refused(c, theirs, model.Release()); why != "" {
		return "", "the model of the release: " + why
	}
	for _, q := range []struct {
		rule    Rule
		without func(*model.Options)
	}{
		{MovedRaw, func(o *model.Options) { o.MovesRaw = false }},
		{Remerged, func(o *model.Options) { o.Remerges = false }},
		{Descending, func(o *model.Options) { o.BufferAscending = false }},
		{Wraps, func(o *model.Options) { o.SumWraps = false }},
	} {
		o := model.Release()
		q.without(&o)
		if refused(c, theirs, o) != "" {
			return q.rule, ""
		}
	}
	if wraps(c, theirs, ours, diffs) {
		return Wraps, ""
	}
	return sizes(c, theirs, ours, diffs)
}

// wraps tells whether all that differs is that ours failed with an overflow, at a
// commit where theirs could have come to one too. (What wrapped need not show: a
// later retraction may undo it, or a delete.)
func wraps(c *casefile.Case, theirs, ours *casefile.Answer, diffs []difference) bool {
	if ours.Error == nil || theirs.Error != nil || casefile.Meaning(ours.Error.Message) != casefile.MeansOverflow {
		return false
	}
	made := len(ours.Changelog)
	if made >= len(theirs.Changelog) || slices.ContainsFunc(diffs, func(d difference) bool { return d.commit > 0 && d.commit <= made }) {
		return false
	}
	failing := *theirs
	failing.Changelog, failing.Error = theirs.Changelog[:made], ours.Error
	o := model.Release()
	o.SumWraps = false
	return refused(c, &failing, o) == ""
}

// refused returns why an answer is impossible, "" if it is not.
func refused(c *casefile.Case, a *casefile.Answer, o model.Options) string {
	v, err := model.Judge(c, a, o)
	if err != nil {
		return err.Error()
	}
	return v.Fault
}

// sizes decides about differences that hang on the sizes of files: both answers
// are possible by the same rules.
func sizes(c *casefile.Case, theirs, ours *casefile.Answer, diffs []difference) (Rule, string) {
	keys := differing(c, theirs, ours)
	switch {
	case theirs.Error != nil || ours.Error != nil:
		return "", "there is an error, and sizes do not explain it"
	case c.Options["changelog-producer"] == "full-compaction" && sooner(c, theirs, ours, diffs):
		return Sooner, ""
	case mattersDeleted(c) && all(keys, retracted(c)):
		return Tombstone, ""
	case buildsValues(c) && (c.Options["sequence.field"] != "" || all(keys, retracted(c))):
		return Grouping, ""
	}
	return "", "both answers are possible with other sizes of files, but no rule says that they may differ here"
}

func sooner(c *casefile.Case, theirs, ours *casefile.Answer, diffs []difference) bool {
	if slices.ContainsFunc(diffs, func(d difference) bool { return d.commit == 0 }) {
		return false
	}
	t, o := foldOf(c, theirs), foldOf(c, ours)
	if t == nil || o == nil {
		return true // an overwrite or a schema change: the rows at the end must do
	}
	for i := range t.images {
		if complete(c, i) && !sameImage(t.images[i], o.images[i]) {
			return false
		}
	}
	return true
}

func sameImage(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if v, ok := b[k]; !ok || v != a[k] {
			return false
		}
	}
	return true
}

// mattersDeleted tells whether what a deleted key held can come back.
func mattersDeleted(c *casefile.Case) bool {
	return c.Options["sequence.field"] != "" || buildsValues(c)
}

func buildsValues(c *casefile.Case) bool {
	e := c.Options["merge-engine"]
	return e == "partial-update" || e == "aggregation"
}

// retracted returns the keys that a history takes back, and when first.
func retracted(c *casefile.Case) map[string]int {
	out := map[string]int{}
	for i, commit := range c.Commits {
		for _, r := range commit {
			if strings.HasPrefix(r.Kind, "-") {
				k := c.KeyText([]any(r.Row))
				if _, ok := out[k]; !ok {
					out[k] = i + 1
				}
			}
		}
	}
	return out
}

// all tells whether each key that differs was taken back before, or in the very
// commit where it first differs.
func all(keys, retracted map[string]int) bool {
	for k, at := range keys {
		if was, ok := retracted[k]; !ok || at > 0 && was > at {
			return false
		}
	}
	return len(keys) > 0
}

// differing returns the keys whose changes or rows differ, and the first commit
// where they do; 0: only at the end.
func differing(c *casefile.Case, a, b *casefile.Answer) map[string]int {
	out, r := map[string]int{}, newRows(c)
	for i := range min(len(a.Changelog), len(b.Changelog)) {
		x, y := perKey(c, r, a.Changelog[i]), perKey(c, r, b.Changelog[i])
		for _, k := range union(x, y) {
			if _, known := out[k]; !known && !slices.Equal(x[k], y[k]) {
				out[k] = i + 1
			}
		}
	}
	last := func(a *casefile.Answer) map[string][]string {
		m := map[string][]string{}
		for _, x := range a.Final {
			k := c.KeyText(x)
			m[k] = append(m[k], r.text(x))
		}
		return m
	}
	x, y := last(a), last(b)
	for _, k := range union(x, y) {
		if _, known := out[k]; !known && !slices.Equal(x[k], y[k]) {
			out[k] = 0
		}
	}
	return out
}

func perKey(c *casefile.Case, r *rows, changes []casefile.Change) map[string][]string {
	out := map[string][]string{}
	for _, ch := range changes {
		k := c.KeyText(ch.Row)
		out[k] = append(out[k], ch.Kind+r.text(ch.Row))
	}
	return out
}
