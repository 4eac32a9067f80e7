package snapshotreader

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
)

// A filter on a column that is summed sees the sum; statistics of the files, none
// of which has the value, hide nothing.
func TestFilterSeesTheSum(t *testing.T) {
	k := newTableKit(t, paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "v INT"}, PK: []string{"k"}},
		map[string]string{"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"})
	for _, row := range []string{`+I [1, 1]`, `+I [2, 1]`, `+I [1, 2]`} {
		k.commit(paimon.CommitAppend, k.data(0, row), nil)
	}
	for v, want := range map[int32][]string{1: {`[2,1]`}, 2: {}, 3: {`[1,3]`}} {
		rows, _ := opensOf(t, k, ScanSpec{Filter: between{"v", v, v}})
		require.Equal(t, want, rows, v)
	}
}
