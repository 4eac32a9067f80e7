package paimon

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"sluice/objstore"
	"sluice/paimon/manifest"
)

// Filter chooses among the entries of manifests. The zero value takes all. Its
// functions may be called by several goroutines at once.
type Filter struct {
	// Partition tells whether a partition row, in manifest form, is wanted.
	Partition func(row []byte) bool
	// PartitionBounds tells whether a manifest with these partition statistics may
	// have an entry of a wanted partition.
	PartitionBounds func(stats *manifest.Stats) bool
	// Buckets are the wanted buckets; nil: all.
	Buckets []int32
	// Bucket tells whether a bucket is wanted, given the number of buckets that the
	// writer of the file knew, which is what a key's hash is to be taken by.
	Bucket func(bucket, totalBuckets int32) bool
	// Level tells whether a level is wanted.
	Level func(level int32) bool
}

// levelsMax bounds the levels of a manifest that are asked for one by one.
const levelsMax = 64

// keepsManifest tells whether a manifest may have a wanted entry.
func (f *Filter) keepsManifest(m *manifest.Meta) bool {
	if f.Buckets != nil && m.MinBucket != nil && m.MaxBucket != nil &&
		!slices.ContainsFunc(f.Buckets, func(b int32) bool { return b >= *m.MinBucket && b <= *m.MaxBucket }) {
		return false
	}
	if f.Level != nil && m.MinLevel != nil && m.MaxLevel != nil && int64(*m.MaxLevel)-int64(*m.MinLevel) < levelsMax {
		wanted := false
		for l := *m.MinLevel; l <= *m.MaxLevel && !wanted; l++ {
			wanted = f.Level(l)
		}
		if !wanted {
			return false
		}
	}
	return f.PartitionBounds == nil || f.PartitionBounds(&m.PartitionStats)
}

// entryFilter is a filter on its way through one manifest: entries of one
// partition mostly stand together.
type entryFilter struct {
	*Filter
	partition []byte
	wanted    bool
}

func (f *entryFilter) keeps(e *manifest.Entry) bool {
	if f.Buckets != nil && !slices.Contains(f.Buckets, e.Bucket) ||
		f.Bucket != nil && !f.Bucket(e.Bucket, e.TotalBuckets) ||
		f.Level != nil && !f.Level(e.File.Level) {
		return false
	}
	if f.Partition == nil {
		return true
	}
	if f.partition == nil || !bytes.Equal(f.partition, e.Partition) {
		f.partition, f.wanted = e.Partition, f.Partition(e.Partition)
	}
	return f.wanted
}

// ManifestList returns the entries of a manifest list as snapshots call it. The
// slice is shared and not to be changed.
func (t *Table) ManifestList(ctx context.Context, name string) ([]manifest.Meta, error) {
	return readCached(ctx, t, name, manifest.DecodeList, func(metas []manifest.Meta) int64 {
		size := int64(cap(metas)) * int64(unsafe.Sizeof(manifest.Meta{}))
		for i := range metas {
			size += recordOverhead + int64(len(metas[i].FileName)) + statsSize(&metas[i].PartitionStats)
		}
		return size
	})
}

// ReadManifest returns the entries of a manifest in the order of the file. The
// slice and what it points to are shared and not to be changed.
func (t *Table) ReadManifest(ctx context.Context, name string) ([]manifest.Entry, error) {
	return readCached(ctx, t, name, manifest.ReadEntries, func(entries []manifest.Entry) int64 {
		size := int64(cap(entries)-len(entries)) * int64(unsafe.Sizeof(manifest.Entry{}))
		for i := range entries {
			size += entrySize(&entries[i])
		}
		return size
	})
}

// readIndex returns the entries of an index manifest.
func (t *Table) readIndex(ctx context.Context, name string) ([]manifest.IndexEntry, error) {
	return readCached(ctx, t, name, manifest.DecodeIndex, func(entries []manifest.IndexEntry) int64 {
		size := int64(cap(entries)) * int64(unsafe.Sizeof(manifest.IndexEntry{}))
		for i := range entries {
			e := &entries[i]
			size += recordOverhead + int64(len(e.FileName)+len(e.Type)+len(e.Partition))
			for j := range e.DVRanges {
				size += int64(unsafe.Sizeof(manifest.DVRange{})) + int64(len(e.DVRanges[j].DataFile)) + 8
			}
		}
		return size
	})
}

// readCached reads a file of the manifest folder, or takes it from the cache.
func readCached[T any](ctx context.Context, t *Table, name string, decode func([]byte) (T, error), sizeOf func(T) int64) (T, error) {
	path := t.ManifestPath(name)
	if v, ok := t.cache.get(path).(T); ok {
		return v, nil
	}
	var zero T
	data, err := objstore.ReadAll(ctx, t.Store, path)
	if err != nil {
		return zero, fmt.Errorf("read manifest %s: %w", path, err)
	}
	v, err := decode(data)
	if err != nil {
		return zero, fmt.Errorf("read manifest %s: %w", path, err)
	}
	t.cache.put(path, v, sizeOf(v))
	return v, nil
}

func statsSize(s *manifest.Stats) int64 {
	return int64(len(s.Min) + len(s.Max) + 8*len(s.NullCounts))
}

// recordOverhead is about what a decoded record holds beside its struct and the
// bytes of its fields: its numbers in the block of the file, which the fields
// share, and the numbers that are pointers.
const recordOverhead = 64

// entrySize returns about how many bytes of memory an entry takes.
func entrySize(e *manifest.Entry) int64 {
	f := &e.File
	size := int64(unsafe.Sizeof(*e)) + recordOverhead + int64(len(e.Partition)+len(f.FileName)+len(f.MinKey)+len(f.MaxKey)+len(f.EmbeddedIndex)) +
		statsSize(&f.KeyStats) + statsSize(&f.ValueStats)
	for _, list := range [][]string{f.ExtraFiles, f.ValueStatsCols, f.WriteCols} {
		for _, s := range list {
			size += int64(unsafe.Sizeof(s)) + int64(len(s))
		}
	}
	if f.ExternalPath != nil {
		size += int64(len(*f.ExternalPath))
	}
	return size + 8*int64(len(f.WriteColSeqs))
}

// LiveEntries returns the entries of the files that a snapshot consists of, in
// the order of its manifests (format section 5.4).
func (t *Table) LiveEntries(ctx context.Context, s *Snapshot, filter Filter) ([]manifest.Entry, error) {
	var metas []manifest.Meta
	for _, list := range []string{s.BaseManifestList, s.DeltaManifestList} {
		m, err := t.ManifestList(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("snapshot %d of table %s: %w", s.ID, t.Path, err)
		}
		metas = append(metas, m...)
	}
	live, err := t.liveOf(ctx, metas, &filter)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d of table %s: %w", s.ID, t.Path, err)
	}
	return live, nil
}

func (t *Table) liveOf(ctx context.Context, metas []manifest.Meta, filter *Filter) ([]manifest.Entry, error) {
	added, deleted := int64(0), int64(0)
	for i := range metas {
		if filter.keepsManifest(&metas[i]) {
			added += metas[i].NumAdded
			deleted += metas[i].NumDeleted
		}
	}
	if deleted == 0 {
		// Nothing to compare; the usual case after manifests were merged.
		live := make([]manifest.Entry, 0, max(0, min(added, liveReserveMax)))
		err := t.eachManifest(ctx, metas, filter, func(e *manifest.Entry) {
			if e.Kind == manifest.Add {
				live = append(live, *e)
			} else {
				deleted++
			}
		})
		if err != nil || deleted == 0 {
			return live, err
		}
		// The list miscounts: look at all again.
	}
	var live manifest.LiveSet
	err := t.eachManifest(ctx, metas, filter, func(e *manifest.Entry) { live.Add(e) })
	return live.Entries(), err
}

// liveReserveMax bounds the entries for which memory is taken in advance, since
// the counts of a manifest list may be wrong.
const liveReserveMax = 1 << 16

// DeltaEntries returns the changes of a snapshot, ADD and DELETE entries in the
// order of its manifests.
func (t *Table) DeltaEntries(ctx context.Context, s *Snapshot) ([]manifest.Entry, error) {
	return t.listEntries(ctx, s, s.DeltaManifestList)
}

// ChangelogEntries returns the changelog files of a snapshot in the order of its
// manifests; none if it has no changelog.
func (t *Table) ChangelogEntries(ctx context.Context, s *Snapshot) ([]manifest.Entry, error) {
	if !s.HasChangelog() {
		return nil, nil
	}
	return t.listEntries(ctx, s, *s.ChangelogManifestList)
}

// IndexEntries returns all index files of a snapshot; none if it has none.
func (t *Table) IndexEntries(ctx context.Context, s *Snapshot) ([]manifest.IndexEntry, error) {
	if s.IndexManifest == nil || *s.IndexManifest == "" {
		return nil, nil
	}
	entries, err := t.readIndex(ctx, *s.IndexManifest)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d of table %s: %w", s.ID, t.Path, err)
	}
	return entries, nil
}

func (t *Table) listEntries(ctx context.Context, s *Snapshot, list string) ([]manifest.Entry, error) {
	metas, err := t.ManifestList(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d of table %s: %w", s.ID, t.Path, err)
	}
	var entries []manifest.Entry
	if len(metas) == 1 {
		// Most deltas are one manifest: share what is in the cache.
		entries, err = t.ReadManifest(ctx, metas[0].FileName)
	} else {
		err = t.eachManifest(ctx, metas, &Filter{}, func(e *manifest.Entry) { entries = append(entries, *e) })
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %d of table %s: %w", s.ID, t.Path, err)
	}
	return entries, nil
}

// eachManifest reads manifests, some at a time, and calls fn for each entry that
// the filter keeps, in order.
func (t *Table) eachManifest(ctx context.Context, metas []manifest.Meta, filter *Filter, fn func(*manifest.Entry)) error {
	var names []string
	for i := range metas {
		if filter.keepsManifest(&metas[i]) {
			names = append(names, metas[i].FileName)
		}
	}
	// A window of manifests is read at a time, so that not all are in memory at
	// once beside the entries that are kept.
	window := t.opts.ParallelReads
	for from := 0; from < len(names); from += window {
		part := names[from:min(from+window, len(names))]
		read := make([][]manifest.Entry, len(part))
		if err := inParallel(ctx, len(part), func(ctx context.Context, i int) (err error) {
			read[i], err = t.ReadManifest(ctx, part[i])
			return err
		}); err != nil {
			return err
		}
		for _, entries := range read {
			keep := entryFilter{Filter: filter}
			for i := range entries {
				if keep.keeps(&entries[i]) {
					fn(&entries[i])
				}
			}
		}
	}
	return nil
}

// inParallel calls fn for 0..n-1 in goroutines, which have ended when it
// returns, and returns the first error, at which ctx is cancelled for the others.
func inParallel(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	if n == 1 {
		return fn(ctx, 0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := fn(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
