package lsm

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// Resolver is what a compaction needs of a changelog producer.
type Resolver interface {
	// Wants tells whether the records of the compaction go to Resolve, or are
	// folded by the engine alone.
	Wants(p merge.Plan) bool
	// Resolve decides what is stored and told for a batch of keys. It resets out.
	Resolve(ctx context.Context, g *merge.Groups, out *merge.Result) error
}

// IndexStage collects what a compaction changes in the index of the newest
// records above level 0. Calls come in ascending key order within a compaction.
type IndexStage interface {
	// Put says that records from..to of kv are the newest of their keys. They are
	// valid during the call only.
	Put(kv *rowdata.KeyValues, from, to int) error
	// Delete says that the keys of these rows have no record any more.
	Delete(b *rowdata.Batch, rows []int32) error
}

// Job is what running a compaction needs. A job serves one run at a time; what it
// points to may not be used by others meanwhile, but for Progress.
type Job struct {
	Layout   datafile.Layout
	Order    merge.Order
	Engine   merge.Engine
	Resolver Resolver
	// Data and Changelog say how files of the output level are made. Level, source
	// and the bound of rows in their options are set by the run.
	Data, Changelog Files
	Create          Create
	// Open opens a file for reading in the columns of Layout. A source that is an
	// io.Closer is closed.
	Open func(ctx context.Context, f *File) (merge.Source, error)
	// Index takes what changes in the index; nil: there is none.
	Index IndexStage
	// Expired tells which records are too old to be kept; nil: none.
	Expired func(kv *rowdata.KeyValues, i int) bool

	// RunsMax bounds the sorted runs that are merged at once
	// (sort-spill-threshold); more are merged in several passes through local disk.
	// 0: 64.
	RunsMax int
	// Spill says how these passes use local disk, whose bytes are not bounded;
	// without a folder all runs are merged at once.
	Spill SpillOptions
	// Scratch is memory of earlier runs; nil: the run has its own.
	Scratch *Scratch
	// BatchRows and BatchBytes bound a batch of records; 0: 4096, 8 MiB.
	BatchRows, BatchBytes int
	// Progress, if set, is counted up as the compaction goes on. It may be read by
	// others.
	Progress *Progress
}

// Progress counts what a compaction has done so far.
type Progress struct {
	RowsIn, RowsOut, ChangelogRows atomic.Int64
}

// CompactStats tell what a compaction did.
type CompactStats struct {
	RowsIn, BytesIn   int64 // records and bytes of files that were read
	RowsOut, BytesOut int64 // of data files written
	ChangelogRows     int64
	ChangelogBytes    int64
	Moved             int   // files that changed their level as they stand
	SpilledBytes      int64 // written to local disk, compressed
}

// CompactResult is what a compaction made. The files are finished and invisible
// until a commit names them.
type CompactResult struct {
	Before    []manifest.DataFile // consumed, or moved to another level
	After     []manifest.DataFile // written, or moved
	Changelog []manifest.DataFile
	Stats     CompactStats
}

// Run does the compaction. After an error the result holds the files that were
// finished, which are of no use and may be deleted: new data files in After, and
// changelog files; files that were to be moved are not in it. The stage has then
// seen a part of the changes.
func (c *Compaction) Run(ctx context.Context, job *Job) (CompactResult, error) {
	r := newRun(c, job)
	err := r.steps(ctx)
	if err == nil {
		err = r.finish(ctx)
	}
	if err != nil {
		err = errors.Join(err, r.abort())
	}
	return r.result, errors.Join(err, r.close())
}

// compactRun is a compaction that is going on.
type compactRun struct {
	c      *Compaction
	job    *Job
	key    *rowdata.Comparer
	plain  bool // the engine alone decides
	result CompactResult

	data      *datafile.RollingWriter // of the step
	changelog *datafile.RollingWriter // of all steps
	scratch   *Scratch
	batch     *rowdata.KeyValues
	groups    *merge.Groups
	resolved  *merge.Result
	rows      []int32 // scratch
	pool      *Pool   // for spilling
}

func newRun(c *Compaction, job *Job) *compactRun {
	r := &compactRun{c: c, job: job, key: rowdata.NewComparer(job.Layout.Key), plain: !job.Resolver.Wants(c.Plan)}
	if r.scratch = job.Scratch; r.scratch == nil {
		r.scratch = new(Scratch)
	}
	r.scratch.begin(job.Layout.Schema)
	r.batch, r.groups, r.resolved = r.scratch.batch, r.scratch.groups, r.scratch.resolved
	r.groups.Plan = c.Plan
	return r
}

func (r *compactRun) steps(ctx context.Context) error {
	for i := range r.c.Steps {
		s := &r.c.Steps[i]
		var err error
		switch {
		case s.File == nil:
			err = r.rewrite(ctx, s)
		case s.Report && !r.plain:
			err = r.report(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrite merges the sections of a step into new files.
func (r *compactRun) rewrite(ctx context.Context, s *Step) (err error) {
	src, err := r.open(ctx, s.Sections)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	r.data = datafile.NewRollingWriter(r.job.Create, r.job.Data.Name, r.job.Layout, r.options(r.job.Data.Options))
	if r.plain {
		err = r.fold(ctx, src, s.DropDelete)
	} else {
		err = r.resolve(ctx, src, s.DropDelete)
	}
	if err != nil {
		return err
	}
	return r.endData(ctx)
}

// report reads a file that changes its level as it stands.
func (r *compactRun) report(ctx context.Context, s *Step) (err error) {
	src, err := r.open(ctx, []Section{{{Files: []*File{s.File}}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	return r.resolve(ctx, src, false)
}

// options returns the options of new files.
func (r *compactRun) options(o datafile.Options) datafile.Options {
	o.Level, o.Source, o.TargetRows = r.c.Plan.Output, manifest.SourceCompact, 0
	o.Encoders = &r.scratch.encoders
	return o
}

// endData finishes the files of a step.
func (r *compactRun) endData(ctx context.Context) error {
	files, err := r.data.Close(ctx)
	if err != nil {
		return err
	}
	r.data = nil
	r.addData(files)
	return nil
}

func (r *compactRun) addData(files []manifest.DataFile) {
	r.result.After = append(r.result.After, files...)
	for i := range files {
		r.result.Stats.RowsOut += files[i].RowCount
		r.result.Stats.BytesOut += files[i].FileSize
	}
}

func (r *compactRun) addChangelog(files []manifest.DataFile) {
	r.result.Changelog = append(r.result.Changelog, files...)
	for i := range files {
		r.result.Stats.ChangelogRows += files[i].RowCount
		r.result.Stats.ChangelogBytes += files[i].FileSize
	}
}

// finish completes the changelog and names the files that were consumed or moved.
func (r *compactRun) finish(ctx context.Context) error {
	if r.changelog != nil {
		files, err := r.changelog.Close(ctx)
		if err != nil {
			return err
		}
		r.changelog = nil
		r.addChangelog(files)
	}
	r.c.Inputs(func(f *File) { r.result.Before = append(r.result.Before, f.DataFile) })
	for _, s := range r.c.Steps {
		if s.File == nil {
			continue
		}
		moved := s.File.DataFile
		moved.Level = r.c.Plan.Output
		r.result.After = append(r.result.After, moved)
		r.result.Stats.Moved++
	}
	return nil
}

// abort gives up what is being written.
func (r *compactRun) abort() (err error) {
	if r.data != nil {
		err = r.data.Abort()
		r.addData(r.data.Finished())
	}
	if r.changelog != nil {
		err = errors.Join(err, r.changelog.Abort())
		r.addChangelog(r.changelog.Finished())
	}
	return err
}

func (r *compactRun) close() error {
	r.scratch.end()
	if r.pool != nil {
		r.result.Stats.SpilledBytes = r.pool.stats.SpilledBytes
		r.pool.Close()
	}
	return nil
}

// fold lets the engine alone fold the records.
func (r *compactRun) fold(ctx context.Context, src *compactSource, dropDelete bool) error {
	it := merge.NewIter(src.plain(), r.key, r.job.Order, r.job.Engine, merge.Options{
		BatchRows: r.job.BatchRows, BatchBytes: r.batchBytes(), DropDeletes: dropDelete, UniqueKeys: src.unique,
	})
	for {
		n, err := it.Next(r.batch)
		if err == io.EOF {
			return nil
		}
		r.scratch.saw(r.batch)
		if err == nil {
			err = r.write(ctx, r.batch, n)
		}
		if err != nil {
			return err
		}
	}
}

// resolve lets the changelog producer decide about the records.
func (r *compactRun) resolve(ctx context.Context, src *compactSource, dropDelete bool) error {
	it := merge.NewGroupIter(src.runs, r.key, r.job.Order, merge.Options{
		BatchRows: r.job.BatchRows, BatchBytes: r.batchBytes(), UniqueKeys: src.unique,
	})
	r.groups.Plan.DropDelete = dropDelete
	for {
		_, err := it.Next(r.groups)
		if err == io.EOF {
			return nil
		}
		r.scratch.saw(r.groups.Records)
		if err == nil {
			err = r.step(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (r *compactRun) batchBytes() int {
	if r.job.BatchBytes > 0 {
		return r.job.BatchBytes
	}
	return batchBytes
}

// step resolves a batch of groups and writes what comes of it.
func (r *compactRun) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	out := r.resolved
	if err := r.job.Resolver.Resolve(ctx, r.groups, out); err != nil {
		return err
	}
	if r.data != nil {
		if err := r.write(ctx, out.Data, out.Data.N); err != nil {
			return err
		}
	}
	if err := r.tell(ctx, out.Changelog); err != nil {
		return err
	}
	return r.index(out)
}

// write writes n records to the data files of the step.
func (r *compactRun) write(ctx context.Context, kv *rowdata.KeyValues, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p := r.job.Progress; p != nil {
		p.RowsOut.Add(int64(n))
	}
	return r.data.Write(ctx, kv, 0, n)
}

// tell writes changelog. Its first file is begun with its first row.
func (r *compactRun) tell(ctx context.Context, kv *rowdata.KeyValues) error {
	if kv.N == 0 {
		return nil
	}
	if r.changelog == nil {
		o := r.options(r.job.Changelog.Options)
		o.Source = manifest.SourceAppend
		r.changelog = datafile.NewRollingWriter(r.job.Create, r.job.Changelog.Name, r.job.Layout, o)
	}
	if p := r.job.Progress; p != nil {
		p.ChangelogRows.Add(int64(kv.N))
	}
	return r.changelog.Write(ctx, kv, 0, kv.N)
}

// index stages the changes of a batch.
func (r *compactRun) index(out *merge.Result) error {
	if r.job.Index == nil {
		return nil
	}
	for _, c := range out.Index {
		if !c.Delete {
			if err := r.job.Index.Put(out.Data, int(c.From), int(c.To)); err != nil {
				return err
			}
			continue
		}
		r.rows = r.rows[:0]
		for i := c.From; i < c.To; i++ {
			r.rows = append(r.rows, i)
		}
		if err := r.job.Index.Delete(&r.groups.Records.Batch, r.rows); err != nil {
			return err
		}
	}
	return nil
}
