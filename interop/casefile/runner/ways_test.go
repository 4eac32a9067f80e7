package runner

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
)

// However the rows of a case are cut into commits, the table is the same at the
// end, and so is the last image of each key in a complete stream; but where the
// specification itself makes the cut matter, which the model knows.
func TestCasesThreeWays(t *testing.T) {
	e := newEnv(t)
	names := map[Ways][]string{}
	for _, file := range caseFiles(t) {
		cases, err := casefile.Load(file)
		require.NoError(t, err)
		for i := range cases {
			c := &cases[i]
			w, detail := e.ThreeWays(t.Context(), c, Options{Straight: i%2 == 1})
			names[w] = append(names[w], c.Name)
			if w == WaysFailed {
				t.Errorf("%s: %s: %s", filepath.Base(file), c.Name, detail)
			}
		}
	}
	t.Logf("%d cases are the same in three ways, for %d that makes no sense; not known to the model: %v; the cut matters in %v",
		len(names[WaysSame]), len(names[WaysSenseless]), names[WaysUnknown], names[WaysCut])
	require.Greater(t, len(names[WaysSame]), 60)
	require.Less(t, len(names[WaysCut])+len(names[WaysUnknown]), len(names[WaysSame])/2)
}

// The rows of a case stay the same in each way; commits and compactions do not.
func TestWays(t *testing.T) {
	row := func(k string) casefile.Row { return casefile.Row{Kind: "+I", Row: []any{json.Number(k), "a"}} }
	c := &casefile.Case{Commits: [][]casefile.Row{{row("1"), row("2")}, {row("1")}}}
	all := ways(c)
	require.Len(t, all, 3)
	require.Equal(t, [][]casefile.Row{{row("1"), row("2"), row("1")}}, all[0].c.Commits)
	require.Equal(t, [][]casefile.Row{{row("1")}, {row("2")}, {row("1")}}, all[1].c.Commits)
	require.Equal(t, []casefile.Step{{}, {}, {Compact: "full"}}, all[1].c.Steps)
	require.Equal(t, all[1].c.Commits, all[2].c.Commits)
	require.Equal(t, []casefile.Step{{Compact: "full"}, {Compact: "full"}, {Compact: "full"}}, all[2].c.Steps)
}
