package runner

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
)

func newEnv(t *testing.T) *Env {
	t.Helper()
	e, err := NewEnv("")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// caseFiles are all case files with how many cases need deletion vectors to be
// written.
func caseFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/cases/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// Every case passes as it is written, with files of level 0 first, but for those
// that write deletion vectors.
func TestCases(t *testing.T) {
	e := newEnv(t)
	for _, file := range caseFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			cases, err := casefile.Load(file)
			require.NoError(t, err)
			count := map[Status]int{}
			for i := range cases {
				c := &cases[i]
				t.Run(c.Name, func(t *testing.T) {
					r := e.Run(t.Context(), c, Options{})
					count[r.Status]++
					switch r.Status {
					case Failed:
						t.Error(r.Detail)
					case Skipped:
						t.Log("not built: " + r.Detail)
					}
				})
			}
			t.Logf("%d passed, %d failed, %d not built", count[Passed], count[Failed], count[Skipped])
			if filepath.Base(file) == "changelog-cases.yaml" {
				require.Len(t, cases, 185)
				require.Equal(t, deletionVectorCases, count[Skipped])
			}
		})
	}
}

// deletionVectorCases are the cases of changelog-cases.yaml that write deletion
// vectors.
const deletionVectorCases = 9

// The same, with lookup tables written directly above level 0: kinds of snapshots
// differ, nothing else.
func TestCasesStraight(t *testing.T) {
	e := newEnv(t)
	for _, file := range caseFiles(t) {
		cases, err := casefile.Load(file)
		require.NoError(t, err)
		for i := range cases {
			if r := e.Run(t.Context(), &cases[i], Options{Straight: true}); r.Status == Failed {
				t.Errorf("%s: %s: %s", filepath.Base(file), cases[i].Name, r.Detail)
			}
		}
	}
}

// A runner that cannot fail would prove nothing.
func TestAWrongExpectationIsFound(t *testing.T) {
	e := newEnv(t)
	cases, err := casefile.Load("../../../testdata/cases/changelog-cases.yaml")
	require.NoError(t, err)
	c := cases[0]
	detail := func() string { return e.Run(t.Context(), &c, Options{}).Detail }
	require.Empty(t, detail())
	final := c.Final
	c.Final = []any{[]any{1, "other"}}
	require.Contains(t, detail(), "final rows")
	c.Final = final
	c.Kinds = [][]string{{"COMPACT"}}
	require.Contains(t, detail(), "snapshots of commit 1")
	c.Kinds = nil
	c.Sequence = [][]int64{{7}}
	require.Contains(t, detail(), "sequence numbers")
	c.Sequence = nil
	c.Reads = []casefile.Incremental{{Between: []int64{0, 1}, Rows: "none"}}
	require.Contains(t, detail(), "changes between")
	c.Reads = nil
	c.Changelog = []any{"none", "none"}
	require.Contains(t, detail(), "changelog of commit 1")
	c.Changelog = cases[0].Changelog
	c.Error = &casefile.Failure{At: "create", Contains: "no such thing"}
	require.Contains(t, detail(), "expected an error")
	c.Error = nil
	c.Commits = append([][]casefile.Row{}, c.Commits...)
	c.Commits[0] = []casefile.Row{{Kind: "+I", Row: []any{nil, "a"}}}
	require.Contains(t, detail(), "failed at 1")
	require.Empty(t, fmt.Sprint(e.Run(t.Context(), &cases[0], Options{}).Detail))
}
