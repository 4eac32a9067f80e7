package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sluice/interop/casefile"
	"sluice/interop/oracle"
)

// fuzz makes histories and has them answered by the released Java.
type fuzz struct {
	seed             int64
	from, count      int
	engine, producer string
}

// fuzzBatch is how many histories are answered at a time.
const fuzzBatch = 500

func (f *fuzz) run(ctx context.Context, s *session) (err error) {
	java, err := oracle.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, java.Close()) }()
	dir, err := os.MkdirTemp("", "sluice-histories-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return s.all(ctx, f.histories(java, filepath.Join(dir, "cases.jsonl")), f.repeat)
}

// repeat says how to make a history again: history i of a seed hangs on both alone,
// and on what was asked for.
func (f *fuzz) repeat(name string) string {
	_, i, _ := strings.Cut(name, "_")
	text := fmt.Sprintf("make oracle-fuzz SEED=%d FROM=%s COUNT=1", f.seed, i)
	if f.engine != "" {
		text += " ENGINE=" + f.engine
	}
	if f.producer != "" {
		text += " PRODUCER=" + f.producer
	}
	return text
}

// histories yields the histories batch by batch.
func (f *fuzz) histories(java *oracle.Oracle, file string) iter.Seq2[*casefile.History, error] {
	return func(yield func(*casefile.History, error) bool) {
		for from := f.from; from < f.from+f.count; from += fuzzBatch {
			batch, err := f.batch(java, file, from, min(fuzzBatch, f.from+f.count-from))
			if err != nil {
				yield(nil, err)
				return
			}
			for _, h := range batch {
				if !yield(h, nil) {
					return
				}
			}
		}
	}
}

func (f *fuzz) batch(java *oracle.Oracle, file string, from, count int) ([]*casefile.History, error) {
	args := []string{"histories", "--seed", strconv.FormatInt(f.seed, 10), "--from", strconv.Itoa(from), "--count", strconv.Itoa(count)}
	if f.engine != "" {
		args = append(args, "--engine", f.engine)
	}
	if f.producer != "" {
		args = append(args, "--producer", f.producer)
	}
	cases, err := java.Run(args...)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(strings.Join(cases, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	answers, err := java.Run("answer", file)
	if err != nil {
		return nil, err
	}
	if len(answers) != len(cases) {
		return nil, fmt.Errorf("%d histories have %d answers", len(cases), len(answers))
	}
	out := make([]*casefile.History, len(cases))
	for i := range cases {
		c, err := casefile.ParseCase([]byte(cases[i]))
		if err != nil {
			return nil, err
		}
		a, err := casefile.ParseAnswer([]byte(answers[i]))
		if err != nil {
			return nil, err
		}
		if a.Name != c.Name {
			return nil, fmt.Errorf("history %s has the answer of %s", c.Name, a.Name)
		}
		out[i] = &casefile.History{Case: *c, Answer: *a}
	}
	return out, nil
}
