package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
)

type settings struct {
	ours, peer string // commands
	turns      int
	warmup     int
	divide     int
	fsync      bool
	json       string
}

const usage = `usage: compare --ours PROGRAM [flags] WORK...

Runs works with this project and with Paimon Java by turns and prints the ratios
of their medians. "all" names all works that both can do.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("see compare --help")

func parse(args []string) (*settings, []string, error) {
	s := &settings{}
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.Usage = func() { fmt.Fprint(f.Output(), usage); f.PrintDefaults() }
	f.StringVar(&s.ours, "ours", "", "`program` built of bench/work")
	f.StringVar(&s.peer, "peer", "bench/peer/bench-paimon", "`program` of the peer")
	f.IntVar(&s.turns, "turns", 5, "measured `runs` of each side")
	f.IntVar(&s.warmup, "warmup", 1, "`runs` of each side before them")
	f.IntVar(&s.divide, "divide", 1, "all counts of rows by `N`, for quick checks")
	f.BoolVar(&s.fsync, "fsync", true, "sync files and folders on our side; the peer does not")
	f.StringVar(&s.json, "json", "", "`file` for the results and all runs as JSON")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil, err
		}
		return nil, nil, errUsage
	}
	if s.ours == "" || s.turns < 1 || s.warmup < 0 || s.divide < 1 || f.NArg() == 0 {
		f.Usage()
		return nil, nil, errUsage
	}
	return s, f.Args(), nil
}

func run(ctx context.Context, args []string) error {
	s, names, err := parse(args)
	if err != nil {
		return err
	}
	if slices.Equal(names, []string{"all"}) {
		if names, err = list(ctx, s.ours); err != nil {
			return err
		}
	}
	var all []*comparison
	var failed []error
	for _, name := range names {
		c, err := s.compare(ctx, name)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			fmt.Printf("%s not compared: %v\n", name, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		fmt.Println(c.line())
		all = append(all, c)
	}
	if len(all) > 0 {
		printTable(os.Stdout, all)
		if s.divide > 1 {
			fmt.Printf("\nCounts were divided by %d: this checks the works and compares nothing.\n", s.divide)
		}
		if s.json != "" {
			failed = append(failed, writeJSON(s.json, all))
		}
	}
	return errors.Join(failed...)
}

// compare runs one work.
func (s *settings) compare(ctx context.Context, name string) (_ *comparison, err error) {
	counts := []string{"--warmup", strconv.Itoa(s.warmup), "--reps", strconv.Itoa(s.turns), "--divide", strconv.Itoa(s.divide)}
	peer, err := start(ctx, s.peer, append(slices.Clone(counts), "--paced", "yes", name)...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, peer.end()) }()
	var ours *side
	defer func() {
		if ours != nil {
			err = errors.Join(err, ours.end())
		}
	}()
	c := &comparison{Work: name}
	for turn := range s.warmup + s.turns {
		b, err := peer.next()
		if err != nil {
			return nil, fmt.Errorf("peer: %w", err)
		}
		if ours == nil { // now that the peer has prepared what ours may need
			if ours, err = start(ctx, s.ours, append(slices.Clone(counts), "--paced", "--fsync="+strconv.FormatBool(s.fsync), name)...); err != nil {
				return nil, err
			}
		}
		a, err := ours.next()
		if err != nil {
			return nil, fmt.Errorf("ours: %w", err)
		}
		c.OursRuns, c.PeerRuns = append(c.OursRuns, a), append(c.PeerRuns, b)
		progress(name, turn, s, a, b)
	}
	return c, c.conclude()
}

func progress(name string, turn int, s *settings, a, b *record) {
	kind := fmt.Sprintf("run %d of %d", turn-s.warmup+1, s.turns)
	if turn < s.warmup {
		kind = "warm-up"
	}
	fmt.Fprintf(os.Stderr, "%s %s: ours %s, peer %s rows/CPU s\n", name, kind, short(a.rate()), short(b.rate()))
}
