package lookup

import (
	"bytes"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// stageTable is a part of a stage that was written to disk: a table as those of
// the database.
type stageTable struct {
	path   string
	reader *sstable.Reader // nil: not open
}

// spillTurn is spill in a turn of its own.
func (s *Stage) spillTurn() error {
	if err := s.settle(); err != nil {
		return err
	}
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	if err := s.current(); err != nil {
		return err
	}
	return s.spill(closing())
}

// spill writes the runs to tables. The caller has the turn of the index.
func (s *Stage) spill(ctx context.Context) error {
	x := s.x
	if err := x.ready(ctx); err != nil {
		return err
	}
	if err := s.writeRuns(); err != nil {
		return x.failed(ctx, err)
	}
	return nil
}

func (s *Stage) writeRuns() error {
	m, err := newMerger(cursorsOf(s.changes.runs))
	if err != nil {
		return err
	}
	w := &tableWriter{s: s.x.store, name: s.x.tableName}
	defer w.remove()
	for {
		c, err := m.next()
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		if err := w.add(c.key, c.value, c.del); err != nil {
			return err
		}
	}
	if err := w.finish(); err != nil {
		return err
	}
	for _, p := range w.paths {
		s.tables = append(s.tables, stageTable{path: p})
	}
	w.paths = nil
	s.changes.runs, s.settled = nil, 0
	return nil
}

// iter returns an iterator over the table.
func (t *stageTable) iter(ctx context.Context, s *store) (sstable.Iterator, error) {
	if t.reader == nil {
		f, err := s.guard.Open(t.path)
		if err != nil {
			return nil, err
		}
		readable, err := sstable.NewSimpleReadable(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		r, err := sstable.NewReader(ctx, readable, s.opts.MakeReaderOptions())
		if err != nil {
			return nil, errors.Join(err, readable.Close())
		}
		t.reader = r
	}
	return t.reader.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
}

// search looks for the keys that are still open in the table.
func (t *stageTable) search(ctx context.Context, s *store, q *search) error {
	it, err := t.iter(ctx, s)
	if err != nil {
		return err
	}
	c := &cursor{table: it}
	for i, state := range q.state {
		if state != open {
			continue
		}
		key := q.key(i)
		if err = c.seek(key); err != nil || !c.ok {
			break
		}
		switch {
		case !bytes.Equal(c.key, key):
		case c.del:
			q.state[i] = gone
		default:
			if err = q.hit(i, c.value); err != nil {
				return errors.Join(err, it.Close())
			}
		}
	}
	return errors.Join(err, it.Close())
}

func (t *stageTable) close() error {
	if t.reader == nil {
		return nil
	}
	r := t.reader
	t.reader = nil
	return r.Close()
}

func (t *stageTable) remove(disk vfs.FS) {
	_ = t.close()
	_ = disk.Remove(t.path)
}

// applyTables makes a stage that is on disk a part of the database, and with it
// what is older.
func (x *Index) applyTables(ctx context.Context, s *Stage, st State) (err error) {
	sources := cursorsOf(x.runs)
	for i := range s.tables {
		it, e := s.tables[i].iter(ctx, x.store)
		if e != nil {
			return x.failed(ctx, e)
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		sources = append(sources, &cursor{table: it})
	}
	x.log.forget(s.frame.stage)
	if err := x.writePages(ctx, st, x.ordinal+1, sources, s.rows+changesIn(x.runs)); err != nil {
		return x.failed(ctx, err)
	}
	x.ordinal++
	x.state.Store(&st)
	x.setRuns(nil)
	return nil
}

// removeTables deletes the tables of a stage that is committed.
func (s *Stage) removeTables() {
	for i := range s.tables {
		s.tables[i].remove(s.x.cache.opts.fs)
	}
	s.tables = nil
}
