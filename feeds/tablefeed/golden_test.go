package tablefeed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/client"
	"sluice/feeds"
	"sluice/feeds/grpcfeed"
	"sluice/feeds/tablefeed"
	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/snapshotreader"
)

const goldenDir = "../../testdata/golden"

// goldenCatalog puts a copy of a golden table into a warehouse, as g.t.
func goldenCatalog(t *testing.T, name string) *paimon.Catalog {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "wh", "g.db", "t"), os.DirFS(filepath.Join(goldenDir, name, "table"))))
	return paimon.NewCatalog(local.New(root, local.Options{NoSync: true}), "wh")
}

// serve serves a table as feed "f".
func serve(t *testing.T, tab feeds.Table, tables feeds.Tables) (*client.Client, *feeds.Feed) {
	hub, err := feeds.NewHub(feeds.Options{BatchRows: 7})
	require.NoError(t, err)
	feed, err := hub.Add("f", tab, nil)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := grpcfeed.New(hub, grpcfeed.Options{Tables: tables})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	c, err := client.Dial(l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		require.NoError(t, <-served)
		require.NoError(t, hub.Close())
	})
	return c, feed
}

// expected is what a golden table's changelog is.
type expected struct {
	Snapshots []struct {
		ID        int64
		Changelog []struct {
			Kind string
			Row  json.RawMessage
		}
	}
}

func readExpected(t *testing.T, name string) (lines []string) {
	b, err := os.ReadFile(filepath.Join(goldenDir, name, "expected.json"))
	require.NoError(t, err)
	var e expected
	require.NoError(t, json.Unmarshal(b, &e))
	for _, s := range e.Snapshots {
		for _, c := range s.Changelog {
			lines = append(lines, fmt.Sprintf("%d %s %s", s.ID, c.Kind, canonical(t, c.Row)))
		}
	}
	return lines
}

// canonical is a JSON text in one form, numbers as they are.
func canonical(t *testing.T, text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var x any
	require.NoError(t, d.Decode(&x), string(text))
	b, err := json.Marshal(x)
	require.NoError(t, err)
	return string(b)
}

// values turns an object into the list of its values, in order.
func values(t *testing.T, object []byte) string {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err := d.Token()
	require.NoError(t, err)
	var list []json.RawMessage
	for d.More() {
		_, err := d.Token()
		require.NoError(t, err)
		var v json.RawMessage
		require.NoError(t, d.Decode(&v))
		list = append(list, v)
	}
	b, err := json.Marshal(list)
	require.NoError(t, err)
	return canonical(t, b)
}

func changeLine(t *testing.T, c client.Change) string {
	return fmt.Sprintf("%d %s %s", c.Commit.Snapshot, c.Kind(), values(t, c.JSON()))
}

// Every golden table that the reader knows comes over gRPC as its writer says.
func TestGoldenTables(t *testing.T) {
	dirs, err := os.ReadDir(goldenDir)
	require.NoError(t, err)
	compared := 0
	for _, d := range dirs {
		if _, err := os.Stat(filepath.Join(goldenDir, d.Name(), "expected.json")); err != nil {
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			c, _ := serve(t, tablefeed.New(goldenCatalog(t, d.Name()), "g.t", "", snapshotreader.Options{}), nil)
			var got []string
			sub := c.Subscribe("f", client.From("earliest"), client.Until("latest"), client.JSON())
			defer sub.Close()
			for change, err := range sub.Changes(t.Context()) {
				var e *client.Error
				if errors.As(err, &e) && e.Reason == "TABLE_UNSUPPORTED" {
					t.Skip(err)
				}
				require.NoError(t, err)
				got = append(got, changeLine(t, change))
			}
			want := readExpected(t, d.Name())
			if strings.Contains(d.Name(), "expired") { // what is expired is in expected.json no more
				require.Subset(t, got, want)
			} else {
				require.Equal(t, want, got)
			}
			compared++
		})
	}
	require.Greater(t, compared, 30)
}

// Cut at every row, from every position a row tells, over gRPC: what was there
// before the cut and what comes after join to the whole, bytes and cursors too.
func TestResumeGoldenTables(t *testing.T) {
	for _, name := range []string{"dedup-input", "bucket-4", "evolution-columns", "append-unaware", "partition-names-new", "dedup-lookup", "expired-decoupled"} {
		for _, start := range []string{"earliest", "full", "snapshot-full"} {
			t.Run(name+"/"+start, func(t *testing.T) {
				c, feed := serve(t, tablefeed.New(goldenCatalog(t, name), "g.t", "", snapshotreader.Options{}), nil)
				from := client.From(start)
				if start == "snapshot-full" { // an image, and then changes: by the hub's own grammar
					st, err := feed.Status(t.Context())
					require.NoError(t, err)
					src, err := feed.Subscribe(t.Context(), feeds.Request{Start: &feeds.Start{Mode: feeds.StartSnapshotFull, Snapshot: max(1, st.Latest-3)}})
					if err != nil {
						t.Skip(err)
					}
					from = client.FromCursor(src.Cursor().String())
					require.NoError(t, src.Close())
				}
				read := func(from client.Option, limit int) (lines, cursors, nexts []string) {
					sub := c.Subscribe("f", from, client.Until("latest"), client.JSON(), client.Limits(5, 0, 0))
					defer sub.Close()
					for change, err := range sub.Changes(t.Context()) {
						require.NoError(t, err)
						lines = append(lines, changeLine(t, change))
						cursors, nexts = append(cursors, change.Cursor()), append(nexts, change.Next())
						if len(lines) == limit {
							break
						}
					}
					return lines, cursors, nexts
				}
				lines, cursors, nexts := read(from, -1)
				step := max(1, len(lines)/40)
				for cut := 0; cut < len(lines); cut += step {
					rest, restCursors, _ := read(client.FromCursor(nexts[cut]), -1)
					require.Equal(t, lines[cut+1:], append([]string{}, rest...), "after row %d", cut)
					require.Equal(t, cursors[cut+1:], append([]string{}, restCursors...))
					again, _, _ := read(client.FromCursor(cursors[cut]), 1)
					require.Equal(t, lines[cut:cut+1], again)
				}
			})
		}
	}
}

// The schema that a subscription is told is that of its first rows.
func TestFirstSchema(t *testing.T) {
	c, _ := serve(t, tablefeed.New(goldenCatalog(t, "evolution-columns"), "g.t", "", snapshotreader.Options{}), nil)
	for _, start := range []string{"earliest", "latest", "full", "snapshot:2"} {
		sub := c.Subscribe("f", client.From(start), client.Until("latest"))
		defer sub.Close()
		told := int64(-1)
		for {
			e, err := sub.Next(t.Context())
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
			if e.Schema != nil {
				told = e.Schema.ID
			}
			if e.Kind == client.EventSchemaChange {
				require.NotZero(t, sub.Cursor())
			}
			if e.Rows != nil {
				require.Equal(t, told, e.Rows.Schema.ID)
			}
			if e.Kind == client.EventSubscribed && start == "earliest" {
				require.Zero(t, told)
			}
		}
	}
}

func TestWarehouse(t *testing.T) {
	cat := goldenCatalog(t, "evolution-columns")
	w := tablefeed.NewWarehouse(cat)
	names, err := w.ListTables(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"g.t"}, names)
	_, err = w.ListTables(t.Context(), "nope")
	require.Equal(t, feeds.TableNotFound, feeds.ProblemOf(err).Reason)
	info, err := w.Table(t.Context(), "g.t")
	require.NoError(t, err)
	require.Positive(t, info.Status.Latest)
	require.Positive(t, info.TotalRecords)
	require.NotEmpty(t, info.Options)
	newest, err := w.Schema(t.Context(), "g.t", -1)
	require.NoError(t, err)
	first, err := w.Schema(t.Context(), "g.t", 0)
	require.NoError(t, err)
	require.Less(t, first.ID, newest.ID)
	for _, call := range []func() error{
		func() error { _, err := w.Table(t.Context(), "g.nope"); return err },
		func() error { _, err := w.Schema(t.Context(), "g.nope", 0); return err },
		func() error { _, err := w.Schema(t.Context(), "g.t", 99); return err },
	} {
		require.Equal(t, feeds.TableNotFound, feeds.ProblemOf(call()).Reason)
	}
}

func TestTableThatIsMissing(t *testing.T) {
	cat := goldenCatalog(t, "dedup-input")
	_, feed := serve(t, tablefeed.New(cat, "g.nope", "", snapshotreader.Options{}), nil)
	_, err := feed.Subscribe(t.Context(), feeds.Request{})
	require.Equal(t, feeds.TableNotFound, feeds.ProblemOf(err).Reason)
	_, feed = serve(t, tablefeed.New(cat, "g.t", "", snapshotreader.Options{}), nil)
	_, err = feed.Subscribe(t.Context(), feeds.Request{Start: &feeds.Start{Mode: feeds.StartTag, Tag: "nope"}})
	var missing *feeds.NotFoundError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "tag", missing.Kind)
	require.Equal(t, "nope", missing.Name)
	st, err := feed.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, "g.t", st.Table)

	// The table is dropped under a live subscription, and made anew.
	sub, err := feed.Subscribe(t.Context(), feeds.Request{})
	require.NoError(t, err)
	defer sub.Close()
	require.NoError(t, cat.DropTable(t.Context(), "g.t"))
	for err == nil {
		_, err = sub.Next(t.Context())
	}
	// A table goes file by file, its snapshots first: a reader may look in between.
	require.Contains(t, []feeds.Reason{feeds.TableNotFound, feeds.CursorAhead}, feeds.ProblemOf(err).Reason, err)
	_, err = feed.Status(t.Context())
	require.Equal(t, feeds.TableNotFound, feeds.ProblemOf(err).Reason, err)
	require.Error(t, feed.Problem())
}
