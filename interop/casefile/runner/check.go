package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/interop/casefile"
)

// Status is how a case ended.
type Status int

// The ways a case can end.
const (
	Passed Status = iota
	Failed
	Skipped // needs a part that is not built; Detail names it
)

// Result of a case.
type Result struct {
	Status Status
	Detail string
}

// deletionVectors begin the names of the cases that write deletion vectors, which
// comes later; some others that begin so are refused at create.
const deletionVectors = "dv_"

// Run runs a case and compares what comes of it with what the case expects.
func (e *Env) Run(ctx context.Context, c *casefile.Case, o Options) Result {
	if strings.HasPrefix(c.Name, deletionVectors) && c.Options["deletion-vectors.enabled"] == "true" && c.Error == nil {
		return Result{Skipped, "writing deletion vectors"}
	}
	a, err := e.Answer(ctx, c, o)
	var unbuilt *UnbuiltError
	switch {
	case errors.As(err, &unbuilt):
		return Result{Skipped, unbuilt.What}
	case err != nil:
		return Result{Failed, err.Error()}
	}
	if d := Compare(c, a, !o.Straight); d != "" {
		return Result{Failed, d}
	}
	return Result{}
}

// Compare compares an answer with what a case expects, and says where they part;
// "" if nowhere. kinds: kinds of snapshots count too, and reads between snapshots.
func Compare(c *casefile.Case, a *casefile.Answer, kinds bool) string {
	if len(a.Folds) > 0 {
		return "the changelog does not fold: " + strings.Join(a.Folds, "; ")
	}
	if d := compareError(c, a); d != "" {
		return d
	}
	for i := range a.Changelog {
		want, err := casefile.ChangeLines(at(c.Changelog, i))
		if err != nil {
			return err.Error()
		}
		if d := casefile.Differ(fmt.Sprintf("changelog of commit %d", i+1), want, lines(a.Changelog[i], casefile.Placed(at(c.Changelog, i))), c.Order == "any"); d != "" {
			return d
		}
		if kinds && i < len(c.Kinds) {
			if d := casefile.Differ(fmt.Sprintf("snapshots of commit %d", i+1), c.Kinds[i], a.Kinds[i], false); d != "" {
				return d
			}
		}
	}
	if a.Error != nil {
		return ""
	}
	if len(a.Changelog) != len(c.Commits) {
		return fmt.Sprintf("%d of %d commits were made", len(a.Changelog), len(c.Commits))
	}
	return compareEnd(c, a, kinds)
}

func compareEnd(c *casefile.Case, a *casefile.Answer, reads bool) string {
	var want, got []string
	for _, row := range c.Final {
		text, err := casefile.CanonicalAny(row)
		if err != nil {
			return err.Error()
		}
		want = append(want, text)
	}
	for _, row := range a.Final {
		got = append(got, casefile.Canonical(row))
	}
	if d := casefile.Differ("final rows", want, got, true); d != "" {
		return d
	}
	for i, in := range c.Reads {
		if !reads {
			break
		}
		want, err := casefile.ChangeLines(in.Rows)
		if err != nil {
			return err.Error()
		}
		if d := casefile.Differ(fmt.Sprintf("changes between %v", in.Between), want, lines(a.Reads[i], false), in.Order == "any"); d != "" {
			return d
		}
	}
	if c.Sequence != nil && !slices.EqualFunc(c.Sequence, a.Sequence, slices.Equal[[]int64]) {
		return fmt.Sprintf("sequence numbers of the changelog: expected %v, got %v", c.Sequence, a.Sequence)
	}
	return ""
}

// compareError compares how the engine failed with how it must.
func compareError(c *casefile.Case, a *casefile.Answer) string {
	switch {
	case c.Error == nil && a.Error == nil:
		return ""
	case c.Error == nil:
		return fmt.Sprintf("failed at %s: %s", a.Error.At, a.Error.Message)
	}
	text, at := c.Error.Contains+c.Error.Text, fmt.Sprint(c.Error.At)
	switch {
	case a.Error == nil:
		return fmt.Sprintf("%s: expected an error with %q, got none", at, text)
	// Some settings are refused when the table is made, or at its first write.
	case a.Error.At != at && (at != "1" || a.Error.At != "create"):
		return fmt.Sprintf("expected an error at %s, got one at %s: %s", at, a.Error.At, a.Error.Message)
	case !strings.Contains(a.Error.Message, text) && casefile.Meaning(a.Error.Message) != casefile.Meaning(text):
		return fmt.Sprintf("%s: expected an error with %q, got: %s", at, text, a.Error.Message)
	}
	return ""
}

func lines(changes []casefile.Change, placed bool) []string {
	var out []string
	for _, c := range changes {
		if placed {
			out = append(out, c.Placed())
		} else {
			out = append(out, c.Text())
		}
	}
	return out
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}
