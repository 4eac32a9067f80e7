package aggregate

import (
	"math"
	"math/big"
	"slices"

	"sluice/paimon/rowdata"
)

// The original keeps sets and maps of nested values in hash tables, and the order
// of the elements of a result is the order of such a table. These are its rules: a
// table of a power of two of places, at least 16 and at most three quarters full,
// whose places hold values in the order of their arrival.

// place returns where a hash belongs in a table of size places.
func place(hash int32, size int) int { return int(uint32(hash)^uint32(hash)>>16) & (size - 1) }

// places returns the size of a table that has held so many values.
func places(values int) int {
	size := 16
	for values > size/4*3 {
		size *= 2
	}
	return size
}

// inTableOrder puts the positions order, which are in the order of arrival, into
// the order of a table that has held most values.
func inTableOrder(order []int32, hash []int32, most int) {
	size := places(most)
	slices.SortStableFunc(order, func(a, b int32) int { return place(hash[a], size) - place(hash[b], size) })
}

// hashed tells whether elements of a type are put in table order; others are kept
// in the order of arrival.
func hashed(t *rowdata.Type) bool { return !t.IsNested() && !t.IsBinary() }

// valueHash returns the hash of a value of such a type.
func valueHash(v *rowdata.Vector, i int) int32 {
	if v.IsNull(i) {
		return 0
	}
	switch v.Type.Root {
	case rowdata.Boolean:
		if v.I32[i] != 0 {
			return 1231
		}
		return 1237
	case rowdata.BigInt:
		return hash64(v.I64[i])
	case rowdata.Float:
		if x := v.F32[i]; x == x {
			return int32(math.Float32bits(x))
		}
		return 0x7fc00000
	case rowdata.Double:
		if x := v.F64[i]; x == x {
			return hash64(int64(math.Float64bits(x)))
		}
		return hash64(0x7ff8000000000000)
	case rowdata.Decimal:
		return decimalHash(v, i)
	case rowdata.Timestamp, rowdata.TimestampLTZ:
		millis, nanos := v.TimestampAt(i)
		return 31*hash64(millis) + nanos
	case rowdata.Char, rowdata.Varchar:
		return textHash(v.Bytes(i))
	}
	return v.I32[i]
}

func hash64(x int64) int32 { return int32(x ^ int64(uint64(x)>>32)) }

func decimalHash(v *rowdata.Vector, i int) int32 {
	x := unscaled(new(big.Int), v, i)
	h := int32(0)
	words := new(big.Int).Abs(x).FillBytes(make([]byte, 16))
	for w := 0; w < 16; w += 4 {
		h = 31*h + int32(uint32(words[w])<<24|uint32(words[w+1])<<16|uint32(words[w+2])<<8|uint32(words[w+3]))
	}
	if x.Sign() < 0 {
		h = -h
	}
	return 31*h + int32(v.Type.Scale)
}

// textHash is the hash of the bytes of a text: four at a time, and then each byte
// of the rest as a word of its own.
func textHash(b []byte) int32 {
	h, n := uint32(42), len(b)
	for ; len(b) >= 4; b = b[4:] {
		h = mix(h, uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24)
	}
	for _, c := range b {
		h = mix(h, uint32(int8(c)))
	}
	h ^= uint32(n)
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return int32(h)
}

func mix(h, k uint32) uint32 {
	k *= 0xcc9e2d51
	k = k<<15 | k>>17
	k *= 0x1b873593
	h ^= k
	h = h<<13 | h>>19
	return h*5 + 0xe6546b64
}
