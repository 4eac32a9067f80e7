package generate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
	"sluice/interop/histories/model"
	"sluice/paimon"
)

// Each history is one that a table may have and that the model can follow, the
// same for the same seed, and all that is special comes up.
func TestHistories(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	refused, accepted := 0, 0
	for seed := range uint64(150) {
		c := Case(seed)
		require.Equal(t, c, Case(seed))
		_, err := paimon.NewSchema(paimon.SchemaSpec{Schema: c.Schema, Options: c.Options}, 0)
		require.NoError(t, err, c.Options)
		a, err := model.Play(c, model.Options{}, random.IntN)
		require.NoError(t, err, c.Name)
		v, err := model.Judge(c, a, model.Options{})
		require.NoError(t, err, c.Name)
		require.Empty(t, v.Fault, c.Name)
		if doubled(a, random) {
			v, err := model.Judge(c, a, model.Options{})
			if err != nil || v.Fault != "" {
				refused++
			} else {
				accepted++
			}
		}
		for _, s := range c.Steps {
			seen["crash"] += b2i(s.Crash)
			seen["reopen"] += b2i(s.Reopen)
			seen["compactor"] += b2i(s.User != "")
			seen["overwrite"] += b2i(s.Mode != "")
			for _, a := range s.Alter {
				words := strings.SplitN(a, " ", 4)
				seen[words[0]+" "+words[1]]++
				if words[0] == "alter" {
					seen["alter column "+strings.SplitN(words[3], " ", 2)[0]]++
				}
				seen["rescale"] += b2i(s.Mode != "")
			}
			seen["second writer"] += s.Writer
			seen["index "+s.Index]++
		}
		seen[c.Options["merge-engine"]+" "+c.Options["changelog-producer"]]++
		for name, value := range c.Options {
			if strings.HasSuffix(name, ".aggregate-function") {
				name = value
			}
			seen[name]++
		}
		if a.Error != nil {
			seen["error"]++
		}
	}
	t.Log(seen)
	require.Zero(t, accepted, "of %d answers with a change that came twice", refused+accepted)
	require.Greater(t, refused, 100)
	for _, what := range []string{
		"crash", "reopen", "compactor", "overwrite", "rescale", "second writer", "index save", "index old", "index delete", "index cut", "index flip",
		"add column", "drop column", "rename column", "alter column type", "alter column comment", "set option",
		"lookup-compact", "lookup-wait", "ignore-delete", "ignore-update-before", "record-level.expire-time", "sequence.field.sort-order",
		"collect", "nested_update", "nested_partial_update", "rbm32", "theta_sketch", "hll_sketch", "merge_map",
		"deduplicate lookup", "deduplicate full-compaction", "partial-update lookup", "aggregation full-compaction", "first-row lookup",
	} {
		require.NotZero(t, seen[what], what)
	}
}

// doubled makes an answer wrong: one change comes twice. False if there is none.
func doubled(a *casefile.Answer, random *rand.Rand) bool {
	for _, i := range random.Perm(len(a.Changelog)) {
		if c := a.Changelog[i]; len(c) > 0 {
			k := random.IntN(len(c))
			a.Changelog[i] = slices.Insert(slices.Clone(c), k, c[k])
			return true
		}
	}
	return false
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
