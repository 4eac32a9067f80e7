package model

import (
	"fmt"
	"slices"

	"sluice/interop/casefile"
)

// Play makes an answer that the model finds possible: wherever there are several
// ways to go on, choose picks one of n.
func Play(c *casefile.Case, o Options, choose func(n int) int) (*casefile.Answer, error) {
	m, err := New(c, o)
	if err != nil {
		return nil, err
	}
	j := judgement{Model: m, a: &casefile.Answer{Name: c.Name}}
	for i := range c.Commits {
		err := j.play(i, choose)
		if f, ok := fails(err); ok {
			j.a.Error = &casefile.Error{At: fmt.Sprint(i + 1), Class: "model", Message: f.Meaning}
			return j.a, nil
		}
		if err != nil {
			return nil, fmt.Errorf("commit %d: %w", i+1, err)
		}
	}
	return j.a, j.playEnd()
}

func (j *judgement) play(i int, choose func(n int) int) error {
	s := j.c.StepOf(i)
	if len(s.Alter) > 0 {
		if err := j.alter(s.Alter); err != nil {
			return err
		}
	}
	if err := j.dynamic(s.Dynamic); err != nil {
		return err
	}
	rows, touched, err := j.rows(j.c.Commits[i])
	if err != nil {
		return err
	}
	changes, compacted := []casefile.Change{}, false
	for _, at := range j.places(s, len(j.c.Commits[i]) == 0, rows, touched) {
		steps, err := j.follow(at, s, rows[at], touched)
		if err != nil {
			return err
		}
		x := steps[choose(len(steps))]
		if x.err != nil {
			return x.err
		}
		j.buckets[at] = []*bucket{x.state}
		compacted = compacted || x.compacted
		for _, ch := range x.changes {
			changes = append(changes, casefile.Change{Kind: ch.kind, Row: j.row(ch.vals), Partition: at.partition, Bucket: at.bucket})
		}
	}
	kinds := []string{"APPEND"}
	if s.Mode == "overwrite" {
		kinds[0] = "OVERWRITE"
	}
	if compacted {
		kinds = append(kinds, "COMPACT")
	}
	j.a.Changelog, j.a.Kinds = append(j.a.Changelog, changes), append(j.a.Kinds, kinds)
	return nil
}

func (j *judgement) playEnd() error {
	final := []any{}
	for _, states := range j.buckets {
		rows, err := j.read(states[0])
		if f, ok := fails(err); ok {
			j.a.Error = &casefile.Error{At: "read", Class: "model", Message: f.Meaning}
			return nil
		}
		if err != nil {
			return err
		}
		for _, r := range rows {
			final = append(final, j.row(r.vals))
		}
	}
	j.a.Final = final
	return nil
}

// row renders values as an answer has them.
func (m *Model) row(vals []any) []any {
	out := make([]any, len(vals))
	for i, v := range vals {
		out[i] = m.engine.columns[i].json(v)
	}
	return out
}

// Rows renders rows that a case has at the end so that equal ones have equal texts,
// whatever order a hash table gave to what is in them. The texts are sorted.
func Rows(c *casefile.Case, final []any) ([]string, error) {
	m, err := New(c, Options{})
	if err != nil {
		return nil, err
	}
	for _, s := range c.Steps {
		if len(s.Alter) > 0 {
			if err := m.alter(s.Alter); err != nil {
				return nil, err
			}
		}
	}
	out := make([]string, len(final))
	for i := range final {
		if out[i], err = m.seen("", final[i]); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return out, nil
}
