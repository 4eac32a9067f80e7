package gctarget

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSet(t *testing.T) {
	limit, before := debug.SetMemoryLimit(-1), debug.SetGCPercent(70)
	t.Cleanup(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(before)
	})

	t.Setenv("GOGC", "70")
	t.Setenv("GOMEMLIMIT", "1GiB")
	Set(700 << 20)
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	require.Equal(t, 70, debug.SetGCPercent(70))

	t.Setenv("GOGC", "")
	Set(0)
	require.Equal(t, percent, debug.SetGCPercent(70))
	require.Equal(t, limit, debug.SetMemoryLimit(-1))

	t.Setenv("GOMEMLIMIT", "")
	Set(700 << 20)
	require.EqualValues(t, 700<<20, debug.SetMemoryLimit(-1))
}
