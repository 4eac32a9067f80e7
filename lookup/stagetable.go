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
	last   []byte          // greatest key
	reader *sstable.Reader // nil: not open
}

// spillTurn is spill in a turn of its own.
func (s *Stage) spillTurn() error {
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
	cursors := make([]*cursor, len(s.runs))
	for i, r := range s.runs {
		cursors[i] = &cursor{run: r}
	}
	m, err := newMerger(cursors)
	if err != nil {
		return err
	}
	w := &tableWriter{s: s.x.store, name: s.x.tableName}
	defer w.remove()
	for first := true; ; first = false {
		c, err := m.next()
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		if n := len(s.tables); first && n > 0 && bytes.Compare(s.tables[n-1].last, c.key) >= 0 {
			s.ordered = false
		}
		s.key = append(s.key[:0], c.key...)
		if err := w.add(c.key, c.value, c.del); err != nil {
			return err
		}
	}
	if err := w.finish(); err != nil {
		return err
	}
	for _, p := range w.paths {
		s.tables = append(s.tables, stageTable{path: p, last: bytes.Clone(s.key)})
	}
	w.paths = nil
	s.runs = s.runs[:0]
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
			q.keep(i, c.value)
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

// applyTables makes a stage that is on disk a part of the database.
func (x *Index) applyTables(ctx context.Context, s *Stage, st State) error {
	// What is older comes first.
	if err := x.push(ctx); err != nil {
		return err
	}
	var err error
	if s.ordered {
		err = x.ingestTables(ctx, s, st)
	} else {
		err = x.mergeTables(ctx, s, st)
	}
	if err != nil {
		return x.failed(ctx, err)
	}
	for i := range s.tables {
		s.tables[i].remove(x.cache.opts.fs)
	}
	s.tables = nil
	x.state.Store(&st)
	return nil
}

// ingestTables takes the tables as they are.
func (x *Index) ingestTables(ctx context.Context, s *Stage, st State) error {
	paths := make([]string, len(s.tables))
	for i := range s.tables {
		if err := s.tables[i].close(); err != nil {
			return err
		}
		paths[i] = s.tables[i].path
	}
	return x.writeTables(ctx, st, paths, func(*tableWriter) error { return nil })
}

// mergeTables makes new tables of tables that overlap.
func (x *Index) mergeTables(ctx context.Context, s *Stage, st State) (err error) {
	cursors := make([]*cursor, len(s.tables))
	for i := range s.tables {
		it, e := s.tables[i].iter(ctx, x.store)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		cursors[i] = &cursor{table: it}
	}
	return x.ingest(ctx, st, cursors)
}
