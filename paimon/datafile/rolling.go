package datafile

import (
	"context"
	"errors"
	"fmt"
	"math"

	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// rollCheckRows is how many rows go between two looks at the size of a file
// (format section 9.3).
const rollCheckRows = 1000

// Target is a place where files are made.
type Target struct {
	// Create begins a file. name is what Name returned and the extension.
	Create func(ctx context.Context, name string) (Sink, error)
	// Name returns the name of the next file without extension:
	// <prefix><uuid>-<n>.
	Name func() string
}

// roller cuts rows into files, the same files for each of its targets.
type roller struct {
	plan    *plan
	targets []Target
	cols    columns
	cur     *file
	rows    int64                 // written to all files
	counter int64                 // append tables: number of the first row of cur
	done    [][]manifest.DataFile // by target
	err     error
}

func newRoller(targets []Target, l Layout, o Options) *roller {
	return &roller{
		plan: newPlan(l, o), targets: targets, cols: newColumns(), counter: o.FirstSequence, done: make([][]manifest.DataFile, len(targets)),
	}
}

func (r *roller) write(ctx context.Context, kv *rowdata.KeyValues, from, to int) error {
	if r.err != nil {
		return r.err
	}
	if from >= to {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return r.fail(err)
	}
	cols, err := r.cols.lineUp(r.plan.layout, kv, from, to)
	if err != nil {
		return r.fail(err)
	}
	for from < to {
		if r.cur == nil {
			if err := r.open(ctx); err != nil {
				return r.fail(err)
			}
		}
		n := min(to-from, int(rollCheckRows-r.rows%rollCheckRows))
		limit := r.limit()
		n = int(min(int64(n), limit-r.cur.rows))
		if err := r.cur.write(&r.cols, cols, kv, from, from+n); err != nil {
			return r.fail(fmt.Errorf("file %s: %w", r.cur.names[0], err))
		}
		from += n
		r.rows += int64(n)
		if r.cur.rows >= limit || r.rows%rollCheckRows == 0 && r.cur.enc.Size() >= r.plan.opts.TargetSize {
			if err := r.finish(ctx); err != nil {
				return r.fail(err)
			}
		}
	}
	return nil
}

// limit returns the most rows of a file.
func (r *roller) limit() int64 {
	if r.plan.opts.TargetRows <= 0 {
		return math.MaxInt64
	}
	return r.plan.opts.TargetRows
}

// fail gives up the file being written. Those that are complete stay.
func (r *roller) fail(err error) error {
	r.err = errors.Join(err, r.abort())
	return r.err
}

func (r *roller) open(ctx context.Context) error {
	f := &file{plan: r.plan}
	for _, t := range r.targets {
		name := t.Name() + r.plan.opts.extension()
		sink, err := t.Create(ctx, name)
		if err != nil {
			return errors.Join(fmt.Errorf("create file %s: %w", name, err), f.abort())
		}
		f.out.to, f.names = append(f.out.to, sink), append(f.names, name)
	}
	enc, err := newEncoder(&f.out, r.plan)
	if err != nil {
		return errors.Join(fmt.Errorf("file %s: %w", f.names[0], err), f.abort())
	}
	f.enc, r.cur = enc, f
	return nil
}

func (r *roller) finish(ctx context.Context) error {
	f := r.cur
	r.cur = nil
	metas, err := f.finish(ctx, r.counter)
	if err != nil {
		return fmt.Errorf("file %s: %w", f.names[0], err)
	}
	r.counter += f.rows
	for i, m := range metas {
		r.done[i] = append(r.done[i], m)
	}
	return nil
}

func (r *roller) close(ctx context.Context) ([][]manifest.DataFile, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.cur != nil {
		if err := r.finish(ctx); err != nil {
			return nil, r.fail(err)
		}
	}
	r.err = errClosed
	return r.done, nil
}

// abort drops the file being written.
func (r *roller) abort() error {
	if r.err == nil {
		r.err = errClosed
	}
	if r.cur == nil {
		return nil
	}
	f := r.cur
	r.cur = nil
	return f.abort()
}

// RollingWriter writes rows into files of a target size. It is for one
// goroutine.
type RollingWriter struct{ r *roller }

// NewRollingWriter returns a writer that makes its files with create. name
// returns the name of the next file without extension: <prefix><uuid>-<n>. The
// first file is created with the first row.
func NewRollingWriter(create func(ctx context.Context, name string) (Sink, error), name func() string, l Layout, o Options) *RollingWriter {
	return &RollingWriter{newRoller([]Target{{Create: create, Name: name}}, l, o)}
}

// Write adds rows from..to of kv, all columns of the table. Those of a
// primary-key table are sorted by key and have sequence numbers and kinds; those
// of an append table need neither. The caller may reuse kv at once. After an
// error the file being written is gone and the writer takes no more; files that
// were complete before are listed by Finished.
func (w *RollingWriter) Write(ctx context.Context, kv *rowdata.KeyValues, from, to int) error {
	return w.r.write(ctx, kv, from, to)
}

// Close completes the last file and returns all, in the order of their rows: all
// are durable, and none belongs to the table before a commit names it.
func (w *RollingWriter) Close(ctx context.Context) ([]manifest.DataFile, error) {
	files, err := w.r.close(ctx)
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// Abort drops the file being written, if there is one. Files that are complete
// stay where they are: see Finished.
func (w *RollingWriter) Abort() error { return w.r.abort() }

// Finished returns the files that are complete, for who wants to delete them
// after an error.
func (w *RollingWriter) Finished() []manifest.DataFile { return w.r.done[0] }

// NextSequence returns the number of the next row of an append table.
func (w *RollingWriter) NextSequence() int64 {
	if w.r.cur != nil {
		return w.r.counter + w.r.cur.rows
	}
	return w.r.counter
}

// TeeWriter writes the same rows into two rows of files and encodes them once.
// With the changelog producer input, the changelog of a flush has exactly the
// rows of the data files if no key was there twice and the options for both
// agree ([Options.SameBytes]); whether that is so the caller must know before
// the first row.
type TeeWriter struct{ r *roller }

// NewTeeWriter returns a writer of the files of both targets.
func NewTeeWriter(data, changelog Target, l Layout, o Options) *TeeWriter {
	return &TeeWriter{newRoller([]Target{data, changelog}, l, o)}
}

// Write is that of [RollingWriter].
func (w *TeeWriter) Write(ctx context.Context, kv *rowdata.KeyValues, from, to int) error {
	return w.r.write(ctx, kv, from, to)
}

// Close completes the last files and returns those of each target, which differ
// in nothing but their names.
func (w *TeeWriter) Close(ctx context.Context) (data, changelog []manifest.DataFile, err error) {
	files, err := w.r.close(ctx)
	if err != nil {
		return nil, nil, err
	}
	return files[0], files[1], nil
}

// Abort is that of [RollingWriter].
func (w *TeeWriter) Abort() error { return w.r.abort() }

// Finished returns the files that are complete.
func (w *TeeWriter) Finished() (data, changelog []manifest.DataFile) { return w.r.done[0], w.r.done[1] }
