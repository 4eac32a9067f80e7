package tablewriter

import (
	"encoding/json"
	"strings"

	"sluice/paimon/rowdata"
)

// appendJSON appends a row given as JSON.
func appendJSON(b *rowdata.Batch, row string) error {
	d := json.NewDecoder(strings.NewReader(row))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return err
	}
	return rowdata.AppendJSONRow(b, x)
}
