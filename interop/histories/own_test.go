package main

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
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

// Histories with crashes, damaged indexes, a compactor beside the writer, two
// writers, overwrites and schema changes come out as the model says, and their changelog
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
	t.Logf("%d histories, %d of which the model could not follow", count, many)
	require.LessOrEqual(t, many, int(count/20), "the model could not follow")
}

// Where nobody waits for compactions, changes come in other commits, several as
// one, and a restart owes them. But they fold all the same, and once a commit has
// waited, everything that was written has been told, once.
func TestUnwaitedHistories(t *testing.T) {
	first, count := number(t, "SLUICE_SEED", 0), number(t, "SLUICE_SEEDS", 40)
	told, known := 0, 0
	for seed := first; seed < first+count; seed++ {
		c := generate.Case(seed)
		if c.Options["changelog-producer"] != "lookup" || c.Options["write-only"] != "" {
			continue
		}
		last := casefile.Step{Compact: "wait", Reopen: seed%2 == 0}
		if c.Options["lookup-compact"] == "gentle" {
			last.Compact = "full" // or level 0 would wait
		}
		c.Commits, c.Steps = append(c.Commits, []casefile.Row{}), append(c.Steps, last)
		e, err := runner.NewEnv("")
		require.NoError(t, err)
		a, err := e.Answer(t.Context(), c, runner.Options{Unwaited: true, Shards: 2})
		require.NoError(t, err, c.Name)
		require.NoError(t, e.Close())
		require.Nil(t, a.Error, c.Name)
		require.Empty(t, a.Folds, c.Name)
		if want := settled(t, c); want != nil {
			known++
			got, err := model.Rows(c, a.Final)
			require.NoError(t, err, c.Name)
			require.Equal(t, want, got, c.Name)
		}
		if complete(c) {
			told++
			require.Equal(t, rows(c, a.Final), images(c, a.Changelog), c.Name)
		}
	}
	t.Logf("%d of %d histories told all, for %d the rows at the end are known", told, count, known)
	require.Greater(t, told, int(count/16))
	require.Greater(t, known, int(count/16))
}

// complete tells whether a history delivers all: an overwrite does not, rows before
// a new column are told without it, those that grow too old go silently, and the
// last commit is that of one writer alone, which asks for no full compaction where
// there are partitions.
func complete(c *casefile.Case) bool {
	if c.Options["record-level.expire-time"] != "" || c.Options["lookup-compact"] == "gentle" && len(c.Schema.Partition) > 0 {
		return false
	}
	return !slices.ContainsFunc(c.Steps, func(s casefile.Step) bool { return s.Mode != "" || len(s.Alter) > 0 || s.Writer > 0 })
}

// settled returns the rows at the end, if they are the same whatever is compacted
// when; nil: the model does not say. A patient compaction is played as one that is
// not, and a history also as one without compactions.
func settled(t *testing.T, c *casefile.Case) []string {
	random := rand.New(rand.NewPCG(5, 6))
	var want []string
	for i := range 8 {
		x := *c
		x.Options = maps.Clone(c.Options)
		delete(x.Options, "lookup-compact")
		if i == 0 {
			x.Options["write-only"] = "true"
		}
		a, err := model.Play(&x, model.Options{}, random.IntN)
		var unknown *model.UnknownError
		if errors.As(err, &unknown) {
			return nil
		}
		require.NoError(t, err, c.Name)
		if a.Error != nil {
			return nil
		}
		got, err := model.Rows(c, a.Final)
		require.NoError(t, err, c.Name)
		if i > 0 && !slices.Equal(want, got) {
			return nil
		}
		want = got
	}
	return want
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
