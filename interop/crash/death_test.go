package crash

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"sluice/internal/failpoint"
)

// death is the way in which a process is to die.
type death struct {
	point failpoint.Point // or
	args  []string        // of the victim, or
	after time.Duration   // that it has begun
	times int             // how often it passes the point before

	name  string
	needs harm // what must be done to the indexes for the point to be reached
}

// deaths chooses how processes die: points by turns, so that each has its share.
type deaths struct {
	r     *rand.Rand
	turn  int
	count map[string]int // processes that died, by name
}

func newDeaths(r *rand.Rand) *deaths {
	return &deaths{r: r, turn: r.IntN(len(failpoint.Points())), count: map[string]int{}}
}

// timesMax of a point in a process; early ones are as frequent as all later ones.
const timesMax = 12

// pick chooses for a table that has indexes or not.
func (d *deaths) pick(indexed bool) *death {
	switch d.r.IntN(10) {
	case 0:
		n := 1 + d.r.IntN(160)
		return &death{name: "call of the store", args: []string{fmt.Sprintf("-die-at-call=%d", n)}}
	case 1:
		when := [...]string{"before", "after"}[d.r.IntN(2)]
		args := []string{fmt.Sprintf("-die-at-snapshot=%d", 1+d.r.IntN(8)), fmt.Sprintf("-after=%t", when == "after")}
		return &death{name: when + " a snapshot", args: args}
	case 2:
		return &death{name: "time", after: time.Duration(d.r.Int64N(int64(120 * time.Millisecond)))}
	}
	points := failpoint.Points()
	p := points[d.turn%len(points)]
	for d.turn++; !indexed && ofIndex(p); d.turn++ {
		p = points[d.turn%len(points)]
	}
	out := &death{name: string(p), point: p, times: 1 + d.r.IntN(timesMax)}
	if d.r.IntN(2) == 0 {
		out.times = 1 + d.r.IntN(2)
	}
	switch p {
	case failpoint.IndexOpened, failpoint.IndexCloses, failpoint.IndexClosed: // of each of two buckets
		out.times = 1 + d.r.IntN(2)
	case failpoint.IndexRebuilding, failpoint.IndexRebuilt:
		out.times, out.needs = 1+d.r.IntN(2), lose
	case failpoint.IndexCatchingUp, failpoint.IndexCaughtUp:
		out.times, out.needs = 1+d.r.IntN(2), setBack
	}
	return out
}

// ofIndex tells whether only tables with indexes come to the point.
func ofIndex(p failpoint.Point) bool {
	return strings.HasPrefix(string(p), "index-") || strings.HasPrefix(string(p), "lookup-") || strings.HasPrefix(string(p), "stage-") || p == failpoint.LookedUp
}

// env returns the environment of the process that is to die.
func (d *death) env() []string {
	if d.point == "" {
		return nil
	}
	return []string{failpoint.Env + "=" + failpoint.Arming(d.point, d.times)}
}

// String says what is needed to repeat it.
func (d *death) String() string {
	switch {
	case d.point != "":
		return failpoint.Arming(d.point, d.times)
	case len(d.args) > 0:
		return strings.Join(d.args, " ")
	}
	return fmt.Sprintf("after %v", d.after)
}
