package main

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadPrintsForPeopleAndForProgrammes(t *testing.T) {
	dir := warehouse(t)
	read := func(args ...string) string { return ok(t, "", append([]string{"read", "db.t", "-w", dir}, args...)...) }
	require.Equal(t, "id  name  price\n 1  cup    5.00\n 3  NULL   NULL\n(2 rows, snapshot 3)\n", read())
	require.Equal(t, `{"id":1,"name":"cup","price":"5.00"}`+"\n"+`{"id":3,"name":null,"price":null}`+"\n", read("--json"))
	require.Equal(t, `{"id":1,"name":"cup","price":"4.50"}`+"\n"+`{"id":2,"name":"plate, \"big\"","price":"12.00"}`+"\n", read("--json", "--snapshot", "1"))
	require.Equal(t, `{"price":"5.00","id":1}`+"\n", read("--json", "--columns", "price,id", "--where", "price > 4 AND name = 'cup'"))
	require.Equal(t, `{"id":1}`+"\n", read("--json", "--columns", "id", "--limit", "1"))
	require.Equal(t, read("--json", "--snapshot", "3"), read("--json", "--at", "-0.001s"))
	ok(t, "", "tag", "create", "db.t", "first", "-w", dir, "--snapshot", "1")
	require.Equal(t, read("--json", "--snapshot", "1"), read("--json", "--tag", "first"))
	ok(t, "", "branch", "create", "db.t", "dev", "-w", dir, "--tag", "first")
	require.Equal(t, read("--json", "--snapshot", "1"), read("--json", "--branch", "dev"))
}

// A snapshot is read with its own schema, the newest state with the newest.
func TestReadAfterASchemaChange(t *testing.T) {
	dir := warehouse(t)
	ok(t, "", "table", "alter", "db.t", "-w", dir, "rename column name to title", "add column tax INT FIRST")
	require.Equal(t, `{"tax":null,"id":1,"title":"cup","price":"5.00"}`, lines(ok(t, "", "read", "db.t", "-w", dir, "--json"))[0])
	require.Equal(t, `{"id":1,"name":"cup","price":"5.00"}`, lines(ok(t, "", "read", "db.t", "-w", dir, "--json", "--snapshot", "3"))[0])
	ok(t, `{"tax":7,"id":9,"title":"fork"}`, "write", "db.t", "-w", dir)
	got := changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json", "--from", "3"))
	require.Equal(t, `{"id":2,"name":"plate, \"big\"","price":"12.00"}`, string(got[0].Row))
	require.Equal(t, `{"tax":7,"id":9,"title":"fork","price":null}`, string(got[1].Row))
}

func TestChangesInDeliveryOrderWithCursors(t *testing.T) {
	dir := warehouse(t)
	all := changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json", "--from", "1"))
	var got []string
	for _, l := range all {
		got = append(got, strconv.FormatInt(l.Snapshot, 10)+" "+l.Kind+" "+string(l.Row))
	}
	require.Equal(t, []string{
		`1 +I {"id":1,"name":"cup","price":"4.50"}`,
		`1 +I {"id":2,"name":"plate, \"big\"","price":"12.00"}`,
		`2 -U {"id":1,"name":"cup","price":"4.50"}`,
		`2 +U {"id":1,"name":"cup","price":"5.00"}`,
		`2 +I {"id":3,"name":null,"price":null}`,
		`3 -D {"id":2,"name":"plate, \"big\"","price":"12.00"}`,
	}, got)
	require.Equal(t, all, changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json")), "from the earliest")
	require.Equal(t, all[2:5], changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json", "--from", "2", "--to", "2")))
	require.Equal(t, all[:3], changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json", "--limit", "3")))
	for i, l := range all {
		rest := changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json", "--cursor", l.Cursor))
		require.Equal(t, len(all)-i-1, len(rest))
		require.True(t, len(rest) == 0 || string(rest[0].Row) == string(all[i+1].Row) && rest[0].Snapshot == all[i+1].Snapshot)
		var e struct {
			Snapshot int64  `json:"snapshot"`
			Phase    string `json:"phase"`
			Next     string `json:"next"`
		}
		require.NoError(t, json.Unmarshal([]byte(ok(t, "", "inspect", "cursor", l.Cursor, "--json")), &e))
		require.GreaterOrEqual(t, e.Snapshot, l.Snapshot)
		require.Equal(t, "changes", e.Phase)
		require.NotEmpty(t, e.Next)
	}
	people := ok(t, "", "changes", "db.t", "-w", dir)
	require.Contains(t, people, "-- snapshot 2\n    id  name  price\n-U   1  cup    4.50\n+U   1  cup    5.00\n+I   3  NULL   NULL\n")
}

func TestTailOfATable(t *testing.T) {
	dir := warehouse(t)
	all := changeLinesOf(t, ok(t, "", "changes", "db.t", "-w", dir, "--json"))
	tail := func(args ...string) string {
		return ok(t, "", append([]string{"tail", "db.t", "-w", dir, "--json"}, args...)...)
	}
	require.Equal(t, all, changeLinesOf(t, tail("--from", "earliest", "--until", "latest")))
	require.Equal(t, all[:2], changeLinesOf(t, tail("--from", "earliest", "--limit", "2")))
	require.Equal(t, all[3:], changeLinesOf(t, tail("--from", "cursor:"+all[2].Cursor, "--until", "snapshot:3")))
	require.Len(t, changeLinesOf(t, tail("--from", "full", "--until", "latest")), 2)
	require.Equal(t, "+I  id=1  name=cup  price=4.50\n", ok(t, "", "tail", "db.t", "-w", dir, "--from", "earliest", "--limit", "1"))
	require.Equal(t, `{"price":"4.50"}`, string(changeLinesOf(t, tail("--from", "earliest", "--limit", "1", "--columns", "price"))[0].Row))

	// It follows until Ctrl-C, which is no failure.
	f := follow(t, "tail", "db.t", "-w", dir, "--from", "snapshot:3", "--json")
	f.awaitLines(1)
	ok(t, `{"id":8}`, "write", "db.t", "-w", dir)
	got := changeLinesOf(t, strings.Join(f.awaitLines(2), "\n")+"\n")
	require.Equal(t, `{"id":8,"name":null,"price":null}`, string(got[1].Row))
	code, _ := f.interrupt()
	require.Equal(t, exitDone, code)
}

func TestTables(t *testing.T) {
	dir := warehouse(t)
	spec := writeFile(t, "orders.yaml", "schema:\n  fields: [day STRING NOT NULL, id INT NOT NULL]\n  pk: [day, id]\n  partition: [day]\noptions: {bucket: 2}\n")
	require.Equal(t, "table shop.orders was created\n", ok(t, "", "table", "create", "shop.orders", "-w", dir, "--spec", spec))
	list := ok(t, "", "table", "list", "-w", dir)
	require.Len(t, lines(list), 3)
	require.Contains(t, list, "shop.orders")
	require.Len(t, lines(ok(t, "", "table", "list", "shop", "-w", dir)), 2)
	var shown struct {
		Table   string   `json:"table"`
		Primary []string `json:"primaryKeys"`
		Latest  int64    `json:"latestSnapshot"`
	}
	require.NoError(t, json.Unmarshal([]byte(ok(t, "", "table", "list", "db", "-w", dir, "--json")), &shown))
	require.Equal(t, "db.t", shown.Table)
	require.Equal(t, []string{"id"}, shown.Primary)
	require.EqualValues(t, 3, shown.Latest)
	text := ok(t, "", "table", "show", "shop.orders", "-w", dir)
	require.Contains(t, text, "primary, partition")
	require.Contains(t, text, "bucket = 2")
	require.Contains(t, text, "no snapshot yet")
	var schema map[string]any
	require.NoError(t, json.Unmarshal([]byte(ok(t, "", "table", "show", "shop.orders", "-w", dir, "--json")), &schema))
	require.Equal(t, []any{"day"}, schema["partitionKeys"])
	require.Equal(t, "table shop.orders was dropped\n", ok(t, "", "table", "drop", "shop.orders", "-w", dir))
	require.Equal(t, "there is no table shop.orders\n", ok(t, "", "table", "drop", "shop.orders", "-w", dir, "--if-exists"))
	require.Equal(t, exitFailed, gw(t, "", "read", "shop.orders", "-w", dir).code)
}

func TestSnapshotsTagsBranchesConsumersOrphans(t *testing.T) {
	dir := warehouse(t)
	do := func(args ...string) string { return ok(t, "", append(args, "-w", dir, "--json")...) }
	require.Len(t, lines(do("snapshot", "list", "db.t")), 3)
	require.Contains(t, do("snapshot", "show", "db.t", "2"), `"id":2`)
	do("tag", "create", "db.t", "keep", "--snapshot", "1")
	require.Contains(t, do("tag", "list", "db.t"), `"tag":"keep"`)
	do("branch", "create", "db.t", "dev", "--tag", "keep")
	require.Equal(t, `{"branch":"dev"}`+"\n", do("branch", "list", "db.t"))
	do("consumer", "reset", "db.t", "app", "--next", "2")
	require.Contains(t, do("consumer", "list", "db.t"), `"nextSnapshot":2`)
	dry := do("snapshot", "expire", "db.t", "--retain-min", "1", "--retain-max", "1", "--older-than", "0s", "--dry-run")
	require.Contains(t, dry, `"dryRun":true`)
	require.Len(t, lines(do("snapshot", "list", "db.t")), 3, "a dry run deletes nothing")
	do("snapshot", "expire", "db.t", "--retain-min", "1", "--retain-max", "1", "--older-than", "0s")
	require.Len(t, lines(do("snapshot", "list", "db.t")), 2, "the consumer needs snapshot 2")
	do("consumer", "delete", "db.t", "app")
	do("snapshot", "expire", "db.t", "--retain-min", "1", "--retain-max", "1", "--older-than", "0s")
	require.Len(t, lines(do("snapshot", "list", "db.t")), 1)
	require.Len(t, lines(ok(t, "", "read", "db.t", "-w", dir, "--json", "--tag", "keep")), 2, "the tag keeps its rows")
	require.Empty(t, do("orphan", "clean", "db.t", "--dry-run"))
	junk := writeFile(t, filepath.Join(dir, "db.t.db"), "") // not in the table
	require.Empty(t, do("orphan", "clean", "db.t", "--older-than", "-1h", "--unsafe"), junk)
	left := writeFile(t, filepath.Join(dir, "db.db", "t", "manifest", "manifest-left-over-0"), "x")
	require.Contains(t, do("orphan", "clean", "db.t", "--older-than", "-1h", "--unsafe", "--dry-run"), left)
	require.Contains(t, do("orphan", "clean", "db.t", "--older-than", "-1h", "--unsafe"), left)
	require.NoFileExists(t, left)
	do("branch", "delete", "db.t", "dev")
	do("tag", "delete", "db.t", "keep")
	require.Empty(t, do("tag", "list", "db.t"))
	ok(t, `{"id":4}`, "write", "db.t", "-w", dir)
	do("snapshot", "rollback", "db.t", "3")
	require.Len(t, lines(ok(t, "", "read", "db.t", "-w", dir, "--json")), 2)
}

func TestInspectDecodesEveryFileOfATable(t *testing.T) {
	dir := warehouse(t)
	seen := map[string]int{}
	for _, c := range []struct{ kind, pattern string }{
		{"snapshot", "snapshot/snapshot-*"}, {"schema", "schema/schema-*"}, {"manifest-list", "manifest/manifest-list-*"}, {"datafile", "bucket-0/data-*"}, {"datafile", "bucket-0/changelog-*"},
	} {
		files, err := filepath.Glob(filepath.Join(dir, "db.db/t", c.pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, c.pattern)
		for _, f := range files {
			require.NotEmpty(t, ok(t, "", "inspect", c.kind, f))
			for _, line := range lines(ok(t, "", "inspect", c.kind, f, "--json")) {
				if c.kind != "snapshot" && c.kind != "schema" {
					require.True(t, json.Valid([]byte(line)), "%s: %s", f, line)
				}
				seen[c.kind]++
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "db.db/t/manifest/manifest-*"))
	require.NoError(t, err)
	entries := 0
	for _, f := range files {
		if strings.Contains(f, "manifest-list") {
			continue
		}
		for _, line := range lines(ok(t, "", "inspect", "manifest", f, "--json")) {
			var e struct {
				Kind   string `json:"kind"`
				File   string `json:"file"`
				MinKey []any  `json:"minKey"`
			}
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			require.Len(t, e.MinKey, 1, line)
			entries++
		}
	}
	require.Equal(t, 6, entries, "3 data files and 3 changelog files")
	require.Positive(t, seen["datafile"])
}
