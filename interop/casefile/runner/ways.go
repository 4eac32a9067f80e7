package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"sluice/interop/casefile"
	"sluice/interop/histories/model"
)

// Ways is how the rows of a case came out when they were written in three ways: all
// in one commit, a commit each, and a full compaction after each.
type Ways int

// The outcomes.
const (
	// WaysSame: the same rows at the end, and a stream that folds to them.
	WaysSame Ways = iota
	// WaysCut: the specification itself makes the cut into commits matter, as the
	// model of the table says; each way came out as it must.
	WaysCut
	// WaysUnknown: as WaysCut, but the model does not know the table, so that
	// nobody says whether the rows may differ. The stream folds to them.
	WaysUnknown
	// WaysSenseless: the case is about more than rows, or has to fail.
	WaysSenseless
	// WaysFailed: something is wrong.
	WaysFailed
)

func (w Ways) String() string {
	return [...]string{"the same", "the cut matters", "not known to the model", "makes no sense", "failed"}[w]
}

// ThreeWays writes the rows of a case in three ways and compares the rows at the
// end, and the last image of each key in a complete stream. The text says what is
// wrong.
func (e *Env) ThreeWays(ctx context.Context, c *casefile.Case, o Options) (Ways, string) {
	if !threeWays(c) {
		return WaysSenseless, ""
	}
	want, outcome, err := played(c)
	if err != nil {
		return WaysFailed, err.Error()
	}
	equal := true
	for _, w := range ways(c) {
		got, err := e.way(ctx, w.c, o, outcome != WaysUnknown)
		if err != nil {
			return WaysFailed, w.name + ": " + err.Error()
		}
		if outcome == WaysSame {
			if d := casefile.Differ("final rows", want, got, false); d != "" {
				return WaysFailed, w.name + ": " + d
			}
		}
		equal, want = equal && (want == nil || slices.Equal(want, got)), got
	}
	if outcome == WaysUnknown && equal {
		return WaysSame, ""
	}
	return outcome, ""
}

// way writes a case in one way and returns the rows at the end.
func (e *Env) way(ctx context.Context, c *casefile.Case, o Options, known bool) ([]string, error) {
	a, err := e.Answer(ctx, c, o)
	switch {
	case err != nil:
		return nil, err
	case a.Error != nil:
		return nil, fmt.Errorf("failed at %s: %s", a.Error.At, a.Error.Message)
	case len(a.Folds) > 0:
		return nil, fmt.Errorf("the changelog does not fold: %s", strings.Join(a.Folds, "; "))
	}
	if known {
		v, err := model.Judge(c, a, model.Options{})
		if err != nil {
			return nil, err
		}
		if v.Fault != "" {
			return nil, errors.New(v.Fault)
		}
	}
	final := rowsOf(a.Final)
	if streams(c) {
		if d := casefile.Differ("last images in the stream", final, lastImages(c, a), false); d != "" {
			return nil, errors.New(d)
		}
	}
	return final, nil
}

// threeWays tells whether writing a case in other commits makes sense: rows alone
// decide, and nothing goes wrong.
func threeWays(c *casefile.Case) bool {
	if c.Error != nil || c.Filler > 0 || c.Options["deletion-vectors.enabled"] == "true" || c.Options["write-only"] == "true" {
		return false
	}
	return len(c.Schema.PK) > 0 && !slices.ContainsFunc(c.Steps, func(s casefile.Step) bool {
		return s.Mode != "" || len(s.Alter) > 0 || len(s.Dynamic) > 0
	})
}

type way struct {
	name string
	c    *casefile.Case
}

// ways are the three ways to write the rows of a case.
func ways(c *casefile.Case) []way {
	all, each := []casefile.Row{}, [][]casefile.Row{}
	for _, commit := range c.Commits {
		for _, r := range commit {
			all, each = append(all, r), append(each, []casefile.Row{r})
		}
	}
	with := func(commits [][]casefile.Row, compact string) *casefile.Case {
		w := *c
		w.Commits, w.Steps, w.Order = commits, nil, "any"
		for i := range commits {
			s := casefile.Step{Compact: compact}
			if i == len(commits)-1 {
				s.Compact = "full" // so that the stream of every producer is complete
			}
			w.Steps = append(w.Steps, s)
		}
		return &w
	}
	return []way{
		{"one commit", with([][]casefile.Row{all}, "")},
		{"a commit each", with(each, "")},
		{"compacted each", with(each, "full")},
	}
}

// streams tells whether the changelog of a table is complete at the end: a full
// compaction concerns the buckets of its commit alone.
func streams(c *casefile.Case) bool {
	single := len(c.Schema.Partition) == 0 && (c.Options["bucket"] == "" || c.Options["bucket"] == "1")
	p := c.Options["changelog-producer"]
	return (p == "lookup" || p == "full-compaction" && single) && c.Options["changelog-producer.row-deduplicate-ignore-fields"] == "" &&
		c.Options["record-level.expire-time"] == "" && (c.Options["lookup-compact"] != "gentle" || single)
}

// plays is how often each way is played, with other sizes of files each time.
const plays = 6

// played is what the model has at the end, if that does not hang on the way, nor on
// the sizes of files.
func played(c *casefile.Case) ([]string, Ways, error) {
	random := rand.New(rand.NewPCG(1, 2))
	var want []string
	same := true
	for _, w := range ways(c) {
		for range plays {
			a, err := model.Play(w.c, model.Options{}, random.IntN)
			var unknown *model.UnknownError
			if errors.As(err, &unknown) || err == nil && a.Error != nil {
				return nil, WaysUnknown, nil // three ways when one fails are not known either
			}
			if err != nil {
				return nil, WaysFailed, err
			}
			got := rowsOf(a.Final)
			same = same && (want == nil || slices.Equal(want, got))
			want = got
		}
	}
	if !same {
		return nil, WaysCut, nil
	}
	return want, WaysSame, nil
}

func rowsOf(final []any) []string {
	out := []string{}
	for _, row := range final {
		out = append(out, casefile.Canonical(row))
	}
	slices.Sort(out)
	return out
}

// lastImages are the rows that a reader has after all changes.
func lastImages(c *casefile.Case, a *casefile.Answer) []string {
	rows := map[string]string{}
	for _, commit := range a.Changelog {
		for _, ch := range commit {
			k := c.KeyText(ch.Row)
			if ch.Kind == "-D" || ch.Kind == "-U" {
				delete(rows, k)
			} else {
				rows[k] = casefile.Canonical(ch.Row)
			}
		}
	}
	out := []string{}
	for _, r := range rows {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}
