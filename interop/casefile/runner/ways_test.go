package runner

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
	"sluice/interop/histories/model"
)

// Ways are three ways to write the rows of a case.
func ways(c *casefile.Case) map[string]*casefile.Case {
	var all []casefile.Row
	for _, commit := range c.Commits {
		all = append(all, commit...)
	}
	with := func(commits [][]casefile.Row, compact string) *casefile.Case {
		w := *c
		w.Commits, w.Steps, w.Order = commits, nil, "any"
		for i := range commits {
			s := casefile.Step{Compact: compact}
			if compact == "" && i == len(commits)-1 {
				s.Compact = "full" // so that the stream of every producer is complete
			}
			w.Steps = append(w.Steps, s)
		}
		return &w
	}
	var each [][]casefile.Row
	for _, r := range all {
		each = append(each, []casefile.Row{r})
	}
	return map[string]*casefile.Case{
		"one commit":     with([][]casefile.Row{all}, ""),
		"a commit each":  with(each, ""),
		"compacted each": with(each, "full"),
	}
}

// threeWays tells whether writing a case in other commits makes sense: rows alone
// decide, and nothing goes wrong.
func threeWays(c *casefile.Case) bool {
	if c.Error != nil || c.Filler > 0 || c.Options["deletion-vectors.enabled"] == "true" || c.Options["write-only"] == "true" {
		return false
	}
	return len(c.Schema.PK) > 0 && !slices.ContainsFunc(c.Steps, func(s casefile.Step) bool { return s.Mode != "" || len(s.Alter) > 0 || len(s.Dynamic) > 0 })
}

// However the rows of a case are cut into commits, the table is the same at the
// end, and so is the last image of each key in a complete stream; but where the
// specification itself makes the cut matter, which the model knows.
func TestCasesThreeWays(t *testing.T) {
	e := newEnv(t)
	same, cut, unknown := 0, []string{}, 0
	for _, file := range caseFiles(t) {
		cases, err := casefile.Load(file)
		require.NoError(t, err)
		for i := range cases {
			c := &cases[i]
			if !threeWays(c) {
				continue
			}
			want, err := played(c)
			var u *model.UnknownError
			if errors.As(err, &u) {
				unknown++
				continue
			}
			require.NoError(t, err, c.Name)
			if want == nil {
				cut = append(cut, c.Name)
			} else {
				same++
			}
			for name, w := range ways(c) {
				a, err := e.Answer(t.Context(), w, Options{})
				require.NoError(t, err, c.Name)
				require.Nil(t, a.Error, "%s, %s", c.Name, name)
				require.Empty(t, a.Folds, "%s, %s", c.Name, name)
				v, err := model.Judge(w, a, model.Options{})
				require.NoError(t, err, "%s, %s", c.Name, name)
				require.Empty(t, v.Fault, "%s, %s", c.Name, name)
				if want != nil {
					require.Equal(t, want, rowsOf(a.Final), "%s, %s", c.Name, name)
				}
				if streams(c) {
					require.Equal(t, rowsOf(a.Final), lastImages(c, a), "%s, %s: last images in the stream", c.Name, name)
				}
			}
		}
	}
	t.Logf("%d cases are the same in three ways, %d not known to the model; the cut matters in %v", same, unknown, cut)
	require.Greater(t, same, 60)
	require.Less(t, len(cut), same/3)
}

// streams tells whether the changelog of a table is complete at the end: a full
// compaction concerns the buckets of its commit alone.
func streams(c *casefile.Case) bool {
	single := len(c.Schema.Partition) == 0 && (c.Options["bucket"] == "" || c.Options["bucket"] == "1")
	p := c.Options["changelog-producer"]
	return (p == "lookup" || p == "full-compaction" && single) && c.Options["changelog-producer.row-deduplicate-ignore-fields"] == ""
}

// plays is how often each way is played, with other sizes of files each time.
const plays = 6

// played is what the model has at the end, nil if that hangs on the way, or on the
// sizes of files.
func played(c *casefile.Case) ([]string, error) {
	random := rand.New(rand.NewPCG(1, 2))
	var want []string
	same := true
	for _, w := range ways(c) {
		for range plays {
			a, err := model.Play(w, model.Options{}, random.IntN)
			if err != nil {
				return nil, err
			}
			if a.Error != nil {
				return nil, &model.UnknownError{What: "three ways when one fails: " + a.Error.Message}
			}
			got := rowsOf(a.Final)
			same = same && (want == nil || slices.Equal(want, got))
			want = got
		}
	}
	if !same {
		return nil, nil
	}
	return want, nil
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
