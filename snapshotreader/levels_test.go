package snapshotreader

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
)

// Which files an image is made of, by producer, so that each row is in the stream
// once: what is not in the image comes as a change later, and nothing else does.
func TestImageLevels(t *testing.T) {
	const top = 5
	for _, tt := range []struct {
		producer paimon.ChangelogProducer
		levels   []int32
	}{
		{paimon.ProducerNone, []int32{0, 1, 4, 5}},
		{paimon.ProducerInput, []int32{0, 1, 4, 5}},
		{paimon.ProducerLookup, []int32{1, 4, 5}},
		{paimon.ProducerFullCompaction, []int32{5}},
	} {
		var got []int32
		for _, level := range []int32{0, 1, 4, 5} {
			if ImageLevels(tt.producer).keeps(level, top) {
				got = append(got, level)
			}
		}
		require.Equal(t, tt.levels, got, "producer %s", tt.producer)
	}
}

func TestLevelsBatch(t *testing.T) {
	for _, tt := range []struct {
		options paimon.Options
		want    Levels
	}{
		{paimon.Options{}, LevelsAll},
		{paimon.Options{"deletion-vectors.enabled": "true"}, LevelsAboveZero},
		{paimon.Options{"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}, LevelsAll},
		{paimon.Options{"merge-engine": "first-row"}, LevelsAboveZero},
		{paimon.Options{"merge-engine": "first-row", "deletion-vectors.merge-on-read": "true"}, LevelsAboveZero},
		{paimon.Options{"changelog-producer": "lookup"}, LevelsAll},
	} {
		require.Equal(t, tt.want, LevelsBatch.resolve(&paimon.Schema{Options: tt.options}), "%v", tt.options)
		for _, l := range []Levels{LevelsAll, LevelsAboveZero, LevelsTop} {
			require.Equal(t, l, l.resolve(&paimon.Schema{Options: tt.options}))
		}
	}
}

func TestTopLevel(t *testing.T) {
	for _, tt := range []struct {
		options paimon.Options
		levels  []int32
		want    int32
	}{
		{paimon.Options{}, nil, 5},
		{paimon.Options{"num-levels": "3"}, []int32{0, 2}, 2},
		{paimon.Options{"num-levels": "3"}, []int32{0, 5}, 5},
		{paimon.Options{"num-sorted-run.compaction-trigger": "2"}, nil, 2},
		{paimon.Options{"num-levels": "1"}, nil, 1},
		{paimon.Options{"num-levels": "5"}, []int32{0, 2}, 4},
		{paimon.Options{"num-levels": "5", "changelog-producer": "full-compaction"}, []int32{0, 1, 2}, 2},
		{paimon.Options{"num-levels": "5", "changelog-producer": "full-compaction"}, []int32{0}, 4},
	} {
		require.Equal(t, tt.want, topLevel(entriesOn(tt.levels...), &paimon.Schema{Options: tt.options}), "%v", tt.options)
	}
}
