package rowdata

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A VARIANT is two byte strings: metadata, a dictionary of field names, and the
// value, a tree whose nodes begin with a byte that names their type. Both come
// from files, so every read is checked; text is the only form they are shown in.

// variantDepthMax bounds how deep values of a VARIANT may be nested.
const variantDepthMax = 128

// variantTextMax bounds the JSON text that one VARIANT may grow to, in bytes:
// long field names stand in the metadata once, in the text many times.
const variantTextMax = 64 << 20

// The kinds of node in the lowest two bits of the first byte.
const (
	variantPrimitive = iota
	variantShortText
	variantObject
	variantArray
)

// The primitive types in the other six bits.
const (
	variantNull = iota
	variantTrue
	variantFalse
	variantInt8
	variantInt16
	variantInt32
	variantInt64
	variantDouble
	variantDecimal4
	variantDecimal8
	variantDecimal16
	variantDate
	variantTimestamp
	variantTimestampNTZ
	variantFloat
	variantBinary
	variantText
	variantTime
	variantTimestampNanos
	variantTimestampNTZNanos
	variantUUID
)

var errVariant = errors.New("variant is malformed")

// appendVariantJSON appends the JSON text of a VARIANT; a malformed one is null.
func appendVariantJSON(dst []byte, v *Vector, i int) []byte {
	out, err := AppendVariantText(dst, v.Children[0].Bytes(i), v.Children[1].Bytes(i))
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

// AppendVariantText appends the JSON text of a VARIANT.
func AppendVariantText(dst, value, metadata []byte) ([]byte, error) {
	d := variantReader{metadata: metadata, limit: len(dst) + variantTextMax, left: len(value)}
	if err := d.open(); err != nil {
		return dst, err
	}
	return d.append(dst, value, 0)
}

type variantReader struct {
	metadata []byte
	size     int // of an offset in the metadata
	names    int
	limit    int // of the text
	left     int // bytes of the value not seen yet: nodes that share bytes use them up
}

// uint reads an unsigned integer of 1 to 4 bytes; -1 beyond the end.
func variantUint(b []byte, at, size int) int {
	if at < 0 || at+size > len(b) {
		return -1
	}
	x := 0
	for i := range size {
		x |= int(b[at+i]) << (8 * i)
	}
	return x
}

func (d *variantReader) open() error {
	if len(d.metadata) == 0 || d.metadata[0]&15 != 1 {
		return errVariant
	}
	d.size = int(d.metadata[0]>>6) + 1
	if d.names = variantUint(d.metadata, 1, d.size); d.names < 0 {
		return errVariant
	}
	return nil
}

func (d *variantReader) name(id int) ([]byte, error) {
	if id < 0 || id >= d.names {
		return nil, errVariant
	}
	offsets := 1 + d.size
	data := offsets + (d.names+1)*d.size
	from := variantUint(d.metadata, offsets+id*d.size, d.size)
	to := variantUint(d.metadata, offsets+(id+1)*d.size, d.size)
	if from < 0 || to < from || data+to > len(d.metadata) {
		return nil, errVariant
	}
	return d.metadata[data+from : data+to], nil
}

func (d *variantReader) append(dst, b []byte, depth int) ([]byte, error) {
	if len(b) == 0 || depth > variantDepthMax || len(dst) > d.limit {
		return dst, errVariant
	}
	header := int(b[0] >> 2)
	switch b[0] & 3 {
	case variantShortText:
		if d.left -= 1 + header; len(b) < 1+header || d.left < 0 {
			return dst, errVariant
		}
		return AppendJSONString(dst, b[1:1+header]), nil
	case variantObject:
		return d.object(dst, b, header, depth)
	case variantArray:
		return d.array(dst, b, header, depth)
	}
	n, err := variantWidth(b[1:], header)
	if d.left -= 1 + n; err != nil || d.left < 0 {
		return dst, errVariant
	}
	return appendVariantPrimitive(dst, b[1:1+n], header)
}

// count reads the number of children, in 1 or 4 bytes.
func (d *variantReader) count(b []byte, large bool) (n, at int) {
	if large {
		return variantUint(b, 1, 4), 5
	}
	return variantUint(b, 1, 1), 2
}

func (d *variantReader) object(dst, b []byte, header, depth int) ([]byte, error) {
	offSize, idSize := header&3+1, header>>2&3+1
	n, ids := d.count(b, header>>4&1 == 1)
	if n < 0 || n > len(b) {
		return dst, errVariant
	}
	offsets := ids + n*idSize
	data := offsets + (n+1)*offSize
	if d.left -= data; d.left < 0 {
		return dst, errVariant
	}
	dst = append(dst, '{')
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		name, err := d.name(variantUint(b, ids+k*idSize, idSize))
		off := variantUint(b, offsets+k*offSize, offSize)
		if err != nil || off < 0 || data+off > len(b) {
			return dst, errVariant
		}
		dst = append(AppendJSONString(dst, name), ':')
		if dst, err = d.append(dst, b[data+off:], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (d *variantReader) array(dst, b []byte, header, depth int) ([]byte, error) {
	offSize := header&3 + 1
	n, offsets := d.count(b, header>>2&1 == 1)
	if n < 0 || n > len(b) {
		return dst, errVariant
	}
	data := offsets + (n+1)*offSize
	if d.left -= data; d.left < 0 {
		return dst, errVariant
	}
	dst = append(dst, '[')
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		off := variantUint(b, offsets+k*offSize, offSize)
		if off < 0 || data+off > len(b) {
			return dst, errVariant
		}
		var err error
		if dst, err = d.append(dst, b[data+off:], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// variantWidths are the bytes behind the first byte of each primitive type.
var variantWidths = [...]int{
	variantInt8: 1, variantInt16: 2, variantInt32: 4, variantInt64: 8, variantDouble: 8,
	variantDecimal4: 5, variantDecimal8: 9, variantDecimal16: 17, variantDate: 4, variantTimestamp: 8,
	variantTimestampNTZ: 8, variantFloat: 4, variantBinary: 4, variantText: 4, variantTime: 8,
	variantTimestampNanos: 8, variantTimestampNTZNanos: 8, variantUUID: 16,
}

// variantWidth returns how many bytes of b belong to a primitive.
func variantWidth(b []byte, kind int) (int, error) {
	if kind >= len(variantWidths) || len(b) < variantWidths[kind] {
		return 0, errVariant
	}
	n := variantWidths[kind]
	if kind == variantText || kind == variantBinary {
		n += int(binary.LittleEndian.Uint32(b))
	}
	if n > len(b) {
		return 0, errVariant
	}
	return n, nil
}

// appendVariantPrimitive appends a primitive that has all its bytes.
func appendVariantPrimitive(dst, b []byte, kind int) ([]byte, error) {
	switch kind {
	case variantNull:
		return append(dst, "null"...), nil
	case variantTrue:
		return append(dst, "true"...), nil
	case variantFalse:
		return append(dst, "false"...), nil
	case variantInt8, variantInt16, variantInt32, variantInt64:
		return appendUnscaled(dst, variantInt(b, variantWidths[kind]), 0), nil
	case variantDecimal4, variantDecimal8, variantDecimal16:
		if b[0] > 38 {
			return dst, errVariant
		}
		return appendVariantDecimal(dst, variantInt(b[1:], variantWidths[kind]-1), int(b[0])), nil
	case variantDouble:
		return appendJSONFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)), 64), nil
	case variantFloat:
		return appendJSONFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32), nil
	case variantText:
		return AppendJSONString(dst, b[4:]), nil
	case variantBinary:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b[4:]), '"'), nil
	case variantUUID:
		return fmt.Appendf(dst, `"%x-%x-%x-%x-%x"`, b[:4], b[4:6], b[6:8], b[8:10], b[10:16]), nil
	}
	return appendVariantTime(dst, b, kind), nil
}

// variantInt reads a signed integer of up to 16 bytes.
func variantInt(b []byte, width int) Int128 {
	var be [16]byte
	for i := range width {
		be[width-1-i] = b[i]
	}
	return int128Of(be[:width])
}

// appendVariantDecimal appends a decimal without trailing zeros.
func appendVariantDecimal(dst []byte, x Int128, scale int) []byte {
	dst = appendUnscaled(dst, x, scale)
	if scale == 0 {
		return dst
	}
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func appendVariantTime(dst, b []byte, kind int) []byte {
	dst = append(dst, '"')
	if kind == variantDate {
		return append(appendDate(dst, int64(int32(binary.LittleEndian.Uint32(b)))), '"')
	}
	x := int64(binary.LittleEndian.Uint64(b))
	switch kind {
	case variantTime:
		x = floorMod(x, millisPerDay*1000)
		dst = appendFraction(appendClock(dst, int(x/1e6)), x%1e6*1000, 6)
		return append(dst, '"')
	case variantTimestamp, variantTimestampNTZ:
		dst = appendStamp(dst, floorDiv(x, 1000), int32(floorMod(x, 1000))*1000, ' ', 6, false)
	default:
		dst = appendStamp(dst, floorDiv(x, 1e6), int32(floorMod(x, 1e6)), ' ', 9, false)
	}
	if kind == variantTimestamp || kind == variantTimestampNanos {
		dst = append(dst, "+00:00"...)
	}
	return append(dst, '"')
}
