package manifest

import (
	"fmt"

	"sluice/paimon/rowdata"
)

// Summarize returns the entry of a manifest list for a manifest of the given
// name, size and entries. partition are the types of the partition keys, nil for
// a table without. It fails if a partition row is damaged.
func Summarize(name string, size int64, entries []Entry, partition []*rowdata.Type) (Meta, error) {
	var s Summary
	for i := range entries {
		s.Add(&entries[i])
	}
	return s.Meta(name, size, partition)
}

// Summary sums up entries one by one. The zero value is that of no entries.
type Summary struct {
	meta       Meta
	entries    int64
	noRowID    bool
	partitions map[string]int64 // entries by partition row
	last       string           // the partition of the last entry
	lastCount  int64            // and how many entries in a row had it
}

// Add takes the next entry; it is not kept.
func (s *Summary) Add(e *Entry) {
	f := &e.File
	m := &s.meta
	if e.Kind == Add {
		m.NumAdded++
	} else {
		m.NumDeleted++
	}
	if s.entries == 0 {
		m.SchemaID = f.SchemaID
		bucketLow, bucketHigh, levelLow, levelHigh := e.Bucket, e.Bucket, f.Level, f.Level
		m.MinBucket, m.MaxBucket, m.MinLevel, m.MaxLevel = &bucketLow, &bucketHigh, &levelLow, &levelHigh
		s.partitions = map[string]int64{}
		s.last = string(e.Partition)
	}
	s.entries++
	m.SchemaID = max(m.SchemaID, f.SchemaID)
	*m.MinBucket, *m.MaxBucket = min(*m.MinBucket, e.Bucket), max(*m.MaxBucket, e.Bucket)
	*m.MinLevel, *m.MaxLevel = min(*m.MinLevel, f.Level), max(*m.MaxLevel, f.Level)
	s.addRowIDs(f)
	if s.last != string(e.Partition) {
		s.partitions[s.last] += s.lastCount
		s.last, s.lastCount = string(e.Partition), 0
	}
	s.lastCount++
}

func (s *Summary) addRowIDs(f *DataFile) {
	m := &s.meta
	if f.FirstRowID == nil || s.noRowID {
		s.noRowID = true
		m.MinRowID, m.MaxRowID = nil, nil
		return
	}
	low, high := *f.FirstRowID, *f.FirstRowID+f.RowCount-1
	if m.MinRowID == nil {
		m.MinRowID, m.MaxRowID = &low, &high
		return
	}
	*m.MinRowID, *m.MaxRowID = min(*m.MinRowID, low), max(*m.MaxRowID, high)
}

// Meta returns the entry of a manifest list.
func (s *Summary) Meta(name string, size int64, partition []*rowdata.Type) (Meta, error) {
	m := s.meta
	m.FileName, m.FileSize = name, size
	if s.entries > 0 {
		s.partitions[s.last] += s.lastCount
		s.lastCount = 0
	}
	var err error
	if m.PartitionStats, err = partitionStats(s.partitions, partition); err != nil {
		return Meta{}, fmt.Errorf("partition of an entry of %s: %w", name, err)
	}
	return m, nil
}

// partitionStats returns exact statistics of partition rows, given with how
// often each occurs.
func partitionStats(partitions map[string]int64, types []*rowdata.Type) (Stats, error) {
	stats := Stats{NullCounts: make([]int64, len(types))}
	if len(types) == 0 {
		stats.Min, stats.Max = []byte(emptyRow), []byte(emptyRow)
		return stats, nil
	}
	low, high, cols := make([]*rowdata.Vector, len(types)), make([]*rowdata.Vector, len(types)), make([]*rowdata.Vector, len(types))
	for c, t := range types {
		t = t.Nullable()
		low[c], high[c], cols[c] = rowdata.NewVector(t, 1), rowdata.NewVector(t, 1), rowdata.NewVector(t, len(partitions))
	}
	row := 0
	for partition, count := range partitions {
		if err := rowdata.DecodeManifestRow([]byte(partition), cols); err != nil {
			return Stats{}, err
		}
		for c, v := range cols {
			if v.IsNull(row) {
				stats.NullCounts[c] += count
			}
		}
		row++
	}
	for c, v := range cols {
		lowest, highest := -1, -1
		for i := range row {
			if v.IsNull(i) {
				continue
			}
			if lowest < 0 || rowdata.Compare(v, i, v, lowest) < 0 {
				lowest = i
			}
			if highest < 0 || rowdata.Compare(v, i, v, highest) > 0 {
				highest = i
			}
		}
		if lowest < 0 {
			low[c].AppendNull()
			high[c].AppendNull()
			continue
		}
		low[c].AppendFrom(v, lowest)
		high[c].AppendFrom(v, highest)
	}
	stats.Min = rowdata.AppendManifestRow(nil, low, 0)
	stats.Max = rowdata.AppendManifestRow(nil, high, 0)
	return stats, nil
}
