package aggregate

import (
	"bytes"

	"sluice/paimon/rowdata"
)

// entries are those of a map that is being made: key and value of each.
type entries struct {
	out    *rowdata.Vector // the next accumulator
	keys   []element
	values []element
	gone   []bool
	index  index
}

func (m *entries) reset() {
	m.keys, m.values, m.gone = m.keys[:0], m.values[:0], m.gone[:0]
	m.index.reset()
}

// find returns the entry of a key, or -1.
func (m *entries) find(key element) (n, hash int32) {
	hash = structuralHash(key.in, key.at)
	return m.index.find(hash, func(n int32) bool { return !m.gone[n] && m.keys[n].equal(key) }), hash
}

// put sets the value of a key.
func (m *entries) put(key, value element) {
	n, hash := m.find(key)
	if n >= 0 {
		m.values[n] = value
		return
	}
	m.index.add(hash)
	m.keys, m.values, m.gone = append(m.keys, key), append(m.values, value), append(m.gone, false)
}

func (m *entries) remove(key element) {
	if n, _ := m.find(key); n >= 0 {
		m.gone[n] = true
	}
}

// putAll puts the entries of a map.
func (m *entries) putAll(v *rowdata.Vector, i int) {
	for at := int(v.Offs[i]); at < int(v.Offs[i+1]); at++ {
		m.put(element{v.Children[0], at}, element{v.Children[1], at})
	}
}

// store makes acc the map of the entries.
func (m *entries) store(acc *rowdata.Vector) {
	m.out.Truncate(0)
	for n := range m.keys {
		if m.gone[n] {
			continue
		}
		m.out.Children[0].AppendFrom(m.keys[n].in, m.keys[n].at)
		m.out.Children[1].AppendFrom(m.values[n].in, m.values[n].at)
	}
	m.out.CloseList()
	*acc, *m.out = *m.out, *acc
}

// mergeMap puts the entries of a map into another.
type mergeMap struct {
	entries entries
	older   older
}

func newMergeMap(s Spec) (*mergeMap, error) {
	if s.Type.Root != rowdata.Map {
		return nil, wrongType(s, "MAP")
	}
	return &mergeMap{entries: entries{out: rowdata.NewVector(s.Type, 1)}, older: older{scratch: rowdata.NewVector(s.Type, 1)}}, nil
}

func (*mergeMap) Reset() {}

func (m *mergeMap) Add(acc, in *rowdata.Vector, i int) error {
	if passNull(acc, in, i) {
		return nil
	}
	m.entries.reset()
	m.entries.putAll(acc, 0)
	m.entries.putAll(in, i)
	m.entries.store(acc)
	return nil
}

func (m *mergeMap) AddOlder(acc, in *rowdata.Vector, i int) error {
	return m.older.addOlder(m, acc, in, i)
}

// Retract removes the keys of the map; values do not matter.
func (m *mergeMap) Retract(acc, in *rowdata.Vector, i int) error {
	if acc.IsNull(0) || in.IsNull(i) {
		return nil
	}
	m.entries.reset()
	m.entries.putAll(acc, 0)
	for at := int(in.Offs[i]); at < int(in.Offs[i+1]); at++ {
		m.entries.remove(element{in.Children[0], at})
	}
	m.entries.store(acc)
	return nil
}

// keyTimeMap is a map of rows with a time each: of each key the row of the
// greatest time stays.
type keyTimeMap struct {
	entries entries
	time    int // field of the rows
	a, b    []byte
	older   older
}

func newKeyTimeMap(s Spec) (*keyTimeMap, error) {
	if s.Type.Root != rowdata.Map || s.Type.Elem.Root != rowdata.Row || len(s.Type.Elem.Fields) < 2 {
		return nil, wrongType(s, "MAP with values ROW of at least two fields")
	}
	m := &keyTimeMap{
		entries: entries{out: rowdata.NewVector(s.Type, 1)}, time: len(s.Type.Elem.Fields) - 1,
		older: older{scratch: rowdata.NewVector(s.Type, 1)},
	}
	if s.TimeField != "" {
		at, err := nestedFields(s.Type.Elem, "ts-field", []string{s.TimeField})
		if err != nil {
			return nil, err
		}
		m.time = at[0]
	}
	return m, nil
}

func (*keyTimeMap) Reset() {}

func (m *keyTimeMap) Add(acc, in *rowdata.Vector, i int) error {
	if passNull(acc, in, i) {
		return nil
	}
	m.entries.reset()
	m.entries.putAll(acc, 0)
	for at := int(in.Offs[i]); at < int(in.Offs[i+1]); at++ {
		key, value := element{in.Children[0], at}, element{in.Children[1], at}
		switch {
		case value.in.IsNull(at):
			m.entries.remove(key)
		case value.in.Children[m.time].IsNull(at):
		case m.later(key, value):
			m.entries.put(key, value)
		}
	}
	m.entries.store(acc)
	return nil
}

// later tells whether the row takes the place of what the key has: times are
// compared as texts.
func (m *keyTimeMap) later(key, value element) bool {
	n, _ := m.entries.find(key)
	if n < 0 {
		return true
	}
	held := m.entries.values[n]
	if held.in.IsNull(held.at) || held.in.Children[m.time].IsNull(held.at) {
		return true
	}
	m.a = rowdata.AppendText(m.a[:0], value.in.Children[m.time], value.at)
	m.b = rowdata.AppendText(m.b[:0], held.in.Children[m.time], held.at)
	return bytes.Compare(m.a, m.b) > 0
}

func (m *keyTimeMap) AddOlder(acc, in *rowdata.Vector, i int) error {
	return m.older.addOlder(m, acc, in, i)
}

func (m *keyTimeMap) Retract(_, _ *rowdata.Vector, _ int) error {
	return &RetractError{Function: "merge_map_with_keytime"}
}
