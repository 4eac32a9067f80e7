package orders

// Upserts picks the keys of the operations on a table that has so many keys: as
// many new ones as existing ones, these uniformly.
type Upserts struct {
	random    generator
	preloaded uint64
	added     uint64
}

// NewUpserts returns the operations on the keys with the indexes 0 to
// preloaded-1.
func NewUpserts(seed, preloaded uint64) *Upserts {
	return &Upserts{random: generator(seed ^ 0x75707365727473), preloaded: preloaded}
}

// Next returns the index of the next operation's key.
func (u *Upserts) Next() uint64 {
	if u.random.next()&1 == 1 {
		u.added++
		return u.preloaded + u.added - 1
	}
	return u.random.bounded(u.preloaded)
}
