package tablewriter

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"sluice/paimon"
	"sluice/paimon/commit"
	"sluice/paimon/manifest"
)

// deltasMax is the number of snapshots of others that are caught up one by one;
// beyond it all live files are looked at.
const deltasMax = 100

// sequences knows the greatest sequence number of each bucket and how many
// buckets each partition has: from the newest snapshot when it is first asked,
// then from what this writer gives out and others commit.
type sequences struct {
	table   *paimon.Table
	buckets int
	counted bool // false: numbers begin at 0 each time, and no bucket count has to fit
	byProp  bool // the snapshot property counts too
	session string

	mu       sync.Mutex
	loaded   bool
	snapshot int64 // all up to this one is known
	greatest map[destination]int64
	counts   map[string]int32 // buckets of a partition's files
	floor    int64            // greatest number that the property names, or -1
}

func newSequences(t *paimon.Table, h *shape, session string) *sequences {
	return &sequences{
		table: t, buckets: h.buckets, counted: h.buckets != paimon.UnawareBuckets, byProp: h.seqFromSnapshot, session: session,
		greatest: map[destination]int64{}, counts: map[string]int32{}, floor: -1,
	}
}

// admit makes sure that the buckets of the portions can be written: that what
// others have committed is known if fresh is asked for, and that no partition
// has files of another number of buckets.
func (s *sequences) admit(ctx context.Context, portions []portion, fresh bool) error {
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

// next returns the number of a bucket's next record.
func (s *sequences) next(to destination) int64 {
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
func (s *sequences) raise(to destination, last int64) {
	if !s.counted {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raiseLocked(to, last)
}

func (s *sequences) raiseLocked(to destination, last int64) {
	if old, ok := s.greatest[to]; !ok || last > old {
		s.greatest[to] = last
	}
}

// committed notes a snapshot of this writer, whose numbers are known.
func (s *sequences) committed(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == s.snapshot+1 {
		s.snapshot = id
	}
}

// refresh catches up with the newest snapshot.
func (s *sequences) refresh(ctx context.Context) error {
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
func (s *sequences) checkIdentity(ctx context.Context) error {
	now, err := s.table.CurrentIdentity(ctx)
	if err == nil && now != s.table.Identity() {
		return ErrTableReplaced
	}
	return err
}

// follow reads what others added since. It is not done if it cannot be told that
// way: snapshots are gone, or one has replaced files.
func (s *sequences) follow(ctx context.Context, latest int64) (done bool, err error) {
	for id := s.snapshot + 1; id <= latest; id++ {
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
		if snap.Properties[PropertyWriter] != s.session {
			entries, err := s.table.DeltaEntries(ctx, snap)
			if err != nil {
				return false, err
			}
			s.see(entries, snap)
		}
		s.snapshot = id
	}
	return true, nil
}

// load looks at all live files of the newest snapshot.
func (s *sequences) load(ctx context.Context) error {
	snap, err := s.table.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	entries, err := s.table.LiveEntries(ctx, snap, paimon.Filter{})
	if err != nil {
		return err
	}
	clear(s.counts)
	s.see(entries, snap)
	s.loaded, s.snapshot = true, snap.ID
	return nil
}

func (s *sequences) see(entries []manifest.Entry, snap *paimon.Snapshot) {
	for i := range entries {
		e := &entries[i]
		if e.Kind != manifest.Add || e.Bucket < 0 {
			continue
		}
		s.raiseLocked(destination{partition: string(e.Partition), bucket: e.Bucket}, e.File.MaxSeq)
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
