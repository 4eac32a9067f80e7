package demo

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is the number of changes that the table already has: messages of the
// recording, then generated steps.
type Position struct {
	Recorded  int64
	Generated int64
}

// String returns the text that is stored with a commit.
func (p Position) String() string {
	return fmt.Sprintf("recorded:%d,generated:%d", p.Recorded, p.Generated)
}

// ParsePosition reads what [Position.String] wrote; the empty text is the start.
func ParsePosition(s string) (Position, error) {
	if s == "" {
		return Position{}, nil
	}
	a, b, ok := strings.Cut(s, ",")
	rec, okA := strings.CutPrefix(a, "recorded:")
	gen, okB := strings.CutPrefix(b, "generated:")
	r, errA := strconv.ParseInt(rec, 10, 64)
	g, errB := strconv.ParseInt(gen, 10, 64)
	if !ok || !okA || !okB || errA != nil || errB != nil || r < 0 || g < 0 {
		return Position{}, fmt.Errorf("demo position %q: want recorded:N,generated:N", s)
	}
	return Position{Recorded: r, Generated: g}, nil
}
