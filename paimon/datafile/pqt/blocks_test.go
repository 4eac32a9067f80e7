package pqt

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b blocks
	for range 3 {
		var want []byte
		for len(want) < 5<<20 {
			p := make([]byte, r.IntN(1<<r.IntN(22)))
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			b.append(p)
			want = append(want, p...)
			require.Equal(t, len(want), b.size())
		}
		require.True(t, bytes.Equal(want, bytes.Join(b.list[:b.used], nil)))
		room := 0
		for _, block := range b.list {
			require.LessOrEqual(t, cap(block), blockBytesMax+blockBytesMax/8)
			room += cap(block)
		}
		require.LessOrEqual(t, room, 8<<20, "little more than what is held")
		b.reset()
		require.Zero(t, b.size())
	}
	allocs := testing.AllocsPerRun(5, func() {
		b.reset()
		b.append(make([]byte, 4<<20))
	})
	require.Less(t, allocs, 12.0, "most of the 16 blocks are kept") // a collection and the race detector take some
}
