package pqt

import (
	"encoding/binary"
	"math/bits"
)

// Blocks of DELTA_BINARY_PACKED as every writer makes them: 128 deltas, less
// the least of them, in four miniblocks that each have a bit width of their own.
const (
	deltaBlock     = 128
	deltaMiniCount = 4
	deltaMini      = deltaBlock / deltaMiniCount

	deltaHeaderMax = 4 * binary.MaxVarintLen64
	deltaBlockMax  = binary.MaxVarintLen64 + deltaMiniCount + 8*deltaBlock + 16
)

// appendDelta appends values in DELTA_BINARY_PACKED encoding. Differences wrap
// around at the width of the type, as the reader's sums do.
func appendDelta[T int32 | int64](dst []byte, values []T) []byte {
	dst = grow(dst, deltaHeaderMax)
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaMiniCount)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(dst, 0)
	}
	dst = binary.AppendVarint(dst, int64(values[0]))
	var deltas [deltaBlock]uint64
	for at := 1; at < len(values); at += deltaBlock {
		dst = grow(dst, deltaBlockMax)
		out := dst[len(dst):cap(dst)]
		n := min(deltaBlock, len(values)-at)
		least := subtract(&deltas, values[at-1:at+n])
		pos := binary.PutVarint(out, int64(least))
		widths := out[pos : pos+deltaMiniCount]
		pos += deltaMiniCount
		for m := range widths {
			if m*deltaMini >= n {
				widths[m] = 0
				continue
			}
			mini := (*[deltaMini]uint64)(deltas[m*deltaMini:])
			w := rebase[T](mini, least, min(deltaMini, n-m*deltaMini))
			widths[m] = byte(w)
			pack(out[pos:], mini, w)
			pos += deltaMini / 8 * w
		}
		dst = dst[:len(dst)+pos]
	}
	return dst
}

// subtract sets deltas to the differences of neighbours and returns the least.
func subtract[T int32 | int64](deltas *[deltaBlock]uint64, values []T) T {
	last := values[0]
	values = values[1:]
	least := values[0] - last
	if len(values) == deltaBlock {
		v := (*[deltaBlock]T)(values)
		even, odd := least, least
		for i := 0; i < deltaBlock; i += 2 {
			d0 := v[i] - last
			d1 := v[i+1] - v[i]
			last = v[i+1]
			even, odd = min(even, d0), min(odd, d1)
			deltas[i], deltas[i+1] = uint64(d0), uint64(d1)
		}
		return min(even, odd)
	}
	for i, x := range values {
		d := x - last
		last = x
		least = min(least, d)
		deltas[i] = uint64(d)
	}
	return least
}

// rebase takes least off the first n deltas, sets the others to 0 and returns
// the bits that the greatest needs.
func rebase[T int32 | int64](mini *[deltaMini]uint64, least T, n int) int {
	clear(mini[n:])
	mask := ^uint64(0)
	if T(1)<<31<<1 == 0 { // 32 bits: the difference wraps around there
		mask = 1<<32 - 1
	}
	base := uint64(least)
	var a, b uint64
	if n == deltaMini {
		for i := 0; i < deltaMini; i += 2 {
			d, e := (mini[i]-base)&mask, (mini[i+1]-base)&mask
			mini[i], mini[i+1] = d, e
			a, b = a|d, b|e
		}
		return bits.Len64(a | b)
	}
	for i := range mini[:n] {
		mini[i] = (mini[i] - base) & mask
		a |= mini[i]
	}
	return bits.Len64(a)
}

// pack writes the w lowest bits of 32 values, least significant bit first. dst
// has room for 4*w bytes and 16 more, which are scratch.
func pack(dst []byte, v *[deltaMini]uint64, w int) {
	le := binary.LittleEndian
	shift := uint(w) & 63
	switch {
	case w == 0:
	case w <= 7: // eight values fill w bytes, and fit a word
		for i := 0; i < deltaMini; i += 8 {
			x := v[i] | v[i+1]<<shift | v[i+2]<<(2*shift&63) | v[i+3]<<(3*shift&63) |
				v[i+4]<<(4*shift&63) | v[i+5]<<(5*shift&63) | v[i+6]<<(6*shift&63) | v[i+7]<<(7*shift&63)
			le.PutUint64(dst, x)
			dst = dst[w:]
		}
	case w <= 14: // four fit a word
		quad := 4 * shift & 63
		for i := 0; i < deltaMini; i += 8 {
			x := v[i] | v[i+1]<<shift | v[i+2]<<(2*shift&63) | v[i+3]<<(3*shift&63)
			y := v[i+4] | v[i+5]<<shift | v[i+6]<<(2*shift&63) | v[i+7]<<(3*shift&63)
			le.PutUint64(dst, x|y<<quad)
			le.PutUint64(dst[8:], y>>((64-quad)&63))
			dst = dst[w:]
		}
	case w <= 28: // two fit a word that has seven bits left over before it
		var acc uint64
		var used uint
		for i := 0; i < deltaMini; i += 2 {
			acc |= (v[i] | v[i+1]<<shift) << (used & 63)
			le.PutUint64(dst, acc)
			used += 2 * shift
			dst = dst[used>>3:]
			acc >>= used &^ 7 & 63
			used &= 7
		}
	case w == 64:
		for _, x := range v {
			le.PutUint64(dst, x)
			dst = dst[8:]
		}
	default:
		var acc uint64
		var used uint
		for _, x := range v {
			acc |= x << (used & 63)
			if used+shift < 64 {
				used += shift
				continue
			}
			le.PutUint64(dst, acc)
			dst = dst[8:]
			acc = x >> (64 - used) // all of it gone if used is 0: shifts by 64 give 0
			used += shift - 64
		}
		le.PutUint64(dst, acc)
	}
}
