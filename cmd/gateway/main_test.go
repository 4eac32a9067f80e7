package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// asGateway makes the test binary the gateway, for tests that need a process.
const asGateway = "SLUICE_TEST_GATEWAY"

func TestMain(m *testing.M) {
	if os.Getenv(asGateway) != "" {
		main()
		return
	}
	for _, name := range []string{"SLUICE_WAREHOUSE", "SLUICE_TOKEN"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// patience bounds the wait for anything that must come.
const patience = 30 * time.Second

// result is how a command line went.
type result struct {
	code     int
	out, err string
}

// gw runs a command line.
func gw(t *testing.T, in string, args ...string) result {
	t.Helper()
	return gwContext(t.Context(), in, args...)
}

func gwContext(ctx context.Context, in string, args ...string) result {
	var out, errs bytes.Buffer
	code := run(ctx, args, strings.NewReader(in), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// ok runs a command line that must go well, and returns what it prints.
func ok(t *testing.T, in string, args ...string) string {
	t.Helper()
	r := gw(t, in, args...)
	require.Equal(t, exitDone, r.code, "gateway %s: %s", strings.Join(args, " "), r.err)
	require.Empty(t, r.err)
	return r.out
}

// lines splits output into lines.
func lines(out string) []string {
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

// changeLine is a line of changes and tail with --json.
type changeLine struct {
	Snapshot int64           `json:"snapshot"`
	Kind     string          `json:"kind"`
	Row      json.RawMessage `json:"row"`
	Cursor   string          `json:"cursor"`
}

func changeLinesOf(t *testing.T, out string) []changeLine {
	t.Helper()
	var all []changeLine
	for _, text := range lines(out) {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		var l changeLine
		require.NoError(t, d.Decode(&l), text)
		require.NotEmpty(t, l.Cursor)
		all = append(all, l)
	}
	return all
}

// warehouse returns a warehouse with a table db.t of some commits.
func warehouse(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ok(t, "", "table", "create", "db.t", "-w", dir, "--column", "id BIGINT NOT NULL", "--column", "name STRING", "--column", "price DECIMAL(10, 2)",
		"--pk", "id", "--set", "bucket=1", "--set", "changelog-producer=input")
	ok(t, `{"id":1,"name":"cup","price":"4.50"}
{"id":2,"name":"plate, \"big\"","price":"12.00"}
{"commit":true}
{"kind":"-U","row":{"id":1,"name":"cup","price":"4.50"}}
{"kind":"+U","row":{"id":1,"name":"cup","price":"5.00"}}
{"id":3,"name":null,"price":null}
{"commit":true}
{"kind":"-D","row":{"id":2,"name":"plate, \"big\"","price":"12.00"}}
`, "write", "db.t", "-w", dir)
	return dir
}

// follower runs a command that does not end by itself, in this process.
type follower struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan int

	mu   sync.Mutex
	out  bytes.Buffer
	errs bytes.Buffer
	news chan struct{}
}

func follow(t *testing.T, args ...string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{t: t, cancel: cancel, ended: make(chan int, 1), news: make(chan struct{}, 1)}
	go func() { f.ended <- run(ctx, args, strings.NewReader(""), f, (*followerErrors)(f)) }()
	t.Cleanup(cancel)
	return f
}

// Write takes standard output.
func (f *follower) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.Write(p)
	select {
	case f.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

type followerErrors follower

// Write takes standard error.
func (f *followerErrors) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errs.Write(p)
}

func (f *follower) texts() (out, errs string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.String(), f.errs.String()
}

// await waits until the output is as it should be, and returns it.
func (f *follower) await(enough func(out string) bool) string {
	f.t.Helper()
	late := time.After(patience)
	for {
		if out, _ := f.texts(); enough(out) {
			return out
		}
		select {
		case <-f.news:
		case code := <-f.ended:
			out, errs := f.texts()
			f.ended <- code
			require.True(f.t, enough(out), "it ended with exit code %d: %s%s", code, out, errs)
			return out
		case <-late:
			out, errs := f.texts()
			require.Fail(f.t, "the output does not come", "%s%s", out, errs)
		}
	}
}

// awaitLines waits for so many lines.
func (f *follower) awaitLines(n int) []string {
	f.t.Helper()
	return lines(f.await(func(out string) bool { return strings.Count(out, "\n") >= n }))
}

// interrupt is Ctrl-C. It returns the exit code, and how long it took to end.
func (f *follower) interrupt() (code int, took time.Duration) {
	f.t.Helper()
	begin := time.Now()
	f.cancel()
	select {
	case code = <-f.ended:
		return code, time.Since(begin)
	case <-time.After(patience):
		require.Fail(f.t, "it does not end")
		return 0, 0
	}
}

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(t.TempDir(), name)
	}
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}
