package tablewriter

import (
	"context"
	"errors"
	"io"

	"sluice/lookup"
	"sluice/lsm/merge"
	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// missed returns the changelog files that a snapshot has of a bucket. ok is false
// if they do not say all that it changed above level 0.
func (s *shard) missed(ctx context.Context, to destination, id int64) (files []manifest.Entry, ok bool, err error) {
	snap, err := s.table.Snapshot(ctx, id)
	if errors.Is(err, paimon.ErrSnapshotNotFound) || err == nil && snap.CommitKind == paimon.CommitOverwrite {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	delta, err := s.table.DeltaEntries(ctx, snap)
	if err != nil {
		return nil, false, err
	}
	var above, level0 bool
	for i := range delta {
		e := &delta[i]
		if placeOf(e) != to {
			continue
		}
		above = above || e.File.Level > 0 && e.Kind == manifest.Add
		level0 = level0 || e.File.Level == 0 && e.Kind == manifest.Delete
	}
	entries, err := s.table.ChangelogEntries(ctx, snap)
	if err != nil {
		return nil, false, err
	}
	for i := range entries {
		if placeOf(&entries[i]) == to {
			files = append(files, entries[i])
		}
	}
	// Rows came above level 0 and nobody says which.
	moved := level0 || above && snap.CommitKind == paimon.CommitAppend
	return files, !moved || len(files) > 0, nil
}

// applyChangelog puts the rows of a changelog file into the index.
func (s *shard) applyChangelog(ctx context.Context, x *lookup.Index, e *manifest.Entry, kv *rowdata.KeyValues) (err error) {
	f, err := s.openEntry(ctx, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	stage := x.NewStage()
	for {
		_, err := f.Next(kv)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = stageChanges(stage, kv)
		}
		if err != nil {
			stage.Discard()
			return err
		}
	}
	if err := stage.Commit(ctx, partOf(x)); err != nil {
		stage.Discard()
		return err
	}
	return nil
}

// stageChanges stages the rows of a changelog: -U rows are those that the +U rows
// after them replace.
func stageChanges(stage *lookup.Stage, kv *rowdata.KeyValues) error {
	for from := 0; from < kv.N; {
		to := from + 1
		for to < kv.N && kv.Kinds[to] == kv.Kinds[from] {
			to++
		}
		var err error
		switch kind := kv.Kinds[from]; kind {
		case rowdata.Delete:
			rows := make([]int32, 0, to-from)
			for i := from; i < to; i++ {
				rows = append(rows, int32(i))
			}
			err = stage.Delete(&kv.Batch, rows)
		case rowdata.Insert, rowdata.UpdateAfter:
			err = stage.Put(kv, from, to)
		}
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// newestSource are the newest records above level 0 of a bucket: of each key the
// one on the lowest level, tombstones included.
type newestSource struct {
	groups  *merge.GroupIter
	batch   *merge.Groups
	gather  merge.Gatherer
	picked  []merge.Stretch
	batches [1]*rowdata.KeyValues
}

// newest returns the records that the index of a bucket must have.
func (s *shard) newest(ctx context.Context, b *bucket) *newestSource {
	var runs []merge.LeveledSource
	for level := int32(1); level <= b.levels.Top(); level++ {
		files := b.levels.Level(level)
		if len(files) == 0 {
			continue
		}
		open := make([]func() (merge.Source, error), len(files))
		for i, f := range files {
			open[i] = func() (merge.Source, error) { return s.openFile(ctx, b.to, f) }
		}
		runs = append(runs, merge.OnLevel(merge.NewChain(open...), level))
	}
	return &newestSource{
		groups: merge.NewGroupIter(runs, rowdata.NewComparer(s.lsm.Layout.Key), s.lsm.Order, merge.Options{UniqueKeys: true}),
		batch:  merge.NewGroups(s.shape.typ, merge.Plan{}),
	}
}

// Next implements lookup.Source.
func (n *newestSource) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	if _, err := n.groups.Next(n.batch); err != nil {
		return 0, err
	}
	n.picked = n.picked[:0]
	from := int32(0)
	for _, to := range n.batch.Ends {
		low := from
		for i := from + 1; i < to; i++ {
			if n.batch.Levels[i] < n.batch.Levels[low] {
				low = i
			}
		}
		n.picked = merge.AppendStretch(n.picked, 0, low, low+1)
		from = to
	}
	n.batches[0] = n.batch.Records
	n.gather.Append(dst, n.batches[:], n.picked)
	return dst.N, nil
}

// Close closes the files.
func (n *newestSource) Close() error { return n.groups.Close() }
