package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/lookup"
	"sluice/paimon"
)

// JobOptions of a [Job].
type JobOptions struct {
	Writer Options // Job is set; rows are not taken
	// Full compacts buckets fully, not only as far as the table's strategy asks
	// for.
	Full bool
	// Poll is how often [Job.Watch] looks for new snapshots; 1 s if 0.
	Poll time.Duration
	// OnRound is told what each round of [Job.Watch] did, if it did anything.
	OnRound func(JobRound)
}

// JobRound is what a job did to the table.
type JobRound struct {
	Snapshot  int64 // newest that was made; 0: nothing was to do
	Took      time.Duration
	BytesIn   int64
	BytesOut  int64
	Changelog int64 // rows
	Conflicts int64 // others compacted the same buckets, and it was done again
	// Waited is how long compactions waited for their limits, all together, those
	// of other writers that share the limits included.
	Waited time.Duration
}

// Job compacts a table beside its writers, which may be of other processes and
// engines: for tables whose writers are write-only, or to take the load off them.
// The changelog of producers lookup and full-compaction is then made here.
// Buckets that somebody else compacts at the same time are found out by the
// commit; the job takes in what was done there and tries again.
type Job struct {
	w    *Writer
	o    JobOptions
	seen int64 // snapshot of the last round
}

// OpenJob opens the compaction job of a table with a primary key.
func OpenJob(ctx context.Context, t *paimon.Table, o JobOptions) (*Job, error) {
	if !t.Schema().HasPrimaryKey() {
		return nil, &UnsupportedError{What: "a table without a primary key is compacted by other rules, which are not built"}
	}
	o.Writer.Job = true
	// What an earlier job has left is found by the first round.
	o.Writer.CommitInterval = max(o.Writer.CommitInterval, 24*time.Hour)
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	w, err := Open(ctx, t, o.Writer)
	if err != nil {
		return nil, err
	}
	return &Job{w: w, o: o}, nil
}

// Run compacts all buckets once.
func (j *Job) Run(ctx context.Context) (JobRound, error) {
	mode := CompactWait
	if j.o.Full {
		mode = CompactFull
	}
	begin, before, newest := time.Now(), j.w.Metrics(), j.newest()
	id, err := j.w.CommitWith(ctx, mode)
	if err != nil {
		return JobRound{}, err
	}
	after := j.w.Metrics()
	r := JobRound{
		Took: time.Since(begin), BytesIn: after.CompactedBytesIn - before.CompactedBytesIn, BytesOut: after.CompactedBytesOut - before.CompactedBytesOut,
		Changelog: after.ChangelogRows - before.ChangelogRows, Conflicts: after.Conflicts - before.Conflicts,
		Waited: after.CompactionUse.waited() - before.CompactionUse.waited(),
	}
	if id > newest {
		r.Snapshot = id
	}
	return r, nil
}

func (j *Job) newest() int64 {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	return j.w.snapshot
}

// Watch compacts the buckets that others write to, until ctx ends, which is no
// error.
func (j *Job) Watch(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		if err := j.round(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		timer.Reset(j.o.Poll)
	}
}

// round compacts if there is a new snapshot.
func (j *Job) round(ctx context.Context) error {
	latest, err := j.w.table.LatestID(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for new snapshots: %w", err)
	}
	if latest == j.seen {
		return nil
	}
	r, err := j.Run(ctx)
	if isConflict(err) { // others are too fast: next time
		return nil
	}
	if err != nil {
		return err
	}
	j.seen = latest
	if r.Snapshot > 0 {
		if r.Snapshot == latest+1 { // nobody else has committed
			j.seen = r.Snapshot
		}
		if j.o.OnRound != nil {
			j.o.OnRound(r)
		}
	}
	return nil
}

// Metrics returns the counts of the job.
func (j *Job) Metrics() Metrics { return j.w.Metrics() }

// Close ends the job. What is not committed is dropped.
func (j *Job) Close(ctx context.Context) error { return j.w.Close(ctx) }

// CompactOptions of [Compact]; each is that of [Options].
type CompactOptions struct {
	Full        bool // see [JobOptions]
	User        string
	Lookup      *lookup.Cache
	LookupDir   string
	Compactions *Compactions
}

// Compact compacts all buckets of a table once, beside its writers.
func Compact(ctx context.Context, t *paimon.Table, o CompactOptions) (r JobRound, err error) {
	j, err := OpenJob(ctx, t, JobOptions{Full: o.Full, Writer: Options{User: o.User, Lookup: o.Lookup, LookupDir: o.LookupDir, Compactions: o.Compactions}})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, j.Close(ctx)) }()
	return j.Run(ctx)
}
