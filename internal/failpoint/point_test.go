package failpoint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArming(t *testing.T) {
	for i, p := range Points() {
		got, time, err := parse(Arming(p, i+1))
		require.NoError(t, err)
		require.Equal(t, p, got)
		require.Equal(t, i+1, time)
	}
	for _, text := range []string{"", "commit-ends", "commit-ends:", "commit-ends:0", "commit-ends:x", "nowhere:1"} {
		_, _, err := parse(text)
		require.ErrorContains(t, err, Env, text)
	}
}
