package generate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/histories/model"
	"sluice/paimon"
)

// Each history is one that a table may have and that the model can follow, the
// same for the same seed, and all that is special comes up.
func TestHistories(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for seed := range uint64(100) {
		c := Case(seed)
		require.Equal(t, c, Case(seed))
		_, err := paimon.NewSchema(paimon.SchemaSpec{Schema: c.Schema, Options: c.Options}, 0)
		require.NoError(t, err, c.Options)
		a, err := model.Play(c, model.Options{}, random.IntN)
		require.NoError(t, err, c.Name)
		v, err := model.Judge(c, a, model.Options{})
		require.NoError(t, err, c.Name)
		require.Empty(t, v.Fault, c.Name)
		for _, s := range c.Steps {
			seen["crash"] += b2i(s.Crash)
			seen["reopen"] += b2i(s.Reopen)
			seen["compactor"] += b2i(s.User != "")
			seen["overwrite"] += b2i(s.Mode != "")
			seen["alter"] += len(s.Alter)
			seen["index "+s.Index]++
		}
		seen[c.Options["merge-engine"]+" "+c.Options["changelog-producer"]]++
		if a.Error != nil {
			seen["error"]++
		}
	}
	t.Log(seen)
	for _, what := range []string{
		"crash", "reopen", "compactor", "overwrite", "alter", "index save", "index old", "index delete", "index cut", "index flip",
		"deduplicate lookup", "deduplicate full-compaction", "partial-update lookup", "aggregation full-compaction", "first-row lookup",
	} {
		require.NotZero(t, seen[what], what)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
