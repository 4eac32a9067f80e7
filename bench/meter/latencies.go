package meter

import (
	"math"
	"slices"
	"time"
)

// Latencies are the durations of single steps, in the order in which they came.
type Latencies []time.Duration

// Add notes a step.
func (l *Latencies) Add(d time.Duration) { *l = append(*l, d) }

// Quantile returns the quantile of all steps, 0 without any.
func (l Latencies) Quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(l))
	return s[int(math.Round(q*float64(len(s)-1)))]
}

// Millis is Quantile in milliseconds, to a microsecond.
func (l Latencies) Millis(q float64) float64 { return Millis(l.Quantile(q)) }

// Millis returns milliseconds, to a microsecond.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// Median returns the middle of the values, the upper one of two; 0 without any.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}

// Spread returns half the distance between the least and the greatest value, as
// a share of the median.
func Spread(values []float64) float64 {
	m := Median(values)
	if m == 0 {
		return 0
	}
	return (slices.Max(values) - slices.Min(values)) / 2 / m
}
