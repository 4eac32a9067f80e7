package commit

import (
	"context"
	"slices"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// target is what an overwrite replaces: partitions that match any of the specs
// or are listed (format section 4.8).
type target struct {
	all     bool
	specs   []partitionSpec
	listed  map[string]bool // rows in manifest form
	decided map[string]bool // answers so far, by row
	cols    []*rowdata.Vector
}

// partitionSpec is values that some partition columns must have.
type partitionSpec struct {
	col   []int
	value []*rowdata.Vector // one row each
}

// newTarget returns what the overwrite of a request replaces, nil if nothing.
func newTarget(o *Overwrite, appended *changes, s *settings) (*target, error) {
	t := &target{decided: map[string]bool{}}
	for _, typ := range s.partition {
		t.cols = append(t.cols, rowdata.NewVector(typ.Nullable(), 1))
	}
	if o.Dynamic && len(s.partition) > 0 {
		if len(o.Partitions) > 0 {
			return nil, badRequest("a dynamic overwrite takes no partition values")
		}
		t.listed = map[string]bool{}
		for i := range appended.entries {
			t.listed[string(appended.entries[i].Partition)] = true
		}
		if len(t.listed) == 0 {
			return nil, nil
		}
		return t, nil
	}
	t.all = len(o.Partitions) == 0
	for _, values := range o.Partitions {
		spec, err := newPartitionSpec(values, s)
		if err != nil {
			return nil, err
		}
		t.specs = append(t.specs, spec)
		t.all = t.all || len(spec.col) == 0
	}
	for i := range appended.entries {
		if e := &appended.entries[i]; !t.matches(e.Partition) {
			return nil, badRequest("file %s is not in a partition that is overwritten", e.File.FileName)
		}
	}
	return t, nil
}

func newPartitionSpec(values map[string]string, s *settings) (partitionSpec, error) {
	var spec partitionSpec
	defaultName := s.schema.Options.Text(paimon.OptPartitionDefaultName)
	for name, text := range values {
		col := slices.Index(s.schema.PartitionKeys, name)
		if col < 0 {
			return spec, badRequest("%s is not a partition column, they are %v", name, s.schema.PartitionKeys)
		}
		v := rowdata.NewVector(s.partition[col].Nullable(), 1)
		if text == defaultName {
			v.AppendNull()
		} else if err := rowdata.AppendParsed(v, text); err != nil {
			return spec, badRequest("partition column %s: %v", name, err)
		}
		spec.col = append(spec.col, col)
		spec.value = append(spec.value, v)
	}
	return spec, nil
}

// matches tells whether a partition is replaced.
func (t *target) matches(row []byte) bool {
	if t.all {
		return true
	}
	if t.listed != nil {
		return t.listed[string(row)]
	}
	if yes, ok := t.decided[string(row)]; ok {
		return yes
	}
	for _, v := range t.cols {
		v.Reset()
	}
	yes := rowdata.DecodeManifestRow(row, t.cols) == nil && slices.ContainsFunc(t.specs, func(spec partitionSpec) bool {
		for i, col := range spec.col {
			if !rowdata.Equal(t.cols[col], 0, spec.value[i], 0) {
				return false
			}
		}
		return true
	})
	t.decided[string(row)] = yes
	return yes
}

// replace returns the entries and index entries that remove what an overwrite
// replaces in the given snapshot.
func (c *Committer) replace(ctx context.Context, h *head, t *target, s *settings) ([]manifest.Entry, []manifest.IndexEntry, error) {
	if h.snapshot == nil {
		return nil, nil, nil
	}
	postponed := s.buckets == paimon.PostponeBuckets
	live, err := c.table.LiveEntries(ctx, h.snapshot, paimon.Filter{})
	if err != nil {
		return nil, nil, err
	}
	var removed []manifest.Entry
	for i := range live {
		e := live[i]
		if !t.matches(e.Partition) || e.Bucket < 0 && !postponed {
			continue
		}
		e.Kind = manifest.Delete
		removed = append(removed, e)
	}
	index, err := c.table.IndexEntries(ctx, h.snapshot)
	if err != nil {
		return nil, nil, err
	}
	var removedIndex []manifest.IndexEntry
	for _, e := range index {
		if t.matches(e.Partition) {
			e.Kind = manifest.Delete
			removedIndex = append(removedIndex, e)
		}
	}
	return removed, removedIndex, nil
}

// upgrade returns the entries with the files of each bucket that is in order
// without merging, since no two of its files overlap, at the highest level. Rows that
// delete go there, too (format section 4.8). If some files are above level 0 already,
// all stay as they are.
func upgrade(added []manifest.Entry, s *settings) ([]manifest.Entry, error) {
	if s.upgradeTo == 0 {
		return added, nil
	}
	type bucket struct {
		partition string
		number    int32
	}
	place := func(e *manifest.Entry) bucket { return bucket{string(e.Partition), e.Bucket} }
	buckets := map[bucket][]keyRange{}
	for i := range added {
		e := &added[i]
		if e.Kind != manifest.Add || e.File.Level > 0 || e.Bucket < 0 {
			return added, nil
		}
		buckets[place(e)] = append(buckets[place(e)], keyRange{e.File.FileName, e.File.MinKey, e.File.MaxKey})
	}
	overlaps := map[bucket]bool{}
	for at, files := range buckets {
		overlap, err := firstOverlap(files, s.key)
		if err != nil {
			return nil, err
		}
		overlaps[at] = overlap != nil
	}
	up := slices.Clone(added)
	for i := range up {
		if !overlaps[place(&up[i])] {
			up[i].File.Level = s.upgradeTo
		}
	}
	return up, nil
}

// keyRange is a file with its smallest and largest key in manifest form.
type keyRange struct {
	file     string
	min, max []byte
}

// firstOverlap returns two files whose keys overlap, or nil.
func firstOverlap(files []keyRange, key []*rowdata.Type) (*[2]keyRange, error) {
	if len(files) < 2 {
		return nil, nil
	}
	cols := make([]*rowdata.Vector, len(key)) // rows 2i and 2i+1 are the bounds of file i
	for i, t := range key {
		cols[i] = rowdata.NewVector(t.Nullable(), 2*len(files))
	}
	order := make([]int, len(files))
	for i, f := range files {
		order[i] = i
		for _, row := range [][]byte{f.min, f.max} {
			if err := rowdata.DecodeManifestRow(row, cols); err != nil {
				return nil, badRequest("key bounds of file %s: %v", f.file, err)
			}
		}
	}
	compare := func(a, b int) int {
		for _, v := range cols {
			if c := rowdata.Compare(v, a, v, b); c != 0 {
				return c
			}
		}
		return 0
	}
	slices.SortFunc(order, func(a, b int) int { return compare(2*a, 2*b) })
	for i := 1; i < len(order); i++ {
		if before, after := order[i-1], order[i]; compare(2*before+1, 2*after) >= 0 {
			return &[2]keyRange{files[before], files[after]}, nil
		}
	}
	return nil, nil
}

// dropStats returns the entries without the statistics of those that delete.
func dropStats(entries []manifest.Entry) []manifest.Entry {
	slim := slices.Clone(entries)
	for i := range slim {
		if f := &slim[i].File; slim[i].Kind == manifest.Delete {
			f.KeyStats, f.ValueStats = manifest.Stats{}, manifest.Stats{}
			f.ValueStatsCols, f.HasValueStatsCols = []string{}, true
		}
	}
	return slim
}
