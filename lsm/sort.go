package lsm

import (
	"cmp"
	"slices"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// entry is a row of the buffer with the first 8 bytes of its key.
type entry struct {
	prefix  uint64
	ref     ref
	dropped bool // folded into another record of its key
}

// ordering is the order of a table's records.
type ordering struct {
	key   *rowdata.Comparer
	order merge.Order
}

// sorter sorts buffers. It keeps its memory, which all writers of a pool share.
type sorter struct {
	entries, spare []entry
	prefixes       []uint64
	keys           keyBytes
}

// sort returns the rows of the chunks in merge order, valid until the next call,
// and whether equal prefixes mean equal keys.
func (s *sorter) sort(chunks []*rowdata.KeyValues, o *ordering) (sorted []entry, exact bool) {
	s.entries, exact = s.entries[:0], true
	for c, kv := range chunks {
		var ok bool
		s.prefixes, ok = o.key.Prefixes(s.prefixes[:0], &kv.Batch)
		exact = exact && ok
		for i, p := range s.prefixes {
			s.entries = append(s.entries, entry{prefix: p, ref: refOf(c, i)})
		}
	}
	s.spare = slices.Grow(s.spare[:0], len(s.entries))[:len(s.entries)]
	byPrefix(s.entries, s.spare)
	if exact && len(o.order.Fields) == 0 {
		return s.entries, exact
	}
	eachTie(s.entries, func(tie []entry) {
		if !exact && len(tie) >= radixMin {
			s.keys.sort(tie, s.spare[:len(tie)], chunks, o)
			return
		}
		sortTie(tie, chunks, o, exact)
	})
	return s.entries, exact
}

// radixMin is the number of entries from which counting digits is worth it.
const radixMin = 512

const (
	digitBits = 11
	digits    = (64 + digitBits - 1) / digitBits
	digitMask = 1<<digitBits - 1
)

// byPrefix sorts entries by prefix; those of equal prefix stay in the order of
// their refs, in which they come. spare is scratch of the same length.
func byPrefix(entries, spare []entry) {
	if len(entries) < radixMin {
		slices.SortFunc(entries, func(a, b entry) int {
			if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
				return c
			}
			return cmp.Compare(a.ref, b.ref)
		})
		return
	}
	var counts [digits][1 << digitBits]uint32
	ascending, last := true, uint64(0)
	for _, e := range entries {
		ascending = ascending && last <= e.prefix
		last = e.prefix
		for d := range digits {
			counts[d][e.prefix>>(d*digitBits)&digitMask]++
		}
	}
	if ascending {
		return
	}
	from, to := entries, spare
	for d := range digits {
		count, shift := &counts[d], d*digitBits
		if count[from[0].prefix>>shift&digitMask] == uint32(len(from)) {
			continue // all have the same digit
		}
		sum := uint32(0)
		for i, n := range count {
			count[i] = sum
			sum += n
		}
		for _, e := range from {
			at := &count[e.prefix>>shift&digitMask]
			to[*at] = e
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
}

// eachTie calls fn for each run of two or more entries of equal prefix.
func eachTie(entries []entry, fn func([]entry)) {
	for from := 0; from < len(entries); {
		to := from + 1
		for to < len(entries) && entries[to].prefix == entries[from].prefix {
			to++
		}
		if to-from > 1 {
			fn(entries[from:to])
		}
		from = to
	}
}

// sortTie puts entries of equal prefix into order by the rest of the key, the
// sequence fields and the order of arrival.
func sortTie(tie []entry, chunks []*rowdata.KeyValues, o *ordering, exact bool) {
	slices.SortFunc(tie, func(x, y entry) int {
		a, b := &chunks[x.ref.chunk()].Batch, &chunks[y.ref.chunk()].Batch
		i, j := int(x.ref.row()), int(y.ref.row())
		if !exact {
			if c := o.key.Compare(a, i, b, j); c != 0 {
				return c
			}
		}
		if c := o.order.CompareFields(a, i, b, j); c != 0 {
			return c
		}
		return cmp.Compare(x.ref, y.ref)
	})
}

// fold marks the records that the engine's function does not leave standing and
// returns how many are left. The entries are in merge order; a lone record stays
// as it is.
func fold(entries []entry, chunks []*rowdata.KeyValues, o *ordering, exact bool, engine merge.Engine) (left int, err error) {
	for from := 0; from < len(entries); {
		to := keyEnd(entries, from, chunks, o, exact)
		if to-from == 1 {
			left++
			from = to
			continue
		}
		stands := -1
		for i := from; i < to; i++ {
			entries[i].dropped = true
			r := entries[i].ref
			kind := chunks[r.chunk()].Kinds[r.row()]
			switch engine.Keep.Verdict(stands >= 0, kind) {
			case merge.Take:
				stands = i
			case merge.Refuse:
				return 0, merge.AtKey(engine.Refusal(kind), &chunks[r.chunk()].Batch, o.key.Cols(), int(r.row()))
			}
		}
		if stands >= 0 {
			entries[stands].dropped = false
			left++
		}
		from = to
	}
	return left, nil
}

// keyEnd returns one past the last entry of the key that entry from has.
func keyEnd(entries []entry, from int, chunks []*rowdata.KeyValues, o *ordering, exact bool) int {
	first, to := entries[from], from+1
	for to < len(entries) && first.prefix == entries[to].prefix && (exact || sameKey(first.ref, entries[to].ref, chunks, o)) {
		to++
	}
	return to
}

func sameKey(x, y ref, chunks []*rowdata.KeyValues, o *ordering) bool {
	return o.key.Compare(&chunks[x.chunk()].Batch, int(x.row()), &chunks[y.chunk()].Batch, int(y.row())) == 0
}
