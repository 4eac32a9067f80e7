package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// served is where a gateway listens.
type served struct{ GRPC, HTTP, NATS string }

// serve starts a gateway of a warehouse in this process.
func serve(t *testing.T, dir, more string) (*follower, served) {
	t.Helper()
	config := writeFile(t, "sluice.yaml", fmt.Sprintf("warehouse: %s\nlisten: {grpc: \"127.0.0.1:0\", http: \"127.0.0.1:0\"}\nlog: {level: error}\n%s", dir, more))
	f := follow(t, "serve", "--config", config, "--json")
	var s served
	require.NoError(t, json.Unmarshal([]byte(f.awaitLines(1)[0]), &s))
	return f, s
}

func TestServeAndTail(t *testing.T) {
	dir := warehouse(t)
	g, at := serve(t, dir, "feeds: [{table: db.t, poll-min: 1ms}, {name: other, table: db.none}]\n")
	all := changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json"))
	tail := func(args ...string) []changeLine {
		return changeLinesOf(t, ok(t, "", append([]string{"tail", "db.t", "--server", at.GRPC, "--json"}, args...)...))
	}
	requireSameRows := func(want, got []changeLine) {
		t.Helper()
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, []any{want[i].Snapshot, want[i].Kind, string(want[i].Row)}, []any{got[i].Snapshot, got[i].Kind, string(got[i].Row)})
		}
	}
	over := tail("--from", "earliest", "--until", "latest")
	requireSameRows(all, over)
	for i := range over { // cursors are good over the gateway and on the table, whoever made them
		requireSameRows(all[i+1:], tail("--from", "cursor:"+all[i].Cursor, "--until", "latest"))
		requireSameRows(all[i+1:], changeLinesOf(t, ok(t, "", "tail", "db.t", "-w", dir, "--json", "--from", "cursor:"+over[i].Cursor, "--until", "latest")))
	}
	requireSameRows(all[:2], tail("--from", "earliest", "--limit", "2"))
	require.Equal(t, "+I  id=1  name=cup  price=4.50\n", ok(t, "", "tail", "db.t", "--server", at.GRPC, "--from", "earliest", "--limit", "1"))

	// A consumer goes on where it stopped.
	requireSameRows(all[:2], tail("--from", "earliest", "--limit", "2", "--consumer", "app"))
	requireSameRows(all[2:5], tail("--limit", "3", "--consumer", "app"))
	require.Contains(t, ok(t, "", "consumer", "list", "db.t", "-w", dir), "app")

	// What is not there is said at once.
	for line, says := range map[string]string{"nofeed": "nofeed", "other": "db.none", "db.t --from snapshot:99": "99", "db.t --columns nope": "nope", "db.t --from tag:none": "none"} {
		r := gw(t, "", append([]string{"tail", "--server", at.GRPC}, strings.Fields(line)...)...)
		require.Equal(t, exitFailed, r.code, "%s: %s", line, r.err)
		require.Contains(t, r.err, says, line)
	}

	// It follows what is written, until the gateway stops; and the gateway stops in time.
	f := follow(t, "tail", "db.t", "--server", at.GRPC, "--from", "snapshot:3", "--json")
	f.awaitLines(1)
	ok(t, `{"id":8}`, "write", "db.t", "-w", dir)
	require.Contains(t, f.awaitLines(2)[1], `"row":{"id":8,"name":null,"price":null}`)
	code, _ := f.interrupt()
	require.Equal(t, exitDone, code)
	code, took := g.interrupt()
	require.Equal(t, exitDone, code)
	require.Less(t, took, 2*time.Second)
}

func TestServeCheck(t *testing.T) {
	dir := warehouse(t)
	good := writeFile(t, "good.yaml", "warehouse: "+dir+"\nfeeds: [{table: db.t}]\n")
	require.Contains(t, ok(t, "", "serve", "--check", "--config", good), "is good: 1 feeds of "+dir)
	require.JSONEq(t, `{"ok":true,"feeds":1}`, ok(t, "", "serve", "--check", "--config", good, "--json"))
	// The environment is laid over the file, whatever else is in it.
	t.Setenv("SLUICE_LISTEN_GRPC", "0.0.0.0:1")
	t.Setenv("SLUICE_TOKEN", "secret")
	r := gw(t, "", "serve", "--check", "--config", good)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "listen.grpc")
	require.Contains(t, r.err, "insecure-beyond-loopback")
}

// A gateway that cannot take an address says which one, and leaves nothing open.
func TestServeOnATakenAddress(t *testing.T) {
	dir := warehouse(t)
	g, at := serve(t, dir, "feeds: [{table: db.t}]\n")
	config := writeFile(t, "second.yaml", fmt.Sprintf("warehouse: %s\nlisten: {grpc: %q, http: \"127.0.0.1:0\"}\nfeeds: [{table: db.t}]\n", dir, at.GRPC))
	r := gw(t, "", "serve", "--config", config)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "listen.grpc")
	require.Contains(t, r.err, at.GRPC)
	resp, err := http.Get("http://" + at.HTTP + "/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	code, _ := g.interrupt()
	require.Equal(t, exitDone, code)
}
