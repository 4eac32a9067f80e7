package model

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Levels are those of the runs in the order of picking; want is every pick that
// sizes could lead to.
func TestPossiblePicks(t *testing.T) {
	for _, c := range []struct {
		name   string
		p      picker
		levels []int
		want   []pick
		full   pick
	}{
		{"nothing there", picker{trigger: 5, top: 5}, nil, []pick{{}}, pick{}},
		{"below the trigger", picker{trigger: 3, top: 5}, []int{0, 5}, []pick{{}}, pick{2, 5}},
		{"first file, forced up", picker{trigger: 5, top: 5, forceUp: true}, []int{0}, []pick{{1, 5}}, pick{1, 5}},
		{"second file, forced up", picker{trigger: 5, top: 5, forceUp: true}, []int{0, 5}, []pick{{1, 4}, {2, 5}}, pick{2, 5}},
		{"forced up into level 1", picker{trigger: 5, top: 5, forceUp: true}, []int{0, 1, 5}, []pick{{2, 1}, {2, 4}, {3, 5}}, pick{3, 5}},
		{"all on top", picker{trigger: 2, top: 5, forceUp: true}, []int{5}, []pick{{}}, pick{}},
		{"at the trigger", picker{trigger: 2, top: 3}, []int{0, 3}, []pick{{}, {2, 3}}, pick{2, 3}},
		{"too many runs", picker{trigger: 2, top: 3}, []int{0, 0, 3}, []pick{{2, 2}, {3, 3}}, pick{3, 3}},
		{"two levels only", picker{trigger: 2, top: 1}, []int{0, 1}, []pick{{}, {2, 1}}, pick{2, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var runs []run
			for _, level := range c.levels {
				runs = append(runs, run{level: level})
			}
			got := c.p.possible(runs, c.p.forceUp)
			slices.SortFunc(got, func(a, b pick) int { return slices.Compare([]int{a.n, a.out}, []int{b.n, b.out}) })
			require.Equal(t, c.want, slices.Compact(got))
			require.Equal(t, c.full, c.p.full(runs))
		})
	}
}

// With patience nothing but universal compaction picks, until it found nothing so
// often; then level 0 must go up.
func TestPatience(t *testing.T) {
	p := picker{trigger: 3, top: 5, forceUp: true, patience: 2}
	b := &bucket{runs: []run{{level: 0}, {level: 5}}}
	require.Equal(t, []choice{{pick{}, 1}}, p.choices(b))
	b.waited = 1
	require.ElementsMatch(t, []choice{{pick{1, 4}, 0}, {pick{2, 5}, 0}}, p.choices(b))
	b.runs = append([]run{{level: 0}, {level: 0}, {level: 0}}, b.runs...)
	for _, c := range p.choices(b) {
		require.NotZero(t, c.n)
		require.Equal(t, 1, c.waited, "what is picked otherwise does not count")
	}
}
