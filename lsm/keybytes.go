package lsm

import (
	"encoding/binary"

	"sluice/paimon/rowdata"
)

// keyBytes sorts entries whose prefixes do not tell their keys apart, such as
// texts that begin alike: by the bytes of the whole keys, eight at a time behind
// those that all have in common. It is scratch memory.
type keyBytes struct {
	data []byte
	ends []uint32
	cols []*rowdata.Vector
	tie  []entry // entries as they were; those being sorted refer to them
}

// sort puts entries of equal prefix into merge order. Their prefixes are
// overwritten; entries of equal keys have equal ones afterwards. spare is scratch
// of the same length.
func (k *keyBytes) sort(tie, spare []entry, chunks []*rowdata.KeyValues, o *ordering) {
	k.collect(tie, chunks, o)
	k.tie = append(k.tie[:0], tie...)
	for i := range tie {
		tie[i].ref = ref(i)
	}
	k.sortFrom(tie, spare, 0)
	for i, e := range tie {
		tie[i].ref = k.tie[e.ref].ref
	}
	if len(o.order.Fields) > 0 {
		// Entries of one key stand together now, those of a few others perhaps
		// among them: few enough to compare.
		eachTie(tie, func(t []entry) { sortTie(t, chunks, o, false) })
	}
}

// collect writes down the key of each entry.
func (k *keyBytes) collect(tie []entry, chunks []*rowdata.KeyValues, o *ordering) {
	k.data, k.ends = k.data[:0], append(k.ends[:0], 0)
	for _, e := range tie {
		kv := chunks[e.ref.chunk()]
		k.cols = k.cols[:0]
		for _, c := range o.key.Cols() {
			k.cols = append(k.cols, kv.Cols[c])
		}
		k.data = rowdata.AppendOrderedKey(k.data, k.cols, int(e.ref.row()))
		k.ends = append(k.ends, uint32(len(k.data)))
	}
}

func (k *keyBytes) key(r ref) []byte { return k.data[k.ends[r]:k.ends[r+1]] }

// sortFrom sorts entries whose keys have their first at bytes in common.
func (k *keyBytes) sortFrom(entries, spare []entry, at int) {
	for {
		at = k.common(entries, at)
		for i := range entries {
			entries[i].prefix = window(k.key(entries[i].ref), at)
		}
		byPrefix(entries, spare)
		at += 8
		if first := entries[0]; first.prefix != entries[len(entries)-1].prefix {
			break
		}
		if len(k.key(entries[0].ref)) <= at {
			return // no key is the beginning of another, so all are equal
		}
	}
	eachTie(entries, func(t []entry) {
		if len(k.key(t[0].ref)) > at {
			k.sortFrom(t, spare[:len(t)], at)
		}
	})
}

// common returns how many bytes all keys begin with, which are at least at.
func (k *keyBytes) common(entries []entry, at int) int {
	first := k.key(entries[0].ref)
	end := len(first)
	for _, e := range entries[1:] {
		other := k.key(e.ref)
		end = min(end, len(other))
		for i := at; i < end; i++ {
			if first[i] != other[i] {
				end = i
				break
			}
		}
	}
	return max(end, at)
}

// window returns 8 bytes of a key as an integer of the same order, with zeros
// behind its end.
func window(key []byte, at int) uint64 {
	if at+8 <= len(key) {
		return binary.BigEndian.Uint64(key[at:])
	}
	x := uint64(0)
	for i := at; i < len(key); i++ {
		x |= uint64(key[i]) << (56 - 8*(i-at))
	}
	return x
}
