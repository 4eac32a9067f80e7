// Package orders makes the rows of the peer's benchmark definition (see
// bench/peer/README.md, "Rows") in columns, and the digests by which two runs
// are known to have done the same work.
package orders

import (
	"encoding/binary"
	"fmt"
	"math"

	"sluice/paimon/rowdata"
)

const (
	gamma   = 0x9E3779B97F4A7C15
	nullBit = 0x6E756C6C6E756C6C
	epoch   = 1_764_000_000_000
	letters = "eeeeeetttttaaaaooooiiiinnnnsssshhhrrrddllcumwfgypbvk           ."
)

// Seed is the seed of all rows unless a run names another.
const Seed = 42

var statuses = []string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "RETURNED", "CANCELLED", "LOST"}

// Fields are the columns in the text form of table specs.
func Fields() []string {
	return []string{
		"id BIGINT NOT NULL", "customer BIGINT", "status STRING", "amount DECIMAL(12, 2)", "note STRING",
		"updated_at TIMESTAMP(3)", "weight DOUBLE", "score DOUBLE",
	}
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// generator is splitmix64; its value is the state.
type generator uint64

func (g *generator) next() uint64 {
	*g += gamma
	return mix(uint64(*g))
}

func (g *generator) bounded(n uint64) uint64 { return (g.next() >> 1) % n }

// Key returns the key with an index.
func Key(seed, index uint64) int64 { return int64(mix(seed + (index+1)*gamma)) }

// values are the values of a row that are drawn.
type values struct {
	customer, status, amount int64
	note                     [60]byte
	noteLen                  int
	weight, score            float64
}

func draw(v *values, seed uint64, key int64, ordinal uint64) {
	g := generator(mix(mix(ordinal^seed) ^ uint64(key)))
	v.customer = int64(g.bounded(1_000_000))
	v.status = int64(g.bounded(8))
	v.amount = int64(g.bounded(100_000_000))
	v.noteLen = int(20 + g.bounded(41))
	var word uint64
	for i := range v.noteLen {
		if i%8 == 0 {
			word = g.next()
		}
		v.note[i] = letters[word&63]
		word >>= 8
	}
	v.weight = float64(g.next()>>11) * 0x1p-53
	v.score = float64(g.bounded(10_000)) / 100
}

// Append appends the row of a key and an ordinal to a batch of these columns.
func Append(b *rowdata.Batch, seed uint64, key int64, ordinal uint64) {
	appendParts(b, seed, key, ordinal, true, true)
}

// AppendHalf appends the same row with half of its columns: the others, which
// ones by the ordinal, are NULL.
func AppendHalf(b *rowdata.Batch, seed uint64, key int64, ordinal uint64) {
	appendParts(b, seed, key, ordinal, ordinal%2 == 0, ordinal%2 == 1)
}

func appendParts(b *rowdata.Batch, seed uint64, key int64, ordinal uint64, first, second bool) {
	var v values
	draw(&v, seed, key, ordinal)
	b.Cols[0].AppendI64(key)
	if first {
		b.Cols[1].AppendI64(v.customer)
		b.Cols[2].AppendString(statuses[v.status])
		b.Cols[3].AppendI64(v.amount)
	} else {
		nulls(b.Cols[1:4])
	}
	if second {
		b.Cols[4].AppendBytes(v.note[:v.noteLen])
	} else {
		nulls(b.Cols[4:5])
	}
	b.Cols[5].AppendI64(int64(epoch + ordinal))
	if second {
		b.Cols[6].AppendF64(v.weight)
		b.Cols[7].AppendF64(v.score)
	} else {
		nulls(b.Cols[6:8])
	}
	b.CloseRow()
}

func nulls(cols []*rowdata.Vector) {
	for _, v := range cols {
		v.AppendNull()
	}
}

// Bytes is the plain size of row i: 8 a number, the length of each string, 0 for
// NULL.
func Bytes(b *rowdata.Batch, i int) (size int64) {
	for _, v := range b.Cols {
		switch {
		case v.IsNull(i):
		case v.Storage() == rowdata.StoreBytes:
			size += int64(len(v.Bytes(i)))
		default:
			size += 8
		}
	}
	return size
}

// Digest is that of a multiset of rows.
type Digest struct{ Count, xor, sum uint64 }

// String is count:xor:sum.
func (d Digest) String() string { return fmt.Sprintf("%d:%016x:%016x", d.Count, d.xor, d.sum) }

// Add adds all rows of a batch. Kinds nil means +I; a table's digest takes nil.
func (d *Digest) Add(b *rowdata.Batch, kinds []rowdata.RowKind) {
	for i := range b.N {
		h := uint64(0)
		if kinds != nil {
			h = uint64(kinds[i])
		}
		h = hashRow(h, b, i)
		d.Count++
		d.xor ^= h
		d.sum += h
	}
}

func hashRow(h uint64, b *rowdata.Batch, i int) uint64 {
	for _, v := range b.Cols {
		switch {
		case v.IsNull(i):
			h = mix(h ^ nullBit)
		case v.Storage() == rowdata.StoreI64:
			h = mix(h ^ uint64(v.I64[i]))
		case v.Storage() == rowdata.StoreF64:
			h = mix(h ^ math.Float64bits(v.F64[i]))
		default:
			h = hashText(h, v.Bytes(i))
		}
	}
	return h
}

func hashText(h uint64, s []byte) uint64 {
	n := uint64(len(s))
	for len(s) >= 8 {
		h = mix(h ^ binary.LittleEndian.Uint64(s))
		s = s[8:]
	}
	if len(s) > 0 {
		var word [8]byte
		copy(word[:], s)
		h = mix(h ^ binary.LittleEndian.Uint64(word[:]))
	}
	return mix(h ^ n)
}
