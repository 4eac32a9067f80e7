// Command histories runs random histories on our engine and compares with what
// another engine answered:
//
//	histories [-only REGEXP] [-explain] [-straight] FILES...
//	histories -fuzz -seed N [-from N] -count N [-engine E] [-producer P]
//
// Files are .jsonl or .jsonl.zst with a line {"case": ..., "answer": ...} each, as
// in testdata/histories. With -fuzz the histories are made anew and answered by
// the released Java, for which Java 17 and Maven are needed. Each difference is
// printed with what is needed to repeat it; the last line is "N passed, N
// explained, N failed". The exit code is 1 if anything failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context) (ok bool, err error) {
	var f fuzz
	fuzzing := flag.Bool("fuzz", false, "make the histories anew and let the released Java answer them")
	flag.Int64Var(&f.seed, "seed", 1, "of the histories that are made")
	flag.IntVar(&f.count, "count", 1000, "how many histories are made")
	flag.IntVar(&f.from, "from", 0, "number of the first history that is made")
	flag.StringVar(&f.engine, "engine", "", "merge engine of the histories that are made; all if empty")
	flag.StringVar(&f.producer, "producer", "", "changelog producer of the histories that are made; all if empty")
	only := flag.String("only", "", "run the histories whose whole names match this `regexp`")
	explain := flag.Bool("explain", false, "print what is explained too")
	straight := flag.Bool("straight", false, "write directly above level 0 where the table allows it")
	flag.Parse()
	if *fuzzing == (flag.NArg() > 0) {
		return false, fmt.Errorf("want files of histories, or -fuzz")
	}
	var pattern *regexp.Regexp
	if *only != "" {
		if pattern, err = regexp.Compile("^(?:" + *only + ")$"); err != nil {
			return false, err
		}
	}
	s, err := newSession(pattern, *explain, *straight)
	if err != nil {
		return false, err
	}
	defer func() {
		if closeErr := s.close(); err == nil {
			err = closeErr
		}
	}()
	if *fuzzing {
		err = f.run(ctx, s)
	} else {
		err = s.files(ctx, flag.Args())
	}
	if err != nil {
		return false, err
	}
	return s.report(), nil
}
