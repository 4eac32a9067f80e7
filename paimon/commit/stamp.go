package commit

import (
	"slices"

	"sluice/paimon"
	"sluice/paimon/manifest"
)

// stamp gives the files of a commit what only the number of the snapshot decides:
// row ids and sequence numbers (format section 4.9). It returns the next free row
// id. The entries are copied if they change.
func stamp(entries []manifest.Entry, kind paimon.CommitKind, id, nextRowID int64, s *settings) ([]manifest.Entry, int64) {
	if !s.rowTracking && !s.snapshotOrdering {
		return entries, nextRowID
	}
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].Kind != manifest.Add {
			continue
		}
		f := &entries[i].File
		if s.rowTracking {
			if f.FirstRowID == nil && (f.Source == nil || *f.Source == manifest.SourceAppend) {
				first := nextRowID
				f.FirstRowID = &first
				nextRowID += f.RowCount
			}
			if f.MinSeq == 0 {
				f.MinSeq, f.MaxSeq = id, id
			} else if f.MaxSeq == 0 {
				f.MaxSeq = id
			}
		}
		if s.snapshotOrdering && !isCompact(kind) {
			f.MinSeq, f.MaxSeq = id, id
		}
	}
	return entries, nextRowID
}
