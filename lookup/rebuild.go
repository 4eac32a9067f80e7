package lookup

import (
	"bytes"
	"context"
	"errors"
	"io"

	"sluice/paimon/rowdata"
)

// Source is what an index is built from: all records above level 0 of a bucket,
// merged. merge.Iter and merge.Source have this method.
type Source interface {
	// Next resets dst and fills it with the next records. It returns how many
	// there are, and 0 and io.EOF at the end.
	Next(dst *rowdata.KeyValues) (int, error)
}

// rebuildRows is how many records are asked for at a time, as far as the source
// looks at the batch's room.
const rebuildRows = 4096

// Rebuild replaces the content of the index, of whatever use it is, with the
// records of src and the state that they reflect. Records come in ascending key
// order, one a key; tombstones may be among them. The result is on disk when
// Rebuild returns. Stages that are not committed are discarded.
//
// progress, if not nil, is told the number of records so far after each batch.
// After an error of src or of ctx the index is what it was before.
func (x *Index) Rebuild(ctx context.Context, st State, src Source, progress func(rows int64)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return x.usable()
	}
	x.counts.rebuilds.Add(1)
	x.cache.counts.rebuilds.Add(1)
	old := x.detach()
	err := x.rebuild(ctx, st, src, progress)
	if err == nil {
		err = x.adopt()
	}
	if err != nil {
		return x.restore(ctx, old, err)
	}
	for _, s := range old.stages {
		s.drop()
	}
	if old.log != nil {
		old.log.close()
	}
	x.epoch.Add(1)
	return nil
}

// content is what an index holds.
type content struct {
	generation uint64
	onDisk     *State
	state      *State
	runs       []*run
	stages     []*Stage
	broken     *error
	guard      *guardFS
	log        *valueLog
	meta       meta
	ordinal    uint64
}

// detach takes the content from the index and closes its database.
func (x *Index) detach() content {
	x.closeStore()
	old := content{x.generation, x.onDisk, x.state.Load(), x.runs, x.stages, x.broken.Load(), x.guard, x.log, x.meta, x.ordinal}
	x.onDisk, x.stages, x.log, x.meta, x.ordinal = nil, nil, nil, meta{}, 0
	x.state.Store(nil)
	x.setRuns(nil)
	return old
}

// restore gives the index its content back after a rebuild that failed.
func (x *Index) restore(ctx context.Context, old content, err error) error {
	x.closeStore()
	disk := x.cache.opts.fs
	if x.log != nil {
		x.log.close()
	}
	_ = disk.RemoveAll(x.generationDir())
	_ = disk.RemoveAll(x.tempDir())
	_ = disk.RemoveAll(x.logDir())
	x.generation, x.onDisk, x.stages = old.generation, old.onDisk, old.stages
	x.guard, x.log, x.meta, x.ordinal = old.guard, old.log, old.meta, old.ordinal
	x.state.Store(old.state)
	x.setRuns(old.runs)
	x.broken.Store(old.broken)
	var fromSource *sourceError
	switch {
	case errors.As(err, &fromSource):
		return fromSource.err
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	}
	var order *OrderError
	var key *KeyError
	if errors.As(err, &order) || errors.As(err, &key) {
		return err
	}
	return &FailedError{x.id, err}
}

// sourceError marks an error that came from the source of a rebuild.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

// rebuild writes the records to a new generation.
func (x *Index) rebuild(ctx context.Context, st State, src Source, progress func(rows int64)) error {
	if err := x.newGeneration(ctx); err != nil {
		return err
	}
	// The log says nothing of these records: ordinal 1 is missing in it, so that
	// what follows is never restored without them.
	x.ordinal = 1
	err := x.replacePages(ctx, st, x.ordinal, nil, true, func(p *pager) error { return x.copyRecords(ctx, p, src, progress) })
	if err != nil {
		return err
	}
	x.state.Store(&st)
	return nil
}

// copyRecords writes the records of the source.
func (x *Index) copyRecords(ctx context.Context, p *pager, src Source, progress func(rows int64)) error {
	kv := rowdata.NewKeyValues(x.row, rebuildRows)
	var key, last, val []byte
	rows := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := src.Next(kv)
		if errors.Is(err, io.EOF) {
			if err := p.writeFull(); err != nil {
				return err
			}
			return p.write(p.b.len(), lastFence)
		}
		if err != nil {
			return &sourceError{err}
		}
		for i := range n {
			if key, err = x.keys.append(key[:0], kv.Cols, i); err != nil {
				return err
			}
			if bytes.Compare(last, key) >= 0 {
				return &OrderError{"record", rows + int64(i)}
			}
			key, last = last, key
			val = x.values.append(val[:0], kv, i)
			if len(last)+len(val) > changeBytesMax {
				return &SizeError{len(last) + len(val)}
			}
			p.addValue(last, val)
			if err := p.roomForValues(); err != nil {
				return err
			}
		}
		rows += int64(n)
		x.cache.counts.rebuiltRows.Add(int64(n))
		if progress != nil && n > 0 {
			progress(rows)
		}
	}
}
