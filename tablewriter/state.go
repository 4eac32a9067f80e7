package tablewriter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/manifest"
)

// deltasMax is the number of snapshots of others that are caught up one by one;
// beyond it all live files are looked at.
const deltasMax = 100

// tableState is what is committed, as far as a writer must know it: the greatest
// sequence number of each bucket, the number of buckets of each partition and,
// for writers that compact, the live files of the partitions in use. It comes
// from the newest snapshot when it is first asked, then from what this writer
// commits and others do: if nobody else commits, no manifest is read.
type tableState struct {
	table   *paimon.Table
	buckets int
	counted bool // false: numbers begin at 0 each time, and no bucket count has to fit
	byProp  bool // the snapshot property counts too
	compact bool // live files are kept

	mu       sync.Mutex
	loaded   bool
	snapshot int64              // all up to this one is known
	ahead    map[int64]struct{} // snapshots beyond it that are known: this writer's own
	greatest map[destination]int64
	counts   map[string]int32 // buckets of a partition's files
	floor    int64            // greatest number that the property names, or -1

	touched    map[destination]struct{} // by others, since the last call of changed; nil: any may be
	partitions map[string]int           // partitions whose files are kept, and by how many buckets
	files      map[destination]*bucketFiles
}

// bucketFiles are the committed files of a bucket.
type bucketFiles struct {
	live    map[fileAt]*manifest.DataFile
	version int64 // changes with what others commit
}

// fileAt is a file at its place: a file that changes its level is deleted at the
// old one and added at the new one.
type fileAt struct {
	name  string
	level int32
}

func at(f *manifest.DataFile) fileAt { return fileAt{f.FileName, f.Level} }

func newTableState(t *paimon.Table, h *shape, compacts bool) *tableState {
	return &tableState{
		table: t, buckets: h.buckets, counted: h.buckets != paimon.UnawareBuckets, byProp: h.seqFromSnapshot, compact: compacts,
		ahead: map[int64]struct{}{}, greatest: map[destination]int64{}, counts: map[string]int32{}, floor: -1,
		partitions: map[string]int{}, files: map[destination]*bucketFiles{},
	}
}

// admit makes sure that the buckets of the portions can be written: that what
// others have committed is known if fresh is asked for, and that no partition
// has files of another number of buckets.
func (s *tableState) admit(ctx context.Context, portions []portion, fresh bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fresh || !s.loaded {
		if err := s.refresh(ctx); err != nil {
			return err
		}
	}
	for _, p := range portions {
		if n := s.counts[p.to.partition]; n > 0 && int(n) != s.buckets {
			return &BucketCountError{Partition: s.table.PartitionText([]byte(p.to.partition)), Have: int(n), Want: s.buckets}
		}
	}
	return nil
}

// sync makes sure that all that is committed by now is known.
func (s *tableState) sync(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh(ctx)
}

// next returns the number of a bucket's next record.
func (s *tableState) next(to destination) int64 {
	if !s.counted {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.greatest[to]
	if !ok {
		last = -1
	}
	if s.byProp {
		last = max(last, s.floor)
	}
	return last + 1
}

// raise notes that numbers up to last have been given in a bucket.
func (s *tableState) raise(to destination, last int64) {
	if !s.counted {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raiseLocked(to, last)
}

func (s *tableState) raiseLocked(to destination, last int64) {
	if old, ok := s.greatest[to]; !ok || last > old {
		s.greatest[to] = last
	}
}

// retain begins to keep the files of the bucket's partition, and release ends it
// when all its buckets are released.
func (s *tableState) retain(ctx context.Context, to destination) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.partitions[to.partition] == 0 {
		if err := s.keep(ctx, to.partition); err != nil {
			return err
		}
	}
	s.partitions[to.partition]++
	return nil
}

func (s *tableState) release(to destination) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.partitions[to.partition]--; s.partitions[to.partition] > 0 {
		return
	}
	delete(s.partitions, to.partition)
	maps.DeleteFunc(s.files, func(d destination, _ *bucketFiles) bool { return d.partition == to.partition })
}

// keep reads the files of a partition as they are at the snapshot that is known.
func (s *tableState) keep(ctx context.Context, partition string) error {
	if !s.compact { // an overwrite: what is there goes
		return nil
	}
	if !s.loaded {
		if err := s.refresh(ctx); err != nil {
			return err
		}
	}
	if s.snapshot == 0 {
		return nil
	}
	snap, err := s.table.Snapshot(ctx, s.snapshot)
	if errors.Is(err, paimon.ErrSnapshotNotFound) { // expired: all is read anew
		s.partitions[partition]++
		defer func() { s.partitions[partition]-- }()
		return s.load(ctx)
	}
	if err != nil {
		return err
	}
	entries, err := s.table.LiveEntries(ctx, snap, onePartition(partition))
	if err != nil {
		return err
	}
	for i := range entries {
		s.addFile(&entries[i])
	}
	return nil
}

func onePartition(partition string) paimon.Filter {
	return paimon.Filter{Partition: func(row []byte) bool { return string(row) == partition }}
}

// filesOf returns the committed files of a retained bucket, which the caller must
// not change, and their version.
func (s *tableState) filesOf(to destination) (files []manifest.DataFile, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.files[to]
	if b == nil {
		return nil, 0
	}
	files = make([]manifest.DataFile, 0, len(b.live))
	for _, f := range b.live {
		files = append(files, *f)
	}
	return files, b.version
}

// versionOf tells whether others have changed the bucket: it returns another
// number then.
func (s *tableState) versionOf(to destination) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.files[to]; b != nil {
		return b.version
	}
	return 0
}

// snapshotNow returns the newest snapshot that is known.
func (s *tableState) snapshotNow() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.snapshot
	for id := range s.ahead {
		newest = max(newest, id)
	}
	return newest
}

// known returns the snapshot up to which all is known, and whether nothing beyond
// it is.
func (s *tableState) known() (snapshot int64, contiguous bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot, len(s.ahead) == 0
}

// committed notes the snapshots of this writer, made of these messages.
func (s *tableState) committed(snapshots []*paimon.Snapshot, messages []commit.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, snap := range snapshots {
		if _, known := s.ahead[snap.ID]; known || snap.ID <= s.snapshot {
			continue // it was read meanwhile
		}
		if s.compact {
			s.applyOwn(messages, snap.CommitKind == paimon.CommitCompact)
		}
		s.ahead[snap.ID] = struct{}{}
	}
	s.advance()
}

// advance takes the snapshot number over those that are known ahead.
func (s *tableState) advance() {
	for {
		if _, ok := s.ahead[s.snapshot+1]; !ok {
			return
		}
		s.snapshot++
		delete(s.ahead, s.snapshot)
	}
}

// applyOwn changes the kept files as one part of this writer's messages did.
func (s *tableState) applyOwn(messages []commit.Message, compacted bool) {
	for i := range messages {
		m := &messages[i]
		to := destination{partition: string(m.Partition), bucket: m.Bucket}
		if s.partitions[to.partition] == 0 {
			continue
		}
		b := s.bucket(to)
		before, after := m.DeletedFiles, m.NewFiles
		if compacted {
			before, after = m.CompactBefore, m.CompactAfter
		}
		for k := range before {
			delete(b.live, at(&before[k]))
		}
		for k := range after {
			b.live[at(&after[k])] = &after[k]
		}
	}
}

func (s *tableState) bucket(to destination) *bucketFiles {
	b := s.files[to]
	if b == nil {
		b = &bucketFiles{live: map[fileAt]*manifest.DataFile{}}
		s.files[to] = b
	}
	return b
}

// refresh catches up with the newest snapshot.
func (s *tableState) refresh(ctx context.Context) error {
	latest, err := s.table.LatestID(ctx)
	if err != nil && !errors.Is(err, paimon.ErrNoSnapshot) {
		return err
	}
	if latest < s.snapshot {
		if err := s.checkIdentity(ctx); err != nil {
			return err
		}
	}
	if latest == 0 || !s.counted {
		s.loaded, s.snapshot = true, latest
		return nil
	}
	if s.loaded && latest == s.snapshot {
		return nil
	}
	if s.loaded && latest > s.snapshot && latest-s.snapshot <= deltasMax {
		done, err := s.follow(ctx, latest)
		if done || err != nil {
			return err
		}
	}
	return s.load(ctx)
}

// checkIdentity makes sure that the table is still the one that was opened, when
// snapshots that were there are not any more: it may have been rolled back.
func (s *tableState) checkIdentity(ctx context.Context) error {
	now, err := s.table.CurrentIdentity(ctx)
	if err == nil && now != s.table.Identity() {
		return ErrTableReplaced
	}
	return err
}

// follow reads the snapshots that are not known. It is not done if it cannot be
// told that way: snapshots are gone, or one has replaced files.
func (s *tableState) follow(ctx context.Context, latest int64) (done bool, err error) {
	for s.snapshot < latest {
		id := s.snapshot + 1
		if _, own := s.ahead[id]; own {
			s.advance()
			continue
		}
		snap, err := s.table.Snapshot(ctx, id)
		if errors.Is(err, paimon.ErrSnapshotNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if snap.CommitKind == paimon.CommitOverwrite {
			return false, nil
		}
		entries, err := s.table.DeltaEntries(ctx, snap)
		if err != nil {
			return false, err
		}
		s.see(entries, snap)
		s.change(entries)
		s.snapshot = id
	}
	return true, nil
}

// load looks at all live files of the newest snapshot.
func (s *tableState) load(ctx context.Context) error {
	snap, err := s.table.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	entries, err := s.table.LiveEntries(ctx, snap, paimon.Filter{})
	if err != nil {
		return err
	}
	clear(s.counts)
	clear(s.ahead)
	s.touched = nil
	s.see(entries, snap)
	for _, b := range s.files {
		clear(b.live)
		b.version++
	}
	for i := range entries {
		if s.partitions[string(entries[i].Partition)] > 0 {
			s.addFile(&entries[i])
		}
	}
	s.loaded, s.snapshot = true, snap.ID
	return nil
}

// see notes sequence numbers and bucket counts of added files.
func (s *tableState) see(entries []manifest.Entry, snap *paimon.Snapshot) {
	for i := range entries {
		e := &entries[i]
		if e.Kind != manifest.Add || e.Bucket < 0 {
			continue
		}
		s.raiseLocked(placeOf(e), e.File.MaxSeq)
		if e.TotalBuckets > 0 {
			s.counts[string(e.Partition)] = e.TotalBuckets
		}
	}
	if text, ok := snap.Properties[commit.MaxSequenceProperty]; ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			s.floor = max(s.floor, n)
		}
	}
}

func placeOf(e *manifest.Entry) destination {
	return destination{partition: string(e.Partition), bucket: e.Bucket}
}

// change applies what a snapshot that is not this writer's did to the kept files.
func (s *tableState) change(entries []manifest.Entry) {
	for i := range entries {
		e := &entries[i]
		if s.touched != nil {
			s.touched[placeOf(e)] = struct{}{}
		}
		if s.partitions[string(e.Partition)] == 0 || e.Bucket < 0 {
			continue
		}
		b := s.bucket(placeOf(e))
		b.version++
		if e.Kind == manifest.Add {
			f := e.File.Clone()
			b.live[at(&f)] = &f
		} else {
			delete(b.live, at(&e.File))
		}
	}
}

// addFile keeps a live file. Clones are kept, as a decoded entry shares the
// memory of its whole manifest.
func (s *tableState) addFile(e *manifest.Entry) {
	if e.Bucket < 0 {
		return
	}
	f := e.File.Clone()
	s.bucket(placeOf(e)).live[at(&f)] = &f
}

// changed returns the buckets that others have changed since the last call; all
// buckets of the table if that is not known.
func (s *tableState) changed(ctx context.Context) ([]destination, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	if s.touched != nil {
		out := slices.Collect(maps.Keys(s.touched))
		clear(s.touched)
		return out, nil
	}
	all, err := s.all(ctx)
	if err == nil {
		s.touched = map[destination]struct{}{}
	}
	return all, err
}

// all returns all buckets of the table.
func (s *tableState) all(ctx context.Context) ([]destination, error) {
	return s.unmerged(ctx, math.MaxInt32)
}

// unmerged returns the buckets of the newest snapshot that have a file below
// level top: those whose changelog may be owed.
func (s *tableState) unmerged(ctx context.Context, top int32) ([]destination, error) {
	snap, err := s.table.LatestSnapshot(ctx)
	if errors.Is(err, paimon.ErrNoSnapshot) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := s.table.LiveEntries(ctx, snap, paimon.Filter{Level: func(level int32) bool { return level < top }})
	if err != nil {
		return nil, fmt.Errorf("look for files that are not compacted: %w", err)
	}
	seen := map[destination]struct{}{}
	var out []destination
	for i := range entries {
		to := placeOf(&entries[i])
		if _, again := seen[to]; again || to.bucket < 0 {
			continue
		}
		seen[to] = struct{}{}
		out = append(out, to)
	}
	return out, nil
}
