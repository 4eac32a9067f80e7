package rowdata

import (
	"fmt"
	"math"
	"math/big"
)

// Bucketer assigns rows to buckets by the values of their bucket key (format
// section 7). It is immutable and may be shared.
type Bucketer struct {
	function bucketFunction
	types    []*Type
	n        int32
}

type bucketFunction uint8

const (
	bucketDefault bucketFunction = iota
	bucketMod
	bucketHive
)

// NewBucketer returns the bucket function of that name (option
// bucket-function.type; "" means "default") for a bucket key of the given types,
// in the order of the option bucket-key.
func NewBucketer(function string, types []*Type, buckets int) (*Bucketer, error) {
	if buckets < 1 || buckets > math.MaxInt32 {
		return nil, fmt.Errorf("bucket function: %d buckets, want at least 1", buckets)
	}
	b := &Bucketer{types: types, n: int32(buckets)}
	switch function {
	case "", "default":
		for _, t := range types {
			if t.IsNested() {
				return nil, fmt.Errorf("bucket function: a key of type %s is not possible", t)
			}
		}
	case "mod":
		b.function = bucketMod
		if len(types) != 1 || types[0].Root != Int && types[0].Root != BigInt {
			return nil, fmt.Errorf("bucket function mod: want one bucket key of type INT or BIGINT, have %v", types)
		}
	case "hive":
		b.function = bucketHive
		for _, t := range types {
			if t.IsNested() || t.Root == Timestamp || t.Root == TimestampLTZ {
				return nil, fmt.Errorf("bucket function hive: a key of type %s is not possible", t)
			}
		}
	default:
		return nil, fmt.Errorf("bucket function %q: want default, mod or hive", function)
	}
	return b, nil
}

// NumBuckets returns the number of buckets that rows are spread over.
func (b *Bucketer) NumBuckets() int { return int(b.n) }

// Bucket returns the bucket of row i of the key columns.
func (b *Bucketer) Bucket(cols []*Vector, i int) int {
	switch b.function {
	case bucketMod:
		return int(b.mod(cols[0], i))
	case bucketHive:
		return int(b.hive(cols, i))
	}
	return int(b.ofHash(HashRow(cols, i)))
}

// ofHash is |h mod n| with the remainder of Java, whose sign is that of h.
func (b *Bucketer) ofHash(h int32) int32 {
	r := h % b.n
	if r < 0 {
		return -r
	}
	return r
}

// Buckets appends the bucket of each of the first n rows of the key columns.
func (b *Bucketer) Buckets(dst []int32, cols []*Vector, n int) []int32 {
	if b.function == bucketDefault && len(cols) == 1 {
		v := cols[0]
		switch {
		case v.store == StoreBytes:
			for i := range n {
				if v.IsNull(i) {
					dst = append(dst, b.ofHash(hashSlot(nullBit0, 0)))
				} else {
					dst = append(dst, b.ofHash(hashBytes(v.Bytes(i))))
				}
			}
			return dst
		case v.store == StoreI64 && !isWideTimestamp(v.Type), v.Type.Root == Int, v.Type.Root == Date, v.Type.Root == Time:
			return b.slots(dst, v, n)
		}
	}
	if b.function != bucketDefault {
		for i := range n {
			dst = append(dst, int32(b.Bucket(cols, i)))
		}
		return dst
	}
	row := make([]byte, 0, 256)
	for i := range n {
		row = AppendBinaryRow(row[:0], cols, i)
		dst = append(dst, b.ofHash(Murmur32(row, hashSeed)))
	}
	return dst
}

// nullBit0 is the null part of a row of one field that is NULL.
const nullBit0 = 1 << 8

// slots is Buckets of one column whose values are its slots.
func (b *Bucketer) slots(dst []int32, v *Vector, n int) []int32 {
	at := len(dst)
	dst = append(dst, make([]int32, n)...)
	out := dst[at:]
	if v.store == StoreI64 {
		for i, x := range v.I64[:n] {
			out[i] = b.ofHash(hashSlot(0, uint64(x)))
		}
	} else {
		for i, x := range v.I32[:n] {
			out[i] = b.ofHash(hashSlot(0, uint64(uint32(x))))
		}
	}
	if v.Valid != nil {
		for i, ok := range v.Valid[:n] {
			if ok == 0 {
				out[i] = b.ofHash(hashSlot(nullBit0, 0))
			}
		}
	}
	return dst
}

func (b *Bucketer) mod(v *Vector, i int) int32 {
	x := int64(0)
	if v.store == StoreI64 {
		x = v.I64[i]
	} else {
		x = int64(v.I32[i])
	}
	m := x % int64(b.n)
	if m < 0 {
		m += int64(b.n)
	}
	return int32(m)
}

// hive is the bucket function of Hive tables (format section 7.3).
func (b *Bucketer) hive(cols []*Vector, i int) int32 {
	h := int32(0)
	for _, v := range cols {
		h *= 31
		if v.IsNull(i) {
			continue
		}
		switch v.store {
		case StoreI32:
			h += v.I32[i]
		case StoreI64:
			if v.Type.Root == Decimal {
				h += hiveDecimal(Int128From(v.I64[i]), v.Type.Scale)
			} else {
				h += fold64(uint64(v.I64[i]))
			}
		case StoreI128:
			h += hiveDecimal(v.I128[i], v.Type.Scale)
		case StoreF32:
			if x := v.F32[i]; x != 0 {
				h += int32(javaFloatBits(x))
			}
		case StoreF64:
			if x := v.F64[i]; x != 0 {
				h += fold64(javaDoubleBits(x))
			}
		case StoreBytes:
			s := int32(0)
			for _, c := range v.Bytes(i) {
				s = 31*s + int32(int8(c))
			}
			h += s
		}
	}
	return (h & math.MaxInt32) % b.n
}

func fold64(x uint64) int32 { return int32(x ^ x>>32) }

// javaFloatBits are the bits of x with one NaN for all.
func javaFloatBits(x float32) uint32 {
	if x != x {
		return 0x7fc00000
	}
	return math.Float32bits(x)
}

func javaDoubleBits(x float64) uint64 {
	if x != x {
		return 0x7ff8000000000000
	}
	return math.Float64bits(x)
}

// hiveDecimal is the hash code of a Java BigDecimal without trailing zeros.
func hiveDecimal(x Int128, scale int) int32 {
	if x.Sign() == 0 {
		return 0
	}
	u, ten, rest := x.Big(), big.NewInt(10), new(big.Int)
	for scale > 0 {
		q, r := new(big.Int).QuoRem(u, ten, rest)
		if r.Sign() != 0 {
			break
		}
		u, scale = q, scale-1
	}
	var mag [16]byte
	new(big.Int).Abs(u).FillBytes(mag[:])
	h := int32(0)
	for w := 0; w < len(mag); w += 4 {
		h = 31*h + int32(uint32(mag[w])<<24|uint32(mag[w+1])<<16|uint32(mag[w+2])<<8|uint32(mag[w+3]))
	}
	if u.Sign() < 0 {
		h = -h
	}
	return 31*h + int32(scale)
}
