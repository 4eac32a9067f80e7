package picks

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const recorded = "testdata/picks.jsonl.gz"

// TestRecorded compares our picks with those that Java gave to recorded shapes.
func TestRecorded(t *testing.T) {
	f, err := os.Open(recorded)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines, picked, nothing := bufio.NewScanner(z), 0, 0
	shapes := 0
	for lines.Scan() {
		var s Shape
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		require.Equal(t, s.Answers, s.Ours(), lines.Text())
		for _, a := range s.Answers {
			if a == nil {
				nothing++
			} else {
				picked++
			}
		}
		shapes++
	}
	require.NoError(t, lines.Err())
	require.GreaterOrEqual(t, shapes, 3000)
	require.Greater(t, picked, shapes)
	require.Greater(t, nothing, shapes/10)
}
