package feedtest

import (
	"fmt"

	"sluice/feeds"
	"sluice/paimon/rowdata"
)

// Schema returns a schema of a BIGINT key k and STRING columns named a, b, ...
func Schema(id int64, strings int) *feeds.Schema {
	s := &feeds.Schema{ID: id, Row: &rowdata.RowType{}, PrimaryKey: []string{"k"}}
	s.Row.Fields = append(s.Row.Fields, rowdata.Field{ID: 0, Name: "k", Type: &rowdata.Type{Root: rowdata.BigInt, NotNull: true}})
	for i := range strings {
		s.Row.Fields = append(s.Row.Fields, rowdata.Field{ID: i + 1, Name: string(rune('a' + i)), Type: &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}})
	}
	return s
}

// Rows returns n rows of a [Schema]: keys from, from+1, ..., strings made of the
// key and tag. Rows at odd places are the second half of an update if updates is
// set.
func Rows(s *feeds.Schema, from int64, n int, tag string, updates bool) *rowdata.Changes {
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(s.Row, n)}
	for i := range n {
		key, kind := from+int64(i), rowdata.Insert
		if updates {
			key, kind = from+int64(i/2), rowdata.UpdateBefore
			if i%2 == 1 {
				kind = rowdata.UpdateAfter
			}
		}
		c.Cols[0].AppendI64(key)
		for col, v := range c.Cols[1:] {
			v.AppendString(fmt.Sprintf("%s%c-%d-%d", tag, 'a'+col, key, i))
		}
		c.Kinds = append(c.Kinds, kind)
		c.CloseRow()
	}
	return c
}
