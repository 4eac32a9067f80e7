package judge

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
	"sluice/interop/histories/model"
)

const sample = "../../../testdata/histories/seed-102.jsonl.zst"

func corpus(t *testing.T) (out []*casefile.History) {
	t.Helper()
	for h, err := range casefile.Histories(sample) {
		require.NoError(t, err)
		out = append(out, h)
	}
	require.Len(t, out, 500)
	return out
}

// An engine whose files have any sizes, played by the model, is found right: equal
// to the release, or explained. Its changelog folds.
func TestAnySizesAreExplained(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	count := map[Rule]int{}
	passed := 0
	for _, h := range corpus(t) {
		a, err := model.Play(&h.Case, model.Options{}, random.IntN)
		require.NoError(t, err, h.Case.Name)
		o := Compare(&h.Case, &h.Answer, a)
		if o.Status == Failed {
			t.Error(h.Case.Name, h.Case.Options, o.Detail)
		}
		if o.Status == Passed {
			passed++
		} else {
			count[o.Rule]++
		}
	}
	t.Log(passed, "passed;", count)
	require.Greater(t, passed, 350)
	for _, rule := range []Rule{MovedRaw, Descending, Sooner} {
		require.NotZero(t, count[rule], rule)
	}
}

// The answer of the release for ours: equal, but where it contradicts itself.
func TestTheReleaseItself(t *testing.T) {
	contradictions := 0
	for _, h := range corpus(t) {
		o := Compare(&h.Case, &h.Answer, &h.Answer)
		if o.Status != Passed {
			contradictions++
			require.Contains(t, o.Detail, "does not fold", h.Case.Name)
		}
	}
	require.NotZero(t, contradictions, "the release contradicts itself in about 3 of 500")
	require.Less(t, contradictions, 10)
}

// Whatever is wrong with our answer, no rule explains it.
func TestWrongAnswersFail(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	failed, other := 0, 0
	for i, h := range corpus(t) {
		if h.Answer.Error != nil {
			continue
		}
		a := h.Answer
		switch full := withRows(a.Changelog); {
		case i%3 == 0:
			a.Error = &casefile.Error{At: "2", Message: "something else"}
		case i%3 == 1 && len(full) > 0:
			at := full[random.IntN(len(full))]
			a.Changelog = slices.Clone(a.Changelog)
			c := slices.Clone(a.Changelog[at])
			row := slices.Clone(c[0].Row.([]any))
			row[0] = json.Number("77")
			c[0].Row = row
			a.Changelog[at] = c
		case len(a.Final) > 0:
			a.Final = a.Final[1:]
		default:
			continue
		}
		if o := Compare(&h.Case, &h.Answer, &a); o.Status == Failed {
			failed++
		} else {
			other++
			t.Log(h.Case.Name, o)
		}
	}
	t.Log(failed, other)
	require.Greater(t, failed, 400)
	require.Zero(t, other)
}

func withRows(changelog [][]casefile.Change) (out []int) {
	for i, c := range changelog {
		if len(c) > 0 {
			out = append(out, i)
		}
	}
	return out
}
