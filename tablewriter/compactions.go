package tablewriter

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// CompactionLimits bound what the compactions of a process take together.
type CompactionLimits struct {
	// Running is how many run at once; the number of processors (GOMAXPROCS) if 0.
	Running int
	// MemoryBytes bounds what they hold in memory, as their plans let expect:
	// batches and pages of the runs that are merged, and what is being encoded. One
	// that needs more runs alone. 1 GiB if 0.
	MemoryBytes int64
	// WriteBytesPerSecond bounds the rate at which they write data and changelog
	// files. 0: no bound.
	WriteBytesPerSecond int64
}

// Validate tells what is wrong with the limits.
func (l CompactionLimits) Validate() error {
	for _, c := range []struct {
		name  string
		value int64
	}{{"Running", int64(l.Running)}, {"MemoryBytes", l.MemoryBytes}, {"WriteBytesPerSecond", l.WriteBytesPerSecond}} {
		if c.value < 0 {
			return fmt.Errorf("compaction limit %s is negative", c.name)
		}
	}
	return nil
}

// Compactions limits compactions, for all writers of a process that share it.
type Compactions struct {
	slots  chan struct{}
	memory gate
	rate   *rate // nil: no bound

	written                           atomic.Int64
	slotNanos, memoryNanos, rateNanos atomic.Int64
}

// NewCompactions returns limits, which must be valid.
func NewCompactions(l CompactionLimits) *Compactions {
	if l.Running == 0 {
		l.Running = runtime.GOMAXPROCS(0)
	}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = 1 << 30
	}
	c := &Compactions{slots: make(chan struct{}, l.Running), memory: gate{max: l.MemoryBytes}}
	if l.WriteBytesPerSecond > 0 {
		c.rate = newRate(l.WriteBytesPerSecond)
	}
	return c
}

// enter waits for a free slot and for memory.
func (c *Compactions) enter(ctx context.Context, bytes int64) error {
	begin := time.Now()
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		c.slotNanos.Add(int64(time.Since(begin)))
		return context.Cause(ctx)
	}
	got := time.Now()
	c.slotNanos.Add(int64(got.Sub(begin)))
	err := c.memory.enter(ctx, bytes)
	c.memoryNanos.Add(int64(time.Since(got)))
	if err != nil {
		<-c.slots
	}
	return err
}

// leave gives back what enter took.
func (c *Compactions) leave(bytes int64) {
	c.memory.leave(bytes)
	<-c.slots
}

// CompactionUse is what compactions take of their limits.
type CompactionUse struct {
	Running      int           // now
	MemoryBytes  int64         // now reserved
	WrittenBytes int64         // in all, to data and changelog files
	SlotWait     time.Duration // for others to end, all compactions together
	MemoryWait   time.Duration // for memory that others hold
	RateWait     time.Duration // for the rate of writing
}

func (u *CompactionUse) waited() time.Duration { return u.SlotWait + u.MemoryWait + u.RateWait }

// Use returns what compactions take.
func (c *Compactions) Use() CompactionUse {
	return CompactionUse{
		Running: len(c.slots), MemoryBytes: c.memory.inside(), WrittenBytes: c.written.Load(),
		SlotWait: time.Duration(c.slotNanos.Load()), MemoryWait: time.Duration(c.memoryNanos.Load()), RateWait: time.Duration(c.rateNanos.Load()),
	}
}
