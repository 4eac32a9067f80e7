package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every command that cannot do what it was told says what is wrong: the file, row
// or option, and ends with 2 if the command line is wrong, else with 1.
func TestExitCodesAndMessages(t *testing.T) {
	dir := warehouse(t)
	bad := func(name, content string) string { return writeFile(t, filepath.Join(t.TempDir(), name), content) }
	for _, c := range []struct {
		line string // split at blanks, with ~ for a blank in an argument
		code int
		says string
	}{
		{"nosuch", exitUsage, `unknown command "nosuch"`},
		{"table", exitUsage, "gateway table --help"},
		{"table nosuch", exitUsage, `unknown command "nosuch" for "gateway table"`},
		{"table create --bad", exitUsage, "see gateway table create --help"},
		{"table list x y", exitUsage, "usage: gateway table list [DB]"},
		{"read", exitUsage, "usage: gateway read DB.T"},
		{"read db.t", exitUsage, "--warehouse DIR"},
		{"read t -w W", exitUsage, `table "t": want DATABASE.TABLE`},
		{"read db.none -w W", exitFailed, "db.none"},
		{"read nodb.t -w W", exitFailed, "nodb.t"},
		{"read db.t -w W --snapshot 77", exitFailed, "snapshot 77"},
		{"read db.t -w W --snapshot x", exitUsage, "--snapshot"},
		{"read db.t -w W --tag none", exitFailed, "none"},
		{"read db.t -w W --branch none", exitFailed, "none"},
		{"read db.t -w W --at yesterday", exitUsage, `time "yesterday"`},
		{"read db.t -w W --at 1000", exitFailed, "at 1970-01-01"},
		{"read db.t -w W --snapshot 1 --tag x", exitUsage, "snapshot tag at"},
		{"read db.t -w W --columns id,nope", exitUsage, `no column "nope", want some of id, name, price`},
		{"read db.t -w W --where nope=1", exitUsage, "--where"},
		{"read db.t -w W --where id~>~'x'", exitUsage, "--where"},
		{"changes db.t -w W --from 9", exitFailed, "--from 9: the newest snapshot is 3"},
		{"changes db.t -w W --from 0", exitUsage, "--from 0"},
		{"changes db.t -w W --to 9", exitFailed, "--to 9: the newest snapshot is 3"},
		{"changes db.t -w W --cursor zzz", exitUsage, `cursor "zzz"`},
		{"changes db.t -w W --from 1 --cursor x", exitUsage, "from cursor"},
		{"tail db.t -w W --from nonsense", exitUsage, `--from: start "nonsense"`},
		{"tail db.t -w W --until nonsense", exitUsage, `--until: until "nonsense"`},
		{"tail db.t -w W --columns nope", exitUsage, `"nope"`},
		{"tail db.t -w W --consumer c", exitUsage, "--server"},
		{"tail db.t -w W --from snapshot:77", exitFailed, "77"},
		{"tail db.t --server 127.0.0.1:1 --from nonsense", exitUsage, `--from: start`},
		{"tail db.t --server 127.0.0.1:1 --until nonsense", exitUsage, `--until`},
		{"tail db.t --server 127.0.0.1:1", exitFailed, "gateway 127.0.0.1:1: "},
		{"write db.t -w W " + filepath.Join(dir, "none"), exitFailed, "none: no such file"},
		{"write db.t -w W --format xml", exitUsage, `--format "xml"`},
		{"write db.t -w W --format debezium-json --decimals hex", exitUsage, `--decimals "hex"`},
		{"write db.t -w W --commit-rows -1", exitUsage, "--commit-rows -1"},
		{"write db.t -w W --commit-interval -1s", exitUsage, "--commit-interval -1s"},
		{"write db.t -w W " + bad("a.jsonl", `{"id":1}`+"\n"+`{"id":"x"}`+"\n"), exitFailed, "a.jsonl: line 2: column id"},
		{"write db.t -w W " + bad("b.jsonl", `{"id":1}`+"\n"+`{"id":null}`+"\n"), exitFailed, "b.jsonl: line 2, column id"},
		{"write db.t -w W " + bad("c.jsonl", `{"id":1,"nome":2}`+"\n"), exitFailed, `c.jsonl: line 1: there is no column "nome"`},
		{"write db.t -w W --format csv " + bad("d.csv", "id,price\n1,2.5\n2,two\n"), exitFailed, "d.csv: line 3, column price"},
		{"write db.t -w W --format csv " + bad("e.csv", "id,nome\n1,2\n"), exitFailed, "e.csv: line 1, column nome"},
		{"write db.t -w W --format debezium-json " + bad("f.json", `{"payload":{"op":"c"}}`), exitFailed, "f.json: line 1"},
		{"table create db.t -w W --column id~INT", exitFailed, "db.t"},
		{"table create db.u -w W", exitUsage, "--column"},
		{"table create u -w W --column id~INT", exitUsage, `table "u"`},
		{"table create db.u -w W --column id~BLUB", exitFailed, "BLUB"},
		{"table create db.u -w W --column id~INT --pk nope", exitFailed, "nope"},
		{"table create db.u -w W --column id~INT --set x", exitUsage, `--set "x"`},
		{"table create db.u -w W --column id~INT --set merge-engine=nope", exitFailed, "merge-engine"},
		{"table create db.u -w W --spec " + bad("s.yaml", "schema: {felds: [a]}\n"), exitFailed, "s.yaml: [1:10]"},
		{"table create db.u -w W --spec " + filepath.Join(dir, "none.yaml"), exitFailed, "none.yaml"},
		{"table alter db.t -w W frobnicate", exitUsage, `"frobnicate"`},
		{"table alter db.t -w W drop~column~id", exitFailed, "[id]"},
		{"table alter db.t -w W drop~column~nope", exitFailed, "nope"},
		{"table drop db.none -w W", exitFailed, "db.none"},
		{"snapshot show db.t 99 -w W", exitFailed, "snapshot 99"},
		{"snapshot show db.t x -w W", exitUsage, `snapshot "x"`},
		{"snapshot rollback db.t -w W", exitUsage, "--tag"},
		{"snapshot rollback db.t 99 -w W", exitFailed, "99"},
		{"tag create db.t a -w W --snapshot 99", exitFailed, "99"},
		{"tag delete db.t nope -w W", exitFailed, "nope"},
		{"branch create db.t b -w W --tag nope", exitFailed, "nope"},
		{"branch delete db.t nope -w W", exitFailed, "nope"},
		{"branch fast-forward db.t nope -w W", exitFailed, "nope"},
		{"consumer delete db.t nope -w W", exitFailed, "nope"},
		{"consumer reset db.t c -w W", exitUsage, "--next N"},
		{"orphan clean db.t -w W --older-than 1s", exitUsage, "--unsafe"},
		{"inspect snapshot " + filepath.Join(dir, "none"), exitFailed, "none: no such file"},
		{"inspect snapshot " + bad("snapshot-1", "{"), exitFailed, "snapshot-1"},
		{"inspect schema " + bad("schema-1", "{}"), exitFailed, "schema-1"},
		{"inspect manifest " + bad("manifest-1", "Obj\x01"), exitFailed, "manifest-1"},
		{"inspect manifest-list " + bad("manifest-list-1", ""), exitFailed, "manifest-list-1"},
		{"inspect datafile " + bad("data-1.parquet", "PAR1"), exitFailed, "data-1.parquet"},
		{"inspect cursor xyz", exitUsage, `cursor "xyz"`},
		{"serve", exitUsage, "--config FILE"},
		{"serve --config " + filepath.Join(dir, "none.yaml"), exitUsage, "none.yaml"},
		{"serve --config " + bad("u.yaml", "warehouse: /x\nlisen: 1\n"), exitUsage, "u.yaml: [2:1]"},
		{"serve --check --config " + bad("v.yaml", "warehouse: /x\nfeeds: [{table: t}]\n"), exitUsage, "feeds[0].table"},
		{"demo --rate 0", exitUsage, "--rate 0"},
		{"demo --for -1s", exitUsage, "--for -1s"},
		{"demo -w W", exitUsage, "--dir"},
		{"demo extra", exitUsage, "extra"},
		{"demo --dir " + bad("file", "") + "/x", exitFailed, "file: not a directory"},
	} {
		var args []string
		for _, a := range strings.Fields(c.line) {
			if a == "W" {
				a = dir
			}
			args = append(args, strings.ReplaceAll(a, "~", " "))
		}
		r := gw(t, "", args...)
		require.Equal(t, c.code, r.code, "gateway %s: %s%s", c.line, r.out, r.err)
		require.True(t, strings.HasPrefix(r.err, "gateway: "), r.err)
		require.Contains(t, r.err, c.says, "gateway %s", c.line)
		if strings.HasPrefix(c.line, "write") {
			require.NotContains(t, r.err, "EOF", "gateway %s", c.line)
		}
		require.Empty(t, r.out, "gateway %s", c.line)
	}
}
