package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMeterCountsWhatLiesBetween(t *testing.T) {
	burn := func(d time.Duration) {
		for end := CPUTime() + d; CPUTime() < end; {
		}
	}
	m := New()
	burn(20 * time.Millisecond)
	require.Zero(t, m.CPU)
	m.Start()
	burn(30 * time.Millisecond)
	m.Stop()
	burn(20 * time.Millisecond)
	m.Start()
	m.Stop()
	require.GreaterOrEqual(t, m.CPU, 29*time.Millisecond)
	require.Less(t, m.CPU, 60*time.Millisecond, "what came before and after does not count")
	require.Positive(t, m.Wall)
	require.Positive(t, m.HeapPeakBytes)
}

func TestMemory(t *testing.T) {
	before := LiveBytes()
	held := make([]byte, 64<<20)
	for i := range held {
		held[i] = byte(i)
	}
	require.Greater(t, LiveBytes(), before+60<<20)
	if rss := RSS(); rss > 0 {
		require.Greater(t, rss, int64(60<<20))
		require.GreaterOrEqual(t, PeakRSS(), rss-1<<20) // the kernel's peak may lag behind
	}
	require.Equal(t, byte(5), held[5])
}

func TestQuantiles(t *testing.T) {
	var l Latencies
	require.Zero(t, l.Quantile(0.5))
	for _, ms := range []int{5, 1, 3, 2, 4} {
		l.Add(time.Duration(ms) * time.Millisecond)
	}
	require.Equal(t, 3.0, l.Millis(0.5))
	require.Equal(t, 1.0, l.Millis(0))
	require.Equal(t, 5.0, l.Millis(1))
	require.Equal(t, 1.0, l[1:4].Millis(0), "a stretch of the steps in their order")
	require.Equal(t, 2.0, l[2:4].Millis(0))
	require.Equal(t, 1.5, Millis(1500*time.Microsecond))
}

func TestMedianAndSpread(t *testing.T) {
	require.Zero(t, Median(nil))
	require.Zero(t, Spread(nil))
	values := []float64{10, 30, 20}
	require.Equal(t, 20.0, Median(values))
	require.Equal(t, 0.5, Spread(values))
	require.Equal(t, []float64{10, 30, 20}, values, "the values stay in their order")
}
