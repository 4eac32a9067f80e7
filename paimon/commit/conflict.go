package commit

import (
	"context"
	"fmt"

	"sluice/paimon"
	"sluice/paimon/manifest"
)

// overlay is what the entries of a commit do to the live files, without doing
// it.
type overlay struct {
	c       *Committer
	live    *liveFiles
	entries []manifest.Entry
	added   map[string]*manifest.Entry // by identity
	deleted map[string]struct{}        // live files that are deleted
}

// needsCheck tells whether a commit can conflict with what is there (format
// section 4.7).
func needsCheck(kind paimon.CommitKind, req *Request, s *settings) bool {
	return kind != paimon.CommitAppend || req.CheckConflicts || s.checkBuckets
}

// check returns a [*ConflictError] if the entries contradict the head. touched is
// the index files that change, index all of them after the commit.
func (c *Committer) check(ctx context.Context, kind paimon.CommitKind, user string, entries []manifest.Entry, touched, index []manifest.IndexEntry) error {
	partitions := map[string]struct{}{}
	for i := range entries {
		partitions[string(entries[i].Partition)] = struct{}{}
	}
	for i := range touched {
		partitions[string(touched[i].Partition)] = struct{}{}
	}
	if c.set.strictAfter >= 0 && kind != paimon.CommitAppend {
		if err := c.checkStrict(ctx, user, partitions); err != nil {
			return err
		}
	}
	live, err := c.loadLive(ctx, partitions)
	if err != nil {
		return err
	}
	o := &overlay{c: c, live: live, entries: entries, added: map[string]*manifest.Entry{}, deleted: map[string]struct{}{}}
	if kind != paimon.CommitOverwrite {
		if err := o.checkBucketCounts(); err != nil {
			return err
		}
	}
	if err := o.checkFiles(); err != nil {
		return err
	}
	if len(c.set.key) > 0 && !c.set.clustering {
		if err := o.checkKeyRanges(); err != nil {
			return err
		}
	}
	if len(c.set.key) == 0 && c.set.vectors {
		return o.checkVectors(partitions, index)
	}
	return nil
}

func (o *overlay) conflict(kind ConflictKind, e *manifest.Entry, format string, args ...any) error {
	return &ConflictError{
		Kind: kind, Snapshot: o.c.head.id(), Partition: o.c.table.PartitionText(e.Partition), Bucket: e.Bucket,
		File: e.File.FileName, Detail: fmt.Sprintf(format, args...),
	}
}

// checkBucketCounts is rule 1: one number of buckets a partition.
func (o *overlay) checkBucketCounts() error {
	seen := map[string]int32{}
	for i := range o.entries {
		e := &o.entries[i]
		if e.TotalBuckets <= 0 {
			continue
		}
		total, ok := seen[string(e.Partition)]
		if !ok {
			for t := range o.live.partitions[string(e.Partition)].totals {
				if total, ok = t, t > 0; ok {
					break
				}
			}
		}
		if ok && total != e.TotalBuckets {
			return o.conflict(ConflictBuckets, e, "the partition has %d buckets, the file is for %d: overwrite the partition to change it", total, e.TotalBuckets)
		}
		seen[string(e.Partition)] = e.TotalBuckets
	}
	return nil
}

// checkFiles is rules 2 to 4: what is added is not there, what is deleted is. A
// file that was deleted cannot come back at the same place, as readers would not
// see it (format section 5.4).
func (o *overlay) checkFiles() error {
	for i := range o.entries {
		e := &o.entries[i]
		id := e.Identity()
		_, isLive := o.live.partitions[string(e.Partition)].files[placeOf(e)][id]
		_, isDeleted := o.deleted[id]
		isAdded := o.added[id] != nil
		switch {
		case e.Kind == manifest.Add && (isAdded || isLive && !isDeleted):
			return o.conflict(ConflictAdd, e, "it is there already")
		case e.Kind == manifest.Add && isDeleted:
			return o.conflict(ConflictAdd, e, "this commit deletes it and adds it again at the same place")
		case e.Kind == manifest.Add:
			o.added[id] = e
		case isAdded:
			return o.conflict(ConflictDelete, e, "this commit adds it, too")
		case isLive && !isDeleted:
			o.deleted[id] = struct{}{}
		default:
			return o.conflict(ConflictDelete, e, "another compaction or an overwrite was first")
		}
	}
	return nil
}

// checkKeyRanges is rule 5: within a level above 0 no two files of a bucket
// overlap.
func (o *overlay) checkKeyRanges() error {
	type spot struct {
		partition string // row
		place
	}
	spots := map[spot][]keyRange{}
	for _, e := range o.added {
		if e.File.Level > 0 {
			at := spot{string(e.Partition), placeOf(e)}
			spots[at] = append(spots[at], keyRange{e.File.FileName, e.File.MinKey, e.File.MaxKey})
		}
	}
	for at, files := range spots {
		for id, f := range o.live.partitions[at.partition].files[at.place] {
			if _, gone := o.deleted[id]; !gone {
				files = append(files, keyRange{f.name, f.min, f.max})
			}
		}
		overlap, err := firstOverlap(files, o.c.set.key)
		if err != nil {
			return err
		}
		if overlap != nil {
			e := &manifest.Entry{Partition: []byte(at.partition), Bucket: at.bucket, File: manifest.DataFile{FileName: overlap[0].file}}
			return o.conflict(ConflictKeyRange, e, "on level %d it overlaps %s: two compactions ran at once", at.level, overlap[1].file)
		}
	}
	return nil
}

// checkVectors is rule 6: a deletion vector is that of a live file, which has no
// other.
func (o *overlay) checkVectors(partitions map[string]struct{}, index []manifest.IndexEntry) error {
	files := map[string]bool{} // live after the commit: whether it has a vector
	for p := range partitions {
		for _, level := range o.live.partitions[p].files {
			for id, f := range level {
				if _, gone := o.deleted[id]; !gone {
					files[f.name] = false
				}
			}
		}
	}
	for _, e := range o.added {
		files[e.File.FileName] = false
	}
	for i := range index {
		e := &index[i]
		if _, touched := partitions[string(e.Partition)]; !touched || e.Type != manifest.IndexDeletionVectors {
			continue
		}
		for _, r := range e.DVRanges {
			has, ok := files[r.DataFile]
			if !ok || has {
				at := &manifest.Entry{Partition: e.Partition, Bucket: e.Bucket, File: manifest.DataFile{FileName: r.DataFile}}
				if has {
					return o.conflict(ConflictVectors, at, "two index files hold a deletion vector of it, one is %s", e.FileName)
				}
				return o.conflict(ConflictVectors, at, "index file %s holds a deletion vector of it, but it is gone", e.FileName)
			}
			files[r.DataFile] = true
		}
	}
	return nil
}

// checkStrict is rule 8: since the safe snapshot no other user compacted or
// overwrote one of the partitions.
func (c *Committer) checkStrict(ctx context.Context, user string, partitions map[string]struct{}) error {
	var found error
	err := c.descend(ctx, func(s *paimon.Snapshot) bool {
		if s.ID <= c.set.strictAfter || found != nil {
			return false
		}
		if s.CommitUser == user || s.CommitKind == paimon.CommitAppend || s.CommitKind == paimon.CommitAnalyze {
			return true
		}
		delta, err := c.table.DeltaEntries(ctx, s)
		if err != nil {
			found = err
			return false
		}
		for i := range delta {
			e := &delta[i]
			if _, touched := partitions[string(e.Partition)]; touched {
				found = &ConflictError{
					Kind: ConflictStrict, Snapshot: s.ID, Partition: c.table.PartitionText(e.Partition), Bucket: e.Bucket,
					File: e.File.FileName, Detail: fmt.Sprintf("user %q changed the partition by %s after snapshot %d", s.CommitUser, s.CommitKind, c.set.strictAfter),
				}
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return found
}
