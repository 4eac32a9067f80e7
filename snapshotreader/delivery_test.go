package snapshotreader

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// The two rows of an update come in one batch, however small batches are, if they
// can have two rows at all.
func TestPairsStayTogether(t *testing.T) {
	h := newHistory(t, "dedup-lookup", 100)
	table := h.table()
	o := Options{Until: Until{Mode: UntilLatest}}
	want, err := readStream(t.Context(), t, table, Start{}, o)
	require.NoError(t, err)
	for rows := 2; rows < 6; rows++ {
		o.BatchRows = rows
		got, err := readStream(t.Context(), t, table, Start{}, o)
		require.NoError(t, err)
		require.Equal(t, want, got)

		tl, err := Open(t.Context(), table, Start{}, o)
		require.NoError(t, err)
		pairs, at := 0, tl.Cursor()
		for {
			b, err := tl.Next(t.Context())
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			require.Zero(t, at.Compare(b.At), "nothing between two batches")
			at = b.Next
			require.LessOrEqual(t, b.Rows.N, rows+1)
			for _, v := range b.Rows.Cols {
				require.Equal(t, b.Rows.N, v.Len())
			}
			for i := range b.Rows.N {
				if b.Rows.Kind(i) == rowdata.UpdateBefore {
					require.Less(t, i+1, b.Rows.N, "rows %d: a pair is split at %v", rows, b.Cursor(i))
					require.Equal(t, rowdata.UpdateAfter, b.Rows.Kind(i+1))
					pairs++
				}
			}
		}
		require.NoError(t, tl.Close())
		require.NotZero(t, pairs)
	}
}
