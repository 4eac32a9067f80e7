package lookup

import (
	"encoding/binary"

	"sluice/paimon/rowdata"
)

// Keys are byte strings that compare as the rows they were made of, so that the
// database keeps rows in the order of rowdata.Comparer. After the byte that sets
// them apart from the records about the index itself stand the key columns in
// their order:
//
//   - a column that may be NULL begins with a mark, 0 NULL, 1 a value; the
//     columns of primary keys are NOT NULL and have none;
//   - values are those of an ordered key of package rowdata, but for text and
//     bytes in the last column, which stand as they are to the end.
const (
	dataPrefix = 1 // keys; lastFence begins with the next number
	metaPrefix = 3 // records about the index, behind all pages
)

var metaKey = []byte{metaPrefix, 'm'}

type keyColumn struct {
	col      int
	name     string
	nullable bool
	last     bool
}

// keyCodec makes keys. It is immutable.
type keyCodec struct {
	cols []keyColumn
}

func newKeyCodec(s Spec) *keyCodec {
	c := &keyCodec{cols: make([]keyColumn, len(s.Key))}
	for i, col := range s.Key {
		f := s.Row.Fields[col]
		c.cols[i] = keyColumn{col: col, name: f.Name, nullable: !f.Type.NotNull, last: i == len(s.Key)-1}
	}
	return c
}

// append appends the key of row i.
func (c *keyCodec) append(dst []byte, cols []*rowdata.Vector, i int) ([]byte, error) {
	dst = append(dst, dataPrefix)
	for k := range c.cols {
		kc := &c.cols[k]
		v := cols[kc.col]
		null := v.IsNull(i)
		switch {
		case kc.nullable && null:
			dst = append(dst, 0)
			continue
		case kc.nullable:
			dst = append(dst, 1)
		case null:
			return dst, &KeyError{Column: kc.name, Row: i}
		}
		if kc.last && v.Storage() == rowdata.StoreBytes {
			dst = append(dst, v.Bytes(i)...)
		} else {
			dst = rowdata.AppendOrderedValue(dst, v, i)
		}
	}
	return dst, nil
}

// keyHead returns bytes 1 to 8 of a key as an integer that orders as they do:
// most comparisons end with it.
func keyHead(key []byte) uint64 {
	if len(key) >= 9 {
		return binary.BigEndian.Uint64(key[1:9])
	}
	x := uint64(0)
	for i, b := range key[1:] {
		x |= uint64(b) << (56 - 8*i)
	}
	return x
}
