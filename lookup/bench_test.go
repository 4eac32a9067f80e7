package lookup

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

// cpuTime returns what the process has used so far, background work included.
func cpuTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func reportRows(b *testing.B, rows int, cpu time.Duration) {
	b.ReportMetric(float64(rows)/cpu.Seconds(), "rows/cpu-s")
	b.ReportMetric(0, "ns/op")
}

// benchRow appends an order of about 60 bytes.
func benchRow(kv *rowdata.KeyValues, rng *rand.Rand, id int64, seq int64) {
	kv.Cols[0].AppendI64(id)
	kv.Cols[1].Data = strconv.AppendInt(append(kv.Cols[1].Data, "customer-"...), rng.Int64N(100_000), 10)
	kv.Cols[1].Offs = append(kv.Cols[1].Offs, uint32(len(kv.Cols[1].Data)))
	kv.Cols[1].SetLen(len(kv.Cols[1].Offs) - 1)
	kv.Cols[2].AppendI64(rng.Int64N(1_000_000))
	kv.Cols[3].AppendString([]string{"new", "paid", "sent", "returned"}[rng.IntN(4)])
	kv.Cols[4].AppendI64(1_700_000_000_000 + id)
	kv.Kinds = append(kv.Kinds, rowdata.Insert)
	kv.Seq = append(kv.Seq, seq)
	kv.CloseRow()
}

// series hands out n records with ids first, first+step, ...
type series struct {
	rng               *rand.Rand
	first, step, n, i int64
}

func (s *series) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	for dst.N < rebuildRows && s.i < s.n {
		benchRow(dst, s.rng, s.first+s.i*s.step, s.i)
		s.i++
	}
	if dst.N == 0 {
		return 0, io.EOF
	}
	return dst.N, nil
}

// replay hands out the same batch again and again with ids that go on, so that
// making rows is not measured.
type replay struct {
	kv   *rowdata.KeyValues
	at   int64
	n    int64
	step int64
}

func (s *replay) Next(dst *rowdata.KeyValues) (int, error) {
	if s.at == s.n {
		return 0, io.EOF
	}
	n := int(min(int64(s.kv.N), s.n-s.at))
	dst.Reset()
	dst.AppendRange(s.kv, 0, n)
	for i := range n {
		dst.Cols[0].I64[i] = (s.at + int64(i)) * s.step
	}
	s.at += int64(n)
	return n, nil
}

func replayOf(b *testing.B, n, step int64) *replay {
	rng := rand.New(rand.NewPCG(3, 4))
	kv := rowdata.NewKeyValues(orders(b), rebuildRows)
	for i := range int64(rebuildRows) {
		benchRow(kv, rng, i, i)
	}
	return &replay{kv: kv, n: n, step: step}
}

const benchKeys = 1_000_000

// BenchmarkRebuild loads 1 M keys.
func BenchmarkRebuild(b *testing.B) {
	c := openCache(b, Options{})
	x := openIndex(b, c, testID)
	var cpu time.Duration
	for b.Loop() {
		src := replayOf(b, benchKeys, 1)
		t := cpuTime()
		require.NoError(b, x.Rebuild(b.Context(), stateOf(1), src, nil))
		cpu += cpuTime() - t
	}
	reportRows(b, benchKeys*b.N, cpu)
	b.ReportMetric(float64(x.Stats().DiskBytes)/benchKeys, "disk-B/key")
}

// draw fills ids with distinct sorted keys.
func draw(rng *rand.Rand, ids []int64, one func(i int) int64) []int64 {
	for i := range ids {
		ids[i] = one(i)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// BenchmarkLookup looks up sorted batches in a loaded index of 1 M keys.
func BenchmarkLookup(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 50_000} {
		for _, kind := range []string{"hit", "miss", "half"} {
			b.Run(fmt.Sprintf("batch=%d/%s", size, kind), func(b *testing.B) {
				c := openCache(b, Options{})
				x := openIndex(b, c, testID)
				require.NoError(b, x.Rebuild(b.Context(), stateOf(1), replayOf(b, benchKeys, 2), nil))
				rng := rand.New(rand.NewPCG(1, 2))
				kv, dst := rowdata.NewKeyValues(orders(b), size), rowdata.NewKeyValues(orders(b), size)
				rows, found := make([]int32, size), make([]int32, size)
				keys := make([]int64, size)
				n := 0
				var cpu time.Duration
				b.ReportAllocs()
				for b.Loop() {
					keys = draw(rng, keys[:size], func(i int) int64 {
						id := rng.Int64N(benchKeys) * 2
						if kind == "miss" || kind == "half" && i&1 == 1 {
							id++
						}
						return id
					})
					kv.Reset()
					for i, id := range keys {
						benchRow(kv, rng, id, 0)
						rows[i] = int32(i)
					}
					dst.Reset()
					t := cpuTime()
					if err := x.Lookup(b.Context(), &kv.Batch, rows[:len(keys)], dst, found[:len(keys)]); err != nil {
						b.Fatal(err)
					}
					cpu += cpuTime() - t
					n += len(keys)
				}
				reportRows(b, n, cpu)
			})
		}
	}
}

// BenchmarkTurns does what a table does: look up a batch, stage the new rows,
// commit. Half the keys are new as long as the index grows to 1 M keys (grow), or
// half are found in an index that stays at 1 M keys (stay: what is put for a new
// key is deleted two turns later). Writing out and compacting is included.
func BenchmarkTurns(b *testing.B) {
	for _, mode := range []string{"grow", "stay"} {
		for _, size := range []int{1_000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/batch=%d", mode, size), func(b *testing.B) {
				rows, written, t := 0, int64(0), turnTimes{}
				for b.Loop() {
					r, w, d := turns(b, mode, size)
					rows, written = rows+r, written+w
					t.look, t.stage, t.commit, t.all = t.look+d.look, t.stage+d.stage, t.commit+d.commit, t.all+d.all
				}
				reportRows(b, rows, t.all)
				b.ReportMetric(float64(t.look.Nanoseconds())/float64(rows), "lookup-ns/row")
				b.ReportMetric(float64(t.stage.Nanoseconds())/float64(rows), "stage-ns/row")
				b.ReportMetric(float64(t.commit.Nanoseconds())/float64(rows), "commit-ns/row")
				b.ReportMetric(float64(written)/float64(rows), "written-B/row")
			})
		}
	}
}

type turnTimes struct{ look, stage, commit, all time.Duration }

func turns(b *testing.B, mode string, size int) (rows int, written int64, t turnTimes) {
	c := openCache(b, Options{})
	x := openIndex(b, c, testID)
	start, total := int64(0), 2*benchKeys
	if mode == "stay" {
		start, total = benchKeys, benchKeys
	}
	require.NoError(b, x.Rebuild(b.Context(), stateOf(1), replayOf(b, start, 1), nil))
	perm := func(i int64) int64 { return (i * 7_368_787) % (4 * benchKeys) } // spreads new keys
	_ = perm
	rng := rand.New(rand.NewPCG(1, 2))
	kv, dst := rowdata.NewKeyValues(orders(b), size), rowdata.NewKeyValues(orders(b), size)
	order, found := make([]int32, size), make([]int32, size)
	keys := make([]int64, size)
	known := make([]int64, 0, benchKeys)
	for i := range start {
		known = append(known, i)
	}
	old := [2][]int64{}
	before := c.Stats().BytesWritten
	for turn := 0; rows < total; turn++ {
		fresh := []int64{}
		keys = draw(rng, keys[:size], func(i int) int64 {
			if i&1 == 0 && len(known) > 0 {
				return known[rng.IntN(len(known))]
			}
			id := rng.Int64N(1<<40) | 1<<41
			if mode == "stay" {
				id = rng.Int64N(benchKeys) // beside existing ones: made unique below
				id = id | (1+rng.Int64N(1<<20))<<21
			}
			fresh = append(fresh, id)
			return id
		})
		kv.Reset()
		for i, id := range keys {
			benchRow(kv, rng, id, int64(turn))
			order[i] = int32(i)
		}
		dst.Reset()
		t0 := cpuTime()
		if err := x.Lookup(b.Context(), &kv.Batch, order[:kv.N], dst, found[:kv.N]); err != nil {
			b.Fatal(err)
		}
		t1 := cpuTime()
		s := x.NewStage()
		if err := s.Put(kv, 0, kv.N); err != nil {
			b.Fatal(err)
		}
		if gone := old[turn&1]; mode == "stay" && len(gone) > 0 {
			// not measured as rows
			g := rowdata.NewKeyValues(orders(b), len(gone))
			slices.Sort(gone)
			for _, id := range gone {
				benchRow(g, rng, id, 0)
			}
			if err := s.Delete(&g.Batch, seq32(g.N)); err != nil {
				b.Fatal(err)
			}
		}
		t2 := cpuTime()
		if err := s.Commit(b.Context(), stateOf(int64(turn))); err != nil {
			b.Fatal(err)
		}
		t3 := cpuTime()
		t.look, t.stage, t.commit, t.all = t.look+t1-t0, t.stage+t2-t1, t.commit+t3-t2, t.all+t3-t0
		rows += kv.N
		if mode == "grow" {
			known = append(known, fresh...)
		}
		old[turn&1] = fresh
	}
	t0 := cpuTime()
	require.NoError(b, x.Close())
	t.all += cpuTime() - t0
	written = c.Stats().BytesWritten - before
	return rows, written, t
}

func seq32(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}
