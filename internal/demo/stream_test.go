package demo

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func ordersType(t *testing.T) *rowdata.RowType {
	t.Helper()
	var rt rowdata.RowType
	for i, f := range []struct{ name, typ string }{
		{"id", "BIGINT NOT NULL"},
		{"customer", "STRING NOT NULL"},
		{"status", "STRING NOT NULL"},
		{"amount", "DECIMAL(10, 2) NOT NULL"},
		{"items", "INT NOT NULL"},
		{"note", "STRING"},
		{"updated_at", "TIMESTAMP(3) NOT NULL"},
	} {
		typ, err := rowdata.ParseType(f.typ)
		require.NoError(t, err)
		rt.Fields = append(rt.Fields, rowdata.Field{ID: i, Name: f.name, Type: typ})
		require.Equal(t, f.name+" "+f.typ, Fields()[i])
	}
	return &rt
}

func empty() (*rowdata.Batch, error) { return nil, io.EOF }

func clock() time.Time { return time.UnixMilli(1_800_000_000_000) }

// fold applies changes to a map and checks that each one fits what is there.
func fold(t *testing.T, table map[int64]order, c *rowdata.Changes) {
	t.Helper()
	for i := range c.N {
		o := orderAt(&c.Batch, i)
		old, exists := table[o.id]
		kind := c.Kind(i)
		switch {
		case kind == rowdata.Insert && !exists, kind == rowdata.UpdateAfter && exists:
			table[o.id] = o
		case kind == rowdata.UpdateBefore && old == o:
		case kind == rowdata.Delete && old == o:
			delete(table, o.id)
		default:
			t.Fatalf("%v of %+v does not fit %+v", kind, o, old)
		}
	}
}

func TestChangesFitTheTable(t *testing.T) {
	rt := ordersType(t)
	s, err := Open(rt, Position{}, empty, clock)
	require.NoError(t, err)
	defer s.Close()
	table := map[int64]order{}
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(rt, 2)}
	for s.Position().Generated < 5000 {
		c.Reset()
		require.NoError(t, s.Next(c))
		fold(t, table, c)
	}
	require.Greater(t, s.Position().Recorded, int64(9000))
	require.Greater(t, len(table), 3000)
}

func TestAStreamGoesOnWhereItWasStopped(t *testing.T) {
	rt := ordersType(t)
	for _, stop := range []int{1, 9000, 10_000} {
		whole, err := Open(rt, Position{}, empty, clock)
		require.NoError(t, err)
		table := map[int64]order{}
		c := &rowdata.Changes{Batch: *rowdata.NewBatch(rt, 2)}
		for range stop {
			c.Reset()
			require.NoError(t, whole.Next(c))
			fold(t, table, c)
		}
		at, err := ParsePosition(whole.Position().String())
		require.NoError(t, err)
		done := false
		resumed, err := Open(rt, at, func() (*rowdata.Batch, error) {
			if done {
				return nil, io.EOF
			}
			done = true
			return tableBatch(rt, table), nil
		}, clock)
		require.NoError(t, err)
		for range 500 {
			c.Reset()
			require.NoError(t, resumed.Next(c))
			fold(t, table, c)
		}
		whole.Close()
		resumed.Close()
	}
}

func tableBatch(rt *rowdata.RowType, table map[int64]order) *rowdata.Batch {
	c := &rowdata.Changes{Batch: *rowdata.NewBatch(rt, len(table))}
	for id := int64(0); id < 20_000; id++ {
		if o, ok := table[id]; ok {
			o.appendTo(c, rowdata.Insert)
		}
	}
	return &c.Batch
}

func TestParsePositionRefusesNonsense(t *testing.T) {
	for _, s := range []string{"recorded:1", "recorded:-1,generated:0", "x", "generated:1,recorded:1", "recorded:1,generated:x"} {
		_, err := ParsePosition(s)
		require.Error(t, err, s)
	}
}
