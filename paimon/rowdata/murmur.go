package rowdata

import (
	"encoding/binary"
	"math/bits"
)

// hashSeed is the seed of all hashes of binary rows.
const hashSeed = 42

// Murmur32 is MurmurHash3 (x86, 32 bits) over whole little-endian words: the
// length of b must be a multiple of 4, as it is for binary rows. Bytes behind
// the last whole word do not count.
func Murmur32(b []byte, seed uint32) int32 {
	h, n := seed, len(b)
	for ; len(b) >= 4; b = b[4:] {
		h = murmurMix(h, binary.LittleEndian.Uint32(b))
	}
	return murmurEnd(h, uint32(n))
}

func murmurMix(h, k uint32) uint32 {
	k *= 0xcc9e2d51
	h ^= bits.RotateLeft32(k, 15) * 0x1b873593
	return bits.RotateLeft32(h, 13)*5 + 0xe6546b64
}

func murmurEnd(h, length uint32) int32 {
	h ^= length
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return int32(h ^ h>>16)
}

// HashRow returns the hash of the binary row made of row i of each column: the
// hash of bucket assignment and of HASH index files (format sections 7.2, 7.5).
func HashRow(cols []*Vector, i int) int32 {
	for _, v := range cols {
		if v.store >= StoreList {
			return Murmur32(AppendBinaryRow(nil, cols, i), hashSeed)
		}
	}
	var buf [256]byte
	return Murmur32(appendFlatRow(buf[:0], cols, i), hashSeed)
}

// hashSlot hashes the row of one field from its null word and its slot.
func hashSlot(null, slot uint64) int32 {
	h := murmurMix(hashSeed, uint32(null))
	h = murmurMix(h, uint32(null>>32))
	h = murmurMix(h, uint32(slot))
	return murmurEnd(murmurMix(h, uint32(slot>>32)), 16)
}

// hashBytes hashes the row of one string or binary field without building it.
func hashBytes(b []byte) int32 {
	if len(b) <= inlineMax {
		slot := uint64(0x80|len(b)) << 56
		for i, c := range b {
			slot |= uint64(c) << (8 * i)
		}
		return hashSlot(0, slot)
	}
	h := murmurMix(murmurMix(hashSeed, 0), 0)
	h = murmurMix(murmurMix(h, uint32(len(b))), 16)
	length := 16 + (len(b)+7)&^7
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		h = murmurMix(murmurMix(h, uint32(w)), uint32(w>>32))
	}
	if len(b) > 0 {
		var w uint64
		for i, c := range b {
			w |= uint64(c) << (8 * i)
		}
		h = murmurMix(murmurMix(h, uint32(w)), uint32(w>>32))
	}
	return murmurEnd(h, uint32(length))
}
