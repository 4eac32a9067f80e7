package lsm

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shapeOf returns a buffer and the runs of levels 1 and up; 0 is a level without one.
func shapeOf(buffer int64, levels ...int64) []Run {
	runs := []Run{{Size: buffer, Buffer: &Buffer{Bytes: buffer}}}
	for i, size := range levels {
		if size > 0 {
			runs = append(runs, Run{Level: int32(i + 1), Size: size, Files: []*File{{}}})
		}
	}
	return runs
}

func TestPickStraight(t *testing.T) {
	deletes := func(runs []Run) []Run {
		runs[0].Buffer.Deletes = true
		return runs
	}
	level0 := append(shapeOf(10, 0, 0, 0, 0, 1000)[:1], Run{Size: 10, Files: []*File{{}}}, Run{Level: 5, Size: 1000, Files: []*File{{}}})
	for _, c := range []struct {
		name   string
		runs   []Run
		set    func(*PickOptions)
		output int32
		n      int
		reason Reason
	}{
		{"an empty bucket", shapeOf(10), nil, 5, 1, ReasonLevel0},
		{"over the highest level", shapeOf(10, 0, 0, 0, 0, 1000), nil, 4, 1, ReasonStraight},
		{"never merged for its size alone", shapeOf(10, 0, 0, 0, 0, 10), nil, 4, 1, ReasonStraight},
		{"one level is left", shapeOf(10, 0, 10, 10, 10, 1000), nil, 1, 1, ReasonStraight},
		{"equal runs go together", shapeOf(10, 10, 10, 10, 10, 1000), nil, 4, 5, ReasonStraight},
		{"a large run stays", shapeOf(10, 10, 10, 10, 500, 5000), nil, 3, 4, ReasonStraight},
		{"only the smallest", shapeOf(10, 10, 100, 200, 500, 5000), nil, 1, 2, ReasonStraight},
		{"the last run is not touched", shapeOf(10, 20, 20, 20, 20, 80), nil, 4, 5, ReasonStraight},
		{"all has outgrown the last", shapeOf(10, 20, 20, 100, 100, 100), nil, 5, 6, ReasonAmplification},
		{"fewer runs by option", shapeOf(10, 0, 0, 0, 10, 1000), func(o *PickOptions) { o.Trigger = 2 }, 4, 2, ReasonStraight},
		{"two levels", []Run{shapeOf(10)[0], {Level: 1, Size: 100, Files: []*File{{}}}}, nil, 1, 2, ReasonStraight},
		{"a small bucket", shapeOf(10, 0, 0, 0, 0, 1000), func(o *PickOptions) { o.FullTotalBytes = 5000 }, 5, 2, ReasonSmallBucket},
		{"deletes end where they can", deletes(shapeOf(10, 0, 0, 5, 0, 12)), nil, 5, 3, ReasonLevel0},
		{"and not where that is far", deletes(shapeOf(10, 0, 0, 5, 0, 1000)), nil, 2, 1, ReasonStraight},
		{"files of level 0 go with it", level0, nil, 4, 2, ReasonLevel0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := DefaultPickOptions()
			o.Force = ForceRadical
			if c.set != nil {
				c.set(&o)
			}
			top := max(c.runs[len(c.runs)-1].Level, 1)
			if len(c.runs) == 1 {
				top = 5
			}
			pick, ok := NewPicker(o, time.Time{}).PickStraight(c.runs, top, time.Time{})
			require.True(t, ok)
			require.Equal(t, Pick{Runs: c.n, Output: c.output, Reason: c.reason}, pick)
		})
	}
	_, ok := NewPicker(DefaultPickOptions(), time.Time{}).PickStraight(nil, 5, time.Time{})
	require.False(t, ok)
}

// TestPickStraightCost commits buffers one after another: there are never more runs
// than the trigger says, none is overwritten, and the bytes that are written stay
// within what was measured when the rule was made; as a file of level 0 they are
// merged at many times that cost in the long run.
func TestPickStraightCost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		commits      int
		unit         int64
		costMax      float64 // of a byte
		costOfLevel0 float64 // at least
	}{{20, 50_000, 2.6, 2.7}, {200, 1000, 5.5, 5.5}, {1000, 1000, 9.5, 15}, {5000, 1000, 15, 30}} {
		for _, even := range []bool{true, false} {
			cost := func(straight bool) float64 {
				o := DefaultPickOptions()
				o.Force = ForceRadical
				p := NewPicker(o, time.Time{})
				levels := []int64{0, 0, 0, 0, 1_000_000}
				written, total := int64(0), int64(0)
				for range c.commits {
					unit := c.unit
					if !even {
						unit = 1 + r.Int64N(2*c.unit)
					}
					runs := shapeOf(unit, levels...)
					pick, ok := p.Pick(runs, 5, time.Time{})
					if straight {
						pick, ok = p.PickStraight(runs, 5, time.Time{})
					}
					require.True(t, ok)
					merged := size(runs[:pick.Runs])
					for _, run := range runs[1:pick.Runs] {
						levels[run.Level-1] = 0
					}
					require.Zero(t, levels[pick.Output-1], "a run is there already")
					for _, below := range levels[:pick.Output-1] {
						require.Zero(t, below, "an older run below")
					}
					levels[pick.Output-1] = merged
					written += merged
					total += unit
					require.LessOrEqual(t, len(shapeOf(1, levels...))-1, o.Trigger)
				}
				return float64(written) / float64(total)
			}
			require.Less(t, cost(true), c.costMax, "%d commits, even %t", c.commits, even)
			if even {
				require.Greater(t, cost(false), c.costOfLevel0)
			}
		}
	}
}
