package snapshotreader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// changeSource is where the changes of a snapshot are read from.
type changeSource uint8

const (
	fromNothing   changeSource = iota
	fromDelta                  // files that the delta adds
	fromChangelog              // files of the changelog list
	fromOverwrite              // the state of what the delta deletes and adds
)

// sourceOf says where the changes of a snapshot are (semantics sections 6.1, 6.2 and
// 6.4). overwrite tells whether overwrites are delivered; nil: as the options say.
//
// Without a changelog producer the changes are what an APPEND snapshot adds. With
// one they are in the changelog files, whatever kind of snapshot names them. The
// change of an overwrite is in no file; with producer lookup and full-compaction it
// is never delivered.
func sourceOf(snap *paimon.Snapshot, s *paimon.Schema, overwrite *bool) changeSource {
	producer := paimon.ProducerNone
	if s.HasPrimaryKey() {
		producer = s.ChangelogProducer()
	}
	if snap.CommitKind == paimon.CommitOverwrite && (producer == paimon.ProducerNone || producer == paimon.ProducerInput) {
		if readsOverwrite(s, overwrite) {
			if s.HasPrimaryKey() {
				return fromOverwrite
			}
			return fromDelta
		}
	}
	switch {
	case producer == paimon.ProducerNone && snap.CommitKind == paimon.CommitAppend:
		return fromDelta
	case producer != paimon.ProducerNone && snap.HasChangelog():
		return fromChangelog
	}
	return fromNothing
}

func readsOverwrite(s *paimon.Schema, overwrite *bool) bool {
	if overwrite != nil {
		return *overwrite
	}
	option := paimon.OptStreamingReadOverwrite
	if !s.HasPrimaryKey() {
		option = paimon.OptStreamingReadAppendOverwrite
	}
	on, _ := s.Options.Bool(option)
	return on
}

// planChanges finds the units of the changes of a snapshot: a file each, in
// manifest order, and for overwrites the rows that went and the rows that came of
// each group.
func planChanges(ctx context.Context, t *paimon.Table, snap *paimon.Snapshot, s *paimon.Schema, overwrite *bool) ([]unit, error) {
	if on, _ := s.Options.Bool(paimon.OptDataEvolution); on {
		return nil, &UnsupportedError{What: "option " + paimon.OptDataEvolution}
	}
	switch sourceOf(snap, s, overwrite) {
	case fromDelta:
		entries, err := t.DeltaEntries(ctx, snap)
		return fileUnits(entries), err
	case fromChangelog:
		entries, err := t.ChangelogEntries(ctx, snap)
		return fileUnits(entries), err
	case fromOverwrite:
		return planOverwrite(ctx, t, snap, s)
	}
	return nil, nil
}

func fileUnits(entries []manifest.Entry) []unit {
	units := make([]unit, 0, len(entries))
	var partition []byte // of the unit before; not that of the manifest, which would keep all of it in memory
	for i := range entries {
		e := &entries[i]
		if e.Kind != manifest.Add {
			continue
		}
		if partition == nil || !bytes.Equal(partition, e.Partition) {
			partition = bytes.Clone(e.Partition)
		}
		units = append(units, unit{partition: partition, bucket: e.Bucket, file: e})
	}
	return units
}

// planOverwrite makes two units of each group that an overwrite touched: the rows
// of the deleted files, merged, as -D, and those of the added files, merged, with
// the kinds they have. A group of which nothing was deleted or added has one.
func planOverwrite(ctx context.Context, t *paimon.Table, snap *paimon.Snapshot, s *paimon.Schema) ([]unit, error) {
	if err := checkReadable(s); err != nil {
		return nil, err
	}
	entries, err := t.DeltaEntries(ctx, snap)
	if err != nil {
		return nil, err
	}
	files := make([]*manifest.Entry, len(entries))
	for i := range entries {
		files[i] = &entries[i]
	}
	groups, err := groupFiles(files, s.PartitionTypes())
	if err != nil {
		return nil, err
	}
	before, err := vectorsBefore(ctx, t, snap, entries)
	if err != nil {
		return nil, err
	}
	after, err := loadVectors(ctx, t, snap)
	if err != nil {
		return nil, err
	}
	var units []unit
	for i := range groups {
		g := &groups[i]
		went := &group{partition: g.partition, bucket: g.bucket}
		came := &group{partition: g.partition, bucket: g.bucket}
		for _, e := range g.files {
			if e.Kind == manifest.Delete {
				went.files = append(went.files, e)
			} else {
				came.files = append(came.files, e)
			}
		}
		if len(went.files) > 0 {
			units = append(units, unit{partition: g.partition, bucket: g.bucket, group: went, vectors: before, kind: rowdata.Delete, forced: true})
		}
		if len(came.files) > 0 {
			units = append(units, unit{partition: g.partition, bucket: g.bucket, group: came, vectors: after})
		}
	}
	return units, nil
}

// vectorsBefore returns the deletion vectors as they were before a snapshot. With
// the snapshot before it, the files that it deleted are gone too.
func vectorsBefore(ctx context.Context, t *paimon.Table, snap *paimon.Snapshot, delta []manifest.Entry) (*vectors, error) {
	deletes := slices.ContainsFunc(delta, func(e manifest.Entry) bool { return e.Kind == manifest.Delete })
	if !deletes {
		return &vectors{table: t}, nil
	}
	previous, err := imageSnapshot(ctx, t, snap.ID-1)
	if err != nil {
		return nil, fmt.Errorf("state before the overwrite: %w", err)
	}
	return loadVectors(ctx, t, previous)
}

// imageSnapshot returns the snapshot of an image: it is there, or a tag keeps what
// it consists of.
func imageSnapshot(ctx context.Context, t *paimon.Table, id int64) (*paimon.Snapshot, error) {
	snap, err := t.Snapshot(ctx, id)
	if !errors.Is(err, paimon.ErrSnapshotNotFound) {
		return snap, err
	}
	tags, terr := t.Tags(ctx)
	if terr != nil {
		return nil, terr
	}
	for _, tag := range tags {
		if tag.Snapshot.ID == id {
			return tag.Snapshot, nil
		}
	}
	return nil, err
}

// planImage finds the units of the image of a snapshot.
func planImage(ctx context.Context, t *paimon.Table, snap *paimon.Snapshot, s *paimon.Schema) ([]unit, error) {
	levels := LevelsAll
	if s.HasPrimaryKey() {
		levels = ImageLevels(s.ChangelogProducer())
	}
	return planState(ctx, t, snap, s, ScanSpec{Levels: levels})
}
