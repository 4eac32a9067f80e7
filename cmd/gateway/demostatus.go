package main

import (
	"fmt"
	"time"
)

// statusEvery is how often the demo says how it does.
const statusEvery = 5 * time.Second

// status prints commits a second and lag now and then.
type status struct {
	r       *demoRun
	last    time.Time
	commits int64
}

func newStatus(r *demoRun) *status { return &status{r: r, last: time.Now()} }

func (s *status) show() {
	now := time.Now()
	passed := now.Sub(s.last)
	if passed < statusEvery {
		return
	}
	commits := s.r.commits.Load()
	fmt.Fprintf(s.r.out, "-- %.1f commits/s, %d rows delivered, lag %v behind the commit\n",
		float64(commits-s.commits)/passed.Seconds(), s.r.shown.Load(), time.Duration(s.r.lag.Load()).Round(100*time.Microsecond))
	s.last, s.commits = now, commits
}
