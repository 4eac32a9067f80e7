package lookup

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndexFollowsModel commits random stages, large and small, and compares all
// keys after each; in between it writes out, closes, opens and rebuilds.
func TestIndexFollowsModel(t *testing.T) {
	for _, o := range []struct {
		name                 string
		stage, recent, pages int64
	}{
		{"memory", 0, 0, 0},
		{"pushed often", 0, 20_000, 0},
		{"spilled", 2_000, 20_000, 0},
		{"places in memory", 0, 20_000, 6_000},
		{"nothing in memory", 2_000, 20_000, 1},
	} {
		t.Run(o.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			opts := memOptions()
			opts.StageBytes, opts.RecentBytes, opts.PageBytes = o.stage, o.recent, o.pages
			c := openCache(t, opts)
			x := openIndex(t, c, testID)
			want := model{}
			for round := range int64(200) {
				changes := model{}
				for range 1 + rng.IntN(1<<rng.IntN(9)) {
					changes[rng.Int64N(1_000)] = round
					if rng.IntN(5) == 0 {
						changes[rng.Int64N(1_000)] = -1
					}
				}
				s := x.NewStage()
				fill(t, s, changes)
				require.EqualValues(t, len(changes), s.Len())
				if rng.IntN(8) == 0 {
					s.Discard()
					require.ErrorIs(t, s.Commit(t.Context(), stateOf(round)), ErrDiscarded)
				} else {
					require.NoError(t, s.Commit(t.Context(), stateOf(round)))
					want.apply(changes)
					st, ok := x.State()
					require.True(t, ok)
					require.Equal(t, stateOf(round), st)
				}
				switch before, ok := x.State(); rng.IntN(12) {
				case 0:
					require.NoError(t, x.Flush(t.Context()))
				case 1:
					require.NoError(t, x.Close())
					x = openIndex(t, c, testID)
					st, ok2 := x.State()
					require.Equal(t, ok, ok2)
					require.Equal(t, before, st)
				case 2:
					require.NoError(t, x.Rebuild(t.Context(), stateOf(round), &slowSource{kv: want.records(t), step: 100}, nil))
				}
				got, err := find(t, x, ids(-1, 1_001))
				require.NoError(t, err)
				require.Equal(t, want, got)
				if r := x.inMemory; x.onDisk != nil && len(want) > 500 {
					held := map[bool]string{true: "places", false: "all"}[r != nil && r.pages == nil]
					if r == nil {
						held = "nothing"
					}
					require.Equal(t, map[int64]string{0: "all", 6_000: "places", 1: "nothing"}[o.pages], held)
				}
			}
			require.NoError(t, x.Close())
		})
	}
}
