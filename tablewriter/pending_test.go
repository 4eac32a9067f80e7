package tablewriter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/manifest"
)

// TestPending folds the results of several compactions. Files are NAME@LEVEL.
func TestPending(t *testing.T) {
	for _, tc := range []struct {
		name                          string
		results                       []string // before > after > changelog
		before, after, unused, delete string
	}{
		{"one", []string{"a@0 b@0 > x@5 > c@5"}, "a@0 b@0", "x@5", "", "x@5 c@5"},
		{"made and used up", []string{"a@0 b@0 > x@4", "x@4 c@0 > y@5"}, "a@0 b@0 c@0", "y@5", "x@4", "y@5"},
		{"upgraded", []string{"a@0 > a@5"}, "a@0", "a@5", "", ""},
		{"upgraded, then rewritten", []string{"a@0 > a@5", "a@5 b@0 > x@5"}, "a@0 b@0", "x@5", "", "x@5"},
		{"made, then upgraded", []string{"a@0 > x@3", "x@3 > x@5"}, "a@0", "x@5", "", "x@5"},
		{"made, upgraded, used up", []string{"a@0 > x@3", "x@3 > x@5", "x@5 b@0 > y@5"}, "a@0 b@0", "y@5", "x@5", "y@5"},
		{"upgraded twice", []string{"a@0 > a@4", "a@4 > a@5"}, "a@0", "a@5", "", ""},
		{"all rows gone", []string{"a@0 b@5 > "}, "a@0 b@5", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p pending
			require.True(t, p.isEmpty())
			var unused []manifest.DataFile
			for _, r := range tc.results {
				parts := append(strings.Split(r, ">"), "")
				unused = append(unused, p.add(placed(t, parts[0]), placed(t, parts[1]), placed(t, parts[2]))...)
			}
			require.Equal(t, tc.before, places(p.before))
			require.Equal(t, tc.after, places(p.after))
			require.Equal(t, tc.unused, places(unused))
			require.Equal(t, tc.delete, places(p.made()))
			require.False(t, p.isEmpty())
		})
	}
}

func placed(t *testing.T, text string) (files []manifest.DataFile) {
	for _, f := range strings.Fields(text) {
		name, level, ok := strings.Cut(f, "@")
		require.True(t, ok, f)
		var n int32
		_, err := fmt.Sscan(level, &n)
		require.NoError(t, err)
		files = append(files, manifest.DataFile{FileName: name, Level: n})
	}
	return files
}

func places(files []manifest.DataFile) string {
	var out []string
	for i := range files {
		out = append(out, fmt.Sprintf("%s@%d", files[i].FileName, files[i].Level))
	}
	return strings.Join(out, " ")
}
