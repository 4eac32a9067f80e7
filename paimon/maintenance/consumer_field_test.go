package maintenance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The slowest of several consumers decides what is kept, however little else asks
// for; when it is removed, the next one does.
func TestSlowestConsumerHoldsSnapshots(t *testing.T) {
	w := testWorld(t, nil)
	history(w, 12)
	require.NoError(t, w.table.SetConsumer(w.ctx, "slow", 5))
	require.NoError(t, w.table.SetConsumer(w.ctx, "fast", 9))
	earliest := func() int64 {
		t.Helper()
		_, err := ExpireSnapshots(w.ctx, w.table, ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1, Now: w.clock})
		require.NoError(t, err)
		ids, err := w.table.SnapshotIDs(w.ctx)
		require.NoError(t, err)
		return ids[0]
	}
	require.EqualValues(t, 5, earliest())
	require.EqualValues(t, 5, earliest(), "and again")
	require.NoError(t, w.table.DeleteConsumer(w.ctx, "slow"))
	require.EqualValues(t, 9, earliest())
	require.NoError(t, w.table.DeleteConsumer(w.ctx, "fast"))
	require.EqualValues(t, 12, earliest())
	w.check()
}
