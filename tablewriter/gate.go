package tablewriter

import (
	"context"
	"sync"
)

// gate bounds the bytes that are on their way to the shards. Those that wait are
// let in the order they came.
type gate struct {
	max int64

	mu      sync.Mutex
	used    int64
	waiting []*waiter
	closed  error
}

type waiter struct {
	bytes int64
	in    chan struct{} // closed when let in, or when the gate is closed
	err   error         // set before that
}

// enter waits until there is room for the bytes; what is larger than the gate
// comes in alone.
func (g *gate) enter(ctx context.Context, bytes int64) error {
	g.mu.Lock()
	if g.closed != nil {
		defer g.mu.Unlock()
		return g.closed
	}
	if len(g.waiting) == 0 && g.fits(bytes) {
		g.used += bytes
		g.mu.Unlock()
		return nil
	}
	w := &waiter{bytes: bytes, in: make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	select {
	case <-w.in:
		return w.err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, x := range g.waiting {
		if x == w {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			g.admit() // those behind may be smaller
			return context.Cause(ctx)
		}
	}
	// It was let in at the same moment.
	if w.err == nil {
		g.used -= bytes
		g.admit()
	}
	return context.Cause(ctx)
}

// tryEnter is enter if that need not wait.
func (g *gate) tryEnter(bytes int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil || len(g.waiting) > 0 || !g.fits(bytes) {
		return false
	}
	g.used += bytes
	return true
}

func (g *gate) fits(bytes int64) bool { return g.used == 0 || g.used+bytes <= g.max }

// leave gives room back.
func (g *gate) leave(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used -= bytes
	g.admit()
}

func (g *gate) admit() {
	for len(g.waiting) > 0 && g.fits(g.waiting[0].bytes) {
		w := g.waiting[0]
		g.waiting = g.waiting[1:]
		g.used += w.bytes
		close(w.in)
	}
}

// close refuses those that wait and all that come later.
func (g *gate) close(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		return
	}
	g.closed = err
	for _, w := range g.waiting {
		w.err = err
		close(w.in)
	}
	g.waiting = nil
}

// inside returns the bytes that are in.
func (g *gate) inside() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used
}
