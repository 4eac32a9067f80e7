//go:build interop

package paimonjava

import (
	"fmt"
	"testing"
	"os"
	"maps"
	"os/exec"

	"sluice/paimon"
)

func TestZZ(t *testing.T) {
	options := map[string]string{"bucket": "1", "bucket-key": "k", "file.compression": "none"}
	if os.Getenv("NODICT") != "" { options["parquet.enable.dictionary"] = "false" }
	if os.Getenv("NODELTA") != "" { options["parquet.delta.integers"] = "false" }
	maps.Copy(options, smallPages)
	f := ours(t, paimon.SchemaSpec{
		Schema:  paimon.ColumnsSpec{Fields: []string{"k INT NOT NULL", "c0 INT", "c1 DECIMAL(18,4)", "c2 VARCHAR(12)", "c3 TIME(0)", "c4 INT", "c5 BIGINT", "c6 DATE"}},
		Options: options,
	})
	r := newValues(t)
	typ := f.open("").Schema().RowType()
	f.write(rankedRows(r, typ)...)
	if out := os.Getenv("KEEP"); out != "" {
		exec.Command("rm","-rf", out).Run()
		fmt.Println(exec.Command("cp", "-r", f.dir, out).Run())
	}
	for x := 3100; x < 11000; x += 137 {
		c := compare(&typ.Fields[3], ">=", x)
		if x%2 == 0 {
		c = compare(&typ.Fields[3], "<=", -x)
		}
		java, our := f.javaRows(where{}, c.java), f.rows(where{}, c.ours)
		n := 0
		for i := range max(len(java), len(our)) {
			if i < len(java) && i < len(our) && java[i] == our[i] { continue }
			n++
			if n < 3 && i < len(java) && i < len(our) { t.Log(i, "\n", java[i], "\n", our[i]) }
		}
		if n > 0 { t.Errorf("%s: %d of %d/%d lines differ", c.ours, n, len(java), len(our)) }
	}
}
