package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
	"sluice/paimon/rowdata"
	"sluice/tablewriter"
)

// written is what write says with --json.
type written struct {
	Rows     int64 `json:"rows"`
	Commits  int64 `json:"commits"`
	Snapshot int64 `json:"snapshot"`
	Skipped  int64 `json:"skipped"`
}

func writeJSONOf(t *testing.T, in string, args ...string) written {
	t.Helper()
	var w written
	require.NoError(t, json.Unmarshal([]byte(ok(t, in, append(args, "--json")...)), &w))
	return w
}

func emptyTable(t *testing.T, dir, name string) {
	t.Helper()
	ok(t, "", "table", "create", name, "-w", dir, "--column", "id BIGINT NOT NULL", "--column", "name STRING", "--column", "price DECIMAL(10, 2)", "--column", "at TIMESTAMP(3)",
		"--pk", "id", "--set", "bucket=1", "--set", "changelog-producer=input")
}

// The same rows in each format are the same table.
func TestWriteOfEachFormat(t *testing.T) {
	dir := t.TempDir()
	want := []string{
		`{"id":1,"name":"cup, \"small\"","price":"4.50","at":"2026-11-30T12:00:00.123"}`,
		`{"id":2,"name":null,"price":"-12.00","at":null}`,
		`{"id":3,"name":"näme","price":null,"at":"2026-12-01T00:00:00.000"}`,
	}
	millis := func(text string) int64 {
		at, err := time.Parse("2006-01-02T15:04:05.000", text)
		require.NoError(t, err)
		return at.UnixMilli()
	}
	debezium := func(op, before, after string) string {
		return fmt.Sprintf(`{"before":%s,"after":%s,"op":%q,"source":{},"ts_ms":1}`, before, after, op)
	}
	decimal := func(unscaled ...byte) string { return base64.StdEncoding.EncodeToString(unscaled) }
	first := fmt.Sprintf(`{"id":1,"name":"cup, \"small\"","price":%q,"at":%d}`, decimal(0x01, 0xC2), millis("2026-11-30T12:00:00.123"))
	gone := `{"id":9,"name":"gone","price":null,"at":null}`
	for format, in := range map[string]string{
		"jsonl": strings.Join(want, "\n") + "\n{\"id\":9}\n" + `{"kind":"-D","row":{"id":9}}` + "\n",
		"csv": "at,id,name,price,_kind\n2026-11-30 12:00:00.123,1,\"cup, \"\"small\"\"\",4.5,+I\n,2,,-12,+I\n2026-12-01,3,näme,,+I\n" +
			",9,,,+I\n,9,,,-D\n",
		"debezium-json": strings.Join([]string{
			debezium("r", "null", strings.Replace(first, decimal(0x01, 0xC2), decimal(0x63), 1)), debezium("c", "null", gone),
			debezium("u", strings.Replace(first, decimal(0x01, 0xC2), decimal(0x63), 1), first),
			debezium("c", "null", fmt.Sprintf(`{"id":2,"name":null,"price":%q,"at":null}`, decimal(0xFB, 0x50))),
			debezium("d", gone, "null"),
			debezium("c", "null", fmt.Sprintf(`{"id":3,"name":"näme","price":null,"at":%d}`, millis("2026-12-01T00:00:00.000"))),
		}, "\n"),
	} {
		t.Run(format, func(t *testing.T) {
			name := "db.t_" + format[:3]
			emptyTable(t, dir, name)
			w := writeJSONOf(t, in, "write", name, "-w", dir, "--format", format)
			require.EqualValues(t, 1, w.Commits)
			require.EqualValues(t, 1, w.Snapshot)
			require.Equal(t, want, lines(ok(t, "", "read", name, "-w", dir, "--json")))
			// The same from a file, with small commits.
			emptyTable(t, dir, name+"_file")
			w = writeJSONOf(t, "", "write", name+"_file", "-w", dir, "--format", format, "--commit-rows", "2", writeFile(t, "in", in))
			require.Greater(t, w.Commits, int64(1))
			require.Equal(t, want, lines(ok(t, "", "read", name+"_file", "-w", dir, "--json")))
		})
	}
}

func TestWriteCommitsAtMarks(t *testing.T) {
	dir := t.TempDir()
	emptyTable(t, dir, "db.t")
	w := writeJSONOf(t, "{\"id\":1}\n{\"commit\":true}\n{\"commit\":true}\n{\"id\":2}\n{\"id\":3}\n{\"commit\":true}\n{\"id\":4}\n", "write", "db.t", "-w", dir)
	require.Equal(t, written{Rows: 4, Commits: 3, Snapshot: 3}, w)
	require.Equal(t, "0 rows in 0 commits, newest snapshot 0\n", ok(t, "", "write", "db.t", "-w", dir))
	require.Equal(t, "1 rows in 1 commits, newest snapshot 4\n", ok(t, `{"id":5}`, "write", "db.t", "-w", dir, "-"))
}

// With a user of its own and a file, the same command goes on after a failure.
func TestWriteGoesOnAfterAFailure(t *testing.T) {
	dir := t.TempDir()
	ok(t, "", "table", "create", "db.t", "-w", dir, "--column", "id BIGINT NOT NULL") // an append table: a row written twice shows
	file := writeFile(t, "rows.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"id\":\"four\"}\n{\"id\":5}\n")
	args := []string{"write", "db.t", "-w", dir, "--user", "loader", "--commit-rows", "2", file}
	r := gw(t, "", args...)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "rows.jsonl: line 4: column id")
	require.Contains(t, r.err, "committed: 3 rows, up to snapshot 2")
	writeFile(t, file, "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"id\":4}\n{\"id\":5}\n")
	require.Equal(t, written{Rows: 2, Commits: 1, Snapshot: 3, Skipped: 3}, writeJSONOf(t, "", args...))
	require.Equal(t, written{Skipped: 5}, writeJSONOf(t, "", args...), "and then there is nothing left")
	require.Len(t, lines(ok(t, "", "read", "db.t", "-w", dir, "--json")), 5)

	// A file of the same name in another folder is another source.
	other := writeFile(t, filepath.Join(t.TempDir(), "rows.jsonl"), "{\"id\":6}\n")
	require.EqualValues(t, 1, writeJSONOf(t, "", "write", "db.t", "-w", dir, "--user", "loader", other).Rows)
	// And so is one with a very long path.
	deep := t.TempDir()
	for range 4 {
		deep = filepath.Join(deep, strings.Repeat("d", 80))
	}
	require.NoError(t, os.MkdirAll(deep, 0o700))
	long := writeFile(t, filepath.Join(deep, "rows.jsonl"), "{\"id\":7}\n")
	require.EqualValues(t, 1, writeJSONOf(t, "", "write", "db.t", "-w", dir, "--user", "loader", long).Rows)
	require.EqualValues(t, 1, writeJSONOf(t, "", "write", "db.t", "-w", dir, "--user", "loader", long).Skipped)
}

// Rows that the writer commits by itself, since they are many, have their position
// with them: when the command is killed then, none is written twice.
func TestRowsCommittedEarlyHaveTheirPosition(t *testing.T) {
	dir := t.TempDir()
	ok(t, "", "table", "create", "db.t", "-w", dir, "--column", "id BIGINT NOT NULL")
	table, err := paimon.NewCatalog(local.New("/", local.Options{}), strings.TrimPrefix(filepath.ToSlash(dir), "/")).OpenTable(t.Context(), "db.t")
	require.NoError(t, err)
	w, err := tablewriter.Open(t.Context(), table, tablewriter.Options{User: "loader", CommitInterval: time.Hour, CommitBytes: 1})
	require.NoError(t, err)
	s := &tableSink{w: w, source: "file:x", rows: w.Type()}
	for n := range int64(3) {
		rows := &rowdata.Changes{Batch: *rowdata.NewBatch(w.Type(), 1)}
		rows.Cols[0].AppendI64(n)
		rows.CloseRow()
		require.NoError(t, s.Write(t.Context(), rows, strconv.FormatInt(n+1, 10)))
	}
	// No commit was asked for, and yet each snapshot knows how far it goes.
	require.NoError(t, w.Flush(t.Context()))
	ids, err := table.SnapshotIDs(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, ids)
	rows := int64(0)
	for _, id := range ids {
		snap, err := table.Snapshot(t.Context(), id)
		require.NoError(t, err)
		rows = *snap.TotalRecordCount
		require.Equal(t, strconv.FormatInt(rows, 10), snap.Properties[tablewriter.PropertyPosition+"file:x"], "snapshot %d", id)
	}
	require.EqualValues(t, 3, rows)
	require.NoError(t, w.Close(t.Context()))
}

// What Debezium captured of a PostgreSQL, its envelope around each message included.
func TestWriteOfARealCapture(t *testing.T) {
	dir := t.TempDir()
	ok(t, "", "table", "create", "db.t", "-w", dir, "--column", "id BIGINT NOT NULL", "--column", "customer STRING", "--column", "amount DECIMAL(12, 2)", "--column", "qty INT", "--column", "note STRING",
		"--pk", "id", "--set", "bucket=1", "--set", "changelog-producer=input")
	w := writeJSONOf(t, "", "write", "db.t", "-w", dir, "--format", "debezium-json", "--user", "cdc", "../../ingest/testdata/replica-identity-full.jsonl")
	require.EqualValues(t, 10, w.Rows)
	require.Equal(t, []string{
		`{"id":1,"customer":"ann","amount":"11.50","qty":1,"note":"` + strings.Repeat("long ", 10) + `"}`,
		`{"id":33,"customer":"cid","amount":"0.00","qty":null,"note":null}`,
	}, lines(ok(t, "", "read", "db.t", "-w", dir, "--json")))
	kinds := map[string][]string{} // by key: in the order of the capture
	for _, c := range changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json")) {
		id, _, _ := strings.Cut(string(c.Row), ",")
		kinds[id] = append(kinds[id], c.Kind)
	}
	require.Equal(t, map[string][]string{
		`{"id":1`: {"+I", "-U", "+U"}, `{"id":2`: {"+I", "-U", "+U", "-D"}, `{"id":3`: {"+I", "-D"}, `{"id":33`: {"+I"},
	}, kinds)
	// One whose updates lack a value names file, line, column and what to do.
	r := gw(t, "", "write", "db.t", "-w", dir, "--format", "debezium-json", "../../ingest/testdata/replica-identity-default.jsonl")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "replica-identity-default.jsonl: line 7, column note")
	require.Contains(t, r.err, "REPLICA IDENTITY FULL")
}
