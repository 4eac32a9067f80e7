package lookup

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"slices"
)

// State says what an index reflects.
type State struct {
	// Snapshot is the last snapshot whose changes are in the index.
	Snapshot int64
	// Files is the [Fingerprint] of the bucket's files above level 0. As long
	// as it equals that of the live files the index is valid, whatever
	// snapshots came in between.
	Files [16]byte
}

// Fingerprint returns a hash of a set of file names; their order does not
// matter.
func Fingerprint(names iter.Seq[string]) [16]byte {
	h := sha256.New()
	var size [4]byte
	for _, name := range slices.Sorted(names) {
		binary.LittleEndian.PutUint32(size[:], uint32(len(name)))
		h.Write(size[:])
		h.Write([]byte(name))
	}
	return [16]byte(h.Sum(nil)[:16])
}

// The state is a record of the database, written together with the changes that
// it stands for: snapshot id, fingerprint, and the generation that it belongs to.
const stateSize = 8 + 16 + 8

func (s State) append(dst []byte, generation uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.Snapshot))
	dst = append(dst, s.Files[:]...)
	return binary.LittleEndian.AppendUint64(dst, generation)
}

func decodeState(b []byte, generation uint64) (s State, ok bool) {
	if len(b) != stateSize || binary.LittleEndian.Uint64(b[24:]) != generation {
		return State{}, false
	}
	s.Snapshot = int64(binary.LittleEndian.Uint64(b))
	copy(s.Files[:], b[8:])
	return s, true
}
