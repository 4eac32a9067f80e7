package tablefeed_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/client"
	"sluice/feeds/tablefeed"
	"sluice/objstore/memstore"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
	"sluice/tablewriter"
)

// A writer commits and the schema changes, while subscribers follow, stop and come
// back: all of them see what was written, in order.
func TestLiveWriter(t *testing.T) {
	const commits, rows = 12, 30
	cat := paimon.NewCatalog(memstore.New(memstore.Options{}), "wh")
	require.NoError(t, cat.CreateDatabase(t.Context(), "g"))
	table, err := cat.CreateTable(t.Context(), "g.t", paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k BIGINT NOT NULL", "v STRING"}, PK: []string{"k"}},
		Options: map[string]string{"bucket": "1", "changelog-producer": "input", "write-only": "true"}, // a commit, a snapshot
	})
	require.NoError(t, err)
	c, feed := serve(t, tablefeed.New(cat, "g.t", "", snapshotreader.Options{}), tablefeed.NewWarehouse(cat))

	done := make(chan []string, 3)
	follow := func(every int) {
		var got []string
		from := client.From("earliest")
		for {
			sub := c.Subscribe("f", from, client.Until(fmt.Sprint("snapshot:", 2*commits)))
			n := 0
			for {
				e, err := sub.Next(t.Context())
				if errors.Is(err, io.EOF) {
					sub.Close()
					done <- got
					return
				}
				if err != nil {
					got = append(got, err.Error())
					done <- got
					return
				}
				if e.Rows != nil {
					for i := range e.Rows.Len() {
						got = append(got, fmt.Sprint(e.Commit.Snapshot, " ", e.Rows.Kind(i), " ", e.Rows.Column(0).Int64(i), " ", e.Rows.Column(1).Value(i), " ", len(e.Rows.Schema.Fields)))
					}
				}
				if n++; n == every { // in the middle of anything
					break
				}
			}
			from = client.FromCursor(sub.Cursor())
			sub.Close()
		}
	}
	go follow(-1)
	go follow(3)
	go follow(7)

	var want []string
	write := func(w *tablewriter.Writer, commit int) {
		changes := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), rows)}
		for i := range rows {
			key := int64(i)
			changes.Cols[0].AppendI64(key)
			changes.Cols[1].AppendString(fmt.Sprint("v", commit))
			for _, v := range changes.Cols[2:] {
				v.AppendNull()
			}
			changes.CloseRow()
			changes.Kinds = append(changes.Kinds, rowdata.UpdateAfter)
			want = append(want, fmt.Sprint(commit, " +U ", key, " v", commit, " ", len(changes.Cols)))
		}
		receipt, err := w.Write(t.Context(), changes, tablewriter.Position{})
		require.NoError(t, err)
		snapshot, err := receipt.Wait(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, commit, snapshot)
	}
	for half := range 2 {
		w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: "w", CommitRows: rows, OnCommit: func(*paimon.Snapshot) { feed.Poke() }})
		require.NoError(t, err)
		for n := range commits {
			write(w, half*commits+n+1)
		}
		require.NoError(t, w.Close(t.Context()))
		if half == 0 {
			change, err := paimon.ParseChange("add column n INT")
			require.NoError(t, err)
			_, err = cat.AlterTable(t.Context(), "g.t", []paimon.Change{change})
			require.NoError(t, err)
			table, err = cat.OpenTable(t.Context(), "g.t")
			require.NoError(t, err)
		}
	}
	for range 3 {
		require.Equal(t, want, <-done)
	}
}
