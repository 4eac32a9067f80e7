package tablewriter

import (
	"context"
	"runtime"
)

// Compactions limits how many compactions run at once, for all writers of a
// process that share it.
type Compactions struct{ slots chan struct{} }

// NewCompactions returns a limit of n compactions; the number of processors
// (GOMAXPROCS) if n is 0.
func NewCompactions(n int) *Compactions {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return &Compactions{slots: make(chan struct{}, n)}
}

// enter waits for a free slot.
func (c *Compactions) enter(ctx context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Compactions) leave() { <-c.slots }

// Running returns how many compactions run now.
func (c *Compactions) Running() int { return len(c.slots) }
