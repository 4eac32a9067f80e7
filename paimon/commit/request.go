package commit

import (
	"context"
	"time"

	"sluice/paimon"
	"sluice/paimon/manifest"
)

// Message is what one writer did to one bucket (format section 4.3). The files
// are durable already. A committer keeps what a message holds: it must not change
// afterwards.
type Message struct {
	Partition    []byte // manifest form; nil: the table is not partitioned
	Bucket       int32
	TotalBuckets int32 // of the partition; 0: the table option bucket

	// The append part: files that were written, files that are replaced by them
	// (append tables only), and the changelog of producer input.
	NewFiles, DeletedFiles, Changelog []manifest.DataFile
	NewIndex, DeletedIndex            []manifest.IndexEntry

	// The compact part: files that were compacted, what became of them, and the
	// changelog of producers lookup and full-compaction.
	CompactBefore, CompactAfter, CompactChangelog []manifest.DataFile
	CompactNewIndex, CompactDeletedIndex          []manifest.IndexEntry
}

// Overwrite says that a commit replaces what is there (format section 4.8).
type Overwrite struct {
	// Dynamic: the partitions that occur in the new files are replaced; without
	// new files nothing happens. On a table without partitions it is the whole
	// table.
	Dynamic bool
	// Partitions, if not Dynamic: those that match any of these values by column
	// name are replaced, given as text; the table's partition.default-name means
	// NULL. Columns left out match everything. Empty: the whole table.
	Partitions []map[string]string
}

// Request is one commit.
type Request struct {
	// User is the identity of one logical writer for its whole life, and
	// Identifier grows with each of its commits; together they make a commit that is
	// repeated happen once. [paimon.BatchCommitIdentifier] is for users that commit
	// once.
	User       string
	Identifier int64
	// NewUser says that the user has never committed, so that the history need
	// not be searched for it.
	NewUser bool

	Messages   []Message
	Watermark  *int64            // epoch milliseconds; nil: unknown
	Properties map[string]string // of the snapshot

	// IgnoreEmpty: no messages make no snapshot. The table option
	// snapshot.ignore-empty-commit overrides it for batch commits.
	IgnoreEmpty bool
	Overwrite   *Overwrite
	// CheckConflicts checks a plain append, too, as a recovered commit must be.
	CheckConflicts bool
	// VerifyFiles checks that every file still exists, as files of a recovered
	// commit may have been cleaned.
	VerifyFiles bool
	// Operation is written to the snapshot, such as WRITE or DELETE; "" leaves it out.
	Operation string
}

// Result is a commit that has happened.
type Result struct {
	// Snapshots are those of the commit, in order: none, one, or two (the append
	// part and the compact part).
	Snapshots []*paimon.Snapshot
	// Repeated: nothing was done, since all of them were there.
	Repeated bool
}

// Last returns the newest snapshot, or nil if there is none.
func (r *Result) Last() *paimon.Snapshot {
	if len(r.Snapshots) == 0 {
		return nil
	}
	return r.Snapshots[len(r.Snapshots)-1]
}

// Options of a [Committer]. The zero value takes limits from the options of the
// table.
type Options struct {
	MaxRetries   int           // tries after the first; 0: commit.max-retries
	MinRetryWait time.Duration // before the first retry, doubled for each; 0: commit.min-retry-wait
	MaxRetryWait time.Duration // 0: commit.max-retry-wait
	Timeout      time.Duration // of one commit, checked before each retry; 0: commit.timeout, which is none by default

	Now    func() time.Time                                 // default time.Now
	Wait   func(ctx context.Context, d time.Duration) error // default: a timer
	Jitter func(d time.Duration) time.Duration              // added to a wait; default 0 to 20 % at random
	Events Events
}

// Events are told as they happen, by the goroutine that commits. Each may be
// nil.
type Events struct {
	LostRace    func(snapshot int64)                 // somebody else made that snapshot first
	Unknown     func(snapshot int64, err error)      // the store failed when it was created
	HintFailed  func(snapshot int64, err error)      // the commit is done, its hint is not
	Merged      func(read, written int, bytes int64) // manifests were merged
	CleanFailed func(name string, err error)         // a file of a failed try is left
}
