package lookup

import "sync/atomic"

// Outcome is what an index was worth when it was opened or used.
type Outcome uint8

const (
	Valid        Outcome = iota // has a state
	Missing                     // there was none, or it was never committed to
	Corrupt                     // damaged, seen when it was opened
	Foreign                     // of another table or bucket
	OtherSchema                 // of other columns, or another key
	OtherFormat                 // of another version of this code
	CorruptInUse                // damaged, seen when it was used
	Failed                      // reading or writing failed
	outcomes
)

var outcomeNames = [outcomes]string{"valid", "missing", "corrupt", "foreign", "other-schema", "other-format", "corrupt-in-use", "failed"}

// String returns the outcome as metrics name it.
func (o Outcome) String() string { return outcomeNames[o] }

// counters are since the index or the cache was opened.
type counters struct {
	outcomes     [outcomes]atomic.Int64
	hits, misses atomic.Int64
	commits      atomic.Int64
	rebuilds     atomic.Int64
	rebuiltRows  atomic.Int64
}

func (x *Index) count(o Outcome) {
	x.counts.outcomes[o].Add(1)
	x.cache.counts.outcomes[o].Add(1)
}

func (x *Index) countLookups(rows, hits int) {
	for _, c := range []*counters{&x.counts, &x.cache.counts} {
		c.hits.Add(int64(hits))
		c.misses.Add(int64(rows - hits))
	}
}

// Stats is what the indexes of a process did since OpenCache and what they take
// now.
type Stats struct {
	Indexes      int   // in use
	Open         int   // of them, databases that are open
	Hits, Misses int64 // keys looked up
	Commits      int64
	Rebuilds     int64
	RebuiltRows  int64
	BytesWritten int64 // to disk, compactions included
	PageBytes    int64 // pages in memory
	CacheBytes   int64 // blocks in memory
	CacheHits    int64 // of blocks
	CacheMisses  int64
	RecentBytes  int64 // committed changes in memory
	DiskBytes    int64 // of the databases that are open
	Outcomes     map[Outcome]int64
}

// Stats returns counters and sizes of all indexes.
func (c *Cache) Stats() Stats {
	s := Stats{
		Hits:         c.counts.hits.Load(),
		Misses:       c.counts.misses.Load(),
		Commits:      c.counts.commits.Load(),
		Rebuilds:     c.counts.rebuilds.Load(),
		RebuiltRows:  c.counts.rebuiltRows.Load(),
		BytesWritten: c.written.Load(),
		RecentBytes:  c.recent.Load(),
		PageBytes:    c.resident.Load(),
		Outcomes:     c.counts.byOutcome(),
	}
	m := c.blocks.Metrics()
	s.CacheBytes, s.CacheHits, s.CacheMisses = m.Size, m.Hits, m.Misses
	for _, x := range c.open() {
		s.Indexes++
		if x.loaded.Load() {
			s.Open++
		}
		s.DiskBytes += x.Stats().DiskBytes
	}
	return s
}

func (c *counters) byOutcome() map[Outcome]int64 {
	m := map[Outcome]int64{}
	for o := range outcomes {
		if n := c.outcomes[o].Load(); n > 0 {
			m[o] = n
		}
	}
	return m
}

// IndexStats is what an index did since it was opened and what it takes now.
type IndexStats struct {
	Hits, Misses int64 // keys looked up
	Commits      int64
	Rebuilds     int64
	RecentBytes  int64 // committed changes in memory
	DiskBytes    int64 // of database and log, as of the last push
	Keys         int64 // in pages
	Outcomes     map[Outcome]int64
}

// Stats returns counters and sizes of the index. It does not wait for other
// operations.
func (x *Index) Stats() IndexStats {
	return IndexStats{
		Hits:        x.counts.hits.Load(),
		Misses:      x.counts.misses.Load(),
		Commits:     x.counts.commits.Load(),
		Rebuilds:    x.counts.rebuilds.Load(),
		RecentBytes: x.recent.Load(),
		DiskBytes:   x.diskBytes.Load(),
		Keys:        x.liveKeys.Load(),
		Outcomes:    x.counts.byOutcome(),
	}
}
