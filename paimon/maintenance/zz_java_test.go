package maintenance

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
)

func oracle(t *testing.T, stdin string, args ...string) string {
	c := exec.Command("/tmp/pj/o.sh", args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	return string(out)
}

func TestZZJava(t *testing.T) {
	os.RemoveAll("/tmp/pj/wh")
	ctx := t.Context()
	store := local.New("/", local.Options{})
	cat := paimon.NewCatalog(store, "tmp/pj/wh")
	require.NoError(t, cat.CreateDatabase(ctx, "db"))
	for _, producer := range []string{"none", "input", "lookup"} {
		for _, dec := range []string{"", "30"} {
			name := "t_" + producer + dec
			opts := map[string]string{"bucket": "2", "changelog-producer": producer, "file.format": "avro"}
			if dec != "" { opts["changelog.num-retained.min"] = dec }
			table, err := cat.CreateTable(ctx, "db."+name, paimon.SchemaSpec{Schema: paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "p STRING", "v STRING COMMENT 'vau'", "r ROW<x INT, y STRING>"}, PK: []string{"k", "p"}, Partition: []string{"p"}, Comment: new(string)}, Options: opts})
			require.NoError(t, err)
			dir := "/" + table.Path
			w := func(from int) { oracle(t, fmt.Sprintf(`[%d,"a","x",{"x":1,"y":"q"}]`+"\n"+`{"commit":true}`+"\n"+`[%d,"b","y",null]`+"\n"+`{"commit":true}`+"\n"+`{"kind":"-D","row":[%d,"a","x",null]}`+"\n", from, from, from-1), "write", dir, "-") }
			w(1); w(2)
			for _, s := range []string{"add column n DECIMAL(10,2) AFTER k", "alter column r.x type BIGINT", "rename column v to vv", "add column r.z ARRAY<INT>", "alter column p comment 'part'"} {
				c, err := paimon.ParseChange(s)
				require.NoError(t, err)
				_, err = cat.AlterTable(ctx, "db."+name, []paimon.Change{c})
				require.NoError(t, err)
			}
			oracle(t, `[7,"1.50","a","x",{"x":1,"y":"q","z":[1]}]`+"\n", "write", dir, "-", "--compact", "full")
			table, err = cat.OpenTable(ctx, "db."+name)
			require.NoError(t, err)
			_, err = table.CreateTag(ctx, "t3", paimon.TagOptions{Snapshot: 3})
			require.NoError(t, err)
			_, err = table.CreateTag(ctx, "ttl", paimon.TagOptions{Snapshot: 4, Retained: time.Hour})
			require.NoError(t, err)
			require.NoError(t, table.CreateBranch(ctx, "b", "t3"))
			require.NoError(t, table.CreateBranch(ctx, "e", ""))
			require.NoError(t, table.SetConsumer(ctx, "c", 3))
			oracle(t, `[9,"b","y",null]`+"\n", "write", dir, "-", "--branch", "b")
			fmt.Print(name, " ", oracle(t, "", "verify", dir))
			b := oracle(t, "", "rows", dir, "--branch", "b")
			x, err := ExpireSnapshots(ctx, table, ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1})
			require.NoError(t, err)
			fmt.Println("expired", x.First, x.End, len(x.DataFiles), len(x.MetaFiles))
			fmt.Print(name, " ", oracle(t, "", "verify", dir))
			require.NoError(t, table.DeleteConsumer(ctx, "c"))
			rows := oracle(t, "", "rows", dir)
			tag := oracle(t, "", "rows", dir, "--tag", "t3")
			x, err = ExpireSnapshots(ctx, table, ExpireOptions{RetainMin: 1, RetainMax: 1, TimeRetained: -1})
			require.NoError(t, err)
			fmt.Println("expired", x.First, x.End, len(x.DataFiles), len(x.MetaFiles))
			x, err = ExpireChangelogs(ctx, table, ExpireOptions{RetainMin: 1, RetainMax: 4, TimeRetained: -1})
			require.NoError(t, err)
			fmt.Println("changelogs", x.First, x.End, len(x.DataFiles), len(x.MetaFiles))
			fmt.Print(name, " ", oracle(t, "", "verify", dir))
			require.Equal(t, rows, oracle(t, "", "rows", dir))
			require.Equal(t, tag, oracle(t, "", "rows", dir, "--tag", "t3"))
			require.Equal(t, b, oracle(t, "", "rows", dir, "--branch", "b"))
			require.NoError(t, DeleteTag(ctx, table, "t3"))
			require.NoError(t, DeleteTag(ctx, table, "ttl"))
			fmt.Print(name, " ", oracle(t, "", "verify", dir))
			found, err := CleanOrphans(ctx, table, OrphanOptions{OlderThan: time.Now().Add(time.Hour), Unsafe: true})
			require.NoError(t, err)
			for _, f := range found.Files { fmt.Println("orphan", f.Name) }
			fmt.Print(name, " ", oracle(t, "", "verify", dir))
			require.NoError(t, table.FastForward(ctx, "b"))
			require.NoError(t, table.DeleteBranch(ctx, "b"))
			require.NoError(t, table.DeleteBranch(ctx, "e"))
			fmt.Print(name, " ", oracle(t, "", "verify", dir, "--no-fold"))
			require.Equal(t, b, oracle(t, "", "rows", dir))
			oracle(t, `[10,"b","y",null]`+"\n", "write", dir, "-")
			fmt.Print(name, " ", oracle(t, "", "verify", dir, "--no-fold"))
		}
	}
}
