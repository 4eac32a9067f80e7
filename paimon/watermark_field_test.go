package paimon

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Snapshots without a watermark, or with the smallest one, which some writers put
// for none, are no position in event time, whatever their number; a search by
// watermark passes over them and ends.
func TestSnapshotsWithoutWatermark(t *testing.T) {
	for _, c := range []struct {
		name  string
		marks []*int64
		at    int64
		want  int64 // 0: none
	}{
		{"between", []*int64{ptr(int64(math.MinInt64)), nil, ptr(int64(100)), nil}, 50, 3},
		{"smallest asked for", []*int64{ptr(int64(math.MinInt64)), nil, ptr(int64(100)), nil}, math.MinInt64, 3},
		{"the very one", []*int64{ptr(int64(math.MinInt64)), nil, ptr(int64(100)), nil}, 100, 3},
		{"after all", []*int64{ptr(int64(math.MinInt64)), nil, ptr(int64(100)), nil}, 101, 0},
		{"none has one", []*int64{nil, nil, nil, nil}, 50, 0},
		{"none has one, smallest asked for", []*int64{nil, ptr(int64(math.MinInt64)), nil}, math.MinInt64, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, table := newTestTable(t, newClock(), kvSpec())
			for i, w := range c.marks {
				s := putSnapshot(t, table, int64(i+1), int64(i))
				s.Watermark = w
				data, err := s.Marshal()
				require.NoError(t, err)
				require.NoError(t, table.Store.Put(t.Context(), table.SnapshotPath(s.ID), data))
			}
			s, err := table.SnapshotByWatermark(t.Context(), c.at)
			if c.want == 0 {
				require.ErrorIs(t, err, ErrSnapshotNotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, s.ID)
		})
	}
}
