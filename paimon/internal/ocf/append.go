package ocf

import (
	"encoding/binary"
	"math"
)

// AppendLong appends an int or a long.
func AppendLong(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v)<<1^uint64(v>>63))
}

// AppendBytes appends bytes.
func AppendBytes(dst, v []byte) []byte {
	return append(AppendLong(dst, int64(len(v))), v...)
}

// AppendString appends a string.
func AppendString(dst []byte, v string) []byte {
	return append(AppendLong(dst, int64(len(v))), v...)
}

// AppendBool appends a boolean.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendFloat appends a float.
func AppendFloat(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

// AppendDouble appends a double.
func AppendDouble(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}
