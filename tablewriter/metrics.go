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

	Compactions       int64         // done, whether committed or not
	CompactionUse     CompactionUse // of all writers that share the limits
	CompactionTime    time.Duration // of all together
	CompactedBytesIn  int64
	CompactedBytesOut int64 // data and changelog
	CompactedRowsIn   int64
	ChangelogRows     int64 // made by compactions
	Conflicts         int64 // commits whose compact part others contradicted
	Stalls            int64 // times that writing waited for compaction
	StallTime         time.Duration
	IndexRebuilds     int64 // lookup indexes that were built anew
	IndexCatchUps     int64 // lookup indexes that caught up with missed snapshots
	IndexErrors       int64 // lookup indexes that failed; they are built anew

	lsm.Stats // what the write buffers did
}

// counters is what Metrics are made of.
type counters struct {
	rows, batches, rejected, commits, retries, nanos, lastNanos atomic.Int64
	flushes, early, spills, spillErrors, spilled                atomic.Int64
	in, out, files, bytes                                       atomic.Int64

	compactions, compactNanos, compactIn, compactOut, compactRows, changelogRows atomic.Int64
	conflicts, rebuilds, catchUps, indexErrors                                   atomic.Int64
}

// compacted counts a compaction.
func (c *counters) compacted(s *lsm.CompactStats, took time.Duration) {
	c.compactions.Add(1)
	c.compactNanos.Add(int64(took))
	c.compactIn.Add(s.BytesIn)
	c.compactOut.Add(s.BytesOut + s.ChangelogBytes)
	c.compactRows.Add(s.RowsIn)
	c.changelogRows.Add(s.ChangelogRows)
}

func (c *counters) committed(g *group, snapshots int, took time.Duration) {
	c.rows.Add(g.rows)
	c.batches.Add(int64(g.batches))
	c.commits.Add(int64(snapshots))
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
	stalls, stalled := w.shared.stalls.spent()
	return Metrics{
		Compactions: c.compactions.Load(), CompactionUse: w.shared.compactions.Use(), CompactionTime: time.Duration(c.compactNanos.Load()),
		CompactedBytesIn: c.compactIn.Load(), CompactedBytesOut: c.compactOut.Load(), CompactedRowsIn: c.compactRows.Load(), ChangelogRows: c.changelogRows.Load(),
		Conflicts: c.conflicts.Load(), Stalls: stalls, StallTime: stalled,
		IndexRebuilds: c.rebuilds.Load(), IndexCatchUps: c.catchUps.Load(), IndexErrors: c.indexErrors.Load(),
		Rows: c.rows.Load(), Batches: c.batches.Load(), RejectedBatches: c.rejected.Load(), Commits: c.commits.Load(),
		CommitRetries: c.retries.Load(), CommitTime: time.Duration(c.nanos.Load()), CommitTimeLast: time.Duration(c.lastNanos.Load()),
		QueueBytes: w.gate.inside(),
		Stats: lsm.Stats{
			Flushes: c.flushes.Load(), EarlyFlushes: c.early.Load(), Spills: c.spills.Load(), SpillErrors: c.spillErrors.Load(),
			SpilledBytes: c.spilled.Load(), RowsIn: c.in.Load(), RowsOut: c.out.Load(), FilesOut: c.files.Load(), BytesOut: c.bytes.Load(),
		},
	}
}
