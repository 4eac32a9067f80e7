// Command cases runs case files on our engine: cases FILE... [--verbose]. It
// prints a line for each case that fails, each part that is not built with how
// many cases need it, and at the end "N passed, N failed, N skipped".
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"sluice/interop/casefile"
)

func main() {
	passed, failed := 0, 0
	missing := map[string]int{}
	for _, file := range os.Args[1:] {
		cases, err := casefile.Load(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "cases:", err)
			os.Exit(2)
		}
		for i := range cases {
			r := casefile.Run(context.Background(), &cases[i])
			switch r.Status {
			case casefile.Passed:
				passed++
			case casefile.Failed:
				failed++
				fmt.Printf("%s: %s\n", cases[i].Name, r.Detail)
			case casefile.Skipped:
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
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
