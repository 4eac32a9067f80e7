package lookup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/paimon/rowdata"
)

// TestPages: what is put into a page is found there, and nothing else is.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(-1, 12).Draw(t, "width")
		keys := map[string]loc{}
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			n := width
			if width < 0 {
				n = rapid.IntRange(0, 5).Draw(t, "length")
			}
			key := append([]byte{dataPrefix}, rapid.SliceOfN(rapid.ByteRange(0, 3), n, n).Draw(t, "key")...)
			l := loc{rapid.Uint64Max(1<<50).Draw(t, "addr"), rapid.Uint32().Draw(t, "size")}
			if l.size == 0 {
				l = loc{}
			}
			keys[string(key)] = l
		}
		var b pageBuilder
		for _, k := range slices.Sorted(func(yield func(string) bool) {
			for k := range keys {
				if !yield(k) {
					return
				}
			}
		}) {
			b.add([]byte(k), keys[k])
		}
		var p page
		require.True(t, decodePage(b.encode(nil, b.len()), &p))
		require.Equal(t, b.len(), p.n)
		for i := range p.n {
			require.Equal(t, b.key(i), p.appendKey(nil, i))
			require.Equal(t, b.locs[i], p.loc(i))
		}
		for range 20 {
			n := max(width, rapid.IntRange(0, 6).Draw(t, "length"))
			key := append([]byte{dataPrefix}, rapid.SliceOfN(rapid.ByteRange(0, 4), n, n).Draw(t, "probe")...)
			at, found := p.seek(0, key)
			_, want := keys[string(key)]
			require.Equal(t, want, found)
			if at > 0 {
				require.Negative(t, bytes.Compare(b.key(at-1), key))
			}
			if at < p.n {
				require.GreaterOrEqual(t, bytes.Compare(b.key(at), key), 0)
			}
			from := rapid.IntRange(0, at).Draw(t, "from")
			again, found2 := p.seek(from, key)
			require.Equal(t, at, again)
			require.Equal(t, found, found2)
		}
	})
}

// FuzzPage: any bytes are a page that can be read, or none.
func FuzzPage(f *testing.F) {
	var b pageBuilder
	b.add([]byte("\x01abc"), loc{1 << 40, 7})
	b.add([]byte("\x01abd"), loc{1<<40 + 9, 70_000})
	f.Add(b.encode(nil, 2))
	b.add([]byte("\x01b"), loc{})
	f.Add(b.encode(nil, 3))
	f.Add(b.encode(nil, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p page
		if !decodePage(data, &p) {
			return
		}
		for i := range p.n {
			p.appendKey(nil, i)
			p.loc(i)
		}
		p.seek(0, data)
	})
}

// FuzzFrame: any bytes are records, a header or a commit, or none.
func FuzzFrame(f *testing.F) {
	rec, _ := appendRecord(nil, 0, []byte("\x01key"), []byte("value"), false)
	rec, _ = appendRecord(rec, 0, []byte("\x01kez"), nil, true)
	f.Add(rec)
	frame := make([]byte, frameHeader)
	header{frameCommit, commitBytes, 5}.put(frame, 3)
	f.Add(commit{1, 2, State{Snapshot: 9}}.append(frame, 3))
	m := meta{ordinal: 3, extents: []extent{{1, 2, 3}, {4, 5, 6}}}
	f.Add(m.append(nil, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		for at := 0; at < len(data); {
			_, next, ok := nextRecord(data, at)
			if !ok {
				break
			}
			require.Greater(t, next, at)
			at = next
		}
		decodeHeader(data, 3)
		decodeCommit(data, 3)
		decodeMeta(data, 3)
	})
}

// TestKeyOrder: keys of every type that can be one compare as the rows do.
func TestKeyOrder(t *testing.T) {
	types := []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(18, 3)", "DECIMAL(38, 10)",
		"DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "CHAR(3)", "STRING", "BINARY(2)", "VARBINARY(9)", "BYTES",
	}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		row := &rowdata.RowType{}
		var keys []int
		for i := range 1 + rng.IntN(4) {
			text := types[rng.IntN(len(types))]
			if rng.IntN(2) == 0 {
				text += " NOT NULL"
			}
			row.Fields = append(row.Fields, rowdata.Field{ID: i, Name: fmt.Sprint("c", i), Type: typ(t, text)})
			keys = append(keys, i)
		}
		rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		kv := rowdata.NewKeyValues(row, 0)
		for range 40 {
			for i, f := range row.Fields {
				appendRandom(rng, kv.Cols[i], f.Type)
			}
			kv.Seq, kv.Kinds = append(kv.Seq, 0), append(kv.Kinds, rowdata.Insert)
			kv.CloseRow()
		}
		codec := newKeyCodec(Spec{Row: row, Key: keys})
		order := rowdata.NewComparer(keys)
		encoded := make([][]byte, kv.N)
		for i := range kv.N {
			var err error
			encoded[i], err = codec.append(nil, kv.Cols, i)
			require.NoError(t, err)
		}
		for i := range kv.N {
			for j := range kv.N {
				want := order.Compare(&kv.Batch, i, &kv.Batch, j)
				require.Equal(t, cmp.Compare(want, 0), bytes.Compare(encoded[i], encoded[j]), "seed %d: %v rows %d, %d", seed, row, i, j)
			}
		}
	}
}

// appendRandom appends one of few values, so that there are equal ones.
func appendRandom(rng *rand.Rand, v *rowdata.Vector, t *rowdata.Type) {
	if !t.NotNull && rng.IntN(4) == 0 {
		v.AppendNull()
		return
	}
	small := []int64{-128, -3, -1, 0, 1, 2, 127}[rng.IntN(7)]
	switch v.Storage() {
	case rowdata.StoreI64:
		v.AppendI64(small << (8 * rng.IntN(4)))
	case rowdata.StoreI32:
		if t.Root == rowdata.Boolean {
			v.AppendI32(int32(rng.IntN(2)))
		} else {
			v.AppendI32(int32(small))
		}
	case rowdata.StoreF32:
		v.AppendF32(float32(small) / 4)
	case rowdata.StoreF64:
		v.AppendF64(float64(small) / 8)
	case rowdata.StoreI128:
		x, _ := rowdata.Int128FromBytes([]byte{byte(small), byte(rng.IntN(2)), byte(rng.IntN(2))})
		v.AppendI128(x)
	case rowdata.StoreNanos:
		v.AppendTimestamp(small, int32(rng.IntN(3)))
	case rowdata.StoreBytes:
		b := make([]byte, rng.IntN(4))
		for i := range b {
			b[i] = []byte{0, 1, 'a', 255}[rng.IntN(4)]
		}
		v.AppendBytes(b)
	}
}

// TestLogIsCleaned: keys that are written again and again do not make the log grow
// without end, and stay right.
func TestLogIsCleaned(t *testing.T) {
	fs := vfs.NewMem()
	limits := logLimits{segmentMin: 64 << 10, garbageMin: 128 << 10, tailMax: 200 << 10, pagesApart: 3}
	c := openCache(t, Options{Dir: "cache", RecentBytes: 64 << 10, fs: fs, log: limits})
	row := &rowdata.RowType{Fields: []rowdata.Field{
		{ID: 0, Name: "id", Type: typ(t, "BIGINT NOT NULL")}, {ID: 1, Name: "text", Type: typ(t, "BYTES")},
	}}
	x, err := c.Open(t.Context(), testID, Spec{Row: row, Key: []int{0}})
	require.NoError(t, err)
	const keys, rounds = 400, 300
	rng := rand.New(rand.NewPCG(1, 1))
	want := map[int64]int64{}
	most := int64(0)
	for round := range int64(rounds) {
		kv := rowdata.NewKeyValues(row, 0)
		for id := range int64(keys) {
			if rng.IntN(3) == 0 || round == 0 {
				putText(kv, id, round)
				want[id] = round
			}
		}
		s := x.NewStage()
		require.NoError(t, s.Put(kv, 0, kv.N))
		require.NoError(t, s.Commit(t.Context(), stateOf(round)))
		size, _ := x.log.sizes()
		most = max(most, size)
	}
	require.NoError(t, x.Flush(t.Context()))
	_, live := x.log.sizes()
	require.Equal(t, int64(keys)*recordBytes(9, textBytes+1+4+uvarintLen(textBytes)), live-pageRecords(t, x)+seqSlack(want), "live bytes")
	require.Less(t, most, live*3/2+limits.garbageMin+2*limits.tailMax)
	names, err := fs.List(x.logDir())
	require.NoError(t, err)
	require.NotContains(t, names, segmentName(1), "the first segment is still there")
	checkTexts(t, x, row, want)
	require.NoError(t, x.Close())
	x, err = c.Open(t.Context(), testID, Spec{Row: row, Key: []int{0}})
	require.NoError(t, err)
	checkTexts(t, x, row, want)
}

// pageRecords returns what pages take in the log.
func pageRecords(t *testing.T, x *Index) (n int64) {
	t.Helper()
	x.setResident(nil)
	require.NoError(t, x.hold(t.Context()))
	for i, l := range x.inMemory.locs {
		n += recordBytes(len(x.inMemory.fences[i]), int(l.size))
	}
	require.Positive(t, n)
	return n
}

const textBytes = 512

func putText(kv *rowdata.KeyValues, id, version int64) {
	kv.Cols[0].AppendI64(id)
	kv.Cols[1].AppendBytes(bytes.Repeat([]byte{byte(id), byte(version), byte(version >> 8), 7}, textBytes/4))
	kv.Kinds, kv.Seq = append(kv.Kinds, rowdata.Insert), append(kv.Seq, version)
	kv.CloseRow()
}

// seqSlack is what sequence numbers take less than three bytes in values.
func seqSlack(want map[int64]int64) int64 {
	n := int64(0)
	for _, v := range want {
		n += int64(4 - uvarintLen(uint64(v)))
	}
	return n
}

func checkTexts(t *testing.T, x *Index, row *rowdata.RowType, want map[int64]int64) {
	t.Helper()
	keys := rowdata.NewKeyValues(row, 0)
	var rows, found []int32
	for id := range int64(len(want)) {
		putText(keys, id, 0)
		rows, found = append(rows, int32(id)), append(found, -1)
	}
	dst := rowdata.NewKeyValues(row, 0)
	require.NoError(t, x.Lookup(context.WithoutCancel(t.Context()), &keys.Batch, rows, dst, found))
	for id := range int64(len(want)) {
		require.GreaterOrEqual(t, found[id], int32(0))
		require.Equal(t, want[id], dst.Seq[found[id]])
		require.Equal(t, byte(want[id]), dst.Cols[1].Bytes(int(found[id]))[1])
	}
}
