package dv

import "encoding/binary"

// DecodeHashIndex returns the hashes of a HASH file: those of all trimmed
// primary keys that were ever put into the bucket, in no order. The error wraps
// [ErrCorrupt].
func DecodeHashIndex(file []byte) ([]int32, error) {
	if len(file)%4 != 0 {
		return nil, corrupt("hash index of %d bytes is no list of 4-byte hashes", len(file))
	}
	hashes := make([]int32, len(file)/4)
	for i := range hashes {
		hashes[i] = int32(binary.BigEndian.Uint32(file[4*i:]))
	}
	return hashes, nil
}

// AppendHashIndex appends the content of a HASH file.
func AppendHashIndex(dst []byte, hashes []int32) []byte {
	for _, h := range hashes {
		dst = binary.BigEndian.AppendUint32(dst, uint32(h))
	}
	return dst
}
