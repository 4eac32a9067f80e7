package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"sluice/bench/meter"
)

func (v *verdict) line(work string) string {
	switch {
	case v.Ratio > 0:
		return fmt.Sprintf("%s ratio %.2f (ours %s limit %s %s)", work, v.Ratio, short(v.Ours), short(v.Limit), v.Unit)
	case strings.Contains(v.Wanted, " of "):
		return fmt.Sprintf("%s ours %s %s, limit not measured", work, short(v.Ours), v.Unit)
	}
	return fmt.Sprintf("%s %s %s %s", work, v.Figure, short(v.Ours), v.Unit)
}

// mark tells whether what was wanted is reached.
func (v *verdict) mark() string {
	if v.Reached {
		return "yes"
	}
	return "no"
}

// printTable prints all results, and below what else the runs noted.
func printTable(out io.Writer, all []*outcome) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nwork\tours\tspread\tlimit\tratio\treached\twanted")
	for _, o := range all {
		for _, v := range o.Results {
			limit, ratio := "", ""
			if v.Ratio > 0 {
				limit, ratio = short(v.Limit), fmt.Sprintf("%.2f", v.Ratio)
			}
			fmt.Fprintf(w, "%s\t%s %s\t±%.0f%%\t%s\t%s\t%s\t%s\n", o.Work, short(v.Ours), v.Unit, 100*v.Spread, limit, ratio, v.mark(), v.Wanted)
		}
	}
	fmt.Fprintln(w)
	for _, o := range all {
		for _, name := range slices.Sorted(maps.Keys(o.Ours)) {
			if slices.ContainsFunc(o.Results, func(v verdict) bool { return v.Figure == name }) {
				continue
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", o.Work, name, short(meter.Median(o.Ours[name])))
		}
	}
	_ = w.Flush() // as of any print to the terminal
}

func writeJSON(path string, all []*outcome) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// short is a figure in three digits.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
