package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"sluice/internal/failpoint"
	"sluice/lookup"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// previous is the state above level 0 of a bucket, as a changelog producer asks
// for it.
type previous struct{ bucket *bucket }

// Lookup implements producer.Previous.
func (p *previous) Lookup(ctx context.Context, b *rowdata.Batch, rows []int32, dst *rowdata.KeyValues, found []int32) error {
	if p.bucket.index == nil { // an overwrite: nothing was there
		for i := range found {
			found[i] = -1
		}
		return nil
	}
	failpoint.Here(failpoint.LookedUp)
	return p.bucket.index.Lookup(ctx, b, rows, dst, found)
}

// lookups opens the cache of lookup indexes when the first bucket needs one.
type lookups struct {
	given *lookup.Cache
	dir   string
	spill string

	mu   sync.Mutex
	own  *lookup.Cache // in dir
	temp *lookup.Cache // in a folder that goes with the writer
	gone string        // that folder
}

// cache returns the cache: the one that was handed in, or one of the writer's own.
func (l *lookups) cache() (*lookup.Cache, error) {
	if l.given != nil {
		return l.given, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own != nil {
		return l.own, nil
	}
	dir := l.dir
	if dir == "" {
		dir = l.defaultDir()
	}
	c, err := lookup.OpenCache(lookup.Options{Dir: dir})
	var locked *lookup.LockedError
	if errors.As(err, &locked) { // too many processes share the folder
		return l.openTemporary()
	}
	if err != nil {
		return nil, fmt.Errorf("lookup indexes: %w", err)
	}
	l.own = c
	return c, nil
}

// temporary returns a cache that nobody else uses and that is gone with the
// writer, so that its indexes are built anew each time.
func (l *lookups) temporary() (*lookup.Cache, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.openTemporary()
}

func (l *lookups) openTemporary() (*lookup.Cache, error) {
	if l.temp != nil {
		return l.temp, nil
	}
	dir, err := os.MkdirTemp(l.spill, "sluice-lookup-")
	if err != nil {
		return nil, fmt.Errorf("lookup indexes: %w", err)
	}
	if l.temp, err = lookup.OpenCache(lookup.Options{Dir: dir}); err != nil {
		return nil, errors.Join(fmt.Errorf("lookup indexes: %w", err), os.RemoveAll(dir))
	}
	l.gone = dir
	return l.temp, nil
}

// defaultDir returns the folder of indexes where none is given: it should outlive
// the process, so that the next one finds them.
func (l *lookups) defaultDir() string {
	if l.spill == "" {
		if cache, err := os.UserCacheDir(); err == nil {
			return filepath.Join(cache, "sluice", "lookup")
		}
	}
	return filepath.Join(l.spillDir(), "sluice-lookup")
}

func (l *lookups) spillDir() string {
	if l.spill != "" {
		return l.spill
	}
	return os.TempDir()
}

// close closes what the writer opened.
func (l *lookups) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, c := range []*lookup.Cache{l.own, l.temp} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if l.temp != nil {
		errs = append(errs, os.RemoveAll(l.gone))
	}
	l.own, l.temp = nil, nil
	return errors.Join(errs...)
}

// prepareIndex makes sure that the bucket's index reflects its levels and returns
// a stage for what the next compaction changes; nil if the table needs no index.
func (s *shard) prepareIndex(ctx context.Context, b *bucket) (*lookup.Stage, error) {
	if !s.shape.indexed {
		return nil, nil
	}
	if b.index == nil {
		if err := s.openIndex(ctx, b); err != nil {
			return nil, err
		}
	}
	if len(b.stages) == 0 {
		if err := s.validate(ctx, b); err != nil {
			return nil, err
		}
	}
	return b.index.NewStage(), nil
}

func (s *shard) openIndex(ctx context.Context, b *bucket) error {
	cache, err := s.lookups.cache()
	if err != nil {
		return err
	}
	id, spec := s.indexID(b.to), lookup.Spec{Row: s.shape.typ, Key: s.shape.schema.TrimmedKey(), KeyOnly: s.shape.keyOnly}
	b.index, err = cache.Open(ctx, id, spec)
	if errors.Is(err, lookup.ErrInUse) { // by another writer of this process
		if cache, err = s.lookups.temporary(); err == nil {
			b.index, err = cache.Open(ctx, id, spec)
		}
	}
	failpoint.Here(failpoint.IndexOpened)
	return err
}

// indexID names the index of a bucket: that of this table and not of one that had
// its name before.
func (s *shard) indexID(to destination) lookup.ID {
	return lookup.ID{
		Table: fmt.Sprintf("%s-%016x", s.table.Path, s.table.Identity()), Branch: s.table.Branch,
		Partition: s.table.PartitionText([]byte(to.partition)), Bucket: int(to.bucket),
	}
}

// validate compares the index with the files above level 0 that it must reflect:
// nothing else has to be read to know that it does. If it does not, it catches up
// with what it has missed, or is built anew.
func (s *shard) validate(ctx context.Context, b *bucket) error {
	want := lookup.Fingerprint(b.above)
	state, ok := b.index.State()
	if ok && state.Files == want {
		return nil
	}
	if !ok && b.levels.HighestNonEmpty() <= 0 {
		return nil // empty, as it should be
	}
	if ok {
		done, err := s.catchUp(ctx, b, state, want)
		if done || err != nil && !errors.Is(err, lookup.ErrRebuild) {
			return err
		}
	}
	return s.rebuild(ctx, b)
}

// rebuild builds the index of a bucket from the files above level 0.
func (s *shard) rebuild(ctx context.Context, b *bucket) error {
	src := s.newest(ctx, b)
	name := s.place(b.to)
	state := lookup.State{Snapshot: s.state.snapshotNow(), Files: lookup.Fingerprint(b.above)}
	err := b.index.Rebuild(ctx, state, src, func(rows int64) {
		failpoint.Here(failpoint.IndexRebuilding)
		if s.opts.OnRebuild != nil {
			s.opts.OnRebuild(name, rows)
		}
	})
	failpoint.Here(failpoint.IndexRebuilt)
	s.counters.rebuilds.Add(1)
	if err = errors.Join(err, src.Close()); err != nil {
		return fmt.Errorf("build the lookup index anew: %w", err)
	}
	return nil
}

// rebuildDirty builds the index anew in the middle of a commit, of files that are
// not committed yet: if the commit fails, the index does not fit the table and is
// built once more.
func (s *shard) rebuildDirty(ctx context.Context, b *bucket) error {
	for _, stage := range b.stages {
		stage.Discard()
	}
	b.stages, b.sent = nil, 0
	if err := s.finisher.finish(ctx); err != nil {
		return err
	}
	return s.rebuild(ctx, b)
}

// commitStages applies what compactions changed in the index, after their snapshot
// is durable. An index that fails here is found out by the next compaction, and
// built anew: with a stage that is discarded go those that were finished after it,
// so that none of them makes an index that lacks changes look right.
func (s *shard) commitStages(ctx context.Context, b *bucket, snapshot int64) {
	stages := b.stages[:b.sent]
	b.stages, b.sent = b.stages[b.sent:], 0
	if s.opts.beforeIndex != nil && len(stages) > 0 && !s.opts.beforeIndex() {
		for _, stage := range stages {
			stage.Discard()
		}
		return
	}
	for i, stage := range stages {
		failpoint.Here(failpoint.StageCommits)
		state := lookup.State{Snapshot: snapshot, Files: b.sentFiles}
		if i < len(stages)-1 {
			state = partOf(b.index)
		}
		if err := stage.Commit(ctx, state); err != nil {
			s.counters.indexErrors.Add(1)
			stage.Discard()
		}
		failpoint.Here(failpoint.StageCommitted)
	}
}

// partOf returns the state of an index that has a part of the next changes: no
// files fit it, and what follows its snapshot must be applied again.
func partOf(x *lookup.Index) lookup.State {
	state, _ := x.State()
	for i := range state.Files {
		state.Files[i] = ^byte(0)
	}
	return state
}

// closeIndex closes the index of a bucket, if it is open. It is a cache: an error
// means that it is built anew next time.
func (s *shard) closeIndex(b *bucket) {
	if b.index == nil {
		return
	}
	failpoint.Here(failpoint.IndexCloses)
	if err := b.index.Close(); err != nil {
		s.counters.indexErrors.Add(1)
	}
	failpoint.Here(failpoint.IndexClosed)
	b.index, b.producer = nil, nil
}

// catchUpMax is the number of snapshots that an index catches up with one by one.
const catchUpMax = 64

// catchUp applies the changelog of the snapshots that the index has missed. It is
// not done where that is not exact: if rows are stored that no changelog tells of,
// or a snapshot changed the files in another way.
func (s *shard) catchUp(ctx context.Context, b *bucket, state lookup.State, want [16]byte) (done bool, err error) {
	target, contiguous := s.state.known()
	if !s.shape.exactChangelog || !contiguous || state.Snapshot <= 0 || state.Snapshot >= target || target-state.Snapshot > catchUpMax {
		return false, nil
	}
	var changelog []manifest.Entry
	for id := state.Snapshot + 1; id <= target; id++ {
		files, ok, err := s.missed(ctx, b.to, id)
		if !ok || err != nil {
			return false, err
		}
		changelog = append(changelog, files...)
	}
	kv := rowdata.NewKeyValues(s.shape.typ, 0)
	for i := range changelog {
		if err := s.applyChangelog(ctx, b.index, &changelog[i], kv); err != nil {
			return false, err
		}
		failpoint.Here(failpoint.IndexCatchingUp)
	}
	last := b.index.NewStage()
	if err := last.Commit(ctx, lookup.State{Snapshot: target, Files: want}); err != nil {
		last.Discard()
		return false, err
	}
	failpoint.Here(failpoint.IndexCaughtUp)
	s.counters.catchUps.Add(1)
	return true, nil
}
