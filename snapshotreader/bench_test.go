package snapshotreader

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
)

// orders is the table of 8 columns that the peer is measured with.
var orders = paimon.ColumnsSpec{PK: []string{"id"}, Fields: []string{
	"id BIGINT NOT NULL", "customer BIGINT", "status STRING", "amount DECIMAL(12,2)", "note STRING", "updated_at TIMESTAMP(3)", "weight DOUBLE", "score DOUBLE",
}}

const letters = "eeeeeetttttaaaaooooiiiinnnnsssshhhrrrddllcumwfgypbvk           ."

var statusTexts = []string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "RETURNED", "CANCELLED", "LOST"}

// orderRows makes n rows with ascending keys from first, step apart.
func orderRows(k *tableKit, first, step int64, n int) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(k.Schema().RowType(), n)
	x := uint64(first)*0x9E3779B97F4A7C15 + 1
	next := func() uint64 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		return x
	}
	note := make([]byte, 64)
	for i := range n {
		kv.Cols[0].AppendI64(first + int64(i)*step)
		kv.Cols[1].AppendI64(int64(next() % 1_000_000))
		kv.Cols[2].AppendString(statusTexts[next()%8])
		kv.Cols[3].AppendI64(int64(next() % 100_000_000))
		size := 20 + next()%41
		for j := range note[:size] {
			note[j] = letters[next()&63]
		}
		kv.Cols[4].AppendBytes(note[:size])
		kv.Cols[5].AppendTimestamp(1_764_000_000_000+int64(i), 0)
		kv.Cols[6].AppendF64(float64(next()>>11) * 0x1p-53)
		kv.Cols[7].AppendF64(float64(next()%10_000) / 100)
		kv.CloseRow()
		kv.Seq, kv.Kinds = append(kv.Seq, k.seq), append(kv.Kinds, rowdata.Insert)
		k.seq++
	}
	return kv
}

func cpuSeconds(b *testing.B) float64 {
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkTail reads the changelog of an input table: 1 M rows in 5 commits.
func BenchmarkTail(b *testing.B) {
	k := newTableKitIn(b, local.New(b.TempDir(), local.Options{NoSync: true}), orders, map[string]string{"bucket": "1", "changelog-producer": "input"})
	const commits, perCommit = 5, 200_000
	for i := range commits {
		kv := orderRows(k, int64(i), commits, perCommit)
		k.commit(paimon.CommitAppend, nil, k.write("changelog-", rowdata.EmptyManifestRow(), 0, 0, kv, datafile.Options{}))
	}
	for _, rows := range []int{1024, 4096, 16384} {
		b.Run(fmt.Sprintf("batch=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			begun := cpuSeconds(b)
			total := 0
			for b.Loop() {
				tl, err := Open(b.Context(), k.Table, Start{}, Options{Until: Until{Mode: UntilLatest}, BatchRows: rows})
				require.NoError(b, err)
				for {
					batch, err := tl.Next(b.Context())
					if err == io.EOF {
						break
					}
					require.NoError(b, err)
					total += batch.Rows.N
				}
				require.NoError(b, tl.Close())
			}
			b.ReportMetric(float64(total)/(cpuSeconds(b)-begun)/1e6, "Mrows/cpu-s")
		})
	}
}

// BenchmarkPoll sees and reads commits of 10 rows each.
func BenchmarkPoll(b *testing.B) {
	k := newTableKitIn(b, local.New(b.TempDir(), local.Options{NoSync: true}), orders, map[string]string{"bucket": "1", "changelog-producer": "input"})
	const commits = 500
	for i := range commits {
		kv := orderRows(k, int64(10*i), 1, 10)
		k.commit(paimon.CommitAppend, nil, k.write("changelog-", rowdata.EmptyManifestRow(), 0, 0, kv, datafile.Options{}))
	}
	tl, err := Open(b.Context(), k.Table, Start{}, Options{Until: Until{Mode: UntilLatest}})
	require.NoError(b, err)
	b.ReportAllocs()
	begun, n := cpuSeconds(b), 0
	for b.Loop() {
		batch, err := tl.Next(b.Context())
		if err == io.EOF {
			require.NoError(b, tl.Close())
			// Nothing decoded is left from the round before.
			table, err := paimon.Open(b.Context(), k.store, k.path, "")
			require.NoError(b, err)
			tl, err = Open(b.Context(), table, Start{}, Options{Until: Until{Mode: UntilLatest}})
			require.NoError(b, err)
			continue
		}
		require.NoError(b, err)
		require.Equal(b, 10, batch.Rows.N)
		n++
	}
	b.ReportMetric((cpuSeconds(b)-begun)/float64(n)*1e3, "cpu-ms/commit")
	require.NoError(b, tl.Close())
}

// BenchmarkScan reads a table: 8 runs that overlap, or one file a key range.
func BenchmarkScan(b *testing.B) {
	for _, runs := range []int{1, 8} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			k := newTableKitIn(b, local.New(b.TempDir(), local.Options{NoSync: true}), orders, map[string]string{"bucket": "1"})
			const perRun = 250_000
			for i := range runs {
				kv := orderRows(k, int64(i), 5, perRun)
				level := int32(0)
				if runs == 1 {
					level = 5
				}
				k.commit(paimon.CommitAppend, k.write("data-", rowdata.EmptyManifestRow(), 0, level, kv, datafile.Options{}), nil)
			}
			b.ReportAllocs()
			begun := cpuSeconds(b)
			total := 0
			for b.Loop() {
				s, err := Scan(b.Context(), k.Table, k.last, ScanSpec{})
				require.NoError(b, err)
				for {
					_, err := s.Next(b.Context())
					if err == io.EOF {
						break
					}
					require.NoError(b, err)
				}
				require.NoError(b, s.Close())
				total += runs * perRun
			}
			b.ReportMetric(float64(total)/(cpuSeconds(b)-begun)/1e6, "Mrows/cpu-s")
		})
	}
}
