package sketch

import (
	"encoding/binary"
	"errors"

	"github.com/apache/datasketches-go/hll"
)

// Sizes of a sketch, as logarithms: of its registers, and of its list or set of
// entries.
const (
	lgRegistersMin = 4
	lgRegistersMax = 21
)

var errSize = errors.New("sizes are out of range")

// checkHLL looks at the sizes, which the library believes: it allocates for them, and
// looks for room in tables that must have some.
func checkHLL(b []byte) error {
	if len(b) < 8 || b[3] < lgRegistersMin || b[3] > lgRegistersMax || b[4] > lgRegistersMax {
		return corrupt("hll_sketch", errSize)
	}
	registers, table, compact := 1<<b[3], 1<<b[4], b[5]&flagCompact != 0
	number := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	const list, set, hll = 0, 1, 2
	ok := false
	switch mode := b[7] & 3; {
	case mode == list && b[0] == 2:
		const room = 8
		ok = int(b[6]) <= room && len(b) >= 8+4*int(b[6]) && b[4] == 3 && (compact || len(b) >= 8+4*room)
	case mode == set && b[0] == 3 && len(b) >= 12:
		count := number(8)
		ok = count <= table-table/4 && b[4] >= 5 && b[4] < b[3] && (compact && len(b) >= 12+4*count || len(b) >= 12+4*table)
	case mode == hll && b[0] == 10 && len(b) >= 40:
		bytes := [...]int{registers / 2, registers*3/4 + 1, registers, registers + 1}[b[7]>>2&3]
		entries := number(36)
		aux := 4 * entries
		if !compact && entries > 0 {
			aux = 4 * table
		}
		ok = number(32) <= registers && entries <= registers && (entries == 0 || entries <= table-table/4) &&
			b[6] < 64 && len(b) >= 40+bytes+aux
	}
	if !ok {
		return corrupt("hll_sketch", errSize)
	}
	return nil
}

// flagCompact is the bit of the flags in byte 5 for a table without empty places.
const flagCompact = 1 << 3

// hllUnion joins HyperLogLog sketches: the first is put into a union made of the
// second. The result has registers of 4 bits.
type hllUnion struct{}

func (hllUnion) Union(dst, a, b []byte) (out []byte, err error) {
	defer guard("hll_sketch", &err)
	if err := checkHLL(a); err != nil {
		return nil, err
	}
	if err := checkHLL(b); err != nil {
		return nil, err
	}
	first, err := hll.NewHllSketchFromSlice(a, true)
	if err != nil {
		return nil, corrupt("hll_sketch", err)
	}
	u, err := hll.NewUnionFromSlice(b)
	if err != nil {
		return nil, corrupt("hll_sketch", err)
	}
	if err := u.UpdateSketch(first); err != nil {
		return nil, corrupt("hll_sketch", err)
	}
	result, err := u.GetResult(hll.TgtHllTypeHll4)
	if err != nil {
		return nil, corrupt("hll_sketch", err)
	}
	text, err := result.ToCompactSlice()
	if err != nil {
		return nil, corrupt("hll_sketch", err)
	}
	return append(dst, text...), nil
}
