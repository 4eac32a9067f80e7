package commit

import (
	"bytes"
	"context"

	"sluice/paimon"
	"sluice/paimon/manifest"
)

// liveFilesMax bounds the live files that are remembered between commits.
const liveFilesMax = 1_000_000

// liveFiles are the live files of some partitions of the head, with what the
// conflict checks need of them.
type liveFiles struct {
	partitions map[string]*livePartition // by row
	count      int
}

type livePartition struct {
	totals map[int32]int // files by _TOTAL_BUCKETS
	files  map[place]map[string]liveFile
}

// place is a level of a bucket.
type place struct{ bucket, level int32 }

func placeOf(e *manifest.Entry) place { return place{e.Bucket, e.File.Level} }

type liveFile struct {
	name     string
	total    int32
	min, max []byte // above level 0
}

// loadLive reads the live files of partitions that are not there yet.
func (c *Committer) loadLive(ctx context.Context, partitions map[string]struct{}) (*liveFiles, error) {
	h := c.head
	if h.live == nil || h.live.count > liveFilesMax {
		h.live = &liveFiles{partitions: map[string]*livePartition{}}
	}
	missing := map[string]struct{}{}
	for p := range partitions {
		if h.live.partitions[p] == nil {
			missing[p] = struct{}{}
		}
	}
	if len(missing) == 0 {
		return h.live, nil
	}
	var entries []manifest.Entry
	if h.snapshot != nil {
		bounds, err := newPartitionBounds(missing, c.set.partition)
		if err != nil {
			return nil, err
		}
		entries, err = c.table.LiveEntries(ctx, h.snapshot, paimon.Filter{
			Partition: func(row []byte) bool {
				_, ok := missing[string(row)]
				return ok
			},
			PartitionBounds: bounds.mayMeet,
		})
		if err != nil {
			return nil, err
		}
	}
	for p := range missing {
		h.live.partitions[p] = &livePartition{totals: map[int32]int{}, files: map[place]map[string]liveFile{}}
	}
	h.live.apply(entries)
	return h.live, nil
}

// apply changes the partitions that are there as a snapshot does.
func (l *liveFiles) apply(entries []manifest.Entry) {
	for i := range entries {
		e := &entries[i]
		p := l.partitions[string(e.Partition)]
		if p == nil {
			continue
		}
		id, at := e.Identity(), placeOf(e)
		if e.Kind == manifest.Delete {
			if f, ok := p.files[at][id]; ok {
				delete(p.files[at], id)
				if p.totals[f.total]--; p.totals[f.total] == 0 {
					delete(p.totals, f.total)
				}
				l.count--
			}
			continue
		}
		files := p.files[at]
		if files == nil {
			files = map[string]liveFile{}
			p.files[at] = files
		}
		if _, again := files[id]; again {
			continue
		}
		// Keys are copied: they would keep the whole manifest in memory.
		f := liveFile{name: id[:len(e.File.FileName)], total: e.TotalBuckets}
		if at.level > 0 {
			f.min, f.max = bytes.Clone(e.File.MinKey), bytes.Clone(e.File.MaxKey)
		}
		files[id] = f
		p.totals[e.TotalBuckets]++
		l.count++
	}
}
