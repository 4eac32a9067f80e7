package rowdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// An ordered key is a byte string that compares as the row it was made of, so
// that an index of plain bytes keeps rows in their order. Each value is a mark
// (0 NULL, 1 a value), then big-endian bytes with the sign turned over; text and
// bytes have 0x00 escaped as 00 ff and end with 00 00.

const (
	keyNull  = 0
	keyValue = 1
)

// AppendOrderedKey appends the ordered key of row i of each column. Columns of
// constructed types cannot be keys; it panics on them.
func AppendOrderedKey(dst []byte, cols []*Vector, i int) []byte {
	for _, v := range cols {
		if v.IsNull(i) {
			dst = append(dst, keyNull)
			continue
		}
		dst = AppendOrderedValue(append(dst, keyValue), v, i)
	}
	return dst
}

// AppendOrderedValue appends the bytes of row i of a column, which is not NULL, as
// they stand in an ordered key, without their mark. It panics on constructed types.
func AppendOrderedValue(dst []byte, v *Vector, i int) []byte {
	switch v.store {
	case StoreI32:
		switch x := v.I32[i]; v.Type.Root {
		case Boolean, TinyInt:
			return append(dst, byte(x)^1<<7)
		case SmallInt:
			return binary.BigEndian.AppendUint16(dst, uint16(x)^1<<15)
		default:
			return binary.BigEndian.AppendUint32(dst, uint32(x)^1<<31)
		}
	case StoreI64:
		return binary.BigEndian.AppendUint64(dst, uint64(v.I64[i])^1<<63)
	case StoreF32:
		return binary.BigEndian.AppendUint32(dst, orderF32(v.F32[i]))
	case StoreF64:
		return binary.BigEndian.AppendUint64(dst, orderF64(v.F64[i]))
	case StoreI128:
		x := v.I128[i]
		dst = binary.BigEndian.AppendUint64(dst, uint64(x.Hi)^1<<63)
		return binary.BigEndian.AppendUint64(dst, x.Lo)
	case StoreNanos:
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.I64[i])^1<<63)
		return binary.BigEndian.AppendUint32(dst, uint32(v.I32[i])^1<<31)
	case StoreBytes:
		b := v.Bytes(i)
		for n := bytes.IndexByte(b, 0); n >= 0; n = bytes.IndexByte(b, 0) {
			dst = append(append(dst, b[:n+1]...), 0xff)
			b = b[n+1:]
		}
		return append(append(dst, b...), 0, 0)
	}
	panic(fmt.Sprintf("rowdata: %s cannot be a key", v.Type))
}

var errKeyShort = errors.New("ordered key ends inside a value")

// DecodeOrderedKey appends the values of an ordered key to the vectors, one row
// to each. After an error the vectors hold parts of the row and must be reset.
func DecodeOrderedKey(b []byte, into []*Vector) error {
	for _, v := range into {
		if len(b) == 0 {
			return errKeyShort
		}
		mark := b[0]
		b = b[1:]
		switch mark {
		case keyNull:
			v.AppendNull()
			continue
		case keyValue:
		default:
			return fmt.Errorf("ordered key: mark %#x", mark)
		}
		rest, err := decodeKeyValue(b, v)
		if err != nil {
			return err
		}
		b = rest
	}
	if len(b) > 0 {
		return fmt.Errorf("ordered key: %d bytes behind the last value", len(b))
	}
	return nil
}

func decodeKeyValue(b []byte, v *Vector) (rest []byte, err error) {
	width := 8
	switch v.store {
	case StoreBytes:
		return decodeKeyBytes(b, v)
	case StoreI32, StoreF32:
		width = elemWidth(v.Type)
	case StoreNanos:
		width = 12
	case StoreI128:
		width = 16
	case StoreList, StoreMap, StoreStruct:
		return nil, fmt.Errorf("ordered key: %s cannot be a key", v.Type)
	}
	if len(b) < width {
		return nil, errKeyShort
	}
	switch v.store {
	case StoreI32:
		switch width {
		case 1:
			v.AppendI32(int32(int8(b[0] ^ 1<<7)))
		case 2:
			v.AppendI32(int32(int16(binary.BigEndian.Uint16(b) ^ 1<<15)))
		default:
			v.AppendI32(int32(binary.BigEndian.Uint32(b) ^ 1<<31))
		}
	case StoreF32:
		x := binary.BigEndian.Uint32(b)
		if x>>31 == 1 {
			x ^= 1 << 31
		} else {
			x = ^x
		}
		v.AppendF32(math.Float32frombits(x))
	case StoreF64:
		x := binary.BigEndian.Uint64(b)
		if x>>63 == 1 {
			x ^= 1 << 63
		} else {
			x = ^x
		}
		v.AppendF64(math.Float64frombits(x))
	case StoreI64:
		v.AppendI64(int64(binary.BigEndian.Uint64(b) ^ 1<<63))
	case StoreI128:
		v.AppendI128(Int128{int64(binary.BigEndian.Uint64(b) ^ 1<<63), binary.BigEndian.Uint64(b[8:])})
	case StoreNanos:
		v.I64 = append(v.I64, int64(binary.BigEndian.Uint64(b)^1<<63))
		v.I32 = append(v.I32, int32(binary.BigEndian.Uint32(b[8:])^1<<31))
		v.appended()
	}
	return b[width:], nil
}

func decodeKeyBytes(b []byte, v *Vector) (rest []byte, err error) {
	for i := 0; i+1 < len(b); i++ {
		if b[i] != 0 {
			v.Data = append(v.Data, b[i])
			continue
		}
		switch b[i+1] {
		case 0xff:
			v.Data = append(v.Data, 0)
			i++
		case 0:
			v.closeBytes()
			v.appended()
			return b[i+2:], nil
		default:
			return nil, fmt.Errorf("ordered key: escape 00 %02x", b[i+1])
		}
	}
	return nil, errKeyShort
}
