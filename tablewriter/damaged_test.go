package tablewriter

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDamagedIndexBesideWriting: a compaction beside writing that finds the index
// damaged has it built anew; the writer goes on, and nothing is wrong or lost.
func TestDamagedIndexBesideWriting(t *testing.T) {
	for _, straightOff := range []bool{false, true} {
		h, dir := newHistory(pairsTable(t, "changelog-producer", "lookup"), 1), t.TempDir()
		write := func(w *Writer, mode CompactMode) {
			_, err := w.Write(t.Context(), h.batch(t, w.Type(), nil), Position{})
			require.NoError(t, err)
			_, err = w.CommitWith(t.Context(), mode)
			require.NoError(t, err)
			h.follow(t)
		}
		open := func() *Writer {
			return openWriter(t, h.table, Options{User: "me", CommitInterval: time.Hour, LookupDir: dir, StraightOff: straightOff})
		}
		w := open()
		for range 6 {
			write(w, CompactWait)
		}
		require.NoError(t, w.Close(t.Context()))
		require.Positive(t, spoilLogs(t, dir))
		w = open()
		for range 8 {
			write(w, CompactNone)
		}
		for range 2 {
			_, err := w.CommitWith(t.Context(), CompactFull)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close(t.Context()))
		h.complete(t)
	}
}

// spoilLogs changes every byte behind the first header in the logs of the indexes, and
// returns how many logs there are.
func spoilLogs(t *testing.T, dir string) (logs int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") || !strings.HasSuffix(filepath.Dir(path), ".log") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := 20; i < len(b); i++ {
			b[i] ^= 0x55
		}
		logs++
		return os.WriteFile(path, b, 0o644)
	}))
	return logs
}
