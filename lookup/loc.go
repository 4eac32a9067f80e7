package lookup

import "encoding/binary"

// loc is the place of a value in the log. The zero loc is that of an empty value,
// which is not in the log at all.
type loc struct {
	addr uint64 // segment in the upper half, byte in the lower
	size uint32 // bytes of the value
}

const locBytes = 12

func (l loc) segment() uint32 { return uint32(l.addr >> 32) }

func address(segment, offset uint32) uint64 { return uint64(segment)<<32 | uint64(offset) }

func (l loc) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, l.addr)
	return binary.LittleEndian.AppendUint32(dst, l.size)
}

// decodeLoc reads a loc as a run or a table of a stage holds it.
func decodeLoc(b []byte) (l loc, ok bool) {
	if len(b) != locBytes {
		return loc{}, false
	}
	return loc{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])}, true
}

// addAddress adds to the address of a loc as a run holds it.
func addAddress(b []byte, base uint64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+base)
}
