package encode

import (
	"google.golang.org/protobuf/encoding/protowire"

	"sluice/paimon/rowdata"
)

// jsonRows is the field of message JsonRows.
const jsonRows = 1

// AppendJSONRows appends rows from..to of the columns as the content of a
// JsonRows message: an object a row.
func AppendJSONRows(dst []byte, e *rowdata.JSONEncoder, cols []*rowdata.Vector, from, to int) []byte {
	size := 2 // of the length of a row, as long as that of the row before
	for i := from; i < to; i++ {
		dst = protowire.AppendTag(dst, jsonRows, protowire.BytesType)
		at := len(dst)
		dst = Reserve(dst, size)
		dst = e.AppendObject(dst, cols, i)
		dst, size = Fill(dst, at, size)
	}
	return dst
}

// Reserve makes room for a length of size bytes, to be filled in when what comes
// after it has been appended: see [Fill].
func Reserve(dst []byte, size int) []byte {
	return append(dst, make([]byte, size)...)
}

// Fill puts the length of all behind at, but for the room of size bytes that
// Reserve made there, into that room. If the length needs more or fewer bytes, it
// moves what is behind. It returns the bytes that the length took.
func Fill(dst []byte, at, size int) ([]byte, int) {
	n := len(dst) - at - size
	need := protowire.SizeVarint(uint64(n))
	if need != size {
		if need > size {
			dst = append(dst, make([]byte, need-size)...)
		}
		copy(dst[at+need:], dst[at+size:at+size+n])
		dst = dst[:at+need+n]
	}
	protowire.AppendVarint(dst[:at], uint64(n))
	return dst, need
}
