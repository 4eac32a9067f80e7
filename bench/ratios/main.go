package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"sluice/bench/tables"
)

// settings are what the command line chose.
type settings struct {
	dir     string
	limits  string
	turns   int
	divide  int
	time    string
	json    string
	profile string
	heap    string
}

const usage = `usage: ratios [flags] [WORK...]     our work and its limit by turns; all works by default
       ratios list                  what there is
       ratios run [flags] WORK      one run of ours, as JSON

`

// errUsage is a wrong use of the command line.
var errUsage = errors.New("see ratios --help")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "role":
			return play(ctx, args[1:], in, out)
		case "list":
			return list(out)
		case "run":
			s, names, err := parse(args[1:])
			if err != nil {
				return err
			}
			if len(names) != 1 {
				return fmt.Errorf("name one work: %w", errUsage)
			}
			return runOne(ctx, s, names[0], out)
		}
	}
	s, names, err := parse(args)
	if err != nil {
		return err
	}
	chosen := probes()
	if len(names) > 0 {
		chosen = nil
		for _, name := range names {
			p, err := probeOf(name)
			if err != nil {
				return err
			}
			chosen = append(chosen, *p)
		}
	}
	return compareAll(ctx, s, chosen, out)
}

func parse(args []string) (*settings, []string, error) {
	s := &settings{}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	f := flag.NewFlagSet("ratios", flag.ContinueOnError)
	f.Usage = func() { fmt.Fprint(f.Output(), usage); f.PrintDefaults() }
	f.StringVar(&s.dir, "dir", filepath.Join(cache, "sluice-bench"), "`folder` for tables, on the disk to be measured")
	f.StringVar(&s.limits, "limits", "", "test `program` of bench/limits; without it ours is measured alone")
	f.IntVar(&s.turns, "turns", 5, "`runs` of each side")
	f.IntVar(&s.divide, "divide", 1, "all counts by `N`, for quick checks")
	f.StringVar(&s.time, "time", "300ms", "least `time` of a run of a limit")
	f.StringVar(&s.json, "json", "", "`file` for the results and all runs as JSON")
	f.StringVar(&s.profile, "cpuprofile", "", "with run: `file` for a CPU profile")
	f.StringVar(&s.heap, "memprofile", "", "with run and memory-grpc or memory-websocket: `file` for a profile of what idle subscribers take")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil, err
		}
		return nil, nil, errUsage
	}
	if s.turns < 1 || s.divide < 1 {
		return nil, nil, fmt.Errorf("--turns, --divide: want at least 1: %w", errUsage)
	}
	return s, f.Args(), nil
}

func list(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range probes() {
		fmt.Fprintf(w, "%s\t%s\n", p.name, p.what)
		for _, c := range p.claims {
			fmt.Fprintf(w, "\t  %s\n", c.text())
		}
	}
	return w.Flush()
}

func probeOf(name string) (*probe, error) {
	all := probes()
	if i := slices.IndexFunc(all, func(p probe) bool { return p.name == name }); i >= 0 {
		return &all[i], nil
	}
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	return nil, fmt.Errorf("no work %q: want one of %s: %w", name, strings.Join(names, ", "), errUsage)
}

// env is what a work gets.
type env struct {
	*tables.Home
	divide int
	heap   string
}

// scaled is a count, made smaller for quick checks.
func (e *env) scaled(n int) int { return max(2, n/e.divide) }

// runOne is a run of ours in this process.
func runOne(ctx context.Context, s *settings, name string, out io.Writer) (err error) {
	p, err := probeOf(name)
	if err != nil {
		return err
	}
	home, err := tables.Open(s.dir, "ratios", true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	if s.heap != "" {
		runtime.MemProfileRate = 512
	}
	if s.profile != "" {
		f, err := os.Create(s.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	figures, err := p.run(ctx, &env{home, s.divide, s.heap})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return json.NewEncoder(out).Encode(figures)
}
