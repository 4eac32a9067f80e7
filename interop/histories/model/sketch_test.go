package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The texts are what the Java libraries wrote: a sketch is read and written again,
// and the union of two has the bytes that Java gave it.
func TestSketches(t *testing.T) {
	for _, c := range []struct {
		form, a, b, want string
	}{
		{"rbm32", "OjAAAAEAAAAAAAIAEAAAAAEAAgADAA==", "OjAAAAEAAAAAAAEAEAAAAAUABwA=", "OjAAAAEAAAAAAAQAEAAAAAEAAgADAAUABwA="},
		{
			"theta_sketch", "AgMDAAAazJMDAAAAAACAPxX5fcu9hqEFw5f8EoFwnR66QLPB2gZpXQ==", "AgMDAAAazJMCAAAAAACAP0DeLuHJ2z0IukCzwdoGaV0=",
			"AgMDAAAazJMEAAAAAACAPxX5fcu9hqEFQN4u4cnbPQjDl/wSgXCdHrpAs8HaBmld",
		},
	} {
		a, err := parseSketch(c.a)
		require.NoError(t, err)
		require.Equal(t, c.form, a.form)
		require.Equal(t, c.a, a.text())
		b, err := parseSketch(c.b)
		require.NoError(t, err)
		require.Equal(t, c.want, a.union(b).text())
	}
	// The order of a HyperLogLog list is that of arrival; the entries are a set.
	a, err := parseSketch("AgEHDAMIAwAr8vsGhi/5DXWBZgc=")
	require.NoError(t, err)
	b, err := parseSketch("AgEHDAMIAgB1gWYHgbxdBg==")
	require.NoError(t, err)
	want, err := parseSketch("AgEHDAMIBAB1gWYHgbxdBivy+waGL/kN")
	require.NoError(t, err)
	require.True(t, same(want, a.union(b)))
	require.False(t, same(want, a))
}

// A bitmap of runs is the same set as one of an array.
func TestBitmapOfRuns(t *testing.T) {
	runs, err := parseSketch("OzAAAAEAAAQAAQABAAQA") // 1 to 5
	require.NoError(t, err)
	require.Equal(t, sketch{"rbm32", []uint64{1, 2, 3, 4, 5}}, runs)
	require.True(t, same(runs, sketch{"rbm32", []uint64{1, 2, 3, 4, 5}}))
	for _, bad := range []string{"", "AAAA", "OzAAAAEAAAQAAQABAA==", "AgEHDAMIAwAr8vsG"} {
		_, err := parseSketch(bad)
		require.Error(t, err, bad)
	}
}
