package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sync"

	"sluice/interop/casefile"
	"sluice/interop/casefile/runner"
	"sluice/interop/histories/judge"
)

// session runs histories and counts how they end.
type session struct {
	env      *runner.Env
	only     *regexp.Regexp
	explain  bool
	straight bool

	mu      sync.Mutex
	passed  int
	failed  int
	rules   map[judge.Rule]int
	unbuilt map[string]int
}

func newSession(only *regexp.Regexp, explain, straight bool) (*session, error) {
	env, err := runner.NewEnv("")
	if err != nil {
		return nil, err
	}
	return &session{
		env: env, only: only, explain: explain, straight: straight,
		rules: map[judge.Rule]int{}, unbuilt: map[string]int{},
	}, nil
}

func (s *session) close() error { return s.env.Close() }

// files runs the histories of some files.
func (s *session) files(ctx context.Context, files []string) error {
	for _, file := range files {
		if err := s.all(ctx, casefile.Histories(file), func(name string) string { return "make histories FILES=" + file + " ONLY=" + name }); err != nil {
			return err
		}
	}
	return nil
}

// all runs histories on all processors. repeat says how to run one again.
func (s *session) all(ctx context.Context, histories iter.Seq2[*casefile.History, error], repeat func(name string) string) error {
	work := make(chan *casefile.History)
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for h := range work {
				if errs[i] == nil && ctx.Err() == nil {
					errs[i] = s.one(ctx, h, repeat)
				}
			}
		})
	}
	var err error
	for h, readErr := range histories {
		if err = errors.Join(readErr, ctx.Err()); err != nil {
			break
		}
		if s.only == nil || s.only.MatchString(h.Case.Name) {
			work <- h
		}
	}
	close(work)
	wg.Wait()
	return errors.Join(err, errors.Join(errs...))
}

func (s *session) one(ctx context.Context, h *casefile.History, repeat func(name string) string) error {
	a, err := s.env.Answer(ctx, &h.Case, runner.Options{Defaults: runner.HistoryDefaults(), Straight: s.straight})
	var unbuilt *runner.UnbuiltError
	if err != nil && !errors.As(err, &unbuilt) {
		return fmt.Errorf("%s: %w", h.Case.Name, err)
	}
	var o judge.Outcome
	if unbuilt == nil {
		o = judge.Compare(&h.Case, &h.Answer, a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case unbuilt != nil:
		s.unbuilt[unbuilt.What]++
	case o.Status == judge.Passed:
		s.passed++
	case o.Status == judge.Explained:
		s.rules[o.Rule]++
		if s.explain {
			fmt.Printf("%s: explained, %s\n  %s\n", h.Case.Name, o.Rule, o.Detail)
		}
	default:
		s.failed++
		input, err := h.Case.Input()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n  repeat: %s\n  case: %s\n", h.Case.Name, o.Detail, repeat(h.Case.Name), input)
	}
	return nil
}

// report prints the counts and tells whether all is well.
func (s *session) report() bool {
	explained, sizes := 0, 0
	for _, rule := range judge.Rules() {
		if n := s.rules[rule]; n > 0 {
			fmt.Printf("explained: %s (%d)\n", rule, n)
			explained += n
			if rule.OfSizes() {
				sizes += n
			}
		}
	}
	skipped := 0
	for _, what := range slices.Sorted(maps.Keys(s.unbuilt)) {
		fmt.Printf("not built: %s (%d)\n", what, s.unbuilt[what])
		skipped += s.unbuilt[what]
	}
	total := s.passed + explained + s.failed
	// A few histories say nothing about a share.
	many := total >= 500 && sizes*100 > total*judge.SizesMaxPercent
	if many {
		fmt.Printf("%d of %d hang on the sizes of files: more than %d %%\n", sizes, total, judge.SizesMaxPercent)
	}
	if skipped > 0 {
		fmt.Printf("%d skipped\n", skipped)
	}
	fmt.Printf("%d passed, %d explained, %d failed\n", s.passed, explained, s.failed)
	return s.failed == 0 && !many && total > 0
}
