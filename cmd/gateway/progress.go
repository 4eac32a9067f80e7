package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// progress is one status line on a terminal, nothing elsewhere.
type progress struct {
	on   bool
	what string

	mu   sync.Mutex
	last time.Time
	used bool
}

func (a *app) newProgress(cmd *cobra.Command, what string) *progress {
	return &progress{on: !a.json && isTerminal(os.Stderr) && cmd.ErrOrStderr() == os.Stderr, what: what}
}

// redraw bounds how often the line is drawn.
const redraw = 100 * time.Millisecond

func (p *progress) update(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.on && now.Sub(p.last) >= redraw {
		p.last, p.used = now, true
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %s", p.what, fmt.Sprintf(format, args...))
	}
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
