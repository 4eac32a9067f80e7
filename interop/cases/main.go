// Command cases runs case files on our engine: cases [-straight] FILE... It
// prints a line for each case that fails, each part that is not built with how
// many cases need it, and at the end "N passed, N failed, N skipped".
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"

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
	passed, failed := 0, 0
	missing := map[string]int{}
	for _, file := range files {
		cases, err := casefile.Load(file)
		if err != nil {
			return false, err
		}
		for i := range cases {
			r := env.Run(ctx, &cases[i], o)
			switch r.Status {
			case runner.Passed:
				passed++
			case runner.Failed:
				failed++
				fmt.Printf("%s: %s\n", cases[i].Name, r.Detail)
			case runner.Skipped:
				missing[r.Detail]++
			}
		}
	}
	skipped := 0
	for _, what := range slices.Sorted(maps.Keys(missing)) {
		fmt.Printf("not built: %s (%d cases)\n", what, missing[what])
		skipped += missing[what]
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0 && passed > 0, nil
}
