package lookup

import (
	"context"

	"sluice/paimon/rowdata"
)

// Stage is changes of an index that do not count yet: those of a compaction whose
// snapshot is not committed. It serves one goroutine; several stages of an index
// may be filled at a time.
//
// Values go to the log of the index at once. Keys, and where the values are, are
// in memory up to Options.StageBytes and beyond that in tables beside the database,
// so that a stage takes bounded memory whatever its size.
type Stage struct {
	x        *Index
	epoch    uint64 // of the index
	codec    *keyCodec
	frame    frameWriter
	tables   []stageTable // older first, all older than the changes in memory
	changes  collector
	finished *run // all changes in memory, once the stage is finished
	settled  int  // changes of the last run whose places in the log are final
	rows     int64
	key      []byte
	val      []byte
	status   stageStatus
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
	id := x.stageIDs.Add(1)
	return &Stage{
		x: x, epoch: x.epoch.Load(), codec: x.keys, frame: frameWriter{stage: id},
		changes: collector{mergeBytes: x.cache.opts.StageBytes, sizeHint: sizes{int(x.stageBytes.Load()), int(x.stageRows.Load())}},
	}
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
	if s.changes.startsPass(s.key) {
		if err := s.settle(); err != nil {
			return err
		}
		s.settled = 0
	}
	l := s.frame.put(s.key, val, flag == deleted)
	var place [locBytes]byte
	where := place[:0]
	if l.size > 0 {
		where = l.append(where)
	}
	r, replaced := s.changes.add(s.key, where, flag)
	if replaced {
		s.rows--
		s.settled = min(s.settled, r.len()-1)
	}
	s.rows++
	if s.frame.full() {
		if err := s.settle(); err != nil {
			return err
		}
	}
	if s.changes.bytes() > s.x.cache.opts.StageBytes {
		return s.spillTurn()
	}
	return nil
}

// settle writes the values so far to the log.
func (s *Stage) settle() error {
	if s.frame.isEmpty() {
		return nil
	}
	log, err := s.log()
	if err != nil {
		return err
	}
	s.frame.log = log
	base, err := s.frame.flush()
	if err != nil {
		return s.logFailed(err)
	}
	r := s.changes.runs[len(s.changes.runs)-1]
	for i := s.settled; i < r.len(); i++ {
		if v := r.value(i); len(v) == locBytes {
			addAddress(v, base)
		}
	}
	s.settled = r.len()
	return nil
}

// log returns the log of the content that the stage was begun for. The stage may
// be the first that needs it, and others may go on meanwhile.
func (s *Stage) log() (*valueLog, error) {
	if s.frame.log != nil {
		return s.frame.log, nil
	}
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	return s.logInTurn()
}

func (s *Stage) logInTurn() (*valueLog, error) {
	if err := s.current(); err != nil {
		return nil, err
	}
	return s.x.log, nil
}

// logFailed says what a failed write to the log means.
func (s *Stage) logFailed(err error) error {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	if err := s.current(); err != nil { // the content is gone, and its log with it
		return err
	}
	return s.x.failed(closing(), err)
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
	if err := s.settle(); err != nil {
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

// finish is Finish in the turn of the caller. All values are in the log already.
func (s *Stage) finish(ctx context.Context) error {
	x := s.x
	if err := s.current(); err != nil {
		return err
	}
	if len(s.tables) > 0 && s.changes.bytes() > 0 {
		if err := s.spill(ctx); err != nil {
			return err
		}
	}
	s.status = stageFinished
	if s.finished = s.changes.merged(); s.finished != nil {
		x.stageBytes.Store(int64(len(s.finished.buf)))
		x.stageRows.Store(int64(s.finished.len()))
	}
	s.changes.runs = nil
	x.stages = append(x.stages, s)
	return nil
}

// Commit makes the changes and the state that they lead to the content of the
// index, both or neither, after the snapshot of the changes has been committed.
// They survive the end of the process, and a crash of the machine after
// [Index.Flush] or when they have been written out for want of room: nothing is
// synced here, and an index that lost its last commits has the state of an earlier
// one.
func (s *Stage) Commit(ctx context.Context, st State) error {
	if s.status == stageCommitted {
		return ErrFinished
	}
	if s.status == stageDiscarded {
		return ErrDiscarded
	}
	x := s.x
	if s.status == stageOpen {
		if err := s.settle(); err != nil {
			return err
		}
	}
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
		c := commit{x.ordinal + 1, s.frame.count, st}
		if err := x.logCommit(s.frame.stage, c); err != nil {
			return x.failed(ctx, err)
		}
		x.log.forget(s.frame.stage)
		x.ordinal++
		x.addRun(s.finished, st)
	}
	s.removeTables()
	s.finished = nil
	s.status = stageCommitted
	x.stages = x.stages[1:]
	x.counts.commits.Add(1)
	x.cache.counts.commits.Add(1)
	if x.log.bytes()-x.pushed > x.cache.opts.log.tailMax {
		if err := x.push(ctx); err != nil {
			return err
		}
	}
	return x.cache.shed(ctx, x)
}

// logCommit writes to the log that the records of a stage count.
func (x *Index) logCommit(stage uint64, c commit) error {
	frame := make([]byte, frameHeader, frameHeader+commitBytes)
	header{frameCommit, commitBytes, stage}.put(frame, x.generation)
	_, err := x.log.append(noStage, c.append(frame, x.generation))
	return err
}

// addRun adds committed changes, newer than all others; nil if only the state
// changes.
func (x *Index) addRun(r *run, st State) {
	runs := x.runs
	if r != nil {
		runs = compactRuns(append(runs, r), x.cache.opts.RecentBytes/8)
	} else if len(runs) == 0 {
		runs = append(runs, new(run)) // the state alone is to be written
	}
	x.state.Store(&st)
	x.setRuns(runs)
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
	if s.frame.log != nil {
		s.frame.log.forget(s.frame.stage)
	}
	s.tables, s.changes.runs, s.finished, s.status = nil, nil, nil, stageDiscarded
}

// search looks for keys in a finished stage.
func (s *Stage) search(ctx context.Context, q *search) error {
	if s.finished != nil {
		if err := q.searchRun(s.finished); err != nil {
			return err
		}
	}
	for i := len(s.tables) - 1; i >= 0; i-- {
		if err := s.tables[i].search(ctx, s.x.store, q); err != nil {
			return err
		}
	}
	return nil
}
