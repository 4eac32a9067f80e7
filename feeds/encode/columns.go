package encode

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/paimon/rowdata"
)

// Fields of message Columns and Column.
const (
	columnsColumns = 1

	columnValid    = 1
	columnFixed    = 2
	columnNanos    = 3
	columnOffsets  = 4
	columnData     = 5
	columnChildren = 6
)

// AppendColumns appends rows from..to of the columns as the content of a Columns
// message.
func AppendColumns(dst []byte, cols []*rowdata.Vector, from, to int) []byte {
	for _, v := range cols {
		dst = appendMessage(dst, columnsColumns, v, from, to)
	}
	return dst
}

// ColumnsSize returns how many bytes [AppendColumns] appends.
func ColumnsSize(cols []*rowdata.Vector, from, to int) int {
	size := 0
	for _, v := range cols {
		size += fieldSize(columnsColumns, columnSize(v, from, to))
	}
	return size
}

func appendMessage(dst []byte, field protowire.Number, v *rowdata.Vector, from, to int) []byte {
	dst = appendHead(dst, field, columnSize(v, from, to))
	return appendColumn(dst, v, from, to)
}

// appendHead appends the tag and the length of a field of bytes.
func appendHead(dst []byte, field protowire.Number, size int) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(size))
}

// fieldSize returns the size of a field of bytes, its tag and length included.
func fieldSize(field protowire.Number, size int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(size)
}

// width returns the bytes of a value of fixed width, 0 if the type has none.
func width(t *rowdata.Type, s rowdata.Storage) int {
	switch s {
	case rowdata.StoreI32:
		switch t.Root {
		case rowdata.Boolean, rowdata.TinyInt:
			return 1
		case rowdata.SmallInt:
			return 2
		}
		return 4
	case rowdata.StoreF32:
		return 4
	case rowdata.StoreI64, rowdata.StoreF64, rowdata.StoreNanos:
		return 8
	case rowdata.StoreI128:
		return 16
	}
	return 0
}

// hasNulls tells whether any of rows from..to is NULL.
func hasNulls(v *rowdata.Vector, from, to int) bool {
	return v.Valid != nil && bytes.IndexByte(v.Valid[from:to], 0) >= 0
}

func columnSize(v *rowdata.Vector, from, to int) int {
	n, size := to-from, 0
	if n == 0 {
		return emptySize(v)
	}
	if hasNulls(v, from, to) {
		size += fieldSize(columnValid, (n+7)/8)
	}
	s := v.Storage()
	if w := width(v.Type, s); w > 0 {
		size += fieldSize(columnFixed, n*w)
	}
	switch s {
	case rowdata.StoreNanos:
		size += fieldSize(columnNanos, 4*n)
	case rowdata.StoreBytes:
		size += fieldSize(columnOffsets, 4*(n+1))
		if data := int(v.Offs[to] - v.Offs[from]); data > 0 {
			size += fieldSize(columnData, data)
		}
	case rowdata.StoreList, rowdata.StoreMap:
		size += fieldSize(columnOffsets, 4*(n+1))
		for _, c := range v.Children {
			size += fieldSize(columnChildren, columnSize(c, int(v.Offs[from]), int(v.Offs[to])))
		}
	case rowdata.StoreStruct:
		for _, c := range v.Children {
			size += fieldSize(columnChildren, columnSize(c, from, to))
		}
	}
	return size
}

// emptySize is columnSize of no rows: only children, empty too.
func emptySize(v *rowdata.Vector) int {
	size := 0
	for _, c := range v.Children {
		size += fieldSize(columnChildren, emptySize(c))
	}
	return size
}

func appendColumn(dst []byte, v *rowdata.Vector, from, to int) []byte {
	n := to - from
	if n == 0 {
		for _, c := range v.Children {
			dst = appendMessage(dst, columnChildren, c, 0, 0)
		}
		return dst
	}
	if hasNulls(v, from, to) {
		dst = appendHead(dst, columnValid, (n+7)/8)
		dst = appendBitmap(dst, v.Valid[from:to])
	}
	s := v.Storage()
	if w := width(v.Type, s); w > 0 {
		dst = appendHead(dst, columnFixed, n*w)
		dst = appendFixed(dst, v, s, w, from, to)
	}
	switch s {
	case rowdata.StoreNanos:
		dst = appendHead(dst, columnNanos, 4*n)
		dst = appendLE(dst, v.I32[from:to])
	case rowdata.StoreBytes:
		dst = appendOffsets(dst, v.Offs[from:to+1])
		if data := v.Data[v.Offs[from]:v.Offs[to]]; len(data) > 0 {
			dst = append(appendHead(dst, columnData, len(data)), data...)
		}
	case rowdata.StoreList, rowdata.StoreMap:
		dst = appendOffsets(dst, v.Offs[from:to+1])
		for _, c := range v.Children {
			dst = appendMessage(dst, columnChildren, c, int(v.Offs[from]), int(v.Offs[to]))
		}
	case rowdata.StoreStruct:
		for _, c := range v.Children {
			dst = appendMessage(dst, columnChildren, c, from, to)
		}
	}
	return dst
}

func appendFixed(dst []byte, v *rowdata.Vector, s rowdata.Storage, w, from, to int) []byte {
	switch {
	case w == 1:
		for _, x := range v.I32[from:to] {
			dst = append(dst, byte(x))
		}
	case w == 2:
		for _, x := range v.I32[from:to] {
			dst = append(dst, byte(x), byte(x>>8))
		}
	case s == rowdata.StoreI32:
		dst = appendLE(dst, v.I32[from:to])
	case s == rowdata.StoreF32:
		dst = appendLE(dst, v.F32[from:to])
	case s == rowdata.StoreF64:
		dst = appendLE(dst, v.F64[from:to])
	case s == rowdata.StoreI128:
		for _, x := range v.I128[from:to] {
			dst = binary.LittleEndian.AppendUint64(dst, x.Lo)
			dst = binary.LittleEndian.AppendUint64(dst, uint64(x.Hi))
		}
	default:
		dst = appendLE(dst, v.I64[from:to])
	}
	return dst
}

// appendOffsets appends offsets so that the first is 0.
func appendOffsets(dst []byte, offs []uint32) []byte {
	dst = appendHead(dst, columnOffsets, 4*len(offs))
	if offs[0] == 0 {
		return appendLE(dst, offs)
	}
	at := len(dst)
	dst = append(dst, make([]byte, 4*len(offs))...)
	out := dst[at:]
	for i, o := range offs {
		binary.LittleEndian.PutUint32(out[4*i:], o-offs[0])
	}
	return dst
}

// appendBitmap appends a bit for each byte of 0 or 1, lowest bit first.
func appendBitmap(dst, valid []byte) []byte {
	for len(valid) >= 8 {
		// The multiplication gathers the lowest bits of 8 bytes in the top byte.
		x := binary.LittleEndian.Uint64(valid)
		dst = append(dst, byte(x*0x0102040810204080>>56))
		valid = valid[8:]
	}
	if len(valid) > 0 {
		var last byte
		for i, b := range valid {
			last |= b << i
		}
		dst = append(dst, last)
	}
	return dst
}

// appendLE appends numbers in little-endian order.
func appendLE[T int32 | uint32 | int64 | float32 | float64](dst []byte, x []T) []byte {
	if len(x) == 0 {
		return dst
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
	at := len(dst)
	dst = append(dst, raw...)
	if !littleEndian() {
		swap(dst[at:], int(unsafe.Sizeof(x[0])))
	}
	return dst
}

// littleEndian tells the order of bytes of this machine.
func littleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// swap turns the order of bytes of each number around.
func swap(b []byte, w int) {
	for ; len(b) >= w; b = b[w:] {
		for i, j := 0, w-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}
