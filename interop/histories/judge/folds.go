package judge

import (
	"slices"
	"strings"

	"sluice/interop/casefile"
	"sluice/interop/histories/fold"
)

// folded is the image that a reader has after each commit of an answer, and what
// is wrong with the changelog that made it.
type folded struct {
	images   []map[string]string
	problems []string
}

// foldOf folds the changelog of an answer. It is nil for cases whose changelog
// need not be complete: another producer, an overwrite, a schema change.
func foldOf(c *casefile.Case, a *casefile.Answer) *folded {
	p := c.Options["changelog-producer"]
	if p != "lookup" && p != "full-compaction" {
		return nil
	}
	for _, s := range c.Steps {
		if s.Mode != "" || len(s.Alter) > 0 {
			return nil
		}
	}
	r, names := newRows(c), fieldNames(c)
	ignored := strings.Split(c.Options["changelog-producer.row-deduplicate-ignore-fields"], ",")
	f := fold.Fold{KindsKept: c.Options["merge-engine"] == "first-row"}
	out := &folded{}
	for _, commit := range a.Changelog {
		var changes []fold.Change
		for _, ch := range commit {
			changes = append(changes, fold.Change{Kind: ch.Kind, Key: c.KeyText(ch.Row), Row: r.text(blanked(ch.Row, names, ignored))})
		}
		out.problems = append(out.problems, f.Apply(changes)...)
		out.problems = append(out.problems, f.End()...)
		out.images = append(out.images, f.Rows())
	}
	if a.Error == nil && (p == "lookup" || complete(c, len(a.Changelog)-1)) {
		table := map[string]string{}
		for _, x := range a.Final {
			table[c.KeyText(x)] = r.text(blanked(x, names, ignored))
		}
		out.problems = append(out.problems, f.Equal(table)...)
	}
	return out
}

// complete tells whether after a commit everything that was written has been
// delivered, with producer full-compaction: it asked for a full compaction, of the
// only bucket that there is.
func complete(c *casefile.Case, commit int) bool {
	return commit >= 0 && c.StepOf(commit).Compact == "full" && len(c.Schema.Partition) == 0 && (c.Options["bucket"] == "" || c.Options["bucket"] == "1")
}

func fieldNames(c *casefile.Case) []string {
	var out []string
	for _, f := range c.Schema.Fields {
		name, _, _ := strings.Cut(f, " ")
		out = append(out, name)
	}
	return out
}

// blanked leaves out the columns whose changes alone are not delivered.
func blanked(x any, names, ignored []string) any {
	row, ok := x.([]any)
	if !ok {
		return x
	}
	row = slices.Clone(row)
	for i := range row {
		if i < len(names) && slices.Contains(ignored, names[i]) {
			row[i] = nil
		}
	}
	return row
}
