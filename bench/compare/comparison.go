package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	"sluice/bench/meter"
)

// comparison is a work with the runs of both sides.
type comparison struct {
	Work       string            `json:"work"`
	Ratio      float64           `json:"ratio"`           // of the medians of rows per CPU second
	Reach      float64           `json:"reach,omitempty"` // the ratio that is wanted
	Ours, Peer float64           `json:"-"`               // medians
	Medians    map[string]pair   `json:"medians"`
	Digests    map[string]string `json:"digests"`
	OursRuns   []*record         `json:"ours_runs"`
	PeerRuns   []*record         `json:"peer_runs"`
}

// pair is a figure of both sides.
type pair struct {
	Ours float64 `json:"ours"`
	Peer float64 `json:"peer"`
}

// reach is which ratios are wanted.
func reach() map[string]float64 {
	return map[string]float64{
		"ingest-none": 2.2, "ingest-input": 2.5, "tail": 2.5, "scan-runs": 2.5, "scan-compacted": 3,
		"poll": 2, "commit-10k-write-only": 2, "commit-1m-write-only": 2,
		"ingest-lookup": 8, "ingest-full-compaction-10": 3, "ingest-full-compaction-1": 3, "compact": 2.4,
		"ingest-partial-update": 6, "ingest-aggregation": 6, "point-hit": 2, "point-miss": 1.2,
	}
}

// conclude checks that both sides did the same and takes the medians.
func (c *comparison) conclude() error {
	var err error
	if c.Digests, err = sameDigests(c.OursRuns, c.PeerRuns); err != nil {
		return err
	}
	c.Medians = map[string]pair{}
	add := func(name string, of func(*record) float64) {
		c.Medians[name] = pair{median(c.OursRuns, of), median(c.PeerRuns, of)}
	}
	add("rows_per_cpu_s", (*record).rate)
	add("wall_s", func(r *record) float64 { return r.WallS })
	add("cpu_s", func(r *record) float64 { return r.CPUS })
	add("gc_s", func(r *record) float64 { return r.GCS })
	add("peak_rss_mb", func(r *record) float64 { return r.PeakRSS })
	add("mb", func(r *record) float64 { return r.Bytes / 1e6 })
	for _, name := range sharedNotes(c.OursRuns[0], c.PeerRuns[0]) {
		add(name, func(r *record) float64 { v, _ := r.Notes[name].(float64); return v })
	}
	rates := c.Medians["rows_per_cpu_s"]
	c.Ours, c.Peer, c.Reach = rates.Ours, rates.Peer, reach()[c.Work]
	c.Ratio = c.Ours / c.Peer
	return nil
}

// sameDigests returns the digests by name. It is an error if two runs differ in
// one or in the number of rows, or if a side has not told one that the other has.
func sameDigests(ours, peer []*record) (map[string]string, error) {
	collect := func(side string, runs []*record) (map[string]string, error) {
		all := map[string]string{}
		for _, r := range runs {
			for name, d := range r.Digest {
				if have, ok := all[name]; ok && have != d {
					return nil, fmt.Errorf("runs of %s have different digests: %s is %s and %s", side, name, have, d)
				}
				all[name] = d
			}
			if r.Rows != runs[0].Rows {
				return nil, fmt.Errorf("runs of %s have different numbers of rows: %v and %v", side, runs[0].Rows, r.Rows)
			}
		}
		return all, nil
	}
	a, err := collect("ours", ours)
	if err != nil {
		return nil, err
	}
	b, err := collect("the peer", peer)
	if err != nil {
		return nil, err
	}
	switch {
	case len(a) == 0:
		return nil, errors.New("there is no digest")
	case !maps.Equal(a, b):
		return nil, fmt.Errorf("digests differ, so the work was not the same: ours %v, peer %v", a, b)
	case ours[0].Rows != peer[0].Rows:
		return nil, fmt.Errorf("numbers of rows differ: ours %v, peer %v", ours[0].Rows, peer[0].Rows)
	}
	return a, nil
}

// median is that of the measured runs.
func median(runs []*record, of func(*record) float64) float64 {
	var values []float64
	for _, r := range runs {
		if r.Phase == "measure" {
			values = append(values, of(r))
		}
	}
	return meter.Median(values)
}

// sharedNotes are the names of the numbers that both sides noted.
func sharedNotes(a, b *record) (names []string) {
	for name, v := range a.Notes {
		_, ours := v.(float64)
		if _, peers := b.Notes[name].(float64); ours && peers {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (c *comparison) line() string {
	return fmt.Sprintf("%s ratio %.2f (ours %s peer %s rows/CPU s)", c.Work, c.Ratio, short(c.Ours), short(c.Peer))
}

func printTable(out io.Writer, all []*comparison) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nwork\tratio\treach\trows/CPU s\tpeer\twall s\tpeer\tpeak RSS MB\tpeer\tMB\tpeer\t")
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%.2f\t%s\t%s\t%s\t", c.Work, c.Ratio, goal(c.Reach, c.Ratio), short(c.Ours), short(c.Peer))
		for _, name := range []string{"wall_s", "peak_rss_mb", "mb"} {
			p := c.Medians[name]
			fmt.Fprintf(w, "%s\t%s\t", short(p.Ours), short(p.Peer))
		}
		fmt.Fprintln(w)
	}
	for _, c := range all {
		for _, name := range sharedNotes(c.OursRuns[0], c.PeerRuns[0]) {
			p := c.Medians[name]
			fmt.Fprintf(w, "%s %s\t\t\t%s\t%s\t\t\t\t\t\t\t\n", c.Work, name, short(p.Ours), short(p.Peer))
		}
	}
	_ = w.Flush() // as of any print to the terminal
}

func goal(reach, ratio float64) string {
	switch {
	case reach == 0:
		return "-"
	case ratio >= reach:
		return fmt.Sprintf("%.1f yes", reach)
	}
	return fmt.Sprintf("%.1f no", reach)
}

func writeJSON(path string, all []*comparison) error {
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
