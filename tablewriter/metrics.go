package tablewriter

import (
	"sync/atomic"
	"time"

	"sluice/lsm"
)

// Metrics are the counts of a writer since it was opened, but for those that say
// what is now.
type Metrics struct {
	Rows            int64         // rows committed
	Batches         int64         // batches committed
	RejectedBatches int64         // batches that Write returned an error for
	Commits         int64         // snapshots made
	CommitRetries   int64         // commits tried again
	CommitTime      time.Duration // from the cut of a group to its snapshot, all commits together
	CommitTimeLast  time.Duration // of the last commit
	QueueBytes      int64         // now on their way to the write buffers
	lsm.Stats                     // what the write buffers did
}

// counters is what Metrics are made of.
type counters struct {
	rows, batches, rejected, commits, retries, nanos, lastNanos atomic.Int64
	flushes, early, spills, spillErrors, spilled                atomic.Int64
	in, out, files, bytes                                       atomic.Int64
}

func (c *counters) committed(g *group, took time.Duration) {
	c.rows.Add(g.rows)
	c.batches.Add(int64(g.batches))
	c.commits.Add(1)
	c.nanos.Add(int64(took))
	c.lastNanos.Store(int64(took))
}

// add takes what a shard counted since the last time.
func (c *counters) add(p prepared) {
	s := &p.stats
	c.flushes.Add(s.Flushes)
	c.early.Add(s.EarlyFlushes)
	c.spills.Add(s.Spills)
	c.spillErrors.Add(s.SpillErrors)
	c.spilled.Add(s.SpilledBytes)
	c.in.Add(s.RowsIn)
	c.out.Add(s.RowsOut)
	c.files.Add(s.FilesOut)
	c.bytes.Add(s.BytesOut)
}

// Metrics returns the counts. Whoever exports them registers a collector that
// calls this.
func (w *Writer) Metrics() Metrics {
	c := &w.counters
	return Metrics{
		Rows: c.rows.Load(), Batches: c.batches.Load(), RejectedBatches: c.rejected.Load(), Commits: c.commits.Load(),
		CommitRetries: c.retries.Load(), CommitTime: time.Duration(c.nanos.Load()), CommitTimeLast: time.Duration(c.lastNanos.Load()),
		QueueBytes: w.gate.inside(),
		Stats: lsm.Stats{
			Flushes: c.flushes.Load(), EarlyFlushes: c.early.Load(), Spills: c.spills.Load(), SpillErrors: c.spillErrors.Load(),
			SpilledBytes: c.spilled.Load(), RowsIn: c.in.Load(), RowsOut: c.out.Load(), FilesOut: c.files.Load(), BytesOut: c.bytes.Load(),
		},
	}
}
