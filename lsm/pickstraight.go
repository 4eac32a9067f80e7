package lsm

import (
	"math"
	"time"
)

// PickStraight decides where a write buffer goes that no file of level 0 is written
// for: runs[0] is the buffer, the others are those of the bucket in the order of
// [Levels.Runs]. Unlike a file of level 0 the buffer always goes up, but nothing
// says what it must be merged with on its way.
//
// While there is an empty level below the lowest run, and there are fewer runs than
// PickOptions.Trigger, the buffer becomes a run of that level, and nothing else is
// read or written. Otherwise some runs are merged with the buffer to empty levels
// again: the first ones, until the next is so much larger that merging it can wait
// (see growth). For rows in commits of equal size this writes about as much as the
// best order of merges that never leaves more runs.
//
// Deletes go all the way, where they end, if those of a file of level 0 did: how long
// one is kept tells what becomes of a row that comes late. What must be compacted
// early, or has outgrown the last run, is compacted fully as [Picker.Pick] does it.
// Its decision stands as well if there are files of level 0.
func (p *Picker) PickStraight(runs []Run, top int32, now time.Time) (Pick, bool) {
	if len(runs) < 2 || runs[0].Buffer == nil || runs[1].Level == 0 {
		return p.Pick(runs, top, now)
	}
	if runs[0].Buffer.Deletes {
		if pick, ok := p.Peek(runs, top, now); ok && pick.Runs == len(runs) {
			return p.Pick(runs, top, now)
		}
	}
	upper := runs[1:]
	if reason := p.opts.earlyFull(runs, top, p.lastFull, now); reason != "" {
		p.lastFull = now
		return Pick{Runs: len(runs), Output: top, Reason: reason}, true
	}
	if upper[0].Level > 1 && len(runs) <= p.opts.Trigger {
		return Pick{Runs: 1, Output: upper[0].Level - 1, Reason: ReasonStraight}, true
	}
	last := &upper[len(upper)-1]
	if size(runs[:len(runs)-1])*100 > int64(p.opts.MaxAmplification)*last.Size {
		p.lastFull = now
		return Pick{Runs: len(runs), Output: top, Reason: ReasonAmplification}, true
	}
	pick := unit(runs, top, straightRuns(runs))
	pick.Reason = ReasonStraight
	if pick.Runs == len(runs) {
		p.lastFull = now
	}
	return pick, true
}

// straightRuns returns how many of the runs are merged to empty a level.
func straightRuns(runs []Run) int {
	factor := growth(runs)
	n, taken := 2, runs[0].Size+runs[1].Size
	for n < len(runs)-1 && float64(taken)*factor >= float64(runs[n].Size) {
		taken += runs[n].Size
		n++
	}
	return n
}

// growth is half of the factor by which each run but the last would be larger than
// the one before it if they were a geometric series that begins with the buffer: the
// fewer levels there are for what was written since the last full compaction, the
// more a level must hold before it is worth a merge of its own.
func growth(runs []Run) float64 {
	buffer, between := max(runs[0].Size, 1), len(runs)-2
	if between < 1 {
		return 1
	}
	return max(1, math.Pow(float64(size(runs[:len(runs)-1]))/float64(buffer), 1/float64(between))/2)
}
