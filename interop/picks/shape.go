package picks

import (
	"math"
	"math/rand/v2"
	"time"

	"sluice/lsm"
)

// Shape is a strategy and what it is asked, as the command "picks" of the oracle
// reads it.
type Shape struct {
	Levels        int       `json:"levels"`
	Trigger       int       `json:"trigger"`
	Amplification int       `json:"amplification"`
	Ratio         int       `json:"ratio"`
	OffPeakRatio  *int      `json:"offPeakRatio,omitempty"` // it is off-peak now
	Interval      *int64    `json:"interval,omitempty"`     // milliseconds, far more than a test takes
	Total         *int64    `json:"total,omitempty"`
	Updated       *int64    `json:"updated,omitempty"`
	Force         *int      `json:"force,omitempty"` // picks between forced ones; 0: every one
	Picks         [][]Run   `json:"picks"`
	Answers       []*[2]int `json:"answers,omitempty"` // of Java: runs, output level
}

// Run is a level and a size.
type Run [2]int64

// Ours returns what our picker answers. Each run counts as two files, so that
// no pick is of a single file.
func (s *Shape) Ours() []*[2]int {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := lsm.DefaultPickOptions()
	o.Trigger, o.MaxAmplification, o.SizeRatio = s.Trigger, s.Amplification, s.Ratio
	if s.OffPeakRatio != nil {
		o.OffPeakStart, o.OffPeakEnd, o.OffPeakRatio = now.Hour(), now.Hour()+2, *s.OffPeakRatio
	}
	if s.Interval != nil {
		o.FullInterval = time.Duration(*s.Interval) * time.Millisecond
	}
	if s.Total != nil {
		o.FullTotalBytes = *s.Total
	}
	if s.Updated != nil {
		o.FullUpdatedBytes = *s.Updated
	}
	if s.Force != nil {
		o.Force, o.GentleInterval = lsm.ForceGently, *s.Force
		if *s.Force == 0 {
			o.Force = lsm.ForceRadical
		}
	}
	p := lsm.NewPicker(o, time.Time{})
	var answers []*[2]int
	for i, list := range s.Picks {
		var runs []lsm.Run
		for _, r := range list {
			runs = append(runs, lsm.Run{Level: int32(r[0]), Size: r[1], Files: make([]*lsm.File, 2)})
		}
		pick, ok := p.Pick(runs, int32(s.Levels-1), now.Add(time.Duration(i)*time.Millisecond))
		if !ok {
			answers = append(answers, nil)
			continue
		}
		answers = append(answers, &[2]int{pick.Runs, int(pick.Output)})
	}
	return answers
}

// Random returns a shape drawn from r.
func Random(r *rand.Rand) *Shape {
	s := &Shape{
		Levels: 2 + r.IntN(7), Trigger: 1 + r.IntN(8), Amplification: []int{200, 200, 50, 0, 1000}[r.IntN(5)],
		Ratio: []int{1, 1, 0, 10, 100}[r.IntN(5)],
	}
	if r.IntN(5) == 0 {
		s.OffPeakRatio = new([]int{0, 10, 200}[r.IntN(3)])
	}
	if r.IntN(6) == 0 {
		s.Interval = new(int64(3_600_000))
	}
	if r.IntN(6) == 0 {
		s.Total = new(randomSize(r))
	}
	if r.IntN(6) == 0 {
		s.Updated = new(randomSize(r))
	}
	switch r.IntN(3) {
	case 0:
		s.Force = new(0)
	case 1:
		s.Force = new(s.Trigger + r.IntN(3))
	}
	for range 1 + r.IntN(5) {
		s.Picks = append(s.Picks, randomRuns(r, s.Levels))
	}
	return s
}

// randomRuns returns runs in the order of levels. Sizes of upper levels grow as
// they do in a real bucket, or are anything.
func randomRuns(r *rand.Rand, levels int) []Run {
	var runs []Run
	grows, size := r.IntN(3) > 0, randomSize(r)
	for range r.IntN(12) {
		runs = append(runs, Run{0, nextSize(r, &size, grows, 1.1)})
	}
	for level := 1; level < levels; level++ {
		if r.IntN(3) == 0 {
			runs = append(runs, Run{int64(level), nextSize(r, &size, grows, 3)})
		}
	}
	if len(runs) == 0 {
		runs = append(runs, Run{int64(levels - 1), size})
	}
	return runs
}

func nextSize(r *rand.Rand, size *int64, grows bool, factor float64) int64 {
	if !grows {
		return randomSize(r)
	}
	*size = min(1<<40, int64(float64(*size)*(0.9+r.Float64()*(factor-0.9)))+1)
	return *size
}

// randomSize returns a size of any magnitude up to 16 GiB.
func randomSize(r *rand.Rand) int64 { return int64(math.Exp2(r.Float64() * 34)) }
