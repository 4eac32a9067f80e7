package rowdata

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestGoldenPartitions expects the directories that another implementation made.
func TestGoldenPartitions(t *testing.T) {
	for _, c := range []struct {
		table, defaultName string
		legacy             bool
		partitions         int
	}{
		{"partition-types", "__DEFAULT_PARTITION__", true, 6},
		{"partition-times", "__DEFAULT_PARTITION__", true, 2},
		{"partition-names-new", "__NONE__", false, 3},
	} {
		t.Run(c.table, func(t *testing.T) {
			dir := filepath.Join("../../testdata/golden", c.table)
			data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			require.NoError(t, err)
			var table struct {
				expectedTable
				Partition []string `json:"partition"`
			}
			require.NoError(t, json.Unmarshal(data, &table))
			var at []int
			for _, name := range table.Partition {
				at = append(at, table.Fields.Index(name))
			}
			found := map[string]bool{}
			for _, s := range table.Snapshots {
				b := NewBatch(&table.Fields, 0)
				for i, raw := range s.Rows {
					require.NoError(t, AppendJSONRow(b, decodeJSON(t, string(raw))))
					path := string(AppendPartitionPath(nil, table.Partition, b.Project(at).Cols, i, c.defaultName, c.legacy))
					require.DirExists(t, filepath.Join(dir, "table", path))
					found[path] = true
				}
			}
			require.Len(t, found, c.partitions)
		})
	}
}

func TestPartitionPath(t *testing.T) {
	for _, c := range []struct {
		typ, value, legacy, modern string
	}{
		{"DATE", `"2024-01-02"`, "19724", "2024-01-02"},
		{"TIME(3)", `"01:02:03.004"`, "3723004", "01%3A02%3A03.004"},
		{"TIMESTAMP(6)", `"2023-11-14T22:13:20.123456"`, "2023-11-14T22%3A13%3A20.123456", "2023-11-14 22%3A13%3A20.123456"},
		{"TIMESTAMP(6)", `"2023-11-14T22:13:20.120000"`, "2023-11-14T22%3A13%3A20.120", "2023-11-14 22%3A13%3A20.120000"},
		{"TIMESTAMP(9)", `"2023-11-14T22:13:20.000000001"`, "2023-11-14T22%3A13%3A20.000000001", "2023-11-14 22%3A13%3A20.000000001"},
		{"TIMESTAMP(0)", `"2023-11-14T22:13:20"`, "2023-11-14T22%3A13%3A20", "2023-11-14 22%3A13%3A20"},
		{"TIMESTAMP(0)", `"2023-11-14T22:13:00"`, "2023-11-14T22%3A13", "2023-11-14 22%3A13%3A00"},
		{"DOUBLE", "1e10", "1.0E10", "1.0E10"},
		{"DECIMAL(9,2)", `"1.5"`, "1.50", "1.50"},
		{"BOOLEAN", "true", "true", "true"},
		{"STRING", `"a b+c&d,;é"`, "a b+c&d,;é", "a b+c&d,;é"},
		{"STRING", `"\u0001\"#%'*/:=?\\{}[]^\u007f"`, "%01%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%7D%5B%5D%5E%7F", "%01%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%7D%5B%5D%5E%7F"},
		{"STRING", `""`, "D", "D"},
		{"STRING", "null", "D", "D"},
		{"STRING", `" \t\u2003"`, "D", "D"},
		{"STRING", `"\u00a0"`, "\u00a0", "\u00a0"},
	} {
		cols := []*Vector{column(t, c.typ, c.value)}
		require.Equal(t, "k="+c.legacy+"/", string(AppendPartitionPath(nil, []string{"k"}, cols, 0, "D", true)), c.typ+c.value)
		require.Equal(t, "k="+c.modern+"/", string(AppendPartitionPath(nil, []string{"k"}, cols, 0, "D", false)), c.typ+c.value)
	}
	require.Equal(t, "a%2Fb=1/c=x/", string(AppendPartitionPath(nil, []string{"a/b", "c"},
		[]*Vector{column(t, "INT", "1"), column(t, "STRING", `"x"`)}, 0, "D", true)))
}

func TestEscapePath(t *testing.T) {
	require.Equal(t, "100%", UnescapePath("100%"))
	require.Equal(t, "%zz/%4", UnescapePath("%zz%2f%4"))
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		require.Equal(t, s, UnescapePath(string(EscapePath(nil, s))))
	})
}
