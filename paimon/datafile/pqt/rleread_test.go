package pqt

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/stretchr/testify/require"
)

// runs draws n values below most with runs of one value among them.
func runs(r *rand.Rand, n int, most uint32) []int32 {
	v := make([]int32, 0, n)
	for len(v) < n {
		x := int32(r.Uint32N(most))
		k := 1
		if r.IntN(4) == 0 {
			k = r.IntN(40)
		}
		for range min(k, n-len(v)) {
			v = append(v, x)
		}
	}
	return v
}

func TestRLEReader(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for w := 1; w <= 32; w++ {
		for range 20 {
			want := runs(r, r.IntN(2000), 1<<(w-1)+1<<(w-1)-1)
			enc := withSlack(appendRLE(nil, want, w))
			var d rleReader
			d.init(enc, w)
			got := make([]int32, len(want))
			for at := 0; at < len(want); {
				n := min(len(want)-at, r.IntN(100))
				if r.IntN(5) == 0 {
					require.NoError(t, d.skip(n))
					copy(got[at:], want[at:at+n])
				} else {
					require.NoError(t, d.read(got[at:at+n]))
				}
				at += n
			}
			require.Equal(t, want, got, "width %d", w)
			require.Error(t, d.read(make([]int32, 8)))
		}
	}
}

func TestLevelReader(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, most := range []byte{1, 2, 3, 5, 9, 255} {
		for range 50 {
			values := runs(r, r.IntN(3000), uint32(most)+1)
			want := make([]byte, len(values))
			for i, x := range values {
				want[i] = byte(x)
			}
			e := rle.Encoding{BitWidth: bits.Len8(most)}
			enc, err := e.EncodeLevels(nil, want)
			require.NoError(t, err)
			var d levelReader
			d.init(withSlack(enc), most)
			got := make([]byte, len(want))
			for at := 0; at < len(want); {
				n := min(len(want)-at, r.IntN(200))
				if d.all(n) {
					fill(got[at:at+n], most)
				} else {
					require.NoError(t, d.read(got[at:at+n]))
				}
				at += n
			}
			require.Equal(t, want, got, "level %d", most)
		}
	}
}
