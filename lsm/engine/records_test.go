package engine

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/paimon/rowdata"
)

// sortedRun is a run of records in memory.
type sortedRun struct {
	kv    *rowdata.KeyValues
	batch int
	at    int
}

func (s *sortedRun) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	n := min(s.batch, s.kv.N-s.at)
	if n == 0 {
		return 0, io.EOF
	}
	dst.AppendRange(s.kv, s.at, s.at+n)
	s.at += n
	return n, nil
}

// sorted returns the records in merge order.
func sorted(kv *rowdata.KeyValues, key *rowdata.Comparer, order merge.Order) *rowdata.KeyValues {
	at := make([]int, kv.N)
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int {
		if c := key.Compare(&kv.Batch, i, &kv.Batch, j); c != 0 {
			return c
		}
		return order.Compare(kv, i, kv, j)
	})
	out := rowdata.NewKeyValues(kv.Type, kv.N)
	for _, i := range at {
		out.AppendFrom(kv, i)
	}
	return out
}

func appendJSON(t require.TestingT, kv *rowdata.KeyValues, text string) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var row any
	require.NoError(t, d.Decode(&row), "%s", text)
	require.NoError(t, rowdata.AppendJSONRow(&kv.Batch, row), "%s", text)
}
