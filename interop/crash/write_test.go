package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/objstore/local"
	"sluice/paimon"
)

// TestCrashWrite kills `gateway write` of a file again and again, and runs the same
// command until it is through. The table is one without keys, where a row that is
// written twice is there twice.
func TestCrashWrite(t *testing.T) {
	t.Parallel()
	r := chance(t)
	dir := t.TempDir()
	cat := catalogOf(local.New("/", local.Options{NoSync: true}), dir)
	require.NoError(t, cat.CreateDatabase(t.Context(), "db"))
	table, err := cat.CreateTable(t.Context(), tableName, paimon.SchemaSpec{Schema: paimon.ColumnsSpec{Fields: []string{"n BIGINT NOT NULL", "text STRING"}}})
	require.NoError(t, err)
	times := kills(t, 4)
	var want []string
	for n := range 80 * times {
		want = append(want, fmt.Sprintf(`{"n":%d,"text":"row %d"}`, n, n))
	}
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(want, "\n")), 0o600))
	args := []string{"write", tableName, "--warehouse", dir, "--user", "loader", "--commit-rows", "3", "--json", file}
	finished := false
	killed := 0
	for ; killed < times && !finished; killed++ {
		p := start(t, nil, gatewayBinary(t), args...)
		select {
		case <-p.ended:
		case <-time.After(time.Duration(50+r.IntN(150)) * time.Millisecond):
		}
		finished = p.killed()
	}
	p := start(t, nil, gatewayBinary(t), args...)
	said := p.line("{")
	<-p.ended
	require.NoError(t, p.err, p.errors())
	requireWhole(t, table)
	got := scan(t, table)
	byNumber := func(a, b string) int {
		var x, y int
		fmt.Sscanf(a, `{"n":%d`, &x) //nolint:errcheck // compared with what is expected
		fmt.Sscanf(b, `{"n":%d`, &y) //nolint:errcheck // likewise
		return x - y
	}
	slices.SortFunc(got, byNumber)
	require.Equal(t, want, got)
	t.Logf("killed %d times, finished before: %t; the last run said %s", killed, finished, said)
}
