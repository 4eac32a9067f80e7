package snapshotreader

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"sluice/lsm/merge"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// group is the files of one partition and bucket.
type group struct {
	partition []byte
	bucket    int32
	files     []*manifest.Entry
}

// groupFiles sorts files into groups. Groups are ordered by the values of their
// partitions (format section 9.7, NULL first) and then by bucket; the files of a
// group keep their order.
func groupFiles(entries []*manifest.Entry, partitionTypes []*rowdata.Type) ([]group, error) {
	type place struct {
		partition string
		bucket    int32
	}
	at := make(map[place]int)
	var groups []group
	for _, e := range entries {
		p := place{string(e.Partition), e.Bucket}
		g, ok := at[p]
		if !ok {
			g = len(groups)
			at[p] = g
			groups = append(groups, group{partition: bytes.Clone(e.Partition), bucket: e.Bucket})
		}
		groups[g].files = append(groups[g].files, e)
	}
	values := &rowdata.Batch{}
	for _, t := range partitionTypes {
		values.Cols = append(values.Cols, rowdata.NewVector(t, len(groups)))
	}
	order := make([]int, len(groups))
	for i := range groups {
		order[i] = i
		if len(partitionTypes) == 0 {
			continue
		}
		if err := rowdata.DecodeManifestRow(groups[i].partition, values.Cols); err != nil {
			return nil, fmt.Errorf("partition of file %s: %w", groups[i].files[0].File.FileName, err)
		}
	}
	values.N = len(groups)
	by := rowdata.NewComparer(identity(len(partitionTypes)))
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(by.Compare(values, i, values, j), bytes.Compare(groups[i].partition, groups[j].partition), cmp.Compare(groups[i].bucket, groups[j].bucket))
	})
	sorted := make([]group, len(groups))
	for k, i := range order {
		sorted[k] = groups[i]
	}
	return sorted, nil
}

// identity returns 0, 1, ... n-1.
func identity(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// piece is a part of a unit whose rows are independent of the other parts: a
// file that is read as it is, or files whose key ranges overlap.
type piece struct {
	runs  [][]*manifest.Entry // sorted runs; a file that is read as it is: one of one file
	merge bool
	kinds bool // the stored kinds of rows are wanted
}

// raw tells whether the rows of the piece are those of one file.
func (p *piece) raw() bool { return !p.merge }

func rawPiece(e *manifest.Entry, kinds bool) piece {
	return piece{runs: [][]*manifest.Entry{{e}}, kinds: kinds}
}

// cutGroup divides a group into the pieces that its rows are read from, in order.
//
// Files of append tables come by their smallest sequence number, those that are
// equal in manifest order (format section 15.4). Files of primary-key tables form
// sections in key order (15.2).
func cutGroup(g *group, s *paimon.Schema) ([]piece, error) {
	if !s.HasPrimaryKey() {
		files := slices.Clone(g.files)
		slices.SortStableFunc(files, func(a, b *manifest.Entry) int { return cmp.Compare(a.File.MinSeq, b.File.MinSeq) })
		pieces := make([]piece, len(files))
		for i, e := range files {
			pieces[i] = rawPiece(e, false)
		}
		return pieces, nil
	}
	mins, maxs, err := keyBounds(g.files, s)
	if err != nil {
		return nil, err
	}
	key := rowdata.NewComparer(identity(len(mins.Cols)))
	if readsRaw(g.files, s) {
		order := identity(len(g.files))
		slices.SortFunc(order, func(i, j int) int {
			a, b := &g.files[i].File, &g.files[j].File
			return cmp.Or(key.Compare(mins, i, mins, j), cmp.Compare(a.Level, b.Level), cmp.Compare(a.FileName, b.FileName))
		})
		pieces := make([]piece, len(order))
		for k, i := range order {
			pieces[k] = rawPiece(g.files[i], false)
		}
		return pieces, nil
	}
	var pieces []piece
	for _, section := range merge.Sections(mins, maxs, key) {
		if len(section.Runs) == 1 && len(section.Runs[0]) == 1 && withoutDeletes(&g.files[section.Runs[0][0]].File) {
			pieces = append(pieces, rawPiece(g.files[section.Runs[0][0]], false))
			continue
		}
		p := piece{merge: true, kinds: true}
		for _, run := range section.Runs {
			files := make([]*manifest.Entry, len(run))
			for k, i := range run {
				files[k] = g.files[i]
			}
			p.runs = append(p.runs, files)
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// readsRaw tells whether each file of a group can be read by itself: no key is in
// two of them, or deletion vectors take out all but its newest version.
func readsRaw(files []*manifest.Entry, s *paimon.Schema) bool {
	for _, e := range files {
		if e.File.Level == 0 || !withoutDeletes(&e.File) {
			return false
		}
	}
	if s.DeletionVectors() || s.MergeEngine() == paimon.FirstRow {
		return true
	}
	return !slices.ContainsFunc(files, func(e *manifest.Entry) bool { return e.File.Level != files[0].File.Level })
}

// withoutDeletes tells whether no row of the file retracts; a count that is
// missing does not tell so.
func withoutDeletes(f *manifest.DataFile) bool {
	return f.DeleteRowCount != nil && *f.DeleteRowCount == 0
}

// keyBounds decodes the least and the greatest key of each file.
func keyBounds(files []*manifest.Entry, s *paimon.Schema) (mins, maxs *rowdata.Batch, err error) {
	t := s.RowType().Project(s.TrimmedKey())
	mins, maxs = rowdata.NewBatch(t, len(files)), rowdata.NewBatch(t, len(files))
	for _, e := range files {
		if err := rowdata.DecodeManifestRow(e.File.MinKey, mins.Cols); err != nil {
			return nil, nil, fmt.Errorf("least key of file %s: %w", e.File.FileName, err)
		}
		if err := rowdata.DecodeManifestRow(e.File.MaxKey, maxs.Cols); err != nil {
			return nil, nil, fmt.Errorf("greatest key of file %s: %w", e.File.FileName, err)
		}
	}
	mins.N, maxs.N = len(files), len(files)
	return mins, maxs, nil
}

// topLevel returns the highest level of a bucket: that of the options, or a higher
// one that a file is on. With producer full-compaction it is the highest that has
// files: what is there was told, also if num-levels was raised since.
func topLevel(files []*manifest.Entry, s *paimon.Schema) int32 {
	used := int32(0)
	for _, e := range files {
		used = max(used, e.File.Level)
	}
	if used > 0 && s.ChangelogProducer() == paimon.ProducerFullCompaction {
		return used
	}
	n, err := s.Options.Int(paimon.OptNumLevels)
	if err != nil || n == 0 {
		trigger, _ := s.Options.Int(paimon.OptNumSortedRunTrigger)
		n = trigger + 1
	}
	return max(int32(max(n, 2)-1), used)
}
