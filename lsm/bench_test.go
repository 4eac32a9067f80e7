package lsm

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// BenchmarkWriterIngest buffers, sorts, folds and encodes rows in memory:
//
//   - orders9 is the table of the pipelines that the speed of ingest is measured
//     against: six columns, with the three system columns nine in a file, keys in
//     random order, a flush for each 250,000 rows.
//   - orders8 is a table of eight columns with a text of 20 to 60 characters that
//     hardly compresses, a flush for each 200,000 rows.
//   - textkeys has keys that begin alike, which their first 8 bytes do not tell
//     apart.
//
// Rates are per second of the processor.
func BenchmarkWriterIngest(b *testing.B) {
	for _, table := range []benchTable{orders9(1_000_000, 250_000), orders8(1_000_000, 200_000), textKeys(1_000_000, 200_000)} {
		for _, input := range []bool{false, true} {
			name := fmt.Sprintf("table=%s/producer=none", table.name)
			if input {
				name = fmt.Sprintf("table=%s/producer=input", table.name)
			}
			b.Run(name, func(b *testing.B) { benchIngest(b, table, input) })
		}
	}
}

type benchTable struct {
	name    string
	typ     *rowdata.RowType
	batches [][]*rowdata.Changes // by flush
	rows    int
}

func benchIngest(b *testing.B, table benchTable, input bool) {
	n := 0
	t := &Table{
		Layout: datafile.Layout{Schema: table.typ, Key: []int{0}}, Engine: merge.Engine{Keep: merge.Deduplicate{}}, Producer: producer.None{},
		Data:      Files{Name: func() string { n++; return "data-" + strconv.Itoa(n) }},
		Changelog: Files{Name: func() string { n++; return "changelog-" + strconv.Itoa(n) }},
	}
	if input {
		t.Producer = producer.Input{}
	}
	bucketer, err := rowdata.NewBucketer("", []*rowdata.Type{table.typ.Fields[0].Type}, 8)
	if err != nil {
		b.Fatal(err)
	}
	written := 0
	create := func(context.Context, string) (datafile.Sink, error) { return &discard{n: &written}, nil }
	pool := NewPool(1<<30, SpillOptions{})
	var buckets []int32
	ctx := b.Context()
	b.ReportAllocs()
	begin := cpuTime()
	for b.Loop() {
		w := NewWriter(t, pool, create, 0)
		for _, flush := range table.batches {
			for _, batch := range flush {
				buckets = bucketer.Buckets(buckets[:0], batch.Cols[:1], batch.N)
				if err := w.Append(ctx, batch, nil); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := w.Prepare(ctx); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(table.rows)*float64(b.N)/(cpuTime()-begin).Seconds(), "rows/cpu-s")
	b.ReportMetric(float64(written)/float64(table.rows)/float64(b.N), "B/row")
	b.ReportMetric(0, "ns/op")
}

// discard is a file that keeps its bytes as a store in memory would.
type discard struct {
	n   *int
	buf bytes.Buffer
}

func (d *discard) Write(p []byte) (int, error) { *d.n += len(p); return d.buf.Write(p) }
func (*discard) Finish(context.Context) error  { return nil }
func (*discard) Abort() error                  { return nil }

func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

const benchBatchRows = 1000

// split cuts rows into flushes of batches.
func split(all *rowdata.Changes, flushRows int) (out [][]*rowdata.Changes) {
	for at := 0; at < all.N; at += flushRows {
		var flush []*rowdata.Changes
		for from := at; from < min(at+flushRows, all.N); from += benchBatchRows {
			c := &rowdata.Changes{Batch: *rowdata.NewBatch(all.Type, benchBatchRows)}
			c.AppendRange(&all.Batch, from, min(from+benchBatchRows, at+flushRows, all.N))
			flush = append(flush, c)
		}
		out = append(out, flush)
	}
	return out
}

// orders9 has the rows of the plain pipelines: ids that ascend with gaps, users
// of a skewed distribution, a few statuses, amounts, times.
func orders9(n, flushRows int) benchTable {
	typ := rowType(bigintType, bigintType, textType, &rowdata.Type{Root: rowdata.Decimal, Precision: 10, Scale: 2},
		&rowdata.Type{Root: rowdata.Timestamp, Precision: 3}, textType)
	statuses := []string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "CANCELLED"}
	r := rand.New(rand.NewPCG(42, uint64(n)))
	sorted := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, n)}
	id, ts := int64(1_000_000), int64(1_764_000_000_000)
	for i := range n {
		id += 1 + r.Int64N(5)
		ts += r.Int64N(40)
		c := sorted.Cols
		c[0].AppendI64(id)
		c[1].AppendI64(1 + int64(r.ExpFloat64()*20_000))
		c[2].AppendString(statuses[r.IntN(len(statuses))])
		c[3].AppendI64(100 + r.Int64N(9_999_900))
		c[4].AppendI64(ts - r.Int64N(1000))
		c[5].AppendString([]string{"2026-11-28", "2026-11-29"}[i*2/n])
		sorted.CloseRow()
	}
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	shuffled := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, n)}
	shuffled.Gather(&sorted.Batch, order)
	return benchTable{name: "orders9", typ: typ, batches: split(shuffled, flushRows), rows: n}
}

// orders8 has the rows of the comparison with the original: random keys, a text
// of letters by their frequency, floating point numbers.
func orders8(n, flushRows int) benchTable {
	typ := rowType(bigintType, bigintType, textType, &rowdata.Type{Root: rowdata.Decimal, Precision: 12, Scale: 2}, textType,
		&rowdata.Type{Root: rowdata.Timestamp, Precision: 3}, &rowdata.Type{Root: rowdata.Double}, &rowdata.Type{Root: rowdata.Double})
	statuses := []string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED", "RETURNED", "CANCELLED", "LOST"}
	const letters = "eeeeeetttttaaaaooooiiiinnnnsssshhhrrrddllcumwfgypbvk           ."
	const gamma = 0x9E3779B97F4A7C15
	mix := func(z uint64) uint64 {
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return z ^ z>>31
	}
	all := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, n)}
	var note [64]byte
	for i := range uint64(n) {
		key := mix(42 + (i+1)*gamma)
		state := mix(mix(i^42) ^ key)
		next := func() uint64 { state += gamma; return mix(state) }
		bounded := func(n uint64) uint64 { return (next() >> 1) % n }
		c := all.Cols
		c[0].AppendI64(int64(key))
		c[1].AppendI64(int64(bounded(1_000_000)))
		c[2].AppendString(statuses[bounded(8)])
		c[3].AppendI64(int64(bounded(100_000_000)))
		text := note[:20+bounded(41)]
		var word uint64
		for k := range text {
			if k%8 == 0 {
				word = next()
			}
			text[k] = letters[word&63]
			word >>= 8
		}
		c[4].AppendBytes(text)
		c[5].AppendI64(1_764_000_000_000 + int64(i))
		c[6].AppendF64(float64(next()>>11) * math.Pow(2, -53))
		c[7].AppendF64(float64(bounded(10_000)) / 100)
		all.CloseRow()
	}
	return benchTable{name: "orders8", typ: typ, batches: split(all, flushRows), rows: n}
}

// textKeys has rows of a key such as customer-0000012345 and two numbers.
func textKeys(n, flushRows int) benchTable {
	typ := rowType(textType.AsNotNull(), bigintType, bigintType)
	r := rand.New(rand.NewPCG(42, uint64(n)))
	all := &rowdata.Changes{Batch: *rowdata.NewBatch(typ, n)}
	for i := range n {
		all.Cols[0].AppendString(fmt.Sprintf("customer-%010d", r.IntN(n)))
		all.Cols[1].AppendI64(int64(i))
		all.Cols[2].AppendI64(r.Int64N(1000))
		all.CloseRow()
	}
	return benchTable{name: "textkeys", typ: typ, batches: split(all, flushRows), rows: n}
}
