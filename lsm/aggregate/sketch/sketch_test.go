package sketch

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/datasketches-go/hll"
	"github.com/apache/datasketches-go/theta"
	"github.com/stretchr/testify/require"
)

func bitmapOf(values ...uint32) []byte {
	b, err := roaring.BitmapOf(values...).ToBytes()
	if err != nil {
		panic(err)
	}
	return b
}

func hllOf(from, n int) []byte {
	s, err := hll.NewHllSketchWithDefault()
	if err != nil {
		panic(err)
	}
	for i := from; i < from+n; i++ {
		if err := s.UpdateInt64(int64(i)); err != nil {
			panic(err)
		}
	}
	b, err := s.ToCompactSlice()
	if err != nil {
		panic(err)
	}
	return b
}

func thetaOf(from, n int) []byte {
	s, err := theta.NewQuickSelectUpdateSketch()
	if err != nil {
		panic(err)
	}
	for i := from; i < from+n; i++ {
		_ = s.UpdateInt64(int64(i)) // tells too whether the value was new
	}
	b, err := s.Compact(true).MarshalBinary()
	if err != nil {
		panic(err)
	}
	return b
}

// TestUnionBytes: the bytes are those of the Java libraries, as the golden tables
// agg-sketches and agg-bitmaps have them.
func TestUnionBytes(t *testing.T) {
	for _, tc := range []struct{ form, a, b, want string }{
		{"rbm32", "OjAAAAEAAAAAAAIAEAAAAAEAAgADAA==", "OjAAAAEAAAAAAAEAEAAAAAUABwA=", "OjAAAAEAAAAAAAQAEAAAAAEAAgADAAUABwA="},
		{"hll_sketch", "AgEHDAMIAwAr8vsGhi/5DXWBZgc=", "AgEHDAMIAgB1gWYHgbxdBg==", "AgEHDAMIBAB1gWYHgbxdBivy+waGL/kN"},
		{
			"theta_sketch", "AgMDAAAazJMDAAAAAACAPxX5fcu9hqEFw5f8EoFwnR66QLPB2gZpXQ==", "AgMDAAAazJMCAAAAAACAP0DeLuHJ2z0IukCzwdoGaV0=",
			"AgMDAAAazJMEAAAAAACAPxX5fcu9hqEFQN4u4cnbPQjDl/wSgXCdHrpAs8HaBmld",
		},
	} {
		t.Run(tc.form, func(t *testing.T) {
			a, err := base64.StdEncoding.DecodeString(tc.a)
			require.NoError(t, err)
			b, err := base64.StdEncoding.DecodeString(tc.b)
			require.NoError(t, err)
			got, err := New(tc.form).Union([]byte("before"), a, b)
			require.NoError(t, err)
			require.Equal(t, "before", string(got[:6]))
			require.Equal(t, tc.want, base64.StdEncoding.EncodeToString(got[6:]))
		})
	}
}

func TestUnionOfLarge(t *testing.T) {
	out, err := New("hll_sketch").Union(nil, hllOf(0, 5000), hllOf(2500, 5000))
	require.NoError(t, err)
	h, err := hll.NewHllSketchFromSlice(out, true)
	require.NoError(t, err)
	estimate, err := h.GetEstimate()
	require.NoError(t, err)
	require.InDelta(t, 7500, estimate, 500)

	out, err = New("theta_sketch").Union(nil, thetaOf(0, 5000), thetaOf(2500, 5000))
	require.NoError(t, err)
	s, err := theta.Decode(out, theta.DefaultSeed)
	require.NoError(t, err)
	require.InDelta(t, 7500, s.Estimate(), 500)
}

func TestUnionRefuses(t *testing.T) {
	require.Nil(t, New("quantiles"))
	for form, good := range map[string][]byte{"rbm32": bitmapOf(1, 2), "hll_sketch": hllOf(0, 3), "theta_sketch": thetaOf(0, 3)} {
		for _, bad := range [][]byte{nil, {1}, bytes.Repeat([]byte{0xff}, 40), good[:len(good)-1]} {
			_, err := New(form).Union(nil, good, bad)
			require.ErrorIs(t, err, ErrCorrupt, "%s %x", form, bad)
			_, err = New(form).Union(nil, bad, good)
			require.ErrorIs(t, err, ErrCorrupt, "%s %x", form, bad)
		}
	}
}

// FuzzUnion: whatever the bytes are, the union is a value that can be joined again,
// or an error.
func FuzzUnion(f *testing.F) {
	for i, good := range [][]byte{bitmapOf(1, 2, 70000), hllOf(0, 3), hllOf(0, 5000), thetaOf(0, 5), thetaOf(0, 1)} {
		f.Add([]uint8{0, 1, 1, 2, 2}[i], good, good)
	}
	for _, l := range java64(f)[:4] {
		f.Add(uint8(3), l[0], l[1])
	}
	f.Fuzz(func(t *testing.T, form uint8, a, b []byte) {
		u := New([]string{"rbm32", "hll_sketch", "theta_sketch", "rbm64"}[form%4])
		out, err := u.Union(nil, a, b)
		if err != nil {
			return
		}
		_, err = u.Union(nil, out, out)
		require.NoError(t, err)
	})
}
