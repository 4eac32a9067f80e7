package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/feeds"
	"sluice/feeds/feedtest"
	"sluice/feeds/grpcfeed"
	"sluice/paimon/rowdata"
)

func serve(t *testing.T, tab feeds.Table) string {
	hub, err := feeds.NewHub(feeds.Options{})
	require.NoError(t, err)
	_, err = hub.Add("shop.orders", tab, nil)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := grpcfeed.New(hub, grpcfeed.Options{})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		require.NoError(t, srv.Shutdown(ctx))
		require.NoError(t, <-served)
		require.NoError(t, hub.Close())
	})
	return l.Addr().String()
}

func changes(s *feeds.Schema, kind rowdata.RowKind, from int64, n int, tag string) feedtest.Unit {
	rows := feedtest.Rows(s, from, n, tag, false)
	for i := range rows.Kinds {
		rows.Kinds[i] = kind
	}
	return feedtest.Unit{Rows: rows}
}

// The program is started three times while the table changes; its copy is always
// the table.
func TestFold(t *testing.T) {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	addr := serve(t, tab)
	file := filepath.Join(t.TempDir(), "orders.json")
	start := func() (string, *table) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), []string{"--server", addr, "--feed", "shop.orders", "--state", file, "--until", "latest"}, &out))
		got, err := load(file)
		require.NoError(t, err)
		return out.String(), got
	}
	tab.Commit(changes(s, rowdata.Insert, 1, 10, "x"))
	out, got := start()
	require.Equal(t, "snapshot 1: 10 rows after 10 +I, 0 -U, 0 +U, 0 -D\n", out)
	require.Equal(t, "xa-3-2", got.Rows["3"]["a"])

	tab.Commit(changes(s, rowdata.UpdateBefore, 3, 2, "x"), changes(s, rowdata.UpdateAfter, 3, 2, "y"))
	tab.Commit(changes(s, rowdata.Delete, 9, 2, "x"), changes(s, rowdata.Insert, 50, 1, "z"))
	out, got = start()
	require.Equal(t, "going on with 10 rows\nsnapshot 3: 9 rows after 11 +I, 2 -U, 2 +U, 2 -D\n", out)
	require.Equal(t, "ya-3-0", got.Rows["3"]["a"])
	require.NotContains(t, got.Rows, "9")

	out, again := start()
	require.Equal(t, "going on with 9 rows\nsnapshot 3: 9 rows after 11 +I, 2 -U, 2 +U, 2 -D\n", out)
	require.Equal(t, got.Rows, again.Rows, "nothing counts twice")
}

func TestFoldStops(t *testing.T) {
	s := feedtest.Schema(0, 1)
	tab := feedtest.NewTable(1, s)
	addr := serve(t, tab)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var out strings.Builder
	go func() {
		done <- run(ctx, []string{"--server", addr, "--feed", "shop.orders", "--state", filepath.Join(t.TempDir(), "s.json")}, &out)
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)

	require.ErrorContains(t, run(t.Context(), nil, &out), "--feed")
	require.Error(t, run(t.Context(), []string{"--nope"}, &out))
	broken := filepath.Join(t.TempDir(), "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte("{"), 0o600))
	require.ErrorContains(t, run(t.Context(), []string{"--feed", "f", "--state", broken}, &out), broken)
}
