package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/interop/casefile"
)

// Verdict is what the model says to an answer.
type Verdict struct {
	Fault  string // what contradicts the model; "" if nothing does
	Commit int    // of the fault, from 1; 0: the rows at the end
	States int    // most states that a bucket could be in
}

// Judge compares an answer with the model. An error says that the model cannot
// follow the case; *UnknownError names what it does not know.
func Judge(c *casefile.Case, a *casefile.Answer, o Options) (Verdict, error) {
	m, err := New(c, o)
	if err != nil {
		return Verdict{}, err
	}
	j := judgement{Model: m, a: a}
	for i := range c.Commits {
		fault, done, err := j.commit(i)
		if err != nil {
			return j.v, fmt.Errorf("commit %d: %w", i+1, err)
		}
		if fault != "" {
			j.v.Fault, j.v.Commit = fault, i+1
			return j.v, nil
		}
		if done {
			return j.v, nil
		}
	}
	j.v.Fault, err = j.final()
	return j.v, err
}

type judgement struct {
	*Model
	a *casefile.Answer
	v Verdict
}

// commit follows commit i; done tells that it had to fail, and did.
func (j *judgement) commit(i int) (fault string, done bool, err error) {
	s := j.c.StepOf(i)
	if len(s.Alter) > 0 {
		if err := j.alter(s.Alter); err != nil {
			return "", false, err
		}
	}
	if err := j.dynamic(s.Dynamic); err != nil {
		return "", false, err
	}
	expected := j.a.Error != nil && j.a.Error.At == fmt.Sprint(i+1)
	rows, touched, err := j.rows(j.c.Commits[i])
	if err != nil {
		f, ok := fails(err)
		if !ok {
			return "", false, err
		}
		return j.failure(i, expected, map[string]bool{f.Meaning: true}, false), expected, nil
	}
	seen, err := j.observed(i)
	if err != nil && !expected {
		return "", false, err
	}
	places := j.places(s, len(j.c.Commits[i]) == 0, rows, touched)
	meanings := map[string]bool{}
	must := false
	for _, at := range places {
		steps, err := j.follow(at, s, rows[at], touched)
		if err != nil {
			return "", false, err
		}
		could := slices.ContainsFunc(steps, func(x step) bool { return x.err == nil })
		must = must || !could
		for _, x := range steps {
			if f, ok := fails(x.err); ok {
				meanings[f.Meaning] = true
			} else if x.err != nil {
				return "", false, x.err
			}
		}
		if expected {
			continue
		}
		states, fault := j.match(at, steps, seen[at], i)
		delete(seen, at)
		if fault != "" {
			if !could {
				fault = j.failure(i, false, meanings, true)
			}
			return fault, false, nil
		}
		j.v.States = max(j.v.States, len(states))
		j.buckets[at] = states
	}
	if expected {
		return j.failure(i, true, meanings, must), true, nil
	}
	for at, rows := range seen {
		if len(rows) > 0 {
			return fmt.Sprintf("changelog of commit %d: %v has %s, which must not be", i+1, at, strings.Join(rows, " ")), false, nil
		}
	}
	return "", false, nil
}

// failure compares an error that came, or did not, with what could go wrong.
func (j *judgement) failure(i int, came bool, possible map[string]bool, must bool) string {
	names := strings.Join(slices.Sorted(maps.Keys(possible)), ", ")
	switch {
	case came && possible[casefile.Meaning(j.a.Error.Message+" "+j.a.Error.Chain)]:
		return ""
	case came && len(possible) == 0:
		return fmt.Sprintf("commit %d: failed with %q, must not", i+1, j.a.Error.Message)
	case came:
		return fmt.Sprintf("commit %d: failed with %q, must fail with: %s", i+1, j.a.Error.Message, names)
	}
	return fmt.Sprintf("commit %d: must fail with: %s", i+1, names)
}

// observed returns the changes that a reader got from commit i, by bucket.
func (j *judgement) observed(i int) (map[spot][]string, error) {
	out := map[spot][]string{}
	if i >= len(j.a.Changelog) {
		if j.a.Error != nil {
			return nil, fmt.Errorf("the answer ends at commit %d with: %s", len(j.a.Changelog), j.a.Error.Message)
		}
		return nil, fmt.Errorf("the answer has %d commits", len(j.a.Changelog))
	}
	for _, c := range j.a.Changelog[i] {
		text, err := j.seen(c.Kind, c.Row)
		if err != nil {
			return nil, err
		}
		at := spot{c.Partition, c.Bucket}
		out[at] = append(out[at], text)
	}
	return out, nil
}

// places returns the buckets that a commit may concern, and empties those that
// an overwrite replaces. A commit that is empty asks for a full compaction of all
// buckets.
func (j *judgement) places(s casefile.Step, empty bool, rows map[spot][]*record, touched map[spot]bool) []spot {
	all := map[spot]bool{}
	for at := range touched {
		all[at] = true
	}
	if s.Mode == "overwrite" {
		for at := range j.buckets {
			replaced := len(j.partition) == 0
			for new := range rows {
				replaced = replaced || new.partition == at.partition
			}
			if replaced {
				delete(j.buckets, at)
			}
		}
	} else {
		if s.Compact == "full" && empty && len(j.partition) == 0 {
			for b := range j.numBuckets {
				touched[spot{"", b}] = true
			}
		}
		for at := range j.buckets {
			all[at] = true
		}
	}
	out := slices.Collect(maps.Keys(all))
	slices.SortFunc(out, func(a, b spot) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// follow returns what may come of a commit in a bucket.
func (j *judgement) follow(at spot, s casefile.Step, rows []*record, touched map[spot]bool) ([]step, error) {
	states := j.buckets[at]
	if len(states) == 0 {
		states = []*bucket{{}}
	}
	var out []step
	for _, b := range states {
		if b.waited != 0 && forgets(s) {
			b = &bucket{runs: b.runs, next: b.next}
		}
		flushed := j.flush(b, rows)
		if flushed.err != nil {
			out = append(out, flushed)
			continue
		}
		if s.Mode == "overwrite" {
			flushed.changes = nil
			for _, x := range j.picks(flushed) {
				x.changes = nil
				if x.err == nil {
					x.state = j.upgraded(x.state) // and the writer is done
				}
				out = append(out, x)
			}
			continue
		}
		if j.writeOnly && s.User == "" {
			out = append(out, flushed)
			continue
		}
		begun := []step{flushed}
		if s.Compact == "full" && (touched[at] || s.User != "") {
			begun = j.compact(flushed, j.full(flushed.state.runs))
		}
		for _, x := range begun {
			if x.err != nil {
				out = append(out, x)
				continue
			}
			out = append(out, j.picks(x)...)
			if !touched[at] {
				out = append(out, x) // nobody may have looked at it
			}
		}
		if len(out) > StatesMax {
			return nil, &UnknownError{fmt.Sprintf("so many states: %d", len(out))}
		}
	}
	return out, nil
}

// forgets tells whether the commit is that of a writer that was opened anew, and so
// knows nothing of what was not picked before.
func forgets(s casefile.Step) bool {
	return s.Reopen || s.Crash || s.User != "" || len(s.Alter) > 0 || len(s.Dynamic) > 0 || s.Index != "" && s.Index != casefile.IndexSave
}

// full is the pick of a full compaction that was asked for; files of the highest
// level are written again if they have records that are too old.
func (j *judgement) full(runs []run) pick {
	p := j.picker.on(runs)
	if len(runs) == 1 && runs[0].level == p.top && j.expiry.any(runs) {
		return pick{1, p.top}
	}
	return p.full(runs)
}

// upgraded moves the file of an overwrite that was not compacted to the highest
// level, deletes and all (semantics section 1.7).
func (j *judgement) upgraded(b *bucket) *bucket {
	if len(b.runs) != 1 || b.runs[0].level != 0 {
		return &bucket{next: b.next, runs: b.runs}
	}
	return &bucket{next: b.next, runs: []run{{level: j.picker.top, records: b.runs[0].records}}}
}

// picks returns what may come of the compaction that each commit begins.
func (j *judgement) picks(s step) []step {
	var out []step
	for _, p := range j.picker.on(s.state.runs).choices(s.state) {
		from := s
		if p.waited != s.state.waited {
			from.state = &bucket{runs: s.state.runs, next: s.state.next, waited: p.waited}
		}
		done := j.compact(from, p.pick)
		for i := range done {
			done[i].compacted = done[i].compacted || s.compacted
		}
		out = append(out, done...)
	}
	return out
}

// match keeps the states whose changes are those that were seen.
func (j *judgement) match(at spot, steps []step, seen []string, i int) ([]*bucket, string) {
	states := map[string]*bucket{}
	texts := map[string]bool{}
	for _, x := range steps {
		if x.err != nil {
			continue
		}
		got := j.texts(x.changes)
		if slices.Equal(got, seen) && j.kinds(i, x.compacted) {
			states[x.state.text()] = x.state
		} else {
			texts[strings.Join(got, " ")] = true
		}
	}
	if len(states) == 0 {
		possible := slices.Sorted(maps.Keys(texts))
		if len(possible) > 4 {
			possible = append(possible[:4], "…")
		}
		return nil, fmt.Sprintf("changelog of commit %d, %v: got %q, must be %q", i+1, at, strings.Join(seen, " "), possible)
	}
	out := make([]*bucket, 0, len(states))
	for _, k := range slices.Sorted(maps.Keys(states)) {
		out = append(out, states[k])
	}
	return out, ""
}

// kinds compares whether there was a compaction with the kinds of snapshots, which
// tell it for a table of one bucket.
func (j *judgement) kinds(i int, compacted bool) bool {
	if !j.o.Kinds || j.numBuckets > 1 || len(j.partition) > 0 || i >= len(j.a.Kinds) {
		return true
	}
	return slices.Contains(j.a.Kinds[i], "COMPACT") == compacted
}

// final compares the rows that a batch read gives at the end.
func (j *judgement) final() (string, error) {
	got := map[spot][]string{}
	expected := j.a.Error != nil && j.a.Error.At == "read"
	if !expected {
		if j.a.Error != nil {
			return "failed: " + j.a.Error.Message, nil
		}
		for _, x := range j.a.Final {
			row, ok := x.([]any)
			if !ok {
				return "", fmt.Errorf("row %v is no list", x)
			}
			text, err := j.seen("", row)
			if err != nil {
				return "", err
			}
			at, err := j.spotOf(row)
			if err != nil {
				return "", err
			}
			got[at] = append(got[at], text)
		}
	}
	meanings := map[string]bool{}
	for at, states := range j.buckets {
		possible, ok := map[string]bool{}, false
		slices.Sort(got[at])
		for _, b := range states {
			rows, err := j.read(b)
			if f, is := fails(err); is {
				meanings[f.Meaning] = true
				continue
			} else if err != nil {
				return "", err
			}
			texts := make([]string, len(rows))
			for i := range rows {
				texts[i] = j.text("", rows[i].vals)
			}
			slices.Sort(texts)
			ok = ok || slices.Equal(texts, got[at])
			possible[strings.Join(texts, " ")] = true
		}
		if !ok && !expected {
			return fmt.Sprintf("final rows, %v: got %q, must be %q", at, strings.Join(got[at], " "), slices.Sorted(maps.Keys(possible))), nil
		}
		delete(got, at)
	}
	if expected {
		return j.failure(len(j.c.Commits), true, meanings, false), nil
	}
	for at, rows := range got {
		if len(rows) > 0 {
			return fmt.Sprintf("final rows, %v: got %q, must be empty", at, strings.Join(rows, " ")), nil
		}
	}
	return "", nil
}

// spotOf returns where a row of an answer lies.
func (j *judgement) spotOf(row []any) (spot, error) {
	at := spot{}
	var err error
	if at.bucket, err = j.place(row); err != nil {
		return at, err
	}
	var names []string
	for _, p := range j.partition {
		names = append(names, fmt.Sprintf("%s=%v", j.engine.columns[p].name, row[p]))
	}
	at.partition = strings.Join(names, "/")
	return at, nil
}
