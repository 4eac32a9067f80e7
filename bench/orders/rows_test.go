package orders

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// RowType is built of Fields as a table would be.
func rowType(t *testing.T) *rowdata.RowType {
	rt := &rowdata.RowType{}
	for i, f := range Fields() {
		name, text, _ := strings.Cut(f, " ")
		typ, err := rowdata.ParseType(text)
		require.NoError(t, err)
		rt.Fields = append(rt.Fields, rowdata.Field{ID: i, Name: name, Type: typ})
	}
	return rt
}

// The digest that the peer publishes for its first 10,000 rows.
func TestKnownDigest(t *testing.T) {
	b := rowdata.NewBatch(rowType(t), 10_000)
	for i := range uint64(10_000) {
		Append(b, Seed, Key(Seed, i), i)
	}
	var d Digest
	d.Add(b, nil)
	require.Equal(t, "10000:94a75b14eabb30c9:683055007cf26c39", d.String())
}
