package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tablewriter"
)

// compactTable makes a write-only table with two commits and returns the flags
// that all commands take.
func compactTable(t *testing.T, options ...string) (wh []string, dir string) {
	t.Helper()
	wh, dir = []string{"-w", t.TempDir()}, t.TempDir()
	args := append([]string{"table", "create", "shop.items", "--column", "id INT NOT NULL", "--column", "name STRING", "--pk", "id", "--set", "bucket=1"}, wh...)
	for _, o := range options {
		args = append(args, "--set", o)
	}
	ok(t, "", args...)
	ok(t, `{"id":1,"name":"cup"}`+"\n"+`{"id":2,"name":"jug"}`, append([]string{"write", "shop.items", "--lookup-dir", dir}, wh...)...)
	ok(t, `{"id":1,"name":"mug"}`+"\n"+`{"kind":"-D","row":{"id":2,"name":"jug"}}`, append([]string{"write", "shop.items", "--lookup-dir", dir}, wh...)...)
	return wh, dir
}

// A table whose writers are write-only gets its changelog from the job.
func TestCompactMakesTheChangelog(t *testing.T) {
	for _, producer := range []string{"lookup", "full-compaction"} {
		wh, dir := compactTable(t, "changelog-producer="+producer, "write-only=true")
		require.Empty(t, changeLinesOf(t, ok(t, "", append([]string{"changes", "shop.items", "--json"}, wh...)...)))
		require.Contains(t, ok(t, "", append([]string{"compact", "shop.items", "--full", "--lookup-dir", dir}, wh...)...), "1 changelog rows")
		changes := changeLinesOf(t, ok(t, "", append([]string{"changes", "shop.items", "--json"}, wh...)...))
		require.Len(t, changes, 1, "two commits become one net change a key")
		require.Equal(t, "+I", changes[0].Kind)
		require.Equal(t, "nothing to compact\n", ok(t, "", append([]string{"compact", "shop.items", "--lookup-dir", dir}, wh...)...))
		require.JSONEq(t, `{"id":1,"name":"mug"}`, ok(t, "", append([]string{"read", "shop.items", "--json"}, wh...)...))
	}
}

// A writer makes pairs by itself.
func TestWriteMakesPairs(t *testing.T) {
	wh, _ := compactTable(t, "changelog-producer=lookup")
	var kinds []string
	for _, c := range changeLinesOf(t, ok(t, "", append([]string{"changes", "shop.items", "--json"}, wh...)...)) {
		kinds = append(kinds, c.Kind)
	}
	require.Equal(t, []string{"+I", "+I", "-U", "+U", "-D"}, kinds)
}

// The job goes on with what is written beside it.
func TestCompactWatch(t *testing.T) {
	wh, dir := compactTable(t, "changelog-producer=lookup", "write-only=true")
	f := follow(t, append([]string{"compact", "shop.items", "--watch", "--poll", "5ms", "--lookup-dir", dir}, wh...)...)
	f.await(func(out string) bool { return strings.Contains(out, "snapshot 3: ") })
	ok(t, `{"id":1,"name":"pot"}`, append([]string{"write", "shop.items"}, wh...)...)
	f.await(func(out string) bool { return strings.Contains(out, "snapshot 5: ") })
	code, _ := f.interrupt()
	require.Equal(t, exitDone, code)
	changes := changeLinesOf(t, ok(t, "", append([]string{"changes", "shop.items", "--json"}, wh...)...))
	require.Len(t, changes, 3)
	require.Equal(t, "-U", changes[1].Kind)
	require.Contains(t, string(changes[1].Row), "mug")
	require.Contains(t, string(changes[2].Row), "pot")
}

func TestTableHealth(t *testing.T) {
	wh, dir := compactTable(t, "write-only=true", "num-sorted-run.compaction-trigger=2")
	text := ok(t, "", append([]string{"table", "show", "shop.items", "--health"}, wh...)...)
	require.Contains(t, text, "bucket-0")
	require.Contains(t, text, "2 runs")
	require.Contains(t, text, "to level 2: ")
	var b tablewriter.BucketHealth
	require.NoError(t, json.Unmarshal([]byte(ok(t, "", append([]string{"table", "show", "shop.items", "--health", "--json"}, wh...)...)), &b))
	require.Equal(t, 2, b.Runs)
	require.Equal(t, []tablewriter.LevelHealth{{Level: 0, Files: 2, Bytes: b.Levels[0].Bytes, Rows: 4}}, b.Levels)
	require.Equal(t, int32(2), b.Next.Output)
	ok(t, "", append([]string{"compact", "shop.items", "--lookup-dir", dir}, wh...)...)
	require.Contains(t, ok(t, "", append([]string{"table", "show", "shop.items", "--health"}, wh...)...), "nothing to do")
}

func TestOverwriteAndTruncate(t *testing.T) {
	wh, dir := compactTable(t, "changelog-producer=lookup")
	require.Equal(t, exitUsage, gw(t, "", append([]string{"write", "shop.items", "--overwrite", "some"}, wh...)...).code)
	ok(t, `{"id":7,"name":"new"}`, append([]string{"write", "shop.items", "--overwrite", "all", "--lookup-dir", dir}, wh...)...)
	require.JSONEq(t, `{"id":7,"name":"new"}`, ok(t, "", append([]string{"read", "shop.items", "--json"}, wh...)...))
	before := len(changeLinesOf(t, ok(t, "", append([]string{"changes", "shop.items", "--json"}, wh...)...)))
	require.Equal(t, 5, before, "an overwrite tells nothing")
	require.Contains(t, ok(t, "", append([]string{"table", "truncate", "shop.items"}, wh...)...), "all rows are gone")
	require.Empty(t, ok(t, "", append([]string{"read", "shop.items", "--json"}, wh...)...))
	ok(t, `{"id":7,"name":"again"}`, append([]string{"write", "shop.items", "--lookup-dir", dir}, wh...)...)
	changes := changeLinesOf(t, ok(t, "", append([]string{"changes", "shop.items", "--json"}, wh...)...))
	require.Len(t, changes, 6)
	require.Equal(t, "+I", changes[5].Kind, "what was truncated is not there any more")
}

// The limits of compactions are flags of both commands that compact.
func TestCompactionLimitFlags(t *testing.T) {
	limits := []string{"--compactions", "1", "--compaction-memory", "1mb", "--compaction-rate", "512mb"}
	wh, dir := compactTable(t, "changelog-producer=lookup")
	ok(t, `{"id":1,"name":"pot"}`, append(append([]string{"write", "shop.items", "--lookup-dir", dir}, limits...), wh...)...)
	require.Contains(t, ok(t, "", append(append([]string{"compact", "shop.items", "--full", "--lookup-dir", dir}, limits...), wh...)...), "snapshot")
	for _, command := range []string{"write", "compact"} {
		for flag, value := range map[string]string{"--compactions": "-1", "--compaction-memory": "lots", "--compaction-rate": "-5mb"} {
			r := gw(t, "", append([]string{command, "shop.items", flag, value, "--lookup-dir", dir}, wh...)...)
			require.Equal(t, exitUsage, r.code)
			require.Contains(t, r.err, flag)
		}
	}
}
