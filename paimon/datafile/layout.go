package datafile

import (
	"sluice/paimon/rowdata"
)

// System columns of data files and their field ids (format section 9.1).
const (
	KeyPrefix      = "_KEY_"
	SequenceColumn = "_SEQUENCE_NUMBER"
	KindColumn     = "_VALUE_KIND"

	keyIDBase  = 1073741823 // plus the id of the key column
	sequenceID = 2147483646
	kindID     = 2147483645
)

var (
	sequenceType = &rowdata.Type{Root: rowdata.BigInt, NotNull: true}
	kindType     = &rowdata.Type{Root: rowdata.TinyInt, NotNull: true}
)

// Layout says which columns a file has.
type Layout struct {
	Schema   *rowdata.RowType // all columns of the table, in order
	SchemaID int64
	// Key holds the positions of the trimmed primary key in Schema, in key order.
	// nil: an append table, whose files have no system columns.
	Key  []int
	Thin bool // without the _KEY_ columns (option data-file.thin-mode)
}

// Physical returns the columns of the file in order.
func (l Layout) Physical() []rowdata.Field {
	if l.Key == nil {
		return l.Schema.Fields
	}
	fields := make([]rowdata.Field, 0, len(l.Key)+2+len(l.Schema.Fields))
	if !l.Thin {
		for _, k := range l.Key {
			f := &l.Schema.Fields[k]
			fields = append(fields, rowdata.Field{ID: keyIDBase + f.ID, Name: KeyPrefix + f.Name, Type: f.Type})
		}
	}
	fields = append(fields, rowdata.Field{ID: sequenceID, Name: SequenceColumn, Type: sequenceType},
		rowdata.Field{ID: kindID, Name: KindColumn, Type: kindType})
	return append(fields, l.Schema.Fields...)
}

// values returns the position of the first table column in Physical.
func (l Layout) values() int {
	switch {
	case l.Key == nil:
		return 0
	case l.Thin:
		return 2
	}
	return len(l.Key) + 2
}

// keyAt returns the position in Physical of the column that the statistics of
// key column i are taken from.
func (l Layout) keyAt(i int) int {
	if l.Thin {
		return l.values() + l.Key[i]
	}
	return i
}

// columns lines up the vectors of a batch as Physical has them. cols is reused.
func (l Layout) columns(cols []*rowdata.Vector, b *rowdata.Batch, seq, kind *rowdata.Vector) []*rowdata.Vector {
	cols = cols[:0]
	if l.Key != nil {
		if !l.Thin {
			for _, k := range l.Key {
				cols = append(cols, b.Cols[k])
			}
		}
		cols = append(cols, seq, kind)
	}
	return append(cols, b.Cols...)
}
