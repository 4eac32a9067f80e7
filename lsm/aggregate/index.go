package aggregate

// index finds values by their hash: numbers 0, 1, ... of values, chained where
// hashes are equal. It keeps its memory.
type index struct {
	head map[int32]int32 // newest value of the hash
	next []int32         // by value: the one before of the same hash, or -1
	hash []int32         // by value
}

func (x *index) reset() {
	if x.head == nil {
		x.head = make(map[int32]int32)
	}
	clear(x.head)
	x.next, x.hash = x.next[:0], x.hash[:0]
}

// add gives the next value its hash and returns its number.
func (x *index) add(hash int32) int32 {
	n := int32(len(x.next))
	before, ok := x.head[hash]
	if !ok {
		before = -1
	}
	x.next, x.hash = append(x.next, before), append(x.hash, hash)
	x.head[hash] = n
	return n
}

// find returns the newest value of the hash for which same is true, or -1.
func (x *index) find(hash int32, same func(n int32) bool) int32 {
	n, ok := x.head[hash]
	if !ok {
		return -1
	}
	for n >= 0 && !same(n) {
		n = x.next[n]
	}
	return n
}
