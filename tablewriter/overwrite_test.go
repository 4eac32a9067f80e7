package tablewriter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/commit"
)

func TestOverwrite(t *testing.T) {
	parts := spec([]string{"p INT", "k INT", "v STRING"}, []string{"p", "k"}, []string{"p"}, "bucket", "2", "changelog-producer", "input")
	for _, tc := range []struct {
		name      string
		overwrite commit.Overwrite
		rows      [][]any
		want      []string
		snapshot  int64 // 1: nothing happened
	}{
		{"all", commit.Overwrite{}, [][]any{{1, 9, "new"}, {4, 4, "new"}}, []string{`[1,9,"new"]`, `[4,4,"new"]`}, 2},
		{"all by nothing", commit.Overwrite{}, nil, nil, 2},
		{"dynamic", commit.Overwrite{Dynamic: true}, [][]any{{1, 9, "new"}, {4, 4, "new"}}, []string{`[1,9,"new"]`, `[2,2,"old"]`, `[4,4,"new"]`}, 2},
		{"dynamic by nothing", commit.Overwrite{Dynamic: true}, nil, []string{`[1,1,"old"]`, `[2,2,"old"]`}, 1},
		{"one partition", commit.Overwrite{Partitions: []map[string]string{{"p": "2"}}}, [][]any{{2, 5, "new"}}, []string{`[1,1,"old"]`, `[2,5,"new"]`}, 2},
		{"one partition by nothing", commit.Overwrite{Partitions: []map[string]string{{"p": "2"}}}, nil, []string{`[1,1,"old"]`}, 2},
	} {
		for _, byClose := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,close=%v", tc.name, byClose), func(t *testing.T) {
				table := newTable(t, memory(), parts)
				w := openWriter(t, table, Options{User: "me"})
				write(t, w, "", []any{1, 1, "old"}, []any{2, 2, "old"})
				require.NoError(t, w.Close(t.Context()))

				w = openWriter(t, table, Options{User: "me", CommitRows: 1, CommitInterval: 1, Overwrite: &tc.overwrite})
				for _, row := range tc.rows {
					write(t, w, "", row) // more than a commit would take else
				}
				if !byClose {
					id, err := w.Commit(t.Context())
					require.NoError(t, err)
					require.Equal(t, tc.snapshot, id)
				}
				require.NoError(t, w.Close(t.Context()))
				_, err := w.Write(t.Context(), changes(t, w.Type(), ""), Position{})
				require.ErrorIs(t, err, ErrClosed)
				require.Equal(t, tc.want, latestRows(t, table))
				s, err := table.LatestSnapshot(t.Context())
				require.NoError(t, err)
				require.Equal(t, tc.snapshot, s.ID)
				if s.ID > 1 {
					require.Equal(t, paimon.CommitOverwrite, s.CommitKind)
					require.False(t, s.HasChangelog())
				}
			})
		}
	}
}

// TestOverwriteRescales: what is replaced may have another number of buckets.
func TestOverwriteRescales(t *testing.T) {
	store := memory()
	table := newTable(t, store, usual())
	w := openWriter(t, table, Options{})
	write(t, w, "", []any{1, "a"}, []any{2, "b"})
	require.NoError(t, w.Close(t.Context()))
	change, err := paimon.ParseChange("set option bucket=5")
	require.NoError(t, err)
	_, err = paimon.NewCatalog(store, "wh").AlterTable(t.Context(), "db.t", []paimon.Change{change})
	require.NoError(t, err)
	table = openTable(t, store)
	w = openWriter(t, table, Options{Overwrite: &commit.Overwrite{}})
	write(t, w, "", []any{1, "A"}, []any{3, "C"})
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, []string{`[1,"A"]`, `[3,"C"]`}, latestRows(t, table))
	w = openWriter(t, table, Options{})
	write(t, w, "", []any{3, "c"})
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, []string{`[1,"A"]`, `[3,"c"]`}, latestRows(t, table))
}
