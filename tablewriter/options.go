package tablewriter

import (
	"fmt"
	"runtime"
	"time"

	"sluice/lookup"
	"sluice/paimon"
	"sluice/paimon/commit"
)

// Options of a writer. The zero value is usable.
type Options struct {
	// User is the commit user. A writer that must not repeat rows after a
	// restart has a user of its own and keeps it. "": a new one, by the option
	// commit.user-prefix.
	User string

	// CommitInterval is how long the first batch of a commit waits for others;
	// 100 ms if 0.
	CommitInterval time.Duration
	// CommitRows is the number of rows from which a commit does not wait; 1
	// million if 0.
	CommitRows int64
	// CommitBytes is the same in bytes of rows in memory; 256 MiB if 0. A commit
	// holds no more, but for the last batch.
	CommitBytes int64
	// QueueBytesMax bounds the rows that were handed to Write and are not in a
	// write buffer yet; 64 MiB if 0. One batch may be larger, alone.
	QueueBytesMax int64
	// BatchBytesMax bounds a batch; 1 GiB if 0.
	BatchBytesMax int64

	// Overwrite makes the writer replace what is in the table, or in some of its
	// partitions (format section 4.8): all that is written until the first Commit
	// or Close becomes one OVERWRITE snapshot, and then the writer is closed.
	// Rows may get another number of buckets that way. There is no changelog.
	Overwrite *commit.Overwrite

	// Shards is the number of goroutines that sort and encode; the number of
	// processors (GOMAXPROCS) if 0. There are never more than buckets.
	Shards int
	// SpillDir is the folder for what write buffers spill; the system's folder
	// for temporary files if "".
	SpillDir string

	// Lookup holds the indexes of what the buckets hold, for tables that look up
	// what a key held before. A process that writes several tables shares one; nil:
	// one of the writer's own, in LookupDir.
	Lookup *lookup.Cache
	// LookupDir is the folder of these indexes. They are a cache: without them
	// the writer builds them anew from the table's files, which takes time. "": a
	// folder in SpillDir or, without that, in the user's cache.
	LookupDir string
	// OnRebuild is told how many rows of a bucket's index have been built; it is
	// called in the shard's goroutine and must not block.
	OnRebuild func(bucket string, rows int64)
	// Compactions limits what compactions take in the process; nil: limits of the
	// writer's own, which are CompactionLimits.
	Compactions      *Compactions
	CompactionLimits CompactionLimits
	// StallWait is how long Write waits for compaction when a bucket has as many
	// sorted runs as it may, before it answers with a [*StalledError]; 30 s if 0,
	// for ever if negative.
	StallWait time.Duration
	// OnStall is told when writing begins to wait for compaction, and when it goes
	// on. It must not block.
	OnStall func(Stall)
	// StraightOff writes rows to level 0 in any case. Otherwise tables that look up
	// what a key held before merge the rows of a commit straight above level 0
	// where they fit the write buffer, which saves writing and reading them once
	// more.
	StraightOff bool
	// Job makes the writer a compaction job: the option write-only does not stop
	// it from compacting.
	Job bool

	// CommitTimeout bounds the retries of a commit that fails for another reason
	// than a conflict; 1 minute if 0.
	CommitTimeout time.Duration
	// RetryWaitMin and RetryWaitMax bound the pause before such a retry, which
	// doubles; 20 ms and 2 s if 0.
	RetryWaitMin, RetryWaitMax time.Duration
	// Commit tunes the committer.
	Commit commit.Options

	// OnCommit is called in the commit loop for each new snapshot, before receipts
	// are answered, and must not block: a hint for tailers of the same table.
	OnCommit func(*paimon.Snapshot)

	// Tests put themselves before a commit, and between a commit and the index:
	// false leaves the index behind, as a crash does.
	beforeCommit func()
	beforeIndex  func() bool
}

func (o Options) withDefaults() Options {
	def := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	wait := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	def(&o.CommitRows, 1_000_000)
	def(&o.CommitBytes, 256<<20)
	def(&o.QueueBytesMax, 64<<20)
	def(&o.BatchBytesMax, 1<<30)
	wait(&o.CommitInterval, 100*time.Millisecond)
	wait(&o.StallWait, 30*time.Second)
	wait(&o.CommitTimeout, time.Minute)
	wait(&o.RetryWaitMin, 20*time.Millisecond)
	wait(&o.RetryWaitMax, 2*time.Second)
	if o.Shards == 0 {
		o.Shards = runtime.GOMAXPROCS(0)
	}
	return o
}

// Validate tells what is wrong with the options.
func (o Options) Validate() error {
	for _, c := range []struct {
		name string
		bad  bool
	}{
		{"CommitInterval", o.CommitInterval < 0},
		{"CommitRows", o.CommitRows < 0},
		{"CommitBytes", o.CommitBytes < 0},
		{"QueueBytesMax", o.QueueBytesMax < 0},
		{"BatchBytesMax", o.BatchBytesMax < 0},
		{"Shards", o.Shards < 0},
		{"CommitTimeout", o.CommitTimeout < 0},
		{"RetryWaitMin", o.RetryWaitMin < 0},
		{"RetryWaitMax", o.RetryWaitMax < 0},
	} {
		if c.bad {
			return fmt.Errorf("tablewriter option %s is negative", c.name)
		}
	}
	return o.CompactionLimits.Validate()
}
