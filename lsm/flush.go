package lsm

import (
	"context"
	"errors"
	"io"

	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// directRows is the length from which rows that lie together in a chunk are
// written from there instead of being gathered first.
const directRows = 1024

// flush writes the buffer, spilled runs included, to level 0 and to changelog
// files if the producer wants them (semantics section 1.4).
func (w *Writer) flush(ctx context.Context) error {
	if w.buf.rows == 0 && len(w.runs) == 0 {
		return nil
	}
	w.pool.stats.Flushes++
	raw := w.table.Producer.Wants(merge.Plan{Flush: true})
	var err error
	if len(w.runs) > 0 {
		err = w.flushMerged(ctx, raw)
	} else {
		err = w.flushSorted(ctx, raw)
	}
	if err != nil {
		return err
	}
	w.buf.reset()
	return w.dropRuns()
}

// flushSorted flushes a buffer that is in memory as a whole.
func (w *Writer) flushSorted(ctx context.Context, raw bool) error {
	entries, exact := w.pool.sorter.sort(w.buf.chunks, w.order)
	data, same, err := w.folded(entries, exact)
	if err != nil {
		return err
	}
	if raw && same && w.table.Data.Options.SameBytes(w.table.Changelog.Options) {
		return w.writeBoth(ctx, w.sorted(entries, true))
	}
	if err := w.writeData(ctx, data); err != nil {
		return err
	}
	if !raw {
		return nil
	}
	return w.writeChangelog(ctx, w.sorted(entries, true))
}

// folded feeds what folding leaves of the entries, and tells whether that is all
// of them as they are.
func (w *Writer) folded(entries []entry, exact bool) (f feed, same bool, err error) {
	engine := w.table.Engine
	switch {
	case engine.Build != nil:
		if lone(entries, w.buf.chunks, w.order, exact) {
			return w.sorted(entries, true), true, nil
		}
		return w.built(entries, exact), false, nil
	case engine.Keep != nil:
		left, err := fold(entries, w.buf.chunks, w.order, exact, engine)
		return w.sorted(entries, false), left == len(entries), err
	}
	return w.sorted(entries, true), true, nil
}

// flushMerged flushes a buffer of which runs were spilled: as one buffer, so
// that spilling does not change what is folded.
func (w *Writer) flushMerged(ctx context.Context, raw bool) error {
	entries, _ := w.pool.sorter.sort(w.buf.chunks, w.order)
	if err := w.writeData(ctx, w.merged(entries, w.table.Engine)); err != nil {
		return err
	}
	if !raw {
		return nil
	}
	return w.writeChangelog(ctx, w.merged(entries, merge.Engine{}))
}

// rowWriter takes records in the order of a file.
type rowWriter interface {
	Write(ctx context.Context, kv *rowdata.KeyValues, from, to int) error
}

// feed puts records, in merge order, into files.
type feed func(ctx context.Context, out rowWriter) error

// sorted feeds the entries, all of them or those that folding left.
func (w *Writer) sorted(entries []entry, all bool) feed {
	return func(ctx context.Context, out rowWriter) error {
		c, rows := &w.pool.copier, rowsIn(batchBytes, w.buf.rowBytes(), batchRows)
		for len(entries) > 0 {
			entries = entries[c.take(entries, rows, all):]
			from := 0
			for i, s := range c.stretches {
				if s.To-s.From < directRows {
					continue
				}
				if err := w.gather(ctx, out, c.stretches[from:i]); err != nil {
					return err
				}
				if err := out.Write(ctx, w.buf.chunks[s.Batch], int(s.From), int(s.To)); err != nil {
					return err
				}
				from = i + 1
			}
			if err := w.gather(ctx, out, c.stretches[from:]); err != nil {
				return err
			}
		}
		return nil
	}
}

// gather copies stretches into one batch and writes it.
func (w *Writer) gather(ctx context.Context, out rowWriter, stretches []merge.Stretch) error {
	if len(stretches) == 0 {
		return nil
	}
	batch := w.pool.scratch(w.buf.typ)
	w.pool.copier.gatherer.Append(batch, w.buf.chunks, stretches)
	return out.Write(ctx, batch, 0, batch.N)
}

// merged feeds the merge of the spilled runs with what is in memory.
func (w *Writer) merged(entries []entry, e merge.Engine) feed {
	return func(ctx context.Context, out rowWriter) error {
		it := w.merge(entries, e, merge.Options{BatchRows: batchRows, BatchBytes: batchBytes})
		return copyAll(ctx, it, w.pool.scratch(w.buf.typ), out)
	}
}

// copyAll writes all records of a source, batch by batch.
func copyAll(ctx context.Context, src merge.Source, batch *rowdata.KeyValues, out rowWriter) error {
	for {
		n, err := src.Next(batch)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = out.Write(ctx, batch, 0, n)
		}
		if err != nil {
			return err
		}
	}
}

// merge returns all records of the buffer in merge order: spilled runs, the
// oldest first, and then what is in memory.
func (w *Writer) merge(entries []entry, e merge.Engine, opts merge.Options) *merge.Iter {
	sources := make([]merge.Source, 0, len(w.runs)+1)
	for _, r := range w.runs {
		sources = append(sources, &runReader{codec: w.pool.codec, run: r})
	}
	if len(entries) > 0 {
		sources = append(sources, w.buf.run(entries))
	}
	o := w.order
	return merge.NewIter(sources, o.key, o.order, e, opts)
}

// spill moves what is in memory to a sorted run on local disk.
func (w *Writer) spill() error {
	if len(w.runs) >= w.pool.spill.FilesMax {
		run, err := w.pool.spillRun(w.merge(nil, merge.Engine{}, merge.Options{BatchRows: spillBatchRows, BatchBytes: spillBatchBytes}), w.buf.typ)
		if err != nil {
			return err
		}
		if err := w.dropRuns(); err != nil {
			return err
		}
		w.runs = append(w.runs, run)
	}
	entries, _ := w.pool.sorter.sort(w.buf.chunks, w.order)
	run, err := w.pool.spillRun(w.buf.run(entries), w.buf.typ)
	if err != nil {
		return err
	}
	w.runs = append(w.runs, run)
	w.buf.reset()
	return nil
}

// writeData writes level-0 files.
func (w *Writer) writeData(ctx context.Context, from feed) error {
	files, err := writeFiles(ctx, w.pool, w.target(&w.table.Data), w.table.Layout, w.table.Data.Options, from)
	w.addData(files)
	return err
}

// writeChangelog writes changelog files.
func (w *Writer) writeChangelog(ctx context.Context, from feed) error {
	files, err := writeFiles(ctx, w.pool, w.target(&w.table.Changelog), w.table.Layout, w.table.Changelog.Options, from)
	w.inc.Changelog = append(w.inc.Changelog, files...)
	return err
}

// writeBoth encodes once and writes each file twice: as data and as changelog.
func (w *Writer) writeBoth(ctx context.Context, from feed) error {
	out := datafile.NewTeeWriter(w.target(&w.table.Data), w.target(&w.table.Changelog), w.table.Layout, w.table.Data.Options)
	if err := from(ctx, out); err != nil {
		return errors.Join(err, out.Abort())
	}
	data, changelog, err := out.Close(ctx)
	if err != nil {
		return err
	}
	w.pool.stats.add(data)
	w.pool.stats.add(changelog)
	w.addData(data)
	w.inc.Changelog = append(w.inc.Changelog, changelog...)
	return nil
}

func (w *Writer) addData(files []manifest.DataFile) {
	w.pool.stats.wrote(files)
	w.inc.NewFiles = append(w.inc.NewFiles, files...)
}

func (w *Writer) target(f *Files) datafile.Target {
	return datafile.Target{Create: w.create, Name: f.Name}
}

// writeFiles makes files of what the feed delivers, none if that is nothing.
func writeFiles(ctx context.Context, p *Pool, t datafile.Target, l datafile.Layout, o datafile.Options, from feed) ([]manifest.DataFile, error) {
	out := datafile.NewRollingWriter(t.Create, t.Name, l, o)
	if err := from(ctx, out); err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	files, err := out.Close(ctx)
	if err != nil {
		return nil, err
	}
	p.stats.add(files)
	return files, nil
}
