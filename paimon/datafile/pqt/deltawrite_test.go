package pqt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/stretchr/testify/require"
)

// deltaInputs are sequences whose deltas need every width.
func deltaInputs() map[string][]int64 {
	r := rand.New(rand.NewPCG(7, 7))
	in := map[string][]int64{
		"empty": {}, "one": {-5}, "two": {math.MinInt64, math.MaxInt64},
		"extremes": {0, math.MaxInt64, math.MinInt64, 0, -1, math.MinInt64, math.MaxInt64, 1},
		"constant": make([]int64, 1000),
	}
	for w := range 64 {
		v := make([]int64, 128*3+w+1)
		for i := range v {
			v[i] = int64(r.Uint64() >> (63 - w))
		}
		in["width"+string(rune('A'+w))] = v
	}
	return in
}

func TestAppendDelta(t *testing.T) {
	var lib delta.BinaryPackedEncoding
	for name, v := range deltaInputs() {
		got, err := lib.DecodeInt64(nil, appendDelta([]byte(nil), v))
		require.NoError(t, err, name)
		require.Len(t, got, len(v), name)
		for i := range v {
			require.Equal(t, v[i], got[i], "%s row %d", name, i)
		}
		v32 := make([]int32, len(v))
		for i := range v {
			v32[i] = int32(v[i])
		}
		prefix := []byte("prefix")
		enc := appendDelta(prefix, v32)
		require.Equal(t, "prefix", string(enc[:6]))
		got32, err := lib.DecodeInt32(nil, enc[6:])
		require.NoError(t, err, name)
		require.Len(t, got32, len(v), name)
		for i := range v32 {
			require.Equal(t, v32[i], got32[i], "%s row %d", name, i)
		}
	}
}

func BenchmarkAppendDelta(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, in := range []struct {
		name string
		span int64
	}{{"3bit", 5}, {"11bit", 1500}, {"24bit", 9_999_900}, {"40bit", 1 << 39}} {
		v := make([]int64, 20_000)
		for i := range v {
			v[i] = 100 + r.Int64N(in.span)
		}
		var buf []byte
		b.Run("impl=own/"+in.name, func(b *testing.B) {
			b.SetBytes(8 * int64(len(v)))
			for b.Loop() {
				buf = appendDelta(buf[:0], v)
			}
		})
		var lib delta.BinaryPackedEncoding
		b.Run("impl=parquet-go/"+in.name, func(b *testing.B) {
			b.SetBytes(8 * int64(len(v)))
			for b.Loop() {
				buf, _ = lib.EncodeInt64(buf, v)
			}
		})
	}
}
