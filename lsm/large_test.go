package lsm

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// TestLargeRows: records of a megabyte go through a small pool, spilled and
// merged, without more of them in memory than it allows.
func TestLargeRows(t *testing.T) {
	const limit, rowSize, rows = 8 << 20, 1 << 20, 40
	typ := rowType(bigintType, textType)
	written := 0
	n := 0
	table := &Table{
		Layout: datafile.Layout{Schema: typ, Key: []int{0}}, Engine: merge.Engine{Keep: merge.Deduplicate{}}, Producer: producer.None{},
		Data: Files{Options: datafile.Options{Compression: "none"}, Name: func() string { n++; return fmt.Sprint("data-", n) }},
	}
	pool := NewPool(limit, SpillOptions{Dir: t.TempDir()})
	defer pool.Close()
	w := NewWriter(table, pool, func(context.Context, string) (datafile.Sink, error) { return &discard{n: &written}, nil }, 0)
	value := bytes.Repeat([]byte("x"), rowSize)
	for i := range rows {
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, 0)}
		c.Cols[0].AppendI64(int64(i * 7 % rows))
		c.Cols[1].AppendBytes(value)
		c.CloseRow()
		require.NoError(t, w.Append(t.Context(), c, nil))
		require.LessOrEqual(t, pool.Used(), int64(limit))
	}
	require.Positive(t, pool.stats.Spills)
	inc, err := w.Prepare(t.Context())
	require.NoError(t, err)
	require.Len(t, inc.NewFiles, 1)
	require.Equal(t, int64(rows), inc.NewFiles[0].RowCount)
	require.LessOrEqual(t, pool.batch.MemSize(), batchBytes+2*rowSize)
	require.NoError(t, w.Close())
}
