package orders

import "math/bits"

// octaves are the weights of ranks 1, 2 to 3, 4 to 7 and so on: about those of
// Zipf's law with the exponent 1.1.
var octaves = [...]uint64{
	1000000000, 765169316, 644827986, 571914006, 520357510, 479471001, 444578557, 413515736,
	385223527, 359146643, 334965321, 312472910, 291519183, 271983790, 253763680, 236767007,
	220910086, 206115772, 192312523, 179433793, 167417585, 156206100, 145745431, 135985289,
}

// Upserts picks the keys of the operations on a table that has so many keys: as
// many new ones as existing ones, these uniformly or by Zipf's law.
type Upserts struct {
	random    generator
	preloaded uint64
	added     uint64
	weights   []uint64 // by octave; nil: uniform
	total     uint64   // of the weights
}

// NewUpserts returns the operations on the keys with the indexes 0 to
// preloaded-1.
func NewUpserts(seed, preloaded uint64) *Upserts {
	return &Upserts{random: generator(seed ^ 0x75707365727473), preloaded: preloaded}
}

// NewZipfUpserts returns operations that prefer some keys.
func NewZipfUpserts(seed, preloaded uint64) *Upserts {
	u := NewUpserts(seed, preloaded)
	u.weights = octaves[:min(len(octaves), bits.Len64(preloaded)-1)]
	for _, w := range u.weights {
		u.total += w
	}
	return u
}

// Next returns the index of the next operation's key.
func (u *Upserts) Next() uint64 {
	if u.random.next()&1 == 1 {
		u.added++
		return u.preloaded + u.added - 1
	}
	if u.weights == nil {
		return u.random.bounded(u.preloaded)
	}
	at, octave := u.random.bounded(u.total), 0
	for at >= u.weights[octave] {
		at -= u.weights[octave]
		octave++
	}
	return 1<<octave + u.random.bounded(1<<octave) - 1
}

// Lookups picks the keys of point lookups on so many keys.
type Lookups struct {
	random generator
	keys   uint64
}

// NewLookups returns the lookups of the keys with the indexes 0 to keys-1.
func NewLookups(seed, keys uint64) *Lookups {
	return &Lookups{random: generator(seed ^ 0x6C6F6F6B7570), keys: keys}
}

// Next returns the index of the next key.
func (l *Lookups) Next() uint64 { return l.random.bounded(l.keys) }
