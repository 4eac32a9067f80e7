package commit

import (
	"context"

	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// rollCheckRows is how many entries are written between two looks at the size
// of a manifest (format section 5.6).
const rollCheckRows = 1000

// merged is the outcome of merging the manifests of a snapshot.
type merged struct {
	metas []manifest.Meta // of the new base
	files []file          // manifests that must be written for it
	read  int             // manifests that were merged
}

// mergeBase makes fewer manifests of many, if it is worth it (format section
// 5.6). The live files of the result are those of the input; nothing is merged
// in place.
func (c *Committer) mergeBase(ctx context.Context, metas []manifest.Meta, s *settings) (*merged, error) {
	full, err := c.mergeAll(ctx, metas, s)
	if full != nil || err != nil {
		return full, err
	}
	return c.mergeSmall(ctx, metas, s)
}

// mergeAll is the full compaction: no DELETE entry is left. It is nil if the
// manifests that would change are too small to be worth it.
func (c *Committer) mergeAll(ctx context.Context, metas []manifest.Meta, s *settings) (*merged, error) {
	mustChange := func(m *manifest.Meta) bool { return m.NumDeleted > 0 || m.FileSize < s.target }
	changing := int64(0)
	for i := range metas {
		if mustChange(&metas[i]) {
			changing += metas[i].FileSize
		}
	}
	if changing < s.fullSize {
		return nil, nil
	}
	deleted, partitions, err := c.deletedIn(ctx, metas)
	if err != nil {
		return nil, err
	}
	bounds, err := newPartitionBounds(partitions, s.partition)
	if err != nil {
		return nil, err
	}
	out := &merged{}
	var rewrite []int
	for i := range metas {
		if mustChange(&metas[i]) || bounds.mayMeet(&metas[i].PartitionStats) {
			rewrite = append(rewrite, i)
		} else {
			out.metas = append(out.metas, metas[i])
		}
	}
	if len(rewrite) <= 1 {
		return nil, nil
	}
	w := c.newRoll(s)
	for _, i := range rewrite {
		entries, err := c.manifest(ctx, metas[i].FileName)
		if err != nil {
			return nil, err
		}
		changes := mustChange(&metas[i])
		kept := make([]*manifest.Entry, 0, len(entries))
		for j := range entries {
			e := &entries[j]
			if e.Kind == manifest.Delete {
				continue
			}
			if _, gone := deleted[e.Identity()]; gone {
				changes = true
				continue
			}
			kept = append(kept, e)
		}
		if !changes {
			out.metas = append(out.metas, metas[i])
			continue
		}
		out.read++
		for _, e := range kept {
			if err := w.add(e); err != nil {
				return nil, err
			}
		}
	}
	return out.take(w)
}

// deletedIn returns the identities of all DELETE entries, and the partitions they
// are in.
func (c *Committer) deletedIn(ctx context.Context, metas []manifest.Meta) (deleted, partitions map[string]struct{}, err error) {
	deleted, partitions = map[string]struct{}{}, map[string]struct{}{}
	for i := range metas {
		if metas[i].NumDeleted == 0 {
			continue
		}
		entries, err := c.manifest(ctx, metas[i].FileName)
		if err != nil {
			return nil, nil, err
		}
		for j := range entries {
			if e := &entries[j]; e.Kind == manifest.Delete {
				deleted[e.Identity()] = struct{}{}
				partitions[string(e.Partition)] = struct{}{}
			}
		}
	}
	return deleted, partitions, nil
}

// mergeSmall is the minor merge: runs of neighbours that reach the target size
// together, and what is left at the end if it is many.
func (c *Committer) mergeSmall(ctx context.Context, metas []manifest.Meta, s *settings) (*merged, error) {
	out := &merged{metas: make([]manifest.Meta, 0, len(metas)+1)}
	from, size := 0, int64(0)
	for i := range metas {
		if size += metas[i].FileSize; size < s.target {
			continue
		}
		if err := c.mergeRun(ctx, metas[from:i+1], s, out); err != nil {
			return nil, err
		}
		from, size = i+1, 0
	}
	if rest := metas[from:]; len(rest) >= s.minCount && len(rest) > 1 {
		if err := c.mergeRun(ctx, rest, s, out); err != nil {
			return nil, err
		}
	} else {
		out.metas = append(out.metas, rest...)
	}
	return out, nil
}

// mergeRun merges some neighbours. Pairs of ADD and DELETE cancel; a DELETE
// without its ADD stays, since the ADD is in a manifest before.
func (c *Committer) mergeRun(ctx context.Context, run []manifest.Meta, s *settings, out *merged) error {
	if len(run) == 1 {
		out.metas = append(out.metas, run[0])
		return nil
	}
	at := map[string]int{}
	var list []*manifest.Entry
	for i := range run {
		entries, err := c.manifest(ctx, run[i].FileName)
		if err != nil {
			return err
		}
		for j := range entries {
			e := &entries[j]
			id := e.Identity()
			if e.Kind == manifest.Delete {
				if k, ok := at[id]; ok && list[k].Kind == manifest.Add {
					list[k] = nil
					delete(at, id)
					continue
				}
			}
			at[id] = len(list)
			list = append(list, e)
		}
	}
	w := c.newRoll(s)
	for _, e := range list {
		if e == nil {
			continue
		}
		if err := w.add(e); err != nil {
			return err
		}
	}
	out.read += len(run)
	_, err := out.take(w)
	return err
}

func (m *merged) take(w *roll) (*merged, error) {
	metas, files, err := w.finish()
	if err != nil {
		return nil, err
	}
	m.metas = append(m.metas, metas...)
	m.files = append(m.files, files...)
	return m, nil
}

// roll writes entries to manifests of about the target size.
type roll struct {
	c     *Committer
	s     *settings
	w     *manifest.EntryWriter
	sum   manifest.Summary
	seqs  bool // whether w writes column sequences
	metas []manifest.Meta
	files []file
}

func (c *Committer) newRoll(s *settings) *roll { return &roll{c: c, s: s} }

func (r *roll) add(e *manifest.Entry) error {
	if seqs := e.File.WriteColSeqs != nil; r.w == nil || seqs && !r.seqs {
		if r.w != nil {
			if err := r.close(); err != nil {
				return err
			}
		}
		o := r.s.encoding
		o.ColumnSequences = seqs
		w, err := manifest.NewEntryWriter(o)
		if err != nil {
			return err
		}
		r.w, r.sum, r.seqs = w, manifest.Summary{}, seqs
	}
	r.w.Add(e)
	r.sum.Add(e)
	if r.w.Len()%rollCheckRows == 0 && int64(r.w.Size()) >= r.s.target {
		return r.close()
	}
	return nil
}

func (r *roll) close() error {
	data, err := r.w.Finish()
	if err != nil {
		return err
	}
	f := r.c.newFile("manifest", data)
	meta, err := r.sum.Meta(f.name, int64(len(data)), r.s.partition)
	if err != nil {
		return err
	}
	r.metas, r.files, r.w = append(r.metas, meta), append(r.files, f), nil
	return nil
}

func (r *roll) finish() ([]manifest.Meta, []file, error) {
	if r.w != nil {
		if err := r.close(); err != nil {
			return nil, nil, err
		}
	}
	return r.metas, r.files, nil
}

// partitionBounds are the smallest and largest values of a set of partitions,
// column by column.
type partitionBounds struct {
	none bool              // of no partitions: nothing meets them
	cols []*rowdata.Vector // all values
	stat [2][]*rowdata.Vector
}

func newPartitionBounds(partitions map[string]struct{}, types []*rowdata.Type) (*partitionBounds, error) {
	b := &partitionBounds{none: len(partitions) == 0}
	for _, t := range types {
		b.cols = append(b.cols, rowdata.NewVector(t.Nullable(), len(partitions)))
		b.stat[0] = append(b.stat[0], rowdata.NewVector(t.Nullable(), 1))
		b.stat[1] = append(b.stat[1], rowdata.NewVector(t.Nullable(), 1))
	}
	for row := range partitions {
		if err := rowdata.DecodeManifestRow([]byte(row), b.cols); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// mayMeet tells whether a manifest with these statistics may have entries of one
// of the partitions.
func (b *partitionBounds) mayMeet(stats *manifest.Stats) bool {
	if b.none {
		return false
	}
	for i, row := range [][]byte{stats.Min, stats.Max} {
		for _, v := range b.stat[i] {
			v.Reset()
		}
		if rowdata.DecodeManifestRow(row, b.stat[i]) != nil {
			return true // no statistics to go by
		}
	}
	if len(b.cols) == 0 {
		return true
	}
	rows := b.cols[0].Len()
	for row := range rows {
		if b.meets(row, stats) {
			return true
		}
	}
	return false
}

func (b *partitionBounds) meets(row int, stats *manifest.Stats) bool {
	for c, v := range b.cols {
		low, high := b.stat[0][c], b.stat[1][c]
		if v.IsNull(row) {
			if len(stats.NullCounts) == len(b.cols) && stats.NullCounts[c] == 0 {
				return false
			}
			continue
		}
		if !low.IsNull(0) && rowdata.Compare(v, row, low, 0) < 0 || !high.IsNull(0) && rowdata.Compare(v, row, high, 0) > 0 {
			return false
		}
	}
	return true
}
