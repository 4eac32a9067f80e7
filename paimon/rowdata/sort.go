package rowdata

import (
	"bytes"
	"cmp"
	"slices"
)

// Sorter orders the records of a batch as a write buffer flushes them: by key,
// then by the user's sequence fields, then by sequence number, then as they
// came (format section 9.3). It reuses its memory and serves one goroutine.
type Sorter struct {
	key  *Comparer
	seq  []int
	desc bool

	prefixes []uint64
	pairs    []sortPair
	spare    []sortPair
	order    []int32
}

// sortPair is a row with the order-preserving prefix of its key: what is moved
// instead of rows.
type sortPair struct {
	prefix uint64
	row    int32
}

// NewSorter returns a sorter by the key and by the sequence fields, given as
// column positions. With desc the greatest sequence value comes first; NULL
// comes first either way.
func NewSorter(key *Comparer, sequence []int, desc bool) *Sorter {
	return &Sorter{key: key, seq: sequence, desc: desc}
}

// Order returns the positions of the records in their order. The slice is valid
// until the next call.
func (s *Sorter) Order(kv *KeyValues) []int32 {
	var exact bool
	s.prefixes, exact = s.key.Prefixes(s.prefixes[:0], &kv.Batch)
	s.pairs = slices.Grow(s.pairs[:0], kv.N)[:kv.N]
	s.spare = slices.Grow(s.spare[:0], kv.N)[:kv.N]
	for i, p := range s.prefixes {
		s.pairs[i] = sortPair{p, int32(i)}
	}
	s.pairs, s.spare = sortPairs(s.pairs, s.spare)
	at, ok := s.after(&kv.Batch, keyCursor{})
	if !ok {
		at.depth = refineMax
	}
	s.settle(kv, s.pairs, s.spare, exact, at)
	s.order = slices.Grow(s.order[:0], kv.N)[:kv.N]
	for i := range s.pairs {
		s.order[i] = s.pairs[i].row
	}
	return s.order
}

// refineMax is how many times ties are broken by the next 8 bytes of the key
// before whole keys are compared.
const refineMax = 16

// keyCursor is a place in the bits of a key: after those that a prefix holds.
type keyCursor struct {
	col   int  // index into the columns of the key
	bit   uint // of that column
	depth int
}

// after returns the place behind the first 64 bits from the place c on. ok is
// false where whole keys must be compared: at columns with NULLs, and at types
// whose prefixes are not simply their first bits.
func (s *Sorter) after(b *Batch, c keyCursor) (next keyCursor, ok bool) {
	room := uint(64)
	for ; c.col < len(s.key.cols); c.col, c.bit = c.col+1, 0 {
		v := b.Cols[s.key.cols[c.col]]
		width, fixed := prefixBits(v)
		switch {
		case v.HasNulls(), !fixed && v.store != StoreBytes:
			return c, false
		case !fixed, width-c.bit > room:
			c.bit += room
			return c, true
		}
		room -= width - c.bit
	}
	return c, true
}

// settle orders the runs of equal prefixes in pairs that are sorted by prefix.
func (s *Sorter) settle(kv *KeyValues, pairs, spare []sortPair, exact bool, at keyCursor) {
	for from := 0; from < len(pairs); {
		to := from + 1
		for to < len(pairs) && pairs[to].prefix == pairs[from].prefix {
			to++
		}
		if to-from > 1 {
			s.settleRun(kv, pairs[from:to], spare[from:to], exact, at)
		}
		from = to
	}
}

func (s *Sorter) settleRun(kv *KeyValues, run, spare []sortPair, exact bool, at keyCursor) {
	switch {
	case exact && len(s.seq) == 0:
		bySeq := func(a, b sortPair) int {
			if c := cmp.Compare(kv.Seq[a.row], kv.Seq[b.row]); c != 0 {
				return c
			}
			return cmp.Compare(a.row, b.row)
		}
		if !slices.IsSortedFunc(run, bySeq) {
			slices.SortFunc(run, bySeq)
		}
	case exact:
		slices.SortFunc(run, func(a, b sortPair) int { return s.compareSeq(kv, a.row, b.row) })
	case at.depth < refineMax && len(run) > 16:
		s.refine(kv, run, spare, at)
	default:
		slices.SortFunc(run, func(a, b sortPair) int {
			if c := s.key.Compare(&kv.Batch, int(a.row), &kv.Batch, int(b.row)); c != 0 {
				return c
			}
			return s.compareSeq(kv, a.row, b.row)
		})
	}
}

// refine orders a run whose keys agree up to a place by the next 8 bytes.
func (s *Sorter) refine(kv *KeyValues, run, spare []sortPair, at keyCursor) {
	if at.col < len(s.key.cols) {
		v := kv.Cols[s.key.cols[at.col]]
		if v.store == StoreBytes && sameBytes(v, run) {
			at.col, at.bit = at.col+1, 0
		}
	}
	if at.col == len(s.key.cols) {
		s.settleRun(kv, run, spare, true, at)
		return
	}
	next, ok := s.after(&kv.Batch, at)
	if !ok {
		at.depth = refineMax
		s.settleRun(kv, run, spare, false, at)
		return
	}
	s.nextPrefix(&kv.Batch, run, at)
	sorted, other := sortPairs(run, spare)
	if &sorted[0] != &run[0] {
		copy(run, sorted)
		other = sorted
	}
	next.depth = at.depth + 1
	s.settle(kv, run, other, next.col == len(s.key.cols), next)
}

// nextPrefix sets the prefixes of a run to the 64 bits of the keys from a place
// on. The columns there have no NULLs.
func (s *Sorter) nextPrefix(b *Batch, run []sortPair, at keyCursor) {
	for i := range run {
		run[i].prefix = 0
	}
	room := uint(64)
	for ; at.col < len(s.key.cols) && room > 0; at.col, at.bit = at.col+1, 0 {
		v := b.Cols[s.key.cols[at.col]]
		orderedBits(v, run, at.bit, 64-room)
		width, fixed := prefixBits(v)
		if !fixed || width-at.bit > room {
			return
		}
		room -= width - at.bit
	}
}

// orderedBits puts the bits from skip on of each value, as integer or bytes that
// order as the values do, at the bits from shift on of the prefixes.
func orderedBits(v *Vector, run []sortPair, skip, shift uint) {
	width, _ := prefixBits(v)
	align := 64 - width
	for i := range run {
		p := &run[i]
		var x uint64
		switch v.store {
		case StoreBytes:
			b := v.Bytes(int(p.row))
			p.prefix |= head8(b[min(int(skip/8), len(b)):]) >> shift
			continue
		case StoreI64:
			x = uint64(v.I64[p.row]) ^ 1<<63
		case StoreF64:
			x = orderF64(v.F64[p.row])
		case StoreF32:
			x = uint64(orderF32(v.F32[p.row]))
		default:
			x = uint64(uint32(v.I32[p.row])) ^ 1<<(width-1)
		}
		p.prefix |= x << align << skip >> shift
	}
}

// sameBytes tells whether all rows of the run have the same string.
func sameBytes(v *Vector, run []sortPair) bool {
	first := v.Bytes(int(run[0].row))
	for _, p := range run[1:] {
		if !bytes.Equal(first, v.Bytes(int(p.row))) {
			return false
		}
	}
	return true
}

// compareSeq orders records of one key.
func (s *Sorter) compareSeq(kv *KeyValues, i, j int32) int {
	if c := CompareSequence(&kv.Batch, int(i), &kv.Batch, int(j), s.seq, s.desc); c != 0 {
		return c
	}
	if c := cmp.Compare(kv.Seq[i], kv.Seq[j]); c != 0 {
		return c
	}
	return cmp.Compare(i, j)
}

// CompareSequence orders two records of one key by the user's sequence fields:
// which of them is the newer one, if they differ. NULL is the oldest in both
// directions.
func CompareSequence(a *Batch, i int, b *Batch, j int, fields []int, desc bool) int {
	for _, col := range fields {
		x, y := a.Cols[col], b.Cols[col]
		c := Compare(x, i, y, j)
		if c == 0 {
			continue
		}
		if desc && !x.IsNull(i) && !y.IsNull(j) {
			return -c
		}
		return c
	}
	return 0
}

// insertionMax is the length up to which insertion beats counting digits.
const insertionMax = 48

// sortPairs sorts by prefix and keeps the order of equal ones. It returns the
// sorted pairs, which lie in either of the two slices, and the other one.
func sortPairs(pairs, spare []sortPair) (sorted, other []sortPair) {
	if len(pairs) <= insertionMax {
		for i := 1; i < len(pairs); i++ {
			p, j := pairs[i], i
			for ; j > 0 && pairs[j-1].prefix > p.prefix; j-- {
				pairs[j] = pairs[j-1]
			}
			pairs[j] = p
		}
		return pairs, spare
	}
	return radixSort(pairs, spare)
}

// radixSort distributes by each byte of the prefix, from the lowest up, and
// leaves out the bytes that all prefixes share.
func radixSort(pairs, spare []sortPair) (sorted, other []sortPair) {
	var counts [8][256]int32
	ordered, last := true, uint64(0)
	for i := range pairs {
		p := pairs[i].prefix
		ordered = ordered && last <= p
		last = p
		for d := range 8 {
			counts[d][uint8(p>>(8*d))]++
		}
	}
	if ordered {
		return pairs, spare
	}
	for d := range 8 {
		count, shift := &counts[d], uint(8*d)
		if int(count[uint8(pairs[0].prefix>>shift)]) == len(pairs) {
			continue
		}
		at := int32(0)
		for b, n := range count {
			count[b] = at
			at += n
		}
		for _, p := range pairs {
			b := uint8(p.prefix >> shift)
			spare[count[b]] = p
			count[b]++
		}
		pairs, spare = spare, pairs
	}
	return pairs, spare
}
