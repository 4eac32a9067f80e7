package commit

import (
	"slices"

	"sluice/paimon/manifest"
)

// combineIndex applies changes to the index files of a snapshot (format section
// 11.1). HASH files, and deletion vectors of tables with buckets, are one file a
// bucket: an addition replaces the one that was there. All others are told apart
// by name, and must be there to be deleted, and not be there to be added.
// snapshot is for the error, a [*ConflictError].
func combineIndex(old, deleted, added []manifest.IndexEntry, unaware bool, conflict func(e *manifest.IndexEntry, detail string) error) ([]manifest.IndexEntry, error) {
	perBucket := func(e *manifest.IndexEntry) bool {
		return e.Type == manifest.IndexHash || e.Type == manifest.IndexDeletionVectors && !unaware
	}
	type slot struct {
		partition string
		bucket    int32
		kind      string
	}
	slotOf := func(e *manifest.IndexEntry) slot { return slot{string(e.Partition), e.Bucket, e.Type} }

	list := slices.Clone(old)
	slots := map[slot]bool{} // whose entry is gone
	names := map[string]bool{}
	for i := range list {
		if !perBucket(&list[i]) {
			names[list[i].FileName] = true
		}
	}
	gone := map[string]bool{}
	for i := range deleted {
		e := &deleted[i]
		if perBucket(e) {
			slots[slotOf(e)] = true
			continue
		}
		if !names[e.FileName] {
			return nil, conflict(e, "is deleted but not there")
		}
		delete(names, e.FileName)
		gone[e.FileName] = true
	}
	for i := range added {
		if e := &added[i]; perBucket(e) {
			slots[slotOf(e)] = true
		} else if names[e.FileName] || gone[e.FileName] {
			return nil, conflict(e, "is added but there already")
		} else {
			names[e.FileName] = true
		}
	}
	list = slices.DeleteFunc(list, func(e manifest.IndexEntry) bool {
		if perBucket(&e) {
			return slots[slotOf(&e)]
		}
		return gone[e.FileName]
	})
	latest := map[slot]int{} // two additions to one slot: the last one counts
	for i := range added {
		e := added[i]
		e.Kind = manifest.Add
		if perBucket(&e) {
			if at, again := latest[slotOf(&e)]; again {
				list[at] = e
				continue
			}
			latest[slotOf(&e)] = len(list)
		}
		list = append(list, e)
	}
	return list, nil
}
