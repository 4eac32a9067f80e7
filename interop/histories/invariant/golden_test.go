package invariant

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
)

// Tables that the release and Flink made fold too, but for those where it is known
// why not.
func TestGoldenTables(t *testing.T) {
	checked := []string{}
	for _, dir := range []string{"golden", "golden-flink"} {
		root := filepath.Join("../../../testdata", dir)
		folders, err := os.ReadDir(root)
		require.NoError(t, err)
		for _, f := range folders {
			if !f.IsDir() {
				continue
			}
			store := local.New(filepath.Join(root, f.Name()), local.Options{})
			table, err := paimon.Open(t.Context(), store, "table", "")
			if err != nil || !Complete(table.Schema()) || !fromTheStart(t.Context(), table) {
				continue
			}
			problems, err := Table(t.Context(), table)
			require.NoError(t, err, f.Name())
			checked = append(checked, f.Name())
			if !slices.Contains(broken, f.Name()) {
				require.Empty(t, problems, f.Name())
			}
		}
	}
	t.Log(checked)
	require.Greater(t, len(checked), 8)
}

// broken are the tables whose changelog does not fold.
var broken = []string{}

func fromTheStart(ctx context.Context, t *paimon.Table) bool {
	first, err := t.EarliestID(ctx)
	return err == nil && first == 1
}
