package lsm

import (
	"math"
	"time"
)

// ForceLevel0 says whether level 0 is compacted when nothing else asks for it
// (semantics section 2.2).
type ForceLevel0 uint8

// The rules.
const (
	ForceNever   ForceLevel0 = iota
	ForceRadical             // at every pick
	ForceGently              // at every so many picks that find nothing else to do
)

// PickOptions are the options of the universal compaction. Begin with
// [DefaultPickOptions]: the zero value of a field is a value of its own.
type PickOptions struct {
	Trigger          int // sorted runs from which compaction begins: num-sorted-run.compaction-trigger
	MaxAmplification int // per cent: compaction.max-size-amplification-percent
	SizeRatio        int // per cent: compaction.size-ratio

	// From OffPeakStart to OffPeakEnd (hours of the day, exclusive, possibly over
	// midnight) OffPeakRatio is added to SizeRatio. -1 or equal hours: never.
	OffPeakStart, OffPeakEnd int // compaction.offpeak.start.hour, compaction.offpeak.end.hour
	OffPeakRatio             int // per cent: compaction.offpeak-ratio

	FullInterval     time.Duration // compaction.optimization-interval; 0: unset
	FullTotalBytes   int64         // a bucket smaller than this is compacted as a whole: compaction.total-size-threshold; 0: unset
	FullUpdatedBytes int64         // as is one with more than this below the highest level: compaction.incremental-size-threshold; MaxInt64: unset

	Force ForceLevel0
	// GentleInterval is the number of picks of [ForceGently]:
	// lookup-compact.max-interval. At least Trigger is used.
	GentleInterval int
}

// DefaultPickOptions returns the defaults of the format.
func DefaultPickOptions() PickOptions {
	return PickOptions{
		Trigger: 5, MaxAmplification: 200, SizeRatio: 1, OffPeakStart: -1, OffPeakEnd: -1,
		FullUpdatedBytes: math.MaxInt64, GentleInterval: 10,
	}
}

// Reason says why runs were picked.
type Reason string

// The reasons.
const (
	ReasonInterval      Reason = "the last full compaction is long ago"
	ReasonSmallBucket   Reason = "the bucket is small"
	ReasonUpdated       Reason = "much lies below the highest level"
	ReasonAmplification Reason = "size amplification"
	ReasonSizeRatio     Reason = "size ratio"
	ReasonFileNumber    Reason = "number of sorted runs"
	ReasonLevel0        Reason = "level 0 must go up"
	ReasonStraight      Reason = "rows go straight above level 0"
	ReasonFull          Reason = "full compaction"
	ReasonRewrite       Reason = "files must be rewritten"
)

// Pick is a decision: which runs are compacted, and to which level.
type Pick struct {
	Runs   int   // so many from the beginning of the list of runs
	Output int32 // never level 0
	Reason Reason
	// Rewrite is set instead of Runs where only single files of the highest level
	// are to be written again, each by itself.
	Rewrite []*File
}

// Picker decides when runs are compacted. What it remembers belongs to one
// bucket. It belongs to one goroutine.
type Picker struct {
	opts     PickOptions
	lastFull time.Time // zero: unknown
	waited   int       // picks that found nothing, see ForceGently
}

// NewPicker returns the picker of a bucket whose last full compaction was at
// lastFull; the zero time if that is not known.
func NewPicker(o PickOptions, lastFull time.Time) *Picker {
	return &Picker{opts: o, lastFull: lastFull}
}

// Pick decides about the runs, given in the order of [Levels.Runs]; top is the
// highest level. With ok false nothing is to be done.
func (p *Picker) Pick(runs []Run, top int32, now time.Time) (_ Pick, ok bool) {
	pick, ok := p.opts.universal(runs, top, p.lastFull, now)
	if !ok && p.force() {
		pick, ok = p.opts.forceLevel0(runs, top, now)
	}
	if !ok {
		return Pick{}, false
	}
	if pick.Runs == len(runs) {
		p.lastFull = now
	}
	return pick, !settled(runs[:pick.Runs], pick.Output)
}

// Peek is Pick without remembering that it was asked.
func (p *Picker) Peek(runs []Run, top int32, now time.Time) (Pick, bool) {
	q := *p
	return q.Pick(runs, top, now)
}

// force tells whether level 0 must go up although nothing else was picked.
func (p *Picker) force() bool {
	switch p.opts.Force {
	case ForceRadical:
		return true
	case ForceGently:
		p.waited++
		if p.waited == max(p.opts.GentleInterval, p.opts.Trigger) {
			p.waited = 0
			return true
		}
	}
	return false
}

// settled tells whether there is nothing to compact: no file, or one that is on
// its level already.
func settled(runs []Run, output int32) bool {
	files := 0
	for i := range runs {
		files += runs[i].files()
	}
	return files == 0 || files == 1 && runs[0].Level == output
}

// universal is the pick of semantics section 2.3.
func (o *PickOptions) universal(runs []Run, top int32, lastFull, now time.Time) (Pick, bool) {
	if len(runs) == 0 {
		return Pick{}, false
	}
	if reason := o.earlyFull(runs, top, lastFull, now); reason != "" {
		return Pick{Runs: len(runs), Output: top, Reason: reason}, true
	}
	if len(runs) < o.Trigger {
		return Pick{}, false
	}
	last := &runs[len(runs)-1]
	if size(runs[:len(runs)-1])*100 > int64(o.MaxAmplification)*last.Size {
		return Pick{Runs: len(runs), Output: top, Reason: ReasonAmplification}, true
	}
	if pick, ok := o.extend(runs, top, 1, false, now); ok {
		pick.Reason = ReasonSizeRatio
		return pick, true
	}
	if len(runs) > o.Trigger {
		pick, ok := o.extend(runs, top, len(runs)-o.Trigger+1, false, now)
		pick.Reason = ReasonFileNumber
		return pick, ok
	}
	return Pick{}, false
}

// earlyFull returns why the whole bucket is to be compacted early, or "".
func (o *PickOptions) earlyFull(runs []Run, top int32, lastFull, now time.Time) Reason {
	if len(runs) == 1 {
		return ""
	}
	if o.FullInterval > 0 && (lastFull.IsZero() || now.Sub(lastFull) > o.FullInterval) {
		return ReasonInterval
	}
	if size(runs) < o.FullTotalBytes {
		return ReasonSmallBucket
	}
	below := int64(0)
	for i := range runs {
		if runs[i].Level != top {
			below += runs[i].Size
		}
	}
	if below > o.FullUpdatedBytes {
		return ReasonUpdated
	}
	return ""
}

// forceLevel0 picks all of level 0 and what must go with it.
func (o *PickOptions) forceLevel0(runs []Run, top int32, now time.Time) (Pick, bool) {
	n := 0
	for n < len(runs) && runs[n].Level == 0 {
		n++
	}
	if n == 0 {
		return Pick{}, false
	}
	pick, ok := o.extend(runs, top, n, true, now)
	pick.Reason = ReasonLevel0
	return pick, ok
}

// extend takes the first n runs and those that follow, up to the first that is
// larger than all before it together. One run alone is worth it only if forced.
func (o *PickOptions) extend(runs []Run, top int32, n int, force bool, now time.Time) (Pick, bool) {
	taken, ratio := size(runs[:n]), float64(100+o.SizeRatio+o.offPeak(now))
	for n < len(runs) && float64(taken)*ratio/100 >= float64(runs[n].Size) {
		taken += runs[n].Size
		n++
	}
	if !force && n == 1 {
		return Pick{}, false
	}
	return unit(runs, top, n), true
}

// unit finds the output level of the first n runs, which is never 0.
func unit(runs []Run, top int32, n int) Pick {
	out := top
	if n < len(runs) {
		out = max(0, runs[n].Level-1)
	}
	for out == 0 && n < len(runs) {
		out = runs[n].Level
		n++
	}
	if n == len(runs) {
		out = top
	}
	return Pick{Runs: n, Output: out}
}

// offPeak returns what is added to the size ratio at this hour.
func (o *PickOptions) offPeak(now time.Time) int {
	from, to := o.OffPeakStart, o.OffPeakEnd
	if from < 0 || to < 0 || from == to {
		return 0
	}
	h := now.Hour()
	if from < to && from <= h && h < to || from > to && (h >= from || h < to) {
		return o.OffPeakRatio
	}
	return 0
}

func size(runs []Run) int64 {
	sum := int64(0)
	for i := range runs {
		sum += runs[i].Size
	}
	return sum
}

// PickFull picks for a full compaction that was asked for (semantics section 2.4):
// all runs or, if only the highest level has files, those of them that rewrite
// names. It may be nil.
func PickFull(runs []Run, top int32, rewrite func(*File) bool) (_ Pick, ok bool) {
	if len(runs) == 0 {
		return Pick{}, false
	}
	if len(runs) > 1 || runs[0].Level != top {
		return Pick{Runs: len(runs), Output: top, Reason: ReasonFull}, true
	}
	pick := Pick{Output: top, Reason: ReasonRewrite}
	for _, f := range runs[0].Files {
		if rewrite != nil && rewrite(f) {
			pick.Rewrite = append(pick.Rewrite, f)
		}
	}
	return pick, len(pick.Rewrite) > 0
}
