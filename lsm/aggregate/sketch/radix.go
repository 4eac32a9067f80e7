package sketch

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// keyBytes is the length of the keys of a bitmap of 64 bits: all but the last 16
// bits of a value, the most significant byte first.
const keyBytes = 6

type radixKey [keyBytes]byte

// The kinds of nodes, by how many children they have room for.
const (
	node4 = iota
	node16
	node48
	node256
	leaf
)

var nodeRoom = [...]int{4, 16, 48, 256}

// node is a node of the radix tree in which Java keeps the keys of a bitmap.
type node struct {
	kind      byte
	prefix    []byte
	keys      []byte  // of the children, ascending
	slots     []byte  // node48: the place of each child, by order of arrival
	children  []*node // by key
	key       radixKey
	container int // of a leaf
}

// insert puts a key that is not there into the tree below n and returns its root.
func (n *node) insert(key radixKey, depth, container int) *node {
	fresh := &node{kind: leaf, key: key, container: container}
	if n == nil {
		return fresh
	}
	if n.kind == leaf {
		common := 0
		for n.key[depth+common] == key[depth+common] {
			common++
		}
		split := &node{kind: node4, prefix: slices.Clone(key[depth : depth+common])}
		split.add(n.key[depth+common], n)
		split.add(key[depth+common], fresh)
		return split
	}
	for i, b := range n.prefix {
		if b == key[depth+i] {
			continue
		}
		split := &node{kind: node4, prefix: slices.Clone(n.prefix[:i])}
		n.prefix = slices.Clone(n.prefix[i+1:])
		split.add(b, n)
		split.add(key[depth+i], fresh)
		return split
	}
	depth += len(n.prefix)
	if at, ok := slices.BinarySearch(n.keys, key[depth]); ok {
		n.children[at] = n.children[at].insert(key, depth+1, container)
	} else {
		n.add(key[depth], fresh)
	}
	return n
}

// add adds a child, in a larger kind of node if there is no room.
func (n *node) add(key byte, child *node) {
	if len(n.keys) == nodeRoom[n.kind] {
		n.kind++
		n.slots = nil
		if n.kind == node48 {
			for i := range n.keys {
				n.slots = append(n.slots, byte(i))
			}
		}
	}
	at, _ := slices.BinarySearch(n.keys, key)
	if n.kind == node48 {
		n.slots = slices.Insert(n.slots, at, byte(len(n.keys)))
	}
	n.keys, n.children = slices.Insert(n.keys, at, key), slices.Insert(n.children, at, child)
}

// find returns the container of a key, or -1.
func (n *node) find(key radixKey, depth int) int {
	for n != nil && n.kind != leaf {
		depth += len(n.prefix)
		at, ok := slices.BinarySearch(n.keys, key[min(depth, keyBytes-1)])
		if !ok {
			return -1
		}
		n, depth = n.children[at], depth+1
	}
	if n == nil || n.key != key {
		return -1
	}
	return n.container
}

// each calls fn for the leaves in the order of their keys.
func (n *node) each(fn func(key radixKey, container int)) {
	if n == nil {
		return
	}
	if n.kind == leaf {
		fn(n.key, n.container)
		return
	}
	for _, c := range n.children {
		c.each(fn)
	}
}

// append appends the node and those below it.
func (n *node) append(dst []byte) []byte {
	dst = append(dst, n.kind)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(n.keys)))
	dst = append(dst, byte(len(n.prefix)))
	dst = append(dst, n.prefix...)
	switch n.kind {
	case leaf:
		dst = append(dst, n.key[:]...)
		return binary.LittleEndian.AppendUint64(dst, uint64(n.container))
	case node4:
		var keys [4]byte
		copy(keys[:], n.keys)
		dst = binary.LittleEndian.AppendUint32(dst, binary.BigEndian.Uint32(keys[:]))
	case node16:
		var keys [16]byte
		copy(keys[:], n.keys)
		dst = appendWords(dst, keys[:])
	case node48:
		var places [256]byte
		for i := range places {
			places[i] = 0xff
		}
		for i, k := range n.keys {
			places[k] = n.slots[i]
		}
		dst = appendWords(dst, places[:])
	case node256:
		var mask [4]uint64
		for _, k := range n.keys {
			mask[k>>6] |= 1 << (k & 63)
		}
		for _, m := range mask {
			dst = binary.LittleEndian.AppendUint64(dst, m)
		}
	}
	for _, c := range n.children {
		dst = c.append(dst)
	}
	return dst
}

// appendWords appends words of 8 bytes, which are packed from the most significant
// byte on and written from the least.
func appendWords(dst, b []byte) []byte {
	for ; len(b) > 0; b = b[8:] {
		dst = binary.LittleEndian.AppendUint64(dst, binary.BigEndian.Uint64(b))
	}
	return dst
}

// readNode reads a node at a depth of the keys and those below it.
func (r *reader) readNode(depth int) *node {
	n := &node{kind: r.byte()}
	count := int(r.uint16())
	n.prefix = slices.Clone(r.take(int(r.byte())))
	if n.kind == leaf {
		copy(n.key[:], r.take(keyBytes))
		n.container = int(uint32(r.uint64()))
		return n
	}
	depth += len(n.prefix)
	if n.kind > leaf || depth >= keyBytes || count > nodeRoom[n.kind%leaf] {
		r.failed = true
		return n
	}
	switch n.kind {
	case node4:
		n.keys = binary.BigEndian.AppendUint32(nil, r.uint32())[:count]
	case node16:
		n.keys = r.words(2)[:count]
	case node48:
		for k, slot := range r.words(32) {
			if slot != 0xff {
				n.keys, n.slots = append(n.keys, byte(k)), append(n.slots, slot)
			}
		}
	case node256:
		for w := range 4 {
			for m := r.uint64(); m != 0; m &= m - 1 {
				n.keys = append(n.keys, byte(w<<6+bits.TrailingZeros64(m)))
			}
		}
	}
	if len(n.keys) != count || !slices.IsSorted(n.keys) {
		r.failed = true
	}
	for range n.keys {
		if r.failed {
			return n
		}
		n.children = append(n.children, r.readNode(depth+1))
	}
	return n
}
