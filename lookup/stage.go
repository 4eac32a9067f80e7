package lookup

import (
	"bytes"
	"context"

	"sluice/paimon/rowdata"
)

// Stage is changes of an index that do not count yet: those of a compaction whose
// snapshot is not committed. It serves one goroutine; several stages of an index
// may be filled at a time.
//
// What is beyond Options.StageBytes is in tables beside the database, so that a
// stage takes bounded memory whatever its size.
type Stage struct {
	x       *Index
	epoch   uint64 // of the index
	codec   *keyCodec
	tables  []stageTable // older first, all older than the runs
	runs    []*run       // older first; the last one is being filled
	rows    int64
	key     []byte
	val     []byte
	status  stageStatus
	ordered bool // the tables follow one another in key order
}

type stageStatus uint8

const (
	stageOpen stageStatus = iota
	stageFinished
	stageCommitted
	stageDiscarded
)

// NewStage returns an empty stage.
func (x *Index) NewStage() *Stage {
	return &Stage{x: x, epoch: x.epoch.Load(), codec: x.keys, ordered: true}
}

// Len returns the number of changes so far.
func (s *Stage) Len() int64 { return s.rows }

// Put says that records from..to (exclusive) of kv, of Spec.Row, are now the
// newest above level 0 of their keys. Within one compaction keys ascend; a key
// that does not begins a new pass over the keys, whose changes are newer.
func (s *Stage) Put(kv *rowdata.KeyValues, from, to int) error {
	if err := s.writable(); err != nil {
		return err
	}
	for i := from; i < to; i++ {
		var err error
		if s.key, err = s.codec.append(s.key[:0], kv.Cols, i); err != nil {
			return err
		}
		s.val = s.x.values.append(s.val[:0], kv, i)
		if err := s.add(s.val, 0); err != nil {
			return err
		}
	}
	return nil
}

// Delete says that the keys of rows of b, of Spec.Row, have no record above level
// 0 any more.
func (s *Stage) Delete(b *rowdata.Batch, rows []int32) error {
	if err := s.writable(); err != nil {
		return err
	}
	for _, row := range rows {
		var err error
		if s.key, err = s.codec.append(s.key[:0], b.Cols, int(row)); err != nil {
			return err
		}
		if err := s.add(nil, deleted); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) writable() error {
	switch s.status {
	case stageOpen:
		return nil
	case stageDiscarded:
		return ErrDiscarded
	}
	return ErrFinished
}

// add puts the change of s.key behind the others.
func (s *Stage) add(val []byte, flag uint32) error {
	if len(s.key)+len(val) > changeBytesMax {
		return &SizeError{len(s.key) + len(val)}
	}
	head := keyHead(s.key)
	r := s.tail()
	if n := r.len(); n > 0 {
		last := &r.refs[n-1]
		switch {
		case last.head < head:
		case last.head == head && bytes.Compare(r.key(n-1), s.key) < 0:
		case last.head == head && bytes.Equal(r.key(n-1), s.key):
			// A key may be put and deleted in a row; the last change counts.
			r.buf, r.refs = r.buf[:last.off], r.refs[:n-1]
			s.rows--
		default:
			r = s.newPass()
		}
	}
	r.append(head, s.key, val, uint32(len(s.key))|flag)
	s.rows++
	if s.bytes() > s.x.cache.opts.StageBytes {
		return s.spillTurn()
	}
	return nil
}

func (s *Stage) tail() *run {
	if len(s.runs) == 0 {
		s.runs = append(s.runs, new(run))
	}
	return s.runs[len(s.runs)-1]
}

func (s *Stage) newPass() *run {
	s.runs = append(compactRuns(s.runs, s.x.cache.opts.StageBytes), new(run))
	return s.tail()
}

// bytes returns how much is in memory.
func (s *Stage) bytes() int64 {
	n := int64(0)
	for _, r := range s.runs {
		n += int64(len(r.buf)) + refBytes*int64(len(r.refs))
	}
	return n
}

// Finish says that no more changes come. Lookups see them from now on, though
// they are not committed and a crash loses them: the next compaction of the
// bucket may go on before the snapshot of this one is there. Stages are committed
// in the order in which they were finished.
func (s *Stage) Finish() error {
	if s.status == stageFinished {
		return nil
	}
	if err := s.writable(); err != nil {
		return err
	}
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	return s.finish(closing())
}

// current tells why the stage is of no use: the index is not, or its content was
// dropped since the stage was begun.
func (s *Stage) current() error {
	if err := s.x.usable(); err != nil {
		return err
	}
	if s.epoch != s.x.epoch.Load() {
		s.drop()
		return ErrDiscarded
	}
	return nil
}

// finish is Finish in the turn of the caller.
func (s *Stage) finish(ctx context.Context) error {
	x := s.x
	if err := s.current(); err != nil {
		return err
	}
	if len(s.tables) > 0 && len(s.runs) > 0 {
		if err := s.spill(ctx); err != nil {
			return err
		}
	}
	s.runs = mergeAll(s.runs)
	s.status = stageFinished
	x.stages = append(x.stages, s)
	return nil
}

// mergeAll merges runs into one.
func mergeAll(runs []*run) []*run {
	for len(runs) > 1 {
		n := len(runs)
		runs = append(runs[:n-2], mergeRuns(runs[n-2], runs[n-1]))
	}
	return runs
}

// Commit makes the changes and the state that they lead to the content of the
// index, both or neither, after the snapshot of the changes has been committed.
// They survive a crash with [Index.Flush] or when they have been written out for
// want of room: there is no log, and an index that lost its last commits has the
// state of an earlier one.
func (s *Stage) Commit(ctx context.Context, st State) error {
	if s.status == stageCommitted {
		return ErrFinished
	}
	if s.status == stageDiscarded {
		return ErrDiscarded
	}
	x := s.x
	if err := x.begin(ctx); err != nil {
		return err
	}
	defer x.mu.Unlock()
	// A failure or a rebuild may have dropped the stage meanwhile.
	if s.status == stageDiscarded {
		return ErrDiscarded
	}
	if s.status == stageOpen {
		if len(x.stages) > 0 {
			return ErrStageOrder
		}
		if err := s.finish(ctx); err != nil {
			return err
		}
	}
	if x.stages[0] != s {
		return ErrStageOrder
	}
	return x.apply(ctx, s, st)
}

// apply makes the oldest finished stage a part of the index.
func (x *Index) apply(ctx context.Context, s *Stage, st State) error {
	if len(s.tables) > 0 {
		if err := x.applyTables(ctx, s, st); err != nil {
			return err
		}
	} else {
		runs := x.runs
		if len(s.runs) > 0 && s.runs[0].len() > 0 {
			runs = compactRuns(append(runs, s.runs[0]), x.cache.opts.RecentBytes/8)
		} else if len(runs) == 0 {
			runs = append(runs, &run{}) // the state alone is to be written
		}
		x.state.Store(&st)
		x.setRuns(runs)
	}
	s.runs = nil
	s.status = stageCommitted
	x.stages = x.stages[1:]
	x.counts.commits.Add(1)
	x.cache.counts.commits.Add(1)
	return x.cache.shed(ctx, x)
}

// Discard drops the changes. Finished stages that came after this one were made
// with its changes in sight, and are discarded with it.
func (s *Stage) Discard() {
	if s.status == stageCommitted || s.status == stageDiscarded {
		return
	}
	x := s.x
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, t := range x.stages {
		if t == s {
			for _, later := range x.stages[i:] {
				later.drop()
			}
			x.stages = x.stages[:i]
			return
		}
	}
	s.drop()
}

// drop forgets the changes, in the turn of the caller.
func (s *Stage) drop() {
	for _, t := range s.tables {
		t.remove(s.x.cache.opts.fs)
	}
	s.tables, s.runs, s.status = nil, nil, stageDiscarded
}

// search looks for keys in a finished stage.
func (s *Stage) search(ctx context.Context, q *search) error {
	for i := len(s.runs) - 1; i >= 0; i-- {
		q.searchRun(s.runs[i])
	}
	for i := len(s.tables) - 1; i >= 0; i-- {
		if err := s.tables[i].search(ctx, s.x.store, q); err != nil {
			return err
		}
	}
	return nil
}
