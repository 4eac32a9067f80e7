package tablewriter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
)

// TestPositionHasAllRows: a commit whose rows are on level 0 in one bucket and went
// straight above it in another makes two snapshots. The first one has the position
// of the source, which does not send its rows again: so it has all of them.
func TestPositionHasAllRows(t *testing.T) {
	twice := 0
	for other := range 12 { // in either bucket
		for _, shards := range []int{1, 2} {
			table := newTable(t, memory(), usual("bucket", "2", "changelog-producer", "lookup", "write-buffer-size", "16 kb"))
			var made []*paimon.Snapshot
			w := openWriter(t, table, Options{
				CommitInterval: time.Hour, LookupDir: t.TempDir(), Shards: shards,
				OnCommit: func(s *paimon.Snapshot) { made = append(made, s) },
			})
			for round := range 3 {
				made = nil
				for i := range 60 { // more than the buffer holds
					write(t, w, "", []any{1000, fmt.Sprintf("%d-%d-%s", round, i, strings.Repeat("x", 1000))})
				}
				write(t, w, "", []any{other, fmt.Sprintf("round %d", round)})
				_, err := w.CommitWith(t.Context(), CompactWait)
				require.NoError(t, err)
				require.NotEmpty(t, made)
				if len(made) == 2 {
					twice++
				}
				rows, err := readTable(t.Context(), table, made[0])
				require.NoError(t, err)
				require.Equal(t, latestRows(t, table), rows, "key %d, round %d: rows of the first snapshot", other, round)
			}
			require.NoError(t, w.Close(t.Context()))
		}
	}
	require.Positive(t, twice)
}
