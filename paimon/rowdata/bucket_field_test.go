package rowdata

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The smallest hash has no positive counterpart: the remainder is taken before the
// sign goes, or its bucket would be negative.
func TestBucketOfTheSmallestHash(t *testing.T) {
	for n, want := range map[int]int32{1: 0, 2: 0, 5: 3, 7: 2, 1 << 20: 0, math.MaxInt32: 1} {
		b, err := NewBucketer("", []*Type{{Root: Int}}, n)
		require.NoError(t, err)
		require.Equal(t, want, b.ofHash(math.MinInt32), n)
	}
}
