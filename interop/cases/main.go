// Command cases runs case files on our engine: cases [-straight] FILE... Each case
// is run as it is written, and then, where that makes sense, its rows are written
// in three ways: all in one commit, a commit each, and a full compaction after
// each. The rows at the end must be the same, and so must be the last image of each
// key in the stream. It prints a line for each case that fails, each part that is
// not built with how many cases need it, how the three ways ended, and at the end
// "N passed, N failed, N skipped".
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sluice/interop/casefile"
	"sluice/interop/casefile/runner"
)

func main() {
	straight := flag.Bool("straight", false, "write directly above level 0 where the table allows it")
	flag.Parse()
	ok, err := run(context.Background(), flag.Args(), runner.Options{Straight: *straight})
	if err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string, o runner.Options) (ok bool, err error) {
	env, err := runner.NewEnv("")
	if err != nil {
		return false, err
	}
	defer func() {
		if closeErr := env.Close(); err == nil {
			err = closeErr
		}
	}()
	t := tally{missing: map[string]int{}, ways: map[runner.Ways][]string{}}
	for _, file := range files {
		cases, err := casefile.Load(file)
		if err != nil {
			return false, err
		}
		for i := range cases {
			t.plain(&cases[i], env.Run(ctx, &cases[i], o))
			w, detail := env.ThreeWays(ctx, &cases[i], o)
			t.threeWays(&cases[i], w, detail)
		}
	}
	return t.report(), nil
}

// tally counts how cases end.
type tally struct {
	passed, failed int
	missing        map[string]int
	ways           map[runner.Ways][]string // names of cases
}

func (t *tally) plain(c *casefile.Case, r runner.Result) {
	switch r.Status {
	case runner.Passed:
		t.passed++
	case runner.Failed:
		t.failed++
		fmt.Printf("%s: %s\n", c.Name, r.Detail)
	case runner.Skipped:
		t.missing[r.Detail]++
	}
}

func (t *tally) threeWays(c *casefile.Case, w runner.Ways, detail string) {
	t.ways[w] = append(t.ways[w], c.Name)
	if w == runner.WaysFailed {
		fmt.Printf("%s in three ways: %s\n", c.Name, detail)
	}
}

// report prints the counts and tells whether all is well.
func (t *tally) report() bool {
	skipped := 0
	for _, what := range slices.Sorted(maps.Keys(t.missing)) {
		fmt.Printf("not built: %s (%d cases)\n", what, t.missing[what])
		skipped += t.missing[what]
	}
	for _, w := range []runner.Ways{runner.WaysCut, runner.WaysUnknown} {
		if names := t.ways[w]; len(names) > 0 {
			fmt.Printf("in three ways, %v: %s\n", w, strings.Join(names, " "))
		}
	}
	fmt.Printf("in three ways: %d the same, %d where the cut matters, %d not known to the model, %d of which it makes no sense, %d failed\n",
		len(t.ways[runner.WaysSame]), len(t.ways[runner.WaysCut]), len(t.ways[runner.WaysUnknown]), len(t.ways[runner.WaysSenseless]), len(t.ways[runner.WaysFailed]))
	fmt.Printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, skipped)
	return t.failed == 0 && len(t.ways[runner.WaysFailed]) == 0 && t.passed > 0
}
