package pqt

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// A file with twins is, byte for byte, the one whose columns are all encoded.
func TestTwin(t *testing.T) {
	number, text := &rowdata.Type{Root: rowdata.BigInt, NotNull: true}, &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	fields := []rowdata.Field{
		{ID: 1, Name: "key", Type: number},
		{ID: 2, Name: "word", Type: text},
		{ID: 3, Name: "other", Type: number},
		{ID: 4, Name: "key again", Type: number},
		{ID: 5, Name: "word again", Type: text},
	}
	batch := rowdata.NewBatch(&rowdata.RowType{Fields: fields}, 0)
	for i := range 5000 {
		batch.Cols[0].AppendI64(int64(i * i))
		batch.Cols[2].AppendI64(int64(i % 7))
		if i%11 == 0 {
			batch.Cols[1].AppendNull()
		} else {
			batch.Cols[1].AppendString(fmt.Sprint("word ", i%(i/1000+5)))
		}
	}
	batch.Cols[3], batch.Cols[4] = batch.Cols[0], batch.Cols[1]
	write := func(t *testing.T, o Options, twins ...[2]int) ([]byte, []rowdata.ColumnStats) {
		var out bytes.Buffer
		w, err := NewWriter(&out, fields, o)
		require.NoError(t, err)
		for _, p := range twins {
			w.Twin(p[0], p[1])
		}
		var stats []rowdata.ColumnStats
		for range 2 { // the second file is made with the memory of the first
			out.Reset()
			w.Reset(&out)
			for from := 0; from < 5000; from += 500 {
				require.NoError(t, w.Write(batch.Cols, from, from+500))
			}
			stats, err = w.Close()
			require.NoError(t, err)
		}
		return out.Bytes(), stats
	}
	for _, o := range []Options{{}, {PageRows: 300}, {PageRows: 700, RowGroupBytes: 9000}, {Compression: "none", PageBytes: 2000}} {
		want, stats := write(t, o)
		got, twinStats := write(t, o, [2]int{0, 3}, [2]int{1, 4})
		require.True(t, bytes.Equal(want, got), "%+v", o)
		require.Equal(t, stats, twinStats)
		other, _ := write(t, o, [2]int{4, 1}, [2]int{1, 4}, [2]int{0, 1}, [2]int{3, 0}, [2]int{0, 0})
		require.True(t, bytes.Equal(want, other), "the later one may be the source; what cannot be is ignored")
	}
}
