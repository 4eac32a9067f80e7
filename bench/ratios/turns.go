package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sluice/bench/meter"
)

// outcome is a work with the runs of both sides.
type outcome struct {
	Work    string               `json:"work"`
	What    string               `json:"what"`
	Ours    map[string][]float64 `json:"ours"`
	Limit   map[string][]float64 `json:"limit,omitempty"`
	Results []verdict            `json:"results"`
}

// verdict is what became of a claim.
type verdict struct {
	Figure  string  `json:"figure"`
	Unit    string  `json:"unit"`
	Ours    float64 `json:"ours"`            // median
	Spread  float64 `json:"spread"`          // half the distance of the extremes, of the median
	Limit   float64 `json:"limit,omitempty"` // median
	Ratio   float64 `json:"ratio,omitempty"`
	Wanted  string  `json:"wanted"`
	Reached bool    `json:"reached"`
}

func compareAll(ctx context.Context, s *settings, chosen []probe, out io.Writer) error {
	if s.limits != "" {
		if _, err := os.Stat(s.limits); err != nil {
			return fmt.Errorf("--limits: %w: %w", err, errUsage)
		}
	}
	var all []*outcome
	var failed []error
	for i := range chosen {
		p := &chosen[i]
		o, err := s.byTurns(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
			fmt.Fprintf(out, "%s failed: %v\n", p.name, err)
			continue
		}
		o.judge(p)
		for _, v := range o.Results {
			fmt.Fprintln(out, v.line(p.name))
		}
		all = append(all, o)
	}
	printTable(out, all)
	if s.divide > 1 {
		fmt.Fprintf(out, "\nCounts were divided by %d: this checks the works and compares nothing.\n", s.divide)
	}
	if s.json != "" {
		failed = append(failed, writeJSON(s.json, all))
	}
	return errors.Join(failed...)
}

// byTurns runs ours and the limit in turn.
func (s *settings) byTurns(ctx context.Context, p *probe) (*outcome, error) {
	o := &outcome{Work: p.name, What: p.what, Ours: map[string][]float64{}, Limit: map[string][]float64{}}
	for turn := range s.turns {
		fmt.Fprintf(os.Stderr, "%s: run %d of %d\n", p.name, turn+1, s.turns)
		ours, err := s.runOurs(ctx, p)
		if err != nil {
			return nil, err
		}
		for name, v := range ours {
			o.Ours[name] = append(o.Ours[name], v)
		}
		for _, c := range p.claims {
			if c.limit == "" || s.limits == "" {
				continue
			}
			v, err := s.runLimit(ctx, &c)
			if ctx.Err() != nil {
				return nil, err
			}
			if err != nil { // as some do on a busy machine: the other turns count
				fmt.Fprintf(os.Stderr, "%s: limit %s: %v\n", p.name, c.limit, err)
				continue
			}
			o.Limit[c.metric] = append(o.Limit[c.metric], v*c.scale)
		}
	}
	return o, nil
}

// runOurs makes a run in a process of its own.
func (s *settings) runOurs(ctx context.Context, p *probe) (figures, error) {
	cmd, err := self(ctx, p.procs, "run", "--dir", s.dir, "--divide", strconv.Itoa(s.divide), p.name)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var f figures
	return f, json.Unmarshal(out, &f)
}

// self is this program again, with so many processors; 0: all.
func self(ctx context.Context, procs int, args ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stderr = os.Stderr
	if procs > 0 {
		cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(procs))
	}
	return cmd, nil
}

// limitRows is the size of the limits' table.
const limitRows = 1_000_000

// runLimit makes a run of a limit and returns its figure.
func (s *settings) runLimit(ctx context.Context, c *claim) (float64, error) {
	disk, err := filepath.Abs(s.dir)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, s.limits, "-test.run", "^$", "-test.bench", pattern(c.limit), "-test.benchtime", s.time, "-test.count", "1", "-test.cpu", "1")
	cmd.Env = append(os.Environ(), "LIMITS_DIR="+disk, "LIMITS_ROWS="+strconv.Itoa(max(1000, limitRows/s.divide)))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return figureOf(out, c.limit, c.metric)
}

// pattern matches one benchmark and no other.
func pattern(name string) string {
	parts := strings.Split("Benchmark"+name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// figureOf finds a metric of a benchmark in what the benchmarks printed.
func figureOf(out []byte, name, metric string) (float64, error) {
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		if len(w) < 4 || strings.TrimPrefix(w[0], "Benchmark") != name {
			continue
		}
		for i := 2; i+1 < len(w); i += 2 {
			if w[i+1] == metric {
				return strconv.ParseFloat(w[i], 64)
			}
		}
	}
	return 0, fmt.Errorf("no %s in its output: %s", metric, bytes.TrimSpace(out))
}

// judge takes the medians.
func (o *outcome) judge(p *probe) {
	for _, c := range p.claims {
		ours := o.Ours[c.figure]
		v := verdict{Figure: c.figure, Unit: c.unit, Ours: meter.Median(ours), Spread: meter.Spread(ours), Wanted: c.text()}
		v.Reached = c.reached(v.Ours)
		if c.limit != "" {
			v.Limit, v.Reached = meter.Median(o.Limit[c.metric]), false
			if v.Limit > 0 {
				v.Ratio = v.Ours / v.Limit
				v.Reached = c.reached(v.Ratio)
			}
		}
		o.Results = append(o.Results, v)
	}
}
