package model

import (
	"slices"
	"time"

	"sluice/paimon"
)

// expiry is record-level.expire-time with its time column, of seconds: compactions
// and what they look up leave out what is older. What is tested is far from now, so
// that the time of a compaction does not matter.
type expiry struct {
	on     bool
	column int
	limit  int64 // what is before is too old, seconds
}

func (e *expiry) build(options map[string]string, columns []column) error {
	*e = expiry{}
	text, ok := options["record-level.expire-time"]
	if !ok {
		return nil
	}
	after, err := paimon.ParseDuration(text)
	if err != nil {
		return err
	}
	e.column = slices.IndexFunc(columns, func(c column) bool { return c.name == options["record-level.time-field"] })
	if e.column < 0 || columns[e.column].root != "INT" {
		return &UnknownError{"record-level.time-field that is no INT"}
	}
	e.on, e.limit = true, time.Now().Unix()-int64(after/time.Second)
	return nil
}

func (e *expiry) old(r *record) bool {
	if !e.on {
		return false
	}
	at, ok := r.vals[e.column].(int64)
	return ok && at < e.limit
}

// any tells whether runs have records that are too old.
func (e *expiry) any(runs []run) bool {
	return e.on && slices.ContainsFunc(runs, func(r run) bool { return slices.ContainsFunc(r.records, e.old) })
}

// left returns the runs without what is too old.
func (e *expiry) left(runs []run) []run {
	if !e.on {
		return runs
	}
	out := slices.Clone(runs)
	for i := range out {
		out[i].records = slices.DeleteFunc(slices.Clone(out[i].records), e.old)
	}
	return out
}
