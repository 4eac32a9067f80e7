package predicate

import (
	"bytes"
	"slices"
	"sort"

	"sluice/paimon/rowdata"
)

// valueSet is the list of an IN.
type valueSet struct {
	sorted *rowdata.Vector // ascending, without repetition
	ints   map[int64]struct{}
	texts  map[string]struct{}
}

// scanMax is the length of lists that are faster compared one by one.
const scanMax = 4

func newValueSet(values *rowdata.Vector) *valueSet {
	order := make([]int32, values.Len())
	for i := range order {
		order[i] = int32(i)
	}
	compare := func(i, j int32) int { return compareValue(values, int(i), values, int(j)) }
	slices.SortFunc(order, compare)
	order = slices.CompactFunc(order, func(i, j int32) bool { return compare(i, j) == 0 })
	s := &valueSet{sorted: rowdata.NewVector(values.Type, len(order))}
	s.sorted.Gather(values, order)
	if len(order) <= scanMax {
		return s
	}
	switch values.Storage() {
	case rowdata.StoreI32:
		s.ints = map[int64]struct{}{}
		for _, x := range s.sorted.I32 {
			s.ints[int64(x)] = struct{}{}
		}
	case rowdata.StoreI64:
		s.ints = map[int64]struct{}{}
		for _, x := range s.sorted.I64 {
			s.ints[x] = struct{}{}
		}
	case rowdata.StoreBytes:
		s.texts = map[string]struct{}{}
		for i := range s.sorted.Len() {
			s.texts[string(s.sorted.Bytes(i))] = struct{}{}
		}
	}
	return s
}

// contains sets out to whether each value is in the list. The places of NULLs
// get any truth.
func (s *valueSet) contains(out []truth, v *rowdata.Vector) {
	switch {
	case s.texts != nil:
		for i := range out {
			_, ok := s.texts[string(v.Bytes(i))]
			out[i] = truthOf(ok)
		}
	case s.ints != nil && v.Storage() == rowdata.StoreI64:
		for i, x := range v.I64[:len(out)] {
			_, ok := s.ints[x]
			out[i] = truthOf(ok)
		}
	case s.ints != nil:
		for i, x := range v.I32[:len(out)] {
			_, ok := s.ints[int64(x)]
			out[i] = truthOf(ok)
		}
	case v.Storage() == rowdata.StoreBytes:
		for i := range out {
			out[i] = truthOf(s.hasBytes(v.Bytes(i)))
		}
	case v.Storage() == rowdata.StoreI64:
		containsFew(out, v.I64, s.sorted.I64)
	case v.Storage() == rowdata.StoreI32:
		containsFew(out, v.I32, s.sorted.I32)
	default: // floats, wide decimals, nanoseconds
		for i := range out {
			out[i] = truthOf(!v.IsNull(i) && s.has(v, i))
		}
	}
}

// hasBytes is for short lists.
func (s *valueSet) hasBytes(b []byte) bool {
	for k := range s.sorted.Len() {
		if bytes.Equal(b, s.sorted.Bytes(k)) {
			return true
		}
	}
	return false
}

// containsFew is for short lists.
func containsFew[T int32 | int64](out []truth, vals, list []T) {
	for i, x := range vals[:len(out)] {
		out[i] = truthOf(slices.Contains(list, x))
	}
}

func (s *valueSet) has(v *rowdata.Vector, i int) bool {
	n := s.sorted.Len()
	k := s.search(v, i)
	return k < n && compareValue(s.sorted, k, v, i) == 0
}

// search returns the position of the first value of the list that is not less.
func (s *valueSet) search(v *rowdata.Vector, i int) int {
	return sort.Search(s.sorted.Len(), func(k int) bool { return compareValue(s.sorted, k, v, i) >= 0 })
}
