package runner

import (
	"encoding/json"
	"strconv"

	"sluice/paimon/rowdata"
)

// fillerFirst is the first column of the first row that fills a file up.
const fillerFirst = 100_000

// fill puts the case's filler rows in front.
func (r *runner) fill(rows *rowdata.Changes) error {
	for k := range r.c.Filler {
		x := make([]any, len(rows.Cols))
		x[0] = json.Number(strconv.Itoa(fillerFirst + k))
		if err := rowdata.AppendJSONRow(&rows.Batch, x); err != nil {
			return err
		}
		rows.Kinds = append(rows.Kinds, rowdata.Insert)
	}
	return nil
}

// isFiller tells whether a row is one of the filler's.
func (r *runner) isFiller(b *rowdata.Batch, i int) bool {
	if r.c.Filler == 0 || b.Cols[0].Storage() != rowdata.StoreI32 {
		return false
	}
	k := int(b.Cols[0].I32[i]) - fillerFirst
	return k >= 0 && k < r.c.Filler
}
