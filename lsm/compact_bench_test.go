package lsm

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/bench/orders"
	"sluice/lsm/merge"
	"sluice/paimon/datafile"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
	"sluice/producer"
)

// benchTree is files in memory.
type benchTree struct {
	layout datafile.Layout
	files  map[string][]byte
	names  int
}

type benchFile struct {
	bytes.Buffer
	to   *benchTree
	name string
}

func (f *benchFile) Finish(context.Context) error { f.to.files[f.name] = f.Bytes(); return nil }
func (f *benchFile) Abort() error                 { return nil }

func (f *benchTree) create(_ context.Context, name string) (datafile.Sink, error) {
	return &benchFile{to: f, name: name}, nil
}

func (f *benchTree) open(_ context.Context, file *File) (merge.Source, error) {
	data := f.files[file.FileName]
	return datafile.Open(bytes.NewReader(data), int64(len(data)), file.FileName, datafile.ReadSpec{
		Want: f.layout.Schema, File: f.layout.Schema, System: true,
	})
}

func (f *benchTree) name() string { f.names++; return fmt.Sprint("data-", f.names) }

// ordersType is the row type of package orders.
func ordersType(b testing.TB) *rowdata.RowType {
	t := &rowdata.RowType{}
	for i, f := range orders.Fields() {
		name, typ, _ := bytes.Cut([]byte(f), []byte(" "))
		parsed, err := rowdata.ParseType(string(typ))
		require.NoError(b, err)
		t.Fields = append(t.Fields, rowdata.Field{ID: i, Name: string(name), Type: parsed})
	}
	return t
}

// writeRun writes the rows of sorted key indexes as a file of a level.
func (f *benchTree) writeRun(b testing.TB, keys []int64, seq int64, level int32) []manifest.DataFile {
	w := datafile.NewRollingWriter(f.create, f.name, f.layout, datafile.Options{Level: level})
	kv := rowdata.NewKeyValues(f.layout.Schema, 0)
	for i, key := range keys {
		orders.Append(&kv.Batch, orders.Seed, key, uint64(seq)+uint64(i))
		kv.Seq, kv.Kinds = append(kv.Seq, seq+int64(i)), append(kv.Kinds, rowdata.Insert)
		if kv.N == 4096 || i == len(keys)-1 {
			require.NoError(b, w.Write(b.Context(), kv, 0, kv.N))
			kv.Reset()
		}
	}
	files, err := w.Close(b.Context())
	require.NoError(b, err)
	return files
}

func (f *benchTree) job(p producer.Producer) *Job {
	return &Job{
		Layout: f.layout, Engine: merge.Engine{Keep: merge.Deduplicate{}}, Resolver: p,
		Data: Files{Name: f.name}, Changelog: Files{Name: f.name}, Create: f.create, Open: f.open,
	}
}

// BenchmarkCompact merges 8 runs of 500,000 rows of which a fifth are older
// versions. Rows are counted as they go in.
func BenchmarkCompact(b *testing.B) {
	const runs, rows = 8, 500_000
	f := &benchTree{layout: datafile.Layout{Schema: ordersType(b), Key: []int{0}}, files: map[string][]byte{}}
	r := rand.New(rand.NewPCG(11, 11))
	parts := make([][]int64, runs)
	for i := range uint64(runs * rows * 4 / 5) {
		key, first := orders.Key(orders.Seed, i), r.IntN(runs)
		parts[first] = append(parts[first], key)
		if r.IntN(4) == 0 {
			parts[(first+1+r.IntN(runs-1))%runs] = append(parts[(first+1+r.IntN(runs-1))%runs], key)
		}
	}
	var files []manifest.DataFile
	for i, keys := range parts {
		slices.Sort(keys)
		files = append(files, f.writeRun(b, slices.Compact(keys), int64(i*rows*2), 0)...)
	}
	levels, err := NewLevels(f.layout.Schema.Project([]int{0}), 6, files)
	require.NoError(b, err)
	pick, ok := PickFull(levels.Runs(), levels.Top(), nil)
	require.True(b, ok)
	for _, p := range []struct {
		name string
		p    producer.Producer
	}{
		{"none", producer.None{}},
		{"full", producer.NewFullCompaction(producer.Options{Engine: merge.Engine{Keep: merge.Deduplicate{}}, Key: []int{0}})},
	} {
		b.Run("runs=8/producer="+p.name, func(b *testing.B) {
			b.ReportAllocs()
			in, begin := int64(0), cpuTime()
			for b.Loop() {
				c := NewCompaction(levels.Runs(), levels.Top(), pick, p.p, CompactionOptions{SmallBytes: 1 << 40})
				result, err := c.Run(b.Context(), f.job(p.p))
				require.NoError(b, err)
				in += result.Stats.RowsIn
				for _, made := range slices.Concat(result.After, result.Changelog) {
					delete(f.files, made.FileName)
				}
			}
			b.ReportMetric(float64(in)/(cpuTime()-begin).Seconds(), "rows/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// mapPrevious is a state in memory, by key.
type mapPrevious struct {
	kv *rowdata.KeyValues
	at map[int64]int32
}

func (p *mapPrevious) Lookup(_ context.Context, b *rowdata.Batch, rows []int32, dst *rowdata.KeyValues, found []int32) error {
	hits := make([]int32, 0, len(rows))
	keys := b.Cols[0].I64
	for i, row := range rows {
		found[i] = -1
		if at, ok := p.at[keys[row]]; ok {
			found[i] = int32(len(hits))
			hits = append(hits, at)
		}
	}
	dst.Gather(p.kv, hits)
	return nil
}

// BenchmarkResolve resolves a batch of lone records of level 0, half of whose keys
// have a record above it that is looked up in memory.
func BenchmarkResolve(b *testing.B) {
	const rows = 4096
	typ := ordersType(b)
	g := merge.NewGroups(typ, merge.Plan{Output: 4, Top: 5, Above: true})
	prev := &mapPrevious{kv: rowdata.NewKeyValues(typ, rows), at: map[int64]int32{}}
	var keys []int64
	for i := range uint64(rows) {
		keys = append(keys, orders.Key(orders.Seed, i))
	}
	slices.Sort(keys)
	for i, key := range keys {
		if i%2 == 0 {
			prev.at[key] = int32(prev.kv.N)
			orders.Append(&prev.kv.Batch, orders.Seed, key, uint64(i))
			prev.kv.Seq, prev.kv.Kinds = append(prev.kv.Seq, int64(i)), append(prev.kv.Kinds, rowdata.Insert)
		}
		orders.Append(&g.Records.Batch, orders.Seed, key, uint64(i+rows))
		g.Records.Seq, g.Records.Kinds = append(g.Records.Seq, int64(i+rows)), append(g.Records.Kinds, rowdata.Insert)
		g.Levels, g.Ends = append(g.Levels, 0), append(g.Ends, int32(i+1))
	}
	for _, dedup := range []bool{false, true} {
		b.Run(fmt.Sprintf("producer=lookup/row-deduplicate=%t", dedup), func(b *testing.B) {
			p := producer.NewLookup(producer.Options{Engine: merge.Engine{Keep: merge.Deduplicate{}}, Key: []int{0}, RowDeduplicate: dedup}, prev)
			out := merge.NewResult(typ)
			b.ReportAllocs()
			begin := cpuTime()
			for b.Loop() {
				if err := p.Resolve(b.Context(), g, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/(cpuTime()-begin).Seconds(), "rows/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkCompactStraight merges a buffer of 100,000 rows above level 0: sorted,
// looked up in memory, where half of the keys are, written to a data file and as
// pairs to a changelog file; or as many rows in 4 files of level 0.
func BenchmarkCompactStraight(b *testing.B) {
	const rows = 100_000
	f := &benchTree{layout: datafile.Layout{Schema: ordersType(b), Key: []int{0}}, files: map[string][]byte{}}
	prev := &mapPrevious{kv: rowdata.NewKeyValues(f.layout.Schema, rows), at: map[int64]int32{}}
	input := &rowdata.Changes{Batch: *rowdata.NewBatch(f.layout.Schema, rows)}
	keys := make([][]int64, 4)
	for i := range uint64(rows) {
		key := orders.Key(orders.Seed, i)
		if i%2 == 0 {
			prev.at[key] = int32(prev.kv.N)
			orders.Append(&prev.kv.Batch, orders.Seed, key, i)
			prev.kv.Seq, prev.kv.Kinds = append(prev.kv.Seq, int64(i)), append(prev.kv.Kinds, rowdata.Insert)
		}
		orders.Append(&input.Batch, orders.Seed, key, i+rows)
		keys[i%4] = append(keys[i%4], key)
	}
	engine := merge.Engine{Keep: merge.Deduplicate{}}
	p := producer.NewLookup(producer.Options{Engine: engine, Key: []int{0}}, prev)
	top, err := NewLevels(f.layout.Schema.Project([]int{0}), 6, f.writeRun(b, []int64{-1 << 62, 1 << 62}, 0, 5))
	require.NoError(b, err)

	run := func(b *testing.B, runs []Run, n int) {
		c := NewCompaction(runs, 5, Pick{Runs: n, Output: 4}, p, CompactionOptions{SmallBytes: 1 << 40})
		result, err := c.Run(b.Context(), f.job(p))
		require.NoError(b, err)
		require.Equal(b, int64(rows*3/2), result.Stats.ChangelogRows)
		for _, made := range slices.Concat(result.After, result.Changelog) {
			delete(f.files, made.FileName)
		}
	}
	b.Run("rows=100k/buffer", func(b *testing.B) {
		table := &Table{Layout: f.layout, Producer: producer.None{}, Engine: engine}
		pool := NewPool(1<<30, SpillOptions{})
		w := NewWriter(table, pool, f.create, 0)
		b.ReportAllocs()
		begin := cpuTime()
		for b.Loop() {
			require.NoError(b, w.Append(b.Context(), input, nil))
			buffer, err := w.Detach(b.Context())
			require.NoError(b, err)
			run(b, append([]Run{buffer.Run()}, top.Runs()...), 1)
			buffer.Release()
		}
		b.ReportMetric(float64(rows)*float64(b.N)/(cpuTime()-begin).Seconds(), "rows/cpu-s")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("rows=100k/runs=4", func(b *testing.B) {
		var files []manifest.DataFile
		for i, part := range keys {
			slices.Sort(part)
			files = append(files, f.writeRun(b, part, int64(rows+i*rows), 0)...)
		}
		require.NoError(b, top.Update(nil, files))
		b.ReportAllocs()
		begin := cpuTime()
		for b.Loop() {
			run(b, top.Runs(), 4)
		}
		b.ReportMetric(float64(rows)*float64(b.N)/(cpuTime()-begin).Seconds(), "rows/cpu-s")
		b.ReportMetric(0, "ns/op")
	})
}
