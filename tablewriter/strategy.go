package tablewriter

import (
	"math"
	"slices"
	"strings"
	"time"

	"sluice/lsm"
	"sluice/paimon"
	"sluice/producer"
)

// strategy is how and when the buckets of a table are compacted, as its options
// say (semantics sections 1.6 to 1.9, 2.1 and 2.2).
type strategy struct {
	compacts  bool // false: append tables and write-only ones
	lookup    bool // what level 0 holds must go up: readers and changelog ask for it
	wait      bool // commits wait for compaction
	numLevels int
	stopRuns  int // sorted runs at which writing waits
	pick      lsm.PickOptions

	fullCommits  int64         // a full compaction each so many commits; 0: none
	fullInterval time.Duration // and after so long; 0: none
}

// gentleName is the value of lookup-compact with which level 0 may wait.
const gentleName = "gentle"

// newStrategy reads the options of a table with a primary key. A compaction job
// works also where writers must not compact.
func newStrategy(s *paimon.Schema, job bool) (*strategy, error) {
	r := optionReader{options: s.Options}
	st := &strategy{compacts: job || !r.bool(paimon.OptWriteOnly, false)}
	if !st.compacts {
		return st, nil
	}
	trigger := r.int(paimon.OptNumSortedRunTrigger, 5)
	st.numLevels = max(r.int(paimon.OptNumLevels, trigger+1), 2)
	st.stopRuns = max(r.int(paimon.OptNumSortedRunStopTrigger, trigger+3), trigger)
	st.lookup = s.MergeEngine() == paimon.FirstRow || s.ChangelogProducer() == paimon.ProducerLookup || r.bool(paimon.OptForceLookup, false)
	st.wait = st.lookup && r.bool(paimon.OptLookupWait, true) || r.bool(paimon.OptCommitForceCompact, false)
	st.pick = lsm.PickOptions{
		Trigger: trigger, MaxAmplification: r.int(paimon.OptCompactionMaxSizeAmplification, 200), SizeRatio: r.int(paimon.OptCompactionSizeRatio, 1),
		OffPeakStart: r.int("compaction.offpeak.start.hour", -1), OffPeakEnd: r.int("compaction.offpeak.end.hour", -1),
		OffPeakRatio: r.int("compaction.offpeak-ratio", 0),
		FullInterval: r.duration("compaction.optimization-interval"), FullTotalBytes: r.memory("compaction.total-size-threshold", 0),
		FullUpdatedBytes: r.memory("compaction.incremental-size-threshold", math.MaxInt64),
		GentleInterval:   r.int("lookup-compact.max-interval", 2*trigger),
	}
	switch {
	case st.lookup && strings.EqualFold(s.Options["lookup-compact"], gentleName):
		st.pick.Force = lsm.ForceGently
	case st.lookup || r.bool(paimon.OptCompactionForceUpLevel0, false):
		st.pick.Force = lsm.ForceRadical
	}
	if s.ChangelogProducer() == paimon.ProducerFullCompaction {
		st.fullCommits = 1
	}
	if r.has(paimon.OptFullCompactionDeltaCommits) {
		st.fullCommits = int64(max(r.int(paimon.OptFullCompactionDeltaCommits, 1), 1))
	}
	if r.has(compactionInterval) {
		st.fullInterval = r.duration(compactionInterval)
		if !r.has(paimon.OptFullCompactionDeltaCommits) {
			st.fullCommits = 0 // time alone decides
		}
	}
	return st, r.err
}

// compactionInterval is the option that asks for a full compaction after a time.
const compactionInterval = "changelog-producer.compaction-interval"

// optionReader reads options and keeps the first error.
type optionReader struct {
	options paimon.Options
	err     error
}

func (r *optionReader) has(key string) bool { return r.options.Has(key) }

func (r *optionReader) int(key string, unset int) int {
	return readOption(r, key, unset, r.options.Int)
}

func (r *optionReader) bool(key string, unset bool) bool {
	return readOption(r, key, unset, r.options.Bool)
}

func (r *optionReader) float(key string, unset float64) float64 {
	return readOption(r, key, unset, r.options.Float)
}

func (r *optionReader) memory(key string, unset int64) int64 {
	return readOption(r, key, unset, func(key string) (int64, error) {
		text := r.options.Text(key)
		n, err := paimon.ParseMemory(text)
		if err != nil {
			err = &paimon.OptionError{Key: key, Value: text, Want: "a memory size such as '1 gb'"}
		}
		return n, err
	})
}

func (r *optionReader) duration(key string) time.Duration {
	return readOption(r, key, 0, func(key string) (time.Duration, error) {
		text := r.options.Text(key)
		d, err := paimon.ParseDuration(text)
		if err != nil {
			err = &paimon.OptionError{Key: key, Value: text, Want: "a time span such as '10 min'"}
		}
		return d, err
	})
}

func readOption[T any](r *optionReader, key string, unset T, read func(string) (T, error)) T {
	if !r.options.Has(key) {
		return unset
	}
	v, err := read(key)
	if err != nil && r.err == nil {
		r.err = err
	}
	return v
}

// newProducer returns what makes the changelog of one bucket's compactions. The
// memory that it keeps serves one goroutine.
func (h *shape) newProducer(b *bucket) producer.Producer {
	s := h.schema
	full := s.ChangelogProducer() == paimon.ProducerFullCompaction
	o := producer.Options{
		Engine: h.engine, Order: h.order, Key: s.TrimmedKey(),
		Silent: h.silent || !full && s.ChangelogProducer() != paimon.ProducerLookup,
	}
	if h.expiry != nil {
		o.Expired = b.isExpired
	}
	prev := &previous{bucket: b}
	o.RowDeduplicate, _ = s.Options.Bool(paimon.OptChangelogRowDeduplicate)
	// The names are not trimmed, so that of "a, b" only a is found (semantics
	// section 4.3).
	for _, name := range strings.Split(s.Options.Text(paimon.OptChangelogRowDeduplicateIgnore), ",") {
		if c := s.Index(name); c >= 0 && !slices.Contains(o.Ignore, c) {
			o.Ignore = append(o.Ignore, c)
		}
	}
	switch {
	case full && !h.silent:
		return producer.NewFullCompaction(o)
	case s.MergeEngine() == paimon.FirstRow:
		return producer.NewFirstRow(o, prev)
	case h.strategy.lookup:
		return producer.NewLookup(o, prev)
	}
	return producer.None{}
}
