package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/demo"
	"sluice/internal/server"
	"sluice/interop/subscriber"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// line is a change as the demo prints it.
type line struct {
	Snapshot int64
	Kind     string
	Row      json.RawMessage
	Cursor   string // after it
}

// TestCrashDemo kills the demo, which is writer, gateway, publisher and NATS server
// in one, and starts it again in the same folder. In the end the table has what the
// recording says, each change once; its changes fold to its rows; the stream has
// them all, once and in order; and nothing was shown twice.
func TestCrashDemo(t *testing.T) {
	t.Parallel()
	r := chance(t)
	dir := t.TempDir()
	var shown []line
	show := func(lines []string) {
		for i, text := range lines {
			var l line
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				require.Equal(t, len(lines)-1, i, "only the last line of a killed process is cut: %s", text)
				return
			}
			if l.Cursor != "" {
				shown = append(shown, l)
			}
		}
	}
	args := []string{"demo", "--dir", dir, "--rate", "400", "--json"}
	for range kills(t, 12) / 4 {
		p := start(t, nil, gatewayBinary(t), args...)
		show([]string{p.line("{")})
		pause(r, 500*time.Millisecond)
		show(p.kill())
	}
	p := start(t, nil, gatewayBinary(t), append(args, "--for", "300ms")...)
	show([]string{p.line("{")})
	for text := range p.lines {
		show([]string{text})
	}
	<-p.ended
	require.NoError(t, p.err, p.errors())

	warehouse := filepath.Join(dir, "warehouse")
	table := openTable(t, warehouse, demo.Table)
	requireWhole(t, table)
	changes, err := tail(t.Context(), table)
	require.NoError(t, err)
	requireShown(t, changes, shown)
	rows := fold(t, changes)
	got := scan(t, table)
	slices.Sort(got)
	require.Equal(t, rows, got)
	requireRecorded(t, table, changes)

	// What the publisher had no time for comes when there is a gateway again.
	url, stop := serve(t, warehouse, filepath.Join(dir, "jetstream"))
	requireStream(t, url, "ORDERS", changes)
	stop()
	t.Logf("%d changes in %d snapshots, %d of them shown", len(changes), changes[len(changes)-1].Snapshot, len(shown))
}

// requireShown: what was shown are changes of the table, in order, none twice.
func requireShown(t *testing.T, changes []subscriber.Change, shown []line) {
	t.Helper()
	at := 0
	for _, l := range shown {
		for at < len(changes) && (changes[at].Snapshot != l.Snapshot || changes[at].Kind != l.Kind || changes[at].Row != string(l.Row)) {
			at++
		}
		require.Less(t, at, len(changes), "shown, but not the next of the table's changes: %+v", l)
		at++
	}
}

// fold applies changes to an empty table and checks that each one fits what is
// there. It returns the rows, sorted.
func fold(t *testing.T, changes []subscriber.Change) []string {
	t.Helper()
	table := map[string]string{}
	for _, c := range changes {
		k := idOf(t, c)
		old, there := table[k]
		switch c.Kind {
		case "+I":
			require.False(t, there, "inserted twice: %s", c)
			table[k] = c.Row
		case "-U":
			require.Equal(t, old, c.Row)
		case "+U":
			require.True(t, there, "updated, but not there: %s", c)
			table[k] = c.Row
		case "-D":
			require.Equal(t, old, c.Row)
			delete(table, k)
		}
	}
	var rows []string
	for _, row := range table {
		rows = append(rows, row)
	}
	slices.Sort(rows)
	return rows
}

// requireRecorded: the changes lead to what the recording leads to, as far as the
// table's position says. Those of a key within one commit are one change of the
// table, so that there may be fewer.
func requireRecorded(t *testing.T, table *paimon.Table, changes []subscriber.Change) {
	t.Helper()
	w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: "sluice-demo"})
	require.NoError(t, err)
	point, err := w.Restore(t.Context())
	require.NoError(t, err)
	stored, ok := point.Position("demo")
	require.True(t, ok)
	at, err := demo.ParsePosition(stored.Value)
	require.NoError(t, err)
	stream, err := demo.Open(w.Type(), demo.Position{}, func() (*rowdata.Batch, error) { return nil, io.EOF }, time.Now)
	require.NoError(t, err)
	defer stream.Close()
	var want []subscriber.Change
	for rows := (&rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 2)}); stream.Position().Recorded < at.Recorded; rows.Reset() {
		require.NoError(t, stream.Next(rows))
		for i := range rows.N {
			want = append(want, subscriber.Change{Kind: rows.Kind(i).String(), Row: string(rowdata.AppendJSONObject(nil, &rows.Batch, i))})
		}
	}
	require.NoError(t, w.Close(t.Context()))
	require.NotEmpty(t, want)
	if at.Generated == 0 {
		require.Equal(t, fold(t, want), fold(t, changes))
		return
	}
	// Rows that were generated follow; each key of the recording was there before.
	inserted := map[string]bool{}
	for _, c := range changes {
		if c.Kind == "+I" {
			inserted[idOf(t, c)] = true
		}
	}
	for _, row := range fold(t, want) {
		require.True(t, inserted[idOf(t, subscriber.Change{Row: row})], row)
	}
}

// idOf returns the key of a change as text.
func idOf(t *testing.T, c subscriber.Change) string {
	t.Helper()
	var key struct{ ID int64 }
	require.NoError(t, json.Unmarshal([]byte(c.Row), &key))
	return fmt.Sprint(key.ID)
}

// serve runs a gateway of the demo's folders in this process.
func serve(t *testing.T, warehouse, store string) (url string, stop func()) {
	t.Helper()
	c := &config.Config{
		Warehouse: warehouse,
		Listen:    config.Listen{GRPC: config.Off, HTTP: config.Off},
		NATS:      config.NATS{Embedded: config.EmbeddedNATS{Enabled: true, Listen: "127.0.0.1:0", StoreDir: store}},
		Feeds:     []config.Feed{{Table: demo.Table, NATS: &config.FeedNATS{Stream: "ORDERS"}}},
	}
	c.SetDefaults()
	srv, err := server.New(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	return srv.NATSURL(), func() {
		cancel()
		require.NoError(t, <-ended)
	}
}
