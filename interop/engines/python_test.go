//go:build engines

package engines

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pypaimon and pypaimon-rust read a table while we write it; pypaimon follows it.
func TestPythonReadsWhatWeWrite(t *testing.T) {
	warehouse := filepath.Join(t.TempDir(), "wh")
	p, stopWriting := writer(t, warehouse, "input")
	seen := changes(t, engine(t, "pypaimon/pypaimon", "stream", warehouse, "default.t", "--from", "1", "--idle", "30", "--timeout", "10"))
	for _, read := range []string{"read", "rust-read"} {
		require.NotEmpty(t, engine(t, "pypaimon/pypaimon", read, warehouse, "default.t"), "while we write")
	}
	stopWriting()

	stop := make(chan struct{})
	close(stop)
	ours, err := tail(t.Context(), p, stop)
	require.NoError(t, err)
	require.NotEmpty(t, seen)
	require.LessOrEqual(t, len(seen), len(ours))
	require.Equal(t, ours[:len(seen)], seen, "pypaimon saw a prefix of the stream")

	want, err := rows(t.Context(), p)
	require.NoError(t, err)
	slices.Sort(want)
	for _, read := range []string{"read", "rust-read"} {
		got := plain(changes(t, engine(t, "pypaimon/pypaimon", read, warehouse, "default.t")))
		require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"), read)
	}
}
