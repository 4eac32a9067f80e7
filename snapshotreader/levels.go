package snapshotreader

import "sluice/paimon"

// Levels says which levels of a primary-key table's files make up the state that
// is read. Append tables have level 0 only and are always read whole.
type Levels uint8

// The rules.
const (
	// LevelsBatch is what batch readers see: all levels, but not level 0 if
	// the table has deletion vectors that are not merged on read, or merge
	// engine first-row (format section 15.1).
	LevelsBatch Levels = iota
	// LevelsAll is everything that was committed.
	LevelsAll
	// LevelsAboveZero is everything that a compaction has seen.
	LevelsAboveZero
	// LevelsTop is the highest level, the read-optimized view.
	LevelsTop
)

// ImageLevels returns which levels the image at the beginning of a stream is made
// of: those whose rows no later changelog will bring again (semantics section
// 6.1). Without a producer, and with input, a row is in the stream as soon as it is
// committed. With lookup its changes come when it leaves level 0, with
// full-compaction when it reaches the top.
//
// Deletion vectors do not matter here: what waits on level 0 without a producer
// is in no later change.
func ImageLevels(producer paimon.ChangelogProducer) Levels {
	switch producer {
	case paimon.ProducerLookup:
		return LevelsAboveZero
	case paimon.ProducerFullCompaction:
		return LevelsTop
	}
	return LevelsAll
}

// resolve turns LevelsBatch into what it means for a table.
func (l Levels) resolve(s *paimon.Schema) Levels {
	if l != LevelsBatch {
		return l
	}
	mergeOnRead, _ := s.Options.Bool(paimon.OptDeletionVectorsMergeOnRead)
	if s.DeletionVectors() && !mergeOnRead || s.MergeEngine() == paimon.FirstRow {
		return LevelsAboveZero
	}
	return LevelsAll
}

// keeps tells whether a file of the level is read, where top is the highest level
// of the bucket: that of the option num-levels, or a higher one that is in use.
func (l Levels) keeps(level, top int32) bool {
	switch l {
	case LevelsAboveZero:
		return level > 0
	case LevelsTop:
		return level == top
	}
	return true
}
