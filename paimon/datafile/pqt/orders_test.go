package pqt

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// The benchmark table: rows of a primary-key file of orders, sorted by key.
//
//	orders(order_id BIGINT, user_id BIGINT, status STRING, amount DECIMAL(10, 2),
//	       ts TIMESTAMP(3), dt STRING, PRIMARY KEY (order_id))
const ordersRows = 1_000_000

func ordersFields() []rowdata.Field {
	notNull := func(r rowdata.TypeRoot) *rowdata.Type { return &rowdata.Type{Root: r, NotNull: true} }
	text := &rowdata.Type{Root: rowdata.Varchar, Length: rowdata.MaxLength}
	return []rowdata.Field{
		{ID: 1073741823, Name: "_KEY_order_id", Type: notNull(rowdata.BigInt)},
		{ID: 2147483646, Name: "_SEQUENCE_NUMBER", Type: notNull(rowdata.BigInt)},
		{ID: 2147483645, Name: "_VALUE_KIND", Type: notNull(rowdata.TinyInt)},
		{ID: 0, Name: "order_id", Type: notNull(rowdata.BigInt)},
		{ID: 1, Name: "user_id", Type: &rowdata.Type{Root: rowdata.BigInt}},
		{ID: 2, Name: "status", Type: text},
		{ID: 3, Name: "amount", Type: &rowdata.Type{Root: rowdata.Decimal, Precision: 10, Scale: 2}},
		{ID: 4, Name: "ts", Type: &rowdata.Type{Root: rowdata.Timestamp, Precision: 3}},
		{ID: 5, Name: "dt", Type: text},
	}
}

var ordersStatus = [...]string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "CANCELLED"}

func makeOrders(n int) []*rowdata.Vector {
	fields := ordersFields()
	v := make([]*rowdata.Vector, len(fields))
	for i := range fields {
		v[i] = rowdata.NewVector(fields[i].Type, n)
	}
	r := rand.New(rand.NewPCG(42, uint64(n)))
	id, now := int64(1_000_000), int64(1_764_000_000_000)
	for i := range n {
		id += 1 + r.Int64N(5)
		now += r.Int64N(40)
		kind := int32(0)
		if r.IntN(20) == 0 {
			kind = r.Int32N(4)
		}
		day := "2026-11-28"
		if i >= n/2 {
			day = "2026-11-29"
		}
		v[0].AppendI64(id)
		v[1].AppendI64(int64(i) + r.Int64N(1000))
		v[2].AppendI32(kind)
		v[3].AppendI64(id)
		v[4].AppendI64(1 + int64(r.ExpFloat64()*20_000))
		v[5].AppendString(ordersStatus[r.IntN(len(ordersStatus))])
		v[6].AppendI64(100 + r.Int64N(9_999_900))
		v[7].AppendI64(now - r.Int64N(1000))
		v[8].AppendString(day)
	}
	return v
}

var orders = sync.OnceValue(func() []*rowdata.Vector { return makeOrders(ordersRows) })

// writeAll writes all rows of cols into a file, batch rows a call.
func writeAll(t testing.TB, fields []rowdata.Field, cols []*rowdata.Vector, opts Options, batch int) ([]byte, []rowdata.ColumnStats) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, fields, opts)
	require.NoError(t, err)
	n := cols[0].Len()
	for at := 0; at < n; at += batch {
		require.NoError(t, w.Write(cols, at, min(n, at+batch)))
	}
	stats, err := w.Close()
	require.NoError(t, err)
	require.EqualValues(t, out.Len()-len(w.coder.head.buf), w.Size()-int64(len(w.coder.head.buf)))
	return out.Bytes(), stats
}

// meter reports rows per second of CPU, which a busy machine moves less than
// rows per second.
type meter struct {
	cpu  time.Duration
	wall time.Time
}

func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func startMeter() meter { return meter{cpuTime(), time.Now()} }

func (m meter) report(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)/time.Since(m.wall).Seconds(), "rows/s")
	if cpu := cpuTime() - m.cpu; cpu > 0 {
		b.ReportMetric(float64(rows)/cpu.Seconds(), "rows/cpu-s")
	}
	b.ReportMetric(0, "ns/op")
}

func BenchmarkWrite(b *testing.B) {
	for _, bb := range []struct {
		name string
		opts Options
	}{
		{"codec=zstd/ints=delta", Options{}},
		{"codec=zstd3/ints=delta", Options{ZstdLevel: 3}},
		{"codec=none/ints=delta", Options{Compression: "none"}},
		{"codec=zstd/ints=plain", Options{NoDelta: true, NoDictionary: true}},
		{"codec=zstd/ints=dictionary", Options{NoDelta: true}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			cols := orders()
			var out bytes.Buffer
			w, err := NewWriter(&out, ordersFields(), bb.opts)
			require.NoError(b, err)
			b.ReportAllocs()
			m := startMeter()
			for b.Loop() {
				out.Reset()
				w.Reset(&out)
				for at := 0; at < ordersRows; at += 4096 {
					if err := w.Write(cols, at, min(ordersRows, at+4096)); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			m.report(b, b.N*ordersRows)
			b.ReportMetric(float64(out.Len())/ordersRows, "bytes/row")
		})
	}
}
