package sketch

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// java64 returns the lines of testdata/rbm64.txt: two bitmaps and their union as Java
// serialises them: trees with nodes of all kinds, containers of all kinds, and none.
func java64(t require.TestingT) (lines [][3][]byte) {
	data, err := os.ReadFile("testdata/rbm64.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		var l [3][]byte
		for i, text := range strings.Fields(line) {
			l[i], err = base64.StdEncoding.DecodeString(text)
			require.NoError(t, err)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestBitmap64(t *testing.T) {
	for i, l := range java64(t) {
		got, err := New("rbm64").Union(nil, l[0], l[1])
		require.NoError(t, err, "line %d", i+1)
		require.Equal(t, l[2], got, "line %d", i+1)
		for _, b := range l {
			if len(b) == 1 {
				continue
			}
			_, err = New("rbm64").Union(nil, b[:len(b)-1], l[0])
			require.ErrorIs(t, err, ErrCorrupt)
		}
	}
}
