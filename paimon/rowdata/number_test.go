package rowdata

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestCivil compares dates with the standard library, and goes there and back
// where that has none.
func TestCivil(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.OneOf(rapid.Int64Range(-800_000, 3_000_000), rapid.Int64Range(math.MinInt32, math.MaxInt32)).Draw(t, "days")
		y, m, d := civilOf(days)
		require.Equal(t, days, daysOf(y, m, d))
		require.LessOrEqual(t, d, daysInMonth(y, m))
		at := time.Unix(days*secsPerDay, 0).UTC()
		require.Equal(t, []int{at.Year(), int(at.Month()), at.Day()}, []int{int(y), m, d})
	})
}

func drawInt128(t *rapid.T) Int128 {
	return Int128{
		Hi: rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1, 1)).Draw(t, "hi"),
		Lo: rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3), rapid.Uint64Range(math.MaxUint64-3, math.MaxUint64)).Draw(t, "lo"),
	}
}

func TestInt128(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawInt128(t), drawInt128(t)
		back, ok := Int128FromBig(x.Big())
		if x == (Int128{Hi: math.MinInt64}) { // no counterpart above zero
			return
		}
		require.True(t, ok)
		require.Equal(t, x, back)
		require.Equal(t, x.Big().Cmp(y.Big()), x.Cmp(y))
		require.Equal(t, x.Big().Sign(), x.Sign())
		require.Equal(t, x.Big().IsInt64(), x.IsInt64())
		b := x.AppendMinimal(nil)
		again, ok := Int128FromBytes(b)
		require.True(t, ok)
		require.Equal(t, x, again)
		if len(b) > 1 {
			short, _ := Int128FromBytes(b[1:])
			require.NotEqual(t, x, short, "one byte less would do")
		}
		wide, _ := Int128FromBytes(x.AppendBytes(nil, 16))
		require.Equal(t, x, wide)
		require.Equal(t, x.Big().String(), string(appendUnscaled(nil, x, 0)))
		s := x.saturate()
		require.True(t, x.IsInt64() && s == int64(x.Lo) || !x.IsInt64() && (s == math.MaxInt64 && x.Sign() > 0 || s == math.MinInt64 && x.Sign() < 0))
	})
	_, ok := Int128FromBytes(nil)
	require.False(t, ok)
	_, ok = Int128FromBytes(make([]byte, 17))
	require.False(t, ok)
}

// TestRescale compares with big integers.
func TestRescale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := Int128From(rapid.Int64().Draw(t, "x"))
		if rapid.Bool().Draw(t, "wide") {
			x = drawInt128(t)
		}
		if !x.fitsPrecision(38) {
			return
		}
		from, to, digits := rapid.IntRange(0, 38).Draw(t, "from"), rapid.IntRange(0, 38).Draw(t, "to"), rapid.IntRange(1, 38).Draw(t, "digits")
		want := new(big.Rat).SetFrac(x.Big(), pow10Big(from))
		want.Mul(want, new(big.Rat).SetInt(pow10Big(to)))
		rounded, _ := new(big.Int).SetString(want.FloatString(0), 10) // half away from zero
		got, ok := x.rescale(from, to, digits)
		fits := new(big.Int).Abs(rounded).Cmp(pow10Big(digits)) < 0
		require.Equal(t, fits, ok)
		if ok {
			require.Equal(t, rounded.String(), got.Big().String())
		}
	})
	for n := range 39 {
		require.Equal(t, pow10Big(n).String(), pow10I128(n).Big().String())
	}
}

func TestTimestamps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(0, 9).Draw(t, "precision")
		ms, ns := cutStamp(rapid.Int64Range(-1<<45, 1<<45).Draw(t, "ms"), int32(rapid.IntRange(0, 999_999).Draw(t, "ns")), p)
		v := NewVector(&Type{Root: Timestamp, Precision: p}, 1)
		v.AppendTimestamp(ms, ns)
		gotMS, gotNS := v.TimestampAt(0)
		require.Equal(t, []int64{ms, int64(ns)}, []int64{gotMS, int64(gotNS)})
	})
}

func TestTruncateStats(t *testing.T) {
	for _, c := range []struct{ typ, min, max, wantMin, wantMax string }{
		{"STRING", `"abcdefghijklmnopqrst"`, `"abcdefghijklmnopqrst"`, `"abcdefghijklmnop"`, `"abcdefghijklmnoq"`},
		{"STRING", `"abc"`, `"abcdefghijklmnop"`, `"abc"`, `"abcdefghijklmnop"`},
		{"STRING", `"ééééééééééééééééx"`, `"ééééééééééééééééx"`, `"éééééééééééééééé"`, `"éééééééééééééééê"`},
		{"STRING", `"a"`, "\"aaaaaaaaaaaaaaa\U0010ffffx\"", `"a"`, `"aaaaaaaaaaaaaab"`},
		{"STRING", `"a"`, "\"aaaaaaaaaaaaaaa\ud7ffx\"", `"a"`, "\"aaaaaaaaaaaaaaa\ue000\""},
		{"BYTES", `"Af8DBAUGBwgJCgsMDQ4PEBES"`, `"Af8DBAUGBwgJCgsMDQ4P/xES"`, `"Af8DBAUGBwgJCgsMDQ4PEA=="`, `"Af8DBAUGBwgJCgsMDQ4Q"`},
		{"BYTES", `"AA=="`, `"//////////////////////////8="`, "unknown", "unknown"},
		{"STRING", `"a"`, "\"\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\"", "unknown", "unknown"},
		{"STRING", "null", "null", "null", "null"},
		{"BIGINT", "1", "2", "1", "2"},
	} {
		got := TruncateStats(ColumnStats{Min: column(t, c.typ, c.min), Max: column(t, c.typ, c.max), Nulls: 3}, 16)
		require.Equal(t, int64(3), got.Nulls)
		if c.wantMin == "unknown" {
			require.Nil(t, got.Min)
			require.Nil(t, got.Max)
			continue
		}
		require.Equal(t, []string{c.wantMin, c.wantMax}, append(texts(got.Min), texts(got.Max)...))
	}
	require.Equal(t, ColumnStats{Nulls: -1}, TruncateStats(ColumnStats{Nulls: -1}, 16))
	b, ok := TruncateMax(unhex(t, "01ff03"), 2, false)
	require.True(t, ok)
	require.Equal(t, unhex(t, "02"), b)
	_, ok = TruncateMax([]byte("\xff\xffx"), 2, true)
	require.False(t, ok)
}

// TestTruncateBounds expects the bounds to stay bounds.
func TestTruncateBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n, text := rapid.String().Draw(t, "s"), rapid.IntRange(1, 4).Draw(t, "n"), rapid.Bool().Draw(t, "text")
		low := string(TruncateMin([]byte(s), n, text))
		require.LessOrEqual(t, low, s)
		if high, ok := TruncateMax([]byte(s), n, text); ok {
			require.GreaterOrEqual(t, string(high), s)
			require.LessOrEqual(t, len(TruncateMin(high, n, text)), len(high))
			require.Equal(t, string(high), string(TruncateMin(high, n, text)))
		}
	})
}
