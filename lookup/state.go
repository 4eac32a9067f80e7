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

// A state is written as snapshot id, fingerprint, and the generation that it
// belongs to.
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

// meta is what a database says about itself, written together with the pages that
// it is about.
type meta struct {
	state   State
	ordinal uint64 // of the last commit that is in the pages
	from    uint64 // address of the log from where later commits are restored
	pages   uint64
	keys    uint64
	extents []extent
}

const (
	metaHead    = stateSize + 8*4
	extentBytes = 4 + 8 + 8
)

func (m *meta) append(dst []byte, generation uint64) []byte {
	dst = m.state.append(dst, generation)
	for _, x := range []uint64{m.ordinal, m.from, m.pages, m.keys} {
		dst = binary.LittleEndian.AppendUint64(dst, x)
	}
	for _, e := range m.extents {
		dst = binary.LittleEndian.AppendUint32(dst, e.id)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.size))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.live))
	}
	return dst
}

func decodeMeta(b []byte, generation uint64) (m meta, ok bool) {
	if len(b) < metaHead || (len(b)-metaHead)%extentBytes != 0 {
		return meta{}, false
	}
	if m.state, ok = decodeState(b[:stateSize], generation); !ok {
		return meta{}, false
	}
	for i, x := range []*uint64{&m.ordinal, &m.from, &m.pages, &m.keys} {
		*x = binary.LittleEndian.Uint64(b[stateSize+8*i:])
	}
	for b = b[metaHead:]; len(b) > 0; b = b[extentBytes:] {
		e := extent{binary.LittleEndian.Uint32(b), int64(binary.LittleEndian.Uint64(b[4:])), int64(binary.LittleEndian.Uint64(b[12:]))}
		if n := len(m.extents); n > 0 && m.extents[n-1].id >= e.id || e.size < 0 {
			return meta{}, false
		}
		m.extents = append(m.extents, e)
	}
	return m, true
}
