package model

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
)

// sample is a file of the corpus: 500 histories of all engines and producers.
const sample = "../../../testdata/histories/seed-101.jsonl.zst"

// eachHistory calls f for every n-th history of the sample.
func eachHistory(t *testing.T, n int, f func(h *casefile.History)) {
	t.Helper()
	i := 0
	for h, err := range casefile.Histories(sample) {
		require.NoError(t, err)
		if i%n == 0 {
			f(h)
		}
		i++
	}
	require.Equal(t, 500, i)
}

// What the release answered must be possible, history by history: the model knows
// engines and producers, or this would not hold. SLUICE_HISTORIES names other
// files than the sample, with a space between.
func TestTheReleaseIsUnderstood(t *testing.T) {
	for _, file := range strings.Fields(os.Getenv("SLUICE_HISTORIES")) {
		n := 0
		for h, err := range casefile.Histories(file) {
			require.NoError(t, err)
			v, err := Judge(&h.Case, &h.Answer, Release())
			require.NoError(t, err, h.Case.Name)
			assert.Empty(t, v.Fault, h.Case.Name)
			n++
		}
		t.Log(file, n)
	}
	eachHistory(t, 1, func(h *casefile.History) {
		v, err := Judge(&h.Case, &h.Answer, Release())
		require.NoError(t, err, h.Case.Name)
		require.Empty(t, v.Fault, h.Case.Name)
	})
}

// A model that accepts everything would be worth nothing: an answer with a change
// left out, doubled, altered, or moved is refused.
func TestWrongAnswersAreRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	refused, accepted := 0, 0
	eachHistory(t, 2, func(h *casefile.History) {
		a := h.Answer
		if a.Error != nil {
			return
		}
		if !spoil(&a, random) {
			return
		}
		v, err := Judge(&h.Case, &a, Release())
		if err != nil || v.Fault != "" {
			refused++
		} else {
			accepted++
			t.Log("accepted:", h.Case.Name, h.Case.Options)
		}
	})
	t.Logf("%d refused, %d accepted", refused, accepted)
	require.Greater(t, refused, 200)
	// What was spoiled can be right by chance, as when the row was a NULL already.
	require.LessOrEqual(t, accepted, refused/100)
}

// spoil makes an answer wrong in one place; false if there is none.
func spoil(a *casefile.Answer, random *rand.Rand) bool {
	var full []int
	for i, c := range a.Changelog {
		if len(c) > 0 {
			full = append(full, i)
		}
	}
	if len(full) == 0 {
		return false
	}
	i := full[random.IntN(len(full))]
	a.Changelog = slices.Clone(a.Changelog)
	c := slices.Clone(a.Changelog[i])
	k := random.IntN(len(c))
	switch random.IntN(4) {
	case 0:
		c = slices.Delete(c, k, k+1)
	case 1:
		c = slices.Insert(c, k, c[k])
	case 2:
		row := slices.Clone(c[k].Row.([]any))
		row[0] = json.Number("77")
		c[k].Row = row
	case 3:
		kinds := []string{"+I", "-U", "+U", "-D"}
		c[k].Kind = kinds[(slices.Index(kinds, c[k].Kind)+1+random.IntN(3))%4]
	}
	a.Changelog[i] = c
	return true
}

// What the model plays it must accept, and without the faults of the release the
// changelog of lookup and full-compaction folds: package judge tests that.
func TestWhatIsPlayedIsAccepted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	eachHistory(t, 3, func(h *casefile.History) {
		for _, o := range []Options{{}, Release()} {
			a, err := Play(&h.Case, o, random.IntN)
			require.NoError(t, err, h.Case.Name)
			v, err := Judge(&h.Case, a, o)
			require.NoError(t, err, h.Case.Name)
			require.Empty(t, v.Fault, h.Case.Name)
		}
	})
}
