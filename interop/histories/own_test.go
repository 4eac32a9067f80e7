package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/interop/casefile"
	"sluice/interop/casefile/runner"
	"sluice/interop/histories/generate"
	"sluice/interop/histories/judge"
	"sluice/interop/histories/model"
)

// number reads a count or seed from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// Histories with crashes, damaged indexes, a compactor beside the writer,
// overwrites and schema changes come out as the model says, and their changelog
// folds. SLUICE_SEED and SLUICE_SEEDS choose others, and more.
func TestOwnHistories(t *testing.T) {
	many := 0
	first, count := number(t, "SLUICE_SEED", 0), number(t, "SLUICE_SEEDS", 60)
	for seed := first; seed < first+count; seed++ {
		c := generate.Case(seed)
		e, err := runner.NewEnv("")
		require.NoError(t, err)
		a, err := e.Answer(t.Context(), c, runner.Options{Straight: seed%2 == 1, Shards: 1 + int(seed%3)})
		require.NoError(t, err, c.Name)
		require.NoError(t, e.Close())
		v, err := model.Judge(c, a, model.Options{})
		var unknown *model.UnknownError
		if errors.As(err, &unknown) {
			many++ // states; that the changelog folds is known all the same
			err = nil
		}
		require.NoError(t, err, c.Name)
		if v.Fault != "" || len(a.Folds) > 0 {
			input, err := json.Marshal(c)
			require.NoError(t, err)
			t.Errorf("seed %d: %s\n  folds: %v\n  repeat: SLUICE_SEED=%d SLUICE_SEEDS=1\n  case: %s", seed, v.Fault, a.Folds, seed, input)
		}
	}
	require.LessOrEqual(t, many, int(count/20), "the model could not follow")
}

// Where nobody waits for compactions, changes come in other commits, several as
// one, and a restart owes them. But they fold all the same, and once a commit has
// waited, everything that was written has been told, once.
func TestUnwaitedHistories(t *testing.T) {
	first, count := number(t, "SLUICE_SEED", 0), number(t, "SLUICE_SEEDS", 40)
	told := 0
	for seed := first; seed < first+count; seed++ {
		c := generate.Case(seed)
		if c.Options["changelog-producer"] != "lookup" || c.Options["write-only"] != "" {
			continue
		}
		c.Commits, c.Steps = append(c.Commits, []casefile.Row{}), append(c.Steps, casefile.Step{Compact: "wait", Reopen: seed%2 == 0})
		e, err := runner.NewEnv("")
		require.NoError(t, err)
		a, err := e.Answer(t.Context(), c, runner.Options{Unwaited: true, Shards: 2})
		require.NoError(t, err, c.Name)
		require.NoError(t, e.Close())
		require.Nil(t, a.Error, c.Name)
		require.Empty(t, a.Folds, c.Name)
		if complete(c) {
			told++
			require.Equal(t, rows(c, a.Final), images(c, a.Changelog), c.Name)
		}
	}
	require.Greater(t, told, int(count/8))
}

// complete tells whether a history delivers all: an overwrite does not, and rows
// before a new column are told without it.
func complete(c *casefile.Case) bool {
	return !slices.ContainsFunc(c.Steps, func(s casefile.Step) bool { return s.Mode != "" || len(s.Alter) > 0 })
}

func rows(c *casefile.Case, final []any) map[string]string {
	out := map[string]string{}
	for _, row := range final {
		out[c.KeyText(row)] = casefile.Canonical(row)
	}
	return out
}

// images are the rows that a reader has after all changes.
func images(c *casefile.Case, changelog [][]casefile.Change) map[string]string {
	out := map[string]string{}
	for _, commit := range changelog {
		for _, ch := range commit {
			if ch.Kind == "-D" || ch.Kind == "-U" {
				delete(out, c.KeyText(ch.Row))
			} else {
				out[c.KeyText(ch.Row)] = casefile.Canonical(ch.Row)
			}
		}
	}
	return out
}

// A sample of the corpus, and what fresh histories have found: nothing differs from
// the release without an explanation.
// make histories runs all of it.
func TestSample(t *testing.T) {
	e, err := runner.NewEnv("")
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	n, count := 0, map[judge.Status]int{}
	for h, err := range casefile.Histories("../../testdata/histories/seed-103.jsonl.zst") {
		require.NoError(t, err)
		if n++; n%2 == 0 {
			continue
		}
		a, err := e.Answer(t.Context(), &h.Case, runner.Options{Defaults: runner.HistoryDefaults()})
		require.NoError(t, err, h.Case.Name)
		o := judge.Compare(&h.Case, &h.Answer, a)
		count[o.Status]++
		if o.Status == judge.Failed {
			t.Errorf("%s: %s", h.Case.Name, o.Detail)
		}
	}
	for h, err := range casefile.Histories("../../testdata/histories/found.jsonl") {
		require.NoError(t, err)
		a, err := e.Answer(t.Context(), &h.Case, runner.Options{Defaults: runner.HistoryDefaults()})
		require.NoError(t, err, h.Case.Name)
		o := judge.Compare(&h.Case, &h.Answer, a)
		require.Equal(t, judge.Explained, o.Status, "%s: %s", h.Case.Name, o.Detail)
	}
	t.Logf("%d passed, %d explained, %d failed", count[judge.Passed], count[judge.Explained], count[judge.Failed])
	require.Greater(t, count[judge.Passed], 200)
}

func jsonNumber(n int32) json.Number { return json.Number(strconv.Itoa(int(n))) }
