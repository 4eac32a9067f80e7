package lsm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// runsMaxDefault is how many sorted runs are merged at once: each has a batch of
// records and the open pages of a file in memory.
const runsMaxDefault = 64

// compactSource is the runs that a step merges.
type compactSource struct {
	runs   []merge.LeveledSource
	unique bool // no run has a key twice
}

// plain returns the runs for a merge that does not ask for levels.
func (s *compactSource) plain() []merge.Source {
	out := make([]merge.Source, len(s.runs))
	for i, r := range s.runs {
		out[i] = r
	}
	return out
}

func (s *compactSource) close() error {
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, closeRun(r))
	}
	return errors.Join(errs...)
}

func closeRun(s merge.Source) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// open returns the runs of a step. Sections follow one another in key order, so
// that the first runs of all of them are one run, and so on.
func (r *compactRun) open(ctx context.Context, sections []Section) (*compactSource, error) {
	var files [][]*File
	src := &compactSource{unique: true}
	for _, s := range sections {
		n := 0
		for _, run := range s {
			if run.Buffer != nil {
				b, err := run.Buffer.open(r.scratch)
				if err != nil {
					return nil, errors.Join(err, src.close())
				}
				src.runs = append(src.runs, merge.OnLevel(&counted{src: b, run: r}, 0))
				continue
			}
			if n == len(files) {
				files = append(files, nil)
			}
			files[n] = append(files[n], run.Files...)
			n++
		}
	}
	limit := cmp.Or(r.job.RunsMax, runsMaxDefault)
	if len(files)+len(src.runs) > limit && r.job.Spill.Dir != "" {
		if err := r.openSpilled(ctx, src, files, limit); err != nil {
			return nil, err
		}
		return src, nil
	}
	for _, f := range files {
		src.runs = append(src.runs, &fileRun{ctx: ctx, files: f, run: r})
	}
	return src, nil
}

// openSpilled opens more runs than may be merged at once: those of level 0 are
// merged into fewer runs on local disk first, without folding anything, the
// smallest first.
func (r *compactRun) openSpilled(ctx context.Context, src *compactSource, runs [][]*File, limit int) error {
	if r.pool == nil {
		o := r.job.Spill
		o.BytesMax = 0 // that bounds write buffers, which have another way out
		r.pool = NewPool(0, o)
	}
	src.unique = false
	level0, upper := splitLevels(runs)
	for _, files := range upper {
		src.runs = append(src.runs, &fileRun{ctx: ctx, files: files, run: r})
	}
	slices.SortStableFunc(level0, func(a, b []*File) int { return cmp.Compare(sizeOf(a), sizeOf(b)) })
	var queue []merge.LeveledSource
	for _, files := range level0 {
		queue = append(queue, &fileRun{ctx: ctx, files: files, run: r})
	}
	for room := max(limit-len(src.runs), 1); len(queue) > room; {
		n := min(max(limit, 2), len(queue)-room+1)
		run, err := r.spill(queue[:n])
		if err != nil {
			src.runs = append(src.runs, queue[n:]...)
			return errors.Join(err, src.close())
		}
		queue = append(queue[n:], merge.OnLevel(run, 0))
	}
	src.runs = append(src.runs, queue...)
	return nil
}

// spill merges runs into one on local disk, and closes them.
func (r *compactRun) spill(runs []merge.LeveledSource) (_ *passRun, err error) {
	sources := make([]merge.Source, len(runs))
	for i, run := range runs {
		sources[i] = run
	}
	it := merge.NewIter(sources, r.key, r.job.Order, merge.Engine{}, merge.Options{
		BatchRows: spillBatchRows, BatchBytes: spillBatchBytes,
	})
	defer func() { err = errors.Join(err, it.Close()) }()
	run, err := r.pool.spillRun(it, r.job.Layout.Schema)
	if err != nil {
		return nil, err
	}
	return &passRun{runReader: runReader{codec: r.pool.codec, run: run}, pool: r.pool}, nil
}

// passRun is a run on local disk that is read once.
type passRun struct {
	runReader
	pool *Pool
}

// Close gives its place on disk back.
func (p *passRun) Close() error { return p.pool.drop(p.run) }

// splitLevels takes the files above level 0 out of the runs and makes a run of
// each of their levels.
func splitLevels(runs [][]*File) (level0, upper [][]*File) {
	byLevel := make(map[int32][]*File)
	for _, run := range runs {
		var zero []*File
		for _, f := range run {
			if f.Level == 0 {
				zero = append(zero, f)
			} else {
				byLevel[f.Level] = append(byLevel[f.Level], f)
			}
		}
		if len(zero) > 0 {
			level0 = append(level0, zero)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		files := byLevel[level]
		slices.SortFunc(files, func(a, b *File) int { return bytes.Compare(a.min, b.min) })
		upper = append(upper, files)
	}
	return level0, upper
}

func sizeOf(files []*File) int64 {
	n := int64(0)
	for _, f := range files {
		n += f.FileSize
	}
	return n
}

// fileRun reads files that do not overlap, one after the other. It lives as long
// as the compaction that gave it its context.
type fileRun struct {
	ctx   context.Context
	run   *compactRun
	files []*File // not opened yet
	cur   merge.Source
	level int32
}

// Level implements [merge.LeveledSource].
func (f *fileRun) Level() int32 { return f.level }

// Next implements [merge.Source].
func (f *fileRun) Next(dst *rowdata.KeyValues) (int, error) {
	for {
		if f.cur == nil {
			if len(f.files) == 0 {
				dst.Reset()
				return 0, io.EOF
			}
			if err := f.open(); err != nil {
				return 0, err
			}
		}
		n, err := f.cur.Next(dst)
		if err == nil && n > 0 {
			return n, nil
		}
		if err == io.EOF {
			err = f.Close()
		}
		if err != nil {
			return 0, err
		}
	}
}

func (f *fileRun) open() error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	file := f.files[0]
	src, err := f.run.job.Open(f.ctx, file)
	if err != nil {
		return err
	}
	f.run.result.Stats.BytesIn += file.FileSize
	f.cur, f.level, f.files = &counted{src: src, run: f.run}, file.Level, f.files[1:]
	return nil
}

// Close closes the file that is open.
func (f *fileRun) Close() error {
	cur := f.cur
	f.cur = nil
	if cur == nil {
		return nil
	}
	return closeRun(cur)
}

// counted counts the records that are read and leaves out those that are too old.
type counted struct {
	src  merge.Source
	run  *compactRun
	keep []int32
	kept *rowdata.KeyValues
}

// Next implements [merge.Source].
func (c *counted) Next(dst *rowdata.KeyValues) (int, error) {
	n, err := c.src.Next(dst)
	if err != nil {
		return n, err
	}
	c.run.result.Stats.RowsIn += int64(n)
	if p := c.run.job.Progress; p != nil {
		p.RowsIn.Add(int64(n))
	}
	if c.run.job.Expired == nil {
		return n, nil
	}
	return c.expire(dst), nil
}

// expire takes the records out that are too old.
func (c *counted) expire(kv *rowdata.KeyValues) int {
	c.keep = c.keep[:0]
	for i := range kv.N {
		if !c.run.job.Expired(kv, i) {
			c.keep = append(c.keep, int32(i))
		}
	}
	if len(c.keep) == kv.N {
		return kv.N
	}
	if c.kept == nil {
		c.kept = rowdata.NewKeyValues(kv.Type, 0)
	}
	c.kept.Reset()
	c.kept.Gather(kv, c.keep)
	kv.Reset()
	kv.AppendRange(c.kept, 0, c.kept.N)
	return kv.N
}

// Close implements io.Closer.
func (c *counted) Close() error { return closeRun(c.src) }
