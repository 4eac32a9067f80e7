package snapshotreader

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
)

// TestEnginesProjected: what is read of some columns is that part of what is read of
// all, whatever a merge needs beside them.
func TestEnginesProjected(t *testing.T) {
	for _, name := range goldenNames(t, goldenDir) {
		if !strings.HasPrefix(name, "agg-") && !strings.HasPrefix(name, "partial-") && !strings.HasPrefix(name, "first-row") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := readExpected[expected](t, filepath.Join(goldenDir, name, "expected.json"))
			table := openGolden(t, filepath.Join(goldenDir, name, "table"), "")
			for _, s := range want.Snapshots {
				snap, err := table.Snapshot(t.Context(), s.ID)
				require.NoError(t, err)
				schema, err := table.SchemaByID(t.Context(), snap.SchemaID)
				require.NoError(t, err)
				for c := range schema.Fields {
					checkProjection(t, table, snap, schema, s.Rows, []int{c})
					checkProjection(t, table, snap, schema, s.Rows, []int{len(schema.Fields) - 1 - c, c / 2})
				}
			}
		})
	}
}

func checkProjection(t *testing.T, table *paimon.Table, snap *paimon.Snapshot, s *paimon.Schema, rows []any, cols []int) {
	t.Helper()
	if len(cols) == 2 && cols[0] == cols[1] {
		return
	}
	var names, want []string
	for _, c := range cols {
		names = append(names, s.Fields[c].Name)
	}
	for _, row := range rows {
		var part []any
		for _, c := range cols {
			part = append(part, row.([]any)[c])
		}
		want = append(want, asJSON(t, part))
	}
	slices.Sort(want)
	got, err := scanRows(t.Context(), t, table, snap, ScanSpec{Columns: names})
	require.NoError(t, err)
	if len(want) == 0 {
		require.Empty(t, got)
		return
	}
	require.Equal(t, want, got, "columns %v of snapshot %d", names, snap.ID)
}
