package aggregate

import "sluice/paimon/rowdata"

// element is an element of a list: row at of a vector.
type element struct {
	in *rowdata.Vector
	at int
}

func (e element) equal(o element) bool { return rowdata.Equal(e.in, e.at, o.in, o.at) }

// collect appends lists, or joins them as sets.
type collect struct {
	distinct bool
	hashed   bool
	out      *rowdata.Vector // the next accumulator
	elements []element
	order    []int32
	index    index
}

func newCollect(s Spec) (*collect, error) {
	if s.Type.Root != rowdata.Array {
		return nil, wrongType(s, "ARRAY")
	}
	return &collect{distinct: s.Distinct, hashed: hashed(s.Type.Elem), out: rowdata.NewVector(s.Type, 1)}, nil
}

func (*collect) Reset() {}

func (c *collect) Add(acc, in *rowdata.Vector, i int) error {
	switch {
	case c.distinct:
		if in.IsNull(i) && acc.IsNull(0) {
			return nil
		}
		c.union(acc, in, i)
	case passNull(acc, in, i):
	default:
		to := acc.Children[0]
		to.AppendRange(in.Children[0], int(in.Offs[i]), int(in.Offs[i+1]))
		acc.Offs[1] = uint32(to.Len())
	}
	return nil
}

// AddOlder does not ask for the order.
func (c *collect) AddOlder(acc, in *rowdata.Vector, i int) error { return c.Add(acc, in, i) }

// union makes acc the set of the elements of both.
func (c *collect) union(acc, in *rowdata.Vector, i int) {
	c.elements, c.order = c.elements[:0], c.order[:0]
	c.index.reset()
	c.collect(acc, 0)
	c.collect(in, i)
	if c.hashed {
		inTableOrder(c.order, c.index.hash, len(c.order))
	}
	c.out.Truncate(0)
	for _, n := range c.order {
		e := c.elements[n]
		c.out.Children[0].AppendFrom(e.in, e.at)
	}
	c.out.CloseList()
	*acc, *c.out = *c.out, *acc
}

// collect adds the elements of a list that are not there yet.
func (c *collect) collect(list *rowdata.Vector, i int) {
	if list.IsNull(i) {
		return
	}
	for at := int(list.Offs[i]); at < int(list.Offs[i+1]); at++ {
		e := element{list.Children[0], at}
		h := c.hashOf(e)
		if c.index.find(h, func(n int32) bool { return c.elements[n].equal(e) }) < 0 {
			c.order = append(c.order, c.index.add(h))
			c.elements = append(c.elements, e)
		}
	}
}

func (c *collect) hashOf(e element) int32 {
	if c.hashed {
		return valueHash(e.in, e.at)
	}
	return structuralHash(e.in, e.at)
}

// Retract removes an equal element for each that is retracted.
func (c *collect) Retract(acc, in *rowdata.Vector, i int) error {
	if acc.IsNull(0) || in.IsNull(i) || in.Offs[i] == in.Offs[i+1] {
		return nil
	}
	c.elements = c.elements[:0]
	c.index.reset()
	for at := int(in.Offs[i]); at < int(in.Offs[i+1]); at++ {
		e := element{in.Children[0], at}
		c.index.add(c.hashOf(e))
		c.elements = append(c.elements, e)
	}
	c.out.Truncate(0)
	from := acc.Children[0]
	for at := range from.Len() {
		e := element{from, at}
		n := c.index.find(c.hashOf(e), func(n int32) bool { return c.elements[n].in != nil && c.elements[n].equal(e) })
		if n >= 0 {
			c.elements[n].in = nil // used up
			continue
		}
		c.out.Children[0].AppendFrom(from, at)
	}
	c.out.CloseList()
	*acc, *c.out = *c.out, *acc
	return nil
}

// structuralHash is equal for equal values of any type.
func structuralHash(v *rowdata.Vector, i int) int32 {
	if v.IsNull(i) {
		return 0
	}
	switch v.Storage() {
	case rowdata.StoreBytes:
		return textHash(v.Bytes(i))
	case rowdata.StoreList, rowdata.StoreMap:
		return int32(v.Offs[i+1] - v.Offs[i])
	case rowdata.StoreStruct:
		h := int32(1)
		for _, c := range v.Children {
			h = 31*h + structuralHash(c, i)
		}
		return h
	}
	return valueHash(v, i)
}
