package rowdata

import (
	"encoding/binary"
	"math"
)

// The binary row is little endian and position independent: a null part, a slot
// of 8 bytes for each field, then the values that do not fit a slot, each padded
// to 8 bytes. Bucket hashes cover every byte of it, so all padding is zero.

// nullPart returns the bytes before the slots: a header byte and a null bit a
// field, rounded up to whole words (format section 6.1).
func nullPart(arity int) int { return (arity + 63 + 8) / 64 * 8 }

// inlineMax is the longest string or binary that is kept inside its slot.
const inlineMax = 7

// AppendBinaryRow appends the raw binary row (format sections 6.1 to 6.5) made
// of row i of each column, with header byte 0. Its length is a multiple of 8.
func AppendBinaryRow(dst []byte, cols []*Vector, i int) []byte {
	base, width := len(dst), nullPart(len(cols))
	dst = appendZeros(dst, width+8*len(cols))
	for f, v := range cols {
		slot := base + width + 8*f
		if v.IsNull(i) {
			dst[base+(f+8)>>3] |= 1 << ((f + 8) & 7)
			dst = reserveNull(dst, base, slot, v)
		} else if v.store < StoreList {
			dst = appendFlat(dst, base, slot, v, i)
		} else {
			dst = appendNested(dst, base, slot, v, i)
		}
	}
	return dst
}

// appendFlatRow is AppendBinaryRow of columns that are not nested. It does not
// recurse, so that dst may lie on the stack.
func appendFlatRow(dst []byte, cols []*Vector, i int) []byte {
	base, width := len(dst), nullPart(len(cols))
	dst = appendZeros(dst, width+8*len(cols))
	for f, v := range cols {
		slot := base + width + 8*f
		if v.IsNull(i) {
			dst[base+(f+8)>>3] |= 1 << ((f + 8) & 7)
			dst = reserveNull(dst, base, slot, v)
		} else {
			dst = appendFlat(dst, base, slot, v, i)
		}
	}
	return dst
}

// AppendManifestRow appends the form of rows in manifests (format section 6.6):
// the number of fields, big endian, then the raw row.
func AppendManifestRow(dst []byte, cols []*Vector, i int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(cols)))
	return AppendBinaryRow(dst, cols, i)
}

// EmptyManifestRow returns the manifest form of the row without fields: the
// partition of an unpartitioned table, the keys of an append table.
func EmptyManifestRow() []byte { return make([]byte, 12) }

var zeros [64]byte

func appendZeros(dst []byte, n int) []byte {
	for n > len(zeros) {
		dst = append(dst, zeros[:]...)
		n -= len(zeros)
	}
	return append(dst, zeros[:n]...)
}

// pad8 appends zeros until the bytes since base are whole words.
func pad8(dst []byte, base int) []byte {
	return append(dst, zeros[:-(len(dst)-base)&7]...)
}

// putSlot writes the place of a value in the variable part into a slot.
func putSlot(dst []byte, slot, offset, length int) {
	binary.LittleEndian.PutUint64(dst[slot:], uint64(offset)<<32|uint64(uint32(length)))
}

// isWideTimestamp tells whether the type keeps its milliseconds in the variable
// part and the rest in its slot.
func isWideTimestamp(t *Type) bool {
	return (t.Root == Timestamp || t.Root == TimestampLTZ) && t.Precision > 3
}

// reserveNull keeps room for the types that may be updated in place later: a
// NULL of theirs takes as much of the variable part as a value (format section
// 6.3), and hashes depend on it.
func reserveNull(dst []byte, base, slot int, v *Vector) []byte {
	switch {
	case v.store == StoreI128:
		putSlot(dst, slot, len(dst)-base, 0)
		return append(dst, zeros[:16]...)
	case isWideTimestamp(v.Type):
		putSlot(dst, slot, len(dst)-base, 0)
		return append(dst, zeros[:8]...)
	}
	return dst
}

// appendFlat writes the value of row i, which is neither NULL nor nested, into
// the slot of 8 bytes at dst[slot:], and what does not fit behind dst. Offsets
// count from base.
func appendFlat(dst []byte, base, slot int, v *Vector, i int) []byte {
	switch v.store {
	case StoreI32:
		switch x := v.I32[i]; v.Type.Root {
		case Boolean, TinyInt:
			dst[slot] = byte(x)
		case SmallInt:
			binary.LittleEndian.PutUint16(dst[slot:], uint16(x))
		default:
			binary.LittleEndian.PutUint32(dst[slot:], uint32(x))
		}
		return dst
	case StoreF32:
		binary.LittleEndian.PutUint32(dst[slot:], math.Float32bits(v.F32[i]))
		return dst
	case StoreF64:
		binary.LittleEndian.PutUint64(dst[slot:], math.Float64bits(v.F64[i]))
		return dst
	case StoreI64:
		if !isWideTimestamp(v.Type) {
			binary.LittleEndian.PutUint64(dst[slot:], uint64(v.I64[i]))
			return dst
		}
		fallthrough
	case StoreNanos:
		millis, nanos := v.TimestampAt(i)
		putSlot(dst, slot, len(dst)-base, int(nanos))
		return binary.LittleEndian.AppendUint64(dst, uint64(millis))
	case StoreBytes:
		return appendBytesSlot(dst, base, slot, v.Bytes(i))
	case StoreI128:
		at := len(dst)
		dst = v.I128[i].AppendMinimal(dst)
		putSlot(dst, slot, at-base, len(dst)-at)
		return append(dst, zeros[:16-(len(dst)-at)]...)
	}
	return dst
}

// appendNested is appendFlat for constructed values.
func appendNested(dst []byte, base, slot int, v *Vector, i int) []byte {
	at := len(dst)
	dst = appendPayload(dst, v, i)
	putSlot(dst, slot, at-base, len(dst)-at)
	return pad8(dst, at)
}

func appendBytesSlot(dst []byte, base, slot int, b []byte) []byte {
	if len(b) <= inlineMax {
		copy(dst[slot:], b)
		dst[slot+7] = 0x80 | byte(len(b))
		return dst
	}
	at := len(dst)
	putSlot(dst, slot, at-base, len(b))
	return pad8(append(dst, b...), at)
}

// appendPayload appends the bytes of a constructed value.
func appendPayload(dst []byte, v *Vector, i int) []byte {
	switch v.Type.Root {
	case Row:
		return AppendBinaryRow(dst, v.Children, i)
	case Variant:
		value, metadata := v.Children[0].Bytes(i), v.Children[1].Bytes(i)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)))
		return append(append(dst, value...), metadata...)
	}
	from, to := int(v.Offs[i]), int(v.Offs[i+1])
	switch v.Type.Root {
	case Map, Multiset:
		at := len(dst)
		dst = appendZeros(dst, 4)
		dst = appendArray(dst, v.Children[0], from, to)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return appendArray(dst, v.Children[1], from, to)
	case Vec:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(to-from))
		at, width := len(dst), elemWidth(v.Children[0].Type)
		dst = appendZeros(dst, width*(to-from))
		putElems(dst, at, width, v.Children[0], from, to)
		return dst
	}
	return appendArray(dst, v.Children[0], from, to)
}

// elemWidth returns the bytes that an element takes in the fixed part of a
// binary array (format section 6.4).
func elemWidth(t *Type) int {
	switch t.Root {
	case Boolean, TinyInt:
		return 1
	case SmallInt:
		return 2
	case Int, Date, Time, Float:
		return 4
	}
	return 8
}

// arrayHeader returns the bytes before the elements of a binary array.
func arrayHeader(n int) int { return 4 + (n+31)/32*4 }

func appendArray(dst []byte, v *Vector, from, to int) []byte {
	base, n, width := len(dst), to-from, elemWidth(v.Type)
	header := arrayHeader(n)
	dst = appendZeros(dst, (header+n*width+7)&^7)
	binary.LittleEndian.PutUint32(dst[base:], uint32(n))
	if v.Valid != nil {
		for k := range n {
			if v.Valid[from+k] == 0 {
				dst[base+4+k>>3] |= 1 << (k & 7)
			}
		}
	}
	if putElems(dst, base+header, width, v, from, to) {
		return dst
	}
	for k := range n {
		slot := base + header + 8*k
		switch {
		case v.IsNull(from + k):
			dst = reserveNull(dst, base, slot, v)
		case v.store < StoreList:
			dst = appendFlat(dst, base, slot, v, from+k)
		default:
			dst = appendNested(dst, base, slot, v, from+k)
		}
	}
	return dst
}

// putElems writes elements of a fixed width at dst[at:]; NULLs hold zero. It
// returns false for types whose elements are slots.
func putElems(dst []byte, at, width int, v *Vector, from, to int) bool {
	out := dst[at:]
	switch v.store {
	case StoreI32:
		for k, x := range v.I32[from:to] {
			switch width {
			case 1:
				out[k] = byte(x)
			case 2:
				binary.LittleEndian.PutUint16(out[2*k:], uint16(x))
			default:
				binary.LittleEndian.PutUint32(out[4*k:], uint32(x))
			}
		}
	case StoreF32:
		for k, x := range v.F32[from:to] {
			binary.LittleEndian.PutUint32(out[4*k:], math.Float32bits(x))
		}
	case StoreF64:
		for k, x := range v.F64[from:to] {
			binary.LittleEndian.PutUint64(out[8*k:], math.Float64bits(x))
		}
	case StoreI64:
		if isWideTimestamp(v.Type) {
			return false
		}
		for k, x := range v.I64[from:to] {
			binary.LittleEndian.PutUint64(out[8*k:], uint64(x))
		}
	default:
		return false
	}
	return true
}
