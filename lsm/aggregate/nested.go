package aggregate

import (
	"math"
	"slices"

	"sluice/paimon/rowdata"
)

// nested is what the functions for lists of rows have in common.
type nested struct {
	function string
	key      []int // fields of the key; nil: none
	seq      []int // fields that say which of two rows is newer
	nulls    NullKeys
	limit    int             // of elements; negative: none
	out      *rowdata.Vector // the next accumulator
	rows     []element
	gone     []bool
	order    []int32
	index    index
	cols     []*rowdata.Vector
	older    older
}

// nestedFields finds fields of the rows of a list or map.
func nestedFields(t *rowdata.Type, option string, names []string) ([]int, error) {
	var at []int
	for _, n := range names {
		i := slices.IndexFunc(t.Fields, func(f rowdata.Field) bool { return f.Name == n })
		if i < 0 {
			return nil, &NestedFieldError{Option: option, Field: n, Type: t}
		}
		at = append(at, i)
	}
	return at, nil
}

func newNested(s Spec) (n nested, err error) {
	if s.Type.Root != rowdata.Array || s.Type.Elem.Root != rowdata.Row {
		return n, wrongType(s, "ARRAY of ROW")
	}
	n = nested{
		function: s.Function, nulls: s.NullKeys, limit: s.CountLimit,
		out: rowdata.NewVector(s.Type, 1), older: older{scratch: rowdata.NewVector(s.Type, 1)},
	}
	if n.key, err = nestedFields(s.Type.Elem, "nested-key", s.NestedKey); err != nil {
		return n, err
	}
	n.seq, err = nestedFields(s.Type.Elem, "nested-sequence-field", s.NestedSequence)
	return n, err
}

func (*nested) Reset() {}

func (n *nested) clear() {
	n.rows, n.gone, n.order = n.rows[:0], n.gone[:0], n.order[:0]
	n.index.reset()
}

// usable tells whether a row takes part: it is not NULL, and its key has no NULL
// or may have some.
func (n *nested) usable(e element) (bool, error) {
	if e.in.IsNull(e.at) {
		return false, nil
	}
	if n.nulls == NullKeysMerge || n.nulls == "" {
		return true, nil
	}
	for _, k := range n.key {
		if e.in.Children[k].IsNull(e.at) {
			if n.nulls == NullKeysError {
				return false, ErrNullKey
			}
			return false, nil
		}
	}
	return true, nil
}

// find returns the row that has the key of e, or -1.
func (n *nested) find(e element) (at, hash int32) {
	n.cols = n.cols[:0]
	for _, k := range n.key {
		n.cols = append(n.cols, e.in.Children[k])
	}
	hash = rowdata.HashRow(n.cols, e.at)
	return n.index.find(hash, func(x int32) bool {
		if n.gone[x] {
			return false
		}
		for _, k := range n.key {
			if !rowdata.Equal(n.rows[x].in.Children[k], n.rows[x].at, e.in.Children[k], e.at) {
				return false
			}
		}
		return true
	}), hash
}

// insert adds a row behind the others.
func (n *nested) insert(e element, hash int32) {
	n.order = append(n.order, n.index.add(hash))
	n.rows, n.gone = append(n.rows, e), append(n.gone, false)
}

// each calls fn for the rows of a list that take part.
func (n *nested) each(list *rowdata.Vector, i int, fn func(e element)) error {
	if list.IsNull(i) {
		return nil
	}
	for at := int(list.Offs[i]); at < int(list.Offs[i+1]); at++ {
		e := element{list.Children[0], at}
		ok, err := n.usable(e)
		if err != nil {
			return err
		}
		if ok {
			fn(e)
		}
	}
	return nil
}

// nestedUpdate appends rows, or puts them by their key.
type nestedUpdate struct{ nested }

func newNestedUpdate(s Spec) (*nestedUpdate, error) {
	n, err := newNested(s)
	return &nestedUpdate{n}, err
}

// Add takes of the list no more rows than there is room for: what is held already
// counts, NULL included, and a row counts also if its key is held.
func (n *nestedUpdate) Add(acc, in *rowdata.Vector, i int) error {
	if passNull(acc, in, i) {
		return nil
	}
	room := math.MaxInt
	if n.limit >= 0 {
		if room = n.limit - int(acc.Offs[1]); room <= 0 {
			return nil
		}
	}
	n.clear()
	if err := n.each(acc, 0, n.put); err != nil {
		return err
	}
	err := n.each(in, i, func(e element) {
		if room > 0 {
			n.put(e)
			room--
		}
	})
	if err != nil {
		return err
	}
	n.store(acc)
	return nil
}

func (n *nestedUpdate) put(e element) {
	if n.key == nil {
		n.insert(e, 0)
		return
	}
	at, hash := n.find(e)
	switch {
	case at < 0:
		n.insert(e, hash)
	case n.newer(e, n.rows[at]):
		n.rows[at] = e
	}
}

// newer tells whether e may take the place of held.
func (n *nestedUpdate) newer(e, held element) bool {
	for _, s := range n.seq {
		if c := rowdata.Compare(e.in.Children[s], e.at, held.in.Children[s], held.at); c != 0 {
			return c > 0
		}
	}
	return true
}

// store makes acc the list of the rows.
func (n *nestedUpdate) store(acc *rowdata.Vector) {
	if n.key != nil {
		inTableOrder(n.order, n.index.hash, len(n.rows))
	}
	n.out.Truncate(0)
	for _, x := range n.order {
		if !n.gone[x] {
			n.out.Children[0].AppendFrom(n.rows[x].in, n.rows[x].at)
		}
	}
	n.out.CloseList()
	*acc, *n.out = *n.out, *acc
}

func (n *nestedUpdate) AddOlder(acc, in *rowdata.Vector, i int) error {
	return n.older.addOlder(n, acc, in, i)
}

// Retract removes the rows with the keys of the list, or all that are equal to one
// of it.
func (n *nestedUpdate) Retract(acc, in *rowdata.Vector, i int) error {
	if acc.IsNull(0) || in.IsNull(i) {
		return nil
	}
	n.clear()
	hashOf := func(e element) int32 { return structuralHash(e.in, e.at) }
	if n.key == nil {
		if err := n.each(acc, 0, func(e element) { n.insert(e, hashOf(e)) }); err != nil {
			return err
		}
		err := n.each(in, i, func(e element) {
			h := hashOf(e)
			for {
				at := n.index.find(h, func(x int32) bool { return !n.gone[x] && n.rows[x].equal(e) })
				if at < 0 {
					return
				}
				n.gone[at] = true
			}
		})
		if err != nil {
			return err
		}
	} else {
		if err := n.each(acc, 0, n.put); err != nil {
			return err
		}
		err := n.each(in, i, func(e element) {
			if at, _ := n.find(e); at >= 0 {
				n.gone[at] = true
			}
		})
		if err != nil {
			return err
		}
	}
	n.store(acc)
	return nil
}

// nestedPartial puts rows by their key, and of a row that is there only the fields
// that are not NULL.
type nestedPartial struct {
	nested
	fields []element // of each row, one after the other
}

func newNestedPartial(s Spec) (*nestedPartial, error) {
	n, err := newNested(s)
	if err == nil && len(n.key) == 0 {
		err = &NestedFieldError{Option: "nested-key", Type: s.Type}
	}
	return &nestedPartial{nested: n}, err
}

func (n *nestedPartial) Add(acc, in *rowdata.Vector, i int) error {
	if passNull(acc, in, i) {
		return nil
	}
	n.clear()
	n.fields = n.fields[:0]
	if err := n.each(acc, 0, n.put); err != nil {
		return err
	}
	if err := n.each(in, i, n.put); err != nil {
		return err
	}
	inTableOrder(n.order, n.index.hash, len(n.rows))
	n.out.Truncate(0)
	rows := n.out.Children[0]
	for _, x := range n.order {
		width := len(rows.Children)
		for c, f := range n.fields[int(x)*width : (int(x)+1)*width] {
			rows.Children[c].AppendFrom(f.in, f.at)
		}
		rows.CloseStruct()
	}
	n.out.CloseList()
	*acc, *n.out = *n.out, *acc
	return nil
}

func (n *nestedPartial) put(e element) {
	at, hash := n.find(e)
	if at < 0 {
		n.insert(e, hash)
		for _, c := range e.in.Children {
			n.fields = append(n.fields, element{c, e.at})
		}
		return
	}
	for k, c := range e.in.Children {
		if !c.IsNull(e.at) {
			n.fields[int(at)*len(e.in.Children)+k] = element{c, e.at}
		}
	}
}

func (n *nestedPartial) AddOlder(acc, in *rowdata.Vector, i int) error {
	return n.older.addOlder(n, acc, in, i)
}

func (n *nestedPartial) Retract(_, _ *rowdata.Vector, _ int) error {
	return &RetractError{Function: n.function}
}
