package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	sluicev1 "sluice/proto/sluice/v1"
)

var summaryForm = regexp.MustCompile(`(?m)^-- (\d+) rows in (\d+) commits, newest snapshot (\d+); the subscriber got each of them once\.`)

// kindForm is a line of a change.
var kindForm = regexp.MustCompile(`^(\+I|-U|\+U|-D)  id=\d+  customer=`)

func TestDemoEndsByItselfAndGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	shown := 0
	var snapshot string
	for range 2 {
		out := ok(t, "", "demo", "--for", "2s", "--rate", "50", "--dir", dir)
		sum := summaryForm.FindStringSubmatch(out)
		require.NotNil(t, sum, out)
		n := 0
		for _, l := range lines(out) {
			if kindForm.MatchString(l) {
				n++
			}
		}
		require.Equal(t, sum[1], text(n), "each row is shown once")
		require.Greater(t, n, 20)
		require.NotContains(t, out, "\x1b", "no colours but on a terminal")
		shown += n
		snapshot = sum[3]
	}
	// The table has what was shown, one run after the other.
	changes := changeLinesOf(t, ok(t, "", "changes", "shop.orders", "-w", filepath.Join(dir, "warehouse"), "--json"))
	require.Len(t, changes, shown)
	require.Equal(t, snapshot, text(int(changes[len(changes)-1].Snapshot)))
	ids := map[string]bool{}
	for _, c := range changes {
		if c.Kind == "+I" {
			id, _, _ := strings.Cut(string(c.Row), ",")
			require.False(t, ids[id], "order %s is inserted twice", id)
			ids[id] = true
		}
	}
}

func text(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestDemoAsJSON(t *testing.T) {
	out := lines(ok(t, "", "demo", "--for", "500ms", "--rate", "100", "--json", "--dir", t.TempDir()))
	last := len(out) - 1
	changes := changeLinesOf(t, strings.Join(out[:last], "\n")+"\n")
	var sum struct{ Rows, Commits, Snapshot, Delivered int }
	require.NoError(t, json.Unmarshal([]byte(out[last]), &sum))
	require.Len(t, changes, sum.Rows)
	require.Equal(t, sum.Rows, sum.Delivered)
	require.Positive(t, sum.Commits)
}

// Ctrl-C stops it in time with nothing lost; meanwhile every command that it prints
// works.
func TestDemoServesWhatItPrints(t *testing.T) {
	dir := t.TempDir()
	begin := time.Now()
	f := follow(t, "demo", "--dir", dir, "--rate", "200")
	out := f.await(func(out string) bool { return strings.Contains(out, "\n+I  ") })
	require.Less(t, time.Since(begin), 10*time.Second, "the first change comes within 2 s on a machine that does nothing else")

	command := func(name string) string {
		for _, l := range lines(out) {
			if strings.HasPrefix(l, "  "+name+" ") {
				return strings.TrimSpace(l)
			}
		}
		require.Fail(t, "no command of "+name, out)
		return ""
	}
	args := strings.Fields(command("gateway tail"))[1:]
	require.Len(t, changeLinesOf(t, ok(t, "", append(args, "--limit", "5", "--json")...)), 5)

	read := command("gateway read")
	args = strings.Fields(read[:strings.Index(read, "--where")])[1:]
	where := strings.Trim(read[strings.Index(read, "--where")+len("--where "):], `"`)
	for _, l := range lines(ok(t, "", append(args, "--where", where, "--json", "--limit", "3")...)) {
		require.Contains(t, l, `"status":"NEW"`)
	}

	url := regexp.MustCompile(`'(http://[^']+)'`).FindStringSubmatch(command("curl"))[1]
	resp, err := http.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode, string(body))
	require.Contains(t, string(body), `"customer"`)
	http.DefaultClient.CloseIdleConnections()

	requireGRPC(t, regexp.MustCompile(`-d '([^']+)' (\S+) (\S+)`).FindStringSubmatch(command("grpcurl")))
	requireWebSocket(t, regexp.MustCompile(`--protocol (\S+) (\S+) <<< '([^']+)'`).FindStringSubmatch(command("websocat")))
	requireNATS(t, regexp.MustCompile(`--server (\S+) subscribe '([^']+)'`).FindStringSubmatch(command("nats")))

	code, took := f.interrupt()
	all, errs := f.texts()
	require.Equal(t, exitDone, code, errs)
	require.Less(t, took, 2*time.Second)
	require.Regexp(t, summaryForm, all)
}

// requireGRPC makes the call that grpcurl is told to make.
func requireGRPC(t *testing.T, m []string) {
	t.Helper()
	var req sluicev1.SubscribeRequest
	require.NoError(t, protojson.Unmarshal([]byte(m[1]), &req))
	conn, err := grpc.NewClient(m[2], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.Equal(t, "sluice.v1.FeedService/Subscribe", m[3])
	stream, err := sluicev1.NewFeedServiceClient(conn).Subscribe(ctx, &req)
	require.NoError(t, err)
	for {
		resp, err := stream.Recv()
		require.NoError(t, err)
		for _, f := range resp.GetFrames() {
			if rows := f.GetRows(); rows != nil {
				require.NotEmpty(t, rows.GetJson().GetRows())
				return
			}
		}
	}
}

// requireWebSocket sends the message that websocat is told to send.
func requireWebSocket(t *testing.T, m []string) {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{m[1]}, HandshakeTimeout: patience}
	conn, resp, err := d.DialContext(t.Context(), m[2], nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	defer conn.Close()
	require.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte(m[3]+"\n")))
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	for {
		_, data, err := conn.ReadMessage()
		require.NoError(t, err)
		if bytes.Contains(data, []byte(`"type":"rows"`)) {
			return
		}
		require.NotContains(t, string(data), `"type":"error"`)
	}
}

// requireNATS subscribes as the command of nats does.
func requireNATS(t *testing.T, m []string) {
	t.Helper()
	nc, err := nats.Connect(m[1])
	require.NoError(t, err)
	defer nc.Close()
	sub, err := nc.SubscribeSync(m[2])
	require.NoError(t, err)
	msg, err := sub.NextMsg(patience)
	require.NoError(t, err)
	require.Contains(t, string(msg.Data), `"row":{`)
}
