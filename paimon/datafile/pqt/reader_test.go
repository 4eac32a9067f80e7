package pqt

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func tryReadAll(file []byte, want []rowdata.Field, opts ReadOptions) ([]*rowdata.Vector, error) {
	r, err := Open(bytes.NewReader(file), int64(len(file)), want, opts)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all, batch := newVectors(want), newVectors(want)
	for {
		n, err := r.Next(batch)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range all {
			all[i].AppendRange(batch[i], 0, n)
		}
	}
}

func TestRoundTripOrders(t *testing.T) {
	cols := makeOrders(50_000)
	for _, codec := range []string{"none", "snappy", "gzip", "lz4", "zstd", "brotli"} {
		for _, opts := range []Options{{}, {NoDelta: true}, {NoDelta: true, NoDictionary: true}, {RowGroupBytes: 100_000, PageRows: 700}} {
			opts.Compression = codec
			file, _ := writeAll(t, ordersFields(), cols, opts, 3000)
			got := readAll(t, file, ordersFields(), ReadOptions{BatchRows: 1000})
			require.Equal(t, 50_000, got[0].Len())
			requireRows(t, ordersFields(), cols, 0, got)
		}
	}
}

func TestRoundTripRandom(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := &typeMaker{r: r}
		var fields []rowdata.Field
		for i := range 1 + r.IntN(4) {
			fields = append(fields, m.field(string(rune('a'+i)), r.IntN(5)))
		}
		rows := r.IntN(3000)
		cols := m.vectors(fields, rows, r.IntN(14))
		opts := Options{PageRows: 1 + r.IntN(500), PageBytes: 100 + r.IntN(20_000), RowGroupBytes: 1000 + r.Int64N(100_000),
			DictionaryBytes: 10 + r.IntN(2000), NoDelta: r.IntN(3) == 0, NoDictionary: r.IntN(3) == 0,
			Compression: []string{"none", "zstd", "snappy"}[r.IntN(3)]}
		file, stats := writeAll(t, fields, cols, opts, 1+r.IntN(700))
		got := readAll(t, file, fields, ReadOptions{BatchRows: 1 + r.IntN(600), WindowBytes: 1 + r.IntN(5000)})
		require.Equal(t, rows, got[0].Len(), "seed %d", seed)
		requireRows(t, fields, cols, 0, got)
		requireStats(t, fields, cols, stats)
	}
}

// requireStats compares statistics with what a look at every value says.
func requireStats(t testing.TB, fields []rowdata.Field, cols []*rowdata.Vector, stats []rowdata.ColumnStats) {
	t.Helper()
	require.Len(t, stats, len(fields))
	for c, v := range cols {
		require.EqualValues(t, v.NullCount(), stats[c].Nulls)
		lo, hi := -1, -1
		for i := range v.Len() {
			if v.IsNull(i) {
				continue
			}
			if lo < 0 || rowdata.Compare(v, i, v, lo) < 0 {
				lo = i
			}
			if hi < 0 || rowdata.Compare(v, i, v, hi) > 0 {
				hi = i
			}
		}
		if lo < 0 || fields[c].Type.IsNested() || v.Storage() == rowdata.StoreNanos {
			require.Nil(t, stats[c].Min)
			require.Nil(t, stats[c].Max)
			continue
		}
		require.True(t, rowdata.Equal(v, lo, stats[c].Min, 0), "minimum of %s", fields[c].Type)
		require.True(t, rowdata.Equal(v, hi, stats[c].Max, 0), "maximum of %s", fields[c].Type)
	}
}
