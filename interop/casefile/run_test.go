package casefile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Cases that need only what is built must pass; the others are skipped by the
// name of the missing part, and how many there are is known.
func TestChangelogCases(t *testing.T) {
	cases, err := Load("../../testdata/cases/changelog-cases.yaml")
	require.NoError(t, err)
	require.Len(t, cases, 185)
	count := map[Status]int{}
	for i := range cases {
		c := &cases[i]
		t.Run(c.Name, func(t *testing.T) {
			r := Run(t.Context(), c)
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
	require.GreaterOrEqual(t, count[Passed], passing, "cases that passed before are not skipped now")
}

// A runner that cannot fail would prove nothing.
const passing = 41

func TestAWrongExpectationIsFound(t *testing.T) {
	cases, err := Load("../../testdata/cases/changelog-cases.yaml")
	require.NoError(t, err)
	c := cases[0]
	require.Equal(t, Passed, Run(t.Context(), &c).Status)
	final := c.Final
	c.Final = []any{[]any{1, "other"}}
	require.Contains(t, Run(t.Context(), &c).Detail, "final rows")
	c.Final = final
	c.Changelog = []any{"none", "none"}
	require.Contains(t, Run(t.Context(), &c).Detail, "changelog of commit 1")
	c.Changelog = cases[0].Changelog
	c.Error = &Failure{At: "create", Contains: "no such thing"}
	require.Contains(t, Run(t.Context(), &c).Detail, "expected an error")
}
