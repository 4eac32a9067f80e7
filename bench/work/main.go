package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"

	"sluice/bench/orders"
	"sluice/bench/tables"
	"sluice/internal/gctarget"
)

// settings are what the command line chose.
type settings struct {
	warmup, reps int
	divide       uint64
	seed         uint64
	dir, peer    string // folders for tables: ours, and the peer's home
	fsync        bool
	digest       bool // timed reads digest their rows; else they count them
	paced        bool
	profile      string
}

// scaled is a count of the definition, made smaller for quick checks.
func (s *settings) scaled(count uint64) uint64 { return max(1, count/s.divide) }

const usage = `usage: work [flags] WORK...
       work list

Does works of bench/peer/README.md with this project and prints a line of JSON a
run. WORK is one of: %s.

`

// memoryBytes is the soft limit of memory with which `gateway write` writes a table
// with lookup and default options.
const memoryBytes = 544 << 20

func main() {
	gctarget.Set(memoryBytes)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	var wrong usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case errors.As(err, &wrong):
		fmt.Fprintln(os.Stderr, "work:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "work:", err)
		os.Exit(1)
	}
}

// usageError is a wrong use of the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func parse(args []string) (s *settings, names []string, err error) {
	s = &settings{}
	f := flag.NewFlagSet("work", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), usage, strings.Join(workNames(), ", "))
		f.PrintDefaults()
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	peer := os.Getenv("SLUICE_BENCH_HOME")
	if peer == "" {
		peer = filepath.Join(cache, "sluice-bench-paimon")
	}
	f.IntVar(&s.warmup, "warmup", 1, "`runs` before the measured ones")
	f.IntVar(&s.reps, "reps", 5, "measured `runs`")
	f.Uint64Var(&s.divide, "divide", 1, "all counts of rows by `N`, for quick checks")
	f.Uint64Var(&s.seed, "seed", orders.Seed, "`seed` of the rows")
	f.StringVar(&s.dir, "dir", filepath.Join(cache, "sluice-bench"), "`folder` for tables, on the disk to be measured")
	f.StringVar(&s.peer, "peer", peer, "the peer's home `folder` (SLUICE_BENCH_HOME), where its prepared tables are")
	f.BoolVar(&s.fsync, "fsync", true, "sync files and folders; the peer does not")
	consumer := f.String("consumer", "digest", "of timed reads: `digest` touches every column, count does not")
	f.BoolVar(&s.paced, "paced", false, "wait for a line on the standard input before each run")
	f.StringVar(&s.profile, "cpuprofile", "", "`file` for a CPU profile of the measured runs, what is not timed included")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil, err
		}
		return nil, nil, usageError("see work --help")
	}
	switch {
	case *consumer != "digest" && *consumer != "count":
		return nil, nil, usageError("--consumer: want digest or count")
	case s.divide == 0:
		return nil, nil, usageError("--divide: want at least 1")
	case s.warmup < 0 || s.reps < 0:
		return nil, nil, usageError("--warmup, --reps: want at least 0")
	case f.NArg() == 0:
		f.Usage()
		return nil, nil, usageError("name a work")
	}
	s.digest = *consumer == "digest"
	return s, f.Args(), nil
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	s, names, err := parse(args)
	if err != nil {
		return err
	}
	if names[0] == "list" {
		for _, name := range workNames() {
			fmt.Fprintln(out, name)
		}
		return nil
	}
	for _, name := range names {
		if workOf(name) == nil {
			return usageError(fmt.Sprintf("no work %q: want one of %s", name, strings.Join(workNames(), ", ")))
		}
	}
	t, err := tables.Open(s.dir, "work", s.fsync)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := runWork(ctx, &home{settings: s, Home: t}, name, in, out); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", name, err), t.Close())
		}
	}
	return t.Close()
}

// runWork prepares a work's tables and runs it as often as the settings say. The
// last run makes the digests that are not of the timed part.
func runWork(ctx context.Context, h *home, name string, in io.Reader, out io.Writer) error {
	w := workOf(name)
	if w.prepare != nil {
		if err := w.prepare(ctx, h); err != nil {
			return err
		}
	}
	stopProfile := func() {}
	defer func() { stopProfile() }()
	for i := range h.warmup + h.reps {
		if h.paced {
			if err := awaitLine(in); err != nil {
				return err
			}
		}
		if i == h.warmup && h.profile != "" {
			stop, err := startProfile(h.profile)
			if err != nil {
				return err
			}
			stopProfile = stop
		}
		r, err := w.run(ctx, h, i == h.warmup+h.reps-1)
		if err != nil {
			return err
		}
		phase, rep := "measure", i-h.warmup+1
		if i < h.warmup {
			phase, rep = "warmup", i+1
		}
		if err := r.print(out, name, phase, rep); err != nil {
			return err
		}
	}
	return nil
}

func startProfile(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "work: profile:", err)
		}
	}, nil
}

// awaitLine reads to the end of a line, no further.
func awaitLine(in io.Reader) error {
	var b [1]byte
	for {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return fmt.Errorf("paced run: %w", err)
		}
		if b[0] == '\n' {
			return nil
		}
	}
}
