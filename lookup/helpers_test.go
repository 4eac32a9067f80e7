package lookup

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/paimon/rowdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func typ(t testing.TB, text string) *rowdata.Type {
	t.Helper()
	x, err := rowdata.ParseType(text)
	require.NoError(t, err)
	return x
}

// orders is the row type of most tests: the key is column 0.
func orders(t testing.TB) *rowdata.RowType {
	return &rowdata.RowType{Fields: []rowdata.Field{
		{ID: 0, Name: "id", Type: typ(t, "BIGINT NOT NULL")},
		{ID: 1, Name: "customer", Type: typ(t, "STRING")},
		{ID: 2, Name: "amount", Type: typ(t, "DECIMAL(12, 2)")},
		{ID: 3, Name: "status", Type: typ(t, "STRING")},
		{ID: 4, Name: "at", Type: typ(t, "TIMESTAMP(3)")},
	}}
}

func orderSpec(t testing.TB) Spec { return Spec{Row: orders(t), Key: []int{0}} }

// putOrder appends an order whose values follow from id and version.
func putOrder(kv *rowdata.KeyValues, id int64, version int64, kind rowdata.RowKind) {
	kv.Cols[0].AppendI64(id)
	kv.Cols[1].AppendString(fmt.Sprintf("customer-%d", (id*7919+version)%10_000))
	if (id+version)%17 == 0 {
		kv.Cols[2].AppendNull()
	} else {
		kv.Cols[2].AppendI64((id*31 + version*17) % 1_000_000)
	}
	kv.Cols[3].AppendString([]string{"new", "paid", "sent"}[version%3])
	kv.Cols[4].AppendI64(1_700_000_000_000 + id + version)
	kv.Kinds = append(kv.Kinds, kind)
	kv.Seq = append(kv.Seq, version)
	kv.CloseRow()
}

// model is what an index should hold: the version of each key.
type model map[int64]int64

func (m model) keys() []int64 {
	ids := make([]int64, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (m model) clone() model {
	c := model{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

// records returns the records of the model, in key order.
func (m model) records(t testing.TB) *rowdata.KeyValues {
	kv := rowdata.NewKeyValues(orders(t), len(m))
	for _, id := range m.keys() {
		putOrder(kv, id, m[id], kindOf(m[id]))
	}
	return kv
}

func kindOf(version int64) rowdata.RowKind {
	if version%11 == 10 {
		return rowdata.Delete
	}
	return rowdata.Insert
}

// slowSource hands out records a few at a time.
type slowSource struct {
	kv   *rowdata.KeyValues
	at   int
	step int
}

func (s *slowSource) Next(dst *rowdata.KeyValues) (int, error) {
	dst.Reset()
	to := min(s.at+s.step, s.kv.N)
	if s.at == to {
		return 0, io.EOF
	}
	dst.AppendRange(s.kv, s.at, to)
	n := to - s.at
	s.at = to
	return n, nil
}

// stageOf puts changes into a stage: version < 0 deletes.
func fill(t testing.TB, s *Stage, changes model) {
	t.Helper()
	kv := rowdata.NewKeyValues(orders(t), 1)
	for _, id := range changes.keys() {
		kv.Reset()
		v := changes[id]
		putOrder(kv, id, max(v, 0), kindOf(max(v, 0)))
		if v < 0 {
			require.NoError(t, s.Delete(&kv.Batch, []int32{0}))
		} else {
			require.NoError(t, s.Put(kv, 0, 1))
		}
	}
}

// apply brings changes into the model.
func (m model) apply(changes model) {
	for id, v := range changes {
		if v < 0 {
			delete(m, id)
		} else {
			m[id] = v
		}
	}
}

// find looks up keys from..to (exclusive) and returns an index's answer.
func find(t testing.TB, x *Index, ids []int64) (model, error) {
	t.Helper()
	b := rowdata.NewKeyValues(orders(t), len(ids))
	rows := make([]int32, len(ids))
	for i, id := range ids {
		putOrder(b, id, 0, rowdata.Insert)
		rows[i] = int32(i)
	}
	dst := rowdata.NewKeyValues(orders(t), 0)
	found := make([]int32, len(ids))
	if err := x.Lookup(t.Context(), &b.Batch, rows, dst, found); err != nil {
		return nil, err
	}
	got := model{}
	want := rowdata.NewKeyValues(orders(t), 0)
	for i, id := range ids {
		if found[i] < 0 {
			continue
		}
		at := int(found[i])
		version := dst.Seq[at]
		got[id] = version
		want.Reset()
		putOrder(want, id, version, kindOf(version))
		require.Equal(t, want.Kinds[0], dst.Kinds[at])
		for c := range want.Cols {
			require.Truef(t, rowdata.Equal(want.Cols[c], 0, dst.Cols[c], at), "key %d version %d column %d", id, version, c)
		}
	}
	return got, nil
}

func ids(from, to int64) []int64 {
	out := make([]int64, 0, to-from)
	for id := from; id < to; id++ {
		out = append(out, id)
	}
	return out
}

func openCache(t testing.TB, o Options) *Cache {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	c, err := OpenCache(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func openIndex(t testing.TB, c *Cache, id ID) *Index {
	t.Helper()
	x, err := c.Open(t.Context(), id, orderSpec(t))
	require.NoError(t, err)
	return x
}

var testID = ID{Table: "5a9c", Branch: "main", Partition: "dt=1/", Bucket: 3}

func stateOf(snapshot int64) State {
	return State{Snapshot: snapshot, Files: Fingerprint(slices.Values([]string{fmt.Sprint("data-", snapshot)}))}
}

func memOptions() Options { return Options{Dir: "cache", fs: vfs.NewMem()} }
