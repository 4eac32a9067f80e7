package commit

import (
	"strings"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// changes are what becomes one snapshot: the append part or the compact part of
// all messages (format section 4.3). They do not depend on the state of the
// table.
type changes struct {
	kind         paimon.CommitKind
	entries      []manifest.Entry
	changelog    []manifest.Entry
	newIndex     []manifest.IndexEntry
	deletedIndex []manifest.IndexEntry
	overwrite    *target // nil: nothing is replaced
}

func (c *changes) empty() bool {
	return len(c.entries) == 0 && len(c.changelog) == 0 && len(c.newIndex) == 0 && len(c.deletedIndex) == 0
}

// partitions returns the partitions that the changes touch.
func (c *changes) partitions() map[string]struct{} {
	partitions := map[string]struct{}{}
	for i := range c.entries {
		partitions[string(c.entries[i].Partition)] = struct{}{}
	}
	for _, list := range [][]manifest.IndexEntry{c.newIndex, c.deletedIndex} {
		for i := range list {
			partitions[string(list[i].Partition)] = struct{}{}
		}
	}
	return partitions
}

// dependsOnBase tells whether the entries must be made anew for each try.
func (c *changes) dependsOnBase(s *settings) bool {
	return c.overwrite != nil || s.rowTracking || s.snapshotOrdering
}

// isCompact tells the compact part from the append part, whose kind may be
// OVERWRITE.
func isCompact(kind paimon.CommitKind) bool { return kind == paimon.CommitCompact }

// collect sorts what the messages hold into the two parts. Either may be empty.
func collect(req *Request, s *settings) (appended, compacted *changes, err error) {
	appended = &changes{kind: paimon.CommitAppend}
	compacted = &changes{kind: paimon.CommitCompact}
	for i := range req.Messages {
		m := &req.Messages[i]
		base := manifest.Entry{Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: m.TotalBuckets}
		if base.Partition == nil {
			base.Partition = rowdata.EmptyManifestRow()
		}
		if base.TotalBuckets == 0 {
			base.TotalBuckets = s.buckets
		}
		checked := false
		for _, part := range []struct {
			to    *[]manifest.Entry
			kind  manifest.EntryKind
			files []manifest.DataFile
		}{
			{&appended.entries, manifest.Add, m.NewFiles},
			{&appended.entries, manifest.Delete, m.DeletedFiles},
			{&appended.changelog, manifest.Add, m.Changelog},
			{&compacted.entries, manifest.Delete, m.CompactBefore},
			{&compacted.entries, manifest.Add, m.CompactAfter},
			{&compacted.changelog, manifest.Add, m.CompactChangelog},
		} {
			for j := range part.files {
				e := base
				e.Kind, e.File = part.kind, part.files[j]
				if err := checkFileName(e.File.FileName); err != nil {
					return nil, nil, err
				}
				if !checked {
					if err := checkPartition(base.Partition, s); err != nil {
						return nil, nil, err
					}
					checked = true
				}
				*part.to = append(*part.to, e)
			}
		}
		appended.newIndex = appendIndex(appended.newIndex, manifest.Add, &base, m.NewIndex)
		appended.deletedIndex = appendIndex(appended.deletedIndex, manifest.Delete, &base, m.DeletedIndex)
		compacted.newIndex = appendIndex(compacted.newIndex, manifest.Add, &base, m.CompactNewIndex)
		compacted.deletedIndex = appendIndex(compacted.deletedIndex, manifest.Delete, &base, m.CompactDeletedIndex)
	}
	for _, list := range [][]manifest.IndexEntry{appended.newIndex, appended.deletedIndex, compacted.newIndex, compacted.deletedIndex} {
		for i := range list {
			if err := checkPartition(list[i].Partition, s); err != nil {
				return nil, nil, err
			}
		}
	}
	if appended.replaces() {
		appended.kind = paimon.CommitOverwrite
	}
	return appended, compacted, nil
}

// replaces tells whether the append part does more than add files.
func (c *changes) replaces() bool {
	for i := range c.entries {
		if c.entries[i].Kind == manifest.Delete {
			return true
		}
	}
	for _, list := range [][]manifest.IndexEntry{c.newIndex, c.deletedIndex} {
		for i := range list {
			if list[i].Type == manifest.IndexDeletionVectors {
				return true
			}
		}
	}
	return false
}

func appendIndex(to []manifest.IndexEntry, kind manifest.EntryKind, base *manifest.Entry, list []manifest.IndexEntry) []manifest.IndexEntry {
	for _, e := range list {
		e.Kind = kind
		if e.Partition == nil {
			e.Partition, e.Bucket = base.Partition, base.Bucket
		}
		to = append(to, e)
	}
	return to
}

func checkPartition(row []byte, s *settings) error {
	cols := make([]*rowdata.Vector, len(s.partition))
	for i, t := range s.partition {
		cols[i] = rowdata.NewVector(t.Nullable(), 1)
	}
	if err := rowdata.DecodeManifestRow(row, cols); err != nil {
		return badRequest("partition %x of a message does not fit the %d partition columns: %v", row, len(cols), err)
	}
	return nil
}

// checkFileName keeps names out that would be another file for a reader.
func checkFileName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return badRequest("%q is no name of a data file", name)
	}
	return nil
}
